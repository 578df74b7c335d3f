"""Motions over time: both ways to make one, rates from samples, the gate move."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from tests.dynamics.factory import make_robot, relative

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import inverse_dynamics
from deltadyn.errors import UnreachableError
from deltadyn.kinematics import State
from deltadyn.motion import Motion, gate_move
from deltadyn.robot import Robot

ROUNDING = 1e-12  # relative: closed forms there and back leave 1e-15


class Path(NamedTuple):
    """A smooth closed path of the platform with its derivatives, each (N, dof)."""

    t: FloatArray
    p: FloatArray
    pd: FloatArray
    pdd: FloatArray


def smooth_path(robot: Robot, count: int) -> Path:
    """One second of sines about the middle of the workspace, psi with them."""
    t = np.linspace(0.0, 1.0, count)
    centre = np.array([0.02, -0.01, -0.75, 0.3])[: robot.dof]
    size = np.array([0.1, 0.08, 0.05, 1.5])[: robot.dof]
    w = 2 * np.pi * np.array([1.0, 2.0, 1.0, 1.0])[: robot.dof]
    phase = w * t[:, None] + np.array([0.0, 0.5, 1.0, 0.2])[: robot.dof]
    return Path(
        t,
        centre + size * np.sin(phase),
        size * w * np.cos(phase),
        -size * w**2 * np.sin(phase),
    )


@pytest.fixture(params=[3, 4])
def robot(request: pytest.FixtureRequest) -> Robot:
    return make_robot(request.param, False)


def test_both_ways_to_make_a_motion_agree(robot: Robot) -> None:
    path = smooth_path(robot, 200)
    m = Motion.from_platform(robot, *path)
    back = Motion.from_joints(robot, path.t, m.q, m.qd, m.qdd)
    for name in ("t", "q", "qd", "qdd", "p", "pd", "pdd"):
        ours, theirs = getattr(m, name), getattr(back, name)
        assert ours.shape == ((200,) if name == "t" else (200, robot.dof))
        assert relative(theirs, ours) < ROUNDING, name
    assert np.array_equal(m.p, path.p)
    assert np.array_equal(back.q, m.q)


def test_a_motion_is_a_state_with_time(robot: Robot) -> None:
    path = smooth_path(robot, 50)
    m = Motion.from_platform(robot, *path)
    state = State.from_platform(robot, path.p, path.pd, path.pdd)
    assert isinstance(m, State)
    assert len(m) == 50
    assert m.duration == 1.0
    later = Motion.from_platform(robot, path.t + 3.0, path.p, path.pd, path.pdd)
    assert later.duration == pytest.approx(1.0, rel=1e-15)
    assert np.array_equal(inverse_dynamics(robot, m), inverse_dynamics(robot, state))


def test_joint_angles_stay_as_given(robot: Robot) -> None:
    """A turn more of an arm is the same pose, and the motion keeps the number."""
    m = Motion.from_platform(robot, *smooth_path(robot, 20))
    q = m.q.copy()
    q[:, 0] += 2 * np.pi
    turned = Motion.from_joints(robot, m.t, q, m.qd, m.qdd)
    assert np.array_equal(turned.q, q)
    assert relative(turned.p, m.p) < ROUNDING


def errors(robot: Robot, count: int, *, given: bool, joints: bool) -> tuple[float, float]:
    """Relative errors of the first and second rates that are estimated from samples."""
    path = smooth_path(robot, count)
    if joints:
        true = Motion.from_platform(robot, *path)
        m = Motion.from_joints(robot, path.t, true.q, true.qd if given else None)
        return relative(m.qd, true.qd), relative(m.qdd, true.qdd)
    m = Motion.from_platform(robot, path.t, path.p, path.pd if given else None)
    return relative(m.pd, path.pd), relative(m.pdd, path.pdd)


@pytest.mark.parametrize("joints", [False, True])
def test_estimated_rates_converge_with_the_order_of_the_spline(robot: Robot, joints: bool) -> None:
    """A quintic errs by h^6, its rates by h^5 and h^4: halving h gives 32 and 16 times less.

    Half an order less is let pass for the ends, where the spline has fewer neighbours.
    """
    coarse = errors(robot, 51, given=False, joints=joints)
    fine = errors(robot, 101, given=False, joints=joints)
    assert np.log2(coarse[0] / fine[0]) > 4.5
    assert np.log2(coarse[1] / fine[1]) > 3.5
    # sixth derivatives of (4 pi)^6 and steps of 0.01 s: (4 pi h)^5 = 3e-5, (4 pi h)^4 = 2.5e-4
    assert fine[0] < 3e-5
    assert fine[1] < 2.5e-3


@pytest.mark.parametrize("joints", [False, True])
def test_accelerations_from_given_rates_are_an_order_better(robot: Robot, joints: bool) -> None:
    coarse = errors(robot, 51, given=True, joints=joints)
    fine = errors(robot, 101, given=True, joints=joints)
    assert coarse[0] == fine[0] == 0.0
    assert np.log2(coarse[1] / fine[1]) > 4.5
    assert fine[1] < errors(robot, 101, given=False, joints=joints)[1] / 10


def test_rates_of_a_quintic_on_uneven_times_are_exact(robot: Robot) -> None:
    """A spline of degree five holds every polynomial up to that degree, wherever it is sampled."""
    rng = np.random.default_rng(2)
    t = np.sort(rng.uniform(0.0, 1.0, 30))
    factors = rng.uniform(-0.02, 0.02, (6, robot.dof))
    factors[0, 2] = -0.75
    powers = t[:, None] ** np.arange(6)
    slopes = np.arange(6) * t[:, None] ** np.maximum(np.arange(6) - 1, 0)
    bends = np.arange(6) * np.arange(-1, 5) * t[:, None] ** np.maximum(np.arange(6) - 2, 0)
    m = Motion.from_platform(robot, t, powers @ factors)
    # steps of down to 1e-4 s: rounding of 1e-16 m over their square, against some 0.1 m/s^2
    assert relative(m.pd, slopes @ factors) < 1e-9
    assert relative(m.pdd, bends @ factors) < 1e-6


def test_points_out_of_reach(robot: Robot) -> None:
    path = smooth_path(robot, 10)
    p = path.p.copy()
    p[4, 2] = -5.0
    with pytest.raises(UnreachableError) as caught:
        Motion.from_platform(robot, path.t, p, path.pd, path.pdd)
    assert caught.value.rows == (4,)
    m = Motion.from_platform(robot, path.t, p, path.pd, path.pdd, unreachable="nan")
    assert np.array_equal(np.isnan(m.q).any(axis=1), np.arange(10) == 4)
    tau = inverse_dynamics(robot, m)
    assert np.array_equal(np.isnan(tau[:, :3]).any(axis=1), np.arange(10) == 4)


# The gate move.

START, END = np.array([-0.12, 0.05, -0.75, 0.2]), np.array([0.15, -0.03, -0.74, 1.7])


def gate(robot: Robot, rate: float = 2000.0, overlap: float = 0.6) -> Motion:
    a, b = START[: robot.dof], END[: robot.dof]
    return gate_move(robot, a, b, lift=0.06, duration=0.5, overlap=overlap, rate=rate)


def test_gate_goes_from_rest_to_rest(robot: Robot) -> None:
    m = gate(robot)
    for row, point in ((0, START), (-1, END)):
        np.testing.assert_allclose(m.p[row], point[: robot.dof], rtol=0, atol=1e-15)
        for rates in (m.pd, m.pdd, m.qd, m.qdd):
            # quintic of u = 1 - 1e-16 at the last sample: accelerations of 1e-13 of their peak
            assert np.max(np.abs(rates[row])) < 1e-10
    assert len(m) == 1001
    np.testing.assert_allclose(np.diff(m.t), 1 / 2000.0, rtol=1e-9)
    assert m.duration == 0.5


def test_gate_lifts_before_it_drops(robot: Robot) -> None:
    """Between lift and drop the height is that of the way across and the lift above it."""
    m = gate(robot)
    up = (m.t >= 0.2) & (m.t <= 0.3)
    share = (m.p[:, 0] - START[0]) / (END[0] - START[0])
    plain = START[2] + share * (END[2] - START[2])
    np.testing.assert_allclose((m.p[:, 2] - plain)[up], 0.06, rtol=0, atol=1e-14)
    assert np.all((m.p[:, 2] - plain)[1:-1] > 0)
    assert np.all(np.diff(share) >= 0)
    for axis in (1, 3)[: robot.dof - 2]:  # psi turns on the way across
        other = (m.p[:, axis] - START[axis]) / (END[axis] - START[axis])
        np.testing.assert_allclose(other, share, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("overlap", "begins"), [(0.0, 0.2), (0.6, 0.08), (1.0, 0.0)])
def test_overlap_rounds_the_corners(robot: Robot, overlap: float, begins: float) -> None:
    m = gate(robot, overlap=overlap)
    moved = m.t[np.abs(m.p[:, 0] - START[0]) > 0]
    still = m.t[np.abs(m.p[:, 0] - END[0]) > 1e-15]
    assert begins < moved[0] <= begins + 0.005  # the quintic starts with u^3
    assert 0.5 - begins - 0.005 <= still[-1] <= 0.5 - begins


def test_gate_rates_are_derivatives(robot: Robot) -> None:
    """Central differences, with the bounds that Taylor gives for a bounded jerk."""
    m = gate(robot)
    h = m.t[1] - m.t[0]
    jerk = np.max(np.abs(np.diff(m.pdd, axis=0)), axis=0) / h
    speed = (m.p[2:] - m.p[:-2]) / (2 * h)
    assert np.all(np.abs(speed - m.pd[1:-1]) < 1.1 * jerk * h**2 / 6)
    bend = (m.pd[2:] - m.pd[:-2]) / (2 * h)
    assert np.all(np.abs(bend - m.pdd[1:-1]) < 1.1 * jerk * h / 2)
    # where the jerk does not jump the difference is of second order
    smooth = np.median(np.abs(bend - m.pdd[1:-1]), axis=0)
    assert np.all(smooth < 1e-4 * np.max(np.abs(m.pdd), axis=0))
    joints = (m.q[2:] - m.q[:-2]) / (2 * h)
    assert relative(joints, m.qd[1:-1]) < 1e-4


@pytest.mark.parametrize("overlap", [0.0, 0.6, 1.0])
def test_gate_has_continuous_accelerations(robot: Robot, overlap: float) -> None:
    """Steps between samples shrink with the step: a jump would stay."""
    coarse, fine = gate(robot, 2000.0, overlap), gate(robot, 8000.0, overlap)
    for name in ("pd", "pdd", "qdd"):
        steps = [np.max(np.abs(np.diff(getattr(m, name), axis=0)), axis=0) for m in (coarse, fine)]
        ratio = steps[0] / steps[1]
        assert np.all((ratio > 3.5) & (ratio < 4.2)), name


def test_gate_back_is_the_gate_in_reverse(robot: Robot) -> None:
    there = gate(robot)
    a, b = START[: robot.dof], END[: robot.dof]
    back = gate_move(robot, b, a, lift=0.06, duration=0.5)
    np.testing.assert_allclose(back.p, there.p[::-1], rtol=0, atol=1e-14)
    np.testing.assert_allclose(back.pd, -there.pd[::-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(back.pdd, there.pdd[::-1], rtol=0, atol=1e-10)


def test_gate_out_of_reach_is_refused(robot: Robot) -> None:
    far = END[: robot.dof].copy()
    far[0] = 3.0
    with pytest.raises(UnreachableError, match="cannot be reached"):
        gate_move(robot, START[: robot.dof], far)
