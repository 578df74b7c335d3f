"""What hangs on the struts: the force and moment they must give, and the joints in between.

About the platform point p, with g upward, tool and payload at r (turning by psi where the robot
turns them, their principal axes vertical) ask for sum m r x (a + g) + I_zz psidd z. The rods of a
spindle turn with w; f1, n1 and f2, n2 are what their motion asks for, about the upper joint and
about the lower one, which is l v away:

    upper + slide = f1,   lower - slide = f2 (signs: on the upper rod; `slide` acts on the lower)
    M_U - M_L + l v x f_L = n1 + n2 + l v x f2,   M_U = T_U c - drag,   M_L = T_L c + drag

f_L is the force of the effector on the lower rod, M_L the couple of the lower rod on the effector.
A universal joint passes a moment along the normal c = a x b of its two pins alone, beside its
friction, so that T_L follows from the effector's spin, T_U from the spins of the shaft, and f_L
across the shaft from the rest; along it f_L is what the lower rod asks for and the guide's drag:

    T_L c_z = (tool about z) - M_ext - drag_z,   T_U c.v = (n1 + n2 + M_L + drag).v

Halves count at their reference points, where limbs 1, 2 and 3, 4 are counted from, bars and gears
at the height of p. A wheel's own spin is left out: robot files give its energy, not its speed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, columns, contract
from deltadyn.dynamics.friction import direction
from deltadyn.dynamics.rigid import inertia_matrix
from deltadyn.kinematics.spindle import SpindleGeometry
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import LimbGeometry, attachments_of, passive_rates
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform, TenParameters

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class SpindleLoads:
    """Forces (N) and moments (N m), each (N, 3) in base axes, in the joints of the spindle.

    Along `direction`, from the upper joint to the lower one, a moment is torque in the shaft,
    across it a bending moment. The telescope passes no force along it but friction.
    """

    direction: FloatArray  # v
    upper_force: FloatArray  # of the base on the upper rod, at the upper joint
    upper_moment: FloatArray
    slide_force: FloatArray  # of the upper rod on the lower one
    slide_moment: FloatArray  # about the lower joint
    lower_force: FloatArray  # of the effector on the lower rod, at the lower joint
    lower_moment: FloatArray
    bearing_force: FloatArray  # of the platform on the effector
    bearing_moment: FloatArray  # about the platform point


class Wrench(NamedTuple):
    """Force and moment about the platform point, (N, 3) each."""

    force: FloatArray
    moment: FloatArray


class Carried(NamedTuple):
    """What all on the platform but the struts' ends needs; what carries the tool; the spindle."""

    needed: Wrench  # of the struts, less what acts from outside
    tool: Wrench  # of all that carries effector and payload
    spindle: SpindleLoads | None


def carried_loads(
    robot: Robot, state: State, limbs: LimbGeometry, external: FloatArray, *, rigid: bool = False
) -> Carried:
    """Everything on the platform but the struts; a force from outside acts on the tool."""
    lifted = robot.in_space(state.pdd) + robot.gravity * UP
    outside = np.zeros((len(state), 3))
    outside[:, 2] = external[:, 3] if robot.turns else 0.0
    force, moment = np.zeros_like(lifted), -outside
    for mass, position, inertia in (
        (robot.effector.mass, robot.effector.com, robot.effector.inertia_zz),
        (robot.payload.mass, robot.payload.offset, robot.payload.inertia_zz),
    ):
        r, acceleration = _turning_point(robot, state, position)
        pull = mass * (lifted + acceleration)
        force, moment = force + pull, moment + np.cross(r, pull)
        if robot.turns:
            moment[:, 2] += inertia * state.pdd[:, 3]
    tool = Wrench(force - robot.in_space(external), moment)
    if robot.spindle is not None:
        spindle = _spindle_loads(robot, state, limbs, tool, rigid=rigid)
        held = robot.platform.mass * lifted + spindle.bearing_force
        return Carried(Wrench(held, spindle.bearing_moment), tool, spindle)
    body = _platform_wrench(robot, state, limbs, lifted)
    needed = Wrench(tool.force + body.force, tool.moment + body.moment)
    return Carried(needed, tool, None)


