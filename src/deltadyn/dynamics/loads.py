"""Constraint loads: what a motion asks of struts, ball joints, bearings and the spindle.

A pair of rods between elbow E and platform point p has T = m_e/2 |Ed|^2 + m_x Ed.pd + m_c/2 |pd|^2
and a fixed length, so the forces on the pair at its two ends are, with g upward and s = p - E,

    f_E = m_e (Edd + g) + m_x (pdd + g) - phi + lambda s        of the arm, at the elbow
    f_P = m_x (Edd + g) + m_c (pdd + g) + phi - lambda s        of the platform

phi, normal to s, is what friction in the pair's own joints asks for (zero without any). The
platform gives lambda: with F_c the force that platform, payload, effector and spindle ask for,

    sum_i f_P,i + F_c = F_ext       =>    S^T lambda = sum_i (f_P,i at lambda = 0) + F_c - F_ext

Axial forces count tension positive: -f_E.u at the elbow, f_P.u at the platform, u = s / l2. In
between dN/dxi = m rho(xi) ((Edd + g).u + xi (pdd - Edd).u), where (pdd - Edd).u = -|sd|^2 / l2 is
never positive: N rises and then falls for any rho >= 0, with its maximum inside where the bracket
changes sign. rho is the quadratic line density that has the rod's mass, COM and inertia: uniform
for a uniform rod.

The platform does not turn. The moments about p of everything on it (`loads_platform`) are taken by
couples of the pairs: with the rods at +-w/2 t, one with delta more tension and one with delta less,
a pair of couple kappa = w delta puts -kappa t x u on the platform and +kappa t x u on the arm,

    sum_i kappa_i t_i x u_i = -M_c - sum_i r_p,i e_i x f_P,i + sum_i s_i x phi_P,i

which has one solution, so the couples need no rod spacing and the forces of the single rods do.
The force of the base on the arm and its moment about the shoulder, less the drive's part along t,

    f_S = m_arm (a_com + g) + m_elbow (Edd + g) + f_E
    M_S = l1 x_arm x f_E - kappa t x u - s x phi_E              normal to t

hold for arms that are symmetric to their plane. A rod with ten parameters counts as its thin
equivalent, as in the exact model: what its width adds to the transverse forces is left out.

In a plane and on a platform of two halves p stands for the attachment a_i, and lambda follows from
S^T lambda = F of the exact model, its rows s_i^T B_i. Which limb keeps a planar platform level, and
how four pairs share the moments of two halves, the robot does not say: couples, the forces of
single rods and the moments on the arms are not known there. What joins the halves, bars and gears
or the screw with the tool, pushes on half h with m_h (a_h + g) + sum_i f_P,i over its limbs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, columns, contract, restore
from deltadyn.dynamics.exact import platform_force, spindle_forces
from deltadyn.dynamics.friction import direction
from deltadyn.dynamics.inverse import check_state, external_wrench
from deltadyn.dynamics.parameters import exact_parameters, spindle_parameters, strut_masses
from deltadyn.errors import InputError
from deltadyn.kinematics.limbs import acceleration_of
from deltadyn.kinematics.platform import POINT
from deltadyn.kinematics.spindle import SpindleGeometry
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import (
    LimbGeometry,
    LocalStruts,
    arm_axes,
    passive_rate_map,
    passive_rates,
)
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform
from deltadyn.robot.settings import LIMB_JOINTS, SPINDLE_JOINTS
from deltadyn.small import inverse_of_rows

# What hangs on the platform: the force and the moment that the struts must give it.
#
# About the platform point p, with g upward, the bodies at r (payload, effector; turning by psi on
# the 4-DOF robot, their principal axes vertical) ask for sum m r x (a + g) + I_zz psidd z. The
# lower rod pushes on the effector with f_L at the lower joint, z_l above p, and its universal joint
# passes a moment along the normal of its two pins alone, T c with c = a x b (plus its friction).
# About z the effector turns freely, so T follows from its own spin, and what T c has across z tilts
# the platform:
#
#     M_c = sum m r x (a + g) + I_zz psidd z - z_l z x f_L - T c - friction - M_ext z
#     T c_z = (effector about z) - M_ext - friction


class Carried(NamedTuple):
    """Force and moment about p (N, 3) that the platform needs from the struts; spindle joints."""

    force: FloatArray
    moment: FloatArray
    upper: FloatArray | None  # force of the base on the upper rod
    lower: FloatArray | None  # force of the effector on the lower rod


class StrutFriction(NamedTuple):
    """phi (N, legs, 3), normal to the strut: friction of its two joints over l2, in N.

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
    swing = local.z[..., None] * local.e_r - local.radial[..., None] * local.up
    swing /= flat[..., None]
    lean = local.tangential / (flat + local.tangential**2)
    sway = (local.t - lean[..., None] * limbs.s) / np.sqrt(flat)[..., None]
    at = {name: _friction_force(robot, state, name, robot.legs) for name in LIMB_JOINTS}
    return StrutFriction(
        at["elbow_swing"][..., None] * swing + at["elbow_sway"][..., None] * sway,
        at["platform_swing"][..., None] * swing + at["platform_sway"][..., None] * sway,
    )


