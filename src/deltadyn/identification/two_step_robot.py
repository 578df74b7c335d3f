"""The robot of the two-step identification: without its rod, and by one number per body.

Each body keeps its shape: COM and radii of gyration stay as given and its mass is the parameter, as
in [telescopic2022] table 2. The torque of both models is then linear in

    legs   platform.m, arm.m, strut.m (one rod of a pair), rotor, friction of each arm's drive
    rod    upper.m, lower.m, prismatic.Fv (the damping of the telescope)

With limbs of their own the legs' names count them: arm1.m, strut2.m, rotor3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.regressor import regressor
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot_bodies import Arm, Rod, Spindle, Strut, TenParameters
from deltadyn.robot_settings import FRICTION_FIELDS, Friction, PassiveFriction

ROD_NAMES = ("upper.m", "lower.m", "prismatic.Fv")
ROD_JOINTS = ("prismatic", "universal_fork", "universal_cross")
_NAME = re.compile(r"(platform|arm|strut|rotor|upper|lower|Fv|Fc[+-]?|Fs|F0)([123]?)(\.m)?")
Shaped = TypeVar("Shaped", Strut, Rod)


def without_rod(robot: Robot, *, axes: int = 3) -> Robot:
    """The robot with the telescopic rod taken out; platform, effector and payload stay.

    With `axes` = 3 it is a 3-DOF robot; with 4 its rods have no mass and no friction, and axis 4
    turns on as before. It bears the name of the robot and "without rod".
    """
    if not isinstance(robot, Robot):
        raise InputError("robot", type(robot).__name__, "a Robot")
    if robot.spindle is None:
        raise InputError("robot", robot.name, "a robot with a spindle, whose rod can be taken out")
    if axes not in (3, 4) or isinstance(axes, bool):
        raise InputError("axes", axes, "3, or 4 for a robot whose fourth drive stays")
    name = f"{robot.name} without rod"
    passive = tuple(item for item in robot.friction.passive if item.joint not in ROD_JOINTS)
    friction = replace(robot.friction, passive=passive)
    if axes == 4:
        bare = replace(
            robot.spindle,
            upper=_weightless(robot.spindle.upper),
            lower=_weightless(robot.spindle.lower),
        )
        return robot.replace(name=name, spindle=bare, friction=friction)
    parts: dict[str, Any] = {}
    for field_name, part in (
        ("friction", friction),
        ("drives", robot.drives),
        ("limits", robot.limits),
        ("controller", robot.controller),
    ):
        parts[field_name] = _three_axes(part)
    return robot.replace(name=name, spindle=None, **parts)


def arms_alone(state: State) -> State:
    """The state without axis 4 (N, 3): legs move the same whatever psi does."""
    if state.p.shape[1] == 3:
        return state
    return State(
        p=state.p[:, :3],
        pd=state.pd[:, :3],
        pdd=state.pdd[:, :3],
        cos_q=state.cos_q,
        sin_q=state.sin_q,
        qd=state.qd[:, :3],
        qdd=state.qdd[:, :3],
        single=state.single,
    )


def first_sample(state: State) -> State:
    """The first sample, as a state of one row."""
    return State(
        p=state.p[:1],
        pd=state.pd[:1],
        pdd=state.pdd[:1],
        cos_q=state.cos_q[:1],
        sin_q=state.sin_q[:1],
        qd=state.qd[:1],
        qdd=state.qdd[:1],
    )


class ParameterMap(NamedTuple):
    """The regressor's parameters from the step's own: wide = T @ x + offset."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    prior: FloatArray  # (k,), the robot's own values
    T: FloatArray  # (n, k)
    offset: FloatArray  # (n,), what stays as given


def leg_names(robot: Robot, tied: bool) -> tuple[str, ...]:
    """The legs' parameters with the friction terms that the robot's model has on its arms."""
    marks = ("",) if tied else ("1", "2", "3")
    bodies = ["platform.m", *(f"arm{i}.m" for i in marks), *(f"strut{i}.m" for i in marks)]
    names = [*bodies, *(f"rotor{i}" for i in marks)]
    friction = robot.friction
    terms = ["Fv", "Fc"] if friction.coulomb_negative is None else ["Fv", "Fc+", "Fc-"]
    terms += [] if friction.stribeck is None else ["Fs"]
    terms += [] if friction.offset is None else ["F0"]
    return (*names, *(f"{term}{axis}" for term in terms for axis in (1, 2, 3)))


def parameter_map(
    robot: Robot, state: State, model: str, tied: bool, names: Sequence[str]
) -> ParameterMap:
    """How a model's regressor parameters hang on the named ones, exactly: they are linear in them.

    `robot` has every friction term that is named, `state` is one sample.
    """

    def wide(changed: Robot) -> FloatArray:
        return regressor(changed, state, model, tied=tied).parameters

    own = wide(robot)
    prior = np.array([parameter(robot, name) for name in names])
    T = np.empty((len(own), len(names)))
    for j, name in enumerate(names):
        step = prior[j] if name.endswith(".m") and name != "platform.m" else 1.0
        if not step > 0:
            raise InputError(
                f"mass {name}", prior[j], "above 0 kg: its body's shape is told per mass"
            )
        T[:, j] = (wide(with_parameters(robot, {name: prior[j] + step})) - own) / step
    return ParameterMap(tuple(names), tuple(map(_unit, names)), prior, T, own - T @ prior)


