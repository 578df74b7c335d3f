"""The papers' simplified models, in the papers' own forms with the signs mended.

Each is a special case of the exact model (`*_parameters` says which), but is computed here as
the paper does: by Lagrange multipliers, by virtual work, by projected rod angles. On a robot with
a spindle the first four count the lower rod and the effector as mass at the platform, leave the
rods' turning out, and let axis 4 turn the effector and its rotor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract, namespace
from deltadyn.dynamics.friction import Columns
from deltadyn.dynamics.parameters import (
    ExactParameters,
    SpindleParameters,
    carried_mass,
    exact_parameters,
    spindle_parameters,
)
from deltadyn.dynamics.terms import PlatformMap, Terms, platform_map
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import LimbGeometry
from deltadyn.robot import Robot

# The telescope by projected angles [telescopic2022] eqs. 25-34, with inertias mended.
#
# In the paper's second coordinates (l, theta, phi), tan(theta) = x/|z| and tan(phi) = y/|z|, it
# takes T = 1/2 I(l) (thetad^2 + phid^2) + 1/2 m2 ld^2, which holds for small tilts only, and
# V = -g (m1 c1 + m2 (l - c2)) cos(tilt). Here I(l) = I1 + m1 c1^2 + I2 + m2 (l - c2)^2.


class ProjectedRod(NamedTuple):
    """Coordinates c = (l, theta, phi) with c-rate = B pd, each row of B (N, 3, 3)."""

    length: FloatArray
    B: FloatArray
    Bd: FloatArray


def projected_rod(robot: Robot, state: State) -> ProjectedRod:
    """The rod's coordinates' map from the platform's velocity, and its rate."""
    assert robot.spindle is not None
    x, y = state.p[:, 0], state.p[:, 1]
    h = robot.spindle.pivot_z - state.p[:, 2]  # height of the pivot above the platform point
    xd, yd, hd = state.pd[:, 0], state.pd[:, 1], -state.pd[:, 2]
    length = np.sqrt(x**2 + y**2 + h**2)
    ld = (x * xd + y * yd + h * hd) / length
    B, Bd = np.zeros((len(x), 3, 3)), np.zeros((len(x), 3, 3))
    v = np.stack([x, y, -h], axis=-1) / length[:, None]
    B[:, 0] = v
    Bd[:, 0] = (np.stack([xd, yd, -hd], axis=-1) - v * ld[:, None]) / length[:, None]
    for row, (w, wd) in enumerate(((x, xd), (y, yd)), start=1):
        square, square_d = w**2 + h**2, 2 * (w * wd + h * hd)
        B[:, row, row - 1] = h / square  # d atan(w/h) = (h dw - w dh)/(w^2 + h^2), dh = -dz
        B[:, row, 2] = w / square
        Bd[:, row, row - 1] = hd / square - h * square_d / square**2
        Bd[:, row, 2] = wd / square - w * square_d / square**2
    return ProjectedRod(length, B, Bd)


def rod_inertia(robot: Robot, length: FloatArray, part: str) -> tuple[FloatArray, FloatArray]:
    """I(l) and its derivative by l, of the upper rod, the lower rod or both."""
    assert robot.spindle is not None
    upper, lower = robot.spindle.upper, robot.spindle.lower
    inertia, slope = np.zeros_like(length), np.zeros_like(length)
    if part in ("upper", "both"):
        inertia += upper.inertia + upper.mass * upper.com**2
    if part in ("lower", "both"):
        inertia += lower.inertia + lower.mass * (length - lower.com) ** 2
        slope += 2 * lower.mass * (length - lower.com)
    return inertia, slope


