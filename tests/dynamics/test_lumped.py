"""The papers' simplified models: each by hand, and each as a special case of the exact model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.dynamics.factory import KIND_NAMES, KINDS, make_robot, make_states, relative

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import equations_of_motion, inverse_dynamics
from deltadyn.kinematics import State
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Effector, Payload, Platform, Rod, Spindle, Strut

ROUNDING = 1e-12  # relative: the same closed forms, solved by other means, differ by 1e-15
ANY = NDArray[Any]  # real, or complex for derivatives without differences

each_kind = pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)


@dataclass(frozen=True, eq=False)
class Points:
    """A robot of turning arms and one point mass: all that the simplified models leave."""

    M_P: float  # kg
    A: FloatArray  # (3,), kg m^2, with rotors
    G: FloatArray  # (3,), kg m
    G_s: FloatArray  # (3,), kg m
    I_psi: float  # kg m^2, with the rotor


def half_half(robot: Robot) -> Points:
    """Uniform arms; half of each pair of rods in the elbow, half on the platform."""
    l1 = np.array(robot.rotary.arm_length)
    arm = np.array([item.mass for item in robot.rotary_arms])
    elbow = np.array([item.elbow_mass for item in robot.rotary_arms])
    half = np.array([2 * item.mass for item in robot.struts]) / 2
    rotor = np.array(robot.drives.rotor_inertia[:3])
    return Points(
        M_P=carried(robot) + half.sum(),
        A=arm * l1**2 / 3 + (half + elbow) * l1**2 + rotor,
        G=arm * l1 / 2 + (half + elbow) * l1,
        G_s=np.zeros(3),
        I_psi=turning(robot),
    )


def gray_box(robot: Robot) -> Points:
    """rho1 on inertia and rho2 on gravity of arm and elbow; the rotor is not the arm's."""
    plain, rotor = half_half(robot), np.array(robot.drives.rotor_inertia[:3])
    return replace(plain, A=1.2 * (plain.A - rotor) + rotor, G=0.9 * plain.G)


def euler_lagrange(robot: Robot) -> Points:
    """Half-half with the arms as they are."""
    plain, l1 = half_half(robot), np.array(robot.rotary.arm_length)
    half = np.array([2 * item.mass for item in robot.struts]) / 2
    elbow = half + np.array([item.elbow_mass for item in robot.rotary_arms])
    own = np.array([a.inertia + a.mass * (a.com**2 + a.com_offset**2) for a in robot.rotary_arms])
    return replace(
        plain,
        A=own + elbow * l1**2 + np.array(robot.drives.rotor_inertia[:3]),
        G=np.array([a.mass * a.com for a in robot.rotary_arms]) + elbow * l1,
        G_s=np.array([a.mass * a.com_offset for a in robot.rotary_arms]),
    )


def virtual_work(robot: Robot) -> Points:
    """An inertia per arm, one gravity moment for all, and no sine of gravity."""
    plain = euler_lagrange(robot)
    return replace(plain, G=np.full(3, plain.G.mean()), G_s=np.zeros(3))


def carried(robot: Robot) -> float:
    """Everything whose mass the platform point carries, without struts."""
    rod = 0.0 if robot.spindle is None else robot.spindle.lower.mass
    return robot.platform.mass + robot.payload.mass + robot.effector.mass + rod


def turning(robot: Robot) -> float:
    """Inertia about the axis of psi, with its rotor."""
    if robot.spindle is None:
        return 0.0
    ef, load = robot.effector, robot.payload
    of_effector = ef.inertia_zz + ef.mass * np.hypot(*ef.com[:2]) ** 2
    of_payload = load.inertia_zz + load.mass * np.hypot(*load.offset[:2]) ** 2
    return float(of_effector + of_payload + robot.drives.rotor_inertia[3])


POINTS: dict[str, Callable[[Robot], Points]] = {
    "half-half": half_half,
    "gray-box": gray_box,
    "euler-lagrange": euler_lagrange,
    "virtual-work": virtual_work,
}
each_model = pytest.mark.parametrize("model", POINTS)


