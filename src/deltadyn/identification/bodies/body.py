"""A body as a convex set: its hull, the cones of what can exist, its free variables by its kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics.rigid import LIMBS
from deltadyn.errors import InputError
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform
from deltadyn.robot.settings import is_ripple

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
    "arm",
    "carriage",
    "strut",
    "platform",
    "upper",
    "lower",
    "effector",
    "bars",
    "rotor",
    "friction",
    "offset",
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


def line(
    name: str, text: str, index: Mapping[str, int], form: Form, size: float, kind: Kind = "hull"
) -> Cone:
    """A half-space of a body's hull, or of another kind."""
    return line_cone(name, kind, text, index, form, size)


# Struts and rods of the spindle: thin with three or four variables, or solid with ten.


ROD_LENGTH = 0.5  # m, reference of a rod whose length is not known

#: The inertia tensor's entries by a body's second moments.
_FORMS: dict[str, Form] = {
    "Sxx": {"Iyy": 1.0, "Izz": 1.0},
    "Syy": {"Ixx": 1.0, "Izz": 1.0},
    "Szz": {"Ixx": 1.0, "Iyy": 1.0},
    "Sxy": {"Ixy": -1.0},
    "Syz": {"Iyz": -1.0},
    "Sxz": {"Ixz": -1.0},
}
_FULL = ("m", "mcx", "mcy", "mcz", "Sxx", "Syy", "Szz", "Sxy", "Syz", "Sxz")


def strut_body(
    name: str, family: str, l2: float, m: float, index: Mapping[str, int], hull: Hull | None
) -> Body:
    """Frame at the elbow, x along the rod."""
    share = 0.03 if hull is None else hull.strut_radius
    r = share * l2
    between = line(
        name,
        f"the mass of {name} lies between its ball joints",
        index,
        {"mcx": l2, "Sxx": -1.0},
        m * l2**2,
        "inertia" if family == "exact" else "hull",
    )
    if family == "exact":
        cone = _thin(name, "x", l2, m, index)
        scale = np.array([m, m * l2, m * l2**2])
        inside = np.array([m, m * l2 / 2, 0.35 * m * l2**2])
        forms: tuple[Form, ...] = ({"m": 1.0}, {"mcx": 1.0}, _FORMS["Sxx"])
        return Body(name, "strut", ("m", "mcx", "Sxx"), forms, scale, inside, (cone, between))
    rod = _Rod(name, "strut", "x", 1.0, l2, r, m)
    return _solid(rod, family == "reduced", index, None if hull is None else between)


def rod_body(
    name: str,
    family: str,
    length: float | None,
    m: float,
    index: Mapping[str, int],
    hull: Hull | None,
) -> Body:
    """Frame at the rod's own joint, z down: the upper part lies at z > 0, the lower at z < 0."""
    kind: Literal["upper", "lower"] = "upper" if name == "upper" else "lower"
    side = 1.0 if kind == "upper" else -1.0
    L = ROD_LENGTH if length is None else length
    r = (0.05 if hull is None else hull.rod_radius) * L
    if length is None:
        where = line(
            name, f"the COM of {name} lies on its side of its joint", index, {"mcz": side}, m * L
        )
    else:
        words = f"the mass of {name} lies between its joint and its length of {L:g} m"
        where = line(name, words, index, {"mcz": side * L, "Szz": -1.0}, m * L**2)
    if family != "exact":
        rod = _Rod(name, kind, "z", side, L, r, m)
        return _solid(rod, family == "reduced", index, None if hull is None else where)
    on_side = line(
        name,
        f"the COM of {name} lies on its side of its joint",
        index,
        {"mcz": side},
        m * L,
        "inertia",
    )
    axial = line(
        name,
        f"the axial inertia of {name} is not negative",
        index,
        {"Izz": 1.0},
        m * r**2,
        "inertia",
    )
    cones = [_thin(name, "z", L, m, index), on_side, axial]
    if hull is not None:
        if length is not None:
            cones.append(where)
        words = f"the mass of {name} lies within {r:g} m of its axis"
        cones.append(line(name, words, index, {"m": 2 * r**2, "Izz": -1.0}, m * r**2))
    forms: tuple[Form, ...] = (
        {"m": 1.0},
        {"mcz": 1.0},
        _FORMS["Szz"],
        {"Ixx": 1.0, "Iyy": 1.0, "Izz": 2.0},
    )
    scale = np.array([m, m * L, m * L**2, m * r**2])
    inside = np.array([m, side * m * L / 2, 0.35 * m * L**2, m * r**2 / 4])
    return Body(name, kind, ("m", "mcz", "Szz", "Srr"), forms, scale, inside, tuple(cones))


