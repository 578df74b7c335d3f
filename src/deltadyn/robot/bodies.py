"""The bodies of a robot and the geometry between them: frozen, in SI units, checked when made.

What each field means, and in which frame, stands in docs/conventions.md. A per-arm field takes
one number for all arms or one number each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import RobotError
from deltadyn.robot.checks import ARMS, Part, Triple, each, number


@dataclass(frozen=True)
class Geometry(Part):
    """Radii to the joint centres, lengths between joint centres (m) and arm azimuths (rad)."""

    base_radius: Any
    platform_radius: Any
    arm_length: Any
    strut_length: Any
    azimuth: Any = (0.0, 2 * math.pi / 3, 4 * math.pi / 3)
    rod_spacing: float | None = None  # m, between the two rods of a pair; for the load of each rod

    def __post_init__(self) -> None:
        positive: dict[str, Any] = {"low": 0.0, "strict": True, "unit": "m"}
        self._set(
            base_radius=each("geometry.base_radius", self.base_radius, ARMS, low=0.0, unit="m"),
            platform_radius=each(
                "geometry.platform_radius", self.platform_radius, ARMS, low=0.0, unit="m"
            ),
            arm_length=each("geometry.arm_length", self.arm_length, ARMS, **positive),
            strut_length=each("geometry.strut_length", self.strut_length, ARMS, **positive),
        )
        if not isinstance(self.azimuth, Sequence | np.ndarray) or len(self.azimuth) != ARMS:
            raise RobotError("geometry.azimuth", self.azimuth, "three angles, one per arm")
        self._set(azimuth=each("geometry.azimuth", self.azimuth, ARMS))
        if self.rod_spacing is not None:
            self._set(rod_spacing=number("geometry.rod_spacing", self.rod_spacing, **positive))
        self._check_azimuths()
        self._check_closure()

    @property
    def shrunk_radius(self) -> Triple:
        """r = R - r_p of each arm: the base radius of the robot whose platform is a point."""
        a, b = self.base_radius, self.platform_radius
        return (a[0] - b[0], a[1] - b[1], a[2] - b[2])

    def _check_azimuths(self) -> None:
        for i, j in ((0, 1), (0, 2), (1, 2)):
            gap = abs(math.remainder(self.azimuth[i] - self.azimuth[j], 2 * math.pi))
            if gap < math.radians(1.0):
                raise RobotError(
                    "geometry.azimuth",
                    [math.degrees(angle) for angle in self.azimuth],
                    f"arms at least 1 deg apart; arms {i + 1} and {j + 1} coincide",
                )

    def _check_closure(self) -> None:
        """On the robot's axis the loop closes only if l1 + l2 > |R - r_p|."""
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
            raise RobotError(
                f"{path}.inertia",
                list(self.inertia),
                "a consistent body: its pseudo-inertia must be positive semidefinite, its "
                f"smallest eigenvalue is {smallest:.3g}",
            )


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

    mass: float

    def __post_init__(self) -> None:
        self._set(mass=number("platform.mass", self.mass, low=0.0, unit="kg"))


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
