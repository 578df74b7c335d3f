"""What a fit says of every field of the robot file: identified, only in a combination, or kept.

Logs identify base parameters beta. With the fields phi of the robot file, beta = beta(phi), and
with the Jacobian J = d beta / d phi at the fitted robot, logs see a change d of the fields by J d
alone. A field f is

    identified      where e_f lies in the row space of J: no change of the file that leaves beta as
                    it is changes f; with e_f = J' w its error is w' times that of beta
    a combination   where its column of J is not 0: beta holds it together with other fields
    kept            where its column is 0, or the fit held it

Rows of parameters that the fit did not identify are left out of J; what a method fixes by its
bounds is a row that is known. Geometry, gravity and the declared payload are given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.dynamics.base import base_parameters, exciting_states, hidden
from deltadyn.dynamics.regressor import regressor
from deltadyn.dynamics.rigid import has_counterweight
from deltadyn.errors import UnknownNameError
from deltadyn.identification.parametrisation import Parametrisation, parametrise
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Strut
from deltadyn.robot.checks import collected
from deltadyn.robot.fields import RobotKind, sections
from deltadyn.robot.settings import FRICTION_FIELDS
from deltadyn.units import on_axis

if TYPE_CHECKING:
    from deltadyn.identification.fit import Fit

Status = Literal["identified", "combination", "kept"]
P = TypeVar("P")
Evaluate = Callable[[Robot], dict[str, float]]

DIFFERENCE_STEP = 1e-4  # of a field's value: central differences of a cubic err by its square
NO_SHARE = 1e-6  # of a unit vector: rounding of the differences leaves 1e-9
NO_INFLUENCE = 1e-9  # of the largest entry of J in scaled fields

UNITS = {
    "mass": "kg", "length": "m", "inertia": "kg m^2", "first moment": "kg m", "number": "",
}  # fmt: skip
SIZES = {"kg": 0.1, "m": 0.05, "kg m^2": 1e-3, "kg m": 1e-2}  # of a small machine's bodies
#: What sections of bodies hold beside masses, their places and inertias: given, like lengths.
GIVEN = ("rods", "length", "bar_length", "phi0", "ratio", "tool_fraction", "lead")


class Step(NamedTuple):
    """A step from a part of a robot to a field of it: an attribute, and an entry of a tuple."""

    name: str
    entry: int | None = None


Place = tuple[Step, ...]


@dataclass(frozen=True)
class RobotField:
    """A number of the robot file: its path, where a robot holds it (once per limb), its unit.

    Limbs in common have one number, which stands in several `places`.
    """

    path: str
    places: tuple[Place, ...]
    unit: str

    def value(self, robot: Robot) -> float | None:
        """The robot's value; None where it has no such field."""
        part: Any = robot
        for name, index in self.places[0]:
            part = getattr(part, name, None)
            if index is not None:
                part = part[index] if part is not None and index < len(part) else None
        return None if part is None else float(part)

    def size(self, robot: Robot) -> float:
        """The size of its value; that of a small machine where it is smaller.

        Scaled by a value that happens to be tiny, what the field could be would count as nothing.
        """
        return max(abs(self.value(robot) or 0.0), SIZES.get(self.unit, 1.0))

    def general(self, robot: Robot, number: int) -> float:
        """A value near the robot's that is neither small nor special beside other fields'."""
        value, size = self.value(robot) or 0.0, self.size(robot)
        value = value if abs(value) > 0.1 * size else size
        return value * (1 + 0.1 * math.sin(1.0 + number))

    def changed(self, robot: Robot, value: float) -> Robot:
        """The robot with another value, unchecked: see `replace_unchecked`.

        The thin equivalent of a body with ten parameters follows them.
        """
        for place in self.places:
            robot = replace_unchecked(robot, place, value)
            owner = next((k for k, step in enumerate(place) if step.name == "ten"), None)
            if owner is not None:
                for step, thin in thin_equivalent(robot, place[:owner]).items():
                    robot = replace_unchecked(robot, (*place[:owner], Step(step)), thin)
        return robot


def thin_equivalent(robot: Robot, owner: Place) -> dict[str, float]:
    """Mass, COM and inertias of the thin body that stands for ten parameters, as `from_ten`."""
    part = _part_at(robot, owner)
    m, moment, inertia = part.ten.mass, part.ten.first_moment, part.ten.inertia
    if isinstance(part, Strut):
        index = owner[0].entry
        assert index is not None
        com = moment[0] / m
        thin = {"com_fraction": com / robot.geometry.strut_length[index]}
        return {"mass": m, **thin, "inertia": (inertia[1] + inertia[2]) / 2 - m * com**2}
    com = abs(moment[2]) / m
    across = (inertia[0] + inertia[1]) / 2 - m * com**2
    return {"mass": m, "com": com, "inertia": across, "axial_inertia": min(inertia[2], 2 * across)}


