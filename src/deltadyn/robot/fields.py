"""The fields of a robot file, in the order in which a file shows them.

Names are those of the parts in `robot.bodies` and `robot.settings`; the kind of each quantity
decides the unit suffixes that its name may carry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple

from deltadyn.robot.bodies import PLATFORMS
from deltadyn.robot.settings import PASSIVE_JOINTS
from deltadyn.units import KINDS, keys

FORMAT = 1

ACTUATIONS = ("rotary", "linear")

#: one: a number. arm, carriage, axis, half: a number for all, or one for each. arms: one for each
#: arm, always. vector: a list of `size`. text, flag: a word, true or false. section: a mapping of
#: its own.
Shape = Literal[
    "one", "arm", "carriage", "axis", "half", "arms", "vector", "text", "flag", "section"
]


class RobotKind(NamedTuple):
    """What decides which fields a robot file has, and how many values each takes."""

    linear: bool = False  # carriages on rails, not arms
    platform: str = "translational"
    spindle: bool = False

    @property
    def legs(self) -> int:
        return PLATFORMS[self.platform].limbs

    @property
    def dof(self) -> int:
        return 4 if self.spindle else self.legs

    @property
    def carriages(self) -> int:
        return self.legs if self.linear else 0

    @property
    def other_actuation(self) -> RobotKind:
        return self._replace(linear=not self.linear)

    def with_platform(self, name: str) -> RobotKind:
        return self._replace(platform=name, spindle=False)


@dataclass(frozen=True)
class Field:
    """One field: its name without unit, the kind of its quantity and what may be written."""

    name: str
    kind: str = "number"
    shape: Shape = "one"
    required: bool = False
    size: int = 0
    shortcut: bool = False  # read only: another way to write what other fields hold
    zero: bool = False  # 0 where it is left out, for some axes too
    attribute: str = ""  # the part's own name of it, where that is another: "angle_min[3]"

    @property
    def place(self) -> str:
        """Where a part holds it: the name of its attribute, with an index for one axis of four."""
        return self.attribute or self.name

    def of(self, part: Any) -> Any:
        """What a part holds in this field, None where it has none."""
        name, _, index = self.place.partition("[")
        value = getattr(part, name, None)
        if not isinstance(value, tuple):
            return value
        if index:
            return value[int(index[:-1])]
        return value[: self.size] if self.shape == "carriage" else value

    @property
    def keys(self) -> tuple[str, ...]:
        """The ways to write the field's name."""
        return (
            (self.name,)
            if self.shape in ("text", "flag", "section")
            else keys(self.name, self.kind)
        )

    @property
    def label(self) -> str:
        """The name with its units, for messages: base_radius_(m|mm|cm)."""
        units = KINDS[self.kind]
        if len(units) < 2:
            return self.keys[0]
        return f"{self.name}_({'|'.join(unit.suffix for unit in units)})"


def _section(name: str, required: bool = False) -> Field:
    return Field(name, shape="section", required=required)


def _friction(viscous: str, coulomb: str) -> tuple[Field, ...]:
    return (Field("viscous", viscous), Field("coulomb", coulomb))


TOP = (
    Field("deltadyn", required=True),
    Field("name", shape="text", required=True),
    Field("description", shape="text"),
    Field("actuation", shape="text"),
    Field("gravity", "acceleration"),
    _section("geometry", required=True),
    _section("arm", required=True),
    _section("strut", required=True),
    _section("platform", required=True),
    _section("spindle"),
    _section("effector"),
    _section("payload"),
    _section("drives"),
    _section("friction"),
    _section("limits"),
    _section("controller"),
    _section("sensors"),
    _section("gray_box"),
    _section("sources"),
)

_KIND = Field("kind", shape="text")
_HALVES = Field("half_mass", "mass", "half", required=True, size=2)

#: The section `platform` of the kinds that are not one body with a mass.
OF_HALVES: dict[str, tuple[Field, ...]] = {
    "articulated": (
        _KIND,
        _HALVES,
        Field("bar_length", "length", required=True),
        Field("bar_mass", "mass"),
        Field("bar_inertia", "inertia"),
        Field("bar_com_fraction", attribute="bar_com"),
        Field("phi0", "angle"),
        Field("ratio"),
        Field("tool_fraction"),
        Field("gear_mass", "mass"),
        Field("gear_place", "length", "vector", size=2),
        Field("gear_inertia", "inertia"),
    ),
    "helical": (
        _KIND,
        _HALVES,
        Field("lead", "length", required=True),
        Field("tool_fraction"),
    ),
}

TEN = (
    Field("mass", "mass", required=True),
    Field("first_moment", "first moment", "vector", required=True, size=3),
    Field("inertia", "inertia", "vector", required=True, size=6),
)

