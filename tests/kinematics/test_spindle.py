"""The spindle: directions, spin through the universal joints, coordinates, singularities."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kinematics.robots import SPINDLE, points_inside, rates

from deltadyn.arrays import FloatArray
from deltadyn.kinematics import (
    SpindleGeometry,
    spindle_coordinates,
    spindle_determinant,
    spindle_jacobian,
    spindle_motion,
    spindle_point,
    spindle_singularity,
)
from deltadyn.kinematics.platform import spin_map, telescope, telescope_rate
from deltadyn.kinematics.spindle import SYSTEMS, System

PIVOT = 0.03  # m, upper joint 0.05 above the base, lower joint 0.02 above the platform
H = 1e-6  # s: central differences lose h^2 of third derivatives (1e3 / s^3) and 1e-16 / h
STEP = 1e-30  # imaginary step: exact to rounding

positions = st.tuples(
    st.floats(-0.6, 0.6), st.floats(-0.6, 0.6), st.floats(-1.1, -0.5), st.floats(-7.0, 7.0)
)
by_system = pytest.mark.parametrize("system", SYSTEMS)


def at(p: FloatArray, pd: FloatArray | None = None) -> SpindleGeometry:
    return SpindleGeometry.of(SPINDLE, p, np.zeros_like(p) if pd is None else pd)


def skew(w: FloatArray) -> FloatArray:
    zero = np.zeros(len(w))
    x, y, z = w.T
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return np.moveaxis(np.array(rows), -1, 0)


def test_length_direction_and_their_rates() -> None:
    p, pd = points_inside(SPINDLE, 40, 51), rates(SPINDLE, 40, 52)
    rod, ahead, behind = at(p, pd), at(p + H * pd, pd), at(p - H * pd, pd)
    np.testing.assert_allclose(rod.l[:, None] * rod.v + [0, 0, PIVOT], p[:, :3], atol=1e-15)
    assert (rod.v[:, 2] < 0).all()
    pairs = [(rod.ld, "l"), (rod.vd, "v"), (rod.Bd, "B")]
    for rate, name in pairs:
        difference = (getattr(ahead, name) - getattr(behind, name)) / (2 * H)
        np.testing.assert_allclose(rate, difference, rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", rod.B, pd[:, :3]), rod.vd, atol=1e-14)


def test_B_is_the_derivative_of_the_direction() -> None:
    p = points_inside(SPINDLE, 20, 53)
    B = at(p).B
    for k in range(3):
        z = tuple(p[:, j] + (1j * STEP if j == k else 0) for j in range(3))
        v = telescope(np, PIVOT, z).v
        column = np.stack([x.imag / STEP for x in v], axis=-1)
        np.testing.assert_allclose(B[:, :, k], column, atol=1e-14)  # rounding


@given(positions)
def test_rotation_of_the_shaft(p: tuple[float, float, float, float]) -> None:
    rod = at(np.array([p]))
    R = rod.R[0]
    # Rounding throughout.
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(R), 1.0, atol=1e-14)
    np.testing.assert_array_equal(R[:, 2], rod.v[0])
    np.testing.assert_allclose(R[:, 0] @ [math.cos(p[3]), math.sin(p[3]), 0.0], 0.0, atol=1e-15)


def test_spin_is_the_turn_of_the_rotation_matrix() -> None:
    p, pd = points_inside(SPINDLE, 40, 54), rates(SPINDLE, 40, 55)
    rod = at(p, pd)
    Rd = (at(p + H * pd).R - at(p - H * pd).R) / (2 * H)
    np.testing.assert_allclose(Rd, skew(rod.omega) @ rod.R, rtol=0, atol=1e-8)
    along_v = np.einsum("nk,nk->n", Rd[:, :, 0], rod.R[:, :, 1])  # bd . (v x b)
    np.testing.assert_allclose(rod.spin, along_v, rtol=0, atol=1e-8)
    printed = np.einsum("nk,nk->n", rod.n_p, pd[:, :3]) + rod.n_psi * pd[:, 3]
    np.testing.assert_array_equal(rod.spin, printed)


def test_rates_of_the_spin_map() -> None:
    p, pd = points_inside(SPINDLE, 40, 56), rates(SPINDLE, 40, 57)
    rod, ahead, behind = at(p, pd), at(p + H * pd, pd), at(p - H * pd, pd)
    np.testing.assert_allclose(rod.n_p_rate, (ahead.n_p - behind.n_p) / (2 * H), atol=1e-8)
    np.testing.assert_allclose(rod.n_psi_rate, (ahead.n_psi - behind.n_psi) / (2 * H), atol=1e-8)


def turn(axis: int, angle: float) -> FloatArray:
    c, s = math.cos(angle), math.sin(angle)
    out = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    out[i, i], out[i, j], out[j, i], out[j, j] = c, -s, s, c
    return out


@given(positions)
def test_the_fork_turns_before_the_cross(p: tuple[float, float, float, float]) -> None:
    """The shaft is Rz(psi) Rx(fork) Ry(cross) of its hanging pose; the other order is not it."""
    rod = at(np.array([p]))
    hanging = np.array([[0.0, -1, 0], [-1, 0, 0], [0, 0, -1]])  # b, v x b, v at psi = 0, v = -z
    v = turn(2, p[3]).T @ rod.v[0]  # seen from the fork
    fork, cross = math.atan2(v[1], -v[2]), -math.asin(v[0])
    built = turn(2, p[3]) @ turn(0, fork) @ turn(1, cross) @ hanging
    np.testing.assert_allclose(built, rod.R[0], atol=1e-14)  # rounding
    other_cross, other_fork = math.atan2(-v[0], -v[2]), math.asin(v[1])
    other = turn(2, p[3]) @ turn(1, other_cross) @ turn(0, other_fork) @ hanging
    np.testing.assert_allclose(other[:, 2], rod.v[0], atol=1e-14)  # the same direction
    if abs(v[0] * v[1]) > 0.01:  # the two orders differ by about the product of the tilts
        assert abs(other[:, 0] - rod.R[0][:, 0]).max() > 0.004


def test_spin_ratio_depends_on_the_phase_of_the_fork() -> None:
    tilt = math.radians(31)
    p = np.array([[math.tan(tilt) * 0.8, 0.0, PIVOT - 0.8, psi] for psi in (0.0, math.pi / 2)])
    ratio = spindle_motion(SPINDLE, p).spin_ratio
    # Rod tilted along the fork's pin, and across it.
    np.testing.assert_allclose(ratio, [-1 / math.cos(tilt), -math.cos(tilt)], rtol=1e-14)
    np.testing.assert_allclose(np.abs(ratio), [1.17, 0.86], atol=0.005)  # as the design states


@given(positions)
def test_a_turn_of_the_drive_is_a_turn_of_the_shaft(
    p: tuple[float, float, float, float],
) -> None:
    psi = np.linspace(0, 2 * np.pi, 256, endpoint=False)
    rows = np.tile(p, (256, 1))
    rows[:, 3] = psi
    ratio = at(rows).n_psi
    # The trapezoidal rule on an analytic periodic function: its error is far below rounding here.
    np.testing.assert_allclose(ratio.mean(), -1.0, atol=1e-13)
    tilt = spindle_motion(SPINDLE, p).tilt
    # 1 - e^2 loses a few roundings at large tilts.
    assert (np.abs(ratio) >= np.cos(tilt) - 1e-14).all()
    assert (np.abs(ratio) <= 1 / np.cos(tilt) + 1e-14).all()


def test_generic_core_on_plain_floats() -> None:
    p, pd = points_inside(SPINDLE, 1, 58), rates(SPINDLE, 1, 59)
    rod = telescope(math, PIVOT, tuple(p[0].tolist()))
    rate = telescope_rate(rod, tuple(pd[0].tolist()))
    spin = spin_map(rod, math.cos(p[0, 3]), math.sin(p[0, 3]))
    batch = at(p, pd)
    np.testing.assert_allclose(rod.l, batch.l[0], rtol=1e-15)  # rounding
    np.testing.assert_allclose(rate.v, batch.vd[0], rtol=1e-13)
    np.testing.assert_allclose(spin.n_p, batch.n_p[0], rtol=1e-14)


def test_motion_of_one_sample_and_at_rest() -> None:
    p, pd = points_inside(SPINDLE, 5, 60), rates(SPINDLE, 5, 61)
    one, batch = spindle_motion(SPINDLE, p[1], pd[1]), spindle_motion(SPINDLE, p, pd)
    assert batch.rotation.shape == (5, 3, 3)
    for name in batch.__dataclass_fields__:
        np.testing.assert_allclose(
            getattr(one, name), getattr(batch, name)[1], rtol=1e-13, atol=1e-15
        )
    rest = spindle_motion(SPINDLE, p)
    assert not rest.spin.any()
    assert not rest.length_rate.any()


def test_stroke() -> None:
    lengths = np.array([0.55, 0.6, 0.8, 1.123, 1.2])
    p = np.zeros((5, 4))
    p[:, 2] = PIVOT - lengths
    margin = spindle_motion(SPINDLE, p).stroke_margin
    np.testing.assert_allclose(margin, [-0.05, 0, 0.2, 0, -0.077], atol=1e-15)  # rounding
    rods = SPINDLE.spindle
    assert rods is not None
    upper = type(rods.upper)(0.1, 0.3, 0.004)
    open_ended = SPINDLE.replace(spindle=type(rods)(upper, rods.lower))
    assert np.isposinf(spindle_motion(open_ended, p).stroke_margin).all()


@by_system
@given(p=positions)
def test_coordinates_there_and_back(system: System, p: tuple[float, ...]) -> None:
    coordinates = spindle_coordinates(SPINDLE, p, system)
    back = spindle_point(SPINDLE, coordinates, system)
    np.testing.assert_allclose(back, p[:3], rtol=0, atol=1e-14)  # rounding of lengths of a metre


def test_what_the_coordinates_mean() -> None:
    x, y, z = 0.3, -0.2, -0.7  # from the upper joint
    p = [x, y, z + PIVOT, 0.0]
    l = math.sqrt(x * x + y * y + z * z)
    polar, projected = (spindle_coordinates(SPINDLE, p, system) for system in SYSTEMS)
    np.testing.assert_allclose(polar, [l, math.acos(-z / l), math.atan2(y, x)], rtol=1e-14)
    np.testing.assert_allclose(projected, [l, math.atan(-x / z), math.atan(-y / z)], rtol=1e-14)


@by_system
def test_jacobian_and_determinant(system: System) -> None:
    p = points_inside(SPINDLE, 30, 62)
    coordinates = spindle_coordinates(SPINDLE, p, system)
    J = spindle_jacobian(coordinates, system)
    for k in range(3):
        step = np.where(np.arange(3) == k, H, 0.0)
        ahead, behind = (
            spindle_point(SPINDLE, coordinates + sign * step, system) for sign in (1, -1)
        )
        np.testing.assert_allclose(J[:, :, k], (ahead - behind) / (2 * H), atol=1e-9)
    closed = spindle_determinant(coordinates, system)
    np.testing.assert_allclose(closed, np.linalg.det(J), rtol=1e-12)  # rounding of 3x3
    one = spindle_jacobian(coordinates[4], system)
    np.testing.assert_allclose(one, J[4], atol=1e-15)
    np.testing.assert_allclose(spindle_determinant(coordinates[4], system), closed[4], rtol=1e-14)


def test_determinants() -> None:
    polar = np.array([[0.8, 0.0, 0.4], [0.8, 0.3, 0.4]])
    np.testing.assert_allclose(
        np.abs(spindle_determinant(polar, "polar")), 0.64 * np.sin([0.0, 0.3]), rtol=1e-15
    )
    wide = np.linspace(-1.5, 1.5, 31)
    grid = np.stack([np.full(31 * 31, 0.8), np.repeat(wide, 31), np.tile(wide, 31)], axis=-1)
    # With one angle 0 it is -l^2 cos of the other, which is the smallest size on the grid.
    assert spindle_determinant(grid, "projected").max() == pytest.approx(-0.64 * math.cos(1.5))


def test_printed_jacobian_of_the_polar_system_is_wrong_in_one_sign() -> None:
    """[telescopic2022] J_t1 with its printed third column is not the derivative."""
    l, theta, phi = 0.8, 0.3, 0.9
    J = spindle_jacobian([l, theta, phi], "polar")
    np.testing.assert_allclose(J[0, 2], -l * math.sin(theta) * math.sin(phi), rtol=1e-15)
    np.testing.assert_allclose(J[1, 2], l * math.sin(theta) * math.cos(phi), rtol=1e-15)


def test_a_line_through_the_axis() -> None:
    """[telescopic2022] figure 6: the azimuth jumps, the projected angles do not."""
    count = 301  # the middle one lies on the axis
    s = np.linspace(-1, 1, count)
    p = np.stack([0.1 * s, -0.1 * s, np.full(count, -0.8 + PIVOT), 0 * s], axis=-1)
    report = spindle_singularity(SPINDLE, p)
    assert np.argmax(report.polar_condition) == count // 2
    assert np.isposinf(report.polar_condition[count // 2])
    assert report.polar_determinant[count // 2] == 0.0
    off = np.arange(count) != count // 2
    np.testing.assert_allclose(
        report.polar_condition[off], 1 / np.sin(report.polar[off, 1]), rtol=1e-10
    )
    jump = np.abs(report.polar[count // 2 + 1, 2] - report.polar[count // 2 - 1, 2])
    np.testing.assert_allclose(jump, np.pi, rtol=1e-14)
    assert report.polar_step > 0.7
    assert report.projected_condition.max() < 1.04  # a tilt of 10 degrees
    unit = report.projected.copy()
    unit[:, 0] = 1.0
    jacobians = spindle_jacobian(unit, "projected")
    np.testing.assert_allclose(report.projected_condition, np.linalg.cond(jacobians), rtol=1e-12)
    assert report.projected_step < 0.001
    np.testing.assert_allclose(report.projected_determinant, -0.64, rtol=0.02)
    assert "polar system is singular" in report.status
    assert "projected system is conditioned by at most 1.0" in report.status


def test_a_line_beside_the_axis_is_regular_in_both() -> None:
    s = np.linspace(-1, 1, 101)
    p = np.stack([0.1 + 0 * s, 0.1 * s, np.full(101, -0.8), 0 * s], axis=-1)
    report = spindle_singularity(SPINDLE, p)
    assert report.polar_condition.max() < 10
    assert "polar system is conditioned by at most 8" in report.status


def test_a_step_goes_the_shorter_way_round() -> None:
    p = [[-0.1, 0.001, -0.8, 0.0], [-0.1, -0.001, -0.8, 0.0]]  # azimuths just below pi, above -pi
    np.testing.assert_allclose(spindle_singularity(SPINDLE, p).polar_step, 0.02, rtol=1e-4)


def test_a_rod_of_no_length_is_not_finite() -> None:
    spindle = SPINDLE.spindle
    assert spindle is not None
    rod = at(np.array([[0.0, 0.0, spindle.pivot_z, 0.0], [0.0, 0.0, -0.8, 0.0]]))
    assert not np.isfinite(rod.v[0]).any()
    assert np.isfinite(rod.v[1]).all()