def replace_unchecked(part: P, place: Place, value: float) -> P:
    """A part with another value at a place, without the checks that its constructor makes.

    Derivatives need neighbours of a robot, and those of one at the border of what bodies can be
    are none. Such a robot serves to evaluate parameters, and nothing else.
    """
    (name, index), rest = place[0], place[1:]
    own: Any = getattr(part, name)
    inner = own if index is None else own[index]
    new: Any = replace_unchecked(inner, rest, value) if rest else value
    if index is not None:
        new = (*own[:index], new, *own[index + 1 :])
    assert is_dataclass(part)
    clone: P = object.__new__(type(part))
    clone.__dict__.update({item.name: getattr(part, item.name) for item in fields(part)})
    clone.__dict__[name] = new
    if isinstance(part, Robot):
        clone.__dict__["_memory"] = {}
    return clone


def body_fields(robot: Robot, tied: bool) -> tuple[RobotField, ...]:
    """Fields of all bodies, rotors, friction and ripple; of tied limbs one for all."""
    kind = RobotKind(robot.linear, robot.platform.kind, robot.spindle is not None)
    found = list(_limb_fields(robot, tied, kind))
    names = [("platform", "platform")]
    if robot.spindle is not None:
        names += [("spindle.upper", "spindle.upper"), ("spindle.lower", "spindle.lower")]
    for section, path in (*names, ("effector", "effector")):
        found += _part_fields(robot, path, path, sections(kind)[section])
    legs, turning = tuple(range(robot.legs)), tuple(range(robot.legs, robot.dof))
    groups = [legs] if tied else [(i,) for i in legs]
    for axes in (*groups, *((axis,) for axis in turning)):
        alone = len(axes) == 1 and robot.dof > 1
        path = f"drives.rotor_inertia[{axes[0]}]" if alone else "drives.rotor_inertia"
        places = tuple((Step("drives"), Step("rotor_inertia", axis)) for axis in axes)
        mass = robot.linear and axes[0] < robot.legs and robot.drives.rotor_side == "output_side"
        found.append(RobotField(path, places, "kg" if mass else "kg m^2"))
    return (*found, *_drive_fields(robot))


def _limb_fields(robot: Robot, tied: bool, kind: RobotKind) -> Iterator[RobotField]:
    """Of arms or carriages and of struts; a strut of any shape has ten parameters."""
    limb = "carriage" if robot.linear else "arm"
    for name, attribute in ((limb, "arms"), ("strut", "struts")):
        listed = sections(kind)[name]
        if not has_counterweight(robot):  # no such body is in the model
            listed = tuple(field for field in listed if field.name != "counterweight")
        for i in range(1 if tied else robot.legs):
            path = name if tied else f"{name}[{i}]"
            for field in _part_fields(robot, f"{attribute}[{i}]", path, listed):
                places = field.places
                if tied:
                    places = tuple((Step(attribute, k), *places[0][1:]) for k in range(robot.legs))
                yield RobotField(field.path, places, field.unit)


def _part_fields(robot: Robot, at: str, path: str, listed: Any) -> Iterator[RobotField]:
    """Masses, their places and inertias of the part at `at`, as its section lists them."""
    start = tuple(_step(text) for text in at.split("."))
    part = _part_at(robot, start)
    ten = getattr(part, "ten", None)
    if ten is not None:
        for item in fields(ten):
            unit = UNITS[item.name.replace("_", " ")]
            yield from _numbers(ten, item.name, (*start, Step("ten")), f"{path}.ten", unit)
        return
    for field in listed:
        number = field.shape not in ("text", "flag", "section") and not field.shortcut
        if number and field.name not in GIVEN:
            yield from _numbers(part, field.place, start, path, UNITS[field.kind])


def _numbers(part: Any, name: str, at: Place, path: str, unit: str) -> Iterator[RobotField]:
    """The numbers of an attribute of a part: one, or one for each entry."""
    value = getattr(part, name, None)
    if isinstance(value, tuple):
        for index in range(len(value)):
            yield RobotField(f"{path}.{name}[{index}]", ((*at, Step(name, index)),), unit)
    elif value is not None:
        yield RobotField(f"{path}.{name}", ((*at, Step(name)),), unit)