def jacobian(robot: Robot, state: State) -> FloatArray:
    """dp/dtheta (N, 3, 3) from |p - E|^2 = l2^2: s.dp = s.E' dtheta for each limb."""
    g, q = robot.rotary, state.q[:, :3]
    e_r = np.stack([np.cos(g.azimuth), np.sin(g.azimuth), np.zeros(3)], axis=-1)
    up = np.array([0.0, 0.0, 1.0])
    l1, r = np.array(g.arm_length), np.array(g.base_radius) - np.array(g.platform_radius)
    E = (r + l1 * np.cos(q))[..., None] * e_r - (l1 * np.sin(q))[..., None] * up
    E1 = -(l1 * np.sin(q))[..., None] * e_r - (l1 * np.cos(q))[..., None] * up
    s = state.p[:, None, :3] - E
    D = np.sum(s * E1, axis=2)[:, None, :] * np.eye(3)
    out: FloatArray = np.linalg.solve(s, D)
    return out


def torque_by_hand(robot: Robot, state: State, points: Points) -> FloatArray:
    """tau = A qdd - g (G cos + G_s sin) + J^T M_P (pdd + g z), psi on its own."""
    g, q = robot.gravity, state.q[:, :3]
    force = points.M_P * (state.pdd[:, :3] + np.array([0.0, 0.0, g]))
    tau = points.I_psi * state.qdd
    tau[:, :3] = points.A * state.qdd[:, :3]
    tau[:, :3] -= g * (points.G * np.cos(q) + points.G_s * np.sin(q))
    tau[:, :3] += np.einsum("nki,nk->ni", jacobian(robot, state), force)
    return tau


def exact_robot(robot: Robot, points: Points) -> Robot:
    """A robot with massless struts and rods whose exact model has these masses.

    The arms' mass is free: A and G are its inertia about the axis and its first moment.
    """
    mass = 20.0
    rotors = robot.drives.rotor_inertia
    moments = zip(points.A, points.G, points.G_s, rotors[:3], strict=True)
    arms = [
        Arm(mass, G / mass, A - rotor - (G**2 + G_s**2) / mass, G_s / mass)
        for A, G, G_s, rotor in moments
    ]
    parts: dict[str, Any] = {"effector": Effector()}
    if robot.spindle is not None:
        bare = Rod(0.0, 0.1, 0.0)
        parts["spindle"] = Spindle(bare, bare, 0.05, 0.03)
        parts["effector"] = Effector(inertia_zz=points.I_psi - rotors[3])
    return robot.replace(
        arms=tuple(arms),
        struts=(Strut(0.0, 0.5, 0.0),) * 3,
        platform=Platform(points.M_P),
        payload=Payload(),
        **parts,
    )


@each_kind
@each_model
def test_torque_equals_the_model_by_hand(kind: tuple[int, bool], model: str) -> None:
    robot = make_robot(*kind)
    state = make_states(robot, 300)
    expected = torque_by_hand(robot, state, POINTS[model](robot))
    assert relative(inverse_dynamics(robot, state, model), expected) < ROUNDING


@each_kind
@each_model
def test_the_model_is_a_special_case_of_the_exact_one(kind: tuple[int, bool], model: str) -> None:
    robot = make_robot(*kind)
    state = make_states(robot, 300)
    special = exact_robot(robot, POINTS[model](robot))
    expected = inverse_dynamics(special, state, "exact")
    assert relative(inverse_dynamics(robot, state, model), expected) < ROUNDING
    ours = equations_of_motion(robot, state, model)
    theirs = equations_of_motion(special, state, "exact")
    for term in ("M", "c", "g"):
        assert relative(getattr(ours, term), getattr(theirs, term)) < ROUNDING, term


@each_kind
@each_model
def test_the_models_are_not_the_exact_one(kind: tuple[int, bool], model: str) -> None:
    """Else the comparisons above would say nothing."""
    robot = make_robot(*kind)
    state = make_states(robot, 100)
    others = [name for name in (*POINTS, "exact") if name != model]
    tau = inverse_dynamics(robot, state, model)
    for other in others:
        assert relative(inverse_dynamics(robot, state, other), tau) > 1e-4, other


