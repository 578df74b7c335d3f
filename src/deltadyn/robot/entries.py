"""Sections of a robot file: names, units and shapes checked, values in SI, sources kept."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from deltadyn.errors import RobotError, RobotFileError
from deltadyn.robot.bodies import PLATFORMS
from deltadyn.robot.checks import collected, ratio_hint
from deltadyn.robot.fields import ACTUATIONS, Field, RobotKind, sections
from deltadyn.robot.names import meant
from deltadyn.robot.settings import Source
from deltadyn.robot.tree import WRONG, Entry, NotedError
from deltadyn.units import KINDS, unit_of

T = TypeVar("T")
PER_LIMB = ("arm", "carriage", "arms")  # shapes of fields with a value per limb
_SUFFIXES = {unit.suffix for units in KINDS.values() for unit in units}


class Entries:
    """Reads sections; remembers where each value stands and what its source is.

    Paths of sources and places are those of the values in SI: "geometry.base_radius". Errors are
    noted, so that a file shows all of them; `wrong` are the paths of fields that have one, and of
    the sections around them.
    """

    def __init__(self, file: str, kind: RobotKind, errors: Sequence[RobotFileError] = ()) -> None:
        self.file = file
        self.kind = kind
        self.sections = sections(kind)
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
        legs = self.kind.legs
        for fourth in fields:
            name = fourth.place.removesuffix(f"[{legs}]")
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
                values[name] = [*(three if isinstance(three, list) else [three] * legs), one]

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
        base, index = split_index(path)
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
            raise self.error(entry, None, f"a number{ratio_hint(entry.path, value)}")
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
        if field.shape in ("vector", "arms"):
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
        counts = {"axis": self.kind.dof} | dict.fromkeys(PER_LIMB, self.kind.legs)
        return counts.get(field.shape, field.size)

    def _shape_text(self, field: Field) -> str:
        count = self._count(field)
        if field.shape == "one":
            return "one number" + (", of axis 4" if field.place.endswith("]") else "")
        if field.shape == "vector":
            return f"a list of {count} numbers"
        if field.shape == "arms":
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
        """Whether only other robots have such a field; that is noted, with ours for it.

        The other actuation is asked first, then the other platforms.
        """
        kind, section = self.kind, split_index(path)[0]
        others = {f"a robot with actuation: {ACTUATIONS[not kind.linear]}": kind.other_actuation}
        others |= {f"a platform of kind: {name}": kind.with_platform(name) for name in PLATFORMS}
        for whose, other_kind in others.items():
            there = sections(other_kind).get(section, ())
            other = next((field for field in there if key in field.keys), None)
            if other is None or any(field.name == other.name for field in fields):
                continue
            twin = next((field for field in fields if field.place == other.place), None)
            allowed = ", ".join(field.label for field in fields) if twin is None else twin.label
            error = self.error(item, f"is a field of {whose}", allowed)
            self.note(error, f"{path}.{key}")
            if twin is not None:
                self.wrong.add(f"{path}.{twin.place}")
            return True
        return False

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


def split_index(path: str) -> tuple[str, int | None]:
    match = re.fullmatch(r"(.*)\[(\d+)\]", path)
    return (path, None) if match is None else (match[1], int(match[2]))