def joints_on_platform(robot: Robot, state: State, limbs: LimbGeometry) -> FloatArray:
    """Where the struts hold the platform, from its point (N, legs, 3), on the true radii."""
    x = columns(state.p)
    points = [limbs.carrier.attachment(limbs.place, i, x)[:3] for i in range(robot.legs)]
    rows = [np.stack(np.broadcast_arrays(*point, x[0])[:3], axis=-1) for point in points]
    away: FloatArray = np.stack(rows, axis=1) - robot.in_space(state.p)[:, None]
    return away + attachments_of(robot)


def _turning_point(
    robot: Robot, state: State, position: tuple[float, float, float]
) -> tuple[FloatArray, FloatArray]:
    """A point of the effector from p, and its acceleration against p, (N, 3) each."""
    count = len(state)
    if not robot.turns:
        return np.broadcast_to(np.asarray(position), (count, 3)), np.zeros((count, 3))
    r, acceleration = _turned(state.p[:, 3], state.pd[:, 3], state.pdd[:, 3], position[:2])
    return r + np.array([0.0, 0.0, position[2]]), acceleration


def _turned(
    angle: FloatArray, rate: FloatArray, rate2: FloatArray, at: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """A point at (x, y) of axes that turn about the vertical, and its acceleration, (N, 3) each."""
    c, s = np.cos(angle), np.sin(angle)
    x, y, zero = at[0] * c - at[1] * s, at[0] * s + at[1] * c, np.zeros_like(c)
    flat, ahead = np.stack([x, y, zero], axis=-1), np.stack([-y, x, zero], axis=-1)
    return flat, rate2[:, None] * ahead - rate[:, None] ** 2 * flat


def _platform_wrench(robot: Robot, state: State, limbs: LimbGeometry, lifted: FloatArray) -> Wrench:
    """What the platform alone asks for: its halves, with bars and gears between them."""
    platform = robot.platform
    if isinstance(platform, HelicalPlatform):
        parts = [
            (mass, sigma * state.p[:, 3, None] * UP, sigma * state.pdd[:, 3, None] * UP)
            for mass, sigma in zip(platform.half_mass, platform.sigma, strict=True)
        ]
        spin = np.zeros(len(state))
    elif isinstance(platform, ArticulatedPlatform):
        k = platform.ratio
        angle = (platform.phi0 + state.p[:, 3] / k, state.pd[:, 3] / k, state.pdd[:, 3] / k)
        middle = platform.sigma[0] - platform.bar_com * platform.bar_length
        masses = (*platform.half_mass, platform.bar_mass, platform.gear_mass)
        places = (*((sigma, 0.0) for sigma in platform.sigma), (middle, 0.0), platform.gear_place)
        parts = [(m, *_turned(*angle, at)) for m, at in zip(masses, places, strict=True)]
        spin = platform.bar_inertia * angle[2]
    else:
        zero = np.zeros_like(lifted)
        parts, spin = [(platform.mass, zero, zero)], np.zeros(len(state))
    force, moment = np.zeros_like(lifted), spin[:, None] * UP
    for mass, r, acceleration in parts:
        pull = mass * (lifted + acceleration)
        force, moment = force + pull, moment + np.cross(r, pull)
    return Wrench(force, moment)


def _spindle_loads(
    robot: Robot, state: State, limbs: LimbGeometry, tool: Wrench, *, rigid: bool
) -> SpindleLoads:
    """Solve upper rod, lower rod and effector for the joints between them."""
    assert robot.spindle is not None
    shaft = SpindleGeometry.of(robot, state.p, state.pd)
    v, a, b, lever = shaft.v, shaft.a, shaft.b, shaft.l[:, None] * shaft.v
    w, wd = shaft.omega, _spin_up(shaft, state)
    up = np.broadcast_to(robot.gravity * UP, v.shape)
    rods = robot.spindle.upper, robot.spindle.lower
    if not rigid:
        rods = replace(rods[0], ten=None), replace(rods[1], ten=None)
    f1, n1 = body_wrench(rods[0].body(1), shaft.R, up, w, wd)
    f2, n2 = body_wrench(rods[1].body(-1), shaft.R, state.pdd[:, :3] + up, w, wd)

    fork, cross, guide = (
        joint_drag(robot, state, name, 1)
        for name in ("universal_fork", "universal_cross", "prismatic")
    )
    drag, normal = fork * a + cross * b, np.cross(a, b)
    T = (tool.moment[:, 2] - drag[:, 2]) / normal[:, 2]
    on_effector = T[:, None] * normal + drag
    about = n1 + n2 + np.cross(lever, f2) + on_effector
    T = contract("nk,nk->n", about + drag, v) / contract("nk,nk->n", normal, v)
    at_base = T[:, None] * normal - drag
    across = np.cross(about - at_base, v) / shaft.l[:, None]
    along = contract("nk,nk->n", f2, v)[:, None] + guide
    lower = across + along * v
    height = np.broadcast_to(robot.spindle.lower_joint_z * UP, lower.shape)
    return SpindleLoads(
        direction=v,
        upper_force=f1 + f2 - lower,
        upper_moment=at_base,
        slide_force=f2 - lower,
        slide_moment=n2 + on_effector,
        lower_force=lower,
        lower_moment=-on_effector,
        bearing_force=tool.force + lower,
        bearing_moment=tool.moment + np.cross(height, lower) - on_effector,
    )


def _spin_up(shaft: SpindleGeometry, state: State) -> FloatArray:
    """Rate (N, 3) of the shaft's angular velocity v x vd + spin v."""
    pd, pdd, turn, turn2 = state.pd[:, :3], state.pdd[:, :3], state.pd[:, 3], state.pdd[:, 3]
    vdd = contract("nij,nj->ni", shaft.B, pdd) + contract("nij,nj->ni", shaft.Bd, pd)
    rate = contract("nk,nk->n", shaft.n_p_rate, pd) + contract("nk,nk->n", shaft.n_p, pdd)
    rate = rate + shaft.n_psi_rate * turn + shaft.n_psi * turn2
    wd: FloatArray = np.cross(shaft.v, vdd) + rate[:, None] * shaft.v
    return wd + shaft.spin[:, None] * shaft.vd


def joint_drag(robot: Robot, state: State, joint: str, width: int) -> FloatArray:
    """Fv rate + Fc sign(rate) (N, width) of a passive joint; zero where it has no friction."""
    for item in robot.friction.passive:
        if item.joint == joint:
            rates = passive_rates(robot, state, joint)
            sign = direction(rates, robot.friction.smoothing)
            force: FloatArray = item.viscous * rates + item.coulomb * sign
            return force
    return np.zeros((len(state), width))


def body_wrench(
    ten: TenParameters, R: FloatArray, a: FloatArray, w: FloatArray, wd: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Force and moment about its origin (N, 3) that a body needs; a is the origin's, with gravity.

    f = m a + wd x h + w x (w x h), n = h x a + I wd + w x I w, in base axes.
    """
    h = contract("nij,j->ni", R, np.asarray(ten.first_moment))
    I = R @ inertia_matrix(ten) @ np.swapaxes(R, 1, 2)
    force = ten.mass * a + np.cross(wd, h) + np.cross(w, np.cross(w, h))
    turn = contract("nij,nj->ni", I, wd) + np.cross(w, contract("nij,nj->ni", I, w))
    return force, np.cross(h, a) + turn