def rod_terms(robot: Robot, state: State, part: str = "both") -> Terms:
    """M, C (N, 3, 3) and g (N, 3) in platform coordinates, with Md - 2C skew."""
    assert robot.spindle is not None
    rod = projected_rod(robot, state)
    upper, lower = robot.spindle.upper, robot.spindle.lower
    inertia, slope = rod_inertia(robot, rod.length, part)
    m2 = lower.mass if part in ("lower", "both") else 0.0
    rates = contract("nij,nj->ni", rod.B, state.pd[:, :3])  # ld, thetad, phid
    W, Cw = np.zeros_like(rod.B), np.zeros_like(rod.B)
    W[:, 0, 0], W[:, 1, 1], W[:, 2, 2] = m2, inertia, inertia
    half = slope / 2
    for row in (1, 2):  # Christoffel symbols of diag(m2, I(l), I(l))
        Cw[:, 0, row] = -half * rates[:, row]
        Cw[:, row, 0] = half * rates[:, row]
        Cw[:, row, row] = half * rates[:, 0]
    Bt = np.swapaxes(rod.B, 1, 2)
    moment = (upper.mass * upper.com if part in ("upper", "both") else 0.0) - m2 * lower.com
    v, over = rod.B[:, 0], 1 / rod.length
    slope_vz = -v * (v[:, 2] * over)[:, None]  # d v_z / dp = (z - v v_z)/l
    slope_vz[:, 2] += over
    g = robot.gravity * moment * slope_vz
    g[:, 2] += robot.gravity * m2
    return Terms(Bt @ W @ rod.B, Bt @ (W @ rod.Bd + Cw @ rod.B), g)


def rod_force(robot: Robot, state: State, part: str = "both") -> FloatArray:
    """The force (N, 3) with which the platform moves the rods [telescopic2022] eqs. 32-33."""
    terms = rod_terms(robot, state, part)
    force = contract("nij,nj->ni", terms.M, state.pdd[:, :3])
    force += contract("nij,nj->ni", terms.C, state.pd[:, :3])
    return force + terms.g


def joint_rod_terms(robot: Robot, state: State, platform: PlatformMap) -> Terms:
    """The rods' terms in joint coordinates (N, dof, dof)."""
    terms = rod_terms(robot, state)
    J, Jd = platform
    Jt = np.swapaxes(J, 1, 2)
    M = Jt @ terms.M @ J
    C = Jt @ (terms.M @ Jd + terms.C @ J)
    return Terms(M, C, contract("nkd,nk->nd", J, terms.g))


def pair_masses(robot: Robot) -> FloatArray:
    """Mass (3,) of each pair of rods, in kg."""
    return np.array([strut.rods * strut.mass for strut in robot.struts])


def half_half_parameters(robot: Robot, uniform_arm: bool = True) -> ExactParameters:
    """Parameters of the half-half model: half of each pair of rods at each of its ends, m_x = 0.

    Parameters
    ----------
    robot : Robot
        Its masses and lengths are used.
    uniform_arm : bool
        Arms as uniform rods, as [falezza2020] eqs. 4-5 have them; else with their own inertia.

    Examples
    --------
    >>> import deltadyn as dd
    >>> from deltadyn.dynamics import half_half_parameters
    >>> half_half_parameters(dd.load_robot("sipro-d3-1200")).M_P
    1.525
    """
    par, half = exact_parameters(robot), pair_masses(robot) / 2
    l1, rotor = np.asarray(robot.standard.arm_length), robot.drives.output_inertia
    A, G, G_s = [], [], []
    for i, arm in enumerate(robot.rotary_arms):
        inertia, moment, offset = arm.axis_inertia, arm.mass * arm.com, arm.mass * arm.com_offset
        if uniform_arm:
            inertia, moment, offset = arm.mass * l1[i] ** 2 / 3, arm.mass * l1[i] / 2, 0.0
        at_elbow = half[i] + arm.elbow_mass
        A.append(inertia + at_elbow * l1[i] ** 2 + rotor[i])
        G.append(moment + at_elbow * l1[i])
        G_s.append(offset)
    return replace(
        par,
        M_P=carried_mass(robot) + float(half.sum()),
        m_x=(0.0, 0.0, 0.0),
        A=(A[0], A[1], A[2]),
        G=(G[0], G[1], G[2]),
        G_s=(G_s[0], G_s[1], G_s[2]),
        spindle=plain_axis(par.spindle),
    )


