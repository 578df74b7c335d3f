"""Entries of a robot file to a robot: the parts, their shortcuts and the values per arm."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import yaml

from deltadyn.errors import OldFileWarning, RobotError, RobotFileError
from deltadyn.robot.bodies import (
    Arm,
    Carriage,
    Effector,
    Geometry,
    Payload,
    Platform,
    RailGeometry,
    Rod,
    Spindle,
    Strut,
    TenParameters,
)
from deltadyn.robot.checks import ARMS, collected, number
from deltadyn.robot.fields import ACTUATIONS, FORMAT, TEN, TOP, Field, passive_fields, sections
from deltadyn.robot.names import meant
from deltadyn.robot.robot import STANDARD_GRAVITY, Robot
from deltadyn.robot.settings import (
    ROTOR_SIDES,
    Controller,
    Drives,
    Eccentricity,
    Friction,
    GrayBox,
    Limits,
    PassiveFriction,
    Ripple,
    Sensors,
    Source,
    Workspace,
    side_matters,
)
from deltadyn.robot.write import robot_text
from deltadyn.units import KINDS, unit_of

# YAML text as a tree of entries that know their path and line.


_TAG = "tag:yaml.org,2002:"
_SCALARS = {_TAG + kind for kind in ("str", "int", "float", "bool", "null", "timestamp")}
WRONG: Final = object()  # the value of an entry whose error is noted already
_SPECIAL = {".nan": math.nan, ".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf}


@dataclass(frozen=True)
class Entry:
    """A value of a file with its place.

    `value` is a dict of entries, a list of entries, a float, a text, a bool or None.
    """

    path: str
    line: int
    value: Any

    @property
    def shown(self) -> Any:
        """The value without places, for messages."""
        if isinstance(self.value, dict):
            return {key: entry.shown for key, entry in self.value.items()}
        if isinstance(self.value, list):
            return [entry.shown for entry in self.value]
        return "?" if self.value is WRONG else self.value


class NotedError(Exception):
    """Something cannot be made, for reasons that are noted already."""


def read_entries(text: str, file: str) -> tuple[Entry, list[RobotFileError]]:
    """The whole file as one entry, and what is wrong with its fields.

    The loader in C would be faster, but a file of many brackets overruns its stack.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is None:
            raise RobotFileError("robot file", None, "a mapping", path=file, problem="is empty")
        converter = _Converter(file)
        return converter.entry(node, "", node.start_mark.line + 1), converter.errors
    except yaml.YAMLError as error:
        raise _syntax_error(error, file) from error
    except RecursionError as error:
        raise RobotFileError(
            "robot file", None, "sections in sections", path=file, problem="is nested too deeply"
        ) from error


