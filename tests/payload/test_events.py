"""The change detector on what residuals say: false alarms, detections, rest and motion."""

from __future__ import annotations

import numpy as np
import pytest

from deltadyn.errors import InputError
from deltadyn.payload.events import MEMORY, SLACK, WINDOWS, ChangeDetector, Pick, threshold

INTERVAL = 4e-3  # s


def feed(
    detector: ChangeDetector, masses: np.ndarray, seed: int, speed: float = 1.0, i: float = 100.0
) -> list[int]:
    """Residuals of these masses with information `i` each; where a rise was found."""
    rng, found = np.random.default_rng(seed), []
    for k, mass in enumerate(masses):
        detector.add(mass * i + np.sqrt(i) * rng.standard_normal(), i, speed)
        if detector.search_rise() is not None:
            found.append(k)
            detector.restart()
    return found


def test_the_threshold_goes_with_the_rate_of_false_alarms() -> None:
    values = [threshold(rate, INTERVAL) for rate in (100.0, 1.0, 0.01)]
    assert values == sorted(values)
    tests = 3600 / INTERVAL * len(WINDOWS)
    # Bonferroni: P(z > limit) times the tests is the rate
    from scipy.stats import norm

    assert norm.sf(values[1]) * tests == pytest.approx(1.0, rel=1e-6)


def test_false_alarms_of_white_noise_stay_below_the_stated_rate() -> None:
    """1,000 alarms an hour are stated; 0.1 hours of noise hold fewer than 100."""
    detector = ChangeDetector(threshold(1000.0, INTERVAL), 0.15, round(SLACK / INTERVAL))
    count = round(0.1 * 3600 / INTERVAL)
    found = feed(detector, np.zeros(count), seed=1)
    assert 2 <= len(found) <= 100  # an upper bound, yet not without any


def test_no_false_alarm_in_three_hours_at_the_default_rate() -> None:
    """0.1 an hour are stated: vectorised over all windows, the largest score stays below."""
    rng, limit = np.random.default_rng(2), threshold(0.1, INTERVAL)
    S = np.concatenate([[0.0], np.cumsum(rng.standard_normal(round(3 * 3600 / INTERVAL)))])
    largest = max(((S[w:] - S[:-w]) / np.sqrt(w)).max() for w in WINDOWS)
    assert largest < limit


@pytest.mark.parametrize("mass", [0.3, 1.0, 3.0])
def test_a_pick_is_found_where_it_begins(mass: float) -> None:
    detector = ChangeDetector(threshold(0.1, INTERVAL), 0.15, round(SLACK / INTERVAL))
    rng = np.random.default_rng(3)
    for k in range(400):
        load = mass if k >= 200 else 0.0
        detector.add(100 * load + 10 * rng.standard_normal(), 100.0, 1.0)
        change = detector.search_rise()
        if change is not None:
            break
    assert change is not None
    needed = (detector.limit / mass) ** 2 / 100  # residuals until z is expected at the limit
    assert 200 + needed / 4 < k + 1 < 200 + 3 * needed + 4
    assert abs(change.age - (k - 199)) <= 0.3 * needed + 2
    assert change.mass == pytest.approx(mass, abs=3 / np.sqrt(change.information))


def test_a_drop_at_rest_and_one_in_motion_differ() -> None:
    for still in (True, False):
        detector = ChangeDetector(threshold(0.1, INTERVAL), 0.15, round(SLACK / INTERVAL))
        rng, S, I = np.random.default_rng(4), 0.0, 0.0
        for k in range(200):
            resting = still and 98 <= k < 103
            s = (100.0 if k < 100 else 0.0) + 10 * rng.standard_normal()
            S, I = S + s, I + 100.0
            detector.add(s, 100.0, 0.05 if resting else 1.5)
            change = detector.search_change(S, I, 0.02)
            if change is not None and change.age >= 20:
                break
        assert change is not None
        assert change.at_rest is still
        assert change.mass == pytest.approx(0.0, abs=0.1)


def test_an_unchanged_load_stays_so() -> None:
    detector = ChangeDetector(threshold(0.1, INTERVAL), 0.15, round(SLACK / INTERVAL))
    rng, S, I = np.random.default_rng(5), 0.0, 0.0
    for _ in range(5000):
        s = 200.0 + 10 * rng.standard_normal()
        S, I = S + s, I + 100.0
        detector.add(s, 100.0, 1.0)
        assert detector.search_change(S, I, 0.03) is None


def test_memory_is_constant_and_sums_stay_small() -> None:
    detector = ChangeDetector(6.0, 0.15, round(SLACK / INTERVAL))
    for _ in range(3000):
        detector.add(1e9, 1e9, 1.0)
    assert len(detector.sums) == len(detector.speeds) == MEMORY
    assert max(i for _, i in detector.sums) < 2e12
    assert detector.window(10) == (1e10, 1e10)
    detector.restart(3)
    assert detector.count == 3


def test_a_pick_in_words() -> None:
    pick = Pick(1.0, 1.1, 1.5, 2.0, 0.05, "release")
    assert pick.latency == pytest.approx(0.1)
    text = "1.000 to 1.500 s: 2.000 kg +- 0.050, known after 100 ms, release"
    assert str(pick) == text


@pytest.mark.parametrize("rate", [0.0, -1.0, 1e9, "0.1", True])
def test_wrong_rates_of_false_alarms(rate: object) -> None:
    with pytest.raises(InputError, match=r"false_alarms is .*; allowed: "):
        threshold(rate, INTERVAL)  # type: ignore[arg-type]
