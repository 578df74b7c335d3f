"""The filters: delay, equality of the three ways to give rates, and the momentum form."""

from __future__ import annotations

import numpy as np
import pytest
from tests.payload.cases import D3, FOUR, RATE, case, robot_of

from deltadyn.errors import InputError, UnknownNameError
from deltadyn.payload.front_end import (
    NARROW,
    STAGES,
    FrontEnd,
    Grid,
    even_rows,
    recorded_grid,
    sampling_rate,
)


@pytest.mark.parametrize("rate", [500.0, 1000.0, 2000.0, 4000.0, 1234.0])
def test_delay_and_spread_are_those_of_the_filters(rate: float) -> None:
    """Of the impulse responses of both cascades, whose means and variances add."""
    grid = Grid.of(rate)
    assert 0.003 <= grid.interval <= 0.0051
    mean = 2 / rate  # a sample for central differences, one until the residual is handed on
    variance = 0.0
    for gain, step, stages in (
        (grid.gain, 1 / rate, STAGES),
        (grid.narrow_gain, grid.interval, NARROW),
    ):
        impulse, y, t = np.zeros(2000), [0.0] * stages, np.arange(2000) * step
        for k in range(2000):
            x = 1.0 if k == 0 else 0.0
            for stage in range(stages):
                y[stage] += gain * (x - y[stage])
                x = y[stage]
            impulse[k] = x
        assert impulse.sum() == pytest.approx(1.0, abs=1e-9)
        middle = float(impulse @ t)
        mean += middle
        variance += float(impulse @ (t - middle) ** 2)
    assert grid.delay == pytest.approx(mean, rel=1e-9)
    assert grid.spread == pytest.approx(np.sqrt(variance), rel=1e-9)


@pytest.mark.parametrize("form", ["acceleration", "momentum"])
@pytest.mark.parametrize("four", [False, True])
def test_without_noise_the_residual_is_mass_times_column(form: str, four: bool) -> None:
    robot = robot_of(four, dry=False)
    found = case(3, masses=(1.0, 1.0), deviation=0.0, four=four, dry=False)
    series = recorded_grid(robot, found.recording, form=form)
    behind = np.interp(series.t - series.grid.delay, found.recording.t, found.payload)
    ahead = np.interp(series.t - series.grid.delay + 0.04, found.recording.t, found.payload)
    early = np.interp(series.t - series.grid.delay - 0.06, found.recording.t, found.payload)
    steady = (behind == ahead) & (behind == early)
    assert steady.sum() > 100
    expected = behind[steady, None] * series.c[steady]
    # 1 % of the largest column: the model of lightly filtered angles stands for the filtered model
    scale = np.abs(series.c).max()
    assert np.abs(series.r[steady] - expected).max() < 0.01 * scale
    assert np.sqrt(np.mean((series.r[steady] - expected) ** 2)) < 0.002 * scale


def test_given_rates_and_estimated_ones_agree() -> None:
    given, plain = case(3, deviation=0.0, rates=True), case(3, deviation=0.0)
    one, two = recorded_grid(D3, given.recording), recorded_grid(D3, plain.recording)
    np.testing.assert_array_equal(one.t, two.t)
    np.testing.assert_allclose(one.qd, two.qd, atol=2e-3)  # of 5 rad/s: second-order differences
    # directions are smoothed before and after one stage of the filter: not quite the same
    assert np.abs(one.r - two.r).max() < 1.0
    assert np.sqrt(np.mean((one.r - two.r) ** 2)) < 0.15
    only_speed = FrontEnd(D3, Grid.of(RATE))
    assert given.recording.qd is not None
    rows = zip(*(x.tolist() for x in (given.recording.q, given.recording.qd)), strict=True)
    tau = given.recording.tau.tolist()
    samples = [only_speed.push(q, qd, None, t) for (q, qd), t in zip(rows, tau, strict=True)]
    r = np.array([x.r for x in samples if x is not None])[-len(one.r) :]
    assert np.abs(r - one.r).max() < 0.05  # N m of 60


def test_missing_rows_are_bridged_and_a_pause_begins_anew() -> None:
    whole = case(3, deviation=0.0).recording
    keep = np.ones(len(whole), bool)
    keep[[700, 1500, 1501, 1502]] = False
    holes = whole.take(np.flatnonzero(keep), "holes")
    one, two = recorded_grid(D3, whole), recorded_grid(D3, holes)
    assert len(one.t) == len(two.t)
    assert np.abs(one.r - two.r).max() < 0.05  # N m of 60: straight lines over 2 ms
    keep[1500:1540] = False
    paused = recorded_grid(D3, whole.take(np.flatnonzero(keep), "pause"))
    assert len(paused.starts) == 2
    assert sum(new for _, _, new in even_rows(whole.take(np.flatnonzero(keep), "x"), RATE)) == 2


def test_sampling_rate_and_wrong_calls() -> None:
    assert sampling_rate(case(3).recording) == 2000.0
    with pytest.raises(InputError, match="rate is 100; allowed: at least 250 Hz"):
        Grid.of(100)
    with pytest.raises(InputError, match="rate is inf; allowed: a finite number of Hz"):
        Grid.of(float("inf"))
    with pytest.raises(UnknownNameError, match="form is 'force'; allowed: one of 'acceleration'"):
        Grid.of(2000.0, "force")
    with pytest.raises(InputError, match="axes of the recording is 3; allowed: 4, as robot"):
        recorded_grid(FOUR, case(3).recording)
    backwards = case(3).recording
    t = backwards.t.copy()
    t[50] = t[48]
    with pytest.raises(InputError, match=r"t at row 50 is 0\.024; allowed: times that run forward"):
        recorded_grid(D3, backwards.replace(t=t))
    q = backwards.q.copy()
    q[7, 1] = np.nan
    with pytest.raises(InputError, match="recording at row 7 is 'NaN'; allowed: finite values"):
        recorded_grid(D3, backwards.replace(q=q))