ROD = (
    Field("mass", "mass"),
    Field("uniform", shape="flag", shortcut=True),
    Field("com", "length"),
    Field("inertia", "inertia"),
    Field("axial_inertia", "inertia"),
    Field("length", "length"),
    _section("ten"),
)

#: Fields of every section by its path; "spindle.upper" and "spindle.lower" hold the same.
SECTIONS: dict[str, tuple[Field, ...]] = {
    "geometry": (
        Field("base_radius", "length", "arm", required=True),
        Field("platform_radius", "length", "arm", required=True),
        Field("arm_length", "length", "arm", required=True),
        Field("strut_length", "length", "arm", required=True),
        Field("azimuth", "angle", "arms"),
        Field("rod_spacing", "length"),
        Field("shoulder_height", "length", "arm"),
        Field("shoulder_tangential", "length", "arm"),
        Field("axis_yaw", "angle", "arm"),
        Field("axis_roll", "angle", "arm"),
    ),
    "arm": (
        Field("mass", "mass", "arm", required=True),
        Field("uniform", shape="flag", shortcut=True),
        Field("com", "length", "arm"),
        Field("com_offset", "length", "arm"),
        Field("inertia", "inertia", "arm"),
        Field("axis_inertia", "inertia", "arm", shortcut=True),
        Field("elbow_mass", "mass", "arm"),
    ),
    "strut": (
        Field("rods", shape="arm"),
        Field("mass", "mass", "arm"),
        Field("uniform", shape="flag", shortcut=True),
        Field("com_fraction", shape="arm"),
        Field("com", "length", "arm", shortcut=True),
        Field("inertia", "inertia", "arm"),
        _section("ten"),
    ),
    "platform": (_KIND, Field("mass", "mass", required=True)),
    "spindle": (
        _section("upper", required=True),
        _section("lower", required=True),
        Field("upper_joint_z", "length"),
        Field("lower_joint_z", "length"),
    ),
    "spindle.upper": ROD,
    "spindle.lower": ROD,
    "effector": (
        Field("mass", "mass"),
        Field("com", "length", "vector", size=3),
        Field("inertia_zz", "inertia"),
    ),
    "payload": (
        Field("mass", "mass"),
        Field("offset", "length", "vector", size=3),
        Field("inertia_zz", "inertia"),
    ),
    "drives": (
        Field("gear_ratio", shape="axis"),
        Field("rotor_inertia", "inertia", "axis", zero=True),
        Field("rotor_side", shape="text"),
        _section("ripple"),
        Field("stiffness", "stiffness", "axis"),
        Field("damping", "viscous friction", "axis"),
    ),
    "drives.ripple": (
        Field("order", required=True),
        Field("cos", "torque", "axis", zero=True),
        Field("sin", "torque", "axis", zero=True),
    ),
    "friction": (
        Field("viscous", "viscous friction", "axis", zero=True),
        Field("coulomb", "torque", "axis", zero=True),
        Field("coulomb_negative", "torque", "axis"),
        Field("stribeck", "torque", "axis"),
        Field("stribeck_velocity", "rate", "axis"),
        Field("thinning", "torque", "axis"),
        Field("thinning_velocity", "rate", "axis"),
        Field("offset", "torque", "axis"),
        Field("load", shape="axis"),
        Field("motor_load", shape="axis"),
        Field("smoothing", "rate"),
        _section("passive"),
    ),
    "friction.passive": tuple(_section(joint) for joint in PASSIVE_JOINTS),
    "limits": (
        Field("angle_min", "angle", "axis"),
        Field("angle_max", "angle", "axis"),
        Field("rate", "rate", "axis"),
        Field("acceleration", "angular acceleration", "axis"),
        Field("torque_peak", "torque", "axis"),
        Field("torque_rms", "torque", "axis"),
        Field("platform_speed", "speed"),
        Field("platform_acceleration", "acceleration"),
        Field("ball_joint_angle", "angle"),
        Field("strut_force", "force"),
        _section("workspace"),
        Field("payload", "mass"),
        Field("cycles", "repetition"),
    ),
    "limits.workspace": (
        Field("radius", "length", required=True),
        Field("z_min", "length", required=True),
        Field("z_max", "length", required=True),
    ),
    "controller": (Field("sign", shape="axis"), Field("offset", "angle", "axis", zero=True)),
    "sensors": (Field("torque_ratio", shape="axis"), _section("eccentricity")),
    "sensors.eccentricity": (
        Field("order", required=True),
        Field("cos", "angle", "axis", zero=True),
        Field("sin", "angle", "axis", zero=True),
    ),
    "gray_box": (Field("rho1"), Field("rho2")),
}