def _drive_fields(robot: Robot) -> Iterator[RobotField]:
    """Friction and ripple, per axis and passive joint."""
    place: Place
    for name in dict.fromkeys(FRICTION_FIELDS.values()):
        values = getattr(robot.friction, name)
        for axis in range(0 if values is None else robot.dof):
            unit = {"viscous": "N m s/rad", "load": "", "motor_load": ""}.get(name, "N m")
            place = (Step("friction"), Step(name, axis))
            unit = on_axis(unit, robot.linear and axis < robot.legs)
            yield RobotField(f"friction.{name}[{axis}]", (place,), unit)
    for k, item in enumerate(robot.friction.passive):
        linear = item.joint == "prismatic"
        for name, unit in (("viscous", "N m s/rad"), ("coulomb", "N m")):
            place = (Step("friction"), Step("passive", k), Step(name))
            path = f"friction.passive.{item.joint}.{name}"
            yield RobotField(path, (place,), on_axis(unit, linear))
    for k in range(len(robot.drives.ripple)):
        for name in ("cos", "sin"):
            for axis in range(robot.dof):
                place = (Step("drives"), Step("ripple", k), Step(name, axis))
                unit = on_axis("N m", robot.linear and axis < robot.legs)
                yield RobotField(f"drives.ripple[{k}].{name}[{axis}]", (place,), unit)


def _step(text: str) -> Step:
    name, _, index = text.partition("[")
    return Step(name, int(index[:-1]) if index else None)


def _part_at(part: Any, place: Place) -> Any:
    for name, index in place:
        part = getattr(part, name)
        part = part if index is None else part[index]
    return part


@dataclass(frozen=True, eq=False)
class BaseMap:
    """The Jacobian J (b, f) of base parameters `names` by the fields of a robot file.

    `here` (b, f) is J at the robot itself, `J` at a neighbour whose fields have no special values:
    where an arm's COM lies on its line, the row of m c_z would seem to be c_z alone. `known` (m, f)
    are rows of what a method fixes, `size` (f,) scales the fields, `values` (b,) are the robot's.
    """

    names: tuple[str, ...]
    values: FloatArray
    fields: tuple[RobotField, ...]
    here: FloatArray
    J: FloatArray
    known: FloatArray
    size: FloatArray

    @property
    def reached(self) -> BoolArray:
        """(b, f) Which base parameter changes with which field of the robot."""
        J = np.abs(self.here * self.size)
        largest = np.maximum(J.max(axis=1, initial=0.0, keepdims=True), 1e-300)
        return np.asarray(NO_INFLUENCE * largest < J)

    @property
    def null(self) -> FloatArray:
        """Directions (f, n) of scaled fields, orthonormal, along which no row changes."""
        _, values, vectors = np.linalg.svd(self._rows, full_matrices=True)
        rank = int((values > NO_SHARE * values.max(initial=0.0)).sum())
        out: FloatArray = vectors[rank:].T
        return out

    @property
    def given(self) -> BoolArray:
        """Fields (f,) that the method fixes."""
        rows = self.known * self.size
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        _, values, vectors = np.linalg.svd(rows / np.where(length > 0, length, 1.0))
        free = vectors[int((values > NO_SHARE * values.max(initial=0.0)).sum()) :]
        return np.asarray(np.linalg.norm(free, axis=0) < NO_SHARE)

    @property
    def identified(self) -> BoolArray:
        """Fields (f,) that lie in the row space, and that a parameter of the fit reaches."""
        share = np.linalg.norm(self.null, axis=1)
        return np.asarray((share < NO_SHARE) & self.reached.any(axis=0))

    def weights(self, index: int) -> FloatArray:
        """w (b,) with e_f = J' w for an identified field: how base parameters make it up."""
        rows = np.concatenate([self.here, self.known]) * self.size
        length = np.linalg.norm(rows, axis=1)
        length[length == 0] = 1.0
        target = np.zeros(len(self.size))
        target[index] = self.size[index]
        w = np.linalg.lstsq((rows / length[:, None]).T, target, rcond=NO_SHARE)[0] / length
        out: FloatArray = w[: len(self.names)]
        return out

    def held_by(self, index: int) -> tuple[str, ...]:
        """Base parameters that a field changes."""
        return tuple(
            name for name, yes in zip(self.names, self.reached[:, index], strict=True) if yes
        )

    @property
    def _rows(self) -> FloatArray:
        """All rows (b + m, f) by scaled fields, of unit length."""
        rows = np.concatenate([self.J, self.known]) * self.size
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        out: FloatArray = rows / np.where(length > 0, length, 1.0)
        return out


