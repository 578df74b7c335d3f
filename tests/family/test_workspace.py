"""Workspace, singular poses and the range of psi of every kind of robot."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.family.robots import KINDS, OTHER_PLATFORMS, make, waves
from tests.reference.family import random_member, states
from tests.reference.family.convert import to_robot

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.dynamics.coupling import coupling_map, coupling_summary
from deltadyn.errors import InputError
from deltadyn.kinematics import (
    WorkspaceRules,
    cylinder_inside,
    in_workspace,
    psi_range,
    singularity,
    working_cylinder,
    workspace,
    workspace_grid,
)
from deltadyn.kinematics.workspace import assembly_sign
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform

every = pytest.mark.parametrize("kind", [*KINDS, *OTHER_PLATFORMS])
others = pytest.mark.parametrize("kind", OTHER_PLATFORMS)
BEAM = "beam"  # its rails name no end, so that its workspace ends at the bounding box


def free(kind: str) -> Robot:
    """The robot without a workspace of its own."""
    robot = make(kind)
    return robot.replace(limits=replace(robot.limits, workspace=None))


def poses(robot: Robot, count: int, seed: int) -> FloatArray:
    """Poses in and about the workspace, the tool turned by up to a rad."""
    cylinder = working_cylinder(robot)
    rng = np.random.default_rng(seed)
    spans = {
        "x": (-cylinder.radius, cylinder.radius),
        "y": (-cylinder.radius, cylinder.radius),
        "z": (cylinder.z_min, cylinder.z_max),
        "psi": (-1.0, 1.0),
    }
    return np.column_stack([rng.uniform(*spans[name], count) for name in robot.coordinates])


def slopes(robot: Robot, p: FloatArray) -> FloatArray:
    """dq/dx (N, dof, dof) of the inverse kinematics by central differences."""
    h = 1e-6
    columns = []
    for step in h * np.eye(robot.dof):
        ends = (dd.inverse_kinematics(robot, p + way * step) for way in (1, -1))
        columns.append(np.subtract(*ends) / (2 * h))
    return np.stack(columns, axis=-1)


@every
def test_waves_keep_the_workspace_of_every_kind(kind: str) -> None:
    robot = make(kind)
    assert cylinder_inside(robot).inside
    assert in_workspace(robot, waves(robot, 1.0, rate=100.0).p).all()
    assert assembly_sign(robot) == assembly_sign(free(kind)) != 0


@others
def test_determinant_follows_the_slopes_of_the_inverse_kinematics(kind: str) -> None:
    """dq/dx = diag(d)^-1 S: its determinant times those of d and the units is det S."""
    robot = make(kind)
    p = poses(robot, 40, 3)
    found = singularity(robot, p)
    lever = 1.0 if robot.linear else np.asarray(robot.rotary.arm_length)
    S = slopes(robot, p) * (found.arm_sine * lever)[:, :, None]  # rows u_i B_i
    if robot.turns:
        platform = robot.platform
        assert isinstance(platform, ArticulatedPlatform | HelicalPlatform)
        one, two = platform.sigma
        S[:, :, 3] /= one - two  # how far the halves move apart per rad of psi
        S[:, :, 3] *= platform.ratio if isinstance(platform, ArticulatedPlatform) else 1.0
    np.testing.assert_allclose(found.strut_determinant, np.linalg.det(S), atol=1e-7)
    np.testing.assert_allclose(
        found.strut_sigma, np.linalg.svd(S, compute_uv=False)[:, -1], atol=1e-7
    )
    assert (np.abs(found.strut_determinant) <= 1).all()


@pytest.mark.parametrize("kind", ["planar", "par4", "heli4_rails"])
def test_margin_is_the_least_turn_of_one_strut(kind: str) -> None:
    """det S is linear in each unit strut: turning one by less than the margin keeps its sign."""
    from deltadyn.kinematics.limbs import limbs, rods_of

    robot = make(kind)
    (x,) = poses(robot, 1, 5)
    state = dd.State.from_platform(robot, x)
    legs = limbs(robot)
    pose = tuple(state.cos_q[0]), tuple(state.sin_q[0]), tuple(x)
    rods = rods_of(np, legs, *pose)
    units = [np.array(rod) / limb.l2 for rod, limb in zip(rods.base, legs, strict=True)]

    def determinant(turned: Any) -> float:
        with np.errstate(divide="ignore"):
            return float(legs.carrier.inverse(rods.place, turned).determinant)

    angles = []
    for i in range(robot.legs):
        unit = np.array([determinant([*units[:i], e, *units[i + 1 :]]) for e in np.eye(3)])
        angles.append(math.asin(abs(units[i] @ unit) / np.linalg.norm(unit)))
    assert singularity(robot, x).strut_angle == pytest.approx(min(angles), rel=1e-12)


@pytest.mark.parametrize("kind", ["planar", "par4_rails"])
def test_boundary_is_the_last_point_inside(kind: str) -> None:
    robot, rules = free(kind), WorkspaceRules(psi=0.4)
    found = workspace(robot, rules=rules, heights=9, azimuths=8)
    assert found.status == "found"
    z = np.repeat(found.heights[1:-1], found.azimuths.size)
    phi = np.tile(found.azimuths, 7)
    for beyond, expected in ((0.0, True), (1e-8, False)):
        r = found.radius[1:-1].ravel() + beyond
        points = {"x": r * np.cos(phi), "y": r * np.sin(phi), "z": z, "psi": np.full(z.shape, 0.4)}
        p = np.column_stack([points[name] for name in robot.coordinates])
        assert (in_workspace(robot, p, rules) == expected).all()


def test_in_a_plane_it_has_an_area() -> None:
    robot = free("planar_rails")
    found, grid = workspace(robot), workspace_grid(robot, 0.01)
    assert (found.volume, found.quadrature_volume, grid.volume) == (0.0, 0.0, 0.0)
    corners = found.vertices[found.faces]
    sheet = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert found.area == pytest.approx(np.linalg.norm(sheet, axis=1).sum() / 2, rel=1e-12)
    assert found.area == pytest.approx(grid.area, rel=0.02)  # squares of 10 mm on the edge
    cylinder = found.largest_cylinder()
    assert cylinder is not None
    within = replace(cylinder, radius=0.99 * cylinder.radius)
    assert cylinder_inside(robot, within).inside
    assert not cylinder_inside(robot, replace(cylinder, radius=1.02 * cylinder.radius)).inside


def test_a_position_off_the_plane_is_outside() -> None:
    from deltadyn.kinematics.workspace import broken_rules

    robot = make("planar")
    points = np.array([[0.0, 0.0, -0.7], [0.0, 0.01, -0.7]])
    assert broken_rules(robot, points, WorkspaceRules()).any(axis=1).tolist() == [False, True]


def test_a_beam_without_ends_is_bounded_by_its_box() -> None:
    found = workspace(free(BEAM), heights=5)
    assert found.radius.max() < 2.5
    assert assembly_sign(free(BEAM)) == assembly_sign(make(BEAM))  # below it, not above


@pytest.mark.full
def test_parallel_rails_have_a_workspace() -> None:
    """Carriages to both sides of the platform: no pose of the axis has the sign of a Delta."""
    member = random_member("linear parallel", 0, equal=False)
    robot, elbows, _ = to_robot(member)
    given = states(member, 20, 7, "pinocchio")
    rules = WorkspaceRules(elbows=elbows)
    assert in_workspace(robot, given.x, rules).all()
    assert workspace(robot, rules=rules, heights=9, azimuths=8).volume > 0


def test_bars_end_where_they_lie_across() -> None:
    """On the axis the pairs' planes are symmetrical: the bars end at 90 degrees from home."""
    robot = make("par4")
    platform = robot.platform
    assert isinstance(platform, ArticulatedPlatform)
    low, high = psi_range(robot, [0.0, 0.0, -0.85, 0.0])
    reach = platform.ratio * math.pi / 2
    assert high < reach + 0.35  # halves that stand apart tilt the planes
    assert low == pytest.approx(-high, rel=1e-9)
    for psi, kept in ((high - 1e-6, True), (high + 1e-6, False)):
        p = [0.0, 0.0, -0.85, psi]
        assert bool(in_workspace(robot, p)) is kept
    assert abs(singularity(robot, [0.0, 0.0, -0.85, high]).strut_determinant) < 1e-6
    shared = psi_range(robot)
    assert low <= shared[0] < -1 < 1 < shared[1] <= high


