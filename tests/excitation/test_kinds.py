"""Excitation of planar robots and of those whose limbs carry psi."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.excitation.cases import problem, request, with_all_friction
from tests.excitation.test_columns import ROUNDING, columns_of, stacked
from tests.excitation.test_problem import check_slopes
from tests.family.robots import OTHER_PLATFORMS, make, waves

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base import exciting_states
from deltadyn.errors import UnknownNameError
from deltadyn.excitation.columns import pose_of
from deltadyn.excitation.criteria import predict
from deltadyn.excitation.design import Searches, design_excitation, finished, within_limits
from deltadyn.excitation.problem import Problem, limit_rows, worst
from deltadyn.excitation.request import Prepared, region
from deltadyn.excitation.result import Coordinates
from deltadyn.excitation.search import Found, Task, best_starts, random_motion, run_task
from deltadyn.kinematics import in_workspace, psi_range
from deltadyn.motion import check_motion, fourier_motion, read_motion
from deltadyn.robot import Robot

every = pytest.mark.parametrize("kind", OTHER_PLATFORMS)


@cache
def ready_for(kind: str) -> Prepared:
    """Three harmonics in four periods of a second, prepared once for all tests."""
    return problem(make(kind), harmonics=3, periods=4)[1]


def searched(kind: str) -> Found:
    """A few steps of one search; no time ends it, so that the result is the same everywhere."""
    return run_task(Task(ready_for(kind).setting, 4, (0, 4, 0), 32, 80.0, 12, math.inf))


def case_of(kind: str, samples: int) -> Problem:
    return Problem(ready_for(kind).setting, 4, samples, 50.0)


@every
def test_columns_are_those_of_the_regressor(kind: str) -> None:
    robot = with_all_friction(make(kind), 0.3)
    state = exciting_states(robot, 20)
    expected = dd.regressor(robot, state, tied=False)
    found = columns_of(robot, stacked(state), False)
    size = np.abs(expected.Y).max(axis=(0, 1))
    assert (np.abs(found - expected.Y) <= ROUNDING * size).all()


@pytest.mark.parametrize("kind", ["planar_rails", "par4", "heli4_rails"])
def test_gradients(kind: str) -> None:
    check_slopes(case_of(kind, 24))


@pytest.mark.parametrize("kind", ["planar_rails", "par4", "heli4_rails"])
def test_limits_are_those_of_check_motion(kind: str) -> None:
    case, ready = case_of(kind, 200), ready_for(kind)
    robot = ready.setting.robot
    x = random_motion(case, np.random.default_rng(7))
    pose = pose_of(robot, case.motion(x)[:, None])
    tau = np.tensordot(ready.setting.values, case.regressor(pose), axes=1)
    rows = {row.name: row for row in limit_rows(robot, pose, tau, ready.setting.rules)}
    series = case.series(x)
    motion = fourier_motion(robot, series, rate=200 * series.frequency, ramp=0.0)
    report = check_motion(robot, motion, share=0.9)
    for name in ("rate", "torque_peak", "platform_speed", "workspace_radius"):
        share = math.sqrt(float(worst(np, [rows[name]])[0]))
        assert share == pytest.approx(report[name].use, rel=1e-9)
    assert worst(np, [rows["singularity_margin"]])[0] <= 1  # in the working assembly


@pytest.mark.full
@pytest.mark.parametrize("kind", [kind for kind in OTHER_PLATFORMS if kind != "planar"])
def test_a_designed_motion_beats_waves(kind: str) -> None:
    """A few steps of the search, with ramps, within all limits; waves are sines of a person."""
    robot, ready = make(kind), ready_for(kind)
    asked = request(robot, harmonics=3, periods=4)
    series, ramp = within_limits(asked, case_of(kind, 24).series(searched(kind).x))
    motion = fourier_motion(robot, series, periods=4, rate=500.0, ramp=ramp)
    assert check_motion(robot, motion, share=0.9).ok
    assert in_workspace(robot, motion.p).all()
    found = predict(
        robot, series, 4.0, ready.chosen, ready.weights, ready.noise, "exact", True, phases=400
    )
    assert found.condition_number < waves_condition(robot, ready.weights, ready.chosen.names)


def waves_condition(robot: Robot, weights: FloatArray, names: Sequence[str]) -> float:
    """Of the weighted regressor of waves, with columns of unit length."""
    known = dd.regressor(robot, waves(robot, 2.0, rate=400.0))
    Y = known.Y[:, :, [known.names.index(name) for name in names]]
    flat = (Y * weights[:, None]).reshape(-1, Y.shape[2])
    return float(np.linalg.cond(flat / np.linalg.norm(flat, axis=0)))


def test_a_design_of_a_planar_robot_and_its_table(tmp_path: Path) -> None:
    robot, best = make("planar"), searched("planar")
    asked = request(robot, harmonics=3, periods=4)
    found = finished(asked, ready_for("planar"), best, Searches(1, 0, [best]), time.time())
    names = [item.name for item in found.parameters]
    assert {"M_P", "m_x", "A", "G"} <= {*names}
    assert found.report.ok
    assert found.condition_number < found.before.condition_number
    assert found.condition_number < waves_condition(robot, found.weights, names)
    path = tmp_path / "excitation.csv"
    heads: dict[Coordinates, str] = {"platform": "t_s,x_mm,z_mm", "joints": "t_s,q1_rad,q2_rad"}
    for coordinates, head in heads.items():
        found.save(path, coordinates=coordinates, length_unit="mm")
        assert path.read_text().splitlines()[0].startswith(head)
        np.testing.assert_allclose(read_motion(path, robot).p, found.motion.p, atol=1e-9)


def test_psi_keeps_within_the_bars() -> None:
    robot = make("par4")
    centre, half = region(robot, 0.2)
    low, high = psi_range(robot, rules=dd.kinematics.WorkspaceRules(singularity=0.2))
    assert centre[3] - half[3] == pytest.approx(low)
    assert centre[3] + half[3] == pytest.approx(high)
    assert 1.5 < high < math.pi  # bars of 90 degrees are k = 2 times as many of psi, less a margin


def test_screened_starts() -> None:
    case = case_of("par4", 24)
    best = best_starts(case, 8, 2, 0, "numpy")
    assert best
    assert case.use(best[0].x) <= 1.001  # of the bisected width


def test_a_coordinate_that_is_not_there() -> None:
    with pytest.raises(UnknownNameError, match="'y'"):
        design_excitation(make("planar"), still=["y"])
