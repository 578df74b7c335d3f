"""Kinetic and potential energy of the exact model body by body, and where the power goes.

Every body is a point with its mass in the COM and a turn with its inertia about the COM:

    T = sum 1/2 m |c_d|^2 + sum 1/2 I |w|^2,    V = g sum m c_z, zero in the base plane

    arm        c on the arm,             w = qd (inertia of the arm, of the rotor)
    carriage   c = E, its counterweight at -E; the rotor at qd
    strut pair c = (1 - f) E + f a,      w = (ad - Ed) / l2
    halves     c = a_1, a_3, bars between them, gears on the bars
    rods       c = o + c1 v, p - c2 v,   w = vd (transverse), spin (axial)
    effector   c = p + Rz(psi) e,        w = psid; the payload alike

M, C and g are not used, so d(T + V)/dt = qd.(tau - friction) + pd.F_ext checks them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, columns, contract, matching_samples, restore
from deltadyn.dynamics.friction import friction_torque
from deltadyn.dynamics.inverse import check_state, external_wrench
from deltadyn.dynamics.models import model_by_name
from deltadyn.kinematics.limbs import acceleration_of
from deltadyn.kinematics.limbs import limbs as limbs_of
from deltadyn.kinematics.spindle import SpindleGeometry
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import LimbGeometry
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Carriage, HelicalPlatform, Platform, Spindle

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Energy:
    """Energies of the exact model in J, each (N,); the potential is zero in the base plane."""

    kinetic: FloatArray
    potential: FloatArray

    @property
    def total(self) -> FloatArray:
        """T + V (N,), in J."""
        return self.kinetic + self.potential


@dataclass(frozen=True, eq=False)
class PowerBalance:
    """Where the power goes, each (N,) in W: drives + external = friction + stored + residual."""

    drives: FloatArray  # qd.tau
    external: FloatArray  # pd.F_ext
    friction: FloatArray  # qd.f, lost
    stored: FloatArray  # d(T + V)/dt

    @property
    def residual(self) -> FloatArray:
        """What the model does not explain (N,), in W: rounding for the model's own torques."""
        return self.drives + self.external - self.friction - self.stored


class _Point(NamedTuple):
    """A mass (kg) at a height (N,), with the velocity and acceleration (N, 3) of its COM."""

    mass: float
    height: FloatArray
    velocity: FloatArray
    acceleration: FloatArray


class _Turn(NamedTuple):
    """An inertia (kg m^2) with its angular rate and acceleration, (N, k)."""

    inertia: float
    rate: FloatArray
    acceleration: FloatArray


_Parts = list[_Point | _Turn]


def energy(robot: Robot, motion: State) -> Energy:
    """Kinetic and potential energy along a motion, in J."""
    check_state(robot, motion)
    kinetic, potential = np.zeros(len(motion)), np.zeros(len(motion))
    for part in _parts(robot, motion):
        if isinstance(part, _Point):
            kinetic += part.mass / 2 * _dot(part.velocity, part.velocity)
            potential += part.mass * robot.gravity * part.height
        else:
            kinetic += part.inertia / 2 * _dot(part.rate, part.rate)
    return Energy(restore(kinetic, motion.single), restore(potential, motion.single))


def power_balance(
    robot: Robot,
    motion: State,
    tau: npt.ArrayLike | None = None,
    *,
    external_force: npt.ArrayLike | None = None,
) -> PowerBalance:
    """Power of drives, friction and surroundings against the rate of the stored energy, in W.

    `tau` (N, dof) may be measured; by default it is what the exact model asks for.
    """
    check_state(robot, motion)
    external = external_wrench(robot, external_force, len(motion))
    frictionless = model_by_name("exact").torque(robot, motion, external)
    friction = friction_torque(robot, motion, frictionless)
    given = frictionless + friction
    if tau is not None:
        given = matching_samples(tau, len(motion), robot.dof, "tau")
    stored = np.zeros(len(motion))
    for part in _parts(robot, motion):
        if isinstance(part, _Point):
            lifted = part.acceleration + robot.gravity * UP
            stored += part.mass * _dot(part.velocity, lifted)
        else:
            stored += part.inertia * _dot(part.rate, part.acceleration)
    powers = (_dot(motion.qd, given), _dot(motion.pd, external), _dot(motion.qd, friction), stored)
    return PowerBalance(*(restore(power, motion.single) for power in powers))