def test_a_single_rod_counts_once() -> None:
    """`rods` says how many: one rod of twice the mass and inertia is the pair."""
    pair = make_robot(3, True)
    one = replace(pair.struts[0], mass=2 * pair.struts[0].mass, rods=1)
    one = replace(one, inertia=2 * pair.struts[0].inertia)
    state = make_states(pair, 20)
    for model in (*POINTS, "projected-rod", "exact", "rigid"):
        tau = inverse_dynamics(pair.replace(struts=(one,) * 3), state, model)
        assert relative(tau, inverse_dynamics(pair, state, model)) < ROUNDING, model


# The telescope by projected angles.


def rod_energy(robot: Robot, p: ANY, pd: ANY) -> ANY:
    """T = 1/2 I(l) (thetad^2 + phid^2) + 1/2 m2 ld^2 of points and velocities (N, 3).

    tan(theta) = x/h and tan(phi) = y/h with h the pivot's height over p;
    I(l) = I1 + m1 c1^2 + I2 + m2 (l - c2)^2.
    """
    assert robot.spindle is not None
    upper, lower = robot.spindle.upper, robot.spindle.lower
    x, y, h = p[:, 0], p[:, 1], _pivot(robot) - p[:, 2]
    xd, yd, hd = pd[:, 0], pd[:, 1], -pd[:, 2]
    l = np.sqrt(x * x + y * y + h * h)
    ld = (x * xd + y * yd + h * hd) / l
    thetad = (xd * h - x * hd) / (x * x + h * h)
    phid = (yd * h - y * hd) / (y * y + h * h)
    I = upper.inertia + upper.mass * upper.com**2
    I = I + lower.inertia + lower.mass * (l - lower.com) ** 2
    T: ANY = I * (thetad**2 + phid**2) / 2 + lower.mass * ld**2 / 2
    return T


def rod_potential(robot: Robot, p: ANY) -> ANY:
    """V = -g (m1 c1 + m2 (l - c2)) cos(tilt), with cos(tilt) = h/l."""
    assert robot.spindle is not None
    upper, lower = robot.spindle.upper, robot.spindle.lower
    h = _pivot(robot) - p[:, 2]
    l = np.sqrt(p[:, 0] ** 2 + p[:, 1] ** 2 + h * h)
    moment = upper.mass * upper.com + lower.mass * (l - lower.com)
    V: ANY = -robot.gravity * moment * h / l
    return V


def lagrange_force(robot: Robot, state: State) -> FloatArray:
    """d/dt dT/dpd - dT/dp + dV/dp (N, 3), by complex steps: exact to rounding.

    T is quadratic in pd, so its momenta are T(pd + e) - T(pd) - T(e).
    """
    p, pd, pdd = state.p[:, :3], state.pd[:, :3], state.pdd[:, :3]
    step = 1e-30  # nothing is subtracted, so it may be as small as one likes
    force = np.empty_like(p)
    for k, e in enumerate(np.eye(3)):
        unit = np.broadcast_to(e, p.shape)

        def momentum(p: ANY, pd: ANY, e: ANY = unit) -> ANY:
            return rod_energy(robot, p, pd + e) - rod_energy(robot, p, pd) - rod_energy(robot, p, e)

        rate = np.imag(momentum(p + 1j * step * pd, pd)) / step + momentum(p, pdd)
        beside = p + 1j * step * unit
        by_p = np.imag(rod_energy(robot, beside, pd) - rod_potential(robot, beside)) / step
        force[:, k] = rate - by_p
    return force


def _pivot(robot: Robot) -> float:
    assert robot.spindle is not None
    return robot.spindle.upper_joint_z - robot.spindle.lower_joint_z


def legs(robot: Robot) -> Points:
    """Half-half without the lower rod, which the rods' own energy holds."""
    lower = 0.0 if robot.spindle is None else robot.spindle.lower.mass
    plain = half_half(robot)
    return replace(plain, M_P=plain.M_P - lower)


