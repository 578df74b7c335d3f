"""The workspace: boundary, mesh, volume, cylinders, grid, and the rules that bound it."""

import math
import sys
from collections import Counter

import numpy as np
import pytest
from tests.family.robots import make
from tests.kinematics.robots import CLOCKWISE, D3, LIMITED, SPINDLE, UNEQUAL, orientation

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.errors import InputError
from deltadyn.kinematics import (
    LimbGeometry,
    State,
    WorkspaceBoundary,
    WorkspaceRules,
    cylinder_inside,
    in_workspace,
    inverse_kinematics,
    reachable,
    singularity,
    spindle_motion,
    strut_angles,
    workspace,
    workspace_grid,
)
from deltadyn.kinematics.workspace import (
    WorkspaceGrid,
    _axis_ends,
    _cylinder_corners,
    bounding_box,
    working_cylinder,
)
from deltadyn.robot import Robot
from deltadyn.robot.settings import Limits, Workspace

NAMES = ("d3", "unequal", "spindle", "limited", "clockwise")
by_robot = pytest.mark.parametrize("robot", [D3, UNEQUAL, SPINDLE, LIMITED, CLOCKWISE], ids=NAMES)
OPEN = WorkspaceRules(angles=False, ball_joints=False, stroke=False, singularity=None)


def full(robot: Robot, points: FloatArray) -> FloatArray:
    return np.concatenate([points, np.zeros((len(points), robot.dof - 3))], axis=1)


def strut_vectors(robot: Robot, p: FloatArray) -> FloatArray:
    state = State.from_platform(robot, p)
    return LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q).s


def allowed(robot: Robot, points: FloatArray, margin: float = 0.0) -> BoolArray:
    """The rules once more, from the public functions of the kinematics."""
    p = full(robot, points)
    good = reachable(robot, p)
    inside = p[good]
    keep = np.ones(len(inside), dtype=bool)
    limits = robot.limits
    theta = inverse_kinematics(robot, inside)[:, :3]
    if limits.angle_min is not None:
        keep &= (theta >= np.asarray(limits.angle_min)[:3]).all(axis=1)
        keep &= (theta <= np.asarray(limits.angle_max)[:3]).all(axis=1)
    keep &= (strut_angles(robot, inside).margin >= 0).all(axis=1)
    if robot.spindle is not None:
        keep &= spindle_motion(robot, inside).stroke_margin >= 0
    # Below the elbows, det has the sign opposite to their triangle's.
    keep &= np.linalg.det(strut_vectors(robot, inside)) * orientation(robot) < 0
    if margin:
        keep &= singularity(robot, inside).margin >= margin
    out = np.zeros(len(points), dtype=bool)
    out[good] = keep
    return out


@by_robot
@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_rules_are_those_of_the_kinematics(robot: Robot, margin: float) -> None:
    points = np.random.default_rng(71).uniform([-1, -1, -1.3], [1, 1, 0], (5000, 3))
    found = in_workspace(robot, full(robot, points), WorkspaceRules(singularity=margin))
    np.testing.assert_array_equal(found, allowed(robot, points, margin))
    assert 200 < found.sum() < 4800
    assert bool(in_workspace(robot, full(robot, points)[7])) == bool(
        in_workspace(robot, full(robot, points))[7]
    )


def test_open_rules_are_reachability() -> None:
    points = np.random.default_rng(72).uniform([-1, -1, -1.3], [1, 1, 0], (3000, 3))
    np.testing.assert_array_equal(in_workspace(LIMITED, points, OPEN), reachable(D3, points))
    assert not in_workspace(D3, [np.nan, 0.0, -0.8])


@by_robot
def test_boundary_is_the_last_point_inside(robot: Robot) -> None:
    found = workspace(robot, heights=15, azimuths=24)
    assert found.status == "found"
    assert found.radius.shape == (15, 24)
    z = np.repeat(found.heights, 24)
    phi = np.tile(found.azimuths, 15)
    radius = found.radius.ravel()
    for r, expected in ((radius, True), (radius + 1e-9, False)):  # 30 bisections of some 0.02 m
        points = np.stack([r * np.cos(phi), r * np.sin(phi), z], axis=-1)
        inside = in_workspace(robot, full(robot, points))
        assert (inside == expected).all()


