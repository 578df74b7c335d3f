"""Inverse and forward kinematics: loop equations, assembly modes, symmetry, rows and samples."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kinematics.robots import D3, ROBOTS, SPINDLE, orientation, points_inside

from deltadyn.arrays import FloatArray
from deltadyn.errors import UnreachableError
from deltadyn.kinematics import (
    forward_kinematics,
    in_workspace,
    inverse_kinematics,
    reachable,
    singularity,
)
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Geometry

MODES = tuple(product(("out", "in"), repeat=3))
ROUNDING = 1e-15  # m: a few roundings of lengths of about a metre

robots = st.sampled_from(ROBOTS)
positions = st.tuples(st.floats(-0.25, 0.25), st.floats(-0.25, 0.25), st.floats(-0.95, -0.7))


def elbow_points(robot: Robot, q: FloatArray) -> FloatArray:
    """Elbows (N, 3, 3) of the shrunk base, written out from the conventions."""
    g = robot.rotary
    reach = np.asarray(g.shrunk_radius) + np.asarray(g.arm_length) * np.cos(q[:, :3])
    drop = -np.asarray(g.arm_length) * np.sin(q[:, :3])
    return np.stack([reach * np.cos(g.azimuth), reach * np.sin(g.azimuth), drop], axis=-1)


def loop_error(robot: Robot, p: FloatArray, q: FloatArray) -> FloatArray:
    """|p - E_i| - l2 (N, 3), in m."""
    gap = np.linalg.norm(p[:, None, :3] - elbow_points(robot, q), axis=-1)
    error: FloatArray = gap - np.asarray(robot.geometry.strut_length)
    return error


def sample(robot: Robot, xyz: tuple[float, float, float]) -> FloatArray:
    return np.array([*xyz, 0.7][: robot.dof])


@given(robots, positions)
def test_forward_of_inverse_is_the_point(robot: Robot, xyz: tuple[float, float, float]) -> None:
    p = sample(robot, xyz)
    back = forward_kinematics(robot, inverse_kinematics(robot, p))
    # Rounding of q (1e-16) and of the spheres' meeting (some 1e-15 m) grow with the condition.
    np.testing.assert_allclose(back, p, rtol=0, atol=1e-12 * float(singularity(robot, p).condition))


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
def test_forward_of_inverse_all_over_the_workspace(robot: Robot) -> None:
    rng = np.random.default_rng(1)
    p = np.zeros((20_000, robot.dof))
    p[:, :3] = rng.uniform([-1, -1, -1.3], [1, 1, 0], (20_000, 3))
    p = p[in_workspace(robot, p)]
    assert len(p) > 2_000
    back = forward_kinematics(robot, inverse_kinematics(robot, p), unreachable="nan")
    pose = singularity(robot, p)
    # "below" means below the elbows' plane; where that plane is steep beyond the vertical the same
    # branch of poses lies above it, so only poses with an upright plane are compared.
    q = inverse_kinematics(robot, p)
    e = elbow_points(robot, q)
    upright = np.cross(e[:, 1] - e[:, 0], e[:, 2] - e[:, 0])[:, 2] * orientation(robot) > 0
    regular = upright & (pose.margin > 1e-3)
    assert regular.sum() > 2_000
    error = np.abs(back - p).max(axis=1)[regular]
    assert (error <= 1e-12 * pose.condition[regular]).all()


@given(robots, positions)
def test_eight_modes_close_the_loop_and_differ(
    robot: Robot, xyz: tuple[float, float, float]
) -> None:
    p = sample(robot, xyz)
    q = np.array([inverse_kinematics(robot, p, elbows=mode) for mode in MODES])
    error = loop_error(robot, np.tile(p, (8, 1)), q)
    # k^2 is taken from n2: the arm's direction carries a few roundings, scaled by n2 / n <= 4 here.
    assert np.abs(error).max() < 20 * ROUNDING
    for a, b in combinations(q[:, :3], 2):
        assert np.abs(np.exp(1j * a) - np.exp(1j * b)).max() > 0.1  # inside, elbows are well apart


@given(robots, st.lists(st.floats(-0.4, 1.0), min_size=3, max_size=3))
def test_both_forward_modes_close_the_loop(robot: Robot, theta: list[float]) -> None:
    q = np.array([*theta, -0.4][: robot.dof])[None, :]
    below = forward_kinematics(robot, q)
    above = forward_kinematics(robot, q, platform="above")
    for p in (below, above):
        # The meeting of the spheres loses about the ratio of l2 to its height over the plane.
        assert np.abs(loop_error(robot, p, q)).max() < 50 * ROUNDING
    assert below[0, 2] < above[0, 2]
    corners = elbow_points(robot, q)[0]
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    middle = (below[0, :3] + above[0, :3]) / 2
    assert abs(normal @ (middle - corners[0])) < 20 * ROUNDING  # mirror images in the plane


def test_inverse_of_the_point_above() -> None:
    q = np.array([0.1, 0.3, -0.2])
    p = forward_kinematics(D3, q, platform="above")
    found = [inverse_kinematics(D3, p, elbows=mode) for mode in MODES]
    assert min(np.abs(mode - q).max() for mode in found) < 1e-14  # rounding, far from singular


@given(positions)
def test_a_turn_by_120_degrees_permutes_the_arms(xyz: tuple[float, float, float]) -> None:
    c, s = -0.5, np.sqrt(3) / 2
    x, y, z = xyz
    q = inverse_kinematics(D3, xyz)
    turned = inverse_kinematics(D3, [c * x - s * y, s * x + c * y, z])
    np.testing.assert_allclose(turned, np.roll(q, 1), rtol=0, atol=1e-14)  # rounding of the turn


@given(positions)
def test_a_mirror_in_the_first_arms_plane_swaps_the_others(
    xyz: tuple[float, float, float],
) -> None:
    x, y, z = xyz
    q = inverse_kinematics(D3, xyz)
    mirrored = inverse_kinematics(D3, [x, -y, z])
    np.testing.assert_allclose(mirrored, q[[0, 2, 1]], rtol=0, atol=1e-14)  # rounding of azimuths


def test_known_pose() -> None:
    # On the axis with horizontal arms: z^2 = l2^2 - (r + l1)^2.
    depth = np.sqrt(0.9**2 - 0.525**2)
    q = inverse_kinematics(D3, [0.0, 0.0, -depth])
    np.testing.assert_allclose(q, 0.0, rtol=0, atol=1e-15)  # rounding
    np.testing.assert_allclose(forward_kinematics(D3, [0.0] * 3), [0, 0, -depth], atol=1e-15)


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
def test_one_sample_is_the_row_of_the_batch(robot: Robot) -> None:
    p = points_inside(robot, 40, seed=2)
    q = inverse_kinematics(robot, p)
    back = forward_kinematics(robot, q)
    assert q.shape == back.shape == (40, robot.dof)
    for row in (0, 17, 39):
        one = inverse_kinematics(robot, p[row])
        assert one.shape == (robot.dof,)
        # Vectorised and scalar arctan2 may differ by the last bit.
        np.testing.assert_allclose(one, q[row], rtol=1e-15, atol=1e-16)
        np.testing.assert_allclose(forward_kinematics(robot, q[row]), back[row], atol=1e-15)


def test_chunks_do_not_show() -> None:
    p = points_inside(D3, 5000, seed=3)  # more than two chunks
    whole = inverse_kinematics(D3, p)
    parts = np.concatenate([inverse_kinematics(D3, part) for part in np.array_split(p, 7)])
    np.testing.assert_allclose(whole, parts, rtol=1e-15, atol=1e-16)  # last bit of arctan2


def test_psi_passes_through() -> None:
    p = points_inside(SPINDLE, 5, seed=4)
    np.testing.assert_array_equal(inverse_kinematics(SPINDLE, p)[:, 3], p[:, 3])
    np.testing.assert_array_equal(forward_kinematics(SPINDLE, p * 0)[:, 3], 0.0)


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
def test_nan_rows_only_where_unreachable(robot: Robot) -> None:
    rng = np.random.default_rng(5)
    p = np.zeros((500, robot.dof))
    p[:, :3] = rng.uniform([-1.2, -1.2, -1.4], [1.2, 1.2, -0.2], (500, 3))
    q = inverse_kinematics(robot, p, unreachable="nan")
    mask = reachable(robot, p)
    assert 50 < mask.sum() < 450
    np.testing.assert_array_equal(np.isnan(q).all(axis=1), ~mask)
    np.testing.assert_array_equal(np.isnan(q).any(axis=1), ~mask)
    # Independent of the closed form: a limb reaches what its shoulder's torus holds.
    g = robot.rotary
    held = np.ones(500, dtype=bool)
    for i in range(3):
        ca, sa = np.cos(g.azimuth[i]), np.sin(g.azimuth[i])
        h = p[:, 0] * ca + p[:, 1] * sa - g.shrunk_radius[i]
        w = p[:, 1] * ca - p[:, 0] * sa
        in_plane = np.sqrt(np.maximum(g.strut_length[i] ** 2 - w**2, 0))
        far = np.hypot(h, p[:, 2])
        holds = np.abs(w) <= g.strut_length[i]
        holds &= (far <= g.arm_length[i] + in_plane) & (far >= abs(g.arm_length[i] - in_plane))
        held &= holds
    np.testing.assert_array_equal(mask, held)


def test_nan_in_stays_nan() -> None:
    p = np.array([[0.0, 0.0, -0.8], [np.nan, 0.0, -0.8]])
    q = inverse_kinematics(D3, p, unreachable="nan")
    assert np.isfinite(q[0]).all()
    assert np.isnan(q[1]).all()
    assert np.isnan(forward_kinematics(D3, q, unreachable="nan")[1]).all()
    np.testing.assert_array_equal(reachable(D3, p), [True, False])


def test_open_loops_are_nan_rows() -> None:
    # Level arms hold their elbows 1.075 m from the axis, out of reach of struts of 0.9 m.
    wide = D3.replace(name="wide", geometry=Geometry(0.75, 0.05, 0.375, 0.9))
    q = np.array([[1.2, 1.2, 1.2], [0.0, 0.0, 0.0]])
    p = forward_kinematics(wide, q, unreachable="nan")
    assert np.isfinite(p[0]).all()
    assert np.isnan(p[1]).all()
    with pytest.raises(UnreachableError) as caught:
        forward_kinematics(wide, q)
    assert caught.value.rows == (1,)


def test_no_samples() -> None:
    assert inverse_kinematics(D3, np.empty((0, 3))).shape == (0, 3)
    assert forward_kinematics(D3, np.empty((0, 3))).shape == (0, 3)
    assert reachable(D3, np.empty((0, 3))).shape == (0,)
