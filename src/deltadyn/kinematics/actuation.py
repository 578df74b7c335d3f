"""What a drive moves: the elbow E(q) of a limb, its slope E' and its bend E'', over components.

An actuation is a small value with the methods of `Limb`, written with arithmetic and `sqrt` alone,
so that one source runs on floats, NumPy and JAX arrays and CasADi symbols. The rest of the model
asks a limb for nothing else. The joint coordinate comes as the pair that the closed forms need: for
an arm its cosine and sine (c, s), for a carriage its place q and zero.

    RotaryArm     the standard Delta: axis tangential, arm at 0 radial
    InclinedArm   an arm about any axis, from any shoulder
    VerticalRail  a carriage on a vertical rail
    Rail          a carriage on any straight rail

The platform's joint is taken off the shoulder (shrunk base), so that all struts attach at the
platform point.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

from deltadyn.arrays import Component
from deltadyn.errors import InputError
from deltadyn.robot import Robot
from deltadyn.robot.bodies import (
    ArticulatedPlatform,
    Geometry,
    HelicalPlatform,
    LimbFrame,
    PlanarPlatform,
    RailGeometry,
)
from deltadyn.robot.robot import remembered
from deltadyn.small import Vector, cross, dot


class Strut(NamedTuple):
    """The strut vector s = a - E in the limb's axes and d = s . E' (m^2)."""

    radial: Component
    tangential: Component
    z: Component
    d: Component


class Limb(Protocol):
    """One limb: its actuation with the length of its strut."""

    turns: bool  # whether what holds the strut turns with the coordinate

    @property
    def l2(self) -> Any: ...

    @property
    def lever(self) -> Any:
        """|E'|: the arm's length in m, 1 for a carriage."""

    @staticmethod
    def pair(xp: Any, q: Component) -> tuple[Component, Component]:
        """(c, s) of a joint coordinate."""

    @staticmethod
    def coordinate(xp: Any, c: Component, s: Component) -> Component:
        """The joint coordinate of a pair, rad or m."""

    @staticmethod
    def pair_rate(c: Component, s: Component, qd: Component) -> tuple[Component, Component]:
        """The rate of the pair."""

    def axes(self) -> tuple[Vector, Vector, Vector]:
        """The limb's axes: the arm's direction at 0, the joints' pins, and up."""

    def in_base(self, rod: Strut) -> tuple[Component, Component, Component]: ...

    def position(
        self, xp: Any, attachment: Vector, elbow: Any = 1
    ) -> tuple[Component, Component]: ...

    def elbow(self, c: Component, s: Component) -> Vector: ...

    def slope(self, c: Component, s: Component) -> Vector: ...

    def slope_rate(self, c: Component, s: Component, qd: Component) -> Vector: ...

    def strut(self, c: Component, s: Component, attachment: Vector) -> Strut: ...

    def bend(self, c: Component, s: Component, rod: Strut) -> Component: ...

    def slip_square(self, c: Component, s: Component, qd: Component, ad: Vector) -> Component: ...

    def rates(
        self, c: Component, s: Component, a: Vector, ad: Vector, add: Vector
    ) -> tuple[Component, Component]: ...

    def elbow_force(
        self, mass: Component, c: Component, s: Component, qd: Component, qdd: Component
    ) -> Vector: ...

    def along_slope(
        self, mass: Component, c: Component, s: Component, add: Vector
    ) -> Component: ...

    def gravity(self, c: Component, s: Component, weight: Any, across: Any) -> Component: ...


class _Turning:
    """The coordinate of an arm: an angle, kept as its cosine and sine."""

    __slots__ = ()

    turns = True

    @staticmethod
    def pair(xp: Any, q: Component) -> tuple[Component, Component]:
        return xp.cos(q), xp.sin(q)

    @staticmethod
    def coordinate(xp: Any, c: Component, s: Component) -> Component:
        return xp.arctan2(s, c)

    @staticmethod
    def pair_rate(c: Component, s: Component, qd: Component) -> tuple[Component, Component]:
        return -s * qd, c * qd


class _Sliding:
    """The coordinate of a carriage: its place q, with a zero beside it."""

    __slots__ = ()

    turns = False

    def axes(self) -> tuple[Vector, Vector, Vector]:
        """Its numbers do not hold the joints' pins: a rail has no angles of its own."""
        raise InputError("joints of the struts", type(self).__name__, "those of arms")

    @staticmethod
    def pair(xp: Any, q: Component) -> tuple[Component, Component]:
        return q, 0.0 * q

    @staticmethod
    def coordinate(xp: Any, c: Component, s: Component) -> Component:
        return c

    @staticmethod
    def pair_rate(c: Component, s: Component, qd: Component) -> tuple[Component, Component]:
        return qd, 0.0 * qd


