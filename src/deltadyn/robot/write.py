"""A robot as the text of a robot file, and the file written in one step.

Reading the file gives back an equal robot: numbers are written with all their digits, in SI or in
degrees that are exactly the same angle, and every source stands at its value.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from types import SimpleNamespace
from typing import Any, Protocol

import yaml

from deltadyn.errors import RobotFileError
from deltadyn.files import replacing
from deltadyn.robot.bodies import (
    AnyPlatform,
    Arm,
    Carriage,
    Effector,
    Geometry,
    Payload,
    RailGeometry,
    Rod,
    Spindle,
    Strut,
    TenParameters,
)
from deltadyn.robot.fields import FORMAT, TEN, TOP, Field, RobotKind, passive_fields, sections
from deltadyn.robot.settings import (
    Controller,
    Drives,
    Friction,
    GrayBox,
    Limits,
    PassiveFriction,
    Sensors,
    Source,
    Wave,
    side_matters,
)
from deltadyn.units import written

_WIDTH = 100  # characters in a line with its source; a longer one is broken
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_NOT_TEXT = {"true", "false", "yes", "no", "on", "off", "null", "nan", "inf", "infinity"}
_IMPLIED_PLACES = (
    "shoulder_height", "shoulder_tangential", "axis_yaw", "axis_roll",
    "rail_height", "rail_tangential", "rail_pitch", "rail_roll",
)  # fmt: skip
_IMPLIED_PLATFORM = SimpleNamespace(
    kind="translational",
    bar_mass=0.0, bar_inertia=0.0, bar_com=0.5,
    gear_mass=0.0, gear_inertia=0.0, gear_place=(0.0, 0.0),
)  # fmt: skip
_GRAVITY = next(field for field in TOP if field.name == "gravity")


class RobotParts(Protocol):
    """What the writer needs of a robot; `Robot` itself imports this module."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def gravity(self) -> float: ...
    @property
    def dof(self) -> int: ...
    @property
    def geometry(self) -> Geometry | RailGeometry: ...
    @property
    def arms(self) -> tuple[Arm, ...] | tuple[Carriage, ...]: ...
    @property
    def struts(self) -> tuple[Strut, ...]: ...
    @property
    def platform(self) -> AnyPlatform: ...
    @property
    def spindle(self) -> Spindle | None: ...
    @property
    def drives(self) -> Drives: ...
    @property
    def sources(self) -> Mapping[str, Source]: ...


def save_robot(robot: RobotParts, path: str | PathLike[str]) -> None:
    """Write a robot file; it is either written whole or left as it was."""
    shown = os.fspath(path)
    data = robot_text(robot).encode("utf-8")
    try:
        with replacing(path) as file:
            file.write(data)
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        allowed = "a path in a folder that can be written"
        raise RobotFileError("robot file", shown, allowed, path=shown, problem=problem) from error


def robot_text(robot: RobotParts) -> str:
    """The text of the robot file."""
    linear, motors = robot.geometry.linear, robot.drives.rotor_side == "motor_side"
    kind = RobotKind(linear, robot.platform.kind, robot.spindle is not None)
    writer = _Writer(robot.sources, sections(kind, motors))
    lines = [f"deltadyn: {FORMAT}", f"name: {_text(robot.name)}"]
    if robot.description:
        lines.append(f"description: {_text(robot.description)}")
    if linear or "actuation" in robot.sources:
        lines += writer.line("actuation", "linear" if linear else "rotary", "actuation")
    lines += writer.field(_GRAVITY, robot.gravity, "gravity")
    for name, rows in _sections(robot, writer):
        if rows:
            lines += ["", f"{name}:", *_indented(rows)]
    return "\n".join(lines) + "\n"


