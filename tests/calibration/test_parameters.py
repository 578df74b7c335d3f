"""Parameters of the geometry: points and slopes, and the ranks of every instrument."""

import numpy as np
import pytest
from tests.calibration import machines
from tests.calibration.engine import engine_points

import deltadyn as dd
from deltadyn.calibration import (
    BallBar,
    Commanded,
    Distances,
    Geometric,
    Heights,
    Positions,
    Tolerances,
    visible,
)
from deltadyn.calibration.estimate import system
from deltadyn.robot import Robot

ROBOTS = ("sipro-d3-1200", "example-linear-delta")


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> Robot:
    return dd.load_robot(request.param)


def vector(geometric: Geometric, errors: dict[str, np.ndarray]) -> np.ndarray:
    """Errors by kind as the parameters' vector."""
    return np.array([errors[item.kind][item.limb] for item in geometric.parameters])


def test_points_are_those_of_a_machine_with_these_errors(robot: Robot) -> None:
    rng = np.random.default_rng(1)
    geometric = Geometric(robot, gains=True)
    errors = machines.errors(robot, rng, gain=1e-3)
    q = dd.inverse_kinematics(robot, machines.cylinder(robot, rng, 20))
    found = geometric.points(vector(geometric, errors), q)
    np.testing.assert_allclose(found, machines.points(robot, errors, q), atol=1e-12)


def test_machines_are_those_of_an_engine(robot: Robot) -> None:
    """Rod pairs and a free platform in MuJoCo give the points that all tests measure."""
    rng = np.random.default_rng(4)
    errors = machines.errors(robot, rng, gain=1e-3)
    near = machines.cylinder(robot, rng, 8)
    q = dd.inverse_kinematics(robot, near)
    found = engine_points(robot, errors, q, near)
    np.testing.assert_allclose(found, machines.points(robot, errors, q), atol=1e-12)


def test_slopes_are_those_of_differences(robot: Robot) -> None:
    rng = np.random.default_rng(2)
    geometric = Geometric(robot, gains=True)
    x = vector(geometric, machines.errors(robot, rng, gain=1e-3))
    q = dd.inverse_kinematics(robot, machines.cylinder(robot, rng, 20))
    p, slopes = geometric.slopes(x, q)
    np.testing.assert_array_equal(p, geometric.points(x, q))
    step = 1e-6
    differences = np.stack(
        [
            (geometric.points(x + step * e, q) - geometric.points(x - step * e, q)) / (2 * step)
            for e in np.eye(geometric.count)
        ],
        axis=-1,
    )
    np.testing.assert_allclose(slopes, differences, atol=8e-9)


def test_a_mended_robot_file_has_the_calibrated_kinematics(robot: Robot) -> None:
    """The controller's angles do not change; what they mean does."""
    rng = np.random.default_rng(3)
    axes = robot.dof
    own = robot.replace(controller=type(robot.controller)((-1.0,) * axes, (0.1,) * axes))
    geometric = Geometric(own)
    x = vector(geometric, machines.errors(own, rng))
    q = dd.inverse_kinematics(own, machines.cylinder(own, rng, 10))
    shown = own.to_controller(q)
    mended = geometric.mended(x)
    found = dd.forward_kinematics(mended, mended.from_controller(shown))
    np.testing.assert_allclose(found, geometric.points(x, q), atol=1e-12)


class Sets:
    """Measurements of a perfect robot with every instrument."""

    def __init__(self, robot: Robot) -> None:
        rng = np.random.default_rng(5)
        self.points = machines.cylinder(robot, rng, 120)
        self.q = dd.inverse_kinematics(robot, self.points)
        flat = self.points.copy()
        flat[:, 2] = self.points[:, 2].mean()
        steps = flat + np.outer(np.arange(120) < 60, [0.0, 0.0, 0.03])
        apart = np.linalg.norm(self.points[:60] - self.points[60:], axis=1)
        self.centre = np.array([0.02, 0.01, self.points[:, 2].mean() - 0.1])
        around = rng.standard_normal((600, 3))
        ball = self.centre + 0.2 * around / np.linalg.norm(around, axis=1)[:, None]
        box = robot.limits.workspace
        assert box is not None
        ball = ball[(ball[:, 2] > box.z_min) & (ball[:, 2] < box.z_max)][:120]
        turns = np.broadcast_to(np.eye(3), (120, 3, 3))
        self.xyz = Positions(self.q, self.points)
        self.plate = Heights(dd.inverse_kinematics(robot, flat), flat[:, 2])
        self.plates = Heights(dd.inverse_kinematics(robot, steps), steps[:, 2])
        self.distances = Distances(self.q[:60], self.q[60:], apart)
        self.bar = BallBar(dd.inverse_kinematics(robot, ball), 0.2)
        self.camera = Positions(self.q, self.points, rotations=turns)
        self.log = Commanded(np.arange(120) * 0.1, self.q, self.points)


