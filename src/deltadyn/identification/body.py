"""A body as a convex set: its free variables, their scale, and the cones of what can exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from deltadyn.arrays import FloatArray
from deltadyn.identification.cones import Cone, Form, Kind, line_cone

BodyKind = Literal[
    "arm", "strut", "platform", "upper", "lower", "effector", "rotor", "friction", "offset"
]


@dataclass(frozen=True, eq=False)
class Body:
    """One body (or one rotor, one friction term): its free variables, their scale, its cones.

    `forms` says for each free variable what it adds to the body's standard entries; `interior`
    is a body well inside the cones. `entries` are the standard entries that the forms reach.
    """

    name: str
    kind: BodyKind
    variables: tuple[str, ...]
    forms: tuple[Form, ...]
    scale: FloatArray
    interior: FloatArray
    cones: tuple[Cone, ...]

    @property
    def variable_names(self) -> tuple[str, ...]:
        """Free variables with the body's name: "strut.Sxx"; a scalar has its own name."""
        return tuple(f"{self.name}.{item}" if item else self.name for item in self.variables)

    @property
    def entries(self) -> tuple[str, ...]:
        """Standard entries that the free variables reach."""
        return tuple(dict.fromkeys(entry for form in self.forms for entry in form))

    @property
    def inertia_cone(self) -> Cone | None:
        """The cone of its pseudo-inertia, or of its value; None for an offset."""
        return next((cone for cone in self.cones if cone.kind == "inertia"), None)


def line(
    name: str, text: str, index: Mapping[str, int], form: Form, size: float, kind: Kind = "hull"
) -> Cone:
    """A half-space of a body's hull, or of another kind."""
    return line_cone(name, kind, text, index, form, size)
