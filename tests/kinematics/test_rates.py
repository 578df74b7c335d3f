"""Jacobian, rates and states against derivatives by complex step and by central differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kinematics.robots import D3, ROBOTS, SPINDLE, path, points_inside, rates

from deltadyn.arrays import FloatArray
from deltadyn.kinematics import (
    LimbGeometry,
    State,
    jacobian,
    jacobian_rate,
    singularity,
)
from deltadyn.kinematics.limbs import arm_directions, joint_rates, limbs, platform_point
from deltadyn.robot import Robot

STEP = 1e-30  # imaginary: its square vanishes, so the derivative is exact to rounding

robots = st.sampled_from(ROBOTS)
positions = st.tuples(st.floats(-0.25, 0.25), st.floats(-0.25, 0.25), st.floats(-0.95, -0.7))
by_robot = pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)


def angle_rates_by_complex_step(robot: Robot, p: FloatArray, pd: FloatArray) -> FloatArray:
    """d theta_i along pd (N, 3), from cos and sin of the generic core: c ds - s dc."""
    z = tuple((p[:, k] + 1j * STEP * pd[:, k]) for k in range(3))
    arms = zip(*arm_directions(np, limbs(robot), z), strict=True)
    return np.stack([(c.real * s.imag - s.real * c.imag) / STEP for c, s in arms], axis=-1)


@given(robots, positions)
def test_jacobian_inverts_the_derivative_of_inverse_kinematics(
    robot: Robot, xyz: tuple[float, float, float]
) -> None:
    p = np.array([*xyz, 0.3][: robot.dof])[None, :]
    columns = [angle_rates_by_complex_step(robot, p, np.eye(3)[[k]])[0] for k in range(3)]
    product = jacobian(robot, p)[0, :3, :3] @ np.stack(columns, axis=-1)
    # Two exact matrices, each to rounding relative to its size: the product loses the condition.
    bound = 1e-14 * float(singularity(robot, p).condition[0])
    np.testing.assert_allclose(product, np.eye(3), rtol=0, atol=bound)


@by_robot
def test_jacobian_is_the_derivative_of_forward_kinematics(robot: Robot) -> None:
    p = points_inside(robot, 30, seed=11)
    J = jacobian(robot, p)
    state = State.from_platform(robot, p)
    for j in range(3):
        turn = np.where(np.arange(3) == j, STEP, 0.0)
        c = state.cos_q - 1j * turn * state.sin_q
        s = state.sin_q + 1j * turn * state.cos_q
        point = platform_point(np, limbs(robot), tuple(c.T), tuple(s.T))
        column = np.stack([x.imag / STEP for x in point], axis=-1)
        # Rounding, times the condition of a pose well inside (below 10).
        np.testing.assert_allclose(J[:, :3, j], column, rtol=0, atol=1e-13)


@by_robot
def test_jacobian_of_psi(robot: Robot) -> None:
    p = points_inside(robot, 3, seed=12)
    J, Jd = jacobian(robot, p), jacobian_rate(robot, p, rates(robot, 3, seed=13))
    assert J.shape == Jd.shape == (3, robot.dof, robot.dof)
    if robot.dof == 4:
        np.testing.assert_array_equal(J[:, 3], np.tile([0.0, 0, 0, 1], (3, 1)))
        np.testing.assert_array_equal(J[:, :3, 3], 0.0)
        np.testing.assert_array_equal(Jd[:, 3], 0.0)
        np.testing.assert_array_equal(Jd[:, :, 3], 0.0)


@by_robot
def test_joint_rates_by_complex_step(robot: Robot) -> None:
    p, pd, pdd = (points_inside(robot, 50, 14), rates(robot, 50, 15), rates(robot, 50, 16, 40.0))
    state = State.from_platform(robot, p, pd, pdd)
    by_step = angle_rates_by_complex_step(robot, p, pd)
    np.testing.assert_allclose(state.qd[:, :3], by_step, rtol=1e-13, atol=1e-13)  # rounding
    # The rate's own derivative along the motion, through the core at a complex time.
    t = 1j * STEP
    at = tuple((p + pd * t).T)
    going = tuple((pd + pdd * t).T)
    still = tuple(np.zeros_like(x) for x in at)
    c, s = arm_directions(np, limbs(robot), at)
    qd, _ = joint_rates(np, limbs(robot), c, s, at, going, still)
    for i in range(3):
        # Rounding of terms of some 100 rad/s^2.
        np.testing.assert_allclose(state.qdd[:, i], qd[i].imag / STEP, rtol=1e-12, atol=1e-11)


@by_robot
def test_jacobian_rate_by_central_differences(robot: Robot) -> None:
    p, pd = points_inside(robot, 30, 17), rates(robot, 30, 18)
    h = 1e-5
    ahead, behind = (jacobian(robot, p + sign * h * pd) for sign in (1, -1))
    # Truncation h^2 J''' / 6 (third derivatives up to some 1e3 / s^3) and rounding 1e-16 / h.
    np.testing.assert_allclose(
        jacobian_rate(robot, p, pd), (ahead - behind) / (2 * h), rtol=0, atol=1e-6
    )


@by_robot
def test_positions_rates_and_accelerations_belong_together(robot: Robot) -> None:
    q = State.from_platform(robot, points_inside(robot, 30, 19)).q
    qd, qdd = rates(robot, 30, 20), rates(robot, 30, 21, 40.0)
    state = State.from_joints(robot, q, qd, qdd)
    h = 1e-4
    ahead, behind = (State.from_joints(robot, path(q, qd, qdd, t), qd + qdd * t) for t in (h, -h))
    # Truncation: h^2 / 6 times third derivatives of p of up to some 1e3 m/s^3.
    np.testing.assert_allclose(state.pd, (ahead.p - behind.p) / (2 * h), atol=1e-5)
    np.testing.assert_allclose(state.pdd, (ahead.pd - behind.pd) / (2 * h), atol=1e-3)


@given(robots, st.integers(0, 2**32 - 1))
def test_state_round_trip(robot: Robot, seed: int) -> None:
    p, pd, pdd = (
        points_inside(robot, 5, seed),
        rates(robot, 5, seed + 1),
        rates(robot, 5, seed + 2, 40.0),
    )
    there = State.from_platform(robot, p, pd, pdd)
    back = State.from_joints(robot, there.q, there.qd, there.qdd)
    # Rounding times the condition of poses well inside, relative to 1 m, 3 m/s, 40 m/s^2.
    np.testing.assert_allclose(back.p, p, rtol=0, atol=1e-14 * 5)
    np.testing.assert_allclose(back.pd, pd, rtol=0, atol=1e-13 * 5)
    np.testing.assert_allclose(back.pdd, pdd, rtol=0, atol=1e-11)


@by_robot
def test_all_elbow_modes_have_their_own_rates(robot: Robot) -> None:
    p, pd = points_inside(robot, 4, 22), rates(robot, 4, 23)
    mode = ("in", "out", "in")
    state = State.from_platform(robot, p, pd, elbows=mode)
    J = jacobian(robot, p, elbows=mode)
    # Rounding times the condition; a mixed mode is less well conditioned than the usual one.
    np.testing.assert_allclose(np.einsum("nij,nj->ni", J, state.qd), pd, atol=1e-12)
    d = LimbGeometry.of(robot, p, state.cos_q, state.sin_q).d
    np.testing.assert_array_equal(np.sign(d), np.tile([-1.0, 1.0, -1.0], (4, 1)))


def test_one_sample_is_the_row_of_the_batch() -> None:
    p, pd = points_inside(SPINDLE, 6, 24), rates(SPINDLE, 6, 25)
    one = State.from_platform(SPINDLE, p[3], pd[3])
    batch = State.from_platform(SPINDLE, p, pd)
    assert one.single
    assert not batch.single
    assert (len(one), len(batch)) == (1, 6)
    np.testing.assert_allclose(one.qd[0], batch.qd[3], rtol=1e-14)  # rounding
    np.testing.assert_allclose(jacobian(SPINDLE, p[3]), jacobian(SPINDLE, p)[3], rtol=1e-14)
    np.testing.assert_allclose(
        jacobian_rate(SPINDLE, p[3], pd[3]),
        jacobian_rate(SPINDLE, p, pd)[3],
        rtol=1e-12,  # differences of products of size 10
        atol=1e-12,
    )


def test_a_rate_for_all_rows_may_be_given_once() -> None:
    p = points_inside(D3, 4, 26)
    once = State.from_platform(D3, p, [0.1, 0.2, 0.3])
    each = State.from_platform(D3, p, np.tile([0.1, 0.2, 0.3], (4, 1)))
    np.testing.assert_array_equal(once.qd, each.qd)


def test_a_state_does_not_change_with_the_callers_arrays() -> None:
    p, pd = points_inside(D3, 3, 27), rates(D3, 3, 28)
    state = State.from_platform(D3, p, pd)
    turned = State.from_joints(D3, state.q, state.qd)
    before = [value.copy() for value in (state.p, state.pd, turned.q, turned.qd)]
    for value in (p, pd, state.q, state.qd):
        value += 1.0
    for value, old in zip((state.p, state.pd, turned.q, turned.qd), before, strict=True):
        np.testing.assert_array_equal(value, old)


def test_unreachable_rows_of_a_state_are_nan_whole() -> None:
    p = np.array([[0.0, 0.0, -0.8, 0.2], [0.9, 0.0, -0.8, 0.2]])  # arms 2, 3 miss the second row
    state = State.from_platform(SPINDLE, p, unreachable="nan")
    for value in (state.q, state.qd, state.qdd, state.cos_q, state.sin_q):
        assert np.isfinite(value[0]).all()
        assert np.isnan(value[1]).all()
    back = State.from_joints(SPINDLE, state.q, unreachable="nan")
    for value in (back.p, back.pd, back.pdd):
        assert np.isfinite(value[0]).all()
        assert np.isnan(value[1]).all()
