"""Constraint loads: what a motion asks of struts, ball joints, bearings and the spindle.

A pair of rods between elbow E and platform point p has T = m_e/2 |Ed|^2 + m_x Ed.pd + m_c/2 |pd|^2
and a fixed length, so the forces on the pair at its two ends are, with g upward and s = p - E,

    f_E = m_e (Edd + g) + m_x (pdd + g) - phi + lambda s        of the arm, at the elbow
    f_P = m_x (Edd + g) + m_c (pdd + g) + phi - lambda s        of the platform

phi, normal to s, is what friction in the pair's own joints asks for (zero without any). The
platform gives lambda: with F_c, M_c that platform, payload, effector and spindle ask for (module
`carried`),

    sum_i f_P,i + F_c = F_ext       =>    S^T lambda = sum_i (f_P,i at lambda = 0) + F_c - F_ext

Axial forces count tension positive: -f_E.u at the elbow, f_P.u at the platform, u = s / l2. In
between dN/dxi = m rho(xi) ((Edd + g).u + xi (pdd - Edd).u), where (pdd - Edd).u = -|sd|^2 / l2 is
never positive: N rises and then falls for any rho >= 0, with its maximum inside where the bracket
changes sign. rho is the quadratic line density that has the rod's mass, COM and inertia: uniform
for a uniform rod.

The platform does not turn. The moments about p of everything on it are taken by couples of the
pairs: with the rods at +-w/2 t, one with delta more tension and one with delta less, a pair of
couple kappa = w delta puts -kappa t x u on the platform and +kappa t x u on the arm. With r_i from
p to the pair's joint, on the true radius,

    -sum_i kappa_i t_i x u_i = M_c + sum_i r_i x f_P,i - sum_i s_i x phi_P,i

which has one solution, so the couples need no rod spacing and the forces of the single rods do.
The force of the base on the arm and its moment about the shoulder, less the drive's part along t,

    f_S = m_arm (a_com + g) + m_elbow (Edd + g) + f_E
    M_S = com x m_arm (a_com + g) + l1 x_arm x (f_E + m_elbow (Edd + g)) - kappa t x u - s x phi_E

hold for arms that are symmetric to their plane. A rod with ten parameters counts as its thin
equivalent, as in the exact model: what its width adds to the transverse forces is left out, unless
the model is "rigid" (`_rigid_struts`).

In a plane and on a platform of two halves p stands for the attachment a_i, and lambda follows from
S^T lambda = F of the exact model, its rows s_i^T B_i. What joins the halves, bars and gears or the
screw with the tool, pushes on half h with m_h (a_h + g) + sum_i f_P,i over its limbs. Two halves on
a screw pass each other no moment about it but that of their nuts on the tool, T_h = -sigma_h F_hz,
so that four couples have four equations: x and y of all, z of each half. Bars between the halves
pass moments about z as well, and in a plane both pairs hold the one angle: couples, the forces of
single rods and the moments on the arms are not determined there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, columns, contract, restore
from deltadyn.dynamics.carried import (
    SpindleLoads,
    Wrench,
    body_wrench,
    carried_loads,
    joint_drag,
    joints_on_platform,
)
from deltadyn.dynamics.exact import platform_force
from deltadyn.dynamics.inverse import check_state, external_wrench
from deltadyn.dynamics.parameters import exact_parameters, strut_masses
from deltadyn.dynamics.rigid import strut_motion
from deltadyn.dynamics.terms import platform_map
from deltadyn.errors import InputError
from deltadyn.kinematics.limbs import acceleration_of
from deltadyn.kinematics.platform import POINT
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import LimbGeometry, LocalStruts, arm_axes
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform
from deltadyn.robot.settings import LIMB_JOINTS
from deltadyn.small import inverse_of_rows


class StrutFriction(NamedTuple):
    """phi (N, legs, 3), normal to the strut: friction of its two joints over l2, in N.

    Friction puts the moment s x phi.elbow on the arm and s x phi.platform on the platform.
    """

    elbow: FloatArray
    platform: FloatArray


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
    at = {name: joint_drag(robot, state, name, robot.legs) for name in LIMB_JOINTS}
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


# The pairs of rods: forces at their ends, couples and axial forces; equations in `loads`.


@dataclass(frozen=True, eq=False)
class PairLoads:
    """Forces (N, legs, 3) on the pairs, their couples and axial forces (N, legs), their directions.

    `at_elbow` (N, legs, 3) is Edd + g; `arm_moment` is the moment of the pair's universal joint on
    the arm: s x phi_E of its friction and what a wide strut asks for, without the couple.
    `platform_moment` (N, 3) is that of all pairs on the platform about p beside their forces,
    `halves` (N, 2, 3) are the forces on the halves of a platform by what joins them, `nut_torque`
    (N, 2) what the nuts in them put on the tool. `couple` is None where it is not known.
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
    arm_moment: FloatArray
    platform_moment: FloatArray
    tool: Wrench
    spindle: SpindleLoads | None
    halves: FloatArray | None
    nut_torque: FloatArray | None


