"""Entries of a robot file to a robot: the parts, their shortcuts and the values per arm."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from deltadyn.errors import OldFileWarning, RobotError, RobotFileError
from deltadyn.robot.bodies import (
    AZIMUTHS,
    PLATFORMS,
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
from deltadyn.robot.checks import COUNTS, number
from deltadyn.robot.entries import Entries
from deltadyn.robot.fields import (
    ACTUATIONS,
    FORMAT,
    TEN,
    TOP,
    Field,
    RobotKind,
    passive_fields,
    sections,
)
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
    Workspace,
    side_matters,
)
from deltadyn.robot.tree import Entry, NotedError, Text, read_entries
from deltadyn.robot.write import robot_text

T = TypeVar("T")
Values = dict[str, Any]
_STAND_IN = 1e3  # m: for a length that is wrong itself, so that no other number seems too large
_POSITIVE: dict[str, Any] = {"low": 0.0, "strict": True, "unit": "m"}
_ROUNDING = 1e-12  # relative: an inertia that falls below its bound by less is at the bound


def read_robot(text: str, file: str) -> Robot:
    """The robot that the text of a robot file describes; `file` is its name in messages."""
    root, errors = read_entries(text, Text(file))
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
        self.root = root
        self.entries = Entries(file, _kind(keys), errors)
        self.top: Values = {}
        self.parts: Values = {}
        self.side_left_out: RobotFileError | None = None

    @property
    def kind(self) -> RobotKind:
        return self.entries.kind

    def robot(self) -> Robot:
        entries = self.entries
        self._check_format()
        self.top = entries.section(self._without_others(), "", entries.sections[""])
        entries.attempt(self._check_actuation, "actuation")
        readers: dict[str, Callable[[], Any]] = {
            "geometry": lambda: self.part("geometry", self.geometry),
            "arm": lambda: self.limbs("arm", self.arm, "arm_length"),
            "carriage": lambda: self.limbs("carriage", self.carriage, "strut_length"),
            "strut": lambda: self.limbs("strut", self.strut, "strut_length"),
            "platform": self.platform,
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

    def geometry(self, **values: Any) -> Geometry | RailGeometry:
        kind = self.kind
        azimuths = tuple(math.radians(angle) for angle in AZIMUTHS[kind.platform])
        make: type[Any] = RailGeometry if kind.linear else Geometry
        return make(**{"azimuth": azimuths, **values})  # type: ignore[no-any-return]

    def platform(self) -> AnyPlatform:
        self.entries.attempt(self._check_kind, "platform.kind")
        values = self.section(self.top["platform"], "platform")
        values.pop("kind", None)
        make = PLATFORMS[self.kind.platform]
        return self.entries.build(lambda: make(**values), "platform", "platform")

    def controller(self, **values: Any) -> Controller:
        return Controller(**values).checked(self.kind.dof)

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
        """Arms or struts, from one mapping with values per arm or from a mapping each.

        `length` is the field of the geometry that they need.
        """
        entries, section, legs = self.entries, self.top[name], self.kind.legs
        fields = entries.sections[name]
        if isinstance(section.value, list):
            if len(section.value) != legs:
                allowed = f"a mapping, or {COUNTS[legs]} mappings, one per arm"
                raise entries.error(section, None, allowed)
            entries.places[name] = section
            paths = [f"{name}[{i}]" for i in range(legs)]
            values = [
                entries.attempt(partial(entries.section, item, path, fields), path)
                for item, path in zip(section.value, paths, strict=True)
            ]
        else:
            shared = entries.section(section, name, fields)
            paths = [name] * legs
            values = [_of_arm(shared, i) for i in range(legs)]

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
        entries.sections = sections(self.kind, self._at_motors())
        values = self.section(self.top["drives"], "drives")
        if "ripple" in values:
            values["ripple"] = self.waves(values["ripple"], "drives.ripple", Ripple)
        self.require_side(values)
        size = (self.kind.dof, self.kind.carriages)
        return entries.build(lambda: Drives(**values).checked(*size), "drives", "drives")

    def _at_motors(self) -> bool:
        """Whether the rotors' inertias of a robot on rails are those at the motors."""
        given = self.top["drives"].value
        fields = given if isinstance(given, dict) else {}
        side = fields.get("rotor_side")
        shown = None if side is None else _told(side)
        if shown in ROTOR_SIDES:
            return bool(shown == "motor_side")
        return not {"rotor_inertia_kg", "rotor_inertia_g"} & set(fields)

    def require_side(self, values: Values) -> None:
        """Where a gear stands beside a rotor inertia, a file must say at which side that is."""
        ratios, rotors = (
            value if isinstance(value, list) else [value] * self.kind.dof
            for value in (values.get("gear_ratio", 1.0), values.get("rotor_inertia", 0.0))
        )
        given = "rotor_side" in values or "drives.rotor_side" in self.entries.wrong
        if given or not side_matters(ratios, rotors, self.kind.carriages):
            return
        if self.kind.linear:
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
        dof = self.kind.dof
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
            if self.kind.linear and "order" not in values:
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
        dof = self.kind.dof
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
        size = (self.kind.dof, self.kind.carriages)
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
            name = "carriage" if self.kind.linear and match[1] == "arm" else match[1]
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

    def _without_others(self) -> Entry:
        """The file without sections that its kind does not have: other limbs, a spindle."""
        linear, platform = self.kind.linear, self.kind.platform
        wanted, other = ("carriage", "arm") if linear else ("arm", "carriage")
        mapping = self.entries.mapping(self.root)
        if "spindle" in mapping and not self.kind.spindle:
            problem = f"is given beside a platform of kind {platform}"
            allowed = "none there: a spindle turns the tool of a translational platform"
            self.entries.note(self.entries.error(mapping["spindle"], problem, allowed), "spindle")
            mapping = {key: entry for key, entry in mapping.items() if key != "spindle"}
        if other not in mapping:
            return Entry(self.root.path, self.root.line, mapping)
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
        if told is None and self.kind.linear and "actuation" not in self.entries.wrong:
            line = self.top["carriage"].line
            entry = Entry("actuation", line, None)
            allowed = "the line 'actuation: linear' where a section carriage is"
            raise self.entries.error(entry, "is missing", allowed)
        if told is not None and told not in ACTUATIONS:
            raise self.entries.error(place, None, " or ".join(ACTUATIONS))

    def _check_kind(self) -> None:
        """The kind of the platform, said where it is not one body that translates."""
        section = self.top["platform"]
        entry = self.entries.mapping(section).get("kind")
        if entry is None and self.kind.platform != "translational":
            missing = Entry("platform.kind", section.line, None)
            allowed = f"the line 'kind: {self.kind.platform}' where such fields are"
            raise self.entries.error(missing, "is missing", allowed)
        if entry is not None and _told(entry) not in PLATFORMS:
            value = Entry(entry.path, entry.line, _told(entry))
            raise self.entries.error(value, None, " or ".join(PLATFORMS))

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


