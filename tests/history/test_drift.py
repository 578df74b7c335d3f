"""Changes are found with their date, size and cause; seasons and bad logs are none."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from tests.history.drift_cases import START, history, once, ramp, step

from deltadyn.errors import InputError, UnknownNameError
from deltadyn.history.drift import Drift, drift
from deltadyn.history.drift.method import found_in
from deltadyn.history.drift.options import DriftOptions
from deltadyn.history.drift.series import series_of
from deltadyn.history.drift.threshold import as_if_known, effective_number, threshold
from deltadyn.history.drift.watch import strongest


def day(row: float) -> datetime:
    return START + timedelta(days=row)


@pytest.fixture(scope="module")
def repaired() -> Drift:
    """Coulomb friction of axis 2 up 38 % from night 50 to 90, in a season, with a bad log."""
    factors = {"Fc2": step(50, 0.38, 90), "A1": once(30, 0.2), "A2": once(30, 0.2)}
    many = {f"{f}{a}": once(30, 0.3) for f in ("Fv", "Fc") for a in (1, 3)}
    return drift(history(factors=many | factors, season=8.0))


def test_a_step_and_its_repair_are_found_with_date_and_size(repaired: Drift) -> None:
    first, second = repaired.changes
    assert (first.parameter, first.kind, second.parameter) == ("Fc2", "step", "Fc2")
    assert first.low <= day(50) <= first.high
    assert second.low <= day(90) <= second.high
    assert first.high - first.low <= timedelta(days=3)
    move = first.moves[0]
    assert move.percent == pytest.approx(38, abs=1.5)
    assert move.percent_std is not None
    assert move.percent_std < 1
    assert day(50) < first.raised <= day(53)
    assert move.before + move.size == pytest.approx(1.8 * 1.38, rel=0.05)  # at its temperature


def test_the_words_are_those_of_the_shop_floor(repaired: Drift) -> None:
    first, second = repaired.changes
    assert first.words.startswith("Coulomb friction of axis 2 up 38 % since 24 February: ")
    assert "belt tension or bearing" in first.words
    assert second.cause == "back"
    assert "repaired" in second.words
    assert repaired.status == (
        "2 changes of cell-7 in 120 nights from 5 January 2026 to 4 May 2026."
    )
    assert "one false alarm in 20 years" in str(repaired)


def test_one_bad_log_is_an_odd_night_and_no_change(repaired: Drift) -> None:
    (night,) = repaired.odd
    assert night.date == day(30)
    assert {"A1", "Fv3", "M_P"} <= set(night.parameters)


def test_a_bad_log_among_the_first_nights_is_odd_too() -> None:
    found = drift(history(40, factors={"M_P": once(1, -0.3)}))
    assert [night.date for night in found.odd] == [day(1)]
    assert found.changes == ()


def test_as_dict_is_plain_and_whole(repaired: Drift) -> None:
    record = json.loads(json.dumps(repaired.as_dict(), allow_nan=False))
    assert [item["parameter"] for item in record["changes"]] == ["Fc2", "Fc2"]
    assert record["changes"][0]["raised"] == repaired.changes[0].raised.isoformat()
    assert len(record["parameters"][0]["values"]) == record["nights"] == 120


def test_the_temperature_slope_is_found(repaired: Drift) -> None:
    slope, std = repaired["Fv1"].per_kelvin or (0.0, 0.0)
    assert slope == pytest.approx(-0.02, abs=4 * std)
    assert std < 0.001


def test_a_ramp_is_found_with_its_begin() -> None:
    found = drift(history(factors={"Fc3": ramp(60, 0.2, 60)}, season=8.0))
    (change,) = found.changes
    assert (change.parameter, change.kind) == ("Fc3", "ramp")
    assert abs(change.date - day(60)) <= timedelta(days=6)
    assert change.moves[0].percent == pytest.approx(20, abs=2)
    assert "growing since about" in change.words
    assert change.raised <= day(85)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_season_is_no_alarm_and_a_fault_in_it_is_found(recorded: bool) -> None:
    quiet = drift(history(150, season=9.0, recorded=recorded))
    assert quiet.changes == ()
    assert quiet.explained == ("recorded" if recorded else "friction of all axes")
    factors = {"Fv1": step(100, 0.12)}
    (change,) = drift(history(150, season=9.0, recorded=recorded, factors=factors)).changes
    assert change.parameter == "Fv1"
    assert change.low <= day(100) <= change.high


def test_without_any_thermometer_a_season_does_alarm() -> None:
    """The check above can fail."""
    assert drift(history(100, season=9.0), temperature=False).changes


@pytest.mark.parametrize("stated", [0.2, 5.0])
def test_misstated_deviations_change_nothing(stated: float) -> None:
    found = drift(history(80, stated=stated, factors={"A2": step(50, 0.03)}, season=2.0))
    assert [item.parameter for item in found.changes] == ["A2"]
    assert float(np.nanmedian(found["A2"].std)) == pytest.approx(0.003 * 0.18, rel=0.35)


def test_gaps_and_parameters_that_logs_do_not_show() -> None:
    rng = np.random.default_rng(3)
    days = np.sort(rng.choice(np.arange(200), 90, replace=False)).astype(float)
    row = 50
    entries = history(days=days, factors={"Fc1": step(row, 0.1)}, hidden=("G1", "G2"))
    entries[20] = replace(entries[20], std=np.full(len(entries[20].names), np.inf))
    found = drift(entries)
    assert set(found.skipped) == {"G1", "G2"}
    (change,) = found.changes
    assert change.low <= day(days[row]) <= change.high
    assert math.isnan(found["A1"].values[20])


def test_small_sure_changes_are_left_alone() -> None:
    entries = history(100, factors={"A1": step(50, 0.012)})
    assert drift(entries).changes == ()
    assert [item.parameter for item in drift(entries, smallest=0.005).changes] == ["A1"]


def test_parameters_that_move_together_are_one_change() -> None:
    factors = {"M_P": step(50, 0.08), "A2": step(50, 0.05)}
    (change,) = drift(history(70, factors=factors)).changes
    assert {move.parameter for move in change.moves} == {"M_P", "A2"}


def test_another_method_or_a_log_twice_is_no_change() -> None:
    entries = history(40, factors={"A1": step(20, 0.2)})
    mixed = [replace(e, method="base" if i < 20 else "convex") for i, e in enumerate(entries)]
    found = drift(mixed)
    assert (found.left_out, len(found.times), found.changes) == (20, 20, ())
    bad = replace(history(40, factors={"A1": once(39, 0.2)})[39], log="same")
    twice = [*history(39), bad, bad, bad]
    assert (drift(twice).left_out, drift(twice).changes) == (2, ())


def test_few_nights_are_said() -> None:
    found = drift(history(6))
    assert not found.watched
    assert found.changes == ()
    assert "6 nights are too few" in found.status
    assert drift(history(1)).status.startswith("1 night is too few to watch cell-7: it takes 14")


def test_misuse_is_refused() -> None:
    entries = history(20)
    with pytest.raises(InputError, match="one robot"):
        drift([*entries, replace(entries[0], serial="cell-8")])
    with pytest.raises(UnknownNameError, match="Fc9"):
        drift(entries, parameters=("Fc9",))
    with pytest.raises(InputError, match="at least one fit"):
        drift([])
    for wrong in ({"years_per_alarm": 0}, {"smallest": 1.0}, {"burn_in": 3}, {"level": 1.0}):
        with pytest.raises(InputError):
            DriftOptions(**wrong)


# The rate of false alarms. A stated rate of one per two parameter-years is high enough to count.


@pytest.fixture(scope="module")
def null() -> np.ndarray:
    """The strongest |z| of every night and parameter, of nights with memory and a season."""
    rng = np.random.default_rng(7)
    out = []
    for _ in range(3):
        series = series_of(history(220, int(rng.integers(10**6)), season=8.0))
        noise = rng.standard_normal(series.values.shape)
        for i in range(1, len(noise)):
            noise[i] = 0.4 * noise[i - 1] + math.sqrt(1 - 0.16) * noise[i]
        values = series.values * np.exp(0.01 * noise)
        out.append(strongest(replace(series, values=values), DriftOptions(smallest=0.0)))
    return np.concatenate(out, axis=1)


def test_false_alarms_come_at_most_at_the_stated_rate(null: np.ndarray) -> None:
    nights, count = null.shape
    years = (nights - 14) * count / 365
    limit = threshold(1 / (2 * 365))
    known = as_if_known(null, np.arange(1, nights + 1)[:, None])
    alarms = int((known > limit).any(axis=0).sum())
    expected = years / 2  # Poisson: 3 deviations above
    assert 0 < alarms <= expected + 3 * math.sqrt(expected)


def test_the_threshold_falls_with_the_rate() -> None:
    assert threshold(1e-6) > threshold(1e-4) > threshold(1e-2) > 1


def test_correlated_parameters_count_less() -> None:
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((2000, 8))
    assert effective_number(noise) == pytest.approx(8, abs=0.2)
    same = noise[:, :1] + 0.05 * rng.standard_normal((2000, 8))
    assert effective_number(same) < 2.5


def test_found_in_takes_a_series() -> None:
    series = series_of(history(40), residuals=False)
    assert found_in(series, DriftOptions()).changes == ()
    assert not any(name.startswith("residual") for name in series.names)