@pytest.fixture(scope="module")
def sets(robot: Robot) -> Sets:
    return Sets(robot)


RIGID = ("x", "y", "z", "turn about x", "turn about y", "turn about z")
#: (data, rank, unknowns, what is not seen): arms and rails, without and with gains.
RANKS = {
    (False, False): {
        "plate": (20, 24, ("x", "y", "turn about z", "scale")),
        "plates": (21, 24, ("x", "y", "turn about z")),
        "distances": (18, 24, RIGID),
        "bar": (21, 27, RIGID),
        "camera": (27, 33, RIGID),
    },
    (False, True): {
        "plate": (23, 27, ("x", "y", "turn about z", "scale")),
        "plates": (24, 27, ("x", "y", "turn about z")),
        "distances": (21, 27, RIGID),
        "bar": (24, 30, RIGID),
        "camera": (30, 36, RIGID),
    },
    (True, False): {
        "plate": (15, 18, ("x", "y", "turn about z")),
        "distances": (12, 18, RIGID),
    },
    (True, True): {
        "plate": (17, 21, ("x", "y", "turn about z", "scale")),
        "distances": (15, 21, RIGID),
    },
}


@pytest.mark.parametrize("gains", [False, True])
def test_ranks_of_instruments(robot: Robot, sets: Sets, gains: bool) -> None:
    geometric = Geometric(robot, gains)
    scales = geometric.scales(Tolerances())
    for name, (rank, unknowns, unseen) in RANKS[robot.linear, gains].items():
        own = [sets.centre] if name == "bar" else None
        found = visible(geometric, [getattr(sets, name)], scales, own=own)
        assert (found.rank, found.unknowns, found.unseen) == (rank, unknowns, unseen), name


@pytest.mark.parametrize("gains", [False, True])
def test_positions_see_all_once_their_frame_is_chosen(
    robot: Robot, sets: Sets, gains: bool
) -> None:
    """24 of 24, and with the frame's 6 and the tool's 3 still 24 of 33."""
    geometric = Geometric(robot, gains)
    n, scales = geometric.count, geometric.scales(Tolerances())
    for data in (sets.xyz, sets.log):
        held = visible(geometric, [data], scales, held=True)
        assert (held.geometry_rank, held.unseen) == (n, ())
    free = visible(geometric, [sets.xyz], scales)
    assert (free.rank, free.unknowns) == (n, n + 6)
    own = [sets.xyz.start(sets.points)]
    rows = system(geometric, [sets.xyz], np.eye(n), np.zeros(n), own, held=False).slopes
    tool = np.tile(own[0].turn, (len(sets.points), 1)) / 2e-5
    assert rank(np.concatenate([rows, tool], axis=1)) == n


def test_without_axes_a_tracker_sees_its_own_turns(sets: Sets, robot: Robot) -> None:
    """18 parameters, 6 of the frame and 3 of the tool: 21 of 27."""
    if robot.linear:
        return
    geometric = Geometric(robot)
    own = [sets.xyz.start(sets.points)]
    rows = system(geometric, [sets.xyz], np.eye(24), np.zeros(24), own, held=False).slopes
    kept = [k for k, item in enumerate(geometric.parameters) if item.kind not in ("yaw", "roll")]
    tool = np.tile(own[0].turn, (len(sets.points), 1)) / 2e-5
    both = np.concatenate([rows[:, kept], rows[:, 24:], tool], axis=1)
    assert (both.shape[1], rank(both)) == (27, 21)


def rank(matrix: np.ndarray) -> int:
    """Numerical rank of a matrix with its columns brought to one length."""
    values = np.linalg.svd(matrix / np.linalg.norm(matrix, axis=0), compute_uv=False)
    return int((values > 1e-10 * values[0]).sum())
