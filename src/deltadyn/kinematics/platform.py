"""What the struts carry: the attachments of a platform pose, and what moves with it.

A platform kind gives the attachments a_i(x) of its coordinates x, the matrix S of the struts with
its inverse, the pose that closes the loop, and the bodies that hang on it: the point, which
translates and has all struts attached at p (their offsets are taken off the base); the spindle, the
same point with a telescope from a pivot above, driven at psi by axis 4, whose row in S is one of
the unit matrix; the plane; the articulated and the helical platform, whose halves move apart. All
of it is written over components with arithmetic and `sqrt` alone, for floats, NumPy and JAX arrays
and CasADi symbols.

Why the shaft does not turn at psid: the drive turns the fork, whose pin a = (cos psi, sin psi, 0)
is horizontal. The cross turns about a, so its other pin b, which is fixed to the shaft, is normal
to both a and v: b = v x a / |v x a|. The shaft's spin is the rate of b about v.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from deltadyn.arrays import Component
from deltadyn.errors import InputError
from deltadyn.kinematics.actuation import Limb
from deltadyn.small import (
    Inverse,
    PairsInverse,
    PlaneInverse,
    Vector,
    cross,
    dot,
    inverse_of_rows,
)

Triple = tuple[Component, Component, Component]


class Carrier(Protocol):
    """A platform kind: where the struts attach at its coordinates x, and how that moves.

    `carried` coordinates are held by as many limbs; what x has behind them an axis drives itself.
    a_i is the attachment of limb i less its own offset (shrunk base), B_i = da_i/dx.
    """

    @property
    def carried(self) -> int: ...

    def place(self, xp: Any, x: Vector) -> Any:
        """What a pose needs once for all limbs: directions that turn with it."""

    def attachment(self, place: Any, i: int, x: Vector) -> Vector:
        """a_i."""

    def velocity(self, place: Any, i: int, xd: Vector) -> Vector:
        """B_i xd."""

    def bent(self, place: Any, i: int, xd: Vector, column: Vector) -> Vector:
        """Bd_i times a column, at the rates xd."""

    def pull(self, place: Any, i: int, force: Vector) -> Vector:
        """B_i^T times a force."""

    def inverse(self, place: Any, rods: Sequence[Vector]) -> Any:
        """S^-1 with the rows s_i^T B_i; not finite at a singular pose."""


class Point(NamedTuple):
    """A platform that translates, held by three limbs, with or without a spindle: B = 1."""

    @property
    def carried(self) -> int:
        return 3

    def place(self, xp: Any, x: Vector) -> None:
        return None

    def attachment(self, place: Any, i: int, x: Vector) -> Vector:
        return x

    def velocity(self, place: Any, i: int, xd: Vector) -> Vector:
        return xd

    def bent(self, place: Any, i: int, xd: Vector, column: Vector) -> Vector:
        return 0.0, 0.0, 0.0

    def pull(self, place: Any, i: int, force: Vector) -> Vector:
        return force

    def inverse(self, place: Any, rods: Sequence[Vector]) -> Inverse:
        """Not finite where the struts lie in one plane or are parallel."""
        return inverse_of_rows(rods)


POINT = Point()


class Plane(NamedTuple):
    """A platform that translates in the plane y = 0, held by two limbs; x = (x, z)."""

    @property
    def carried(self) -> int:
        return 2

    def place(self, xp: Any, x: Vector) -> None:
        return None

    def attachment(self, place: Any, i: int, x: Vector) -> Vector:
        return x[0], 0.0, x[1]

    def velocity(self, place: Any, i: int, xd: Vector) -> Vector:
        return xd[0], 0.0, xd[1]

    def bent(self, place: Any, i: int, xd: Vector, column: Vector) -> Vector:
        return 0.0, 0.0, 0.0

    def pull(self, place: Any, i: int, force: Vector) -> Vector:
        return force[0], force[2]

    def inverse(self, place: Any, rods: Sequence[Vector]) -> PlaneInverse:
        """Not finite where the struts are parallel."""
        (ax, _, az), (bx, _, bz) = rods
        determinant = ax * bz - az * bx
        return PlaneInverse((ax, az), (bx, bz), determinant, 1 / determinant)


class Bars(NamedTuple):
    """The bars' direction n at phi, its normal n', and the tool's rate over theirs."""

    n: Triple
    across: Triple