class _RotaryNumbers(NamedTuple):
    r: Any
    l1: Any
    l2: Any
    ca: Any
    sa: Any


class RotaryArm(_RotaryNumbers, _Turning):
    """Shrunk radius r, arm l1, strut l2 (m), cosine and sine of the azimuth of one limb.

    In the limb's axes E = (r + l1 c, 0, -l1 s), E' = -l1 (s, 0, c) and E'' = -l1 (c, 0, -s), with
    the arm angle counted downward from the horizontal.
    """

    __slots__ = ()

    @property
    def lever(self) -> Any:
        return self.l1

    def axes(self) -> tuple[Vector, Vector, Vector]:
        """Radial, tangential and z."""
        return (self.ca, self.sa, 0.0), (-self.sa, self.ca, 0.0), (0.0, 0.0, 1.0)

    def local(self, x: Component, y: Component) -> tuple[Component, Component]:
        """Radial and tangential part of a vector (x, y)."""
        return x * self.ca + y * self.sa, y * self.ca - x * self.sa

    def in_base(self, rod: Strut) -> tuple[Component, Component, Component]:
        """The strut vector in the axes of the base."""
        return (
            rod.radial * self.ca - rod.tangential * self.sa,
            rod.radial * self.sa + rod.tangential * self.ca,
            rod.z,
        )

    def position(self, xp: Any, attachment: Vector, elbow: Any = 1) -> tuple[Component, Component]:
        """c, s of the arm that reaches an attachment: h c - z s = k, with the elbow outward (+1).

        NaN where it cannot be reached.
        """
        x, y, z = attachment[:3]
        radial, w = self.local(x, y)
        h = radial - self.r
        n2 = h * h + z * z
        k = (n2 + w * w + (self.l1 * self.l1 - self.l2 * self.l2)) / (2 * self.l1)
        n, over = elbow * xp.sqrt(n2 - k * k), 1 / n2
        return (h * k - z * n) * over, -(z * k + h * n) * over

    def elbow(self, c: Component, s: Component) -> Vector:
        """E in the axes of the shrunk base (m)."""
        reach = self.r + self.l1 * c
        return reach * self.ca, reach * self.sa, -self.l1 * s

    def slope(self, c: Component, s: Component) -> Vector:
        """E' (m/rad)."""
        radial = -self.l1 * s
        return radial * self.ca, radial * self.sa, -self.l1 * c

    def slope_rate(self, c: Component, s: Component, qd: Component) -> Vector:
        """E'' qd: the rate of E' (m/(rad s))."""
        radial = -self.l1 * c * qd
        return radial * self.ca, radial * self.sa, self.l1 * s * qd

    def strut(self, c: Component, s: Component, attachment: Vector) -> Strut:
        """The strut to an attachment; d = -l1 (h s + z c)."""
        x, y, z = attachment[:3]
        radial, w = self.local(x, y)
        h = radial - self.r
        return Strut(h - self.l1 * c, w, z + self.l1 * s, -self.l1 * (h * s + z * c))

    def bend(self, c: Component, s: Component, rod: Strut) -> Component:
        """s . E'' (m^2)."""
        return self.l1 * (rod.z * s - rod.radial * c)

    def slip_square(self, c: Component, s: Component, qd: Component, ad: Vector) -> Component:
        """|ad - E' qd|^2: how fast the attachment moves away from the elbow (m^2/s^2)."""
        hd, wd = self.local(ad[0], ad[1])
        slip_r = hd + self.l1 * s * qd
        slip_z = ad[2] + self.l1 * c * qd
        return slip_r * slip_r + wd * wd + slip_z * slip_z

    def rates(
        self, c: Component, s: Component, a: Vector, ad: Vector, add: Vector
    ) -> tuple[Component, Component]:
        """qd = s.ad / d and qdd = (s.(add - E'' qd^2) + |ad - E' qd|^2) / d."""
        rod = self.strut(c, s, a)
        hd, wd = self.local(ad[0], ad[1])
        hdd, wdd = self.local(add[0], add[1])
        over_d = 1 / rod.d
        qd = (rod.radial * hd + rod.tangential * wd + rod.z * ad[2]) * over_d
        centripetal = self.l1 * qd * qd
        qdd = (
            rod.radial * (hdd + c * centripetal)
            + rod.tangential * wdd
            + rod.z * (add[2] - s * centripetal)
            + self.slip_square(c, s, qd, ad)
        ) * over_d
        return qd, qdd

    def elbow_force(
        self, mass: Component, c: Component, s: Component, qd: Component, qdd: Component
    ) -> Vector:
        """m (E' qdd + E'' qd^2): what accelerates a mass at the elbow (N)."""
        lever, rate2 = mass * self.l1, qd * qd
        radial = -lever * (s * qdd + c * rate2)
        return self.ca * radial, self.sa * radial, lever * (s * rate2 - c * qdd)

    def along_slope(self, mass: Component, c: Component, s: Component, add: Vector) -> Component:
        """m E'.add: what an attachment's acceleration asks of the drive through a mass (N m)."""
        hdd, _ = self.local(add[0], add[1])
        lever = mass * self.l1
        return -s * (lever * hdd) - c * (lever * add[2])

    def gravity(self, c: Component, s: Component, weight: Any, across: Any) -> Component:
        """What gravity asks of the drive (N m): first moments times g, along and off the arm."""
        return -weight * c - across * s