@by_robot
def test_nothing_between_axis_and_boundary_is_outside(robot: Robot) -> None:
    found = workspace(robot, heights=11, azimuths=12)
    z = np.repeat(found.heights[1:-1], 12)
    phi = np.tile(found.azimuths, 9)
    for share in np.linspace(0, 0.999, 40):
        r = share * found.radius[1:-1].ravel()
        points = np.stack([r * np.cos(phi), r * np.sin(phi), z], axis=-1)
        assert in_workspace(robot, full(robot, points)).all()


@by_robot
def test_mesh_is_closed_and_points_outward(robot: Robot) -> None:
    found = workspace(robot, heights=9, azimuths=10)
    edges: Counter[tuple[int, int]] = Counter()
    for a, b, c in found.faces.tolist():
        edges.update([(a, b), (b, c), (c, a)])
    assert set(edges.values()) == {1}  # consistent: no directed edge is run twice
    assert all((b, a) in edges for a, b in edges)  # closed: its neighbour runs it backwards
    # Euler's formula of a sphere.
    assert len(found.vertices) - len(edges) // 2 + len(found.faces) == 2
    assert found.volume > 0  # outward


@pytest.mark.full
@by_robot
def test_volumes_agree(robot: Robot) -> None:
    found = workspace(robot)
    # The mesh lies inside convex slices: it lacks 1 - sin(dphi) / dphi = 0.02 % in azimuth and the
    # curvature over 1/120 of the height, largest where arms stretch at the lowest point.
    assert found.volume == pytest.approx(found.quadrature_volume, rel=4e-3)
    # The radius jumps where a ray begins to miss a fold of the boundary; the quadrature puts a jump
    # up to half a spacing wrong.
    coarse = workspace(robot, heights=61, azimuths=90)
    assert coarse.quadrature_volume == pytest.approx(found.quadrature_volume, rel=4e-3)


@pytest.mark.full
@by_robot
def test_volume_against_monte_carlo(robot: Robot) -> None:
    found = workspace(robot)
    rng = np.random.default_rng(73)
    count = 20_000
    low, high = found.heights[0], found.heights[-1]
    widest = float(found.radius.max())
    points = rng.uniform([-widest, -widest, low], [widest, widest, high], (count, 3))
    # A point counts where all of its horizontal line to the axis is inside.
    alive = np.arange(count)
    for share in np.linspace(0, 1, 25):
        line = points[alive] * [share, share, 1.0]
        alive = alive[allowed(robot, line)]
    share = alive.size / count
    box = (2 * widest) ** 2 * (high - low)
    deviation = math.sqrt(share * (1 - share) / count)
    # Four standard deviations of the count, and 0.4 % for mesh and line sampling.
    assert found.volume == pytest.approx(box * share, abs=box * 4 * deviation + 0.004 * box * share)


def test_a_turn_by_120_degrees_changes_nothing() -> None:
    found = workspace(LIMITED, heights=21, azimuths=36)
    turned = np.roll(found.radius, 12, axis=1)
    # Bisection ends within 1e-10 m; at a grazing end a rounding of p shows as its square root.
    np.testing.assert_allclose(turned[1:-1], found.radius[1:-1], atol=1e-8)


def test_each_rule_takes_its_part() -> None:
    robot = SPINDLE.replace(
        limits=Limits(angle_min=-0.6, angle_max=1.3, ball_joint_angle=math.radians(35))
    )

    def volume(rules: WorkspaceRules | None = None) -> float:
        return workspace(robot, rules=rules, heights=31, azimuths=36).volume

    widest = volume(OPEN)
    alone = {
        "angles": WorkspaceRules(True, False, False, None),
        "ball_joints": WorkspaceRules(False, True, False, None),
        "stroke": WorkspaceRules(False, False, True, None),
        "singularity": WorkspaceRules(False, False, False, 0.3),
    }
    volumes = {name: volume(rules) for name, rules in alone.items()}
    for name, part in volumes.items():
        assert part < 0.99 * widest, name
    # All together keep less than any alone; sections at other heights differ by less than 0.1 %.
    assert volume() <= 1.001 * min(volumes.values())


def test_axis_ends_on_the_axis() -> None:
    found = workspace(D3, heights=5, azimuths=6)
    # Stretched and folded limbs on the axis; bisection of 2.5 mm thirty times.
    np.testing.assert_allclose(found.heights[0], -math.sqrt(1.275**2 - 0.15**2), atol=1e-10)
    np.testing.assert_allclose(found.heights[-1], -math.sqrt(0.525**2 - 0.15**2), atol=1e-10)


