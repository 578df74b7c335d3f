"""The limbs: struts couple what the drives move with what they carry, over components.

Every strut keeps its length, s.(ad - E' qd) = 0, so S pd = diag(d) qd with the strut vectors as the
rows of S and d_i = s_i.E'_i. From this follow the rates in both directions, J = S^-1 diag(d) and
its rate. `actuation` gives E, E' and E'', `platform` the attachments and S^-1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from deltadyn.arrays import Component
from deltadyn.kinematics.actuation import Limb, Strut, actuated
from deltadyn.kinematics.platform import (
    POINT,
    Articulated,
    Carrier,
    Helical,
    Limbs,
    Plane,
    platform_point,
)
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform, PlanarPlatform
from deltadyn.robot.robot import remembered
from deltadyn.small import Vector, dot, times

__all__ = [
    "ArmMap",
    "Limb",
    "Limbs",
    "Pose",
    "Rods",
    "Strut",
    "arm_directions",
    "arm_map",
    "coordinates_of",
    "jacobian_columns",
    "joint_rates",
    "limbs",
    "pairs_of",
    "platform_point",
    "platform_rates",
    "pose_of",
    "rods_of",
]


@remembered
def limbs(robot: Robot) -> Limbs:
    """The limbs of a robot with the platform that they carry."""
    return Limbs(actuated(robot), carrier(robot))


def carrier(robot: Robot) -> Carrier:
    """The platform of a robot as its limbs see it."""
    platform = robot.platform
    if isinstance(platform, PlanarPlatform):
        return Plane()
    if isinstance(platform, ArticulatedPlatform):
        return Articulated(platform.phi0, 1 / platform.ratio, *platform.sigma)
    if isinstance(platform, HelicalPlatform):
        return Helical(*platform.sigma)
    return POINT


class Rods(NamedTuple):
    """The struts in their limbs' axes and in those of the base, and S^-1.

    `place` is what the platform needs of its pose once for all limbs.
    """

    local: list[Strut]
    base: list[Vector]
    inverse: Any
    place: Any


class ArmMap(NamedTuple):
    """E'_i and its rate E''_i qd_i, and the columns of J and Jd that belong to the arms.

    K[i][j] is what attachment i moves at for one qd_j, with its rate Kd: ad_i = K_i qd.
    """

    e1: list[Vector]
    e1_rate: list[Vector]
    J: list[Vector]
    Jd: list[Vector]
    K: list[list[Vector]]
    Kd: list[list[Vector]]


class Pose(NamedTuple):
    """Where the mechanism is and how it moves at qdd = 0."""

    c: Vector  # cos and sin of the arm angles
    s: Vector
    p: Vector  # (dof,), m [, rad]
    pd: Vector
    pdd: Vector  # at qdd = 0: Jd qd
    rods: tuple[Vector, ...]  # strut vectors s_i, m
    e1: tuple[Vector, ...]  # E'_i, m/rad
    J: tuple[Vector, ...]  # columns of the Jacobian, each (dof,)


def rods_of(xp: Any, legs: Limbs, c: Vector, s: Vector, p: Vector) -> Rods:
    """The struts of arms at cos, sin = c, s with the platform at p."""
    own = legs.carrier
    place = own.place(xp, p)
    local = [limb.strut(c[i], s[i], own.attachment(place, i, p)) for i, limb in enumerate(legs)]
    base: list[Vector] = [limb.in_base(rod) for limb, rod in zip(legs, local, strict=True)]
    return Rods(local, base, own.inverse(place, base), place)


def arm_directions(
    xp: Any, legs: Limbs, p: Vector, elbows: Any = (1, 1, 1, 1)
) -> tuple[Vector, Vector]:
    """cos and sin of the arm angles at platform points p, NaN where an arm cannot reach."""
    own = legs.carrier
    place = own.place(xp, p)
    pairs = [
        limb.position(xp, own.attachment(place, i, p), elbows[i]) for i, limb in enumerate(legs)
    ]
    c, s = zip(*pairs, strict=True)
    return c, s


def pairs_of(xp: Any, legs: Limbs, q: Vector) -> tuple[Vector, Vector]:
    """The pairs (c, s) of joint coordinates, with which the closed forms work."""
    c, s = zip(*(limb.pair(xp, q[i]) for i, limb in enumerate(legs)), strict=True)
    return c, s


def coordinates_of(xp: Any, legs: Limbs, c: Vector, s: Vector) -> Vector:
    """The joint coordinates of pairs, rad or m."""
    return tuple(limb.coordinate(xp, c[i], s[i]) for i, limb in enumerate(legs))


def joint_rates(
    xp: Any, legs: Limbs, c: Vector, s: Vector, p: Vector, pd: Vector, pdd: Vector
) -> tuple[Vector, Vector]:
    """qd and qdd of the arms for a motion of the platform; what an axis drives passes through."""
    own = legs.carrier
    place, n = own.place(xp, p), own.carried
    pairs = [
        limb.rates(
            c[i],
            s[i],
            own.attachment(place, i, p),
            own.velocity(place, i, pd),
            acceleration_of(own, place, i, pd, pdd),
        )
        for i, limb in enumerate(legs)
    ]
    qd, qdd = zip(*pairs, strict=True)
    return (*qd, *pd[n:]), (*qdd, *pdd[n:])


def acceleration_of(own: Carrier, place: Any, i: int, xd: Vector, xdd: Vector) -> Vector:
    """add_i = B_i xdd + Bd_i xd."""
    if own is POINT:
        return xdd
    forth, bent = own.velocity(place, i, xdd), own.bent(place, i, xd, xd)
    return tuple(forth[k] + bent[k] for k in range(3))


def platform_rates(
    legs: Limbs, rods: Rods, c: Vector, s: Vector, qd: Vector, qdd: Vector
) -> tuple[Vector, Vector]:
    """pd and pdd of arms that move at qd, qdd, from S pd = d qd; psi passes through.

    S pdd = d qdd + s.E'' qd^2 - |ad - E' qd|^2 - s.Bd pd, the rate of s.(ad - E' qd) = 0.
    """
    struts, inverse, own = rods.local, rods.inverse, legs.carrier
    n = own.carried
    pd = inverse.solve([struts[i].d * qd[i] for i in range(n)])
    right = []
    for i, limb in enumerate(legs):
        bend = limb.bend(c[i], s[i], struts[i])
        slip = limb.slip_square(c[i], s[i], qd[i], own.velocity(rods.place, i, pd))
        lead = struts[i].d * qdd[i] + bend * (qd[i] * qd[i]) - slip
        if own is not POINT:
            lead = lead - dot(rods.base[i], own.bent(rods.place, i, pd, pd))
        right.append(lead)
    return (*pd, *qd[n:]), (*inverse.solve(right), *qdd[n:])


def jacobian_columns(rods: Rods) -> list[Vector]:
    """dp/dq_i of the arms, J = S^-1 diag(d): pd = sum of column i times qd_i."""
    return [rods.inverse.column(i, rod.d) for i, rod in enumerate(rods.local)]


def arm_map(
    xp: Any, legs: Limbs, c: Vector, s: Vector, qd: Vector, p: Vector, pd: Vector
) -> ArmMap:
    """J = S^-1 diag(d) and Jd = S^-1 (diag(dd) - Sd J), with the elbows' own maps.

    Sd_i J_j = slip_i.K_i,j + s_i.Bd_i J_j, with slip = ad - E' qd.
    """
    rods, own = rods_of(xp, legs, c, s, p), legs.carrier
    place, count = rods.place, range(own.carried)
    e1 = [limb.slope(c[i], s[i]) for i, limb in enumerate(legs)]
    e1_rate = [limb.slope_rate(c[i], s[i], qd[i]) for i, limb in enumerate(legs)]
    ad = [own.velocity(place, i, pd) for i in count]
    sd = [tuple(ad[i][k] - e1[i][k] * qd[i] for k in range(3)) for i in count]
    lever_rates = [dot(sd[i], e1[i]) + dot(rods.base[i], e1_rate[i]) for i in count]
    inverse = rods.inverse.columns()
    J = [times(inverse[i], rods.local[i].d) for i in count]
    K = [[own.velocity(place, i, column) for column in J] for i in count]
    bent = [[own.bent(place, i, pd, column) for column in J] for i in count]
    Jd: list[Vector] = []
    for j in count:
        inner: list[Component] = [
            -dot(sd[i], K[i][j]) - (0.0 if own is POINT else dot(rods.base[i], bent[i][j]))
            for i in count
        ]
        inner[j] = inner[j] + lever_rates[j]
        parts = [times(inverse[i], inner[i]) for i in count]
        Jd.append(tuple(_sum(part[k] for part in parts) for k in count))
    if own is POINT:
        return ArmMap(e1, e1_rate, J, Jd, K, [Jd] * len(K))
    Kd = [
        [
            tuple(a + b for a, b in zip(bent[i][j], own.velocity(place, i, Jd[j]), strict=True))
            for j in count
        ]
        for i in count
    ]
    return ArmMap(e1, e1_rate, J, Jd, K, Kd)


def _sum(parts: Iterable[Component]) -> Component:
    first, *rest = parts
    for part in rest:
        first = first + part
    return first


def pose_of(xp: Any, legs: Limbs, q: Vector, qd: Vector, x: Vector | None = None) -> Pose:
    """The pose of joint angles and rates, in closed form, or with the platform at a known x."""
    n = legs.carrier.carried
    c, s = pairs_of(xp, legs, q)
    p = (*platform_point(xp, legs, c, s), *q[n:]) if x is None else tuple(x)
    rods = rods_of(xp, legs, c, s, p)
    pd, pdd = platform_rates(legs, rods, c, s, qd, (0.0,) * len(qd))
    e1 = tuple(limb.slope(c[i], s[i]) for i, limb in enumerate(legs))
    J = tuple((*column, *(0.0,) * len(q[n:])) for column in jacobian_columns(rods))
    turned = ((0.0, 0.0, 0.0, 1.0),) if len(q) == n + 1 else ()
    return Pose(c, s, p, pd, pdd, tuple(rods.base), e1, (*J, *turned))
