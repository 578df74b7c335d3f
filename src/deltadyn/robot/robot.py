"""The robot: one frozen value that holds its bodies, drives, friction, limits and sensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from inspect import signature
from os import PathLike
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, RobotError, UnknownNameError
from deltadyn.messages import escape_control_characters
from deltadyn.robot.bodies import (
    AnyPlatform,
    Arm,
    Carriage,
    Effector,
    Geometry,
    Payload,
    PlanarPlatform,
    RailGeometry,
    Spindle,
    Strut,
)
from deltadyn.robot.checks import ARMS, COUNTS, each, number, one_each
from deltadyn.robot.convention import Angles, from_controller, to_controller
from deltadyn.robot.fields import sources_still_true
from deltadyn.robot.home import check_home
from deltadyn.robot.settings import (
    SPINDLE_JOINTS,
    Controller,
    Drives,
    Friction,
    GrayBox,
    Limits,
    Sensors,
    Source,
)
from deltadyn.robot.write import save_robot
from deltadyn.units import AXIS_UNITS, key_end, rail_keys, together

STANDARD_GRAVITY = 9.81  # m/s^2

Rest = ParamSpec("Rest")
Found = TypeVar("Found")


def remembered(
    function: Callable[Concatenate[Robot, Rest], Found],
) -> Callable[Concatenate[Robot, Rest], Found]:
    """Keep what a function of a robot gives on the robot itself, which never changes.

    Unlike a cache by value it needs no hash of all the robot's numbers at every call.
    """

    if len(signature(function).parameters) == 1:  # most: without a look at further arguments

        @wraps(function)
        def recall_alone(robot: Robot, /) -> Found:
            memory: dict[Any, Any] = robot.__dict__["_memory"]
            try:
                found: Found = memory[function]
            except KeyError:
                found = memory[function] = function(robot)  # type: ignore[call-arg]
            return found

        return recall_alone  # type: ignore[return-value]

    @wraps(function)
    def recall(robot: Robot, /, *rest: Rest.args, **named: Rest.kwargs) -> Found:
        key = (function, rest, *named.items()) if rest or named else function
        memory: dict[Any, Any] = robot.__dict__["_memory"]
        try:
            found: Found = memory[key]
        except KeyError:
            found = memory[key] = function(robot, *rest, **named)
        return found

    return recall


@dataclass(frozen=True)
class Robot:
    """A robot of the Delta family: limbs, moved by arms or by carriages on rails, and a platform.

    Three limbs carry a platform that translates, with a spindle one whose tool turns too; two carry
    one in a plane; four a platform of two halves that turn the tool between them.
    """

    name: str
    geometry: Geometry | RailGeometry
    arms: tuple[Arm, ...] | tuple[Carriage, ...]
    struts: tuple[Strut, ...]
    platform: AnyPlatform
    spindle: Spindle | None = None
    effector: Effector = field(default_factory=Effector)
    payload: Payload = field(default_factory=Payload)
    drives: Drives = field(default_factory=Drives)
    friction: Friction = field(default_factory=Friction)
    limits: Limits = field(default_factory=Limits)
    controller: Controller = field(default_factory=Controller)
    sensors: Sensors = field(default_factory=Sensors)
    gray_box: GrayBox = field(default_factory=GrayBox)
    gravity: float = STANDARD_GRAVITY
    sources: Mapping[str, Source] = field(default_factory=dict, compare=True, repr=False)
    description: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise RobotError("name", self.name, "a text")
        if escape_control_characters(self.name) != self.name or set(self.name) & set("\n\t"):
            raise RobotError("name", self.name, "one line without control characters")
        if not isinstance(self.description, str):
            raise RobotError("description", self.description, "a text")
        for path, source in self.sources.items():
            if not isinstance(path, str) or not isinstance(source, Source):
                raise RobotError(f"sources[{path!r}]", source, "a Source under the path of a field")
        legs = self.geometry.legs
        arms = (self.arms,) * legs if isinstance(self.arms, Arm | Carriage) else self.arms
        struts = (self.struts,) * legs if isinstance(self.struts, Strut) else self.struts
        self._check_platform()
        values: dict[str, Any] = {
            "arms": one_each(arms, "arms", legs),
            "struts": one_each(struts, "struts", legs),
            "gravity": number("gravity", self.gravity, low=0.0, unit="m/s^2"),
            "drives": self.drives.checked(self.dof, self.legs if self.linear else 0),
            "friction": self.friction.checked(self.dof),
            "limits": self.limits.checked(self.dof, self.legs if self.linear else 0),
            "controller": self.controller.checked(self.dof),
            "sensors": self.sensors.checked(self.dof),
            "sources": MappingProxyType(dict(self.sources)),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        wanted = Carriage if self.linear else Arm
        for i, arm in enumerate(self.arms):
            if not isinstance(arm, wanted):
                allowed = "a Carriage on rails" if self.linear else "an Arm"
                raise RobotError(f"arms[{i}]", arm, f"{allowed}, as the geometry has it")
        for i, strut in enumerate(self.struts):
            path = "strut" if self.equal_limbs else f"struts[{i}]"
            strut.check(path, self.geometry.strut_length[i])
        self._check_passive_friction()
        object.__setattr__(self, "_memory", {})  # what `remembered` functions found

    def __hash__(self) -> int:
        return hash((self.name, self.geometry, self.arms, self.struts, self.payload, self.gravity))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the fields; the mapping of sources travels as a plain dictionary."""
        names = tuple(self.__dataclass_fields__)
        values = [getattr(self, name) for name in names]
        values[names.index("sources")] = dict(self.sources)
        return (Robot, tuple(values))

    @cached_property
    def dof(self) -> int:
        """Degrees of freedom: 3, 4 where the tool turns, 2 in a plane."""
        return 4 if self.spindle is not None else self.legs

    @cached_property
    def legs(self) -> int:
        """Limbs between base and platform: 3, 2 in a plane, 4 under a platform of two halves."""
        return self.geometry.legs

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The platform's coordinates, as many as axes: x, y, z, with psi where the tool turns; in a
        plane x, z.
        """
        return {2: ("x", "z"), 3: ("x", "y", "z"), 4: ("x", "y", "z", "psi")}[self.dof]

    @property
    def planar(self) -> bool:
        """Whether the platform moves in the plane y = 0 alone."""
        return self.dof == 2

    @property
    def turns(self) -> bool:
        """Whether the tool turns: psi is the last coordinate."""
        return self.dof == 4

    def in_space(self, x: FloatArray) -> FloatArray:
        """x, y, z (..., 3) of what has the platform's coordinates (..., dof); y is 0 in a plane."""
        if not self.planar:
            return x[..., :3]
        return np.stack([x[..., 0], np.zeros_like(x[..., 0]), x[..., 1]], axis=-1)

    @cached_property
    def linear(self) -> bool:
        """Whether carriages on rails move the limbs: their axes count in m and N."""
        return self.geometry.linear

    @cached_property
    def radian(self) -> tuple[float, ...]:
        """What stands for a rad on each axis (dof,), where a number is meant for arms and psi.

        1, or on rails `geometry.size` in m: the way of an elbow at the end of such an arm.
        """
        own = self.geometry.size if self.linear else 1.0
        return (own,) * self.legs + (1.0,) * (self.dof - self.legs)

    @property
    def rotary(self) -> Geometry:
        """The geometry of arms; refuses a robot on rails, for what is about arms alone."""
        if not isinstance(self.geometry, Geometry):
            raise InputError("robot", self.name, "a robot with rotary arms: this one has rails")
        return self.geometry

    @property
    def standard(self) -> Geometry:
        """The geometry of arms that stand as a Delta robot's do; refuses any other robot.

        What knows three shoulders by their radius and azimuth alone asks for it.
        """
        if self.legs != ARMS:
            allowed = f"a Delta robot with three arms: this one has {self.legs} limbs"
            raise InputError("robot", self.name, allowed)
        if not self.rotary.standard:
            allowed = "a robot without shoulder_height, shoulder_tangential, axis_yaw, axis_roll"
            raise InputError("robot", self.name, allowed)
        return self.rotary

    def needs_standard_arms(self) -> None:
        """Refuse rails, and arms that stand otherwise than a Delta robot's."""
        _ = self.standard

    @property
    def rotary_arms(self) -> tuple[Arm, ...]:
        """The arms; refuses a robot on rails."""
        return tuple(arm for arm in self.arms if isinstance(arm, Arm) and self.rotary is not None)

    @cached_property
    def equal_limbs(self) -> bool:
        """Whether the limbs have the same bodies, lengths and rotors."""
        g = self.geometry
        lengths = [g.base_radius, g.platform_radius, g.strut_length]
        lengths += [g.rail_pitch] if isinstance(g, RailGeometry) else [g.arm_length]
        rotors = self.drives.output_inertia[: self.legs]
        parts = (self.arms, self.struts, rotors, *lengths)
        return all(len(set(part)) == 1 for part in parts)

    @cached_property
    def plain_drives(self) -> bool:
        """Whether the drives have no term beyond those that the compiled kernels compute."""
        friction, ratio = self.friction, self.sensors.torque_ratio
        plain = friction.thinning is None and friction.motor_load is None
        return plain and not self.drives.ripple and set(ratio) == {1.0}

    def replace(self, **changes: Any) -> Robot:
        """The same robot with other parts; a value that changes loses its source."""
        robot = replace(self, **changes)
        if "sources" in changes or not self.sources:
            return robot
        return replace(robot, sources=sources_still_true(self, robot, self.sources))

    def with_payload(
        self, mass: float, offset: npt.ArrayLike = (0.0, 0.0, 0.0), inertia_zz: float = 0.0
    ) -> Robot:
        """The same robot carrying this payload (kg, m, kg m^2) instead of the one it had."""
        payload = Payload(mass, each("payload.offset", offset, 3), inertia_zz)  # type: ignore[arg-type]
        return self.replace(payload=payload)

    def with_rotor_inertia(self, inertia: npt.ArrayLike) -> Robot:
        """The same robot with these rotor inertias at the output side (kg m^2; kg on rails).

        One number is meant for the three arms and leaves the spindle's rotor as it is.
        """
        count = getattr(inertia, "__len__", None)
        unit = self.axis_units("inertia")[0]
        if count is None:
            arm = number("rotor inertia", inertia, low=0.0, unit=unit)
            values = (arm,) * self.legs + self.drives.output_inertia[self.legs :]
        else:
            values = each("rotor inertia", inertia, self.dof, low=0.0, unit=unit)
        drives = replace(self.drives, rotor_inertia=values, rotor_side="output_side")
        return self.replace(drives=drives)

    def with_friction(self, **changes: Any) -> Robot:
        """The same robot with other friction terms, e.g. `viscous=0.5, coulomb=[1, 1, 2]`."""
        return self.replace(friction=replace(self.friction, **changes))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the robot file; `load_robot` gives back an equal robot."""
        save_robot(self, path)

    def _check_platform(self) -> None:
        """As many limbs as the platform is held by, no spindle where it turns the tool itself."""
        platform, azimuths = self.platform, [math.degrees(a) for a in self.geometry.azimuth]
        if self.legs != platform.limbs:
            count = COUNTS[platform.limbs]
            words = f"{count} azimuths: {count} limbs hold a platform of kind {platform.kind}"
            raise RobotError("geometry.azimuth", azimuths, words)
        if self.spindle is not None and platform.limbs != ARMS:
            allowed = f"none beside a platform of kind {platform.kind}, only a translational one"
            raise RobotError("spindle", "a spindle", allowed)
        if isinstance(platform, PlanarPlatform) and any(
            abs(frame.shoulder[1]) > 1e-12 or abs(frame.z[1]) > 1e-12 or abs(frame.x[1]) > 1e-12
            for frame in self.geometry.frames
        ):
            raise RobotError(
                "geometry.azimuth", azimuths, "0 and 180 deg: limbs in the plane y = 0"
            )
        check_home(self.geometry, platform)

    def _check_passive_friction(self) -> None:
        for item in self.friction.passive:
            path, allowed = f"friction.passive.{item.joint}", None
            if self.linear:
                allowed = "none on rails: friction of passive joints is modelled beside arms only"
            elif self.spindle is None and item.joint in SPINDLE_JOINTS:
                allowed = "only on a robot with a spindle"
            if allowed is not None:
                raise RobotError(path, item.joint, allowed)

    def axis_names(self) -> tuple[str, ...]:
        """Short names of the drives for tables and messages."""
        turned = ("psi",) if self.dof > self.legs else ()
        return (*(str(i + 1) for i in range(self.legs)), *turned)

    def axis_units(self, quantity: str) -> tuple[str, ...]:
        """Units of "q", "qd", "qdd", "tau", "inertia", "viscous" or "stiffness", one per axis.

        Arms turn (rad, N m), carriages slide (m, N), and axis 4 always turns.
        """
        if quantity not in AXIS_UNITS:
            raise UnknownNameError("quantity of an axis", quantity, AXIS_UNITS)
        rotary, linear = AXIS_UNITS[quantity]
        return ((linear if self.linear else rotary,) * self.legs + (rotary,))[: self.dof]

    def axis_unit(self, quantity: str) -> str:
        """The unit of all axes for a heading: "N m"; "N, N m" on rails with a spindle."""
        return together(self.axis_units(quantity))

    def axis_key(self, name: str, quantity: str) -> str:
        """A key of results that hold a quantity of the axes: "residual_rms_Nm", "_N" on rails.

        It ends in the unit of the first three axes; `axis_units` has that of the fourth.
        """
        return f"{name}_{key_end(self.axis_units(quantity)[0])}"

    def record(self, values: dict[str, Any]) -> dict[str, Any]:
        """Results for JSON with keys in the units of this robot's axes.

        On rails "residual_rms_Nm" becomes "residual_rms_N", and "axis_units" tells the units of
        every axis: the fourth is in rad and N m whatever the key ends in.
        """
        if not self.linear:
            return values
        units = {name: list(self.axis_units(name)) for name in ("q", "qd", "tau")}
        return {**rail_keys(values), "axis_units": units}

    def to_controller(self, q: Any) -> Any:
        """The controller's own angles of q (…, dof): sign * (q + eccentricity) + offset."""
        return to_controller(self, Angles(q)).q

    def from_controller(self, q: Any) -> Any:
        """Our angles of the controller's q (…, dof)."""
        return from_controller(self, Angles(q)).q