def test_largest_cylinder_by_trying_all() -> None:
    found = workspace(LIMITED, heights=31, azimuths=36)
    least = found.radius.min(axis=1)
    best = 0.0
    for i in range(31):
        for j in range(i + 1, 31):
            volume = least[i : j + 1].min() ** 2 * (found.heights[j] - found.heights[i])
            best = max(best, volume)
    cylinder = found.largest_cylinder()
    assert cylinder is not None
    assert cylinder.radius**2 * (cylinder.z_max - cylinder.z_min) == pytest.approx(best, rel=1e-14)


@pytest.mark.full
@by_robot
def test_largest_cylinder_is_inside_and_a_larger_one_is_not(robot: Robot) -> None:
    cylinder = workspace(robot).largest_cylinder()
    assert cylinder is not None
    # Between sampled heights and azimuths the boundary may dip by the curvature of 2 degrees.
    smaller = Workspace(0.998 * cylinder.radius, cylinder.z_min + 1e-3, cylinder.z_max - 1e-3)
    assert cylinder_inside(robot, smaller).inside
    larger = Workspace(1.02 * cylinder.radius, cylinder.z_min, cylinder.z_max)
    check = cylinder_inside(robot, larger)
    assert not check.inside
    assert check.point is not None
    assert not in_workspace(robot, full(robot, np.array([check.point])))[0]


def test_cylinder_of_the_limits_and_its_reason() -> None:
    cylinder = Workspace(0.4, -0.9, -0.7)
    robot = LIMITED.replace(limits=Limits(ball_joint_angle=math.radians(35), workspace=cylinder))
    assert cylinder_inside(robot).status == "every sample of the cylinder keeps the rules"
    tight = robot.replace(limits=Limits(ball_joint_angle=math.radians(20), workspace=cylinder))
    check = cylinder_inside(tight)
    assert not check.inside
    assert check.status.endswith("m a ball joint passes its angle limit")
    high = cylinder_inside(robot, Workspace(0.1, -0.9, -0.3))
    assert high.point is not None
    assert high.point[2] == pytest.approx(-0.5, abs=0.025)  # the first of 25 heights too near
    assert high.status.endswith("m a limb is too short or too long for it")


def test_grid() -> None:
    grid = workspace_grid(LIMITED, 0.025)
    x, y, z = np.meshgrid(grid.x, grid.y, grid.z, indexing="ij")
    points = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    assert grid.inside.shape == (grid.x.size, grid.y.size, grid.z.size)
    np.testing.assert_array_equal(grid.inside.ravel(), in_workspace(LIMITED, points))
    assert 0.0 in grid.x
    assert 0.0 in grid.y
    for axis in range(3):  # the box holds all: its faces are empty
        ends = np.moveaxis(grid.inside, axis, 0)[[0, -1]]
        assert not ends.any()
    # Horns above the highest point of the axis and behind its rays add 1.3 %, cubes of 25 mm on
    # the surface leave some 0.5 %.
    assert grid.volume == pytest.approx(workspace(LIMITED).volume, rel=0.02)


def test_no_workspace_is_a_status() -> None:
    robot = D3.replace(limits=Limits(angle_min=-0.1, angle_max=0.1, ball_joint_angle=0.01))
    nothing = robot.replace(limits=Limits(angle_min=2.9, angle_max=3.0))
    empty = workspace(nothing)
    assert empty.status == "no point of the axis below the base plane keeps the rules"
    assert (empty.volume, empty.quadrature_volume, empty.area) == (0.0, 0.0, 0.0)
    assert empty.largest_cylinder() is None
    with pytest.raises(InputError, match="workspace is 'empty'; allowed: a robot that reaches"):
        working_cylinder(nothing)
    assert empty.vertices.shape == empty.faces.shape == (0, 3)
    assert workspace(robot).volume > 0


