"""What hangs on the platform: the force and the moment that the struts must give it.

About the platform point p, with g upward, the bodies at r (payload, effector; turning by psi on
the 4-DOF robot, their principal axes vertical) ask for sum m r x (a + g) + I_zz psidd z. The lower
rod pushes on the effector with f_L at the lower joint, z_l above p, and its universal joint passes
a moment along the normal of its two pins alone, T c with c = a x b (plus its friction). About z the
effector turns freely, so T follows from its own spin, and what T c has across z tilts the platform:

    M_c = sum m r x (a + g) + I_zz psidd z - z_l z x f_L - T c - friction - M_ext z
    T c_z = (effector about z) - M_ext - friction
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, columns, contract
from deltadyn.dynamics.exact import spindle_forces
from deltadyn.dynamics.friction import direction
from deltadyn.dynamics.parameters import spindle_parameters
from deltadyn.kinematics.passive import passive_rate_map, passive_rates
from deltadyn.kinematics.rates import LimbGeometry
from deltadyn.kinematics.spindle import SpindleGeometry
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import LocalStruts
from deltadyn.robot import Robot


class Carried(NamedTuple):
    """Force and moment about p (N, 3) that the platform needs from the struts; spindle joints."""

    force: FloatArray
    moment: FloatArray
    upper: FloatArray | None  # force of the base on the upper rod
    lower: FloatArray | None  # force of the effector on the lower rod


class StrutFriction(NamedTuple):
    """phi (N, 3, 3), normal to the strut: friction of its elbow and platform joints over l2, in N.

    Friction puts the moment s x phi.elbow on the arm and s x phi.platform on the platform.
    """

    elbow: FloatArray
    platform: FloatArray


class _Spindle(NamedTuple):
    """What the spindle does to the effector, and its joint forces."""

    upper: FloatArray
    lower: FloatArray
    moment: FloatArray  # couple of the lower joint on the effector


def carried_loads(robot: Robot, state: State, limbs: LimbGeometry, external: FloatArray) -> Carried:
    """Everything on the platform but the struts and the external force."""
    up = np.array([0.0, 0.0, 1.0])
    lifted = state.pdd[:, :3] + robot.gravity * up
    force = robot.platform.mass * lifted
    moment = np.zeros_like(force)
    effector, payload = robot.effector, robot.payload
    for mass, place, inertia in (
        (effector.mass, effector.com, effector.inertia_zz),
        (payload.mass, payload.offset, payload.inertia_zz),
    ):
        r, acceleration = _turning_point(robot, state, place)
        pull = mass * (lifted + acceleration)
        force = force + pull
        moment = moment + np.cross(r, pull)
        if robot.dof == 4:
            moment[:, 2] += inertia * state.pdd[:, 3]
    if robot.spindle is None:
        return Carried(force, moment, None, None)
    about_z = moment[:, 2] - external[:, 3]
    spindle = _spindle_loads(robot, state, limbs, about_z)
    lever = robot.spindle.lower_joint_z * up
    moment = moment + np.cross(lever, spindle.lower) - spindle.moment
    moment[:, 2] -= external[:, 3]
    return Carried(force + spindle.lower, moment, spindle.upper, spindle.lower)


def strut_friction(robot: Robot, state: State, limbs: LimbGeometry) -> StrutFriction:
    """Friction of the struts' own joints [gnad2024] eqs. 6-7 as forces at their ends.

    A joint at rate b.sd with friction f asks for f b at the platform and -f b at the elbow.
    """
    local = LocalStruts.of(robot, limbs)
    flat = local.radial**2 + local.z**2
    swing = local.z[..., None] * local.e_r
    swing[..., 2] -= local.radial
    swing /= flat[..., None]
    lean = local.tangential / (flat + local.tangential**2)
    sway = (local.t - lean[..., None] * limbs.s) / np.sqrt(flat)[..., None]
    at = {name: _friction_force(robot, state, name, 3) for name in _STRUT_JOINTS}
    return StrutFriction(
        at["elbow_swing"][..., None] * swing + at["elbow_sway"][..., None] * sway,
        at["platform_swing"][..., None] * swing + at["platform_sway"][..., None] * sway,
    )


_STRUT_JOINTS = ("elbow_swing", "elbow_sway", "platform_swing", "platform_sway")


def resolve(rows: FloatArray, vector: FloatArray) -> FloatArray:
    """x (N, 3) with sum_i x_i rows_i = vector, by cross products; not finite where singular."""
    a, b, c = rows[:, 0], rows[:, 1], rows[:, 2]
    normals = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1)
    scale = 1 / contract("nk,nk->n", a, normals[:, 0])
    return contract("nik,nk->ni", normals, vector) * scale[:, None]


def cross_rows(a: FloatArray, b: FloatArray) -> FloatArray:
    """a x b of vectors in the last axis; a (3, 3) of the arms goes with b (N, 3, 3)."""
    return np.cross(np.broadcast_to(a, b.shape), b)


def _turning_point(
    robot: Robot, state: State, place: tuple[float, float, float]
) -> tuple[FloatArray, FloatArray]:
    """A point of the effector from p, and its acceleration against p, (N, 3) each."""
    count = len(state)
    if robot.dof == 3:
        return np.broadcast_to(np.asarray(place), (count, 3)), np.zeros((count, 3))
    c, s = np.cos(state.p[:, 3]), np.sin(state.p[:, 3])
    x, y = place[0] * c - place[1] * s, place[0] * s + place[1] * c
    zero = np.zeros(count)
    flat = np.stack([x, y, zero], axis=-1)
    ahead = np.stack([-y, x, zero], axis=-1)
    r = flat + np.array([0.0, 0.0, place[2]])
    return r, state.pdd[:, 3, None] * ahead - state.pd[:, 3, None] ** 2 * flat


def _spindle_loads(
    robot: Robot, state: State, limbs: LimbGeometry, about_z: FloatArray
) -> _Spindle:
    """Joint forces of the rods, and the couple on the effector whose spin asks for `about_z`.

    lower = m2 (pdd + g) + (what v and friction ask of p), upper = (m (a + g) of both rods) - lower.
    """
    par = spindle_parameters(robot)
    assert par is not None
    assert robot.spindle is not None
    up = np.array([0.0, 0.0, robot.gravity])
    m1, m2 = robot.spindle.upper.mass, robot.spindle.lower.mass
    p, pd, pdd = columns(state.p), columns(state.pd), columns(state.pdd)
    rods = replace(par, h_x=0.0, h_y=0.0, I_psi=0.0)
    lower = np.stack(spindle_forces(np, rods, robot.gravity, p, pd, pdd).force, axis=-1)
    at_platform = state.pdd[:, :3] + up
    lower = lower + m2 * at_platform
    drag = {name: _friction_force(robot, state, name, 1) for name in _SPINDLE_JOINTS}
    for name, force in drag.items():  # B^T f at the platform point, with J^-1 = diag(1/d) S
        copies = 1 if name == "prismatic" else 2  # the spindle has two universal joints alike
        to_arms = copies * passive_rate_map(robot, state, name)[:, 0, :3]
        lower = lower + contract("ni,nik->nk", force * to_arms / limbs.d, limbs.s)
    shaft = SpindleGeometry.of(robot, state.p, state.pd)
    vdd = _apply(shaft.B, state.pdd[:, :3]) + _apply(shaft.Bd, state.pd[:, :3])
    moved = (par.mu - par.kappa) * vdd + m1 * up + m2 * at_platform
    dragged = drag["universal_fork"] * shaft.a + drag["universal_cross"] * shaft.b
    normal = np.cross(shaft.a, shaft.b)
    T = (about_z - dragged[:, 2]) / normal[:, 2]
    return _Spindle(moved - lower, lower, T[:, None] * normal + dragged)


_SPINDLE_JOINTS = ("prismatic", "universal_fork", "universal_cross")


def _apply(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    return contract("nij,nj->ni", matrix, vector)


def _friction_force(robot: Robot, state: State, joint: str, width: int) -> FloatArray:
    """Fv rate + Fc sign(rate) (N, width) of a passive joint; zero where it has no friction."""
    for item in robot.friction.passive:
        if item.joint == joint:
            rates = passive_rates(robot, state, joint)
            sign = direction(rates, robot.friction.smoothing)
            return item.viscous * rates + item.coulomb * sign
    return np.zeros((len(state), width))