def gray_box_parameters(robot: Robot) -> ExactParameters:
    """Half-half with rho1 on the arm's inertia and rho2 on its gravity [falezza2020] eq. 6."""
    par, box = half_half_parameters(robot), robot.gray_box
    rotor = robot.drives.output_inertia
    A = tuple(box.rho1 * (par.A[i] - rotor[i]) + rotor[i] for i in range(3))
    G = tuple(box.rho2 * value for value in par.G)
    return replace(par, A=(A[0], A[1], A[2]), G=(G[0], G[1], G[2]))


def virtual_work_parameters(robot: Robot) -> ExactParameters:
    """No coupling m_x and one gravity moment for all arms [kim2022] eqs. 22-29."""
    par = half_half_parameters(robot, uniform_arm=False)
    mean = sum(par.G) / 3
    return replace(par, G=(mean, mean, mean), G_s=(0.0, 0.0, 0.0))


def projected_rod_parameters(robot: Robot) -> ExactParameters:
    """The legs of [telescopic2022] eqs. 35-39: half-half; the rods come on top."""
    par = half_half_parameters(robot)
    lower = 0.0 if robot.spindle is None else robot.spindle.lower.mass
    return replace(par, M_P=par.M_P - lower)


def plain_axis(par: SpindleParameters | None) -> SpindleParameters | None:
    """Axis 4 without rods and with a centred effector."""
    if par is None:
        return None
    return replace(par, H=0.0, kappa=0.0, mu=0.0, I_axial=0.0, h_x=0.0, h_y=0.0)


def half_half_torque(robot: Robot, state: State, external: FloatArray) -> FloatArray:
    """[falezza2022] eqs. 4-5: 2 A lambda = M (pdd + g z) - F_ext, tau = I qdd - v - 2 K lambda."""
    return _by_multipliers(robot, half_half_parameters(robot), state, external)


def gray_box_torque(robot: Robot, state: State, external: FloatArray) -> FloatArray:
    """[falezza2020] eq. 6: rho1 I qdd + rho2 G(q) - 2 K lambda; the rotor keeps its own inertia."""
    return _by_multipliers(robot, gray_box_parameters(robot), state, external)


def euler_lagrange_torque(robot: Robot, state: State, external: FloatArray) -> FloatArray:
    """[kim2022] eqs. 1-2 with the arm's inertia about the motor axis, gravity along -z."""
    par = half_half_parameters(robot, uniform_arm=False)
    tau = _by_multipliers(robot, par, state, external)
    tau[:, :3] -= par.gravity * np.asarray(par.G_s) * state.sin_q
    return tau


def virtual_work_torque(robot: Robot, state: State, external: FloatArray) -> FloatArray:
    """[kim2022] eq. 25: I_A qdd + J^T m_P (pdd + g z) - T_g cos(theta), by virtual work."""
    par = virtual_work_parameters(robot)
    geometry = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    force = _platform_force(par, state, external)
    tau = state.qdd.copy()
    tau[:, :3] = np.asarray(par.A) * state.qdd[:, :3]
    tau[:, :3] += contract("nki,nk->ni", geometry.jacobian, force)
    tau[:, :3] -= par.gravity * np.asarray(par.G) * state.cos_q
    return _axis_4(par, state, external, tau)


def projected_rod_torque(robot: Robot, state: State, external: FloatArray) -> FloatArray:
    """[telescopic2022] eq. 40: the legs' torque and the rods' force, mapped by J^T."""
    par = projected_rod_parameters(robot)
    tau = _by_multipliers(robot, par, state, external)
    if robot.spindle is not None:
        geometry = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
        tau[:, :3] += contract("nki,nk->ni", geometry.jacobian, rod_force(robot, state))
    return tau