def resolve(rows: FloatArray, vector: FloatArray) -> FloatArray:
    """x (N, 3) with sum_i x_i rows_i = vector, by cross products; not finite where singular."""
    inverse = inverse_of_rows(np.moveaxis(rows, 0, -1))
    return np.stack(inverse.solve_transposed(vector.T), axis=-1)


def cross_rows(a: FloatArray, b: FloatArray) -> FloatArray:
    """a x b of vectors in the last axis; a (legs, 3) of the arms goes with b (N, legs, 3)."""
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
    drag = {name: _friction_force(robot, state, name, 1) for name in SPINDLE_JOINTS}
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


def _apply(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    return contract("nij,nj->ni", matrix, vector)


def _friction_force(robot: Robot, state: State, joint: str, width: int) -> FloatArray:
    """Fv rate + Fc sign(rate) (N, width) of a passive joint; zero where it has no friction."""
    for item in robot.friction.passive:
        if item.joint == joint:
            rates = passive_rates(robot, state, joint)
            sign = direction(rates, robot.friction.smoothing)
            force: FloatArray = item.viscous * rates + item.coulomb * sign
            return force
    return np.zeros((len(state), width))


# The pairs of rods: forces at their ends, couples and axial forces; equations in `loads`.


@dataclass(frozen=True, eq=False)
class PairLoads:
    """Forces (N, legs, 3) on the pairs, their couples and axial forces (N, legs), their directions.

    `at_elbow` (N, legs, 3) and `arm_friction` are Edd + g and the moment s x phi_E on the arms;
    `upper` and `lower` are the forces on the spindle's rods at their joints, `halves` (N, 2, 3)
    those on the halves of a platform by what joins them. `couple` is None where it is not known.
    """

    elbow: FloatArray
    platform: FloatArray
    couple: FloatArray | None
    axial_elbow: FloatArray
    axial_platform: FloatArray
    axial_max: FloatArray
    axial_min: FloatArray
    u: FloatArray  # (N, legs, 3), from elbow to platform
    e_r: FloatArray  # (legs, 3), rows per arm
    t: FloatArray
    at_elbow: FloatArray
    arm_friction: FloatArray
    upper: FloatArray | None
    lower: FloatArray | None
    halves: FloatArray | None


def pair_loads(robot: Robot, state: State, external: FloatArray) -> PairLoads:
    """Solve the platform's force and moment balance for the pairs of rods."""
    g = robot.geometry
    limbs = LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    u = limbs.s / np.asarray(g.strut_length)[:, None]
    e_r, t = arm_axes(robot)
    up = np.array([0.0, 0.0, robot.gravity])
    legs = robot.legs
    qd, qdd = state.qd[:, :legs, None], state.qdd[:, :legs, None]
    accelerated = limbs.e1 * qdd + limbs.e2 * qd**2  # (N, legs, 3), Edd
    at_elbow = accelerated + up
    at_platform = _attachments(robot, state, limbs) + up
    m_e, m_x, m_c = _masses(robot)
    phi = strut_friction(robot, state, limbs)
    drag = phi.elbow + phi.platform
    elbow = m_e * at_elbow + m_x * at_platform - drag
    platform = m_x * at_elbow + m_c * at_platform + drag
    couple = upper = lower = None
    if limbs.carrier is POINT:
        carried = carried_loads(robot, state, limbs, external)
        upper, lower = carried.upper, carried.lower
        force = platform.sum(axis=1) + carried.force - external[:, :3]
        tie = resolve(limbs.s, force)[..., None] * limbs.s  # lambda s
    else:
        tie = _multipliers(robot, state, limbs, m_x * accelerated + drag, external)
    elbow, platform = elbow + tie, platform - tie
    if limbs.carrier is POINT:
        joints = np.asarray(g.platform_radius)[:, None] * e_r
        moment = cross_rows(limbs.s, phi.platform) - cross_rows(joints, platform)
        couple = resolve(cross_rows(t, u), moment.sum(axis=1) - carried.moment)
    first, last = -_along(elbow, u), _along(platform, u)
    accelerations = _along(at_elbow, u), _along(at_platform - at_elbow, u)
    return PairLoads(
        elbow,
        platform,
        couple,
        first,
        last,
        *_axial_extremes(robot, first, last, *accelerations),
        u,
        e_r,
        t,
        at_elbow,
        cross_rows(limbs.s, phi.elbow),
        upper,
        lower,
        _halves(robot, at_platform, platform),
    )


def _attachments(robot: Robot, state: State, limbs: LimbGeometry) -> FloatArray:
    """add_i (N, legs, 3) of the attachments; (N, 1, 3) where all of them are the platform point."""
    if limbs.carrier is POINT:
        return state.pdd[:, None, :3]
    own, xd, xdd = limbs.carrier, columns(state.pd), columns(state.pdd)
    found = [acceleration_of(own, limbs.place, i, xd, xdd) for i in range(robot.legs)]
    rows = [np.stack(np.broadcast_arrays(*add, xd[0])[:3], axis=-1) for add in found]
    return np.stack(rows, axis=1)


def _multipliers(
    robot: Robot, state: State, limbs: LimbGeometry, pulls: FloatArray, external: FloatArray
) -> FloatArray:
    """lambda s (N, legs, 3) from S^T lambda = F, `pulls` (N, legs, 3) acting at the attachments."""
    own, place = limbs.carrier, limbs.place
    motion = (columns(x) for x in (state.p, state.pd, state.pdd))
    force = platform_force(np, exact_parameters(robot), place, *motion)
    for i in range(robot.legs):
        pulled = own.pull(place, i, columns(pulls[:, i]))
        force = [a + b for a, b in zip(force, pulled, strict=True)]
    force = [a - b for a, b in zip(force, columns(external), strict=True)]
    rods = [columns(limbs.s[:, i]) for i in range(robot.legs)]
    shares = own.inverse(place, rods).solve_transposed(force)
    tie: FloatArray = np.stack(shares, axis=-1)[..., None] * limbs.s
    return tie


def _halves(robot: Robot, at_platform: FloatArray, platform: FloatArray) -> FloatArray | None:
    """Force (N, 2, 3) on each half of a platform by what joins them; None where there is one."""
    own = robot.platform
    if not isinstance(own, ArticulatedPlatform | HelicalPlatform):
        return None
    pairs = ((0, 1), (2, 3))
    force = [
        mass * at_platform[:, pair[0]] + platform[:, pair].sum(axis=1)
        for mass, pair in zip(own.half_mass, pairs, strict=True)
    ]
    return np.stack(force, axis=1)


def _masses(robot: Robot) -> tuple[FloatArray, FloatArray, FloatArray]:
    """m_e, m_x, m_c of the pairs as columns (legs, 1), in kg."""
    three = strut_masses(robot)
    m_e, m_x, m_c = (
        np.array([[getattr(masses, name)] for masses in three]) for name in ("m_e", "m_x", "m_c")
    )
    return m_e, m_x, m_c


def _along(vectors: FloatArray, u: FloatArray) -> FloatArray:
    return contract("nik,nik->ni", vectors, u)


def _axial_extremes(
    robot: Robot, first: FloatArray, last: FloatArray, a0: FloatArray, a1: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Most and least tension (N, legs) along the struts: at the ends, or inside where N' = 0.

    N(xi) = N(0) + integral of rho (a0 + a1 xi) from elbow (0) to platform (1).
    """
    xi = -a0 / a1
    xi = np.where((xi > 0) & (xi < 1), xi, 0.0)
    r0, r1, r2 = _line_density(robot)
    inside = first + a0 * xi * (r0 + xi * (r1 / 2 + xi * r2 / 3))
    inside += a1 * xi**2 * (r0 / 2 + xi * (r1 / 3 + xi * r2 / 4))
    highest = np.maximum(np.maximum(first, last), inside)
    return highest, np.minimum(np.minimum(first, last), inside)


def _line_density(robot: Robot) -> tuple[FloatArray, FloatArray, FloatArray]:
    """rho = r0 + r1 xi + r2 xi^2 (kg) of the pairs, (legs,) each, with their mass, COM and inertia.

    In Legendre polynomials of y = 2 xi - 1: m (1 + 3 E[P1(y)] P1(y) + 5 E[P2(y)] P2(y)).
    """
    struts, length = robot.struts, np.asarray(robot.geometry.strut_length)
    mass = np.array([strut.mass for strut in struts])
    f = np.array([strut.com_fraction for strut in struts])
    about_com = np.array([strut.inertia for strut in struts]) / length**2
    spread = np.divide(about_com, mass, out=np.full(robot.legs, 1 / 12), where=mass > 0)
    one = 3 * (2 * f - 1)
    two = 5 * (3 * ((2 * f - 1) ** 2 + 4 * spread) - 1) / 2
    pair = mass * np.array([strut.rods for strut in struts])
    return pair * (1 - one + two), pair * (2 * one - 6 * two), pair * 6 * two


# The single rods of the pairs and the springs that press their sockets on the balls.
#
# Rod 1 of a pair sits at +w/2 t, rod 2 at -w/2 t. Both move alike, so they share the pair's
# transverse forces; the couple kappa = w delta of the pair adds delta to the tension of rod 1:
#
#     f_P = f_P,pair / 2 +- delta u,    f_E = f_E,pair / 2 -+ delta u
#
# The sockets of a pair are pressed on their balls from outside, by a spring at each end that pulls
# the two rods together along the pin axis t. With o = +-t outward and P the spring's force, a ball
# pushes its socket with f + P o, and must push within the cup: no further than the half angle from
# the cup's axis. About the pin axis that is
#
#     |f - (f.o) o| <= tan(half angle) (f.o + P)  =>  P = max(0, |f_perp| / tan(half angle) - f.o)
#
# A cup bored square to the rod has its axis a = (o - (o.u) u) / |o - (o.u) u| tilted by the sway;
# P is then the smallest with a.(f + P o) >= cos(half angle) |f + P o|, infinite where the sway
# reaches the half angle, because there the spring itself pulls across the rim.


CupAxis = Literal["pin", "rod"]

SIDES = np.array([1.0, -1.0])  # rod 1 at +t, rod 2 at -t


@dataclass(frozen=True, eq=False)
class RodLoads:
    """Loads of the single rods, in N: arms in the second place, rods at +t and -t in the third.

    A spring serves both rods of a pair, so an end needs the larger of its two preloads.
    """

    axial_elbow: FloatArray  # (N, 3, 2), tension positive
    axial_platform: FloatArray  # (N, 3, 2)
    axial_max: FloatArray  # (N, 3, 2), most tension along the rod
    axial_min: FloatArray  # (N, 3, 2)
    elbow: FloatArray  # (N, 3, 2, 3), of the arm on the rod: ball and spring together
    platform: FloatArray  # (N, 3, 2, 3), of the platform on the rod
    preload_elbow: FloatArray  # (N, 3, 2), smallest spring force that keeps the ball in its socket
    preload_platform: FloatArray  # (N, 3, 2)

    @property
    def preload(self) -> float:
        """Smallest spring force (N) that suits every ball joint during the whole motion."""
        return float(max(np.max(self.preload_elbow), np.max(self.preload_platform)))

    @property
    def largest_force(self) -> float:
        """Largest axial force (N) of a rod during the motion, in tension or compression."""
        return float(max(np.max(np.abs(self.axial_max)), np.max(np.abs(self.axial_min))))


def rod_loads(robot: Robot, pairs: PairLoads, half_angle: float, axis: CupAxis) -> RodLoads | None:
    """The loads of each rod; None where the robot does not say how far apart they are, or where
    the pairs' couples are not known.
    """
    spacing = robot.geometry.rod_spacing
    if spacing is None or pairs.couple is None:
        return None
    more = (pairs.couple / spacing)[..., None] * SIDES  # (N, 3, 2)
    push = more[..., None] * pairs.u[:, :, None, :]
    elbow, platform = pairs.elbow[:, :, None] / 2 - push, pairs.platform[:, :, None] / 2 + push
    outward = np.broadcast_to(pairs.t[:, None] * SIDES[:, None], elbow.shape)
    cup = outward
    if axis == "rod":
        along = pairs.u[:, :, None, :]
        cup = outward - np.sum(outward * along, axis=-1, keepdims=True) * along
        cup = cup / np.linalg.norm(cup, axis=-1, keepdims=True)
    return RodLoads(
        -contract("nirk,nik->nir", elbow, pairs.u),
        contract("nirk,nik->nir", platform, pairs.u),
        pairs.axial_max[..., None] / 2 + more,
        pairs.axial_min[..., None] / 2 + more,
        elbow,
        platform,
        least_preload(elbow, outward, cup, half_angle),
        least_preload(platform, outward, cup, half_angle),
    )


def least_preload(
    force: FloatArray, spring: FloatArray, cup: FloatArray, half_angle: float
) -> FloatArray:
    """Smallest P >= 0 with cup.(f + P spring) >= cos(half angle) |f + P spring|, in N.

    With c = cup.spring, L = cos(half angle), f_perp across the spring and w = cup.f_perp:
    P + f.spring = (L sqrt(w^2 + (c^2 - L^2) |f_perp|^2) - c w) / (c^2 - L^2). Directions are unit
    vectors in the last axis; infinite where cup and spring are the half angle apart or more.
    """
    L = math.cos(half_angle)
    along = np.sum(force * spring, axis=-1)
    across = force - along[..., None] * spring
    c, w = np.sum(cup * spring, axis=-1), np.sum(cup * across, axis=-1)
    k = np.maximum(c**2 - L**2, 0.0)
    root = L * np.sqrt(w**2 + k * np.sum(across**2, axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.maximum((root - c * w) / k - along, 0.0)
    return np.where(k > 0, least, np.where(np.isnan(along), np.nan, np.inf))


def check_cup(half_angle: float, axis: str) -> None:
    """Refuse a cup that is none."""
    if not (math.isfinite(half_angle) and 0 < half_angle < math.pi / 2):
        raise InputError("cup_half_angle", half_angle, "above 0 and below pi/2 rad")
    if axis not in ("pin", "rod"):
        raise InputError("cup_axis", axis, "'pin' or 'rod'")


#: Half angle of a socket's cup (rad): an assumption, because robot files do not give it.
CUP_HALF_ANGLE = math.radians(45.0)


@dataclass(frozen=True, eq=False)
class ConstraintLoads:
    """Loads along a motion, in N and N m, in base axes; arms in the second place.

    Axial forces are those of a pair of rods, tension positive. `rods` holds the loads of the
    single rods and of their ball joints, None where geometry.rod_spacing is not given. In a plane
    and under a platform of two halves `couple`, `shoulder_moment` and `rods` are not known: None.
    """

    axial_elbow: FloatArray  # (N, legs)
    axial_platform: FloatArray  # (N, legs)
    axial_max: FloatArray  # (N, legs), most tension along the strut
    axial_min: FloatArray  # (N, legs), least tension, or most compression
    elbow: FloatArray  # (N, legs, 3), of the arm on the pair
    platform: FloatArray  # (N, legs, 3), of the platform on the pair
    couple: FloatArray | None  # (N, 3), kappa: positive where the rod at +t has more tension
    shoulder_force: FloatArray  # (N, legs, 3), of the base on the arm
    shoulder_moment: FloatArray | None  # (N, 3, 3), of the base on the arm, without the drive's
    spindle_upper: FloatArray | None  # (N, 3), of the base on the upper rod, at its joint
    spindle_lower: FloatArray | None  # (N, 3), of the effector on the lower rod, at its joint
    rods: RodLoads | None
    halves: FloatArray | None = None  # (N, 2, 3), on each half, by what joins them

    @property
    def preload(self) -> float | None:
        """Smallest spring force (N) that keeps every ball in its socket during the motion."""
        return None if self.rods is None else self.rods.preload


def constraint_loads(
    robot: Robot,
    motion: State,
    external_force: npt.ArrayLike | None = None,
    cup_half_angle: float = CUP_HALF_ANGLE,
    *,
    cup_axis: CupAxis = "pin",
    friction: bool = True,
) -> ConstraintLoads:
    """Forces in struts and joints that make this motion; see the module for the equations.

    `external_force` acts at the platform point as in `inverse_dynamics`. A socket whose cup has
    the half angle `cup_half_angle` (rad, between 0 and pi/2) holds its ball while the ball's force
    stays within that angle of the outward `cup_axis`: that of the "pin", or of a cup bored square
    to the "rod", which tilts with the strut. `friction=False` leaves out friction in passive
    joints; friction of the drives is no load of the joints.
    """
    check_state(robot, motion)
    check_cup(cup_half_angle, cup_axis)
    external = external_wrench(robot, external_force, len(motion))
    if not friction:
        robot = robot.with_friction(passive=())
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = pair_loads(robot, motion, external)
        rods = rod_loads(robot, pairs, cup_half_angle, cup_axis)
    loads = ConstraintLoads(
        pairs.axial_elbow,
        pairs.axial_platform,
        pairs.axial_max,
        pairs.axial_min,
        pairs.elbow,
        pairs.platform,
        pairs.couple,
        *_shoulder(robot, motion, pairs),
        pairs.upper,
        pairs.lower,
        rods,
        pairs.halves,
    )
    return _first_row(loads) if motion.single else loads


def _shoulder(robot: Robot, state: State, pairs: PairLoads) -> tuple[FloatArray, FloatArray | None]:
    """Force and moment (N, legs, 3) of the base on the arms; the moment is normal to t, and None
    where the pairs' couples are not known.

    Of a rail: the force across it on its carriage, and the moment about the carriage's joint.
    """
    couple = None
    if pairs.couple is not None:
        couple = pairs.couple[..., None] * cross_rows(pairs.t, pairs.u)
    if robot.linear:
        rail = np.array([frame.z for frame in robot.geometry.frames])
        mass = np.array([[arm.mass] for arm in robot.arms])
        force = mass * pairs.at_elbow + pairs.elbow
        force = force - contract("nik,ik->ni", force, rail)[..., None] * rail
        return force, None if couple is None else -couple - pairs.arm_friction
    c, s, legs = state.cos_q[..., None], state.sin_q[..., None], robot.legs
    up = np.array([frame.z for frame in robot.geometry.frames])
    along, above = c * pairs.e_r - s * up, s * pairs.e_r + c * up
    qd2, qdd = state.qd[:, :legs, None] ** 2, state.qdd[:, :legs, None]
    com, offset, mass, elbow_mass = (
        np.array([[getattr(arm, name)] for arm in robot.arms])
        for name in ("com", "com_offset", "mass", "elbow_mass")
    )
    at_com = com * (-above * qdd - along * qd2) + offset * (along * qdd - above * qd2)
    at_com = at_com + np.array([0.0, 0.0, robot.gravity])
    force = mass * at_com + elbow_mass * pairs.at_elbow + pairs.elbow
    if couple is None:
        return force, None
    lever = np.asarray(robot.rotary.arm_length)[:, None] * along
    moment = cross_rows(lever, pairs.elbow) - pairs.arm_friction
    moment = moment - couple
    drive = contract("nik,ik->ni", moment, pairs.t)
    return force, moment - drive[..., None] * pairs.t


def _first_row(loads: ConstraintLoads) -> ConstraintLoads:
    """The loads of the one sample, without its row."""
    values: list[object] = []
    for item in fields(loads):
        value = getattr(loads, item.name)
        if isinstance(value, RodLoads):
            rows = (restore(getattr(value, part.name), True) for part in fields(value))
            value = RodLoads(*rows)
        elif value is not None:
            value = restore(value, True)
        values.append(value)
    return ConstraintLoads(*values)  # type: ignore[arg-type]