class _InBase:
    """What follows from E, E' and E'' alone, in the axes of the base."""

    __slots__ = ()

    def in_base(self, rod: Strut) -> tuple[Component, Component, Component]:
        """The strut vector in the axes of the base, which are those of the limb."""
        return rod.radial, rod.tangential, rod.z

    def _bend_at(self, c: Component, s: Component, attachment: Vector) -> Component:
        """s . E'' of the strut to an attachment (m^2); zero on rails."""
        return 0.0

    def slip_square(self: Any, c: Component, s: Component, qd: Component, ad: Vector) -> Component:
        """|ad - E' qd|^2: how fast the attachment moves away from the elbow (m^2/s^2)."""
        slope = self.slope(c, s)
        slip = tuple(ad[k] - slope[k] * qd for k in range(3))
        return dot(slip, slip)

    def rates(
        self: Any, c: Component, s: Component, a: Vector, ad: Vector, add: Vector
    ) -> tuple[Component, Component]:
        """qd = s.ad / d and qdd = (s.(add - E'' qd^2) + |ad - E' qd|^2) / d."""
        rod = self.strut(c, s, a)
        over_d = 1 / rod.d
        qd = dot(rod, ad) * over_d
        bent = dot(rod, add) - self._bend_at(c, s, a) * (qd * qd)
        return qd, (bent + self.slip_square(c, s, qd, ad)) * over_d

    def along_slope(
        self: Any, mass: Component, c: Component, s: Component, add: Vector
    ) -> Component:
        """m E'.add: what an attachment's acceleration asks of the drive through a mass."""
        return mass * dot(self.slope(c, s), add)


class _InclinedNumbers(NamedTuple):
    jx: Any
    jy: Any
    jz: Any
    ax: Any
    ay: Any
    az: Any
    bx: Any
    by: Any
    bz: Any
    l1: Any
    l2: Any