def lumped_columns(robot: Robot, state: State, tied: bool, uniform_arm: bool) -> Columns:
    """Half-half and Euler-Lagrange, linear in masses: platform, arm, one rod of a pair, rotor.

    With a uniform arm its mass stands for its inertia; else moment and axis inertia are columns.
    """
    push = _push(robot, state)  # (N, dof), torque per kg at the platform
    g, l1 = robot.gravity, np.asarray(robot.standard.arm_length)
    qdd, c = state.qdd[:, :3], state.cos_q
    at_elbow = l1**2 * qdd - g * l1 * c
    blocks: list[tuple[str, str, FloatArray, FloatArray]] = []
    if uniform_arm:
        mass = np.array([arm.mass for arm in robot.rotary_arms])
        blocks.append(("arm.m", "kg", l1**2 / 3 * qdd - g * l1 / 2 * c, mass))
    else:
        inertia = np.array([arm.axis_inertia for arm in robot.rotary_arms])
        moment = np.array([arm.mass * arm.com for arm in robot.rotary_arms])
        offset = np.array([arm.mass * arm.com_offset for arm in robot.rotary_arms])
        blocks.append(("arm.I", "kg m^2", qdd, inertia))
        blocks.append(("arm.mc", "kg m", -g * c, moment))
        if np.any(offset != 0):
            blocks.append(("arm.mcz", "kg m", -g * state.sin_q, offset))
    elbow = np.array([arm.elbow_mass for arm in robot.rotary_arms])
    if np.any(elbow != 0):
        blocks.append(("elbow.m", "kg", at_elbow, elbow))
    blocks.append(("rotor", "kg m^2", qdd, np.array(robot.drives.output_inertia[:3])))
    own = [
        _on_diagonal(name, unit, columns, values, robot.dof, tied)
        for name, unit, columns, values in blocks
    ]
    ends = np.eye(3, robot.dof) * at_elbow[:, :, None] + push[:, None, :]  # (N, 3 arms, dof)
    halves = np.array([strut.rods / 2 for strut in robot.struts])  # of a rod, at each end
    rod = np.array([strut.mass for strut in robot.struts])
    struts = _per_arm("strut.m", "kg", np.swapaxes(ends, 1, 2) * halves, rod, tied)
    platform = Columns(push[:, :, None], ("platform.m",), ("kg",), np.array([carried_mass(robot)]))
    return join([platform, *own, struts, *_psi_columns(robot, state)])


def gray_box_columns(robot: Robot, state: State, tied: bool) -> Columns:
    """M_P, rho1 and rho2 [falezza2020] eq. 6; `rotor`, the largest, stays outside the factors."""
    par, box = half_half_parameters(robot), robot.gray_box
    rotor = np.asarray(robot.drives.output_inertia[:3])
    count, dof = len(state), robot.dof
    Y = np.zeros((count, dof, 4))
    Y[:, :, 0] = _push(robot, state)
    Y[:, :3, 1] = (np.asarray(par.A) - rotor) * state.qdd[:, :3]
    Y[:, :3, 2] = -par.gravity * np.asarray(par.G) * state.cos_q
    largest = float(rotor.max())
    Y[:, :3, 3] = state.qdd[:, :3] * (rotor / largest if largest > 0 else 1.0)
    names, units = ("M_P", "rho1", "rho2", "rotor"), ("kg", "1", "1", "kg m^2")
    values = np.array([par.M_P, box.rho1, box.rho2, largest])
    return join([Columns(Y, names, units, values), *_psi_columns(robot, state)])


def virtual_work_columns(robot: Robot, state: State, tied: bool) -> Columns:
    """[kim2022] eq. 30 without friction: m_P, T_g = g G and one inertia per arm."""
    par = virtual_work_parameters(robot)
    Y = np.zeros((len(state), robot.dof, 5))
    Y[:, :, 0] = _push(robot, state)
    Y[:, :3, 1] = -state.cos_q
    Y[:, :3, 2:] = state.qdd[:, :3, None] * np.eye(3)
    names, units = ("m_P", "T_g", "I1", "I2", "I3"), ("kg", "N m", *("kg m^2",) * 3)
    values = np.array([par.M_P, par.gravity * par.G[0], *par.A])
    return join([Columns(Y, names, units, values), *_psi_columns(robot, state)])


