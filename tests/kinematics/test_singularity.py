"""Singular poses of both kinds, margins, and poses that are out of reach."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kinematics.robots import D3, ROBOTS, points_inside

from deltadyn.errors import UnreachableError
from deltadyn.kinematics import LimbGeometry, State, jacobian, singularity, strut_angles
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Geometry

robots = st.sampled_from(ROBOTS)
positions = st.tuples(st.floats(-0.25, 0.25), st.floats(-0.25, 0.25), st.floats(-0.95, -0.7))

#: With cos(theta) = 0.8 the struts are level at z = -0.225, or all vertical.
LEVEL = D3.replace(name="level", geometry=Geometry(0.7, 0.1, 0.375, 0.9))
VERTICAL = D3.replace(name="vertical", geometry=Geometry(0.1, 0.4, 0.375, 0.9))
LOWEST = -math.sqrt((0.375 + 0.9) ** 2 - 0.15**2)  # arm and strut stretched on the axis


def test_struts_in_one_plane_are_of_the_second_kind() -> None:
    pose = singularity(LEVEL, [0.0, 0.0, -0.375 * 0.6])
    assert pose.status == "second kind"
    assert pose.singular
    assert pose.strut_sigma < 1e-15
    assert abs(pose.strut_determinant) < 1e-15
    assert pose.margin < 1e-15  # no square root is taken of anything that vanishes here
    assert pose.condition > 1e15
    np.testing.assert_allclose(pose.arm_sine, 0.6, rtol=1e-14)  # rounding


def test_parallel_struts_are_of_the_second_kind() -> None:
    pose = singularity(VERTICAL, [0.0, 0.0, -0.9 - 0.375 * 0.6])
    assert pose.status == "second kind"
    # The radial part of a strut, 0 in exact numbers, is a difference of roundings.
    assert pose.margin < 1e-6
    assert pose.condition > 1e12


def test_stretched_limbs_are_of_the_first_kind() -> None:
    pose = singularity(D3, [0.0, 0.0, LOWEST + 1e-14])
    assert pose.status == "first kind"
    # n = sqrt(n2 - k^2) turns 1e-14 m into sqrt(1e-14), about 1e-7 rad.
    assert (pose.arm_angle < 1e-6).all()
    assert pose.strut_angle > 0.1
    assert pose.condition < 20  # J shrinks evenly here: the condition number sees nothing


def test_one_stretched_limb_makes_the_jacobian_singular() -> None:
    x = -0.9  # opposite arm 1, in its plane
    pose = singularity(D3, [x, 0.0, 1e-14 - math.sqrt(1.275**2 - (0.15 - x) ** 2)])
    assert pose.status == "first kind"
    assert pose.arm_angle[0] < 1e-6  # sqrt(1e-14) as above
    assert (pose.arm_angle[1:] > 0.1).all()
    assert pose.condition > 1e5


def test_both_kinds_at_once() -> None:
    folded = D3.replace(name="folded", geometry=Geometry(0.625, 0.125, 0.375, 0.875))
    pose = singularity(folded, [0.0, 0.0, 0.0])  # level arms, struts folded back along them
    assert pose.status == "both kinds"


def test_condition_is_infinite_rather_than_an_error() -> None:
    geometry = Geometry(0.625, 0.125, 0.375, 0.875)
    pose = singularity(D3.replace(geometry=geometry), [[0.0, 0.0, 0.0], [0.0, 0.0, -0.5]])
    assert np.isposinf(pose.condition[0])
    assert np.isfinite(pose.condition[1])


@given(robots, positions)
def test_angles_and_numbers_agree(robot: Robot, xyz: tuple[float, float, float]) -> None:
    p = np.array([*xyz, 0.0][: robot.dof])
    pose, angles = singularity(robot, p), strut_angles(robot, p)
    # All tolerances: rounding of products of order 1, times a condition below 10.
    expected = np.cos(angles.sway) * np.sin(angles.elbow)
    np.testing.assert_allclose(pose.arm_sine, expected, atol=1e-14)
    state = State.from_platform(robot, p)
    s = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q).s[0]
    u = s / np.linalg.norm(s, axis=1, keepdims=True)
    np.testing.assert_allclose(pose.strut_determinant, np.linalg.det(u), atol=1e-14)
    np.testing.assert_allclose(pose.strut_sigma, np.linalg.svd(u)[1][2], atol=1e-14)
    to_plane = []
    for i in range(3):
        normal = np.cross(u[(i + 1) % 3], u[(i + 2) % 3])
        to_plane.append(np.arcsin(abs(u[i] @ normal) / np.linalg.norm(normal)))
    np.testing.assert_allclose(pose.strut_angle, min(to_plane), atol=1e-14)
    np.testing.assert_allclose(pose.margin, min(*pose.arm_angle, *to_plane), atol=1e-14)
    J = jacobian(robot, p)[:3, :3]
    np.testing.assert_allclose(pose.condition, np.linalg.cond(J), rtol=1e-12)
    assert pose.status == "regular"


def test_margin_is_the_least_turn_of_one_strut() -> None:
    """Turning the strut with the smallest angle into the plane of the others makes det vanish."""
    state = State.from_platform(D3, [0.3, 0.1, -0.8])
    pose = singularity(D3, state)
    s = LimbGeometry.of(D3, state.p, state.cos_q, state.sin_q).s[0]
    u = s / np.linalg.norm(s, axis=1, keepdims=True)
    sines = [
        abs(u[i] @ np.cross(u[i - 1], u[i - 2])) / np.linalg.norm(np.cross(u[i - 1], u[i - 2]))
        for i in range(3)
    ]
    i = int(np.argmin(sines))
    normal = np.cross(u[i - 1], u[i - 2])
    normal /= np.linalg.norm(normal)
    flat = u[i] - (u[i] @ normal) * normal
    flat /= np.linalg.norm(flat)
    np.testing.assert_allclose(np.arccos(flat @ u[i]), pose.strut_angle, rtol=1e-12)
    u[i] = flat
    assert abs(np.linalg.det(u)) < 1e-15  # rounding


def test_signs_follow_the_elbows() -> None:
    p = points_inside(D3, 5, 41)
    assert (singularity(D3, p).arm_sine > 0).all()
    sine = singularity(D3, p, elbows=("in", "out", "out")).arm_sine
    assert (sine[:, 0] < 0).all()
    assert (sine[:, 1:] > 0).all()


def test_margin_shrinks_towards_the_boundary() -> None:
    z = np.linspace(-0.8, LOWEST + 1e-6, 50)
    p = np.stack([0 * z, 0 * z, z], axis=-1)
    arm = singularity(D3, p).arm_angle.min(axis=1)
    below = z < -1.0  # past the height at which arm and strut meet at a right angle
    assert (np.diff(arm[below]) < 0).all()
    assert arm[-1] < 0.01  # sqrt of the last 1e-6 m over some 0.3 m


def test_unreachable_rows() -> None:
    p = np.array([[0.0, 0.0, -0.8], [0.9, 0.0, -0.8], [np.nan, 0.0, -0.8]])
    pose = singularity(D3, p, unreachable="nan")
    assert pose.status.tolist() == ["regular", "unreachable", "unreachable"]
    assert not pose.singular[1:].any()
    for value in (pose.arm_sine, pose.arm_angle):
        assert np.isnan(value[1:]).all()
    for value in (pose.strut_determinant, pose.strut_sigma, pose.condition, pose.margin):
        assert np.isnan(value[1:]).all()
        assert np.isfinite(value[0])
    with pytest.raises(UnreachableError, match="arms 2, 3 are too short"):
        singularity(D3, p[:2])


def test_one_sample_is_the_row_of_the_batch() -> None:
    p = points_inside(D3, 6, 42)
    one, batch = singularity(D3, p[4]), singularity(D3, p)
    assert batch.status.shape == (6,)
    for name in ("arm_sine", "arm_angle", "strut_sigma", "strut_angle", "condition", "margin"):
        # Rounding, times the condition number for the condition number itself.
        np.testing.assert_allclose(getattr(one, name), getattr(batch, name)[4], rtol=1e-13)


def test_tolerance_decides_what_counts() -> None:
    p = [0.0, 0.0, LOWEST + 1e-3]
    assert singularity(D3, p).status == "regular"
    assert singularity(D3, p, tolerance=0.2).status == "first kind"