def _thin(name: str, axis: str, L: float, m: float, index: Mapping[str, int]) -> Cone:
    rows = ((f"S{axis * 2}", f"mc{axis}"), (f"mc{axis}", "m"))
    root = np.sqrt(m)
    text = f"{name} is a body: second moment times mass >= first moment squared"
    return matrix_cone(name, "inertia", text, index, rows, (root * L, root))


@dataclass(frozen=True)
class _Rod:
    """A long body on the `side` (1 or -1) of its frame along `axis`: length, radius, mass."""

    name: str
    kind: Literal["strut", "upper", "lower"]
    axis: str
    side: float
    length: float
    radius: float
    mass: float


def _solid(rod: _Rod, reduced: bool, index: Mapping[str, int], where: Cone | None) -> Body:
    """Ten variables, or those that a symmetric body has, and the 4x4 pseudo-inertia.

    `where` says between which ends its mass lies; None asks for no hull.
    """
    name, axis, L, r, m = rod.name, rod.axis, rod.length, rod.radius, rod.mass
    rows = (
        ("Sxx", "Sxy", "Sxz", "mcx"),
        ("Sxy", "Syy", "Syz", "mcy"),
        ("Sxz", "Syz", "Szz", "mcz"),
        ("mcx", "mcy", "mcz", "m"),
    )
    reach = {"x": r, "y": r, "z": r, axis: L}
    root = np.sqrt(m)
    size = (root * reach["x"], root * reach["y"], root * reach["z"], root)
    text = f"the pseudo-inertia of {name} is positive semidefinite"
    cones = [matrix_cone(name, "inertia", text, index, rows, size)]
    if where is not None:
        cones.append(where)
        for other in "xyz".replace(axis, ""):
            words = f"the mass of {name} lies within {r:g} m of its axis along {other}"
            form = {"m": r**2, f"S{other * 2}": -1.0}
            cones.append(line(name, words, index, form, m * r**2))
    names: tuple[str, ...] = _FULL
    if reduced:
        names = ("m", f"mc{axis}", "Sxx", "Syy", "Szz")
    forms: tuple[Form, ...] = tuple(_FORMS.get(entry, {entry: 1.0}) for entry in names)
    scale = m * np.array([_extent(entry, reach) for entry in names])
    inner = {
        "m": 1.0,
        f"mc{axis}": rod.side * L / 2,
        "Sxx": r**2 / 4,
        "Syy": r**2 / 4,
        "Szz": r**2 / 4,
    }
    inner[f"S{axis * 2}"] = 0.35 * L**2
    inside = m * np.array([inner.get(entry, 0.0) for entry in names])
    return Body(name, rod.kind, names, forms, scale, inside, tuple(cones))


def _extent(entry: str, reach: Mapping[str, float]) -> float:
    """Reference of an entry per kg: 1, a length, or a product of two."""
    axes = entry.removeprefix("mc").removeprefix("S") if entry != "m" else ""
    return float(np.prod([reach[axis] for axis in axes]))


MASSLESS = 0.1  # kg, reference of a body whose mass is not known
EFFECTOR_SIZE = 0.1  # m
UNKNOWN_ROTOR = 3.0  # times the arm's inertia: a rotor that no file names takes what is found
FRICTION_SIZE = 1.0  # N m or N m s/rad, reference where nothing is known
PLANAR = {
    "arm": ("m", "mcx", "mcz", "Iyy"),
    "effector": ("m", "mcx", "mcy", "Izz"),
    "bars": ("m", "mcx", "mcy", "Izz"),
}


