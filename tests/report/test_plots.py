"""Figures: thinning keeps extremes on every page, one name is one entry of the legend."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.report.cases import robot, whole_study

from deltadyn.motion import Motion
from deltadyn.report.picks import POINTS as PICK_POINTS
from deltadyn.report.picks import pick_figure
from deltadyn.report.plots import POINTS, Curve, axes_figure, extreme_rows, time_figure
from deltadyn.report.sizing import _curves


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_extreme_rows_keep_every_column(columns: int) -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=(9_973, columns))
    peaks = rng.choice(len(values), size=2 * columns, replace=False)
    for k in range(columns):
        values[peaks[2 * k], k], values[peaks[2 * k + 1], k] = 50.0 + k, -50.0 - k
    rows = extreme_rows(values, 300)
    assert len(rows) <= 300 + 2  # both ends on top
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(values[rows].max(axis=0), values.max(axis=0))
    np.testing.assert_array_equal(values[rows].min(axis=0), values.min(axis=0))


def test_a_gap_hides_no_extreme_and_stays_a_gap() -> None:
    values = np.zeros(10_000)
    values[4_000:4_500] = np.nan
    values[3_990], values[4_510] = 7.0, -7.0  # in intervals that are partly unknown
    rows = extreme_rows(values, 100)
    assert np.nanmax(values[rows]) == 7.0
    assert np.nanmin(values[rows]) == -7.0
    assert np.isnan(values[rows]).any()


def test_few_samples_are_all_drawn() -> None:
    values = np.arange(7.0)
    np.testing.assert_array_equal(extreme_rows(values, 7), np.arange(7))


@pytest.mark.full
def test_a_long_payload_log_keeps_single_samples() -> None:
    log = whole_study().picks
    assert log is not None
    count = 4 * PICK_POINTS
    mass, std = np.full(count, 0.5), np.full(count, 0.01)
    mass[12_345], mass[20_001] = 3.0, -2.0
    std[30_003] = 1.0  # a band of 0.5 - 2 to 0.5 + 2
    figure = pick_figure(replace(log, t=np.arange(count) / 1000, mass=mass, std=std))
    curves = {trace.name: trace for trace in figure.data}
    assert len(curves["online"].x) < count / 2
    assert max(curves["online"].y) == 3.0
    assert min(curves["online"].y) == -2.0
    band = np.asarray(curves["two standard deviations"].y)
    assert np.isclose(band, 2.5).any()
    assert np.isclose(band, -1.5).any()


def test_loads_of_a_long_motion_keep_single_samples() -> None:
    loads = whole_study().loads
    assert loads is not None
    count = 3 * POINTS
    t = np.arange(count) / 1000
    p = np.tile([0.0, 0.0, -0.6], (count, 1))
    torque = np.zeros((count, 3))
    torque[7_777, 1] = 9.0
    long = replace(loads, motion=Motion.from_platform(robot(), t, p))
    figure = time_figure(_curves(long, torque, ["a", "b", "c"]), "torque (N m)", [-1.0, 1.0])
    assert max(figure.data[1].y) == 9.0
    assert len(figure.data[1].x) <= POINTS
    assert [shape.y0 for shape in figure.layout.shapes] == [-1.0, 1.0]


def test_a_name_has_one_entry_of_the_legend() -> None:
    t = np.arange(5.0)
    model = Curve("model", t, np.zeros((5, 3)), "#000000")
    figure = axes_figure(("1", "2", "3"), [model], [model])
    assert len(figure.data) == 6
    assert sum(trace.showlegend for trace in figure.data) == 1
