"""The limbs: struts couple what the drives move with what they carry, over components.

Every strut keeps its length, s.(ad - E' qd) = 0, so S pd = diag(d) qd with the strut vectors as the
rows of S and d_i = s_i.E'_i. From this follow the rates in both directions, J = S^-1 diag(d) and
its rate. `actuation` gives E, E' and E'', `platform` the attachments and S^-1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from deltadyn.arrays import Component
from deltadyn.kinematics.actuation import Limb, Strut, Three, limbs
from deltadyn.kinematics.platform import attachments, platform_point, strut_inverse
from deltadyn.small import Inverse, Vector, dot, times

__all__ = [
    "ArmMap",
    "Limb",
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


class Rods(NamedTuple):
    """The three struts in their limbs' axes and in those of the base, with S^-1."""

    local: list[Strut]
    base: list[Vector]
    inverse: Inverse


class ArmMap(NamedTuple):
    """E'_i and its rate E''_i qd_i, and the columns of J and Jd that belong to the arms."""

    e1: list[Vector]
    e1_rate: list[Vector]
    J: list[Vector]
    Jd: list[Vector]


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


def rods_of(three: Three, c: Vector, s: Vector, p: Vector) -> Rods:
    """The struts of arms at cos, sin = c, s with the platform at p."""
    at = attachments(p)
    local = [limb.strut(c[i], s[i], at[i]) for i, limb in enumerate(three)]
    base = [limb.in_base(rod) for limb, rod in zip(three, local, strict=True)]
    return Rods(local, [*base], strut_inverse(base))


def arm_directions(
    xp: Any, three: Three, p: Vector, elbows: Any = (1, 1, 1)
) -> tuple[Vector, Vector]:
    """cos and sin of the arm angles at platform points p, NaN where an arm cannot reach."""
    at = attachments(p)
    pairs = [limb.position(xp, at[i], elbows[i]) for i, limb in enumerate(three)]
    c, s = zip(*pairs, strict=True)
    return c, s


def pairs_of(xp: Any, three: Three, q: Vector) -> tuple[Vector, Vector]:
    """The pairs (c, s) of joint coordinates, with which the closed forms work."""
    c, s = zip(*(limb.pair(xp, q[i]) for i, limb in enumerate(three)), strict=True)
    return c, s


def coordinates_of(xp: Any, three: Three, c: Vector, s: Vector) -> Vector:
    """The joint coordinates of pairs, rad or m."""
    return tuple(limb.coordinate(xp, c[i], s[i]) for i, limb in enumerate(three))


def joint_rates(
    three: Three, c: Vector, s: Vector, p: Vector, pd: Vector, pdd: Vector
) -> tuple[Vector, Vector]:
    """qd and qdd of the arms for a motion of the platform; psi passes through."""
    pairs = [limb.rates(c[i], s[i], p, pd, pdd) for i, limb in enumerate(three)]
    qd, qdd = zip(*pairs, strict=True)
    return (*qd, *pd[3:]), (*qdd, *pdd[3:])


def platform_rates(
    three: Three, rods: Rods, c: Vector, s: Vector, qd: Vector, qdd: Vector
) -> tuple[Vector, Vector]:
    """pd and pdd of arms that move at qd, qdd, from S pd = d qd; psi passes through.

    S pdd = d qdd + s.E'' qd^2 - |pd - E' qd|^2, the rate of s.(pd - E' qd) = 0.
    """
    struts, inverse = rods.local, rods.inverse
    pd = inverse.solve([struts[i].d * qd[i] for i in range(3)])
    right = []
    for i, limb in enumerate(three):
        bend = limb.bend(c[i], s[i], struts[i])
        slip = limb.slip_square(c[i], s[i], qd[i], pd)
        right.append(struts[i].d * qdd[i] + bend * (qd[i] * qd[i]) - slip)
    return (*pd, *qd[3:]), (*inverse.solve(right), *qdd[3:])


def jacobian_columns(rods: Rods) -> list[Vector]:
    """dp/dq_i of the three arms, J = S^-1 diag(d): pd = sum of column i times qd_i."""
    over, normals = rods.inverse.over, rods.inverse.normals
    return [times(normals[i], rods.local[i].d * over) for i in range(3)]


def arm_map(three: Three, c: Vector, s: Vector, qd: Vector, p: Vector, pd: Vector) -> ArmMap:
    """J = S^-1 diag(d) and Jd = S^-1 (diag(dd) - Sd J), with the elbows' own maps."""
    struts, rods, strut_inverse = rods_of(three, c, s, p)
    e1 = [limb.slope(c[i], s[i]) for i, limb in enumerate(three)]
    e1_rate = [limb.slope_rate(c[i], s[i], qd[i]) for i, limb in enumerate(three)]
    sd = [tuple(pd[k] - e1[i][k] * qd[i] for k in range(3)) for i in range(3)]
    lever_rates = [dot(sd[i], e1[i]) + dot(rods[i], e1_rate[i]) for i in range(3)]
    inverse = strut_inverse.columns()
    J = [times(inverse[i], struts[i].d) for i in range(3)]
    Jd = []
    for j in range(3):
        inner: list[Component] = [-dot(sd[i], J[j]) for i in range(3)]
        inner[j] = inner[j] + lever_rates[j]
        parts = [times(inverse[i], inner[i]) for i in range(3)]
        Jd.append(tuple(parts[0][k] + parts[1][k] + parts[2][k] for k in range(3)))
    return ArmMap(e1, e1_rate, J, Jd)


def pose_of(xp: Any, three: Three, q: Vector, qd: Vector) -> Pose:
    """The pose of joint angles and rates, in closed form."""
    c, s = pairs_of(xp, three, q)
    p = (*platform_point(xp, three, c, s), *q[3:])
    rods = rods_of(three, c, s, p)
    pd, pdd = platform_rates(three, rods, c, s, qd, (0.0,) * len(qd))
    e1 = tuple(limb.slope(c[i], s[i]) for i, limb in enumerate(three))
    J = tuple((*column, *(0.0,) * len(q[3:])) for column in jacobian_columns(rods))
    turned = ((0.0, 0.0, 0.0, 1.0),) if len(q) == 4 else ()
    return Pose(c, s, p, pd, pdd, tuple(rods.base), e1, (*J, *turned))