def _kind(keys: Mapping[str, Entry]) -> RobotKind:
    """What a file is about, as far as it says so."""
    platform = _platform_kind(keys)
    spindle = any(key == "spindle" or meant(key, "", TOP) == ("spindle",) for key in keys)
    return RobotKind(_is_linear(keys), platform, spindle and platform == "translational")


def _platform_kind(keys: Mapping[str, Entry]) -> str:
    """The platform's kind; one that is not said right is judged by its fields."""
    section = keys["platform"].value if "platform" in keys else {}
    fields = section if isinstance(section, dict) else {}
    told = _told(fields["kind"]) if "kind" in fields else "translational"
    if told in PLATFORMS and ("kind" in fields or not _names(fields, "half_mass")):
        return str(told)
    if _names(fields, "bar_length"):
        return "articulated"
    return "helical" if _names(fields, "lead") else "translational"


def _names(fields: Mapping[str, Entry], name: str) -> bool:
    """Whether a field of this name stands there, in any unit."""
    return any(key == name or key.startswith(f"{name}_") for key in fields)


def _is_linear(keys: Mapping[str, Entry]) -> bool:
    """Whether a file is about carriages; one that does not say it right is judged by its limbs."""
    told = _told(keys["actuation"]) if "actuation" in keys else "rotary"
    if told in ACTUATIONS and ("actuation" in keys or "carriage" not in keys):
        return bool(told == "linear")
    return "carriage" in keys and "arm" not in keys


def _told(entry: Entry) -> Any:
    """A word, also where it stands beside its source."""
    shown = entry.shown
    return shown.get("value") if isinstance(shown, dict) else shown


def _of_arm(values: Values, i: int) -> Values:
    """The values of one arm: the item of each list, and what all arms share."""
    return {name: value[i] if isinstance(value, list) else value for name, value in values.items()}
