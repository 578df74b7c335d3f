"""The bodies of a robot and the geometry between them: frozen, in SI units, checked when made.

What each field means, and in which frame, stands in docs/conventions.md. A per-arm field takes
one number for all arms or one number each.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import RobotError
from deltadyn.robot.checks import Part, Triple, each, number, refuse

LEVEL = 0.05  # sine by which a level rail may fall outward: a calibrated one is never quite level
LEGS = (2, 3, 4)  # limbs that a robot may have


class LimbFrame(NamedTuple):
    """Where a limb begins and which way it points, in the axes of the base.

    `shoulder` is the base's joint less the platform's (shrunk base), or the rail's point of q = 0
    less the platform's joint, in m. `x` is the arm's direction at 0, and `-z` that at 90 degrees; a
    carriage moves along `z`.
    """

    shoulder: Triple
    x: Triple
    z: Triple


class LimbPlaces(Part, ABC):
    """What arms and rails have in common: where the limbs begin, and how they are turned.

    In the limb's axes (radial e_r, tangential t = z x e_r, z) it begins at radius, tangential place
    and height, and is turned about two of these axes.
    """

    linear = False  # whether the drives move carriages along rails
    base_radius: Any
    platform_radius: Any
    azimuth: Any
    rod_spacing: float | None

    @property
    def legs(self) -> int:
        """How many limbs there are: as many as azimuths."""
        return len(self.azimuth)

    def _check_common(self, lengths: Sequence[str], numbers: Sequence[str]) -> None:
        if not isinstance(self.azimuth, Sequence | np.ndarray) or len(self.azimuth) not in LEGS:
            raise RobotError(
                "geometry.azimuth", self.azimuth, "two, three or four angles, one per arm"
            )
        for name in lengths:
            limits: dict[str, Any] = {"low": 0.0, "unit": "m", "strict": name.endswith("length")}
            value = each(f"geometry.{name}", getattr(self, name), self.legs, **limits)
            self._set(**{name: value})
        for name in (*numbers, "azimuth"):
            self._set(**{name: each(f"geometry.{name}", getattr(self, name), self.legs)})
        if self.rod_spacing is not None:
            positive: dict[str, Any] = {"low": 0.0, "strict": True, "unit": "m"}
            self._set(rod_spacing=number("geometry.rod_spacing", self.rod_spacing, **positive))

    @property
    @abstractmethod
    def size(self) -> float:
        """A length of the robot's own scale: its shortest arm, half a strut on rails (m)."""

    @property
    def shrunk_radius(self) -> tuple[float, ...]:
        """r = R - r_p of each arm: the base radius of the robot whose platform is a point."""
        pairs = zip(self.base_radius, self.platform_radius, strict=True)
        return tuple(a - b for a, b in pairs)

    @abstractmethod
    def _place(self, i: int) -> tuple[float, float]:
        """Tangential place and height of limb i (m)."""

    @abstractmethod
    def _axes(self, i: int) -> tuple[Triple, Triple]:
        """The turned x and z in the limb's own axes."""

    @property
    def frames(self) -> tuple[LimbFrame, ...]:
        """The limbs in the axes of the base."""
        return tuple(self._frame(i) for i in range(self.legs))

    def _frame(self, i: int) -> LimbFrame:
        ca, sa = math.cos(self.azimuth[i]), math.sin(self.azimuth[i])

        def in_base(v: Triple) -> Triple:
            return (v[0] * ca - v[1] * sa, v[0] * sa + v[1] * ca, v[2])

        tangential, height = self._place(i)
        x, z = self._axes(i)
        start = (self.shrunk_radius[i], tangential, height)
        return LimbFrame(in_base(start), in_base(x), in_base(z))


