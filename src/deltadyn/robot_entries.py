"""Sections of a robot file: field names, units and shapes checked, values in SI, sources kept."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from deltadyn.errors import RobotError, RobotFileError
from deltadyn.robot_checks import ARMS
from deltadyn.robot_fields import Field
from deltadyn.robot_settings import Source
from deltadyn.robot_yaml import Entry
from deltadyn.units import KINDS, unit_of

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