def _sections(robot: RobotParts, writer: _Writer) -> Iterator[tuple[str, list[str]]]:
    """Every section with its lines; one that says nothing has none."""
    standard = SimpleNamespace(**dict.fromkeys(_IMPLIED_PLACES, 0.0))
    linear, at = robot.geometry.linear, writer.sections
    limb = "carriage" if linear else "arm"
    yield "geometry", writer.fields(at["geometry"], robot.geometry, "geometry", standard)
    yield limb, writer.arms(robot.arms, limb)
    yield "strut", writer.struts(robot.struts, robot.geometry.strut_length)
    yield "platform", writer.fields(at["platform"], robot.platform, "platform", _IMPLIED_PLATFORM)
    if robot.spindle is not None:
        yield "spindle", writer.spindle(robot.spindle)
    for name, default in _defaults(robot.dof).items():
        part = getattr(robot, name)
        if name == "drives" and side_matters(
            part.gear_ratio, part.rotor_inertia, robot.geometry.legs if linear else 0
        ):
            default = replace(default, rotor_side=None)  # the side is always written there
        yield name, writer.fields(at[name], part, name, default)
    yield "sources", writer.other_sources()


def _defaults(dof: int) -> dict[str, Any]:
    """What a reader takes where a section is left out."""
    return {
        "effector": Effector(),
        "payload": Payload(),
        "drives": Drives().checked(dof),
        "friction": Friction().checked(dof),
        "limits": Limits().checked(dof),
        "controller": Controller().checked(dof),
        "sensors": Sensors().checked(dof),
        "gray_box": GrayBox(),
    }


class _Writer:
    """Turns parts into lines; remembers which sources stand at their value already."""

    def __init__(self, sources: Mapping[str, Source], at: Mapping[str, tuple[Field, ...]]) -> None:
        self.sources = sources
        self.sections = at
        self.done: set[str] = set()

    def fields(
        self, fields: Sequence[Field], part: Any, path: str, implied: Any = None
    ) -> list[str]:
        """The fields of a part; one that `implied` has too is left out unless it has a source."""
        lines: list[str] = []
        for field in fields:
            if field.shortcut:
                continue
            own, value = f"{path}.{field.place}", field.of(part)
            if field.shape == "section":
                lines += self.inner(field.name, value, own)
            elif value is not None and (own in self.sources or not _has(implied, field, value)):
                lines += self.field(field, value, own)
        return lines

    def inner(self, name: str, value: Any, path: str) -> list[str]:
        """A section inside a section."""
        if value is None or value == ():
            return []
        if isinstance(value, TenParameters):
            rows = self.fields(TEN, value, path)
        elif isinstance(value, Rod):
            rows = self.rod(value, path)
        elif isinstance(value, tuple) and isinstance(value[0], Wave):
            rows = _listed(
                self.fields(self.sections[path], wave, f"{path}[{k}]")
                for k, wave in enumerate(value)
            )
        elif isinstance(value, tuple):
            rows = self.passive(value, path)
        else:
            rows = self.fields(self.sections[path], value, path)
        return [f"{name}:", *_indented(rows)]

    def passive(self, items: Sequence[PassiveFriction], path: str) -> list[str]:
        lines: list[str] = []
        for item in items:
            rows = self.fields(passive_fields(item.joint), item, f"{path}.{item.joint}")
            lines += [f"{item.joint}:", *_indented(rows)]
        return lines

    def spindle(self, spindle: Spindle) -> list[str]:
        implied = SimpleNamespace(upper_joint_z=0.0, lower_joint_z=0.0)
        return self.fields(self.sections["spindle"], spindle, "spindle", implied)

    def rod(self, rod: Rod, path: str) -> list[str]:
        """A part of the telescope; what its ten parameters imply is not written again."""
        implied = SimpleNamespace(axial_inertia=0.0)
        if rod.ten is not None:
            implied = _chosen(Rod.from_ten(rod.ten), "mass", "com", "inertia", "axial_inertia")
        return self.fields(self.sections[path], rod, path, implied)

    def arms(self, arms: Sequence[Arm | Carriage], name: str) -> list[str]:
        """One mapping with values per arm, or one each where sources name single arms."""
        implied = SimpleNamespace(com_offset=0.0, elbow_mass=0.0, counterweight=0.0)
        fields = self.sections[name]
        if self._names_one(name):
            return _listed(
                self.fields(fields, arm, f"{name}[{i}]", implied) for i, arm in enumerate(arms)
            )
        return self.fields(fields, _together(arms), name, implied)

    def struts(self, struts: tuple[Strut, ...], lengths: tuple[float, ...]) -> list[str]:
        """One mapping, or one each where rods of any shape differ or sources name single struts."""
        equal = len(set(zip(struts, lengths, strict=True))) == 1
        thin = all(strut.ten is None for strut in struts)
        if self._names_one("strut") or not (equal or thin):
            return _listed(
                self.strut(strut, f"strut[{i}]", lengths[i]) for i, strut in enumerate(struts)
            )
        if equal:
            return self.strut(struts[0], "strut", lengths[0])
        fields = [field for field in self.sections["strut"] if field.name != "ten"]
        return self.fields(fields, _together(struts), "strut")

    def strut(self, strut: Strut, path: str, length: float) -> list[str]:
        implied = None
        if strut.ten is not None:
            thin = Strut.from_ten(strut.ten, length)
            implied = _chosen(thin, "mass", "com_fraction", "inertia")
        return self.fields(self.sections["strut"], strut, path, implied)

    def field(self, field: Field, value: Any, path: str) -> list[str]:
        """One field, with its source where it has one."""
        if field.shape == "text":
            return self.line(field.name, _text(value), path)
        listed = isinstance(value, tuple)
        numbers = tuple(float(number) for number in (value if listed else (value,)))
        suffix, shown = written(field.kind, numbers)
        texts = [_number(number) for number in shown]
        if listed and not (
            field.shape in ("arm", "carriage", "axis", "half") and len(set(texts)) == 1
        ):
            return self.line(f"{field.name}{suffix}", f"[{', '.join(texts)}]", path)
        return self.line(f"{field.name}{suffix}", texts[0], path)

    def other_sources(self) -> list[str]:
        """Sources of what the file has no field for: of a part that was taken out, for instance."""
        return [
            f"{_quoted(path)}: {{{', '.join(_source_items(source))}}}"
            for path, source in self.sources.items()
            if path not in self.done
        ]

    def line(self, key: str, text: str, path: str) -> list[str]:
        """A field's line, or lines, with its source."""
        source = self.sources.get(path)
        if source is None:
            return [f"{key}: {text}"]
        self.done.add(path)
        items = [f"value: {text}", *_source_items(source)]
        flow = f"{key}: {{{', '.join(items)}}}"
        return [flow] if len(flow) <= _WIDTH else [f"{key}:", *_indented(items)]

    def _names_one(self, name: str) -> bool:
        """Whether a source belongs to one arm's value alone: "strut[1].mass"."""
        return any(re.match(rf"{name}\[[0-3]\]\.", path) for path in self.sources)