@dataclass(frozen=True)
class Geometry(LimbPlaces):
    """Radii to the joint centres, lengths between joint centres (m) and arm azimuths (rad).

    The shoulder of an arm may stand above the base plane and aside of its azimuth (m), and its
    axes be turned: about z by `axis_yaw`, then about the radial axis by `axis_roll` (rad).
    """

    base_radius: Any
    platform_radius: Any
    arm_length: Any
    strut_length: Any
    azimuth: Any = (0.0, 2 * math.pi / 3, 4 * math.pi / 3)
    rod_spacing: float | None = None  # m, between the two rods of a pair; for the load of each rod
    shoulder_height: Any = 0.0
    shoulder_tangential: Any = 0.0
    axis_yaw: Any = 0.0
    axis_roll: Any = 0.0

    def __post_init__(self) -> None:
        self._check_common(
            ("base_radius", "platform_radius", "arm_length", "strut_length"),
            ("shoulder_height", "shoulder_tangential", "axis_yaw", "axis_roll"),
        )
        self._check_azimuths()
        self._check_closure()

    @property
    def standard(self) -> bool:
        """Whether all shoulders lie in the base plane at their azimuth, with tangential axes."""
        places = (self.shoulder_height, self.shoulder_tangential, self.axis_yaw, self.axis_roll)
        return not any(any(values) for values in places)

    @property
    def size(self) -> float:
        return float(min(self.arm_length))

    def _place(self, i: int) -> tuple[float, float]:
        return self.shoulder_tangential[i], self.shoulder_height[i]

    def _axes(self, i: int) -> tuple[Triple, Triple]:
        """Rz(yaw) Rx(roll) of x and z."""
        cy, sy = math.cos(self.axis_yaw[i]), math.sin(self.axis_yaw[i])
        cr, sr = math.cos(self.axis_roll[i]), math.sin(self.axis_roll[i])
        return (cy, sy, 0.0), (sy * sr, -cy * sr, cr)

    def _check_azimuths(self) -> None:
        for i, j in combinations(range(self.legs), 2):
            gap = abs(math.remainder(self.azimuth[i] - self.azimuth[j], 2 * math.pi))
            if gap < math.radians(1.0):
                raise RobotError(
                    "geometry.azimuth",
                    [math.degrees(angle) for angle in self.azimuth],
                    f"arms at least 1 deg apart; arms {i + 1} and {j + 1} coincide",
                )

    def _check_closure(self) -> None:
        """On the robot's axis the loop closes only if l1 + l2 > |R - r_p|.

        Four limbs hold halves that lie beside the axis; `home` looks at their reach.
        """
        if self.legs == 4:
            return
        for i, radius in enumerate(self.shrunk_radius):
            needed = abs(radius) - self.strut_length[i]
            if self.arm_length[i] <= needed:
                raise RobotError(
                    f"geometry.arm_length[{i}]",
                    self.arm_length[i],
                    f"above {needed:g} m, or the loop cannot close: base radius "
                    f"{self.base_radius[i]:g} m, platform radius {self.platform_radius[i]:g} m, "
                    f"strut {self.strut_length[i]:g} m",
                )


