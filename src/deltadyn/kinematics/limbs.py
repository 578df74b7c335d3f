"""Closed-form kinematics of one limb, over array components.

These functions use arithmetic and `sqrt` alone, so one source runs on floats, NumPy and JAX
arrays and CasADi symbols. In the limb's own axes (radial, tangential, z) of the shrunk base the
elbow is E = (l1 cos th, 0, -l1 sin th) and the strut s = (h - l1 cos th, w, z + l1 sin th).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from deltadyn.arrays import Component
from deltadyn.robot import Robot


class Limb(NamedTuple):
    """Constants of one limb: shrunk radius r, lengths l1, l2 (m), cosine and sine of azimuth."""

    r: Any
    l1: Any
    l2: Any
    ca: Any
    sa: Any


class Strut(NamedTuple):
    """The strut vector s in the limb's axes and d = s . E' (m^2)."""

    radial: Component
    tangential: Component
    z: Component
    d: Component


def limbs(robot: Robot) -> tuple[Limb, Limb, Limb]:
    """The constants of the three limbs."""
    g = robot.geometry
    first, second, third = (
        Limb(
            g.shrunk_radius[i],
            g.arm_length[i],
            g.strut_length[i],
            math.cos(g.azimuth[i]),
            math.sin(g.azimuth[i]),
        )
        for i in range(3)
    )
    return first, second, third


def local(limb: Limb, x: Component, y: Component) -> tuple[Component, Component]:
    """Radial and tangential part of a vector (x, y)."""
    return x * limb.ca + y * limb.sa, y * limb.ca - x * limb.sa


def arm_direction(
    xp: Any, limb: Limb, p: tuple[Component, ...], elbow: int = 1
) -> tuple[Component, Component]:
    """cos and sin of the arm angle: h cos th - z sin th = k, with the elbow outward (+1).

    NaN where the point cannot be reached.
    """
    x, y, z = p[:3]
    radial, w = local(limb, x, y)
    h = radial - limb.r
    n2 = h * h + z * z
    k = (n2 + w * w + (limb.l1 * limb.l1 - limb.l2 * limb.l2)) / (2 * limb.l1)
    n = elbow * xp.sqrt(n2 - k * k)
    return (h * k - z * n) / n2, -(z * k + h * n) / n2


def strut(limb: Limb, c: Component, s: Component, p: tuple[Component, ...]) -> Strut:
    """The strut of an arm at cos, sin = c, s; d = -l1 (h sin th + z cos th)."""
    x, y, z = p[:3]
    radial, w = local(limb, x, y)
    h = radial - limb.r
    return Strut(h - limb.l1 * c, w, z + limb.l1 * s, -limb.l1 * (h * s + z * c))


def joint_rates(
    limb: Limb,
    c: Component,
    s: Component,
    p: tuple[Component, ...],
    pd: tuple[Component, ...],
    pdd: tuple[Component, ...],
) -> tuple[Component, Component]:
    """qd = s.pd / d and qdd = (s.(pdd - E'' qd^2) + |pd - E' qd|^2) / d of one arm."""
    rod = strut(limb, c, s, p)
    hd, wd = local(limb, pd[0], pd[1])
    hdd, wdd = local(limb, pdd[0], pdd[1])
    over_d = 1 / rod.d
    qd = (rod.radial * hd + rod.tangential * wd + rod.z * pd[2]) * over_d
    slip_r = hd + limb.l1 * s * qd
    slip_z = pd[2] + limb.l1 * c * qd
    centripetal = limb.l1 * qd * qd
    qdd = (
        rod.radial * (hdd + c * centripetal)
        + rod.tangential * wdd
        + rod.z * (pdd[2] - s * centripetal)
        + (slip_r * slip_r + wd * wd + slip_z * slip_z)
    ) * over_d
    return qd, qdd


def platform_point(
    xp: Any,
    three: tuple[Limb, Limb, Limb],
    c: tuple[Component, ...],
    s: tuple[Component, ...],
    side: int = -1,
) -> tuple[Component, Component, Component]:
    """The point at distance l2 from the three elbows, below their plane (-1) or above (+1).

    With a, b the elbows 2 and 3 seen from elbow 1 and n = a x b:
    x = (A b x n + B n x a) / |n|^2 + t n, where A = x.a and B = x.b follow from the distances.
    NaN where the spheres do not meet.
    """
    elbow = [
        (
            (limb.r + limb.l1 * c[i]) * limb.ca,
            (limb.r + limb.l1 * c[i]) * limb.sa,
            -limb.l1 * s[i],
        )
        for i, limb in enumerate(three)
    ]
    a = tuple(elbow[1][k] - elbow[0][k] for k in range(3))
    b = tuple(elbow[2][k] - elbow[0][k] for k in range(3))
    n = cross(a, b)
    square = [limb.l2 * limb.l2 for limb in three]
    along_a = (dot(a, a) + (square[0] - square[1])) / 2
    along_b = (dot(b, b) + (square[0] - square[2])) / 2
    nn = dot(n, n)
    bn, na = cross(b, n), cross(n, a)
    foot = tuple((along_a * bn[k] + along_b * na[k]) / nn for k in range(3))
    t = xp.sqrt((square[0] - dot(foot, foot)) / nn)
    t = side * t * xp.where(n[2] < 0, -1.0, 1.0)
    x, y, z = (elbow[0][k] + foot[k] + t * n[k] for k in range(3))
    return x, y, z


def platform_rates(
    three: tuple[Limb, Limb, Limb],
    c: tuple[Component, ...],
    s: tuple[Component, ...],
    p: tuple[Component, ...],
    qd: tuple[Component, ...],
    qdd: tuple[Component, ...],
) -> tuple[tuple[Component, ...], tuple[Component, ...]]:
    """pd and pdd of arms that move at qd, qdd: S pd = d qd, by cross products of the struts.

    S pdd = d qdd + s.E'' qd^2 - |pd - E' qd|^2, the rate of s.(pd - E' qd) = 0.
    """
    rods: list[tuple[Component, ...]] = []
    struts: list[Strut] = []
    for i, limb in enumerate(three):
        rod = strut(limb, c[i], s[i], p)
        rods.append((*_base(limb, rod.radial, rod.tangential), rod.z))
        struts.append(rod)
    normals = (cross(rods[1], rods[2]), cross(rods[2], rods[0]), cross(rods[0], rods[1]))
    over = 1 / dot(rods[0], normals[0])

    def solve(right: list[Component]) -> tuple[Component, ...]:
        return tuple(
            (normals[0][k] * right[0] + normals[1][k] * right[1] + normals[2][k] * right[2]) * over
            for k in range(3)
        )

    pd = solve([struts[i].d * qd[i] for i in range(3)])
    right = []
    for i, limb in enumerate(three):
        hd, wd = local(limb, pd[0], pd[1])
        slip_r = hd + limb.l1 * s[i] * qd[i]
        slip_z = pd[2] + limb.l1 * c[i] * qd[i]
        bend = limb.l1 * (struts[i].z * s[i] - struts[i].radial * c[i])  # s . E''
        slip = slip_r * slip_r + wd * wd + slip_z * slip_z
        right.append(struts[i].d * qdd[i] + bend * (qd[i] * qd[i]) - slip)
    return pd, solve(right)


def _base(limb: Limb, radial: Component, tangential: Component) -> tuple[Component, Component]:
    """x and y of a vector in the limb's axes."""
    return (
        radial * limb.ca - tangential * limb.sa,
        radial * limb.sa + tangential * limb.ca,
    )


def dot(a: tuple[Component, ...], b: tuple[Component, ...]) -> Component:
    """a . b of two triples of components."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(
    a: tuple[Component, ...], b: tuple[Component, ...]
) -> tuple[Component, Component, Component]:
    """a x b of two triples of components."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )
