"""Inertia coupling: its laws, a case by hand, maps and summaries."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.dynamics.factory import KIND_NAMES, KINDS, MODELS, make_robot, make_states
from tests.family.robots import make

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import (
    CouplingMap,
    coupling_map,
    coupling_summary,
    equations_of_motion,
    forward_dynamics,
    inertia_coupling,
    inverse_dynamics,
)
from deltadyn.dynamics.coupling import _cylinder_points
from deltadyn.errors import InputError, UnknownNameError, UnreachableError
from deltadyn.kinematics import State, in_workspace
from deltadyn.kinematics.workspace import psi_range, working_cylinder
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Platform
from deltadyn.robot.settings import Limits, Workspace

ROUNDING = 1e-10  # relative: determinants of M with a condition number of 1e2 to 1e4


@pytest.fixture(params=KINDS, ids=KIND_NAMES)
def robot(request: pytest.FixtureRequest) -> Robot:
    return make_robot(*request.param)


@pytest.mark.parametrize("model", MODELS)
def test_coupling_is_read_from_the_mass_matrix(robot: Robot, model: str) -> None:
    state = make_states(robot, 50)
    M = equations_of_motion(robot, state, model).M
    found = inertia_coupling(robot, state.p, model)
    expected = ((1, 2), (1, 3), (2, 3), (1, 4), (2, 4), (3, 4))
    assert found.pairs == (expected if robot.dof == 4 else expected[:3])
    for column, (i, j) in enumerate(found.pairs):
        ratio = np.abs(M[:, i - 1, j - 1]) / np.sqrt(M[:, i - 1, i - 1] * M[:, j - 1, j - 1])
        np.testing.assert_allclose(found.coupling[:, column], ratio, rtol=ROUNDING, atol=1e-14)
    assert (found.coupling < 1).all()
    assert (found.coupling >= 0).all()
    assert (found.free <= found.felt * (1 + ROUNDING)).all()


def test_felt_and_free_inertias_are_what_a_drive_feels(robot: Robot) -> None:
    """Torque per acceleration of one drive: the others held, and the others let go."""
    state, dof = make_states(robot, 20), robot.dof
    weightless = robot.replace(gravity=0.0)
    still = np.zeros_like(state.q)
    found = inertia_coupling(robot, state.p)
    for axis in range(dof):
        pulse = np.eye(dof)[axis] * np.ones((20, 1))
        held = inverse_dynamics(weightless, State.from_joints(weightless, state.q, still, pulse))
        np.testing.assert_allclose(held[:, axis], found.felt[:, axis], rtol=ROUNDING)
        free = forward_dynamics(weightless, state.q, still, pulse)
        np.testing.assert_allclose(1 / free[:, axis], found.free[:, axis], rtol=ROUNDING)


def test_rotors_alone_are_not_coupled() -> None:
    """A platform and struts without mass: M is diagonal, by hand rotor + arm."""
    robot = make_robot(3, True)
    strut = replace(robot.struts[0], mass=0.0, inertia=0.0)
    bare = robot.replace(struts=(strut,) * 3, platform=Platform(0.0))
    bare = bare.with_payload(0.0)
    found = inertia_coupling(bare, make_states(bare, 5).p)
    arm, l1 = bare.rotary_arms[0], bare.rotary.arm_length[0]
    inertia = arm.axis_inertia + arm.elbow_mass * l1**2 + bare.drives.output_inertia[0]
    np.testing.assert_array_equal(found.coupling, 0.0)
    np.testing.assert_allclose(found.felt, inertia, rtol=ROUNDING)
    np.testing.assert_allclose(found.free, inertia, rtol=ROUNDING)


def test_a_third_of_a_turn_exchanges_the_axes() -> None:
    robot = make_robot(3, True)
    p = make_states(robot, 20).p
    c, s = -0.5, np.sqrt(0.75)
    turned = p @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]).T
    here, there = inertia_coupling(robot, p), inertia_coupling(robot, turned)
    np.testing.assert_allclose(there.felt, here.felt[:, [2, 0, 1]], rtol=ROUNDING)
    # axes (1, 2), (1, 3), (2, 3) there are (3, 1), (3, 2), (1, 2) here
    np.testing.assert_allclose(there.coupling, here.coupling[:, [1, 2, 0]], rtol=1e-9)


@pytest.mark.full
def test_map_is_a_picture_of_the_points(robot: Robot) -> None:
    robot = robot.replace(limits=Limits(ball_joint_angle=0.6))
    found = coupling_map(robot, z=-0.7, extent=0.9, resolution=19, psi=0.4)
    assert found.x.shape == found.y.shape == (19,)
    assert found.coupling.shape == (len(found.pairs), 19, 19)
    assert found.felt.shape == found.free.shape == (robot.dof, 19, 19)
    row, column = 7, 11
    p = [found.x[column], found.y[row], -0.7, 0.4][: robot.dof]
    point = inertia_coupling(robot, p)
    np.testing.assert_allclose(found.coupling[:, row, column], point.coupling, rtol=ROUNDING)
    np.testing.assert_allclose(found.free[:, row, column], point.free, rtol=ROUNDING)
    x, y = np.meshgrid(found.x, found.y)
    points = np.stack([x, y, np.full_like(x, -0.7), np.full_like(x, 0.4)], axis=-1)
    inside = in_workspace(robot, points[..., : robot.dof].reshape(-1, robot.dof)).reshape(19, 19)
    assert 0.1 < inside.mean() < 0.9  # both kinds of points are in the picture
    unlimited = robot.replace(limits=Limits())
    assert inside.sum() < np.isfinite(coupling_at(unlimited, found)).sum()
    np.testing.assert_array_equal(np.isfinite(found.felt).all(axis=0), inside)
    np.testing.assert_array_equal(np.isfinite(found.coupling).all(axis=0), inside)


def coupling_at(robot: Robot, found: CouplingMap) -> FloatArray:
    """The first coupling of the same picture."""
    half = float(found.x[-1])
    same = coupling_map(robot, z=found.z, extent=half, resolution=len(found.x))
    return np.asarray(same.coupling[0])


def test_map_takes_its_frame_from_the_robot() -> None:
    cylinder = Workspace(0.3, -0.9, -0.6)
    robot = make_robot(3, True).replace(limits=Limits(workspace=cylinder))
    found = coupling_map(robot, resolution=5)
    assert found.z == pytest.approx(-0.75)
    np.testing.assert_allclose(found.x, np.linspace(-0.3, 0.3, 5))
    assert found.summary.cylinder == cylinder


def test_summary_bounds_the_points_of_the_cylinder(robot: Robot) -> None:
    cylinder = Workspace(0.3, -0.85, -0.65)
    found = coupling_summary(robot, cylinder)
    assert found.left_out == 0
    rng = np.random.default_rng(1)
    radius, phi = 0.3 * np.sqrt(rng.random(4000)), rng.uniform(0, 2 * np.pi, 4000)
    z, psi = rng.uniform(-0.85, -0.65, 4000), rng.uniform(-np.pi, np.pi, 4000)
    p = np.stack([radius * np.cos(phi), radius * np.sin(phi), z, psi], axis=-1)[:, : robot.dof]
    points = inertia_coupling(robot, p)
    for name in ("coupling", "felt", "free"):
        low, middle, high = getattr(found, name)
        assert (low <= middle).all()
        assert (middle <= high).all()
        values = getattr(points, name)
        spread = np.ptp(values, axis=0)
        # ends: the grid holds the rim, where the extremes are, but not every azimuth and psi;
        # median: 4,000 random points know it to 1/sqrt(4000) of the spread
        assert (values.min(axis=0) > low - 0.05 * spread).all()
        assert (values.max(axis=0) < high + 0.05 * spread).all()
        assert (np.abs(np.median(values, axis=0) - middle) < 0.05 * spread).all()


def test_summary_counts_what_it_leaves_out() -> None:
    robot = make_robot(3, True)
    found = coupling_summary(robot, Workspace(1.2, -0.85, -0.65), samples=7)
    assert found.left_out > 0
    assert found.points + found.left_out == 7 * 7 * 21
    assert f"{found.left_out} more out of reach" in str(found)
    with pytest.raises(InputError, match="cylinder"):
        coupling_summary(robot, Workspace(0.1, 5.0, 6.0))


def test_summary_reads_as_a_table() -> None:
    robot = make_robot(4, True)
    text = str(coupling_map(robot, resolution=2).summary)
    for part in ("coupling 1-2", "coupling 3-4", "felt inertia 4", "free inertia 1", "median"):
        assert part in text


def test_summary_as_plain_numbers() -> None:
    robot = make_robot(4, True)
    summary = coupling_summary(robot, samples=3)
    record = json.loads(json.dumps(summary.as_dict(), allow_nan=False))
    assert list(record["coupling"]) == ["1-2", "1-3", "2-3", "1-4", "2-4", "3-4"]
    assert record["coupling"]["3-4"] == summary.coupling[:, 5].tolist()
    assert record["felt"]["4"] == summary.felt[:, 3].tolist()
    assert record["free"]["1"] == summary.free[:, 0].tolist()
    assert record["units"] == dict.fromkeys("1234", "kg m^2")
    assert record["points"] + record["left_out"] == 3 * 9 * 3


@pytest.mark.full
def test_boundary(robot: Robot) -> None:
    p = make_states(robot, 3).p
    one = inertia_coupling(robot, p[1])
    np.testing.assert_array_equal(one.felt, inertia_coupling(robot, p).felt[1])
    p[1, 0] = 5.0
    with pytest.raises(UnreachableError):
        inertia_coupling(robot, p)
    found = inertia_coupling(robot, p, unreachable="nan")
    np.testing.assert_array_equal(np.isnan(found.felt).all(axis=1), [False, True, False])
    with pytest.raises(UnknownNameError, match="model"):
        inertia_coupling(robot, p[0], "exactly")
    with pytest.raises(InputError, match="resolution"):
        coupling_map(robot, resolution=1)
    with pytest.raises(InputError, match="extent"):
        coupling_map(robot, extent=0.0)
    with pytest.raises(InputError, match="samples"):
        coupling_summary(robot, samples=1)


@pytest.mark.parametrize("kind", ["par4", "heli4"])
def test_points_turn_the_tool_as_far_as_the_limbs_do(kind: str) -> None:
    """Evenly from one end to the other, at most one turn to either side."""
    robot = make(kind)
    psi = _cylinder_points(robot, working_cylinder(robot), 6)[:, 3]
    low, high = np.clip(psi_range(robot), -2 * np.pi, 2 * np.pi)
    assert low < -0.5 < 0.5 < high
    assert low <= psi.min() < low + 0.01 * (high - low)
    assert high - 0.01 * (high - low) < psi.max() <= high
    np.testing.assert_allclose(psi.mean(), (low + high) / 2, atol=0.01 * (high - low))