class InclinedArm(_InclinedNumbers, _InBase, _Turning):
    """Shoulder J0 (jx, jy, jz), the arm's direction at 0 and at 90 degrees (a, b), l1 and l2 (m).

    E = J0 + l1 (c a + s b), E' = l1 (c b - s a), E'' = -(E - J0). The standard arm has a radial and
    b straight down; the joint axis is a x b.
    """

    __slots__ = ()

    @property
    def lever(self) -> Any:
        return self.l1

    def axes(self) -> tuple[Vector, Vector, Vector]:
        """The arm's direction at 0, the joint axis a x b, and -b."""
        a, b = self[3:6], self[6:9]
        return a, cross(a, b), (-b[0], -b[1], -b[2])

    def _from_shoulder(self, attachment: Vector) -> Vector:
        return attachment[0] - self.jx, attachment[1] - self.jy, attachment[2] - self.jz

    def position(self, xp: Any, attachment: Vector, elbow: Any = 1) -> tuple[Component, Component]:
        """c, s of the arm that reaches an attachment: h c + v s = k, with the elbow outward (+1).

        NaN where it cannot be reached.
        """
        w, (h, v) = self._from_shoulder(attachment), self._in_plane(attachment)
        n2 = h * h + v * v
        k = (dot(w, w) + (self.l1 * self.l1 - self.l2 * self.l2)) / (2 * self.l1)
        n, over = elbow * xp.sqrt(n2 - k * k), 1 / n2
        return (h * k + v * n) * over, (v * k - h * n) * over

    def _along(self, c: Component, s: Component) -> Vector:
        """l1 (c a + s b): from shoulder to elbow."""
        x, y = self.l1 * c, self.l1 * s
        return (
            x * self.ax + y * self.bx,
            x * self.ay + y * self.by,
            x * self.az + y * self.bz,
        )

    def elbow(self, c: Component, s: Component) -> Vector:
        """E in the axes of the shrunk base (m)."""
        x, y, z = self._along(c, s)
        return self.jx + x, self.jy + y, self.jz + z

    def slope(self, c: Component, s: Component) -> Vector:
        """E' (m/rad)."""
        x, y = self.l1 * c, self.l1 * s
        return (
            x * self.bx - y * self.ax,
            x * self.by - y * self.ay,
            x * self.bz - y * self.az,
        )

    def slope_rate(self, c: Component, s: Component, qd: Component) -> Vector:
        """E'' qd: the rate of E' (m/(rad s))."""
        x, y, z = self._along(c, s)
        return -x * qd, -y * qd, -z * qd

    def _in_plane(self, attachment: Vector) -> tuple[Component, Component]:
        """h and v of the attachment: along the arm at 0 and at 90 degrees, from the shoulder."""
        w = self._from_shoulder(attachment)
        return dot(w, self[3:6]), dot(w, self[6:9])

    def strut(self, c: Component, s: Component, attachment: Vector) -> Strut:
        """The strut to an attachment; d = (a - J0).E', since the arm is normal to E'."""
        w, arm, (h, v) = (
            self._from_shoulder(attachment),
            self._along(c, s),
            self._in_plane(attachment),
        )
        x, y, z = (w[k] - arm[k] for k in range(3))
        return Strut(x, y, z, self.l1 * c * v - self.l1 * s * h)

    def bend(self, c: Component, s: Component, rod: Strut) -> Component:
        """s . E'' (m^2)."""
        return -dot(rod, self._along(c, s))

    def _bend_at(self, c: Component, s: Component, attachment: Vector) -> Component:
        """s . E'' = l1^2 - (a - J0).(E - J0) (m^2)."""
        h, v = self._in_plane(attachment)
        return self.l1 * self.l1 - (self.l1 * c * h + self.l1 * s * v)

    def elbow_force(
        self, mass: Component, c: Component, s: Component, qd: Component, qdd: Component
    ) -> Vector:
        """m (E' qdd + E'' qd^2): what accelerates a mass at the elbow (N)."""
        ahead, rate2 = mass * qdd, mass * (qd * qd)
        slope, arm = self.slope(c, s), self._along(c, s)
        x, y, z = (slope[k] * ahead - arm[k] * rate2 for k in range(3))
        return x, y, z

    def gravity(self, c: Component, s: Component, weight: Any, across: Any) -> Component:
        """What gravity asks of the drive (N m): first moments times g, along and off the arm."""
        level, upright = weight * self.bz + across * self.az, across * self.bz - weight * self.az
        return c * level + s * upright


class _RailNumbers(NamedTuple):
    jx: Any
    jy: Any
    jz: Any
    ux: Any
    uy: Any
    uz: Any
    l2: Any