class _Converter:
    """Nodes to entries; remembers the nodes, since an alias is a node met a second time."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.met: set[int] = set()
        self.errors: list[RobotFileError] = []

    def entry(self, node: Any, path: str, line: int) -> Entry:
        if id(node) in self.met:
            return self.wrong(path, line, "is an alias", "values written out, without & and *")
        self.met.add(id(node))
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return Entry(path, line, self.mapping(node, path))
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            items = [
                self.entry(item, f"{path}[{index}]", item.start_mark.line + 1)
                for index, item in enumerate(node.value)
            ]
            return Entry(path, line, items)
        if isinstance(node, yaml.ScalarNode) and node.tag in _SCALARS:
            return Entry(path, line, _scalar(node))
        return self.wrong(path, line, f"has the tag {node.tag!r}", "plain YAML without tags")

    def mapping(self, node: Any, path: str) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.wrong(path, line, "has a field whose name is not a word", "names")
                continue
            key = str(key_node.value)
            full = f"{path}.{key}" if path else key
            if key in entries:
                problem = f"is given twice, first in line {entries[key].line}"
                self.wrong(full, line, problem, "every field once")
                continue
            entries[key] = self.entry(value_node, full, line)
        return entries

    def wrong(self, path: str, line: int, problem: str, allowed: str) -> Entry:
        """Note an error; the entry of what it is about."""
        name = path or "robot file"
        error = RobotFileError(name, None, allowed, path=self.file, line=line, problem=problem)
        self.errors.append(error)
        return Entry(path, line, WRONG)


def _scalar(node: Any) -> Any:
    """A number where it reads as one (YAML 1.1 takes 1e-3 for a text), else text, bool or None."""
    text: str = node.value
    if node.style is not None:
        return text
    if node.tag == _TAG + "null":
        return None
    if node.tag == _TAG + "bool":
        return text.lower() in ("true", "yes", "on")
    if text.lower() in _SPECIAL:
        return _SPECIAL[text.lower()]
    try:
        return float(text)
    except ValueError:
        return text


def _syntax_error(error: yaml.YAMLError, file: str) -> RobotFileError:
    mark = getattr(error, "problem_mark", None)
    line = None if mark is None else mark.line + 1
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    return RobotFileError(
        "robot file", None, "a YAML mapping", path=file, line=line, problem=f"is not YAML: {what}"
    )


# Sections of a robot file: field names, units and shapes checked, values in SI, sources kept.


T = TypeVar("T")
_SUFFIXES = {unit.suffix for units in KINDS.values() for unit in units}


class Entries:
    """Reads sections; remembers where each value stands and what its source is.

    Paths of sources and places are those of the values in SI: "geometry.base_radius". Errors are
    noted, so that a file shows all of them; `wrong` are the paths of fields that have one, and of
    the sections around them.
    """

    def __init__(
        self, file: str, dof: int, linear: bool, errors: Sequence[RobotFileError] = ()
    ) -> None:
        self.file = file
        self.dof = dof
        self.linear = linear
        self.carriages = ARMS if linear else 0
        self.sections = sections(linear, dof)
        self.errors = list(errors)
        self.wrong: set[str] = set()
        self.sources: dict[str, Source] = {}
        self.places: dict[str, Entry] = {}

    def section(self, entry: Entry, path: str, fields: Sequence[Field]) -> dict[str, Any]:
        """Values of a mapping by field name; a field of shape "section" gives its entry.

        Fields with errors are left out. Where a required one is, nothing can be made of the rest.
        """
        by_key = {key: field for field in fields for key in field.keys}
        self.places[path] = entry
        values: dict[str, Any] = {}
        for key, item in self.mapping(entry).items():
            field = by_key.get(key)
            if field is None:
                likely = self.unknown(key, item, path, fields)
                if likely is None or any(other in entry.value for other in by_key[likely].keys):
                    continue
                key, field = likely, by_key[likely]  # read on, to find what else is wrong
            own = f"{path}.{field.place}" if path else field.place
            if field.place in values:
                other = self.places[own].path.rpartition(".")[2]
                self.note(self.error(item, f"is the same as {other}", "one of the two"), own)
                continue
            try:
                values[field.place] = self._value(field, key, item, own)
            except NotedError:
                self.note(None, own)
            except RobotFileError as error:
                self.note(error, own)
        self._join_axes(values, path, fields)
        missing = [field for field in fields if field.required and field.place not in values]
        for field in missing:
            own = f"{path}.{field.place}" if path else field.place
            if own not in self.wrong:
                self.note(self.missing(path, field), own)
        if missing and path:
            raise NotedError
        return values

    def _join_axes(self, values: dict[str, Any], path: str, fields: Sequence[Field]) -> None:
        """Put what a robot on rails says of its carriages and of axis 4 into one list."""
        for fourth in fields:
            name = fourth.place.removesuffix(f"[{ARMS}]")
            if name == fourth.place or (name not in values and fourth.place not in values):
                continue
            carriage = next(field for field in fields if field.place == name)
            for field in (carriage, fourth):
                own = f"{path}.{field.place}"
                if field.place not in values and not field.zero and own not in self.wrong:
                    whose = "of axis 4" if field is fourth else "of the carriages"
                    self.note(self.missing(path, field, f", {whose}"), own)
            three, one = values.pop(name, 0.0), values.pop(fourth.place, 0.0)
            if not {f"{path}.{name}", f"{path}.{fourth.place}"} & self.wrong:
                values[name] = [*(three if isinstance(three, list) else [three] * ARMS), one]

    def note(self, error: RobotFileError | None, path: str) -> None:
        """Keep an error about the field of this path; each place is told once."""
        self.wrong |= {path, path.rpartition(".")[0]}
        if error is not None:
            place = (error.quantity, error.line)
            if place not in [(other.quantity, other.line) for other in self.errors]:
                self.errors.append(error)

    def attempt(self, make: Callable[[], T], path: str) -> T | None:
        """What `make` makes, None where its errors had to be noted."""
        try:
            return make()
        except NotedError:
            self.note(None, path)
        except RobotFileError as error:
            self.note(error, path)
        return None

    def all_errors(self) -> RobotFileError:
        """All errors as one, in the order of the lines; what is missing has no line and is last."""
        by_line = sorted(
            self.errors, key=lambda error: (error.problem == "is missing", error.line or 0)
        )
        return RobotFileError.together(by_line)

    def mapping(self, entry: Entry) -> dict[str, Entry]:
        """The fields of an entry that must be a mapping."""
        if entry.value is WRONG:
            raise NotedError
        if not isinstance(entry.value, dict):
            raise self.error(entry, None, "a mapping of fields")
        return entry.value

    def error(self, entry: Entry, problem: str | None, allowed: str) -> RobotFileError:
        """The error for an entry; without `problem` its value is the problem."""
        name, line = entry.path or "robot file", entry.line
        return RobotFileError(
            name, entry.shown, allowed, path=self.file, line=line, problem=problem
        )

    def missing(self, path: str, field: Field, instead: str = "") -> RobotFileError:
        """The error for a field that a section must have."""
        section = self.places[path]
        name = f"{section.path}.{field.name}" if section.path else field.name
        allowed = f"a section {field.name}" if field.shape == "section" else field.label
        entry = Entry(name, section.line, None)
        return self.error(entry, "is missing", f"{allowed}{instead}")

    def build(self, make: Callable[[], T], own: str, path: str, arm: int | None = None) -> T:
        """What `make` makes; a part's complaints about its own fields are moved to the file's.

        A complaint about several fields together counts only where each is right by itself.
        """
        part: T | None = None
        sound = path not in self.wrong and "geometry" not in self.wrong
        with collected() as found:
            try:
                part = make()
            except RobotFileError:
                raise
            except RobotError as error:
                if not found and sound:
                    found.append(error)
            except (ArithmeticError, ValueError):  # of numbers that are refused anyway
                if not found:
                    raise
        for item in found:
            place = path + item.quantity.removeprefix(own)
            self.note(self.located(item, place, arm), place)
        if found or part is None:
            raise NotedError
        return part

    def located(self, error: RobotError, path: str, arm: int | None = None) -> RobotFileError:
        """A part's error as the file's: the field as written there, its line and its value."""
        base, index = _split_index(path)
        index = arm if index is None else index
        entry = self.places.get(path) or self.places.get(base)
        if entry is None:
            section = self.places.get(base.rpartition(".")[0], self.places[""])
            problem = "is missing" if error.value is None else None
            return self.error(Entry(path, section.line, error.value), problem, error.allowed)
        if isinstance(entry.value, list) and index is not None and index < len(entry.value):
            item = entry.value[index]
            entry = Entry(f"{entry.path}[{index}]", item.line, item.value)
        return self.error(entry, None, error.allowed)

    def stands_for(self, path: str, shortcut: str, *names: str) -> None:
        """A shortcut's place and source become those of the fields that it stands for."""
        own = f"{path}.{shortcut}"
        source = self.sources.pop(own, None)
        for name in names:
            self.places.setdefault(f"{path}.{name}", self.places[own])
            if source is not None:
                self.sources[f"{path}.{name}"] = source

    def source(self, fields: dict[str, Entry], entry: Entry) -> Source | None:
        """The source in a mapping of value, source and assumed."""
        assumed = fields.get("assumed")
        if assumed is not None and not isinstance(assumed.value, bool):
            raise self.error(assumed, None, "true or false")
        text = fields.get("source")
        if text is None:
            if assumed is not None:
                why = Entry(f"{entry.path}.source", entry.line, None)
                raise self.error(why, "is missing", "a text that says why this is assumed")
            return None
        return Source(self.text(text), assumed is not None and assumed.value)

    def text(self, entry: Entry) -> str:
        """A text that is not empty."""
        if entry.value is WRONG:
            raise NotedError
        if not isinstance(entry.value, str) or not entry.value.strip():
            hint = "" if entry.value in (None, "") else "; put it in quotes"
            raise self.error(entry, None, f"a text{hint}")
        return entry.value

    def number(self, entry: Entry) -> float:
        """A finite number."""
        value = entry.value
        if value is WRONG:
            raise NotedError
        if not isinstance(value, float):
            raise self.error(entry, None, "a number")
        if not math.isfinite(value):
            raise self.error(entry, None, "a finite number")
        return value

    def _value(self, field: Field, key: str, item: Entry, path: str) -> Any:
        if field.shape == "section":
            self.places[path] = item
            return item
        item = self._unwrapped(item, path)
        self.places[path] = item
        if item.value is WRONG:
            raise NotedError
        if field.shape == "text":
            return self.text(item)
        if field.shape == "flag":
            if not isinstance(item.value, bool):
                raise self.error(item, None, "true or false")
            return item.value
        unit = unit_of(field.kind, key[len(field.name) + 1 :])
        convert = float if unit is None else unit.to_si
        if isinstance(item.value, list):
            count = self._count(field)
            if len(item.value) != count or not count:
                raise self.error(item, None, self._shape_text(field))
            return [convert(self.number(number)) for number in item.value]
        if field.shape in ("vector", "triple"):
            raise self.error(item, None, self._shape_text(field))
        return convert(self.number(item))

    def _unwrapped(self, item: Entry, path: str) -> Entry:
        """The value of {value: ..., source: ..., assumed: ...}; its source is noted."""
        if not isinstance(item.value, dict):
            return item
        fields = item.value
        if "value" not in fields:
            raise self.error(item, None, "a value, or a mapping {value: ..., source: ...}")
        for key, entry in fields.items():
            if key not in ("value", "source", "assumed"):
                raise self.error(entry, "is not a known field", "value, source, assumed")
        source = self.source(fields, item)
        if source is not None:
            self.sources[path] = source
        value = fields["value"]
        return _renamed(value, item.path)

    def _count(self, field: Field) -> int:
        per_arm = field.shape in ("arm", "carriage", "triple")
        return ARMS if per_arm else self.dof if field.shape == "axis" else field.size

    def _shape_text(self, field: Field) -> str:
        count = self._count(field)
        if field.shape == "one":
            return "one number" + (", of axis 4" if field.place.endswith("]") else "")
        if field.shape == "vector":
            return f"a list of {count} numbers"
        if field.shape == "triple":
            return f"a list of {count} numbers, one per arm"
        return f"one number or {count} numbers, one per {field.shape}"

    def unknown(self, key: str, item: Entry, path: str, fields: Sequence[Field]) -> str | None:
        """Note a key that no field has; the key that was meant, where the section has it.

        The field that was meant does not count as missing.
        """
        if self._of_the_other(key, item, path, fields):
            return None
        nearest = meant(key, path, fields, self.sections)
        error = self._unknown(key, item, nearest, fields)
        self.note(error, f"{path}.{key}" if path else key)
        for field in fields:
            if key == field.name or (nearest and nearest[0] in field.keys):
                self.wrong.add(f"{path}.{field.place}" if path else field.place)
                return field.keys[0] if key == field.name else nearest[0]
        return None

    def _of_the_other(self, key: str, item: Entry, path: str, fields: Sequence[Field]) -> bool:
        """Whether only the other actuation has such a field; that is noted, with ours for it."""
        others = sections(not self.linear, self.dof).get(_split_index(path)[0], ())
        other = next((field for field in others if key in field.keys), None)
        if other is None or any(field.name == other.name for field in fields):
            return False
        twin = next((field for field in fields if field.place == other.place), None)
        allowed = ", ".join(field.label for field in fields) if twin is None else twin.label
        problem = f"is a field of a robot with actuation: {ACTUATIONS[not self.linear]}"
        self.note(self.error(item, problem, allowed), f"{path}.{key}")
        if twin is not None:
            self.wrong.add(f"{path}.{twin.place}")
        return True

    def _unknown(
        self, key: str, item: Entry, nearest: Sequence[str], fields: Sequence[Field]
    ) -> RobotFileError:
        """The error for a key that no field has: a wrong unit, none, or a wrong name."""
        starts = [
            field for field in fields if key == field.name or key.startswith(f"{field.name}_")
        ]
        if starts:
            field = max(starts, key=lambda candidate: len(candidate.name))
            rest = key[len(field.name) + 1 :]
            keys = [key for same in starts if same.name == field.name for key in same.keys]
            if not rest:
                return self.error(item, "has no unit", " or ".join(keys))
            if rest in _SUFFIXES or (nearest and nearest[0] in keys):
                what = f"the unit {rest!r}, which this field cannot have"
                return self.error(item, f"has {what}", " or ".join(keys))
        hint = f"; did you mean {' or '.join(map(repr, nearest))}?" if nearest else ""
        names = ", ".join(field.label for field in fields)
        return self.error(item, f"is not a known field{hint}", names)