@dataclass(frozen=True)
class RailGeometry(LimbPlaces):
    """Rails of a linear Delta: where q = 0 is, which way q counts, and the struts (m, rad).

    The carriages' joints at q = 0 lie at `base_radius`, `rail_tangential` and `rail_height`; the
    rail is vertical, turned about the tangential axis by `rail_pitch` (90 degrees: horizontal and
    outward) and then about its own radial axis by `rail_roll`.
    """

    linear = True
    base_radius: Any
    platform_radius: Any
    strut_length: Any
    azimuth: Any = (0.0, 2 * math.pi / 3, 4 * math.pi / 3)
    rod_spacing: float | None = None  # m, between the two rods of a pair; for the load of each rod
    rail_height: Any = 0.0
    rail_tangential: Any = 0.0
    rail_pitch: Any = 0.0
    rail_roll: Any = 0.0

    def __post_init__(self) -> None:
        self._check_common(
            ("base_radius", "platform_radius", "strut_length"),
            ("rail_height", "rail_tangential", "rail_pitch", "rail_roll"),
        )
        self._check_rails()

    @property
    def size(self) -> float:
        return float(min(self.strut_length)) / 2

    def _place(self, i: int) -> tuple[float, float]:
        return self.rail_tangential[i], self.rail_height[i]

    def _axes(self, i: int) -> tuple[Triple, Triple]:
        """Ry(pitch) Rx(roll) of x and z; a quarter turn is exact, so that a rail can be level."""
        cp, sp = _turned(self.rail_pitch[i])
        cr, sr = _turned(self.rail_roll[i])
        return (cp, 0.0, -sp), (sp * cr, -sr, cp * cr)

    def _check_rails(self) -> None:
        frames = self.frames
        for i, frame in enumerate(frames):
            if frame.z[2] < -LEVEL:
                raise RobotError(
                    f"geometry.rail_pitch[{i}]",
                    math.degrees(self.rail_pitch[i]),
                    "a rail along which q counts upward, or outward where it is level: pitch and "
                    "roll from -90 to 90 deg",
                )
            # the attachment is within l2 of every rail; on the robot's axis that is a matter of
            # the distance between two lines (four limbs hold halves beside the axis: `home`)
            away = _distance_from_axis(frame)
            if self.legs < 4 and away >= self.strut_length[i]:
                raise RobotError(
                    f"geometry.strut_length[{i}]",
                    self.strut_length[i],
                    f"above {away:g} m, the distance of the rail from the robot's axis less the "
                    "platform's radius, or the platform is never reached",
                )
        for i, j in combinations(range(self.legs), 2):
            apart = math.dist(frames[i].shoulder, frames[j].shoulder)
            if apart < 1e-9 and math.dist(frames[i].z, frames[j].z) < 1e-9:
                raise RobotError(
                    "geometry.azimuth",
                    [math.degrees(angle) for angle in self.azimuth],
                    f"rails apart from each other; rails {i + 1} and {j + 1} coincide",
                )


def _turned(angle: float) -> tuple[float, float]:
    """Cosine and sine, exact at quarter turns."""
    turns = angle / (math.pi / 2)
    if turns == round(turns):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[round(turns) % 4]
    return math.cos(angle), math.sin(angle)


def _distance_from_axis(frame: LimbFrame) -> float:
    """How near a rail comes to the z axis (m)."""
    (x, y, _), (ux, uy, _) = frame.shoulder, frame.z
    across = math.hypot(ux, uy)
    return math.hypot(x, y) if across == 0 else abs(x * uy - y * ux) / across


@dataclass(frozen=True)
class TenParameters(Part):
    """Ten inertial parameters of a body in its frame, about the frame's origin [gnad2024] eq. 4.

    `first_moment` is m c (kg m); `inertia` holds xx, yy, zz, xy, yz, xz (kg m^2), the products
    being the entries of the tensor.
    """

    mass: float
    first_moment: Triple
    inertia: tuple[float, float, float, float, float, float]

    def __post_init__(self) -> None:
        self._set(
            mass=number("ten.mass", self.mass, low=0.0, unit="kg"),
            first_moment=each("ten.first_moment", self.first_moment, 3),
            inertia=each("ten.inertia", self.inertia, 6),
        )
        self.check("ten")

    def vector(self) -> FloatArray:
        """(10,): m, m cx, m cy, m cz, Ixx, Iyy, Izz, Ixy, Iyz, Ixz."""
        return np.array([self.mass, *self.first_moment, *self.inertia])

    def pseudo_inertia(self) -> FloatArray:
        """The 4x4 matrix of [gnad2024] eq. 12: consistent if and only if positive semidefinite."""
        xx, yy, zz, xy, yz, xz = self.inertia
        half = (xx + yy + zz) / 2
        hx, hy, hz = self.first_moment
        return np.array(
            [
                [half - xx, -xy, -xz, hx],
                [-xy, half - yy, -yz, hy],
                [-xz, -yz, half - zz, hz],
                [hx, hy, hz, self.mass],
            ]
        )

    def check(self, path: str) -> None:
        """Refuse what no body can have."""
        matrix = self.pseudo_inertia()
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        if smallest < -1e-9 * max(float(np.abs(matrix).max()), 1e-12):
            allowed = (
                "a consistent body: its pseudo-inertia must be positive semidefinite, its "
                f"smallest eigenvalue is {smallest:.3g}"
            )
            refuse(RobotError(f"{path}.inertia", list(self.inertia), allowed))