def pair_loads(
    robot: Robot, state: State, external: FloatArray, *, rigid: bool = False
) -> PairLoads:
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
    arm_moment = cross_rows(limbs.s, phi.elbow)
    if rigid:
        elbow, platform, twist = _rigid_struts(robot, state, limbs, at_elbow)
        arm_moment = arm_moment - twist
    else:
        elbow = m_e * at_elbow + m_x * at_platform
        platform = m_x * at_elbow + m_c * at_platform
    elbow, platform = elbow - drag, platform + drag
    carried = carried_loads(robot, state, limbs, external, rigid=rigid)
    if limbs.carrier is POINT:
        shares = resolve(limbs.s, platform.sum(axis=1) + carried.needed.force)
        tie = shares[..., None] * limbs.s  # lambda s
    else:
        tie = _multipliers(robot, state, limbs, m_x * accelerated + drag, external)
    elbow, platform = elbow + tie, platform - tie
    joints = joints_on_platform(robot, state, limbs)
    moment = np.cross(joints, platform) - cross_rows(limbs.s, phi.platform)
    moment_needed = carried.needed.moment + moment.sum(axis=1)
    halves = _halves(robot, at_platform, platform)
    couple, nuts = None, None
    if limbs.carrier is POINT:
        couple = resolve(cross_rows(t, u), -moment_needed)
    elif isinstance(robot.platform, HelicalPlatform):
        assert halves is not None
        # a nut without friction: F_z (sigma psid) + T psid = 0
        nuts = -np.asarray(robot.platform.sigma) * halves[:, :, 2]
        about_z = nuts + moment[:, :, 2].reshape(-1, 2, 2).sum(axis=2)
        couple = _screwed_couples(cross_rows(t, u), -moment_needed[:, :2], -about_z)
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
        arm_moment,
        moment_needed,
        carried.tool,
        carried.spindle,
        halves,
        nuts,
    )


def _screwed_couples(across: FloatArray, level: FloatArray, about_z: FloatArray) -> FloatArray:
    """Couples (N, 4) of pairs whose halves share moments about x and y through their screw.

    sum kappa across = level in x and y (N, 2), and in z on each half = about_z (N, 2).
    """
    rows = np.zeros((len(across), 4, 4))
    rows[:, :2] = np.swapaxes(across[:, :, :2], 1, 2)
    rows[:, 2, :2], rows[:, 3, 2:] = across[:, :2, 2], across[:, 2:, 2]
    right = np.concatenate([level, about_z], axis=1)
    out = np.full(right.shape, np.nan)
    within = np.flatnonzero(np.isfinite(rows).all(axis=(1, 2)))
    within = within[np.linalg.det(rows[within]) != 0]
    out[within] = np.linalg.solve(rows[within], right[within][..., None])[..., 0]
    return out