def exact_with_rods(robot: Robot) -> Robot:
    """The exact robot of the same legs and rods; its shaft does not resist spin."""
    assert robot.spindle is not None
    upper = replace(robot.spindle.upper, axial_inertia=0.0)
    lower = replace(robot.spindle.lower, axial_inertia=0.0)
    spindle = replace(robot.spindle, upper=upper, lower=lower)
    return exact_robot(robot, legs(robot)).replace(spindle=spindle)


@each_kind
def test_projected_rod_is_the_lagrange_equation_of_its_energies(kind: tuple[int, bool]) -> None:
    robot = make_robot(*kind)
    state = make_states(robot, 300)
    expected = torque_by_hand(robot, state, legs(robot))
    if robot.spindle is not None:
        rods = np.einsum("nki,nk->ni", jacobian(robot, state), lagrange_force(robot, state))
        assert relative(rods, expected[:, :3]) > 0.1  # the rods weigh
        expected[:, :3] += rods
    assert relative(inverse_dynamics(robot, state, "projected-rod"), expected) < ROUNDING


@pytest.mark.parametrize("equal_limbs", [True, False])
def test_projected_rod_of_three_axes_is_half_half(equal_limbs: bool) -> None:
    robot = make_robot(3, equal_limbs)
    state = make_states(robot, 50)
    tau = inverse_dynamics(robot, state, "projected-rod")
    assert np.array_equal(tau, inverse_dynamics(robot, state, "half-half"))


@pytest.mark.parametrize("equal_limbs", [True, False])
def test_kinetic_energy_of_projected_rods(equal_limbs: bool) -> None:
    robot = make_robot(4, equal_limbs)
    state = make_states(robot, 100)
    M = equations_of_motion(robot, state, "projected-rod").M
    points, qd, pd = legs(robot), state.qd, state.pd[:, :3]
    T = (points.A * qd[:, :3] ** 2).sum(axis=1) + points.M_P * (pd**2).sum(axis=1)
    T = T / 2 + points.I_psi * qd[:, 3] ** 2 / 2 + rod_energy(robot, state.p[:, :3], pd)
    np.testing.assert_allclose(np.einsum("ni,nij,nj->n", qd, M, qd) / 2, T, rtol=ROUNDING)


@pytest.mark.parametrize("equal_limbs", [True, False])
def test_projected_rod_is_exact_where_the_rod_hangs_straight(equal_limbs: bool) -> None:
    """The two kinetic energies differ by the square of the tilt.

    So do the inertial torques at rest, and the velocity torques by the tilt itself; on the axis
    nothing is left. Gravity is the same everywhere.
    """
    robot = make_robot(4, equal_limbs)
    special = exact_with_rods(robot)
    rng = np.random.default_rng(5)
    pd, pdd = rng.uniform(-3.0, 3.0, (20, 4)), rng.uniform(-50.0, 50.0, (20, 4))

    def difference(offset: float, pd: FloatArray) -> float:
        p = np.zeros((20, 4))
        p[:, :2], p[:, 2] = offset * np.array([0.8, 0.6]), np.linspace(-0.8, -0.7, 20)
        state = State.from_platform(robot, p, pd, pdd)
        expected = inverse_dynamics(special, state, "exact")
        return relative(inverse_dynamics(robot, state, "projected-rod"), expected)

    assert difference(0.0, pd) < ROUNDING
    assert difference(0.0, 0 * pd) < ROUNDING
    # orders seen from 4 to 2 mm, tilts of 5e-3: the next order adds 1 % to either ratio
    assert difference(0.004, pd) / difference(0.002, pd) == pytest.approx(2.0, rel=0.03)
    at_rest = difference(0.004, 0 * pd) / difference(0.002, 0 * pd)
    assert at_rest == pytest.approx(4.0, rel=0.03)
    anywhere = make_states(robot, 100)
    g = equations_of_motion(robot, anywhere, "projected-rod").g
    assert relative(g, equations_of_motion(special, anywhere, "exact").g) < ROUNDING
