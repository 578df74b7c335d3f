"""Periodic motion: the period, the mean over periods, the noise that they show, wrong calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.recording import Recording
from deltadyn.recording.alignment import average_periods, find_period

RATE = 1000.0


def motion(t: FloatArray, period: float, weak: float = 0.3) -> FloatArray:
    """Three channels (N, 3) of four harmonics; the first harmonic has the size `weak`."""
    w = 2 * np.pi / period
    size = np.array([weak, 1.0, 0.4, 0.2])
    phase = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 1, 0]], dtype=float)
    angle = np.multiply.outer(t, w * np.arange(1, 5))
    return np.stack([np.sin(angle + p) @ size for p in phase], axis=1)


@pytest.mark.full
@settings(max_examples=20)
@given(st.floats(0.21, 1.9), st.floats(0.05, 1.0))
def test_the_period_is_found_to_a_small_part_of_a_sample(period: float, weak: float) -> None:
    """Also where the second harmonic is twenty times the first: half a period is no period."""
    t = np.arange(4000) / RATE
    found = find_period(t, motion(t, period, weak))
    assert found.found
    assert found.seconds == pytest.approx(period, rel=1e-6)


@pytest.mark.parametrize("noise", [1e-4, 1e-2, 0.1])
def test_the_period_in_noise(noise: float) -> None:
    rng = np.random.default_rng(0)
    t = np.arange(10_000) / RATE
    period = 1.2345678
    found = find_period(t, motion(t, period) + noise * rng.standard_normal((10_000, 3)))
    assert abs(found.seconds - period) < 5 * found.std
    assert found.std < 1e-3 * noise + 1e-9
    assert "8.1 in the record" in found.status


def test_no_period() -> None:
    t = np.arange(3000) / RATE
    rng = np.random.default_rng(1)
    assert not find_period(t, np.zeros(3000)).found
    walk = find_period(t, np.cumsum(rng.standard_normal(3000)))
    assert not walk.found
    assert walk.status.startswith("no period: ")
    chirp = find_period(t, np.sin(20 * t + 8 * t**2))
    assert not chirp.found
    assert not find_period(t, t).found


@pytest.mark.parametrize("period", [0.5, 0.71234], ids=["whole samples", "between samples"])
def test_the_mean_and_its_noise(period: float) -> None:
    """Channels with a known covariance; tolerances: 20 periods of about 600 samples."""
    rng = np.random.default_rng(2)
    t = np.arange(15_000) / RATE
    factor = np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-0.3, 0.2, 0.5]]) * 1e-3
    e = rng.standard_normal((len(t), 3)) @ factor.T
    found = average_periods(t, motion(t, period) + e, period=period)
    count = int(15.0 / period)
    assert found.periods == count
    truth = motion(found.t, period)
    assert found.x.shape == truth.shape
    assert np.std(found.x - truth, axis=0) == pytest.approx(found.std / np.sqrt(count), rel=0.15)
    # Interpolation between samples takes a part of white noise with it.
    share = 1.0 if period == 0.5 else np.mean(np.diagonal(found.pooled / (factor @ factor.T)))
    assert 0.5 < share <= 1.0
    assert found.pooled == pytest.approx(share * factor @ factor.T, abs=5e-8)
    assert found.covariance.shape == (len(found.t), 3, 3)
    assert np.mean(found.covariance, axis=0) == pytest.approx(found.pooled)
    assert ("resampled" in found.status) == (period != 0.5)


@pytest.mark.full
def test_the_autocorrelation_of_the_noise() -> None:
    rng = np.random.default_rng(3)
    t = np.arange(20_000) / RATE
    e = 1e-3 * lfilter([1.0], [1.0, -0.9], rng.standard_normal((len(t), 3)), axis=0)
    found = average_periods(t, motion(t, 0.8) + e)
    assert found.period == pytest.approx(0.8, rel=1e-5)
    lags = np.arange(8)
    for channel in range(3):
        assert found.autocorrelation[:8, channel] == pytest.approx(0.9**lags, abs=0.05)
    assert found.correlation == pytest.approx([19.0] * 3, rel=0.2)  # (1 + 0.9) / (1 - 0.9)
    # What it is for: the deviation of a mean over one period.
    blocks = e[:20_000].reshape(25, 800, 3).mean(axis=1)
    claimed = found.std * np.sqrt(found.correlation / 800)
    assert np.std(blocks) == pytest.approx(np.mean(claimed), rel=0.3)


def test_one_channel_and_a_recording() -> None:
    rng = np.random.default_rng(4)
    t = np.arange(4000) / RATE
    q = motion(t, 0.8) + 1e-5 * rng.standard_normal((4000, 3))
    alone = average_periods(t, q[:, 0])
    assert alone.x.shape == (800,)
    assert alone.covariance.shape == (800,)
    assert alone.std == pytest.approx([1e-5], rel=0.1)
    tau = 10 * motion(t, 0.8) + 0.1 * rng.standard_normal((4000, 3))
    both = average_periods(Recording(t, q, tau))
    assert both.x.shape == (800, 6)
    assert both.std[3:] == pytest.approx([0.1] * 3, rel=0.1)
    assert both.periods == 5


def test_what_is_left_over_is_said() -> None:
    t = np.arange(2600) / RATE
    found = average_periods(t, motion(t, 1.0), period=1.0)
    assert found.periods == 2
    assert found.status == "2 periods of 1 s, the last 0.6 s left out"
    assert found.t == pytest.approx(np.arange(1000) / RATE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"period": 1.2}, "period is 1.2; allowed: at most 1 s: at least 2 periods in the record"),
        ({"period": 0.002}, "period is 0.002; allowed: at least 4 samples, 0.004 s"),
        ({"period": -1.0}, "period is -1; allowed: a number above 0, in s"),
        ({"period": "1"}, "period is '1'; allowed: a number above 0, in s"),
        ({"x": np.arange(2000.0)}, "period is None; allowed: a number in s, since none was found"),
        ({"t": np.arange(2000.0) ** 2, "period": 5.0}, "average_periods needs even sampling"),
        ({"t": np.arange(2000.0) ** 2}, "find_period needs even sampling"),
        ({"t": np.arange(10.0), "x": np.zeros(10)}, "samples of x is 10; allowed: at least 64"),
    ],
)
def test_wrong_calls_are_refused(change: dict[str, Any], message: str) -> None:
    t = np.arange(2000) / RATE
    call: dict[str, Any] = {"t": t, "x": motion(t, 0.7)} | change
    with pytest.raises(InputError) as caught:
        average_periods(**call)
    assert message in str(caught.value)