def body_of(
    robot: Robot,
    name: str,
    family: str,
    index: Mapping[str, int],
    known: Mapping[str, float],
    hull: Hull | None,
) -> Body:
    """The body of that name: "arm", "arm1", "carriage3", "strut2", "platform", "upper"..."""
    kind = name.rstrip(LIMBS)
    limb = int(name[-1]) - 1 if name[-1] in LIMBS else 0
    mass = known[f"{name}.m"] if known[f"{name}.m"] > 0 else MASSLESS
    if kind == "arm":
        arm = _arm(name, robot.rotary.arm_length[limb], mass, index, hull)
        return _not_too_heavy(arm, known, index, hull)
    if kind == "strut":
        strut = strut_body(name, family, robot.geometry.strut_length[limb], mass, index, hull)
        return _not_too_heavy(strut, known, index, hull)
    if kind in ("carriage", "counterweight", "half_a", "half_b"):
        return _not_too_heavy(_moved(name, mass, index), known, index, hull)
    if kind == "platform":
        return _platform(robot, name, mass, index)
    if kind == "effector":
        return _effector(robot, name, mass, index, hull)
    if isinstance(robot.platform, ArticulatedPlatform):
        bars = _bars(name, robot.platform.bar_length, mass, index)
        return _not_too_heavy(bars, known, index, hull)
    assert robot.spindle is not None
    length = getattr(robot.spindle, kind).length
    rod = rod_body(name, family, length, mass, index, hull)
    return _not_too_heavy(rod, known, index, hull)


def _not_too_heavy(
    body: Body, known: Mapping[str, float], index: Mapping[str, int], hull: Hull | None
) -> Body:
    """A body whose mass hardly reaches the torque must not run away with it."""
    mass = known[f"{body.name}.m"]
    if hull is None or hull.heaviest is None or mass <= 0:
        return body
    most = hull.heaviest * mass
    text = f"{body.name} is not heavier than {most:g} kg, {hull.heaviest:g} times the robot file's"
    cone = line_cone(body.name, "hull", text, index, {"m": -1.0}, mass, most)
    return replace(body, cones=(*body.cones, cone))


def scalar_of(
    robot: Robot, name: str, index: Mapping[str, int], known: Mapping[str, float]
) -> Body:
    """A rotor or a friction term: one number that is not negative; offset and ripple may be."""
    value, kind = known[name], _scalar_kind(name)
    if kind == "rotor":
        names = ("arm.Iyy", "arm1.Iyy", "carriage.m", "carriage1.m")
        arm = next((known[moved] for moved in names if moved in known), 0.0)
        size = (
            value
            if value > 0
            else (UNKNOWN_ROTOR * arm if _of_limb(robot, name) and arm > 0 else 1e-3)
        )
    else:
        size = abs(value) if value else FRICTION_SIZE
    if kind == "offset":
        cones: tuple[Cone, ...] = ()
    else:
        text = f"{name} is not negative"
        cones = (line_cone(name, "inertia", text, index, {"": 1.0}, size),)
        if name.startswith("mu"):
            share = f"{name} is at most 0.9 of the load"
            cones += (line_cone(name, "bound", share, index, {"": -1.0}, 0.9, 0.9),)
    inside = min(size, 0.5) if name.startswith("mu") else size
    return Body(name, kind, ("",), ({"": 1.0},), np.array([size]), np.array([inside]), cones)


def _of_limb(robot: Robot, rotor: str) -> bool:
    """Whether a rotor moves a limb; that of a spindle does not."""
    return robot.spindle is None or rotor != "rotor4"


def _scalar_kind(name: str) -> BodyKind:
    if name.startswith("rotor"):
        return "rotor"
    return "offset" if name.startswith("F0") or is_ripple(name) else "friction"


def _arm(name: str, l1: float, m: float, index: Mapping[str, int], hull: Hull | None) -> Body:
    rows = (("Iyy", "mcx", "mcz"), ("mcx", "m", ""), ("mcz", "", "m"))
    root = np.sqrt(m)
    text = f"{name} is a body: Iyy m >= mcx^2 + mcz^2"
    cones = [matrix_cone(name, "inertia", text, index, rows, (root * l1, root, root))]
    if hull is not None:
        low, high, height = -hull.arm_overhang * l1, (1 + hull.arm_overhang) * l1, hull.arm_height
        if hull.arm_com:
            cones += [
                line(
                    name,
                    f"the COM of {name} is not behind its shoulder",
                    index,
                    {"mcx": 1.0},
                    m * l1,
                ),
                line(
                    name,
                    f"the COM of {name} is not past its elbow",
                    index,
                    {"m": l1, "mcx": -1.0},
                    m * l1,
                ),
            ]
        reach = {"mcx": low + high, "m": (height * l1) ** 2 - low * high, "Iyy": -1.0}
        words = (
            f"the mass of {name} lies between {low:g} and {high:g} m along its line and within "
            f"{height * l1:g} m of it"
        )
        cones.append(line(name, words, index, reach, m * l1**2))
    scale = np.array([m, m * l1, m * l1, m * l1**2])
    inside = np.array([m, m * l1 / 2, 0.0, 0.4 * m * l1**2])
    return _planar(name, "arm", scale, inside, tuple(cones))