def base_map(
    robot: Robot,
    par: Parametrisation,
    names: Collection[str] | None = None,
    fixed: Collection[str] = (),
) -> BaseMap:
    """J of a fit's parameters at a robot; by default of all parameters of the robot.

    `names` are those that the data identified, `fixed` standard parameters that the method fixes.
    A fit whose parameters are no base parameters (masses of bodies whose shape is assumed) has the
    rows of the exact model's.
    """
    tied = par.tied and robot.equal_limbs
    evaluate = _evaluated(robot, par, tied)
    values = evaluate(robot)
    wanted = par.names[: par.own] if names is None else tuple(names)
    wanted = tuple(values) if fits_masses(par) else wanted
    listed = body_fields(robot, tied)
    if par.model == "gray-box":
        factors = [(Step("gray_box"), Step(name)) for name in ("rho1", "rho2")]
        listed += tuple(RobotField(f"gray_box.{p[1].name}", (p,), "1") for p in factors)
    standard = _standard_of(robot, tied) if fixed else None
    size = np.array([field.size(robot) for field in listed])
    neighbour = robot
    for j, field in enumerate(listed):
        neighbour = field.changed(neighbour, field.general(robot, j))
    J = _differences(evaluate, neighbour, listed, size, wanted)
    here, linear = J.copy(), ("drives", "friction", "gray_box")
    inner = [j for j, field in enumerate(listed) if field.places[0][0].name not in linear]
    bodies = tuple(listed[j] for j in inner)
    here[:, inner] = _differences(evaluate, robot, bodies, size[inner], wanted)
    known = np.zeros((0, len(listed)))
    if standard is not None:
        known = _differences(standard, neighbour, listed, size, tuple(fixed))
    beta = np.array([values[name] for name in wanted])
    return BaseMap(wanted, beta, listed, here, J, known, size)


def _differences(
    evaluate: Evaluate,
    robot: Robot,
    listed: tuple[RobotField, ...],
    size: FloatArray,
    names: tuple[str, ...],
) -> FloatArray:
    """The Jacobian (b, f) of named parameters by central differences."""
    J = np.zeros((len(names), len(listed)))
    with collected():  # neighbours of a body at the border of what can be
        for j, field in enumerate(listed):
            value, step = field.value(robot) or 0.0, DIFFERENCE_STEP * size[j]
            low, high = (evaluate(field.changed(robot, value + end)) for end in (-step, step))
            J[:, j] = [(high[name] - low[name]) / (2 * step) for name in names]
    return J


def fits_masses(par: Parametrisation) -> bool:
    """Whether the parameters are masses of bodies whose shape the method assumes."""
    return par.source != "rigid" and any(name.endswith(".m") for name in par.names)


def _evaluated(robot: Robot, par: Parametrisation, tied: bool) -> Evaluate:
    """Base parameters of a robot by name, as the fit's model groups them."""
    if par.source == "rigid":
        base = base_parameters(robot, "rigid", tied, friction=True)
        standard = _standard_of(robot, tied)

        def grouped(other: Robot) -> dict[str, float]:
            found = standard(other)
            values = base.matrix @ [found[name] for name in base.standard]
            return dict(zip(base.independent, values.tolist(), strict=True))

        return grouped
    if par.model in ("half-half", "euler-lagrange", "virtual-work", "gray-box"):

        def simplified(other: Robot) -> dict[str, float]:
            found = parametrise(other, par.model, tied=tied)
            return dict(zip(found.names, found.prior.tolist(), strict=True))

        return simplified
    offset = any(name.startswith("G_s") for name in par.names) or None
    joins = [join for item in hidden(robot, tied) for join in item.joins]
    unseen = {name for item in hidden(robot, tied) for name in item.names}
    state = exciting_states(robot, 1)

    def exact(other: Robot) -> dict[str, float]:
        found = regressor(other, state, "exact", tied=tied, com_offset=offset, friction=True)
        values = dict(zip(found.names, found.parameters.tolist(), strict=True))
        for name, holder, share in joins:
            values[holder] += share * values[name]
        return {name: value for name, value in values.items() if name not in unseen}

    return exact


def _standard_of(robot: Robot, tied: bool) -> Evaluate:
    """Standard parameters of the rigid model by name, with friction."""
    state = exciting_states(robot, 1)

    def standard(other: Robot) -> dict[str, float]:
        found = regressor(other, state, "rigid", tied=tied, friction=True)
        return dict(zip(found.names, found.parameters.tolist(), strict=True))

    return standard