def _check_same_mass(path: str, mass: float, ten: TenParameters | None) -> None:
    """A part has one mass, whichever way it is described."""
    if ten is not None and ten.mass != mass:
        raise RobotError(path, mass, f"{ten.mass:g} kg, the mass in its ten parameters")


@dataclass(frozen=True)
class Arm(Part):
    """The driven arm: COM on its line at `com` from the shoulder, `com_offset` above the line
    (at theta = 0); `inertia` about the COM, around the joint axis; `elbow_mass` sits in the elbow.
    """

    mass: float
    com: float
    inertia: float
    com_offset: float = 0.0
    elbow_mass: float = 0.0

    def __post_init__(self) -> None:
        self._set(
            mass=number("arm.mass", self.mass, low=0.0, unit="kg"),
            com=number("arm.com", self.com),
            inertia=number("arm.inertia", self.inertia, low=0.0, unit="kg m^2"),
            com_offset=number("arm.com_offset", self.com_offset),
            elbow_mass=number("arm.elbow_mass", self.elbow_mass, low=0.0, unit="kg"),
        )

    @property
    def axis_inertia(self) -> float:
        """Inertia about the motor axis without `elbow_mass` (kg m^2)."""
        return self.inertia + self.mass * (self.com**2 + self.com_offset**2)


@dataclass(frozen=True)
class Carriage(Part):
    """What slides on a rail with the elbow; `counterweight` moves the other way, over a belt."""

    mass: float
    counterweight: float = 0.0

    def __post_init__(self) -> None:
        self._set(
            mass=number("carriage.mass", self.mass, low=0.0, unit="kg"),
            counterweight=number("carriage.counterweight", self.counterweight, low=0.0, unit="kg"),
        )


@dataclass(frozen=True)
class Strut(Part):
    """`rods` equal rods between elbow and platform; mass and inertia are those of one rod.

    `com_fraction` runs from elbow to platform; `inertia` is transverse, about the COM. `ten`
    describes a rod that is not thin, in the strut's frame; make it with `Strut.from_ten`.
    """

    mass: float
    com_fraction: float
    inertia: float
    rods: int = 2
    ten: TenParameters | None = None

    def __post_init__(self) -> None:
        if self.rods not in (1, 2) or isinstance(self.rods, bool):
            raise RobotError("strut.rods", self.rods, "1 or 2")
        self._set(
            mass=number("strut.mass", self.mass, low=0.0, unit="kg"),
            com_fraction=number("strut.com_fraction", self.com_fraction, low=0.0, high=1.0),
            inertia=number("strut.inertia", self.inertia, low=0.0, unit="kg m^2"),
        )
        _check_same_mass("strut.mass", self.mass, self.ten)

    @classmethod
    def uniform(cls, mass: float, length: float, rods: int = 2) -> Strut:
        """Uniform rods: COM in the middle, m l^2 / 12."""
        return cls(mass=mass, com_fraction=0.5, inertia=mass * length**2 / 12, rods=rods)

    @classmethod
    def from_ten(cls, ten: TenParameters, length: float, rods: int = 2) -> Strut:
        """A rod of any shape; its thin equivalent takes the mean of the two transverse inertias."""
        if ten.mass <= 0:
            raise RobotError("strut.ten.mass", ten.mass, "above 0 kg")
        com = ten.first_moment[0] / ten.mass
        transverse = (ten.inertia[1] + ten.inertia[2]) / 2 - ten.mass * com**2
        return cls(ten.mass, com / length, max(transverse, 0.0), rods, ten)

    def body(self, length: float) -> TenParameters:
        """Ten parameters of one rod in the strut's frame."""
        if self.ten is not None:
            return self.ten
        com = self.com_fraction * length
        about_end = self.inertia + self.mass * com**2
        return TenParameters(
            self.mass, (self.mass * com, 0.0, 0.0), (0.0, about_end, about_end, 0.0, 0.0, 0.0)
        )

    def check(self, path: str, length: float) -> None:
        """Mass between the two ball joints cannot have more than m f (1 - f) l2^2."""
        if self.ten is not None:
            self.ten.check(f"{path}.ten")
            return
        most = self.mass * self.com_fraction * (1 - self.com_fraction) * length**2
        if self.inertia > most * (1 + 1e-9):
            raise RobotError(
                f"{path}.inertia",
                self.inertia,
                f"at most m f (1 - f) l2^2 = {most:g} kg m^2 for mass between the ball joints",
            )


