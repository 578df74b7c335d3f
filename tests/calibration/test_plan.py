"""Plans: poses in reach, in sight and in a short order, that tell more than random ones."""

import csv
from pathlib import Path

import numpy as np
import pytest
from tests.calibration import machines

import deltadyn as dd
from deltadyn.calibration import Positions
from deltadyn.calibration.plan import PlanOptions, candidates, in_sight
from deltadyn.errors import InputError
from deltadyn.kinematics.workspace import in_workspace
from deltadyn.robot import Robot

SIGMA = 2e-5


@pytest.fixture(scope="module")
def delta() -> Robot:
    return dd.load_robot("sipro-d3-1200")


@pytest.fixture(scope="module")
def plan(delta: Robot) -> dd.calibration.CalibrationPlan:
    return dd.plan_calibration(delta, "tracker", poses=30)


def left(robot: Robot, q: np.ndarray, seeds: range) -> tuple[float, float]:
    """Root mean square and mean worst point over machines measured at these poses (m)."""
    squares, worst = [], []
    for seed in seeds:
        rng = np.random.default_rng(1000 + seed)
        errors = machines.errors(robot, rng)
        poses = q
        if q.ndim == 1:
            poses = dd.inverse_kinematics(robot, machines.cylinder(robot, rng, int(q[0])))
        p = machines.points(robot, errors, poses)
        result = dd.calibrate(
            robot,
            Positions(poses, p + SIGMA * rng.standard_normal(p.shape), SIGMA),
            model="all",
        )
        check = dd.inverse_kinematics(robot, machines.cylinder(robot, rng, 300))
        frame = result.frame
        assert frame is not None
        off = frame.seen(result.forward_kinematics(check)) - machines.points(robot, errors, check)
        length = np.linalg.norm(off, axis=1)
        squares.append(float((length**2).mean()))
        worst.append(float(length.max()))
    return float(np.sqrt(np.mean(squares))), float(np.mean(worst))


def test_designed_poses_tell_more_than_random_ones(
    delta: Robot, plan: dd.calibration.CalibrationPlan
) -> None:
    designed = left(delta, plan.q, range(5))
    twelve = left(delta, dd.plan_calibration(delta, "tracker", poses=12).q, range(5))
    random = left(delta, np.array([30]), range(5))
    assert designed[0] < 25e-6
    assert designed[1] < 60e-6
    assert twelve[0] < 1.15 * random[0]
    assert twelve[1] < random[1]
    assert 0.7 * plan.rms < designed[0] < 1.4 * plan.rms  # as predicted


def test_poses_are_in_reach_and_differ(delta: Robot, plan: dd.calibration.CalibrationPlan) -> None:
    box = delta.limits.workspace
    assert box is not None
    assert in_workspace(delta, plan.p).all()
    assert (np.linalg.norm(plan.p[:, :2], axis=1) <= box.radius + 1e-9).all()
    np.testing.assert_allclose(dd.forward_kinematics(delta, plan.q), plan.p, atol=1e-12)
    apart = np.linalg.norm(plan.p[:, None] - plan.p[None], axis=2) + np.eye(30)
    assert apart.min() > 1e-3


def test_the_order_is_a_short_path(plan: dd.calibration.CalibrationPlan) -> None:
    rng = np.random.default_rng(1)
    lengths = [
        float(np.linalg.norm(np.diff(plan.p[rng.permutation(30)], axis=0), axis=1).sum())
        for _ in range(20)
    ]
    assert plan.path_length < 0.6 * min(lengths)


def test_what_is_not_in_sight_is_left_out(delta: Robot) -> None:
    """From beside and above, an arm or a strut stands in the way of some poses."""
    given = PlanOptions(sight_from=(1.5, 0.3, 0.2), tool=(0, 0, -0.15))
    points = candidates(delta, "tracker", PlanOptions())
    seen = in_sight(delta, points, given)
    assert 0 < seen.sum() < len(points)
    found = dd.plan_calibration(
        delta, "tracker", 12, sight_from=(1.5, 0.3, 0.2), tool=(0, 0, -0.15)
    )
    assert in_sight(delta, found.p, given).all()
    with pytest.raises(InputError, match="poses in reach and in sight is 0"):
        dd.plan_calibration(delta, "tracker", 12, sight_from=(2.0, 0.0, -0.5))


def test_a_table_for_the_controller(
    delta: Robot, plan: dd.calibration.CalibrationPlan, tmp_path: Path
) -> None:
    own = delta.replace(controller=type(delta.controller)(-1.0, 0.1))
    found = dd.plan_calibration(own, "tracker", poses=30)
    rows = list(csv.DictReader(found.save(tmp_path / "poses.csv").open()))
    assert len(rows) == 30
    q = np.array([[float(row[f"q{i}_deg"]) for i in (1, 2, 3)] for row in rows])
    np.testing.assert_allclose(q, np.degrees(own.to_controller(found.q)), atol=1e-6)


def test_other_instruments(delta: Robot) -> None:
    probe = dd.plan_calibration(delta, "probe", 20, plates=(-0.8,))
    assert set(probe.p[:, 2]) == {-0.8}
    assert probe.visible.unseen == ("x", "y", "turn about z", "scale")
    distances = dd.plan_calibration(delta, "distances", 60)
    assert distances.pairs is not None
    assert distances.pairs.shape == (30, 2)
    assert distances.visible.rank == 18
    rails = dd.plan_calibration(dd.load_robot("example-linear-delta"), "tracker", 20)
    assert rails.visible.rank == 18
    assert rails.columns()[1] == "q1_mm"


def test_bad_plans(delta: Robot) -> None:
    with pytest.raises(InputError, match="instrument"):
        dd.plan_calibration(delta, "ruler")
    with pytest.raises(InputError, match="poses is 2"):
        dd.plan_calibration(delta, poses=2)
    with pytest.raises(InputError, match="sigma"):
        dd.plan_calibration(delta, sigma=0.0)