def test_a_boundary_by_hand() -> None:
    """A cone frustum of radius 1 to 0.5 over a height of 2, with a square section."""
    radius = np.repeat([[1.0], [0.75], [0.5]], 4, axis=1)
    quarter = np.arange(4) * np.pi / 2
    shape = WorkspaceBoundary(np.array([-2.0, -1.0, 0.0]), quarter, radius, "found")
    # Square sections of area 2 r^2: h (A1 + A2 + sqrt(A1 A2)) / 3 of a pyramid's frustum.
    assert shape.volume == pytest.approx(2 * (2 + 0.5 + 1) / 3, rel=1e-14)
    assert shape.quadrature_volume == pytest.approx(np.pi * (1 + 2 * 0.75**2 + 0.25) / 2)
    assert shape.area == pytest.approx(3.0, rel=1e-14)  # 2 r wide: (2 + 1) / 2 over the height
    assert shape.largest_cylinder() == Workspace(0.75, -2.0, -1.0)
    thin = WorkspaceBoundary(np.array([-2.0]), quarter, radius[:1], "found")
    assert thin.largest_cylinder() is None


def test_the_rim_of_the_cylinder_is_even() -> None:
    """All points are on the axis or the rim, whose points are spread evenly around it."""
    robot = make("heli4")
    cylinder = working_cylinder(robot)
    x, y, z, psi = _cylinder_corners(robot).T
    far = np.hypot(x, y)
    rim = far > cylinder.radius / 2
    np.testing.assert_allclose(far[rim], cylinder.radius, rtol=1e-14)
    np.testing.assert_allclose(far[~rim], 0.0, atol=1e-14)
    np.testing.assert_allclose([x.sum(), y.sum()], 0.0, atol=1e-12)
    gaps = np.diff(np.unique(np.round(np.arctan2(y, x)[rim], 9)))
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)
    assert (z.min(), z.max()) == (cylinder.z_min, cylinder.z_max)
    assert not psi.any()


def test_largest_cylinder_does_not_cross_a_waist() -> None:
    radius = np.repeat([[1.0], [1.0], [0.2], [1.0]], 4, axis=1)
    quarter = np.arange(4) * np.pi / 2
    shape = WorkspaceBoundary(np.array([-3.0, -2.0, -1.0, 0.0]), quarter, radius, "found")
    assert shape.largest_cylinder() == Workspace(1.0, -3.0, -2.0)


def test_other_elbows_have_another_workspace() -> None:
    state = State.from_platform(LIMITED, [0.0, 0.0, -0.8], elbows="in")
    assert (np.abs(state.q) > 1.4).all()  # beyond the angle limit of this robot
    assert not in_workspace(LIMITED, [0.0, 0.0, -0.8], WorkspaceRules(elbows="in"))
    assert in_workspace(D3, [0.0, 0.0, -0.8], WorkspaceRules(elbows="in"))


def test_the_longest_stretch_of_the_axis_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rules cut the axis into several, in the middle or at an end."""
    robot = D3
    lowest = float(bounding_box(robot)[0][2])
    stretches = [(0.1, 0.2), (0.3, 0.7), (0.75, 0.9)]

    def broken(robot: Robot, points: FloatArray, rules: WorkspaceRules) -> BoolArray:
        share = points[:, 2:] / lowest
        inside = np.zeros(share.shape, dtype=bool)
        for low, high in stretches:
            inside |= (low < share) & (share < high)
        return ~inside

    monkeypatch.setattr(sys.modules[_axis_ends.__module__], "broken_rules", broken)
    for first, longest in ((0.1, (0.3, 0.7)), (0.72, (0.75, 0.9))):
        stretches = [item for item in stretches if first <= item[0]]
        found = _axis_ends(robot, WorkspaceRules())
        assert found is not None
        low, high = longest
        np.testing.assert_allclose(found, [high * lowest, low * lowest], rtol=1e-3)
    stretches = []
    assert _axis_ends(robot, WorkspaceRules()) is None


def test_cubes_and_squares_of_a_grid_are_counted() -> None:
    inside = np.zeros((3, 2, 2), dtype=bool)
    inside[0, 0, 0] = inside[2, 1, 1] = inside[2, 0, 1] = True
    y = np.array([0.0, 0.5])
    found = WorkspaceGrid(np.zeros(3), y, np.zeros(2), inside, 0.5)
    assert (found.volume, found.area) == (3 * 0.125, 2 * 0.25)
    plane = WorkspaceGrid(np.zeros(3), y[:1], np.zeros(2), inside[:, :1], 0.5)
    assert (plane.volume, plane.area) == (0.0, 2 * 0.25)