def test_the_screw_ends_where_limbs_end() -> None:
    robot = make("heli4")
    low, high = psi_range(robot, [0.1, 0.0, -0.85, 0.5])
    p = np.array([[0.1, 0.0, -0.85, psi] for psi in (low, low - 1e-6, high, high + 1e-6)])
    assert in_workspace(robot, p).tolist() == [True, False, True, False]
    assert np.isnan(psi_range(robot, [2.0, 0.0, -0.85, 0.0])).all()


def test_psi_of_a_spindle_and_of_a_robot_that_does_not_turn() -> None:
    spindle = make("vertical_spindle")
    assert psi_range(spindle, [0.0, 0.0, 0.0, 0.0]).tolist() == [-math.inf, math.inf]
    limits = replace(
        spindle.limits, angle_min=(-9.0, -9.0, -9.0, -3.0), angle_max=(9.0, 9.0, 9.0, 4.0)
    )
    bounded = psi_range(spindle.replace(limits=limits), [0.0, 0.0, 0.0, 0.0])
    assert bounded.tolist() == [-3.0, 4.0]
    with pytest.raises(InputError, match=r"robot\.coordinates"):
        psi_range(make("planar"))
    with pytest.raises(InputError, match="psi"):
        WorkspaceRules(psi=math.nan)


@others
def test_inertia_coupling_over_the_workspace(kind: str) -> None:
    robot = make(kind)
    found = coupling_summary(robot, samples=4)
    assert found.left_out == 0
    assert 0 <= found.coupling.min() <= found.coupling.max() < 0.98  # far from singular poses
    assert (found.free <= found.felt * (1 + 1e-9)).all()  # a neighbour that yields takes some off
    assert ("kg m^2" in str(found)) is not robot.linear
    if robot.planar:
        with pytest.raises(InputError, match="coupling_summary"):
            coupling_map(robot)
