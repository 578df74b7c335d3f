"""Friction: every term by hand, its sign, and the power that passive joints take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import (
    KIND_NAMES,
    KINDS,
    LIMB_ENDS,
    full_friction,
    make_robot,
    make_states,
    relative,
)

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import equations_of_motion, inverse_dynamics
from deltadyn.dynamics.friction import magnitude
from deltadyn.kinematics import State, forward_kinematics
from deltadyn.robot import Robot
from deltadyn.robot.settings import PASSIVE_JOINTS, Friction, PassiveFriction

ROUNDING = 1e-12  # relative; one exponential or hyperbolic tangent between two equal formulas
# Angles by differences of fourth order in steps of 1e-3 rad: their fifth derivatives (up to 100)
# over 30 times 1e-12, and rounding of 1e-16 over 1e-3. Coulomb friction sees the sign alone.
DIFFERENCED = 1e-9

RATES = np.array([[0.8, -0.8, 0.0], [2.0, -0.1, 3.0], [-2.0, 0.1, -3.0]])


def friction_of(rates: FloatArray = RATES, **terms: Any) -> FloatArray:
    """f of a 3-DOF robot with these friction terms at these joint rates (N, 3)."""
    robot = make_robot(3, True, friction=Friction(**terms))
    q = np.full((len(rates), 3), 0.5)
    return equations_of_motion(robot, State.from_joints(robot, q, rates)).f


def test_no_friction_unless_given() -> None:
    assert not friction_of().any()


def test_viscous() -> None:
    f = friction_of(viscous=[0.5, 1.0, 2.0])
    expected = [[0.4, -0.8, 0.0], [1.0, -0.1, 6.0], [-1.0, 0.1, -6.0]]
    np.testing.assert_allclose(f, expected, rtol=ROUNDING)


def test_coulomb_has_the_sign_of_the_rate_and_is_zero_at_rest() -> None:
    f = friction_of(coulomb=[0.5, 1.0, 2.0])
    expected = [[0.5, -1.0, 0.0], [0.5, -1.0, 2.0], [-0.5, 1.0, -2.0]]
    np.testing.assert_allclose(f, expected, rtol=ROUNDING)


def test_coulomb_of_each_direction() -> None:
    f = friction_of(coulomb=[0.5, 1.0, 2.0], coulomb_negative=[3.0, 4.0, 5.0])
    expected = [[0.5, -4.0, 0.0], [0.5, -4.0, 2.0], [-3.0, 1.0, -5.0]]
    np.testing.assert_allclose(f, expected, rtol=ROUNDING)


def test_stribeck_adds_to_coulomb_and_fades() -> None:
    """At the Stribeck velocity 1/e of it is left, at twice that e^-4."""
    rates = np.array([[1e-9, -0.5, 1.0], [0.25, -1.0, 0.0]])
    f = friction_of(rates, coulomb=1.0, stribeck=[2.0, 2.0, 4.0], stribeck_velocity=0.5)
    expected = [
        [1.0 + 2.0, -(1.0 + 2.0 * 0.36787944117144233), 1.0 + 4.0 * 0.01831563888873418],
        [1.0 + 2.0 * 0.7788007830714049, -(1.0 + 2.0 * 0.01831563888873418), 0.0],
    ]
    np.testing.assert_allclose(f, expected, rtol=ROUNDING)


def test_stribeck_curve_falls_then_rises() -> None:
    """With viscous friction the curve has its valley where Fv = 2 Fs w exp(-w^2) / vs."""
    rate = np.linspace(0.01, 3.0, 300)
    rates = np.stack([rate, rate, rate], axis=-1)
    f = friction_of(rates, viscous=0.2, coulomb=1.0, stribeck=2.0, stribeck_velocity=0.5)
    slope = np.diff(f[:, 0])
    valley = rate[np.argmin(f[:, 0])]
    w = valley / 0.5
    assert slope[0] < 0 < slope[-1]
    assert np.count_nonzero(np.diff(np.sign(slope))) == 1
    # at w = 2.1 the left side falls by 1.5 per rad/s, and the grid is 0.01 rad/s wide
    assert abs(2 * 2.0 * w * np.exp(-(w**2)) / 0.5 - 0.2) < 0.015


def test_offset_does_not_turn_with_the_rate() -> None:
    f = friction_of(offset=[0.1, -0.2, 0.3])
    np.testing.assert_allclose(f, np.tile([0.1, -0.2, 0.3], (3, 1)), rtol=ROUNDING)


def test_smoothing_replaces_the_sign() -> None:
    """tanh(1) at the smoothing velocity, the whole value far above it, zero at rest."""
    rates = np.array([[0.05, -0.05, 0.0], [10.0, -10.0, 0.1]])
    f = friction_of(rates, coulomb=2.0, smoothing=0.05)
    tanh1, tanh2 = 0.7615941559557649, 0.9640275800758169
    expected = [[2 * tanh1, -2 * tanh1, 0.0], [2.0, -2.0, 2 * tanh2]]
    np.testing.assert_allclose(f, expected, rtol=ROUNDING)
    both = friction_of(rates, coulomb=2.0, coulomb_negative=4.0, smoothing=0.05)
    np.testing.assert_allclose(both[0], [2 * tanh1, -4 * tanh1, 0.0], rtol=ROUNDING)
    curve = friction_of(rates, stribeck=3.0, stribeck_velocity=0.1, smoothing=0.05)
    np.testing.assert_allclose(curve[0, 0], 3 * tanh1 * 0.7788007830714049, rtol=ROUNDING)


@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_gear_loss_is_a_share_of_what_goes_through_the_gear(kind: tuple[int, bool]) -> None:
    """The rotor sits before the gear: its own torque is not transmitted."""
    plain = make_robot(*kind)
    share = np.array([0.1, 0.2, 0.3, 0.05])[: plain.dof]
    state = make_states(plain, 100)
    through = inverse_dynamics(plain, state)
    through = through - np.array(plain.drives.rotor_inertia) * state.qdd
    without_rotor = plain.with_rotor_inertia(np.zeros(plain.dof))
    assert relative(inverse_dynamics(without_rotor, state), through) < ROUNDING
    f = equations_of_motion(plain.with_friction(load=share), state).f
    assert relative(f, share * np.abs(through) * np.sign(state.qd)) < ROUNDING
    rest = State.from_joints(plain, state.q)
    assert not equations_of_motion(plain.with_friction(load=share), rest).f.any()


@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_gear_loss_counts_external_forces_and_passive_friction(kind: tuple[int, bool]) -> None:
    dof = kind[0]
    passive = full_friction(dof).passive
    robot = make_robot(*kind, friction=Friction(passive=passive))
    state = make_states(robot, 50)
    force = np.array([30.0, -20.0, 50.0])
    before = inverse_dynamics(robot, state, external_force=force)
    load = before - np.array(robot.drives.rotor_inertia) * state.qdd
    lossy = robot.with_friction(load=0.2)
    tau = inverse_dynamics(lossy, state, external_force=force)
    assert relative(tau, before + 0.2 * np.abs(load) * np.sign(state.qd)) < ROUNDING


@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
@pytest.mark.parametrize("smoothing", [None, 0.5])
def test_friction_takes_power_from_every_axis(
    kind: tuple[int, bool], smoothing: float | None
) -> None:
    """Without the offset, which is no friction in itself, and passive joints, which share it."""
    friction = full_friction(kind[0], offset=None, passive=(), smoothing=smoothing)
    robot = make_robot(*kind, friction=friction)
    state = make_states(robot, 200)
    f = equations_of_motion(robot, state).f
    assert np.all(f * state.qd > 0)
    mirrored = State.from_joints(robot, state.q, -state.qd, state.qdd)
    assert np.all(equations_of_motion(robot, mirrored).f * mirrored.qd > 0)


@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_without_friction_nothing_of_it_is_left(kind: tuple[int, bool]) -> None:
    plain = make_robot(*kind)
    rough = plain.replace(friction=full_friction(plain.dof))
    state = make_states(plain, 20)
    tau = inverse_dynamics(rough, state, friction=False)
    assert np.array_equal(tau, inverse_dynamics(plain, state))
    assert not np.allclose(tau, inverse_dynamics(rough, state))


# Passive joints, from the geometry alone: angle of the joint at q, differenced.


def joint_angle(robot: Robot, q: FloatArray, joint: str) -> FloatArray:
    """Angle or length (N, k) of a passive joint: one per limb, two universal joints, one slide."""
    p = forward_kinematics(robot, q)
    if joint in ("prismatic", "universal_fork", "universal_cross"):
        assert robot.spindle is not None
        rise = robot.spindle.upper_joint_z - robot.spindle.lower_joint_z
        x, y, down, psi = p[:, 0], p[:, 1], rise - p[:, 2], p[:, 3]
        along = x * np.cos(psi) + y * np.sin(psi)  # the fork's pin
        across = y * np.cos(psi) - x * np.sin(psi)
        fork, cross = np.arctan2(across, down), np.arctan2(along, np.hypot(across, down))
        length = np.sqrt(x**2 + y**2 + down**2)
        if joint == "prismatic":
            return length[:, None]
        upper = fork if joint == "universal_fork" else cross
        return np.stack([upper, -upper], axis=-1)  # the lower joint undoes what the upper does
    g = robot.rotary
    a, theta = np.array(g.azimuth), q[:, :3]
    radial = p[:, :1] * np.cos(a) + p[:, 1:2] * np.sin(a)
    tangential = p[:, 1:2] * np.cos(a) - p[:, :1] * np.sin(a)
    reach = np.array(g.base_radius) - np.array(g.platform_radius)
    out = radial - reach - np.array(g.arm_length) * np.cos(theta)
    down = -p[:, 2:3] - np.array(g.arm_length) * np.sin(theta)
    swing: FloatArray = np.arctan2(down, out)
    sway: FloatArray = np.arctan2(tangential, np.hypot(out, down))
    if joint == "elbow_swing":
        return swing - theta
    return swing if joint == "platform_swing" else sway


def angle_derivatives(robot: Robot, q: FloatArray, joint: str, h: float = 1e-3) -> FloatArray:
    """B (N, k, dof) of the joint's angles by the joint coordinates, of fourth order."""
    rows = []
    for axis in np.eye(robot.dof):
        a, b, c, d = (joint_angle(robot, q + k * h * axis, joint) for k in (-2, -1, 1, 2))
        rows.append((a - 8 * b + 8 * c - d) / (12 * h))
    return np.stack(rows, axis=-1)


