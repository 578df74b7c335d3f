"""Strut and passive-joint angles: definitions, limits, and rates by central differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kinematics.robots import D3, LIMITED, ROBOTS, SPINDLE, points_inside, rates

from deltadyn.arrays import FloatArray
from deltadyn.kinematics import (
    LimbGeometry,
    SpindleGeometry,
    State,
    passive_rate_map,
    passive_rates,
    strut_angles,
    strut_rate_maps,
    strut_rates,
)
from deltadyn.robot import Robot
from deltadyn.robot.settings import PASSIVE_JOINTS

robots = st.sampled_from(ROBOTS)
positions = st.tuples(st.floats(-0.25, 0.25), st.floats(-0.25, 0.25), st.floats(-0.95, -0.7))
by_robot = pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
H = 1e-5  # s: central differences lose h^2 of third derivatives (1e4 / s^3) and 1e-16 / h


def unit_struts(robot: Robot, state: State) -> FloatArray:
    geometry = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    lengths: FloatArray = np.linalg.norm(geometry.s, axis=-1, keepdims=True)
    return geometry.s / lengths


@given(robots, positions)
def test_angles_give_back_the_direction(robot: Robot, xyz: tuple[float, float, float]) -> None:
    state = State.from_platform(robot, np.array([*xyz, 0.0][: robot.dof])[None, :])
    angles = strut_angles(robot, state)
    b, g, a = angles.swing[0], angles.sway[0], np.asarray(robot.geometry.azimuth)
    e_r = np.stack([np.cos(a), np.sin(a), 0 * a], axis=-1)
    t = np.stack([-np.sin(a), np.cos(a), 0 * a], axis=-1)
    in_plane = np.cos(b)[:, None] * e_r - np.sin(b)[:, None] * [0, 0, 1]
    u = np.cos(g)[:, None] * in_plane + np.sin(g)[:, None] * t
    np.testing.assert_allclose(u, unit_struts(robot, state)[0], rtol=0, atol=1e-14)  # rounding
    # The pin lies along t: its tilt is what it lacks of a right angle to the rod.
    right_angle = np.arccos(np.clip(np.sum(u * t, axis=1), -1, 1))
    np.testing.assert_allclose(angles.ball_joint[0], np.abs(np.pi / 2 - right_angle), atol=1e-14)
    # The elbow angle is the one between arm and strut where the strut does not sway.
    theta = state.q[0, :3]
    arm = np.cos(theta)[:, None] * e_r - np.sin(theta)[:, None] * [0, 0, 1]
    np.testing.assert_allclose(
        np.cos(g) * np.cos(angles.elbow[0]), np.sum(arm * u, axis=1), atol=1e-14
    )


def test_elbow_angle_is_wrapped() -> None:
    # Arms hanging inward beyond the vertical: beta - theta would leave (-pi, pi].
    p = np.array([0.0, 0.0, -0.8])
    angles = strut_angles(D3, p, elbows="in")
    assert (np.abs(angles.elbow) <= np.pi).all()
    assert (np.abs(angles.swing - State.from_platform(D3, p, elbows="in").q[0]) > np.pi).any()
    assert (strut_angles(D3, p).elbow > 0).all()  # elbow outward: the strut hangs below the arm
    assert (angles.elbow < 0).all()


def test_margin_of_the_ball_joints() -> None:
    p = np.array([[0.0, 0.0, -0.8], [0.45, 0.3, -0.8]])
    angles = strut_angles(LIMITED, p)
    limit = LIMITED.limits.ball_joint_angle
    assert limit is not None
    np.testing.assert_array_equal(angles.margin, limit - np.abs(angles.sway))
    np.testing.assert_allclose(angles.margin[0], limit)  # no sway on the axis
    assert np.isposinf(strut_angles(D3, p).margin).all()


@by_robot
def test_position_state_and_single_sample_agree(robot: Robot) -> None:
    p = points_inside(robot, 7, 31)
    of_points, of_state = strut_angles(robot, p), strut_angles(robot, State.from_platform(robot, p))
    one = strut_angles(robot, p[2])
    for name in ("swing", "sway", "elbow", "ball_joint", "margin"):
        assert getattr(of_points, name).shape == (7, 3)
        np.testing.assert_array_equal(getattr(of_points, name), getattr(of_state, name))
        # Last bits of vectorised functions.
        np.testing.assert_allclose(getattr(one, name), getattr(of_points, name)[2], atol=1e-15)


def test_unreachable_rows_are_nan() -> None:
    angles = strut_angles(D3, [[0.0, 0.0, -0.8], [0.9, 0.0, -0.8]], unreachable="nan")
    assert np.isfinite(angles.swing[0]).all()
    for value in (angles.swing, angles.sway, angles.elbow, angles.ball_joint, angles.margin):
        assert np.isnan(value[1]).all()


@by_robot
def test_rates_by_central_differences(robot: Robot) -> None:
    p, pd = points_inside(robot, 25, 32), rates(robot, 25, 33)
    found = strut_rates(robot, State.from_platform(robot, p, pd))
    ahead, behind = (strut_angles(robot, p + sign * H * pd) for sign in (1, -1))
    for name in ("swing", "sway", "elbow"):
        difference = (getattr(ahead, name) - getattr(behind, name)) / (2 * H)
        np.testing.assert_allclose(getattr(found, name), difference, rtol=0, atol=1e-6)


@by_robot
def test_maps_have_a_column_per_joint(robot: Robot) -> None:
    state = State.from_platform(robot, points_inside(robot, 4, 34), rates(robot, 4, 35))
    maps, found = strut_rate_maps(robot, state), strut_rates(robot, state)
    for name in ("swing", "sway", "elbow"):
        rows = getattr(maps, name)
        assert rows.shape == (4, 3, robot.dof)
        np.testing.assert_allclose(
            np.einsum("nij,nj->ni", rows, state.qd), getattr(found, name), atol=1e-13
        )
        np.testing.assert_array_equal(rows[:, :, 3:], 0.0)  # psi moves no strut


def universal_angles(p: FloatArray, robot: Robot) -> tuple[FloatArray, FloatArray]:
    """Angles of the upper joint: b about the fork's pin a, then v about the cross's pin b.

    Both are 0 where the rod hangs down: there b = -(z x a) and v = a x b = -z.
    """
    rod = SpindleGeometry.of(robot, p, np.zeros_like(p))
    across = np.cross([0.0, 0.0, -1.0], rod.a)
    fork = np.arctan2(np.sum(rod.b * np.cross(rod.a, across), 1), np.sum(rod.b * across, 1))
    straight = np.cross(rod.a, rod.b)
    return fork, np.arctan2(np.sum(rod.v * rod.a, 1), np.sum(rod.v * straight, 1))


def joint_positions(robot: Robot, p: FloatArray, joint: str) -> FloatArray:
    if joint == "prismatic":
        return SpindleGeometry.of(robot, p, np.zeros_like(p)).l[:, None]
    if joint == "universal_fork":
        return universal_angles(p, robot)[0][:, None]
    if joint == "universal_cross":
        return universal_angles(p, robot)[1][:, None]
    angles = strut_angles(robot, p)
    if joint == "elbow_swing":
        return angles.elbow
    return angles.swing if joint == "platform_swing" else angles.sway


@pytest.mark.parametrize("joint", PASSIVE_JOINTS)
def test_passive_rates_by_central_differences(joint: str) -> None:
    p, pd = points_inside(SPINDLE, 25, 36), rates(SPINDLE, 25, 37)
    state = State.from_platform(SPINDLE, p, pd)
    rows = passive_rate_map(SPINDLE, state, joint)
    count = 1 if joint in ("prismatic", "universal_fork", "universal_cross") else 3
    assert rows.shape == (25, count, 4)
    ahead, behind = (joint_positions(SPINDLE, p + sign * H * pd, joint) for sign in (1, -1))
    found = passive_rates(SPINDLE, state, joint)
    np.testing.assert_allclose(found, (ahead - behind) / (2 * H), rtol=0, atol=1e-6)
    np.testing.assert_allclose(np.einsum("nkj,nj->nk", rows, state.qd), found, atol=1e-14)


def test_universal_rates_compose_the_shafts_angular_velocity() -> None:
    p, pd = points_inside(SPINDLE, 25, 38), rates(SPINDLE, 25, 39)
    state, rod = State.from_platform(SPINDLE, p, pd), SpindleGeometry.of(SPINDLE, p, pd)
    fork = passive_rates(SPINDLE, state, "universal_fork")
    cross = passive_rates(SPINDLE, state, "universal_cross")
    turn = pd[:, 3:] * [0.0, 0.0, 1.0]
    # Rounding of rates of a few rad/s.
    np.testing.assert_allclose(rod.omega, turn + fork * rod.a + cross * rod.b, atol=1e-13)


@pytest.mark.parametrize("joint", ["elbow_swing", "elbow_sway", "platform_swing", "platform_sway"])
def test_passive_maps_of_three_axes(joint: str) -> None:
    state = State.from_platform(D3, points_inside(D3, 3, 40))
    assert passive_rate_map(D3, state, joint).shape == (3, 3, 3)