@dataclass(frozen=True)
class FieldStatus:
    """What a fit says of one field: its status, its value in the fitted robot and before.

    `interval` (95 %) is given where it is identified. `base` names the base parameters that hold
    it, `others` the fields that they hold beside it.
    """

    path: str
    status: Status
    value: float
    before: float | None
    unit: str
    interval: tuple[float, float] | None
    base: tuple[str, ...]
    others: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The status in words, with numbers."""
        unit = f" {self.unit}" if self.unit else ""
        if self.status == "identified":
            assert self.interval is not None
            low, high = self.interval
            return f"identified: {self.value:.4g}{unit}, 95 % from {low:.4g} to {high:.4g}"
        if self.status == "kept":
            return f"kept from the file: {self.value:.4g}{unit}"
        return (
            f"identified only in a combination: {', '.join(self.base)}; {self.value:.4g}{unit} is "
            "one value that fits"
        )

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "field": self.path,
            "status": self.status,
            "value": self.value,
            "before": self.before,
            "unit": self.unit,
            "interval_95": None if self.interval is None else list(self.interval),
            "base_parameters": list(self.base),
            "beside": list(self.others),
        }


class Determined(Mapping[str, FieldStatus]):
    """The status of every field of a robot's bodies, drives and friction, by its path."""

    def __init__(self, found: Mapping[str, FieldStatus]) -> None:
        self._found = dict(found)

    def __getitem__(self, path: str) -> FieldStatus:
        if path not in self._found:
            raise UnknownNameError("field", path, self._found)
        return self._found[path]

    def __contains__(self, path: object) -> bool:
        return path in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def of(self, status: Status) -> tuple[FieldStatus, ...]:
        """All fields with a status."""
        return tuple(item for item in self._found.values() if item.status == status)

    def __str__(self) -> str:
        return "\n".join(map(str, self._found.values()))


def fitted_base_map(fit: Fit) -> BaseMap:
    """J of what a fit identified, at its robot."""
    par = fit.parametrisation
    own = zip(fit.names[: par.own], fit.uncertainty.unknown[: par.own], strict=True)
    return base_map(fit.robot, par, [name for name, unknown in own if not unknown], fit.fixed)


def determined(fit: Fit, grouped: BaseMap) -> Determined:
    """What a fit says of every field of its robot."""
    alone, given = grouped.identified, grouped.given
    paths = [field.path for field in grouped.fields]
    found = {}
    for j, field in enumerate(grouped.fields):
        base = () if given[j] else grouped.held_by(j)
        status: Status = "combination" if base else "kept"
        interval = _interval(fit, grouped, j) if alone[j] and base else None
        if interval is not None:
            status = "identified"
        beside = np.asarray(grouped.reached[grouped.reached[:, j]].any(axis=0))
        others = tuple(
            path for path, yes in zip(paths, beside, strict=True) if yes and path != field.path
        )
        value = field.value(fit.robot)
        assert value is not None
        before = field.value(fit.before)
        found[field.path] = FieldStatus(
            field.path, status, value, before, field.unit, interval, base, others
        )
    return Determined(found)


def _interval(fit: Fit, grouped: BaseMap, index: int) -> tuple[float, float] | None:
    """The 95 % interval of an identified field, from those of the parameters that make it up.

    Of one parameter it is that parameter's; of several, that of w' x by their covariance, as much
    wider as the widest of theirs. None where the fit has other parameters than base parameters.
    """
    w = grouped.weights(index)
    used = np.flatnonzero(np.abs(w) > NO_SHARE * np.abs(w).max(initial=0.0))
    names = [grouped.names[k] for k in used]
    if not names or not set(names) <= set(fit.names):
        return None
    rows = [fit.names.index(name) for name in names]
    w = w[used]
    value = grouped.fields[index].value(fit.robot)
    assert value is not None
    centre = value + float(w @ (fit.values[rows] - grouped.values[used]))
    about = fit.interval()[rows] - fit.values[rows, None]
    if len(rows) == 1:
        ends = centre + w[0] * about[0]
        return float(ends.min()), float(ends.max())
    plain = fit.uncertainty.interval()[rows] - fit.uncertainty.x[rows, None]
    wider = float((np.abs(about).max(axis=1) / np.maximum(plain[:, 1], 1e-300)).max())
    single = plain[:, 1] / np.maximum(fit.std[rows], 1e-300)
    covariance = fit.covariance[np.ix_(rows, rows)]
    half = wider * float(single.max()) * math.sqrt(max(float(w @ covariance @ w), 0.0))
    return centre - half, centre + half