class Articulated(NamedTuple):
    """Two halves joined by bars (Par4, Quattro): a_i = p + sigma n(phi), phi = phi0 + psi rate.

    Limbs 1 and 2 hold half 1 at sigma_1 along the bars from the tool's axis, limbs 3 and 4 half 2.
    `rate` is 1/k of the gears between bars and tool.
    """

    phi0: Any
    rate: Any
    sigma_1: Any
    sigma_2: Any

    @property
    def carried(self) -> int:
        return 4

    def place(self, xp: Any, x: Vector) -> Bars:
        phi = self.phi0 + x[3] * self.rate
        c, s = xp.cos(phi), xp.sin(phi)
        return Bars((c, s, 0.0), (-s, c, 0.0))

    def _sigma(self, i: int) -> Any:
        return self.sigma_1 if i < 2 else self.sigma_2

    def attachment(self, place: Bars, i: int, x: Vector) -> Vector:
        sigma, n = self._sigma(i), place.n
        return x[0] + sigma * n[0], x[1] + sigma * n[1], x[2]

    def velocity(self, place: Bars, i: int, xd: Vector) -> Vector:
        lead, across = self._sigma(i) * (self.rate * xd[3]), place.across
        return xd[0] + lead * across[0], xd[1] + lead * across[1], xd[2]

    def bent(self, place: Bars, i: int, xd: Vector, column: Vector) -> Vector:
        inward = -self._sigma(i) * (self.rate * xd[3]) * (self.rate * column[3])
        return inward * place.n[0], inward * place.n[1], 0.0

    def pull(self, place: Bars, i: int, force: Vector) -> Vector:
        across = place.across
        turn = self._sigma(i) * self.rate * (across[0] * force[0] + across[1] * force[1])
        return (*force[:3], turn)

    def inverse(self, place: Bars, rods: Sequence[Vector]) -> PairsInverse:
        """Not finite where the planes of the two pairs meet in a line normal to n'."""
        return PairsInverse.of(rods, place.across, (self.sigma_1, self.sigma_2), self.rate)


class Helical(NamedTuple):
    """Two halves on one vertical axis with a screw between them (Heli4): a_i = p + sigma psi z.

    sigma_1 - sigma_2 is the screw's lead over 2 pi, in m/rad.
    """

    sigma_1: Any
    sigma_2: Any

    @property
    def carried(self) -> int:
        return 4

    def place(self, xp: Any, x: Vector) -> None:
        return None

    def _sigma(self, i: int) -> Any:
        return self.sigma_1 if i < 2 else self.sigma_2

    def attachment(self, place: Any, i: int, x: Vector) -> Vector:
        return x[0], x[1], x[2] + self._sigma(i) * x[3]

    def velocity(self, place: Any, i: int, xd: Vector) -> Vector:
        return self.attachment(place, i, xd)

    def bent(self, place: Any, i: int, xd: Vector, column: Vector) -> Vector:
        return 0.0, 0.0, 0.0

    def pull(self, place: Any, i: int, force: Vector) -> Vector:
        return (*force[:3], self._sigma(i) * force[2])

    def inverse(self, place: Any, rods: Sequence[Vector]) -> PairsInverse:
        """Not finite where the planes of the two pairs meet in a level line."""
        return PairsInverse.of(rods, (0.0, 0.0, 1.0), (self.sigma_1, self.sigma_2), 1.0)


class Limbs(tuple[Limb, ...]):
    """The limbs of a robot, one after the other, with the platform that they carry."""

    carrier: Carrier

    def __new__(cls, limbs: Sequence[Limb], carrier: Carrier = POINT) -> Limbs:
        found = super().__new__(cls, tuple(limbs))
        found.carrier = carrier
        return found


def platform_point(
    xp: Any,
    three: Limbs,
    c: Vector,
    s: Vector,
    side: Any = -1,
) -> Vector:
    """The point at distance l2 from the three elbows, below their plane (-1) or above (+1).

    With a, b the elbows 2 and 3 seen from elbow 1 and n = a x b:
    x = (A b x n + B n x a) / |n|^2 + t n, where A = x.a and B = x.b follow from the distances.
    NaN where the spheres do not meet. In the plane two circles meet; the other platforms have no
    closed form (`kinematics.assemblies`).
    """
    if isinstance(three.carrier, Plane):
        return _plane_point(xp, three, c, s, side)
    if three.carrier.carried == 4:
        allowed = "one with a closed form: translation or planar"
        raise InputError(
            "forward kinematics of the platform", type(three.carrier).__name__, allowed
        )
    elbow = [limb.elbow(c[i], s[i]) for i, limb in enumerate(three)]
    a = tuple(elbow[1][k] - elbow[0][k] for k in range(3))
    b = tuple(elbow[2][k] - elbow[0][k] for k in range(3))
    n = cross(a, b)
    square = [limb.l2 * limb.l2 for limb in three]
    along_a = (dot(a, a) + (square[0] - square[1])) / 2
    along_b = (dot(b, b) + (square[0] - square[2])) / 2
    over = 1 / dot(n, n)
    bn, na = cross(b, n), cross(n, a)
    foot = tuple((along_a * bn[k] + along_b * na[k]) * over for k in range(3))
    t = xp.sqrt((square[0] - dot(foot, foot)) * over)
    t = side * t * xp.where(n[2] < 0, -1.0, 1.0)
    return tuple(elbow[0][k] + foot[k] + t * n[k] for k in range(3))