def projected_rod_columns(robot: Robot, state: State, tied: bool) -> Columns:
    """The legs' columns and one mass per rod; a rod's COM and radius of gyration stay as given."""
    legs = lumped_columns(robot, state, tied, uniform_arm=True)
    if robot.spindle is None:
        return legs
    lower, upper = robot.spindle.lower, robot.spindle.upper
    legs.values[0] -= lower.mass
    geometry = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    Y = np.zeros((len(state), robot.dof, 2))
    for k, part in enumerate(("upper", "lower")):
        force = rod_force(robot, state, part=part)
        Y[:, :3, k] = contract("nki,nk->ni", geometry.jacobian, force)
    values = np.array([upper.mass, lower.mass])
    Y /= np.where(values > 0, values, 1.0)
    return join([legs, Columns(Y, ("upper.m", "lower.m"), ("kg", "kg"), values)])


def join(parts: list[Columns]) -> Columns:
    """Columns side by side."""
    return Columns(
        namespace(parts[0].Y).concatenate([part.Y for part in parts], axis=2),
        tuple(name for part in parts for name in part.names),
        tuple(unit for part in parts for unit in part.units),
        np.concatenate([part.values for part in parts]),
    )


def _by_multipliers(
    robot: Robot, par: ExactParameters, state: State, external: FloatArray
) -> FloatArray:
    """2 lambda = A^-1 (M_P (pdd + g z) - F_ext) and tau = A_i qdd - g G cos(theta) - 2 K lambda."""
    geometry = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    force = _platform_force(par, state, external)
    twice_lambda = contract("nki,nk->ni", geometry.s_inverse, force)
    k = -geometry.d
    tau = state.qdd.copy()
    tau[:, :3] = np.asarray(par.A) * state.qdd[:, :3]
    tau[:, :3] -= par.gravity * np.asarray(par.G) * state.cos_q
    tau[:, :3] -= k * twice_lambda
    return _axis_4(par, state, external, tau)


def _platform_force(par: ExactParameters, state: State, external: FloatArray) -> FloatArray:
    force: FloatArray = par.M_P * state.pdd[:, :3]
    force[:, 2] += par.M_P * par.gravity
    return force - external[:, :3]


def _axis_4(
    par: ExactParameters, state: State, external: FloatArray, tau: FloatArray
) -> FloatArray:
    if par.spindle is not None:
        tau[:, 3] = par.spindle.I_psi * state.qdd[:, 3] - external[:, 3]
    return tau


def _push(robot: Robot, state: State) -> FloatArray:
    """Torque (N, dof) per kg at the platform point: J^T (pdd + g z)."""
    _, platform = platform_map(robot, state)
    lifted = state.pdd[:, :3] + np.array([0.0, 0.0, robot.gravity])
    return contract("nki,nk->ni", platform.J, lifted)


def _on_diagonal(
    name: str, unit: str, columns: FloatArray, values: FloatArray, dof: int, tied: bool
) -> Columns:
    block = columns[:, :, None] * np.eye(3)  # (N, 3, 3)
    padded = np.zeros((len(columns), dof, 3))
    padded[:, :3] = block
    return _per_arm(name, unit, padded, values, tied)


def _per_arm(name: str, unit: str, Y: FloatArray, values: FloatArray, tied: bool) -> Columns:
    """One column per arm, or their sum where the limbs share the parameter."""
    if tied:
        return Columns(Y.sum(axis=2, keepdims=True), (name,), (unit,), values[:1].copy())
    head, _, tail = name.partition(".")
    names = tuple(f"{head}{i + 1}.{tail}" if tail else f"{head}{i + 1}" for i in range(3))
    return Columns(Y, names, (unit,) * 3, values.copy())


def _psi_columns(robot: Robot, state: State) -> list[Columns]:
    par = spindle_parameters(robot)
    if par is None:
        return []
    Y = np.zeros((len(state), robot.dof, 1))
    Y[:, 3, 0] = state.qdd[:, 3]
    return [Columns(Y, ("I_psi",), ("kg m^2",), np.array([par.I_psi]))]