@dataclass(frozen=True)
class Platform(Part):
    """The moving platform without payload and effector; it does not turn."""

    kind = "translational"  # its name in a robot file
    limbs = 3  # that hold it

    mass: float

    def __post_init__(self) -> None:
        self._set(mass=number("platform.mass", self.mass, low=0.0, unit="kg"))


@dataclass(frozen=True)
class PlanarPlatform(Platform):
    """A platform that two limbs hold in the plane y = 0; parallel rods keep it level."""

    kind = "planar"
    limbs = 2


@dataclass(frozen=True)
class ArticulatedPlatform(Part):
    """Two halves joined by two equal parallel bars, whose angle turns the tool (Par4, Quattro).

    Limbs 1 and 2 hold half 1, limbs 3 and 4 half 2, and neither half turns. Half 1 lies in the
    bars' direction n(phi) from half 2. Gears turn the tool by psi = ratio (phi - phi0). The tool's
    axis lies between the halves, `tool_fraction` of the bar from half 1. Masses and inertias of the
    bars are those of both together; a gear's inertia counts with the square of its turns per phi.
    """

    kind = "articulated"
    limbs = 4

    half_mass: Any  # kg, two
    bar_length: float  # m
    bar_mass: float = 0.0
    bar_inertia: float = 0.0  # kg m^2, vertical, about their own COM
    bar_com: float = 0.5  # fraction of the bar from half 1
    phi0: float = 0.0  # rad, at psi = 0
    ratio: float = 1.0
    tool_fraction: float = 0.5
    gear_mass: float = 0.0  # of gears on the bars
    gear_place: Any = (0.0, 0.0)  # m along n and n' from the tool's axis
    gear_inertia: float = 0.0

    def __post_init__(self) -> None:
        path = "platform"
        weights = ("bar_mass", "bar_inertia", "gear_mass", "gear_inertia")
        values: dict[str, Any] = {
            name: number(f"{path}.{name}", getattr(self, name), low=0.0) for name in weights
        }
        length = number(f"{path}.bar_length", self.bar_length, low=0.0, strict=True, unit="m")
        self._set(
            half_mass=each(f"{path}.half_mass", self.half_mass, 2, low=0.0, unit="kg"),
            bar_length=length,
            bar_com=number(f"{path}.bar_com", self.bar_com, low=0.0, high=1.0),
            phi0=number(f"{path}.phi0", self.phi0),
            ratio=number(f"{path}.ratio", self.ratio),
            tool_fraction=number(f"{path}.tool_fraction", self.tool_fraction),
            gear_place=each(f"{path}.gear_place", self.gear_place, 2),
            **values,
        )
        if self.ratio == 0:
            raise RobotError(f"{path}.ratio", self.ratio, "not 0: the tool turns with the bars")

    @property
    def mass(self) -> float:
        """Halves, bars and gears (kg)."""
        return float(sum(self.half_mass)) + self.bar_mass + self.gear_mass

    @property
    def sigma(self) -> tuple[float, float]:
        """Where the halves lie along n from the tool's axis (m)."""
        first = self.tool_fraction * self.bar_length
        return first, first - self.bar_length

    def moments(self) -> tuple[float, float, float]:
        """First moments along n, n' (kg m), and second about the tool's axis (kg m^2), per phi."""
        (first, second), (along, aside) = self.sigma, self.gear_place
        middle = first - self.bar_com * self.bar_length
        S = self.half_mass[0] * first + self.half_mass[1] * second
        S += self.bar_mass * middle + self.gear_mass * along
        squares = self.half_mass[0] * first**2 + self.half_mass[1] * second**2
        squares += self.bar_mass * middle**2 + self.gear_mass * (along**2 + aside**2)
        return S, self.gear_mass * aside, squares + self.bar_inertia + self.gear_inertia