PASSIVE_CASES = [
    (dof, equal, joint)
    for dof, equal in KINDS
    for joint in PASSIVE_JOINTS
    if dof == 4 or joint.split("_")[0] in LIMB_ENDS
]


@pytest.mark.parametrize(("dof", "equal", "joint"), PASSIVE_CASES)
@pytest.mark.parametrize("smoothing", [None, 0.3])
def test_passive_friction_is_the_gradient_of_what_it_dissipates(
    dof: int, equal: bool, joint: str, smoothing: float | None
) -> None:
    """f = dD/dqd with D = sum 1/2 Fv r^2 + Fc |r| over the joints' rates r = B qd."""
    viscous, coulomb = 0.7, 0.4
    friction = Friction(passive=(PassiveFriction(joint, viscous, coulomb),), smoothing=smoothing)
    robot = make_robot(dof, equal, friction=friction)
    state = make_states(robot, 100)
    B = angle_derivatives(robot, state.q, joint)
    kind = joint.split("_")[0]
    assert B.shape[1] == (3 if kind in LIMB_ENDS else 2 if kind == "universal" else 1)
    rate = np.einsum("nkj,nj->nk", B, state.qd)
    sign = np.sign(rate) if smoothing is None else np.tanh(rate / smoothing)
    expected = np.einsum("nkj,nk->nj", B, viscous * rate + coulomb * sign)
    f = equations_of_motion(robot, state).f
    assert relative(f, expected) < DIFFERENCED
    assert np.all(np.sum(f * state.qd, axis=1) > 0)


@pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
def test_power_of_passive_friction_is_what_the_joints_take(kind: tuple[int, bool]) -> None:
    """Drive friction power = sum over the joints of rate times friction, all joints at once."""
    passive = full_friction(kind[0]).passive
    robot = make_robot(*kind, friction=Friction(passive=passive))
    state = make_states(robot, 100)
    taken = np.zeros(len(state))
    h = 1e-4  # s: some 5e-4 rad
    for item in passive:
        a, b, c, d = (
            joint_angle(robot, state.q + k * h * state.qd, item.joint) for k in (-2, -1, 1, 2)
        )
        rate = (a - 8 * b + 8 * c - d) / (12 * h)
        taken += np.sum(rate * (item.viscous * rate + item.coulomb * np.sign(rate)), axis=1)
    given = np.sum(equations_of_motion(robot, state).f * state.qd, axis=1)
    np.testing.assert_allclose(given, taken, rtol=DIFFERENCED)
    assert len(passive) == (7 if robot.dof == 4 else 4)


def test_a_complex_step_passes_through_a_magnitude() -> None:
    """d|x|/dx = sign(x)."""
    x = np.array([-2.0, 3.0])
    found: Any = magnitude(np, x + 1e-30j)
    np.testing.assert_array_equal(found.real, [2.0, 3.0])
    np.testing.assert_allclose(found.imag / 1e-30, [-1.0, 1.0], rtol=1e-15)
    np.testing.assert_array_equal(magnitude(np, x), [2.0, 3.0])