def _renamed(entry: Entry, path: str) -> Entry:
    """The same entry under another path, its items too."""
    value = entry.value
    if isinstance(value, list):
        value = [_renamed(item, f"{path}[{index}]") for index, item in enumerate(value)]
    return Entry(path, entry.line, value)


def _split_index(path: str) -> tuple[str, int | None]:
    match = re.fullmatch(r"(.*)\[(\d+)\]", path)
    return (path, None) if match is None else (match[1], int(match[2]))


Values = dict[str, Any]
_STAND_IN = 1e3  # m: for a length that is wrong itself, so that no other number seems too large
_POSITIVE: dict[str, Any] = {"low": 0.0, "strict": True, "unit": "m"}
_ROUNDING = 1e-12  # relative: an inertia that falls below its bound by less is at the bound


def read_robot(text: str, file: str) -> Robot:
    """The robot that the text of a robot file describes; `file` is its name in messages."""
    root, errors = read_entries(text, file)
    reader = _Reader(root, file, errors)
    try:
        robot = reader.robot()
        if reader.side_left_out is not None:
            _accept_old(robot, text, file, reader.side_left_out)
        return robot
    except RobotFileError as error:
        reader.entries.note(error, "")
    except NotedError:
        pass
    raise reader.entries.all_errors()