@dataclass(frozen=True)
class HelicalPlatform(Part):
    """Two halves on one vertical axis; a screw between them turns the tool (Heli4).

    Limbs 1 and 2 hold half 1, limbs 3 and 4 half 2; half 1 rises over half 2 by `lead` in a turn of
    psi. The platform point moves with half 1 where `tool_fraction` is 0, with half 2 where it is 1.
    """

    kind = "helical"
    limbs = 4

    half_mass: Any  # kg, two
    lead: float  # m per turn
    tool_fraction: float = 0.0

    def __post_init__(self) -> None:
        path = "platform"
        self._set(
            half_mass=each(f"{path}.half_mass", self.half_mass, 2, low=0.0, unit="kg"),
            lead=number(f"{path}.lead", self.lead),
            tool_fraction=number(f"{path}.tool_fraction", self.tool_fraction),
        )
        if self.lead == 0:
            raise RobotError(f"{path}.lead", self.lead, "not 0: the screw turns the tool")

    @property
    def mass(self) -> float:
        """Both halves (kg)."""
        return float(sum(self.half_mass))

    @property
    def sigma(self) -> tuple[float, float]:
        """How far the halves rise from the platform point per psi (m/rad)."""
        pitch = self.lead / (2 * math.pi)
        first = self.tool_fraction * pitch
        return first, first - pitch

    def moments(self) -> tuple[float, float, float]:
        """First moment along the screw (kg m/rad), 0, and second moment (kg m^2) per psi."""
        (first, second), (one, two) = self.sigma, self.half_mass
        return one * first + two * second, 0.0, one * first**2 + two * second**2


AnyPlatform = Platform | ArticulatedPlatform | HelicalPlatform

#: Platforms by their kind in a robot file.
PLATFORMS: dict[str, type[AnyPlatform]] = {
    part.kind: part for part in (Platform, PlanarPlatform, ArticulatedPlatform, HelicalPlatform)
}

#: Azimuths of the limbs in deg where a robot file gives none. Limbs 1 and 2 hold the first half of
#: a platform of two: neighbours where bars join the halves, opposite ones where a screw does.
AZIMUTHS: dict[str, tuple[float, ...]] = {
    "translational": (0.0, 120.0, 240.0),
    "planar": (0.0, 180.0),
    "articulated": (-45.0, 45.0, 135.0, 225.0),
    "helical": (0.0, 180.0, 90.0, 270.0),
}


@dataclass(frozen=True)
class Rod(Part):
    """One part of the telescope: COM at `com` from its own joint (the upper part's lies below
    the upper joint, the lower part's above the lower joint), `inertia` transverse about the COM,
    `axial_inertia` about its axis, `length` for the stroke. `ten` describes any shape in the rod's
    frame (origin at its own joint, z along the rod downwards).
    """

    mass: float
    com: float
    inertia: float
    axial_inertia: float = 0.0
    length: float | None = None
    ten: TenParameters | None = None

    def __post_init__(self) -> None:
        self._set(
            mass=number("rod.mass", self.mass, low=0.0, unit="kg"),
            com=number("rod.com", self.com, low=0.0, unit="m"),
            inertia=number("rod.inertia", self.inertia, low=0.0, unit="kg m^2"),
            axial_inertia=number("rod.axial_inertia", self.axial_inertia, low=0.0, unit="kg m^2"),
        )
        if self.length is not None:
            self._set(length=number("rod.length", self.length, low=0.0, strict=True, unit="m"))
        _check_same_mass("rod.mass", self.mass, self.ten)
        if self.mass == 0 and self.inertia > 0:
            raise RobotError("rod.inertia", self.inertia, "0 where the rod has no mass")
        if self.axial_inertia > 2 * self.inertia * (1 + 1e-9):
            raise RobotError(
                "rod.axial_inertia",
                self.axial_inertia,
                f"at most twice the transverse inertia, {2 * self.inertia:g} kg m^2",
            )

    @classmethod
    def from_ten(cls, ten: TenParameters, length: float | None = None) -> Rod:
        """A rod of any shape; its thin equivalent takes the mean of the transverse inertias."""
        if ten.mass <= 0:
            raise RobotError("rod.ten.mass", ten.mass, "above 0 kg")
        com = abs(ten.first_moment[2]) / ten.mass
        transverse = max((ten.inertia[0] + ten.inertia[1]) / 2 - ten.mass * com**2, 0.0)
        axial = min(ten.inertia[2], 2 * transverse)
        return cls(ten.mass, com, transverse, axial, length, ten)

    def body(self, direction: int) -> TenParameters:
        """Ten parameters in the rod's frame; `direction` is +1 for the upper, -1 for the lower."""
        if self.ten is not None:
            return self.ten
        about_end = self.inertia + self.mass * self.com**2
        return TenParameters(
            self.mass,
            (0.0, 0.0, direction * self.mass * self.com),
            (about_end, about_end, self.axial_inertia, 0.0, 0.0, 0.0),
        )


@dataclass(frozen=True)
class Spindle(Part):
    """The telescope between base and platform that turns the effector by psi."""

    upper: Rod
    lower: Rod
    upper_joint_z: float = 0.0  # m above the base plane
    lower_joint_z: float = 0.0  # m above the platform point

    def __post_init__(self) -> None:
        self._set(
            upper_joint_z=number("spindle.upper_joint_z", self.upper_joint_z),
            lower_joint_z=number("spindle.lower_joint_z", self.lower_joint_z),
        )
        self._check_sides()

    @property
    def pivot_z(self) -> float:
        """z of the upper joint of the spindle whose lower joint is the platform point (m)."""
        return self.upper_joint_z - self.lower_joint_z

    @property
    def stroke(self) -> tuple[float, float] | None:
        """Shortest and longest joint distance of the telescope (m), where its lengths are known."""
        if self.upper.length is None or self.lower.length is None:
            return None
        return max(self.upper.length, self.lower.length), self.upper.length + self.lower.length

    def _check_sides(self) -> None:
        """With z down the rod the upper part's COM is at positive, the lower's at negative z."""
        for name, rod, sign in (("upper", self.upper, 1), ("lower", self.lower, -1)):
            if rod.ten is not None and sign * rod.ten.first_moment[2] < 0:
                raise RobotError(
                    f"spindle.{name}.ten.first_moment[2]",
                    rod.ten.first_moment[2],
                    f"at {'least' if sign > 0 else 'most'} 0 kg m: z runs down the rod from its "
                    "own joint, and each part lies between the joints",
                )


@dataclass(frozen=True)
class Effector(Part):
    """What hangs at the platform and turns by psi: COM in its frame, I_zz about the COM."""

    mass: float = 0.0
    com: Triple = (0.0, 0.0, 0.0)
    inertia_zz: float = 0.0

    def __post_init__(self) -> None:
        self._set(
            mass=number("effector.mass", self.mass, low=0.0, unit="kg"),
            com=each("effector.com", self.com, 3),
            inertia_zz=number("effector.inertia_zz", self.inertia_zz, low=0.0, unit="kg m^2"),
        )


@dataclass(frozen=True)
class Payload(Part):
    """What the gripper holds; on the 4-DOF robot it turns with the effector."""

    mass: float = 0.0
    offset: Triple = (0.0, 0.0, 0.0)
    inertia_zz: float = 0.0

    def __post_init__(self) -> None:
        self._set(
            mass=number("payload.mass", self.mass, low=0.0, unit="kg"),
            offset=each("payload.offset", self.offset, 3),
            inertia_zz=number("payload.inertia_zz", self.inertia_zz, low=0.0, unit="kg m^2"),
        )
