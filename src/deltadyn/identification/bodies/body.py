"""A body as a convex set: its free variables, their scale, and the cones of what can exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.errors import InputError

# The hull of a body: where its mass can be, as shares of the lengths in the robot file.


@dataclass(frozen=True)
class Hull:
    """Where mass can be, so that no fit gives a thin strut a gyration radius of 0.3 m.

    An arm's mass lies between `-arm_overhang` and `1 + arm_overhang` of its length and within
    `arm_height` of its length above and below its line; its COM lies between its joints where
    `arm_com` is set. A strut lies between its ball joints and within `strut_radius` of its length
    of its axis, a rod of the spindle between its joint and its length (where given) and within
    `rod_radius` of it. `effector_radius` is in metres; None knows nothing of the effector. No arm,
    strut or rod is heavier than `heaviest` times what the robot file says; None asks nothing.
    """

    arm_com: bool = True
    arm_overhang: float = 0.25
    arm_height: float = 0.25
    strut_radius: float = 0.03
    rod_radius: float = 0.05
    effector_radius: float | None = None
    heaviest: float | None = 10.0

    def __post_init__(self) -> None:
        if not isinstance(self.arm_com, bool):
            raise InputError("hull.arm_com", self.arm_com, "True or False")
        for item in fields(self)[1:]:
            value = getattr(self, item.name)
            if value is None and item.name in ("effector_radius", "heaviest"):
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise InputError(f"hull.{item.name}", value, "a number above 0")
        if self.heaviest is not None and self.heaviest <= 1:
            raise InputError("hull.heaviest", self.heaviest, "a number above 1, or None")


# Cones of consistent bodies: symmetric matrices, linear in the standard parameters, that must be
# positive semidefinite.
#
# A body's standard parameters are those of the rigid model: m, m c and the inertia tensor about its
# frame's origin. With the second moments S_xx = (I_yy + I_zz - I_xx)/2, ..., S_xy = -I_xy of its
# mass, the pseudo-inertia [[S, m c], [m c, m]] is the second moment of (x, 1) over its mass
# [gnad2024] eq. 12: it is positive semidefinite for every body. What a hull adds is linear: where
# all mass lies in low <= x <= high, the integral of (x - low)(high - x) is not negative.


Kind = Literal["inertia", "hull", "bound"]

#: A linear form in a body's entries: {"m": 1.0, "Iyy": -0.5}.
Form = Mapping[str, float]

SECOND_MOMENTS: dict[str, Form] = {
    "Sxx": {"Iyy": 0.5, "Izz": 0.5, "Ixx": -0.5},
    "Syy": {"Ixx": 0.5, "Izz": 0.5, "Iyy": -0.5},
    "Szz": {"Ixx": 0.5, "Iyy": 0.5, "Izz": -0.5},
    "Sxy": {"Ixy": -1.0},
    "Syz": {"Iyz": -1.0},
    "Sxz": {"Ixz": -1.0},
}


@dataclass(frozen=True, eq=False)
class Cone:
    """One matrix that must be positive semidefinite: sum_j values[columns[j]] F[j] + constant.

    `kind` is "inertia" (no body without it), "hull" (its mass lies where the body is) or "bound".
    `size` (d,) holds reference sizes: the matrix divided by their products has entries near 1.
    """

    body: str
    kind: Kind
    text: str
    columns: tuple[int, ...]
    F: FloatArray  # (m, d, d)
    constant: FloatArray  # (d, d)
    size: FloatArray  # (d,)

    @property
    def order(self) -> int:
        """d of the matrix (d, d)."""
        return len(self.constant)

    def matrix(self, values: FloatArray) -> FloatArray:
        """The matrix (d, d) at standard parameters (n,), or (N, d, d) at (N, n)."""
        chosen = values[..., list(self.columns)]
        return contract("...m,mij->...ij", chosen, self.F) + self.constant

    def margin(self, values: FloatArray) -> float:
        """Smallest eigenvalue of the matrix in reference sizes: negative where it is violated."""
        scaled = self.matrix(values) / np.outer(self.size, self.size)
        return float(np.linalg.eigvalsh(scaled)[0])


def second_moment(entry: str) -> Form:
    """A second moment as a form in the inertia's entries; any other entry as itself."""
    return SECOND_MOMENTS.get(entry, {entry: 1.0})


def combine(terms: Mapping[str, float]) -> dict[str, float]:
    """A form in the standard entries, from one that may hold second moments."""
    out: dict[str, float] = {}
    for entry, factor in terms.items():
        for standard, share in second_moment(entry).items():
            out[standard] = out.get(standard, 0.0) + factor * share
    return {entry: factor for entry, factor in out.items() if factor}


def matrix_cone(
    body: str,
    kind: Kind,
    text: str,
    index: Mapping[str, int],
    entries: Sequence[Sequence[str]],
    size: Sequence[float],
    constant: FloatArray | None = None,
) -> Cone:
    """The cone of a symmetric matrix of entries, as names such as "Sxx", "mcx", "m" or ""."""
    d = len(entries)
    forms = {(i, j): combine({entries[i][j]: 1.0}) for i in range(d) for j in range(d)}
    forms = {place: {k: v for k, v in form.items() if k} for place, form in forms.items()}
    used = sorted({name for form in forms.values() for name in form}, key=_order)
    F = np.zeros((len(used), d, d))
    for (i, j), form in forms.items():
        for name, factor in form.items():
            F[used.index(name), i, j] = factor
    columns = tuple(index[f"{body}.{name}"] for name in used)
    start = np.zeros((d, d)) if constant is None else constant
    return Cone(body, kind, text, columns, F, start, np.asarray(size, dtype=np.float64))


def line_cone(
    body: str,
    kind: Kind,
    text: str,
    index: Mapping[str, int],
    form: Form,
    size: float,
    constant: float = 0.0,
) -> Cone:
    """The half-space form + constant >= 0; `size` is a reference value of the form."""
    used = combine(form)
    F = np.array(list(used.values())).reshape(-1, 1, 1)
    columns = tuple(index[f"{body}.{name}" if name else body] for name in used)
    return Cone(
        body, kind, text, columns, F, np.array([[constant]]), np.array([float(np.sqrt(size))])
    )


def _order(name: str) -> tuple[int, str]:
    return len(name), name


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
