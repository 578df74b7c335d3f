"""What the struts carry: the attachments of a platform pose, and what moves with it.

A platform kind gives the attachments a_i(x) of its coordinates x, the matrix S of the struts with
its inverse, the pose that closes the loop, and the bodies that hang on it. The first kinds are the
point, which translates and has all struts attached at p (their offsets are taken off the base), and
the spindle: the same point with a telescope from a pivot above, driven at psi by axis 4, whose row
in S is one of the unit matrix. All of it is written over components with arithmetic and `sqrt`
alone, for floats, NumPy and JAX arrays and CasADi symbols.

Why the shaft does not turn at psid: the drive turns the fork, whose pin a = (cos psi, sin psi, 0)
is horizontal. The cross turns about a, so its other pin b, which is fixed to the shaft, is normal
to both a and v: b = v x a / |v x a|. The shaft's spin is the rate of b about v.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from deltadyn.arrays import Component
from deltadyn.kinematics.actuation import Limb
from deltadyn.small import Inverse, Vector, cross, dot, inverse_of_rows

Triple = tuple[Component, Component, Component]


def attachments(p: Vector) -> tuple[Vector, Vector, Vector]:
    """Where the struts attach: for a point that does not turn, p for all three."""
    return p, p, p


def strut_inverse(rods: list[Triple]) -> Inverse:
    """S^-1 of the struts' vectors; not finite where they lie in one plane or are parallel."""
    return inverse_of_rows(rods)


def platform_point(
    xp: Any,
    three: tuple[Limb, Limb, Limb],
    c: Vector,
    s: Vector,
    side: Any = -1,
) -> Triple:
    """The point at distance l2 from the three elbows, below their plane (-1) or above (+1).

    With a, b the elbows 2 and 3 seen from elbow 1 and n = a x b:
    x = (A b x n + B n x a) / |n|^2 + t n, where A = x.a and B = x.b follow from the distances.
    NaN where the spheres do not meet.
    """
    elbow = [limb.elbow(c[i], s[i]) for i, limb in enumerate(three)]
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


# The spindle. Its upper joint is at o = (0, 0, pivot_z), the lower one is the platform point p; v
# points from o to p, downward.


class Telescope(NamedTuple):
    """Length l (m) and direction v of the rod."""

    l: Component
    v: Triple


class SpinMap(NamedTuple):
    """spin = n_p . pd + n_psi psid."""

    n_p: Triple
    n_psi: Component


def telescope(xp: Any, pivot_z: Any, p: Vector) -> Telescope:
    """l = |p - o| and v = (p - o) / l."""
    x, y, z = p[0], p[1], p[2] - pivot_z
    l = xp.sqrt(x * x + y * y + z * z)
    return Telescope(l, (x / l, y / l, z / l))


def telescope_rate(rod: Telescope, pd: Vector) -> Telescope:
    """ld = v . pd and vd = (pd - ld v) / l."""
    ld = dot(rod.v, pd)
    x, y, z = ((pd[k] - ld * rod.v[k]) / rod.l for k in range(3))
    return Telescope(ld, (x, y, z))


def telescope_acceleration(rod: Telescope, rate: Telescope, pdd: Vector) -> Telescope:
    """ldd = v.pdd + l |vd|^2 and vdd = (pdd - ldd v - 2 ld vd) / l."""
    ldd = dot(rod.v, pdd) + rod.l * dot(rate.v, rate.v)
    x, y, z = ((pdd[k] - ldd * rod.v[k] - 2 * rate.l * rate.v[k]) / rod.l for k in range(3))
    return Telescope(ldd, (x, y, z))


def turned(rod: Telescope, x: Vector) -> Triple:
    """B x with B = dv/dp = (1 - v v^T) / l."""
    along = dot(rod.v, x)
    first, second, third = ((x[k] - along * rod.v[k]) / rod.l for k in range(3))
    return first, second, third


def spin_map(rod: Telescope, c: Component, s: Component) -> SpinMap:
    """The shaft's spin about v = (v_z psid - e (v x a) . vd) / (1 - e^2), with e = a . v.

    c, s are cos and sin of psi. (v x a) is normal to v, so (v x a) . vd = (v x a) . pd / l.
    """
    v = rod.v
    e = c * v[0] + s * v[1]
    over = 1 / (1 - e * e)
    normal = cross(v, (c, s, 0.0))
    x, y, z = (-e * over / rod.l * normal[k] for k in range(3))
    return SpinMap((x, y, z), v[2] * over)


def spin_map_rate(
    rod: Telescope, rate: Telescope, c: Component, s: Component, psid: Component
) -> SpinMap:
    """Time rate of `spin_map`, with the fork turning at psid."""
    v, vd = rod.v, rate.v
    e = c * v[0] + s * v[1]
    ed = c * vd[0] + s * vd[1] + psid * (c * v[1] - s * v[0])
    over = 1 / (1 - e * e)
    growth = 2 * e * ed * over  # relative rate of `over`
    normal = cross(v, (c, s, 0.0))
    forked, moved = cross(v, (-s * psid, c * psid, 0.0)), cross(vd, (c, s, 0.0))
    along = -(ed + e * growth - e * rate.l / rod.l) * over / rod.l
    across = -e * over / rod.l
    x, y, z = (along * normal[k] + across * (forked[k] + moved[k]) for k in range(3))
    return SpinMap((x, y, z), (vd[2] + v[2] * growth) * over)
