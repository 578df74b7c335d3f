"""Members of the Delta family in plain numbers: what the engines and the formulas are built from.

A member has limbs (an arm that turns, or a carriage on a rail), a strut of one or two rods on each,
and a platform. Vectors are in the base frame, z up. Bodies are EngineBody: mass, COM and inertia
about the COM, in these frames:

    arm            origin shoulder, axes e1, t = e1 x e2, -e2 (x along the arm)
    bracket        origin elbow, axes of the base
    platform, half origin at its reference point, axes of the base
    bar            origin at its hinge on half 1, x along n: the bar lies at -length <= x <= 0
    tool, payload  origin at the platform point p, axes of the base turned by psi about z
    upper, lower   as in tests/reference/engines/spec.py

Reference points are those from which `attachments` count: attachment a_i = reference + b_i.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from tests.reference.engines.spec import Array, EngineBody, EngineSpindle

Z_HAT = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Rod:
    """A line of mass: mass, COM from its first end (m), transverse inertia about the COM."""

    mass: float
    com: float
    inertia: float


@dataclass(frozen=True, eq=False)
class Arm:
    """A driven arm: at theta = 0 along e1, at 90 deg along e2; theta turns it about t = e1 x e2.

    In a planar robot a `bracket` at the elbow is held by the rod `holder`, which is parallel to the
    arm and joins the base and the bracket at `holder_offset` from shoulder and elbow.
    """

    shoulder: Array
    e1: Array
    e2: Array
    length: float
    body: EngineBody
    rotor: float
    elbow_mass: float = 0.0
    bracket: EngineBody | None = None
    holder: Rod | None = None
    holder_offset: Array = field(default_factory=lambda: np.zeros(3))
    branch: int = 1  # 1: elbow outward

    @property
    def t(self) -> Array:
        return np.cross(self.e1, self.e2)


@dataclass(frozen=True, eq=False)
class Rail:
    """A driven carriage at point + q direction; its counterweight runs the other way.

    `rotor` is seen at the carriage, in kg.
    """

    point: Array
    direction: Array
    carriage: float
    counterweight: float
    rotor: float
    branch: int = 1  # 1: the root with the larger q


@dataclass(frozen=True, eq=False)
class Strut:
    """One or two equal, parallel rods; `rod.com` counts from the elbow.

    `pair` is the vector from the first to the second rod, at elbow and platform alike: along the
    joint axis t of an arm, normal to the strut's plane or within it in a planar robot.
    """

    length: float
    rod: Rod
    rods: int
    pair: Array


@dataclass(frozen=True, eq=False)
class Translation:
    """A platform that translates, held by three limbs."""

    body: EngineBody
    attachments: Array  # (3, 3), a row per limb


@dataclass(frozen=True, eq=False)
class Planar:
    """A platform that translates in the plane y = 0, held by two limbs."""

    body: EngineBody
    attachments: Array  # (2, 3)


@dataclass(frozen=True, eq=False)
class Spindle:
    """A platform that translates and a telescopic spindle driven at the base; x = (p, psi)."""

    body: EngineBody
    attachments: Array  # (3, 3)
    spindle: EngineSpindle
    rotor: float


@dataclass(frozen=True, eq=False)
class Gear:
    """A wheel of the transmission with a vertical axis; its absolute rate is rate * phid.

    `at`: along n and n' from the tool axis, for a wheel on the bars; a wheel on half 1 sits at `at`
    from the half's reference, in axes of the base.
    """

    mass: float
    inertia: float
    rate: float
    on_bars: bool
    at: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Articulated:
    """Two half platforms joined by two bars with vertical hinges; limbs 1, 2 hold half 1.

    The bars' angle phi is that of n, from half 2 to half 1. psi = ratio (phi - phi0). The tool axis
    lies on the first bar, at tool_fraction * length from its hinge on half 1. The first bar joins
    the references of the halves, the second the points `second_hinge` from them.
    """

    halves: tuple[EngineBody, EngineBody]
    bars: tuple[EngineBody, EngineBody]
    length: float
    second_hinge: Array
    phi0: float
    ratio: float
    tool_fraction: float
    gears: tuple[Gear, ...]
    tool: EngineBody
    attachments: Array  # (4, 3)


@dataclass(frozen=True, eq=False)
class Helical:
    """Two half platforms on one vertical axis and a tool in nuts of both; limbs 1, 2 hold half 1.

    The references of the halves are at p + sigma psi z_hat, sigma (m/rad) per half: the lead of the
    screw between the halves is 2 pi (sigma_1 - sigma_2).
    """

    halves: tuple[EngineBody, EngineBody]
    sigma: tuple[float, float]
    tool: EngineBody
    attachments: Array  # (4, 3)


Platform = Translation | Planar | Spindle | Articulated | Helical


@dataclass(frozen=True, eq=False)
class Member:
    """A robot of the family; `payload` sits on the tool, or on a platform that does not turn."""

    kind: str
    gravity: float
    limbs: tuple[Arm | Rail, ...]
    struts: tuple[Strut, ...]
    platform: Platform
    payload: EngineBody

    @property
    def dof(self) -> int:
        return len(self.limbs) + isinstance(self.platform, Spindle)

    @property
    def halves(self) -> tuple[int, ...]:
        """For each limb the part of the platform that it holds: 0, or 1 for the second half."""
        if isinstance(self.platform, Articulated | Helical):
            return (0, 0, 1, 1)
        return (0,) * len(self.limbs)