class Rail(_RailNumbers, _InBase, _Sliding):
    """A rail through J0 (jx, jy, jz) along the unit vector u, and the strut l2 (m).

    E = J0 + q u, E' = u, E'' = 0; q in m along u, the drive's force in N. A horizontal u points
    outward, any other upward: a positive force lifts.
    """

    __slots__ = ()

    lever = 1.0

    def position(self, xp: Any, attachment: Vector, elbow: Any = 1) -> tuple[Component, Component]:
        """q = f + sqrt(l2^2 - |w|^2 + f^2) with w = a - J0 and f = w.u; the carriage above (+1).

        NaN where it cannot be reached: the attachment is farther than l2 from the rail.
        """
        w = self._from_zero(attachment)
        f = dot(w, self[3:6])
        q = f + elbow * xp.sqrt(self.l2 * self.l2 - dot(w, w) + f * f)
        return self.pair(xp, q)

    def _from_zero(self, attachment: Vector) -> Vector:
        """w: the attachment seen from the rail's point of q = 0."""
        return attachment[0] - self.jx, attachment[1] - self.jy, attachment[2] - self.jz

    def elbow(self, c: Component, s: Component) -> Vector:
        """E in the axes of the shrunk base (m)."""
        return self.jx + c * self.ux, self.jy + c * self.uy, self.jz + c * self.uz

    def slope(self, c: Component, s: Component) -> Vector:
        """E' = u."""
        return self.ux, self.uy, self.uz

    def slope_rate(self, c: Component, s: Component, qd: Component) -> Vector:
        """E'' qd = 0."""
        return 0.0, 0.0, 0.0

    def strut(self, c: Component, s: Component, attachment: Vector) -> Strut:
        """The strut to an attachment; d = s.u = w.u - q (m)."""
        w = self._from_zero(attachment)
        x, y, z = w[0] - c * self.ux, w[1] - c * self.uy, w[2] - c * self.uz
        return Strut(x, y, z, dot(w, self[3:6]) - c)

    def bend(self, c: Component, s: Component, rod: Strut) -> Component:
        """s . E'' = 0."""
        return 0.0

    def elbow_force(
        self, mass: Component, c: Component, s: Component, qd: Component, qdd: Component
    ) -> Vector:
        """m u qdd: what accelerates a mass at the elbow (N)."""
        return mass * self.ux * qdd, mass * self.uy * qdd, mass * self.uz * qdd

    def along_slope(self, mass: Component, c: Component, s: Component, add: Vector) -> Component:
        """m u.add."""
        return dot((mass * self.ux, mass * self.uy, mass * self.uz), add)

    def gravity(self, c: Component, s: Component, weight: Any, across: Any) -> Component:
        """What gravity asks of the drive (N): the weight along the rail."""
        return weight * self.uz


class _VerticalNumbers(NamedTuple):
    jx: Any
    jy: Any
    jz: Any
    l2: Any


class VerticalRail(_VerticalNumbers, _InBase, _Sliding):
    """A vertical rail through J0 (jx, jy, jz), and the strut l2 (m): `Rail` with u = z."""

    __slots__ = ()

    lever = 1.0

    def position(self, xp: Any, attachment: Vector, elbow: Any = 1) -> tuple[Component, Component]:
        """q = w_z + sqrt(l2^2 - w_x^2 - w_y^2) with w = a - J0, the carriage above (+1)."""
        x, y = attachment[0] - self.jx, attachment[1] - self.jy
        root = xp.sqrt(self.l2 * self.l2 - x * x - y * y)
        return self.pair(xp, attachment[2] - self.jz + elbow * root)

    def elbow(self, c: Component, s: Component) -> Vector:
        """E in the axes of the shrunk base (m)."""
        return self.jx, self.jy, self.jz + c

    def slope(self, c: Component, s: Component) -> Vector:
        """E' = z."""
        return 0.0, 0.0, 1.0

    def slope_rate(self, c: Component, s: Component, qd: Component) -> Vector:
        """E'' qd = 0."""
        return 0.0, 0.0, 0.0

    def strut(self, c: Component, s: Component, attachment: Vector) -> Strut:
        """The strut to an attachment; d = s_z (m)."""
        z = attachment[2] - self.jz - c
        return Strut(attachment[0] - self.jx, attachment[1] - self.jy, z, z)

    def bend(self, c: Component, s: Component, rod: Strut) -> Component:
        """s . E'' = 0."""
        return 0.0

    def slip_square(self, c: Component, s: Component, qd: Component, ad: Vector) -> Component:
        """|ad - E' qd|^2 (m^2/s^2)."""
        along = ad[2] - qd
        return ad[0] * ad[0] + ad[1] * ad[1] + along * along

    def elbow_force(
        self, mass: Component, c: Component, s: Component, qd: Component, qdd: Component
    ) -> Vector:
        """m z qdd: what accelerates a mass at the elbow (N)."""
        return 0.0, 0.0, mass * qdd

    def along_slope(self, mass: Component, c: Component, s: Component, add: Vector) -> Component:
        """m add_z."""
        return mass * add[2]

    def gravity(self, c: Component, s: Component, weight: Any, across: Any) -> Component:
        """What gravity asks of the drive (N)."""
        return weight


#: The actuations by the name that kernels and packed numbers know them by.
ACTUATIONS: dict[str, Any] = {
    "rotary": RotaryArm,
    "inclined": InclinedArm,
    "vertical": VerticalRail,
    "rail": Rail,
}