def _effector(
    robot: Robot, name: str, m: float, index: Mapping[str, int], hull: Hull | None
) -> Body:
    """Effector and payload; what is left without the declared payload is a body."""
    payload = robot.payload
    px, py, _ = payload.offset
    known = payload.mass
    about = payload.inertia_zz + known * (px**2 + py**2)
    fixed = np.array(
        [[about, known * px, known * py], [known * px, known, 0.0], [known * py, 0.0, known]]
    )
    L = EFFECTOR_SIZE if hull is None or hull.effector_radius is None else hull.effector_radius
    rows = (("Izz", "mcx", "mcy"), ("mcx", "m", ""), ("mcy", "", "m"))
    root = np.sqrt(m)
    less = f", without the payload of {known:g} kg" if known else ""
    text = f"{name}{less} is a body: Izz m >= mcx^2 + mcy^2"
    cones = [matrix_cone(name, "inertia", text, index, rows, (root * L, root, root), -fixed)]
    if hull is not None and hull.effector_radius is not None:
        words = f"the mass of {name} lies within {L:g} m of the axis of psi"
        cones.append(line(name, words, index, {"m": L**2, "Izz": -1.0}, m * L**2))
    scale = np.array([m, m * L, m * L, m * L**2])
    inside = np.array([known + m, known * px, known * py, about + m * L**2 / 2])
    if hull is not None and hull.effector_radius is not None:
        inside[3] = min(inside[3], about + (m * L**2 + max(known * L**2 - about, 0.0)) / 2)
    return _planar(name, "effector", scale, inside, tuple(cones))


def _bars(name: str, L: float, m: float, index: Mapping[str, int]) -> Body:
    """Bars and gears about the tool's axis."""
    rows = (("Izz", "mcx", "mcy"), ("mcx", "m", ""), ("mcy", "", "m"))
    root = np.sqrt(m)
    text = f"{name} are a body: Izz m >= mcx^2 + mcy^2"
    cone = matrix_cone(name, "inertia", text, index, rows, (root * L, root, root))
    scale = np.array([m, m * L, m * L, m * L**2])
    return _planar(name, "bars", scale, np.array([m, 0.0, 0.0, m * L**2 / 2]), (cone,))


def _planar(
    name: str,
    kind: Literal["arm", "effector", "bars"],
    scale: FloatArray,
    inside: FloatArray,
    cones: tuple[Cone, ...],
) -> Body:
    names = PLANAR[kind]
    forms: tuple[Form, ...] = tuple({entry: 1.0} for entry in names)
    return Body(name, kind, names, forms, scale, inside, cones)


def _moved(name: str, m: float, index: Mapping[str, int]) -> Body:
    """A carriage, a counterweight or half a platform: a mass that is not negative."""
    cone = line_cone(name, "inertia", f"{name}.m is not negative", index, {"m": 1.0}, m)
    own = np.array([m])
    return Body(name, "carriage", ("m",), ({"m": 1.0},), own, own.copy(), (cone,))


def _platform(robot: Robot, name: str, m: float, index: Mapping[str, int]) -> Body:
    """Where nothing turns, effector and payload ride on the platform and are known."""
    known = 0.0
    if robot.spindle is None:
        known = robot.effector.mass + robot.payload.mass
    text = f"{name}.m is not below the known {known:g} kg" if known else f"{name}.m is not negative"
    cone = line_cone(name, "inertia", text, index, {"m": 1.0}, m, -known)
    inside = np.array([max(known + MASSLESS, m)])
    return Body(name, "platform", ("m",), ({"m": 1.0},), np.array([m]), inside, (cone,))