def _parts(robot: Robot, state: State) -> _Parts:
    """All masses and turning inertias of the robot."""
    parts: _Parts = []
    limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    tool, attached = _moving(robot, state)
    for i in range(robot.legs):
        parts += _limb(robot, state, limbs, attached[i], i)
    parts += _platform(robot, tool, attached, state)
    for body, place in (
        (robot.effector, robot.effector.com),
        (robot.payload, robot.payload.offset),
    ):
        parts.append(_carried_point(robot, state, tool, body.mass, place))
        if robot.dof == 4:
            parts.append(_Turn(body.inertia_zz, state.pd[:, 3:], state.pdd[:, 3:]))
    if robot.spindle is not None:
        parts += _telescope(robot, robot.spindle, state)
    return parts


class _Moving(NamedTuple):
    """Height (N,), velocity and acceleration (N, 3) of a point."""

    z: FloatArray
    velocity: FloatArray
    acceleration: FloatArray


def _moving(robot: Robot, state: State) -> tuple[_Moving, list[_Moving]]:
    """The platform point and the attachments of the struts, but for their offsets."""
    legs, x = limbs_of(robot), columns(state.p)
    own, xd, xdd = legs.carrier, columns(state.pd), columns(state.pdd)
    place = own.place(np, x)

    def stacked(vector: Any) -> FloatArray:
        parts = np.broadcast_arrays(*(vector[k] for k in range(3)), x[0])[:3]
        return np.stack(parts, axis=-1)

    flat = len(x) == 2
    point = [stacked((v[0], 0.0, v[1]) if flat else v) for v in (x, xd, xdd)]
    attached = [
        _Moving(
            stacked(own.attachment(place, i, x))[:, 2],
            stacked(own.velocity(place, i, xd)),
            stacked(acceleration_of(own, place, i, xd, xdd)),
        )
        for i in range(len(legs))
    ]
    return _Moving(point[0][:, 2], point[1], point[2]), attached


def _platform(robot: Robot, tool: _Moving, attached: list[_Moving], state: State) -> _Parts:
    """The platform's own bodies: one that translates, or halves with bars and gears."""
    platform = robot.platform
    if isinstance(platform, Platform):
        return [_Point(platform.mass, *tool)]
    first, second = attached[0], attached[2]
    parts: _Parts = [
        _Point(platform.half_mass[0], *first),
        _Point(platform.half_mass[1], *second),
    ]
    if isinstance(platform, HelicalPlatform):
        return parts
    f, rate = platform.bar_com, 1 / platform.ratio
    z, velocity, acceleration = (a + f * (b - a) for a, b in zip(first, second, strict=True))
    phi, turn, push = (rate * x[:, 3, None] for x in (state.p, state.pd, state.pdd))
    c, s = np.cos(phi[:, 0] + platform.phi0), np.sin(phi[:, 0] + platform.phi0)
    along, aside = platform.gear_place
    flat = np.stack([along * c - aside * s, along * s + aside * c, np.zeros_like(c)], axis=-1)
    ahead = np.stack([-flat[:, 1], flat[:, 0], np.zeros_like(c)], axis=-1)
    gear = tool.acceleration + push * ahead - turn**2 * flat
    return [
        *parts,
        _Point(platform.bar_mass, z, velocity, acceleration),
        _Point(platform.gear_mass, tool.z, tool.velocity + turn * ahead, gear),
        _Turn(platform.bar_inertia + platform.gear_inertia, turn, push),
    ]


