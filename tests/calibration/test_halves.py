"""Robots whose platform is of two halves: their bars, and the axes that stand along z."""

import numpy as np
import pytest
from tests.family.robots import make

import deltadyn as dd
from deltadyn.calibration import Geometric, Positions, Tolerances, visible
from deltadyn.calibration.field import with_psi, workspace_points
from deltadyn.errors import InputError
from deltadyn.robot import Robot

SIGMA = 2e-5
#: Parameters, and what xyz do not see with a free frame: its choice, and of a screw psi's zero.
CHOICE = ("x", "y", "z", "turn about z")
KINDS = {"par4": (33, 0), "par4_rails": (25, 0), "heli4": (32, 1), "heli4_rails": (24, 1)}


class Case:
    """A robot with errors, and the joints that bring it to poses by closed inverse kinematics."""

    def __init__(self, kind: str) -> None:
        self.kind, self.robot = kind, make(kind)
        self.geometric = Geometric(self.robot)
        rng = np.random.default_rng(1)
        scales = self.geometric.scales(Tolerances(5e-4, np.radians(0.15)))
        self.x = scales * rng.standard_normal(self.geometric.count)
        self.true = self.geometric.mended(self.x)
        self.plan = dd.plan_calibration(self.robot, "tracker", 40)
        self.noise = SIGMA * rng.standard_normal((40, 3))

    def shown(self, poses: np.ndarray) -> np.ndarray:
        """Nominal q at which the true robot takes poses (N, 4)."""
        angles = self.true.to_controller(dd.inverse_kinematics(self.true, poses))
        return np.asarray(self.robot.from_controller(angles))


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def test_points_and_slopes(case: Case) -> None:
    geometric = case.geometric
    poses = with_psi(case.robot, workspace_points(case.robot, 12))
    q = case.shown(poses)
    p, slopes = geometric.slopes(case.x, q)
    np.testing.assert_allclose(p, poses[:, :3], atol=1e-9)
    step = 1e-6
    differences = [
        (geometric.points(case.x + step * e, q) - geometric.points(case.x - step * e, q))
        / (2 * step)
        for e in np.eye(geometric.count)
    ]
    np.testing.assert_allclose(slopes, np.stack(differences, axis=-1), atol=1e-8)


def test_ranks(case: Case) -> None:
    count, more = KINDS[case.kind]
    geometric = case.geometric
    data = Positions(case.plan.q, case.plan.p)
    found = visible(geometric, [data], geometric.scales(Tolerances()))
    assert found.count == count
    assert found.unknowns == count + 6
    assert found.rank == count + 6 - 4 - more
    assert found.unseen[:4] == CHOICE
    assert len(found.unseen) == 4 + more


def test_a_tracker_gives_the_geometry(case: Case) -> None:
    poses = with_psi(case.robot, case.plan.p)
    q = case.shown(poses)
    result = dd.calibrate(case.robot, Positions(q, case.plan.p + case.noise, SIGMA))
    assert result.model == "all"
    frame = result.frame
    assert frame is not None
    check = with_psi(case.robot, workspace_points(case.robot, 100))
    at = case.shown(check)
    mine = result.robot.from_controller(case.robot.to_controller(at))
    off = np.linalg.norm(
        frame.seen(dd.forward_kinematics(result.robot, mine)[:, :3]) - check[:, :3], axis=1
    )
    assert float(np.sqrt((off**2).mean())) < 25e-6
    assert off.max() < 60e-6
    assert result.complete == (KINDS[case.kind][1] == 0)


def test_what_is_refused() -> None:
    robot: Robot = make("par4")
    q, p = np.zeros((6, 4)), np.zeros((6, 3))
    with pytest.raises(InputError, match="tool"):
        dd.calibrate(robot, Positions(q, p, tool=(0.01, 0.0, 0.0)))
    with pytest.raises(InputError, match="in a plane"):
        dd.plan_calibration(make("planar"))