def parameter(robot: Robot, name: str) -> float:
    """The robot's own value of a parameter; of tied limbs that of the first."""
    if name == "prismatic.Fv":
        return _prismatic(robot).viscous
    body, index = _parts(name)
    if body == "platform":
        return robot.platform.mass
    if body == "arm":
        return robot.arms[index or 0].mass
    if body == "strut":
        return robot.struts[index or 0].mass
    if body == "rotor":
        return robot.drives.output_inertia[index or 0]
    if body in ("upper", "lower"):
        assert robot.spindle is not None
        rod: Rod = getattr(robot.spindle, body)
        return rod.mass
    assert index is not None
    return float(getattr(robot.friction, FRICTION_FIELDS[body])[index])


def with_parameters(robot: Robot, values: Mapping[str, float]) -> Robot:
    """The robot with these parameters; a body keeps its shape when its mass changes."""
    for name, value in values.items():
        robot = _with_one(robot, name, float(value))
    return robot


def with_prismatic(robot: Robot) -> Robot:
    """The robot with a damping term in its telescope, of 0 N s/m where it had none."""
    return robot.replace(friction=_with_damping(robot, _prismatic(robot).viscous))


def _with_one(robot: Robot, name: str, value: float) -> Robot:
    if name == "prismatic.Fv":
        return robot.replace(friction=_with_damping(robot, value))
    body, index = _parts(name)
    chosen = range(3) if index is None else (index,)
    if body == "platform":
        return robot.replace(platform=replace(robot.platform, mass=value))
    if body == "arm":
        arms = [_arm(x, value) if i in chosen else x for i, x in enumerate(robot.arms)]
        return robot.replace(arms=tuple(arms))
    if body == "strut":
        struts = [_shaped(x, value) if i in chosen else x for i, x in enumerate(robot.struts)]
        return robot.replace(struts=tuple(struts))
    if body == "rotor":
        rotors = [value if i in chosen else x for i, x in enumerate(robot.drives.output_inertia)]
        return robot.with_rotor_inertia(rotors)
    if body in ("upper", "lower"):
        spindle: Spindle = robot.spindle  # type: ignore[assignment]
        rod = _shaped(getattr(spindle, body), value)
        return robot.replace(spindle=replace(spindle, **{body: rod}))
    assert index is not None
    field_name = FRICTION_FIELDS[body]
    terms = list(getattr(robot.friction, field_name))
    terms[index] = value
    return robot.with_friction(**{field_name: tuple(terms)})


def _parts(name: str) -> tuple[str, int | None]:
    """The body or term of a name, and its arm counted from 0."""
    match = _NAME.fullmatch(name)
    assert match is not None, name
    return match[1], int(match[2]) - 1 if match[2] else None


def _unit(name: str) -> str:
    if name == "prismatic.Fv":
        return "N s/m"
    if name.endswith(".m"):
        return "kg"
    if name.startswith("rotor"):
        return "kg m^2"
    return "N m s/rad" if name.startswith("Fv") else "N m"


def _arm(arm: Arm, mass: float) -> Arm:
    return replace(arm, mass=mass, inertia=arm.inertia * _factor(arm.mass, mass))


def _shaped(part: Shaped, mass: float) -> Shaped:
    """The same shape with another mass."""
    factor = _factor(part.mass, mass)
    changes: dict[str, Any] = {"mass": mass, "inertia": factor * part.inertia}
    if isinstance(part, Rod):
        changes["axial_inertia"] = factor * part.axial_inertia
    if part.ten is not None:
        moment, inertia = (
            tuple(factor * value for value in values)
            for values in (part.ten.first_moment, part.ten.inertia)
        )
        changes["ten"] = TenParameters(mass, moment, inertia)  # type: ignore[arg-type]
    return replace(part, **changes)


def _factor(old: float, new: float) -> float:
    return new / old if old > 0 else 1.0


def _weightless(rod: Rod) -> Rod:
    return Rod(0.0, rod.com, 0.0, 0.0, rod.length)


def _prismatic(robot: Robot) -> PassiveFriction:
    own = [item for item in robot.friction.passive if item.joint == "prismatic"]
    return own[0] if own else PassiveFriction("prismatic")


def _with_damping(robot: Robot, viscous: float) -> Friction:
    others = [item for item in robot.friction.passive if item.joint != "prismatic"]
    damped = replace(_prismatic(robot), viscous=viscous)
    return replace(robot.friction, passive=(*others, damped))


def _three_axes(part: Any) -> Any:
    """Settings with the first three values of what is given per axis."""
    changes = {
        item.name: value[:3]
        for item in fields(part)
        if isinstance(value := getattr(part, item.name), tuple) and item.name != "passive"
    }
    return replace(part, **changes)