#: What a robot on rails has in the place of other sections.
RAILS: dict[str, tuple[Field, ...]] = {
    "geometry": (
        Field("base_radius", "length", "arm", required=True),
        Field("platform_radius", "length", "arm", required=True),
        Field("strut_length", "length", "arm", required=True),
        Field("azimuth", "angle", "arms"),
        Field("rod_spacing", "length"),
        Field("rail_height", "length", "arm"),
        Field("rail_tangential", "length", "arm"),
        Field("rail_pitch", "angle", "arm"),
        Field("rail_roll", "angle", "arm"),
    ),
    "carriage": (
        Field("mass", "mass", "arm", required=True),
        Field("counterweight", "mass", "arm"),
    ),
}

#: The kind of an axis's quantity where a carriage moves along a rail.
ON_RAILS = {
    "angle": "length",
    "rate": "speed",
    "angular acceleration": "acceleration",
    "torque": "force",
    "viscous friction": "linear viscous friction",
    "stiffness": "linear stiffness",
    "inertia": "mass",
}

ROTARY = RobotKind()
INDICES = ("0]", "1]", "2]", "3]")  # of limbs in a path

_RAIL_NAMES = {"angle": "position", "torque": "force"}  # words of a field's name


@cache
def sections(kind: RobotKind = ROTARY, motor_side: bool = False) -> Mapping[str, tuple[Field, ...]]:
    """Fields of every section by its path, of the whole file by "".

    A robot on rails has a quantity of its axes in two fields: the linear one holds the carriages,
    the rotary one axis 4, where it has a spindle. `motor_side` tells that the rotors' inertias are
    those at the motors, of all axes in kg m^2.
    """
    found = {"": TOP, **SECTIONS}
    found["platform"] = OF_HALVES.get(kind.platform, found["platform"])
    if not kind.linear:
        return found
    found |= {"": _with_carriage(), **RAILS}
    del found["arm"]
    for path in ("drives", "drives.ripple", "friction", "limits", "controller"):
        found[path] = tuple(_of_axes(found[path], kind, motor_side))
    path = "sensors.eccentricity"
    found[path] = tuple(_of_axes(found[path], kind, motor_side))
    length = {"kind": "length", "shape": "arm"}
    found["drives"] += (Field("lead", **length), Field("pulley_radius", **length))  # type: ignore[arg-type]
    for path in ("drives.ripple", "sensors.eccentricity"):
        order, *rest = found[path]
        wavelength = Field("wavelength", "length", shortcut=True)
        found[path] = (replace(order, required=False), wavelength, *rest)
    return found


def _with_carriage() -> tuple[Field, ...]:
    carriage = _section("carriage", required=True)
    return tuple(carriage if field.name == "arm" else field for field in TOP)


def _of_axes(fields: tuple[Field, ...], kind: RobotKind, motor_side: bool) -> Iterator[Field]:
    """Fields of all axes as those of the carriages, and of axis 4 where there is one."""
    for field in fields:
        linear = ON_RAILS.get(field.kind)
        rotor = field.name == "rotor_inertia" and motor_side
        if field.shape == "axis" and linear is not None and not rotor:
            words = [_RAIL_NAMES.get(word, word) for word in field.name.split("_")]
            name = "_".join(words)
            own: dict[str, Any] = {"shape": "carriage", "size": kind.legs}
            yield replace(field, name=name, kind=linear, attribute=field.name, **own)
            if kind.spindle:
                yield replace(field, shape="one", attribute=f"{field.name}[{kind.legs}]")
        elif field.name == "smoothing":
            yield replace(field, kind="speed")
        else:
            yield field


def passive_fields(joint: str) -> tuple[Field, ...]:
    """Fields of one passive joint: forces in the prismatic joint, torques in all others."""
    if joint == "prismatic":
        return _friction("linear viscous friction", "force")
    return _friction("viscous friction", "torque")


def value_at(robot: Any, path: str) -> Any:
    """What a robot holds at the path of a source, e.g. "arm.mass"; None where there is nothing."""
    place: Any = robot
    for step in path.split("."):
        name, _, index = step.partition("[")
        if place is robot and name in ("arm", "carriage", "strut"):
            limbs = robot.struts if name == "strut" else robot.arms
            place = limbs[int(index[:-1])] if index in INDICES[: len(limbs)] else limbs
        elif index and isinstance(getattr(place, name, None), tuple):
            items, k = getattr(place, name), int(index[:-1])
            place = items[k] if k < len(items) else None
        elif isinstance(place, tuple) and place and hasattr(place[0], "joint"):
            place = next((item for item in place if item.joint == name), None)
        elif isinstance(place, tuple):
            place = tuple(getattr(item, name, None) for item in place)
        else:
            place = getattr(place, name, None)
    return place


def sources_still_true(old: Any, new: Any, sources: Mapping[str, Any]) -> dict[str, Any]:
    """The sources of `old` whose values `new` still has."""
    return {
        path: source
        for path, source in sources.items()
        if value_at(old, path) == value_at(new, path)
    }
