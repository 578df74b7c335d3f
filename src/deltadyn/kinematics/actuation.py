"""What a drive moves: the elbow E(q) of a limb, its slope E' and its bend E'', over components.

An actuation is a small value with the methods of `RotaryArm`, written with arithmetic and `sqrt`
alone, so that one source runs on floats, NumPy and JAX arrays and CasADi symbols. The rest of the
model asks a limb for nothing else. The joint coordinate comes as the pair that the closed forms
need, for an arm its cosine and sine (c, s).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from deltadyn.arrays import Component
from deltadyn.robot import Robot
from deltadyn.small import Vector


class Strut(NamedTuple):
    """The strut vector s = a - E in the limb's axes and d = s . E' (m^2)."""

    radial: Component
    tangential: Component
    z: Component
    d: Component


class RotaryArm(NamedTuple):
    """Shrunk radius r, arm l1, strut l2 (m), cosine and sine of the azimuth of one limb.

    The platform's radius is taken off the base's (shrunk base), so that all struts attach at the
    platform point. In the limb's axes E = (r + l1 c, 0, -l1 s), E' = -l1 (s, 0, c) and
    E'' = -l1 (c, 0, -s), with the arm angle counted downward from the horizontal.
    """

    r: Any
    l1: Any
    l2: Any
    ca: Any
    sa: Any

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
        n = elbow * xp.sqrt(n2 - k * k)
        return (h * k - z * n) / n2, -(z * k + h * n) / n2

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


#: One limb: its actuation with the length of its strut.
Limb = RotaryArm


def limbs(robot: Robot) -> tuple[Limb, Limb, Limb]:
    """The actuations of the three limbs."""
    g = robot.geometry
    first, second, third = (
        RotaryArm(
            g.shrunk_radius[i],
            g.arm_length[i],
            g.strut_length[i],
            math.cos(g.azimuth[i]),
            math.sin(g.azimuth[i]),
        )
        for i in range(3)
    )
    return first, second, third
