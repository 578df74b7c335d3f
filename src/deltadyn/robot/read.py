"""Entries of a robot file to a robot: the parts, their shortcuts and the values per arm."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import yaml

from deltadyn.errors import RobotError, RobotFileError
from deltadyn.robot.bodies import (
    Arm,
    Effector,
    Geometry,
    Payload,
    Platform,
    Rod,
    Spindle,
    Strut,
    TenParameters,
)
from deltadyn.robot.checks import ARMS
from deltadyn.robot.fields import FORMAT, SECTIONS, TEN, TOP, Field, passive_fields
from deltadyn.robot.robot import STANDARD_GRAVITY, Robot
from deltadyn.robot.settings import (
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
)
from deltadyn.units import KINDS, unit_of

# YAML text as a tree of entries that know their path and line.


_TAG = "tag:yaml.org,2002:"
_SCALARS = {_TAG + kind for kind in ("str", "int", "float", "bool", "null", "timestamp")}
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
        return self.value


def read_entries(text: str, file: str) -> Entry:
    """The whole file as one entry.

    The loader in C would be faster, but a file of many brackets overruns its stack.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is None:
            raise RobotFileError("robot file", None, "a mapping", path=file, problem="is empty")
        return _Converter(file).entry(node, "", node.start_mark.line + 1)
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

    def entry(self, node: Any, path: str, line: int) -> Entry:
        if id(node) in self.met:
            raise self.error(path, line, "is an alias", "values written out, without & and *")
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
        raise self.error(path, line, f"has the tag {node.tag!r}", "plain YAML without tags")

    def mapping(self, node: Any, path: str) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise self.error(path, line, "has a field whose name is not a word", "names")
            key = str(key_node.value)
            full = f"{path}.{key}" if path else key
            if key in entries:
                problem = f"is given twice, first in line {entries[key].line}"
                raise self.error(full, line, problem, "every field once")
            entries[key] = self.entry(value_node, full, line)
        return entries

    def error(self, path: str, line: int, problem: str, allowed: str) -> RobotFileError:
        return RobotFileError(
            path or "robot file", None, allowed, path=self.file, line=line, problem=problem
        )


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

    Paths of sources and places are those of the values in SI: "geometry.base_radius".
    """

    def __init__(self, file: str, dof: int) -> None:
        self.file = file
        self.dof = dof
        self.sources: dict[str, Source] = {}
        self.places: dict[str, Entry] = {}

    def section(self, entry: Entry, path: str, fields: Sequence[Field]) -> dict[str, Any]:
        """Values of a mapping by field name; a field of shape "section" gives its entry."""
        by_key = {key: field for field in fields for key in field.keys}
        self.places[path] = entry
        values: dict[str, Any] = {}
        for key, item in self.mapping(entry).items():
            field = by_key.get(key)
            if field is None:
                raise self._unknown(key, item, fields)
            own = f"{path}.{field.name}" if path else field.name
            if field.name in values:
                other = self.places[own].path.rpartition(".")[2]
                raise self.error(item, f"is the same as {other}", "one of the two")
            values[field.name] = self._value(field, key, item, own)
        for field in fields:
            if field.required and field.name not in values:
                raise self.missing(path, field)
        return values

    def mapping(self, entry: Entry) -> dict[str, Entry]:
        """The fields of an entry that must be a mapping."""
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
        """What `make` makes; a part's complaint about its own field is moved to the file's."""
        try:
            return make()
        except RobotFileError:
            raise
        except RobotError as error:
            raise self.located(error, path + error.quantity.removeprefix(own), arm) from error

    def located(self, error: RobotError, path: str, arm: int | None = None) -> RobotFileError:
        """A part's error as the file's: the field as written there, its line and its value."""
        base, index = _split_index(path)
        index = arm if index is None else index
        entry = self.places.get(base)
        if entry is None:
            section = self.places.get(base.rpartition(".")[0], self.places[""])
            return self.error(Entry(path, section.line, error.value), None, error.allowed)
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
        if not isinstance(entry.value, str) or not entry.value.strip():
            hint = "" if entry.value in (None, "") else "; put it in quotes"
            raise self.error(entry, None, f"a text{hint}")
        return entry.value

    def number(self, entry: Entry) -> float:
        """A finite number."""
        value = entry.value
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
        per_arm = field.shape in ("arm", "triple")
        return ARMS if per_arm else self.dof if field.shape == "axis" else field.size

    def _shape_text(self, field: Field) -> str:
        count = self._count(field)
        if field.shape == "one":
            return "one number"
        if field.shape == "vector":
            return f"a list of {count} numbers"
        if field.shape == "triple":
            return f"a list of {count} numbers, one per arm"
        return f"one number or {count} numbers, one per {field.shape}"

    def _unknown(self, key: str, item: Entry, fields: Sequence[Field]) -> RobotFileError:
        """The error for a key that no field has: a wrong unit, none, or a wrong name."""
        known = [name for field in fields for name in field.keys]
        nearest = difflib.get_close_matches(key, known, n=1)
        starts = [
            field for field in fields if key == field.name or key.startswith(f"{field.name}_")
        ]
        if starts:
            field = max(starts, key=lambda candidate: len(candidate.name))
            rest = key[len(field.name) + 1 :]
            if not rest:
                return self.error(item, "has no unit", " or ".join(field.keys))
            if rest in _SUFFIXES or (nearest and nearest[0] in field.keys):
                what = f"the unit {rest!r}, which this field cannot have"
                return self.error(item, f"has {what}", " or ".join(field.keys))
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
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
_ROUNDING = 1e-12  # relative: an inertia that falls below its bound by less is at the bound


def read_robot(text: str, file: str) -> Robot:
    """The robot that the text of a robot file describes; `file` is its name in messages."""
    root = read_entries(text, file)
    reader = _Reader(root, file)
    return reader.robot()


class _Reader:
    """One reading of one file."""

    def __init__(self, root: Entry, file: str) -> None:
        spindle = isinstance(root.value, dict) and "spindle" in root.value
        self.root = root
        self.entries = Entries(file, 4 if spindle else 3)
        self._check_format()
        self.top = self.entries.section(root, "", TOP)

    def robot(self) -> Robot:
        geometry = self.part("geometry", Geometry)
        parts: Values = {
            "geometry": geometry,
            "arms": self.limbs("arm", lambda v, path, i: self.arm(v, path, geometry.arm_length[i])),
            "struts": self.limbs(
                "strut", lambda v, path, i: self.strut(v, path, geometry.strut_length[i])
            ),
            "platform": self.part("platform", Platform),
            "gravity": self.top.get("gravity", STANDARD_GRAVITY),
        }
        simple: dict[str, Callable[..., Any]] = {
            "effector": Effector,
            "payload": Payload,
            "controller": Controller,
            "gray_box": GrayBox,
        }
        for name, make in simple.items():
            if name in self.top:
                parts[name] = self.part(name, make)
        special = {
            "spindle": self.spindle,
            "drives": self.drives,
            "sensors": self.sensors,
            "friction": self.friction,
            "limits": self.limits,
        }
        for name, read in special.items():
            if name in self.top:
                parts[name] = read()
        self.other_sources()
        description = self.top.get("description", "")
        name = self.top["name"]
        return self.whole(
            lambda: Robot(name, **parts, sources=self.entries.sources, description=description)
        )

    def part(self, name: str, make: Callable[..., T]) -> T:
        """A part whose fields are those of its section."""
        values = self.entries.section(self.top[name], name, SECTIONS[name])
        return self.entries.build(lambda: make(**values), name, name)

    def limbs(self, name: str, make: Callable[[Values, str, int], T]) -> tuple[T, T, T]:
        """Three arms or struts, from one mapping with values per arm or from three mappings."""
        entries, section = self.entries, self.top[name]
        if isinstance(section.value, list):
            if len(section.value) != ARMS:
                raise entries.error(section, None, "a mapping, or three mappings, one per arm")
            entries.places[name] = section
            paths = [f"{name}[{i}]" for i in range(ARMS)]
            values = [
                entries.section(item, path, SECTIONS[name])
                for item, path in zip(section.value, paths, strict=True)
            ]
        else:
            shared = entries.section(section, name, SECTIONS[name])
            paths = [name] * ARMS
            values = [_of_arm(shared, i) for i in range(ARMS)]

        def one(i: int) -> T:
            return entries.build(lambda: make(values[i], paths[i], i), name, paths[i], arm=i)

        return one(0), one(1), one(2)

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

    def strut(self, values: Values, path: str, length: float) -> Strut:
        rods = values.pop("rods", 2.0)
        count = int(rods) if rods == int(rods) else rods
        if "ten" in values:
            self.exclude(values, path, "ten", "uniform", "com")
            ten = self.ten(values, path)
            strut = Strut.from_ten(ten, length, count)
            thin = {name: getattr(strut, name) for name in ("mass", "com_fraction", "inertia")}
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
        return Strut(**values, rods=count)

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
        values = self.entries.section(self.top["spindle"], "spindle", SECTIONS["spindle"])
        for side in ("upper", "lower"):
            path = f"spindle.{side}"
            fields = self.entries.section(values[side], path, SECTIONS[path])
            values[side] = self.entries.build(partial(self.rod, fields, path), "rod", path)
        return self.entries.build(lambda: Spindle(**values), "spindle", "spindle")

    def drives(self) -> Drives:
        values = self.entries.section(self.top["drives"], "drives", SECTIONS["drives"])
        if "ripple" in values:
            values["ripple"] = self.waves(values["ripple"], "drives.ripple", Ripple)
        return self.entries.build(lambda: Drives(**values), "drives", "drives")

    def sensors(self) -> Sensors:
        values = self.entries.section(self.top["sensors"], "sensors", SECTIONS["sensors"])
        path = "sensors.eccentricity"
        if "eccentricity" in values:
            values["eccentricity"] = self.waves(values["eccentricity"], path, Eccentricity)
        return self.entries.build(lambda: Sensors(**values), "sensors", "sensors")

    def waves(self, entry: Entry, path: str, make: Callable[..., T]) -> tuple[T, ...]:
        """Waves, each a mapping in a list."""
        if not isinstance(entry.value, list):
            raise self.entries.error(entry, None, "a list of mappings, one per order")
        return tuple(
            make(**self.entries.section(item, f"{path}[{k}]", SECTIONS[path]))
            for k, item in enumerate(entry.value)
        )

    def friction(self) -> Friction:
        values = self.entries.section(self.top["friction"], "friction", SECTIONS["friction"])
        if "passive" in values:
            path = "friction.passive"
            joints = self.entries.section(values["passive"], path, SECTIONS[path])
            values["passive"] = tuple(self.passive(joint, joints[joint]) for joint in joints)
        return self.entries.build(lambda: Friction(**values), "friction", "friction")

    def passive(self, joint: str, entry: Entry) -> PassiveFriction:
        path = f"friction.passive.{joint}"
        values = self.entries.section(entry, path, passive_fields(joint))
        return self.entries.build(lambda: PassiveFriction(joint, **values), path, path)

    def limits(self) -> Limits:
        values = self.entries.section(self.top["limits"], "limits", SECTIONS["limits"])
        if "workspace" in values:
            path = "limits.workspace"
            fields = self.entries.section(values["workspace"], path, SECTIONS[path])
            values["workspace"] = self.entries.build(lambda: Workspace(**fields), path, path)
        return Limits(**values)

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
            own = f"{match[1]}[{match[2]}]"
            path = own if own in self.entries.places else match[1]
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
            field = next(field for field in SECTIONS[section] if field.name == name)
            raise self.entries.missing(path, field, f", or {instead}" if instead else "")

    def exclude(self, values: Values, path: str, given: str, *others: str) -> None:
        for other in others:
            if other in values:
                entry = self.entries.places[f"{path}.{other}"]
                raise self.entries.error(entry, f"is given beside {given}", "one of the two")

    def _check_format(self) -> None:
        """The version of the format, before anything else: a newer one may have other fields."""
        mapping = self.entries.mapping(self.root)
        entry = mapping.get("deltadyn")
        if entry is None:
            self.entries.places[""] = self.root
            raise self.entries.missing("", Field("deltadyn"), f": {FORMAT}, the file's format")
        if isinstance(entry.value, bool) or entry.value != FORMAT:
            raise RobotFileError(
                "deltadyn",
                entry.shown,
                f"{FORMAT}, the only format of robot files that this version reads",
                path=self.entries.file,
                line=entry.line,
            )


def _of_arm(values: Values, i: int) -> Values:
    """The values of one arm: the item of each list, and what all arms share."""
    return {name: value[i] if isinstance(value, list) else value for name, value in values.items()}