def _plane_point(xp: Any, two: Limbs, c: Vector, s: Vector, side: Any) -> Vector:
    """(x, z) at distance l2 from both elbows, below their line (-1) or above (+1)."""
    (ax, _, az), (bx, _, bz) = (limb.elbow(c[i], s[i]) for i, limb in enumerate(two))
    x, z = bx - ax, bz - az
    square = x * x + z * z
    first, second = two[0].l2 * two[0].l2, two[1].l2 * two[1].l2
    along = (square + (first - second)) / (2 * square)
    t = xp.sqrt(first / square - along * along)
    t = side * t * xp.where(x < 0, -1.0, 1.0)
    return ax + along * x - t * z, az + along * z + t * x


# The spindle. Its upper joint is at o = (0, 0, pivot_z), the lower one is the platform point p; v
# points from o to p, downward.


class Telescope(NamedTuple):
    """Length l (m) and direction v of the rod, and 1 / l."""

    l: Component
    v: Triple
    over: Component


class TelescopeRate(NamedTuple):
    """How length and direction of the rod change, once or twice."""

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
    over = 1 / l
    return Telescope(l, (x * over, y * over, z * over), over)


def telescope_rate(rod: Telescope, pd: Vector) -> TelescopeRate:
    """ld = v . pd and vd = (pd - ld v) / l."""
    ld = dot(rod.v, pd)
    x, y, z = ((pd[k] - ld * rod.v[k]) * rod.over for k in range(3))
    return TelescopeRate(ld, (x, y, z))


def telescope_acceleration(rod: Telescope, rate: TelescopeRate, pdd: Vector) -> TelescopeRate:
    """ldd = v.pdd + l |vd|^2 and vdd = (pdd - ldd v - 2 ld vd) / l."""
    ldd = dot(rod.v, pdd) + rod.l * dot(rate.v, rate.v)
    x, y, z = ((pdd[k] - ldd * rod.v[k] - 2 * rate.l * rate.v[k]) * rod.over for k in range(3))
    return TelescopeRate(ldd, (x, y, z))


def turned(rod: Telescope, x: Vector) -> Triple:
    """B x with B = dv/dp = (1 - v v^T) / l."""
    along = dot(rod.v, x)
    first, second, third = ((x[k] - along * rod.v[k]) * rod.over for k in range(3))
    return first, second, third


def spin_map(rod: Telescope, c: Component, s: Component) -> SpinMap:
    """The shaft's spin about v = (v_z psid - e (v x a) . vd) / (1 - e^2), with e = a . v.

    c, s are cos and sin of psi. (v x a) is normal to v, so (v x a) . vd = (v x a) . pd / l.
    """
    v = rod.v
    e = c * v[0] + s * v[1]
    over = 1 / (1 - e * e)
    normal = cross(v, (c, s, 0.0))
    x, y, z = (-e * over * rod.over * normal[k] for k in range(3))
    return SpinMap((x, y, z), v[2] * over)


def spin_map_rate(
    rod: Telescope, rate: TelescopeRate, c: Component, s: Component, psid: Component
) -> SpinMap:
    """Time rate of `spin_map`, with the fork turning at psid."""
    v, vd = rod.v, rate.v
    e = c * v[0] + s * v[1]
    ed = c * vd[0] + s * vd[1] + psid * (c * v[1] - s * v[0])
    over = 1 / (1 - e * e)
    growth = 2 * e * ed * over  # relative rate of `over`
    normal = cross(v, (c, s, 0.0))
    forked, moved = cross(v, (-s * psid, c * psid, 0.0)), cross(vd, (c, s, 0.0))
    along = -(ed + e * growth - e * rate.l * rod.over) * over * rod.over
    across = -e * over * rod.over
    x, y, z = (along * normal[k] + across * (forked[k] + moved[k]) for k in range(3))
    return SpinMap((x, y, z), (vd[2] + v[2] * growth) * over)