def _rigid_struts(
    robot: Robot, state: State, limbs: LimbGeometry, at_elbow: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What struts of any shape ask for at elbow and platform, and the moment of the arms on them.

    A strut that needs the moment n about its elbow takes T e from the universal joint there, normal
    to both its pins, with T e.u = n.u; the ball joint at the platform gives (n - T e) x u / l2.
    """
    elbow, platform, twist = np.empty((3, len(state), robot.legs, 3))
    geometry, point = platform_map(robot, state)
    for i, l2 in enumerate(robot.geometry.strut_length):
        body = strut_motion(robot, state, geometry, point, i)
        w = contract("nkd,nd->nk", body.Jw, state.qd)
        wd = contract("nkd,nd->nk", body.Jw, state.qdd) + contract("nkd,nd->nk", body.Jwd, state.qd)
        force, moment = (
            body.copies * part
            for part in body_wrench(body.parameters, body.R, at_elbow[:, i], w, wd)
        )
        u, pin = limbs.s[:, i] / l2, arm_axes(robot)[1][i]
        e = np.cross(np.broadcast_to(pin, u.shape), body.R[:, :, 2])
        T = contract("nk,nk->n", moment, u) / contract("nk,nk->n", e, u)
        twist[:, i] = T[:, None] * e
        platform[:, i] = np.cross(moment - twist[:, i], u) / l2
        elbow[:, i] = force - platform[:, i]
    return elbow, platform, twist


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

    axial_elbow: FloatArray  # (N, legs, 2), tension positive
    axial_platform: FloatArray  # (N, legs, 2)
    axial_max: FloatArray  # (N, legs, 2), most tension along the rod
    axial_min: FloatArray  # (N, legs, 2)
    elbow: FloatArray  # (N, legs, 2, 3), of the arm on the rod: ball and spring together
    platform: FloatArray  # (N, legs, 2, 3), of the platform on the rod
    preload_elbow: (
        FloatArray  # (N, legs, 2), smallest spring force that keeps the ball in its socket
    )
    preload_platform: FloatArray  # (N, legs, 2)

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
    more = (pairs.couple / spacing)[..., None] * SIDES  # (N, legs, 2)
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
    """Reactions along a motion, in N and N m, in base axes; arms in the second place.

    Axial forces are those of a pair of rods, tension positive. `rods` holds the loads of the single
    rods and of their ball joints, None where geometry.rod_spacing is not given. What the robot does
    not determine is None, and `undetermined` says why.
    """

    axial_elbow: FloatArray  # (N, legs)
    axial_platform: FloatArray  # (N, legs)
    axial_max: FloatArray  # (N, legs), most tension along the strut
    axial_min: FloatArray  # (N, legs), least tension, or most compression
    elbow: FloatArray  # (N, legs, 3), of the arm on the pair
    platform: FloatArray  # (N, legs, 3), of the platform on the pair
    couple: FloatArray | None  # (N, legs), kappa: positive where the rod at +t has more tension
    shoulder_force: FloatArray  # (N, legs, 3), of the base on the arm
    shoulder_moment: FloatArray | None  # (N, legs, 3), of the base on the arm, without the drive's
    shoulder_tilt: FloatArray  # (N, legs), its part about the strut seen along the motor axis
    platform_moment: FloatArray  # (N, 3), of the pairs' couples on the platform together
    tool_force: FloatArray  # (N, 3), on effector and payload, by what carries them
    tool_moment: FloatArray  # (N, 3), the same about the platform point
    rods: RodLoads | None
    spindle: SpindleLoads | None
    halves: FloatArray | None = None  # (N, 2, 3), on each half, by what joins them
    nut_torque: FloatArray | None = None  # (N, 2), about z, of the nut in each half on the tool

    @property
    def spindle_upper(self) -> FloatArray | None:
        """Force (N, 3) of the base on the upper rod, at its joint."""
        return None if self.spindle is None else self.spindle.upper_force

    @property
    def spindle_lower(self) -> FloatArray | None:
        """Force (N, 3) of the effector on the lower rod, at its joint."""
        return None if self.spindle is None else self.spindle.lower_force

    @property
    def preload(self) -> float | None:
        """Smallest spring force (N) that keeps every ball in its socket during the motion."""
        return None if self.rods is None else self.rods.preload

    @property
    def undetermined(self) -> dict[str, str]:
        """The reactions that are None because statics alone does not give them, and why."""
        if self.couple is not None:
            spacing = "the robot names no geometry.rod_spacing"
            return {} if self.rods is not None else {"rods": spacing}
        if self.elbow.shape[-2] == 2:
            why = "rods of both limbs keep the platform level: only their moments' sum is known"
        else:
            why = "four couples balance three moments: only `platform_moment` is known"
        arms = f"they hold the couples, and {why}"
        return {"couple": why, "rods": why, "shoulder_moment": arms}


def constraint_loads(
    robot: Robot,
    motion: State,
    external_force: npt.ArrayLike | None = None,
    cup_half_angle: float = CUP_HALF_ANGLE,
    *,
    cup_axis: CupAxis = "pin",
    friction: bool = True,
    model: Literal["exact", "rigid"] = "exact",
) -> ConstraintLoads:
    """Forces and moments in struts and joints that make this motion; equations in the module.

    `external_force` acts at the platform point, on the tool, as in `inverse_dynamics`. A socket
    whose cup has the half angle `cup_half_angle` (rad, between 0 and pi/2) holds its ball while the
    ball's force stays within that angle of the outward `cup_axis`: that of the "pin", or of a cup
    bored square to the "rod", which tilts with the strut. `friction=False` leaves out friction in
    passive joints; friction of the drives is no load of the joints. The `model` "exact" takes
    struts and spindle as thin; "rigid" takes their ten parameters, with three limbs.
    """
    check_state(robot, motion)
    check_cup(cup_half_angle, cup_axis)
    external = external_wrench(robot, external_force, len(motion))
    if not friction:
        robot = robot.with_friction(passive=())
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = pair_loads(robot, motion, external, rigid=_is_rigid(robot, model))
        rods = rod_loads(robot, pairs, cup_half_angle, cup_axis)
        shoulder = _shoulder(robot, motion, pairs)
    loads = ConstraintLoads(
        pairs.axial_elbow,
        pairs.axial_platform,
        pairs.axial_max,
        pairs.axial_min,
        pairs.elbow,
        pairs.platform,
        pairs.couple,
        *shoulder,
        pairs.platform_moment,
        *pairs.tool,
        rods,
        pairs.spindle,
        pairs.halves,
        pairs.nut_torque,
    )
    return _first_row(loads) if motion.single else loads


def _is_rigid(robot: Robot, model: str) -> bool:
    """Whether the bodies' ten parameters count."""
    if model not in ("exact", "rigid"):
        raise InputError("model", model, "'exact' or 'rigid'")
    if model == "exact":
        return False
    wide = any(strut.ten is not None for strut in robot.struts)
    if wide and robot.legs != 3:
        raise InputError("model", model, "'exact' for struts with ten parameters on this platform")
    return robot.legs == 3


class _Shoulders(NamedTuple):
    """Force and moment (N, legs, 3) of the base on the arms, and the part that no couple changes.

    The moment is normal to t, and None where the pairs' couples are not known. Of a rail: the force
    across it on its carriage, and the moment about the carriage's joint.
    """

    force: FloatArray
    moment: FloatArray | None
    tilt: FloatArray


def _shoulder(robot: Robot, state: State, pairs: PairLoads) -> _Shoulders:
    if robot.linear:
        rail = np.array([frame.z for frame in robot.geometry.frames])
        mass = np.array([[arm.mass] for arm in robot.arms])
        force = mass * pairs.at_elbow + pairs.elbow
        force = force - contract("nik,ik->ni", force, rail)[..., None] * rail
        moment = -pairs.arm_moment
    else:
        c, s, legs = state.cos_q[..., None], state.sin_q[..., None], robot.legs
        up = np.array([frame.z for frame in robot.geometry.frames])
        along, above = c * pairs.e_r - s * up, s * pairs.e_r + c * up
        qd2, qdd = state.qd[:, :legs, None] ** 2, state.qdd[:, :legs, None]
        com, offset, mass, elbow_mass = (
            np.array([[getattr(arm, name)] for arm in robot.arms])
            for name in ("com", "com_offset", "mass", "elbow_mass")
        )
        at_com = com * (-above * qdd - along * qd2) + offset * (along * qdd - above * qd2)
        pull = mass * (at_com + np.array([0.0, 0.0, robot.gravity]))
        force = pull + elbow_mass * pairs.at_elbow + pairs.elbow
        lever = np.asarray(robot.rotary.arm_length)[:, None] * along
        moment = cross_rows(lever, pairs.elbow + elbow_mass * pairs.at_elbow) - pairs.arm_moment
        moment = moment + cross_rows(com * along + offset * above, pull)
        drive = contract("nik,ik->ni", moment, pairs.t)
        moment = moment - drive[..., None] * pairs.t
    across = cross_rows(pairs.t, pairs.u)
    seen = cross_rows(pairs.t, -across)  # the strut, less its part along t
    tilt = _along(moment, seen) / np.linalg.norm(seen, axis=2)
    if pairs.couple is None:
        return _Shoulders(force, None, tilt)
    return _Shoulders(force, moment - pairs.couple[..., None] * across, tilt)


def _first_row(loads: ConstraintLoads) -> ConstraintLoads:
    """The loads of the one sample, without its row."""
    values: list[object] = []
    for item in fields(loads):
        value = getattr(loads, item.name)
        if isinstance(value, RodLoads | SpindleLoads):
            rows = (restore(getattr(value, part.name), True) for part in fields(value))
            value = type(value)(*rows)
        elif value is not None:
            value = restore(value, True)
        values.append(value)
    return ConstraintLoads(*values)  # type: ignore[arg-type]