def _limb(robot: Robot, state: State, limbs: LimbGeometry, attached: _Moving, i: int) -> _Parts:
    """Arm, elbow mass, rotor and strut pair of one limb."""
    strut, l2 = robot.struts[i], robot.geometry.strut_length[i]
    f = strut.com_fraction
    qd, qdd = state.qd[:, i, None], state.qdd[:, i, None]
    _, pd, pdd = attached
    e1, e2 = limbs.e1[:, i], limbs.e2[:, i]
    Ed, Edd = e1 * qd, e1 * qdd + e2 * qd**2
    elbow_z = attached.z - limbs.s[:, i, 2]
    height = (1 - f) * elbow_z + f * attached.z
    pair: _Parts = [
        _Turn(robot.drives.output_inertia[i], qd, qdd),
        _Point(strut.rods * strut.mass, height, (1 - f) * Ed + f * pd, (1 - f) * Edd + f * pdd),
        _Turn(strut.rods * strut.inertia, (pd - Ed) / l2, (pdd - Edd) / l2),
    ]
    arm: Arm | Carriage = robot.arms[i]
    if isinstance(arm, Carriage):
        pair.append(_Point(arm.mass, elbow_z, Ed, Edd))
        return [*pair, _Point(arm.counterweight, -elbow_z, -Ed, -Edd)]
    l1 = robot.rotary.arm_length[i]
    # the elbow lies at -e2 from the shoulder; along and above the arm the units are -e2/l1, -e1/l1
    by_angle = (arm.com * e1 - arm.com_offset * e2) / l1
    by_angle2 = (arm.com * e2 + arm.com_offset * e1) / l1
    shoulder_z = robot.rotary.shoulder_height[i]
    com_z = shoulder_z - (arm.com * e2[:, 2] + arm.com_offset * e1[:, 2]) / l1
    return [
        *pair,
        _Point(arm.mass, com_z, by_angle * qd, by_angle * qdd + by_angle2 * qd**2),
        _Point(arm.elbow_mass, elbow_z, Ed, Edd),
        _Turn(arm.inertia, qd, qdd),
    ]


def _carried_point(
    robot: Robot, state: State, tool: _Moving, mass: float, place: tuple[float, float, float]
) -> _Point:
    """A mass at `place` in the effector's frame, which turns by psi on the 4-DOF robot."""
    _, pd, pdd = tool
    height = tool.z + place[2]
    if robot.dof < 4:
        return _Point(mass, height, pd, pdd)
    c, s = np.cos(state.p[:, 3]), np.sin(state.p[:, 3])
    x, y = place[0] * c - place[1] * s, place[0] * s + place[1] * c
    flat, ahead = (np.stack([a, b, np.zeros_like(c)], axis=-1) for a, b in ((x, y), (-y, x)))
    psid, psidd = state.pd[:, 3, None], state.pdd[:, 3, None]
    return _Point(mass, height, pd + psid * ahead, pdd + psidd * ahead - psid**2 * flat)


def _telescope(robot: Robot, spindle: Spindle, state: State) -> _Parts:
    """Both rods of the spindle, their spin and the rotor of axis 4."""
    upper, lower = spindle.upper, spindle.lower
    shaft = SpindleGeometry.of(robot, state.p, state.pd)
    pd, pdd = state.pd[:, :3], state.pdd[:, :3]
    vd, psid, psidd = shaft.vd, state.pd[:, 3], state.pdd[:, 3]
    vdd = contract("nij,nj->ni", shaft.B, pdd) + contract("nij,nj->ni", shaft.Bd, pd)
    spin_rate = _dot(shaft.n_p_rate, pd) + _dot(shaft.n_p, pdd)
    spin_rate += shaft.n_psi_rate * psid + shaft.n_psi * psidd
    top = spindle.upper_joint_z + upper.com * shaft.v[:, 2]
    bottom = state.p[:, 2] + spindle.lower_joint_z - lower.com * shaft.v[:, 2]
    axial = upper.axial_inertia + lower.axial_inertia
    return [
        _Point(upper.mass, top, upper.com * vd, upper.com * vdd),
        _Point(lower.mass, bottom, pd - lower.com * vd, pdd - lower.com * vdd),
        _Turn(upper.inertia + lower.inertia, vd, vdd),
        _Turn(axial, shaft.spin[:, None], spin_rate[:, None]),
        _Turn(robot.drives.output_inertia[3], psid[:, None], psidd[:, None]),
    ]


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return contract("nk,nk->n", a, b)