#: The line that 0.1 left out, as `robot_text` writes it.
_SIDE_LINE = "  rotor_side: output_side"


def _accept_old(robot: Robot, text: str, file: str, error: RobotFileError) -> None:
    """Take a file without `rotor_side` only where deltadyn 0.1 wrote it, and say so.

    0.1 left the line out where it was "output_side", its default, so what its files mean is known.
    Such a file is what we write for the same robot, but for that line; a file made by hand is not.
    """
    lines = robot_text(robot).splitlines()
    lines.remove(_SIDE_LINE)
    if lines != text.splitlines():
        raise error
    told = f"{file}, line {error.line}: drives has no rotor_side, as deltadyn 0.1 wrote it: "
    warnings.warn(f"{told}taken as output_side; save it again", OldFileWarning, stacklevel=4)


class _Reader:
    """One reading of one file."""

    def __init__(self, root: Entry, file: str, errors: Sequence[RobotFileError]) -> None:
        keys = root.value if isinstance(root.value, dict) else {}
        spindle = any(key == "spindle" or meant(key, "", TOP) == ("spindle",) for key in keys)
        self.root = root
        self.entries = Entries(file, 4 if spindle else 3, _is_linear(keys), errors)
        self.top: Values = {}
        self.parts: Values = {}
        self.side_left_out: RobotFileError | None = None

    def robot(self) -> Robot:
        entries = self.entries
        self._check_format()
        self.top = entries.section(self._without_other_limbs(), "", entries.sections[""])
        entries.attempt(self._check_actuation, "actuation")
        geometry: type[Any] = RailGeometry if entries.linear else Geometry
        readers: dict[str, Callable[[], Any]] = {
            "geometry": lambda: self.part("geometry", geometry),
            "arm": lambda: self.limbs("arm", self.arm, "arm_length"),
            "carriage": lambda: self.limbs("carriage", self.carriage, "strut_length"),
            "strut": lambda: self.limbs("strut", self.strut, "strut_length"),
            "platform": lambda: self.part("platform", Platform),
            "spindle": self.spindle,
            "effector": lambda: self.part("effector", Effector),
            "payload": lambda: self.part("payload", Payload),
            "drives": self.drives,
            "friction": self.friction,
            "limits": self.limits,
            "controller": lambda: self.part("controller", self.controller),
            "sensors": self.sensors,
            "gray_box": lambda: self.part("gray_box", GrayBox),
        }
        for name, read in readers.items():
            if name in self.top:
                self.parts[name] = entries.attempt(read, name)
        entries.attempt(self.other_sources, "sources")
        if entries.errors:
            if self.side_left_out is not None:
                entries.note(self.side_left_out, "drives.rotor_side")
            raise NotedError
        plural = {"arm": "arms", "carriage": "arms", "strut": "struts"}
        return self.whole(
            lambda: Robot(
                self.top["name"],
                **{plural.get(name, name): part for name, part in self.parts.items()},
                gravity=self.top.get("gravity", STANDARD_GRAVITY),
                sources=entries.sources,
                description=self.top.get("description", ""),
            )
        )

    def controller(self, **values: Any) -> Controller:
        return Controller(**values).checked(self.entries.dof)

    def part(self, name: str, make: Callable[..., T]) -> T:
        """A part whose fields are those of its section."""
        values = self.section(self.top[name], name)
        return self.entries.build(lambda: make(**values), name, name)

    def section(self, entry: Entry, path: str) -> Values:
        """The values of a section, with the fields that this robot's file has there."""
        return self.entries.section(entry, path, self.entries.sections[path])

    def limbs(
        self, name: str, make: Callable[[Values, str, float], T], length: str
    ) -> tuple[T | None, ...]:
        """Three arms or struts, from one mapping with values per arm or from three mappings.

        `length` is the field of the geometry that they need.
        """
        entries, section = self.entries, self.top[name]
        fields = entries.sections[name]
        if isinstance(section.value, list):
            if len(section.value) != ARMS:
                raise entries.error(section, None, "a mapping, or three mappings, one per arm")
            entries.places[name] = section
            paths = [f"{name}[{i}]" for i in range(ARMS)]
            values = [
                entries.attempt(partial(entries.section, item, path, fields), path)
                for item, path in zip(section.value, paths, strict=True)
            ]
        else:
            shared = entries.section(section, name, fields)
            paths = [name] * ARMS
            values = [_of_arm(shared, i) for i in range(ARMS)]

        geometry: Geometry | RailGeometry | None = self.parts.get("geometry")

        def one(i: int, own: Values) -> T:
            size = _STAND_IN if geometry is None else getattr(geometry, length)[i]
            return entries.build(lambda: make(own, paths[i], size), name, paths[i], arm=i)

        return tuple(
            None if own is None else entries.attempt(partial(one, i, own), paths[i])
            for i, own in enumerate(values)
        )

    def arm(self, values: Values, path: str, length: float) -> Arm:
        self.expand_uniform(values, path, length, ("com", "inertia"), ("axis_inertia",))
        self.need("arm", values, path, "com", "uniform: true")
        if "axis_inertia" in values:
            self.exclude(values, path, "axis_inertia", "inertia")
            offset = values.get("com_offset", 0.0)
            least = values["mass"] * (values["com"] ** 2 + offset**2)
            inertia = values.pop("axis_inertia") - least
            if inertia < -_ROUNDING * least:
                what = (
                    f"at least m c^2 = {least:g} kg m^2, the mass's own share about the motor axis"
                )
                raise RobotError("arm.axis_inertia", None, what)
            values["inertia"] = max(inertia, 0.0)
            self.entries.stands_for(path, "axis_inertia", "inertia")
        self.need("arm", values, path, "inertia", "axis_inertia_kgm2 or uniform: true")
        return Arm(**values)

    def carriage(self, values: Values, path: str, length: float) -> Carriage:
        return Carriage(**values)

    def strut(self, values: Values, path: str, length: float) -> Strut:
        rods = values.pop("rods", 2.0)
        count = int(rods) if rods == int(rods) else rods
        if "ten" in values:
            self.exclude(values, path, "ten", "uniform", "com")
            ten = self.ten(values, path)
            thick = Strut.from_ten(ten, length, count)
            thin = {name: getattr(thick, name) for name in ("mass", "com_fraction", "inertia")}
            return Strut(**{**thin, **values}, rods=count, ten=ten)
        self.need("strut", values, path, "mass", "ten")
        names = ("com_fraction", "inertia")
        self.expand_uniform(values, path, 1.0, names, ("com",), inertia_length=length)
        if "com" in values:
            self.exclude(values, path, "com", "com_fraction")
            values["com_fraction"] = values.pop("com") / length
            self.entries.stands_for(path, "com", "com_fraction")
        self.need("strut", values, path, "com_fraction", "com_m, uniform: true or ten")
        self.need("strut", values, path, "inertia", "uniform: true or ten")
        strut = Strut(**values, rods=count)
        strut.check("strut", length)
        return strut

    def rod(self, values: Values, path: str) -> Rod:
        if "ten" in values:
            self.exclude(values, path, "ten", "uniform")
            length = values.pop("length", None)
            ten = self.ten(values, path)
            thin = Rod.from_ten(ten, length)
            names = ("mass", "com", "inertia", "axial_inertia")
            same = {name: getattr(thin, name) for name in names}
            return Rod(**{**same, **values}, length=length, ten=ten)
        self.need(path, values, path, "mass", "ten")
        if values.get("uniform"):
            self.need(path, values, path, "length", "")
        self.expand_uniform(values, path, values.get("length", 0.0), ("com", "inertia"))
        self.need(path, values, path, "com", "uniform: true or ten")
        self.need(path, values, path, "inertia", "uniform: true or ten")
        return Rod(**values)

    def ten(self, values: Values, path: str) -> TenParameters:
        """The ten parameters in a strut or rod; they leave `values`."""
        own = f"{path}.ten"
        fields = self.entries.section(values.pop("ten"), own, TEN)
        return self.entries.build(lambda: TenParameters(**fields), "ten", own)

    def spindle(self) -> Spindle:
        values = self.section(self.top["spindle"], "spindle")
        for side in ("upper", "lower"):
            path = f"spindle.{side}"
            fields = self.section(values[side], path)
            values[side] = self.entries.build(partial(self.rod, fields, path), "rod", path)
        return self.entries.build(lambda: Spindle(**values), "spindle", "spindle")

    def drives(self) -> Drives:
        entries = self.entries
        entries.sections = sections(entries.linear, entries.dof, self._at_motors())
        values = self.section(self.top["drives"], "drives")
        if "ripple" in values:
            values["ripple"] = self.waves(values["ripple"], "drives.ripple", Ripple)
        self.require_side(values)
        size = (entries.dof, entries.carriages)
        return entries.build(lambda: Drives(**values).checked(*size), "drives", "drives")

    def _at_motors(self) -> bool:
        """Whether the rotors' inertias of a robot on rails are those at the motors."""
        given = self.top["drives"].value
        fields = given if isinstance(given, dict) else {}
        side = fields.get("rotor_side")
        shown = None if side is None else side.shown
        shown = shown.get("value") if isinstance(shown, dict) else shown
        if shown in ROTOR_SIDES:
            return bool(shown == "motor_side")
        return not {"rotor_inertia_kg", "rotor_inertia_g"} & set(fields)

    def require_side(self, values: Values) -> None:
        """Where a gear stands beside a rotor inertia, a file must say at which side that is."""
        ratios, rotors = (
            value if isinstance(value, list) else [value] * self.entries.dof
            for value in (values.get("gear_ratio", 1.0), values.get("rotor_inertia", 0.0))
        )
        given = "rotor_side" in values or "drives.rotor_side" in self.entries.wrong
        if given or not side_matters(ratios, rotors, self.entries.carriages):
            return
        if self.entries.linear:
            self._require_side_of_carriages(values)
            return
        pairs = zip(ratios, rotors, strict=True)
        ratio, rotor = next(pair for pair in pairs if pair[0] != 1 and pair[1] != 0)
        place = self.entries.places["drives.rotor_inertia"]
        allowed = (
            f"the line 'rotor_side: motor_side' (then {rotor:.4g} kg m^2 behind 1:{ratio:g} is "
            f"{ratio**2 * rotor:.4g} kg m^2 at the output) or the line 'rotor_side: output_side' "
            f"(then it is {rotor:.4g} kg m^2 there)"
        )
        entry = Entry("drives.rotor_side", place.line, None)
        self.side_left_out = self.entries.error(entry, "is missing", allowed)
        values["rotor_side"] = "output_side"

    def _require_side_of_carriages(self, values: Values) -> None:
        motors = self._at_motors()
        values["rotor_side"] = ROTOR_SIDES[not motors]
        place = self.entries.places.get("drives.rotor_inertia", self.entries.places["drives"])
        allowed = (
            "the line 'rotor_side: motor_side', with the motors' inertias in kg m^2, or the line "
            "'rotor_side: output_side', with what they add to the carriages, rotor_inertia_kg"
        )
        entry = Entry("drives.rotor_side", place.line, None)
        self.entries.note(self.entries.error(entry, "is missing", allowed), "drives.rotor_side")

    def sensors(self) -> Sensors:
        values = self.section(self.top["sensors"], "sensors")
        path = "sensors.eccentricity"
        if "eccentricity" in values:
            values["eccentricity"] = self.waves(values["eccentricity"], path, Eccentricity)
        dof = self.entries.dof
        return self.entries.build(lambda: Sensors(**values).checked(dof), "sensors", "sensors")

    def waves(self, entry: Entry, path: str, make: Callable[..., T]) -> tuple[T, ...]:
        """Waves, each a mapping in a list."""
        if not isinstance(entry.value, list):
            raise self.entries.error(entry, None, "a list of mappings, one per order")
        fields = self.entries.sections[path]

        def wave(k: int, item: Entry) -> T:
            own = f"{path}[{k}]"
            values = self.entries.section(item, own, fields)
            if "wavelength" in values:
                self.exclude(values, own, "wavelength", "order")
                length = number(f"{own}.wavelength", values.pop("wavelength"), **_POSITIVE)
                values["order"] = 2 * math.pi / length
                self.entries.stands_for(own, "wavelength", "order")
            if self.entries.linear and "order" not in values:
                field = Field("wavelength", "length")
                raise self.entries.missing(own, field, ", or order")
            return make(**values)

        return tuple(
            self.entries.build(partial(wave, k, item), path, path)
            for k, item in enumerate(entry.value)
        )

    def friction(self) -> Friction:
        values = self.section(self.top["friction"], "friction")
        if "passive" in values:
            path = "friction.passive"
            joints = self.section(values["passive"], path)
            values["passive"] = tuple(self.passive(joint, joints[joint]) for joint in joints)
        dof = self.entries.dof
        return self.entries.build(lambda: Friction(**values).checked(dof), "friction", "friction")

    def passive(self, joint: str, entry: Entry) -> PassiveFriction:
        path = f"friction.passive.{joint}"
        values = self.entries.section(entry, path, passive_fields(joint))
        return self.entries.build(lambda: PassiveFriction(joint, **values), path, path)

    def limits(self) -> Limits:
        values = self.section(self.top["limits"], "limits")
        if "workspace" in values:
            path = "limits.workspace"
            fields = self.section(values["workspace"], path)
            values["workspace"] = self.entries.build(lambda: Workspace(**fields), path, path)
        size = (self.entries.dof, self.entries.carriages)
        return self.entries.build(lambda: Limits(**values).checked(*size), "limits", "limits")

    def other_sources(self) -> None:
        """The section `sources`: sources of what the file does not write as a field."""
        if "sources" not in self.top:
            return
        for path, entry in self.entries.mapping(self.top["sources"]).items():
            fields = self.entries.mapping(entry)
            for key, item in fields.items():
                if key not in ("source", "assumed"):
                    raise self.entries.error(item, "is not a known field", "source, assumed")
            source = self.entries.source(fields, entry)
            if source is None:
                raise self.entries.error(entry, None, "a mapping {source: ...}")
            if path in self.entries.sources:
                raise self.entries.error(entry, "is given at its field too", "one of the two")
            self.entries.sources[path] = source

    def whole(self, make: Callable[[], Robot]) -> Robot:
        """The robot; complaints about a limb lead to its own mapping or its place in a list."""
        try:
            return make()
        except RobotError as error:
            match = re.match(r"(arm|strut)s\[(\d)\](.*)", error.quantity)
            if match is None:
                raise self.entries.located(error, error.quantity) from error
            name = "carriage" if self.entries.linear and match[1] == "arm" else match[1]
            own = f"{name}[{match[2]}]"
            path = own if own in self.entries.places else name
            raise self.entries.located(error, path + match[3], int(match[2])) from error

    def expand_uniform(
        self,
        values: Values,
        path: str,
        length: float,
        names: tuple[str, str],
        also: tuple[str, ...] = (),
        inertia_length: float | None = None,
    ) -> None:
        """`uniform: true` as COM in the middle and m l^2 / 12."""
        if not values.pop("uniform", False):
            return
        self.exclude(values, path, "uniform", *names, *also)
        values[names[0]] = length / 2
        values[names[1]] = values["mass"] * (inertia_length or length) ** 2 / 12
        self.entries.stands_for(path, "uniform", *names)

    def need(self, section: str, values: Values, path: str, name: str, instead: str) -> None:
        if name not in values:
            if f"{path}.{name}" in self.entries.wrong:
                raise NotedError
            fields = self.entries.sections[section]
            field = next(field for field in fields if field.name == name)
            raise self.entries.missing(path, field, f", or {instead}" if instead else "")

    def exclude(self, values: Values, path: str, given: str, *others: str) -> None:
        for other in others:
            if other in values:
                entry = self.entries.places[f"{path}.{other}"]
                raise self.entries.error(entry, f"is given beside {given}", "one of the two")

    def _without_other_limbs(self) -> Entry:
        """The file without the section of the limbs that its actuation does not have."""
        linear = self.entries.linear
        wanted, other = ("carriage", "arm") if linear else ("arm", "carriage")
        mapping = self.entries.mapping(self.root)
        if other not in mapping:
            return self.root
        told = f"actuation: {ACTUATIONS[linear]}" if "actuation" in mapping else "arm"
        problem, allowed = f"is given beside {told}", f"a section {wanted}"
        if not linear:
            allowed += ", or actuation: linear with rails in geometry"
        self.entries.note(self.entries.error(mapping[other], problem, allowed), wanted)
        rest = {key: entry for key, entry in mapping.items() if key != other}
        return Entry(self.root.path, self.root.line, rest)

    def _check_actuation(self) -> None:
        """What moves the limbs, said where it is not arms."""
        told = self.top.pop("actuation", None)
        place = self.entries.places.get("actuation", self.root)
        if told is None and self.entries.linear and "actuation" not in self.entries.wrong:
            line = self.top["carriage"].line
            entry = Entry("actuation", line, None)
            allowed = "the line 'actuation: linear' where a section carriage is"
            raise self.entries.error(entry, "is missing", allowed)
        if told is not None and told not in ACTUATIONS:
            raise self.entries.error(place, None, " or ".join(ACTUATIONS))

    def _check_format(self) -> None:
        """The version of the format, before anything else: a newer one may have other fields."""
        mapping = self.entries.mapping(self.root)
        entry = mapping.get("deltadyn")
        if entry is None:
            self.entries.places[""] = self.root
            field = Field("deltadyn")
            error = self.entries.missing("", field, f": {FORMAT}, the file's format")
            self.entries.note(error, field.name)
            return
        if any(error.quantity.startswith("deltadyn") for error in self.entries.errors):
            raise NotedError
        if isinstance(entry.value, bool) or entry.value != FORMAT:
            raise RobotFileError(
                "deltadyn",
                entry.shown,
                f"{FORMAT}, the only format of robot files that this version reads",
                path=self.entries.file,
                line=entry.line,
            )


def _is_linear(keys: Mapping[str, Entry]) -> bool:
    """Whether a file is about carriages; one that does not say it right is judged by its limbs."""
    told = keys["actuation"].shown if "actuation" in keys else "rotary"
    told = told.get("value") if isinstance(told, dict) else told
    if told in ACTUATIONS and ("actuation" in keys or "carriage" not in keys):
        return bool(told == "linear")
    return "carriage" in keys and "arm" not in keys


def _of_arm(values: Values, i: int) -> Values:
    """The values of one arm: the item of each list, and what all arms share."""
    return {name: value[i] if isinstance(value, list) else value for name, value in values.items()}