#: The platforms beside the point by their names in kernels, and the limbs that hold each.
PLATFORMS: dict[str, tuple[type, int]] = {
    "planar": (PlanarPlatform, 2),
    "articulated": (ArticulatedPlatform, 4),
    "helical": (HelicalPlatform, 4),
}
HALVES = ("articulated", "helical")  # those whose pose is followed by Newton's method


@remembered
def actuation(robot: Robot) -> str:
    """Which of `backends.layout.KINDS` the robot is: the simplest that holds its geometry.

    One of `ACTUATIONS`, with one of `PLATFORMS` behind it where the platform is not the point.
    """
    if robot.linear:
        frames = robot.geometry.frames
        # vertical rails have a form of their own where three limbs carry the point alone
        plain = robot.legs == 3 and robot.spindle is None
        upright = plain and all(frame.z[2] == 1 for frame in frames)
        kind = "vertical" if upright else "rail"
    else:
        kind = "rotary" if robot.rotary.standard else "inclined"
    for platform, (body, _) in PLATFORMS.items():
        if isinstance(robot.platform, body):
            return platform if kind == "rotary" else f"{kind}_{platform}"
    return kind


def parts_of(kind: str) -> tuple[str, str]:
    """The actuation and the platform ("" for the point) of one of `backends.layout.KINDS`."""
    arm, _, platform = kind.rpartition("_")
    return (arm or "rotary", platform) if platform in PLATFORMS else (kind, "")


def legs_of(kind: str) -> int:
    """How many limbs robots of one of `backends.layout.KINDS` have."""
    platform = parts_of(kind)[1]
    return PLATFORMS[platform][1] if platform else 3


def kernel_name(name: str, kind: str, dof: int | None = None) -> str:
    """The name of a compiled kernel: "mass_3", "mass_rail_4", "inverse_kinematics_rail".

    Behind what it gives stand the composition, one of `backends.layout.KINDS`, and the number of
    axes: "platform_torque_planar_2", "platform_torque_rail_articulated_4". The standard Delta
    has no name in it, and what knows nothing of an axis that drives psi itself has no `dof`.
    """
    parts = (name, None if kind == "rotary" else kind, None if dof is None else str(dof))
    return "_".join(part for part in parts if part)


@remembered
def kernel(robot: Robot, name: str) -> str:
    """The kernel of that name for the robot."""
    return kernel_name(name, actuation(robot), robot.dof)


@remembered
def limb_kernel(robot: Robot, name: str) -> str:
    """The kernel of that name for the robot's limbs alone."""
    return kernel_name(name, actuation(robot))


def actuated(robot: Robot) -> list[Limb]:
    """The actuations of the limbs, one after the other."""
    kind, platform = parts_of(actuation(robot))
    found = limbs_of(robot.geometry, kind)
    return [in_plane(limb) for limb in found] if platform == "planar" else found


def limbs_of(g: Geometry | RailGeometry, kind: str) -> list[Limb]:
    """The limbs of a geometry as one of `ACTUATIONS` that can hold it."""
    return [_limb(g, kind, i, frame) for i, frame in enumerate(g.frames)]


def in_plane(limb: Any) -> Limb:
    """A limb in the plane y = 0 without what its numbers have across it, which are roundings."""
    across = {name: 0.0 for name in limb._fields if name in ("sa", "jy", "ay", "by", "uy")}
    flat: Limb = limb._replace(**across)
    return flat


def levers(robot: Robot) -> tuple[float, ...]:
    """|E'| of the limbs: the arms' lengths in m, 1 on rails."""
    return (1.0,) * robot.legs if robot.linear else tuple(robot.rotary.arm_length)


def _limb(g: Any, kind: str, i: int, frame: LimbFrame) -> Limb:
    l2 = g.strut_length[i]
    match kind:
        case "rotary":
            ca, sa = math.cos(g.azimuth[i]), math.sin(g.azimuth[i])
            limb: Limb = RotaryArm(g.shrunk_radius[i], g.arm_length[i], l2, ca, sa)
        case "inclined":
            bx, by, bz = (-x for x in frame.z)
            limb = InclinedArm(*frame.shoulder, *frame.x, bx, by, bz, g.arm_length[i], l2)
        case "vertical":
            limb = VerticalRail(*frame.shoulder, l2)
        case _:
            limb = Rail(*frame.shoulder, *frame.z, l2)
    return limb