def _has(implied: Any, field: Field, value: Any) -> bool:
    """Whether `implied` gives the field this value, for every arm or axis."""
    if not hasattr(implied, field.place.partition("[")[0]):
        return False
    other = field.of(implied)
    if isinstance(value, tuple) and not isinstance(other, tuple):
        return all(item == other for item in value)
    return bool(value == other)


def _chosen(part: Any, *names: str) -> SimpleNamespace:
    return SimpleNamespace(**{name: getattr(part, name) for name in names})


def _together(parts: Sequence[Any]) -> SimpleNamespace:
    """The fields of the limbs' parts, each as a tuple."""
    names = vars(parts[0])
    return SimpleNamespace(**{name: tuple(getattr(p, name) for p in parts) for name in names})


def _listed(items: Iterable[list[str]]) -> list[str]:
    """Mappings as the items of a YAML list."""
    lines: list[str] = []
    for rows in items:
        lines += [f"- {rows[0]}", *_indented(rows[1:])]
    return lines


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _source_items(source: Source) -> list[str]:
    items = [f"source: {_quoted(source.text)}"]
    return ["assumed: true", *items] if source.assumed else items


def _text(text: str) -> str:
    """Plain where YAML reads it as the same text, else in quotes."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT
    return text if plain else _quoted(text)


def _quoted(text: str) -> str:
    options: dict[str, Any] = {"default_style": '"', "allow_unicode": True, "width": math.inf}
    return str(yaml.safe_dump(text, **options)).rstrip("\n")


def _number(value: float) -> str:
    """All digits of a float, in a way that every YAML reader takes for a number."""
    whole = value.is_integer() and abs(value) < 1e15
    if whole and (value != 0 or math.copysign(1.0, value) > 0):
        return str(int(value))
    text = repr(value)
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if mark and "." not in mantissa else text
