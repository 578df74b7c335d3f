"""Entries of a robot file to a robot: the parts, their shortcuts and the values per arm."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from deltadyn.errors import RobotError, RobotFileError
from deltadyn.robot import STANDARD_GRAVITY, Robot
from deltadyn.robot_bodies import (
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
from deltadyn.robot_checks import ARMS
from deltadyn.robot_entries import Entries
from deltadyn.robot_fields import FORMAT, SECTIONS, TEN, TOP, Field, passive_fields
from deltadyn.robot_settings import (
    Controller,
    Drives,
    Friction,
    GrayBox,
    Limits,
    PassiveFriction,
    Workspace,
)
from deltadyn.robot_yaml import Entry, read_entries

T = TypeVar("T")
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
            "drives": Drives,
            "controller": Controller,
            "gray_box": GrayBox,
        }
        for name, make in simple.items():
            if name in self.top:
                parts[name] = self.part(name, make)
        special = {"spindle": self.spindle, "friction": self.friction, "limits": self.limits}
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
