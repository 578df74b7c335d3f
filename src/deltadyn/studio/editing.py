"""A robot's main numbers, changed one by one; a changed body keeps its shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.kinematics import State
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Rod, Strut, TenParameters


@dataclass(frozen=True)
class Entry:
    """A number of the editor: its label with the unit, how to read it and how to set it.

    `read` gives one value per limb, or one; values that differ between limbs cannot be edited.
    """

    label: str
    scale: float  # shown value = scale * value in SI
    read: Callable[[Robot], tuple[float, ...]]
    write: Callable[[Robot, float], Robot]

    def shown(self, robot: Robot) -> float | None:
        """The value as shown; None where the limbs differ."""
        values = self.read(robot)
        return self.scale * values[0] if len(set(values)) == 1 else None


def entries(robot: Robot) -> dict[str, Entry]:
    """What can be edited on this robot, by key."""
    found = {
        "base_radius": Entry("base radius (mm)", 1e3, _geometry("base_radius"), _set_base),
        "platform_radius": Entry(
            "platform radius (mm)", 1e3, _geometry("platform_radius"), _set_platform
        ),
        "arm_length": Entry("arm length (mm)", 1e3, _geometry("arm_length"), _set_arm_length),
        "strut_length": Entry(
            "strut length (mm)", 1e3, _geometry("strut_length"), _set_strut_length
        ),
        "arm_mass": Entry("arm mass (kg)", 1.0, _each("arms"), _set_arm_mass),
        "strut_mass": Entry("mass of one rod (kg)", 1.0, _each("struts"), _set_strut_mass),
        "platform_mass": Entry(
            "platform mass (kg)",
            1.0,
            lambda robot: (robot.platform.mass,),
            lambda robot, mass: robot.replace(platform=replace(robot.platform, mass=mass)),
        ),
        "payload": Entry(
            "payload (kg)",
            1.0,
            lambda robot: (robot.payload.mass,),
            lambda robot, mass: robot.replace(payload=replace(robot.payload, mass=mass)),
        ),
    }
    if robot.spindle is not None:
        found["upper_mass"] = Entry("upper spindle rod (kg)", 1.0, _rod("upper"), _set_rod("upper"))
        found["lower_mass"] = Entry("lower spindle rod (kg)", 1.0, _rod("lower"), _set_rod("lower"))
    return found


def edited(robot: Robot, values: Mapping[str, float]) -> Robot:
    """The robot with these numbers, in the units of the labels; the untouched stay exactly."""
    known = entries(robot)
    for key, value in values.items():
        entry = known.get(key)
        if entry is None:
            raise InputError("number to edit", key, "one of " + ", ".join(known))
        now = entry.shown(robot)
        if now is None:
            raise InputError(entry.label, value, "left alone: it differs between the limbs")
        if not math.isfinite(value):
            raise InputError(entry.label, value, "a finite number")
        if not math.isclose(value, now, rel_tol=1e-9, abs_tol=1e-12):
            robot = entry.write(robot, value / entry.scale)
    return robot


def differences(before: Robot, after: Robot) -> list[tuple[str, str, str, str]]:
    """Rows label, before, after, change of the numbers that differ."""
    known = entries(after)
    rows = []
    for key, entry in entries(before).items():
        if key not in known:
            continue
        old, new = entry.read(before), known[key].read(after)
        if not np.allclose(old, new, rtol=1e-9, atol=1e-12):
            change = 100 * (new[0] / old[0] - 1) if old[0] else math.inf
            told = f"{change:+.1f} %" if math.isfinite(change) else "new"
            rows.append((entry.label, _few(entry, old), _few(entry, new), told))
    return rows


def torque_rows(
    before: Robot, after: Robot, motion: Motion
) -> list[tuple[str, str, str, str, str]]:
    """Rows axis, peak before, peak after, RMS before, RMS after (N m) on the same platform motion.

    Both robots run the motion of the platform; raises where one of them cannot.
    """
    old, new = torque_along(before, motion), torque_along(after, motion)
    names = after.axis_names()[: min(before.dof, after.dof)]
    return [
        (
            name,
            *(f"{np.abs(tau[:, k]).max():.2f}" for tau in (old, new)),
            *(f"{math.sqrt(float((tau[:, k] ** 2).mean())):.2f}" for tau in (old, new)),
        )  # type: ignore[misc]
        for k, name in enumerate(names)
    ]


def torque_along(robot: Robot, motion: Motion, model: str = "exact") -> FloatArray:
    """Torque (N, dof) in N m of a robot that moves its platform as `motion` says."""
    columns = [np.asarray(array)[:, : robot.dof] for array in (motion.p, motion.pd, motion.pdd)]
    if robot.dof > columns[0].shape[1]:  # a motion without psi: the spindle stands still
        zeros = np.zeros((len(columns[0]), 1))
        columns = [np.concatenate([array, zeros], axis=1) for array in columns]
    state = State.from_platform(robot, *columns)
    return np.asarray(inverse_dynamics(robot, state, model))


def _few(entry: Entry, values: tuple[float, ...]) -> str:
    shown = [f"{entry.scale * value:.5g}" for value in dict.fromkeys(values)]
    return ", ".join(shown)


def _geometry(name: str) -> Callable[[Robot], tuple[float, ...]]:
    return lambda robot: tuple(getattr(robot.geometry, name))


def _each(name: str) -> Callable[[Robot], tuple[float, ...]]:
    return lambda robot: tuple(body.mass for body in getattr(robot, name))


def _rod(name: str) -> Callable[[Robot], tuple[float, ...]]:
    return lambda robot: (getattr(robot.spindle, name).mass,)


def _set_base(robot: Robot, value: float) -> Robot:
    return robot.replace(geometry=replace(robot.geometry, base_radius=value))


def _set_platform(robot: Robot, value: float) -> Robot:
    return robot.replace(geometry=replace(robot.geometry, platform_radius=value))


def _set_arm_length(robot: Robot, value: float) -> Robot:
    _positive("arm length", value)
    ratio = value / robot.geometry.arm_length[0]
    arms = tuple(_scaled_arm(arm, 1.0, ratio) for arm in robot.arms)
    return robot.replace(geometry=replace(robot.geometry, arm_length=value), arms=arms)


def _set_strut_length(robot: Robot, value: float) -> Robot:
    _positive("strut length", value)
    ratio = value / robot.geometry.strut_length[0]
    struts = tuple(_scaled_strut(strut, 1.0, ratio) for strut in robot.struts)
    return robot.replace(geometry=replace(robot.geometry, strut_length=value), struts=struts)


def _set_arm_mass(robot: Robot, value: float) -> Robot:
    arms = tuple(_scaled_arm(arm, _ratio("arm mass", value, arm.mass), 1.0) for arm in robot.arms)
    return robot.replace(arms=arms)


def _set_strut_mass(robot: Robot, value: float) -> Robot:
    struts = tuple(
        _scaled_strut(strut, _ratio("mass of one rod", value, strut.mass), 1.0)
        for strut in robot.struts
    )
    return robot.replace(struts=struts)


def _set_rod(name: str) -> Callable[[Robot, float], Robot]:
    def write(robot: Robot, value: float) -> Robot:
        assert robot.spindle is not None
        rod: Rod = getattr(robot.spindle, name)
        mass = _ratio(f"{name} spindle rod", value, rod.mass)
        changed = replace(
            rod,
            mass=rod.mass * mass,
            inertia=rod.inertia * mass,
            axial_inertia=rod.axial_inertia * mass,
            ten=_scaled_ten(rod.ten, mass, 1.0),
        )
        both = {"upper": robot.spindle.upper, "lower": robot.spindle.lower, name: changed}
        spindle = replace(robot.spindle, upper=both["upper"], lower=both["lower"])
        return robot.replace(spindle=spindle)

    return write


def _scaled_arm(arm: Arm, mass: float, length: float) -> Arm:
    return replace(
        arm,
        mass=arm.mass * mass,
        com=arm.com * length,
        com_offset=arm.com_offset * length,
        inertia=arm.inertia * mass * length**2,
    )


def _scaled_strut(strut: Strut, mass: float, length: float) -> Strut:
    return replace(
        strut,
        mass=strut.mass * mass,
        inertia=strut.inertia * mass * length**2,
        ten=_scaled_ten(strut.ten, mass, length),
    )


def _scaled_ten(ten: TenParameters | None, mass: float, length: float) -> TenParameters | None:
    if ten is None:
        return None
    moment = tuple(value * mass * length for value in ten.first_moment)
    inertia = tuple(value * mass * length**2 for value in ten.inertia)
    return TenParameters(ten.mass * mass, moment, inertia)  # type: ignore[arg-type]


def _positive(label: str, value: float) -> None:
    if not value > 0:
        raise InputError(label, value, "above 0")


def _ratio(label: str, value: float, now: float) -> float:
    if not value >= 0:
        raise InputError(label, value, "at least 0 kg")
    if not now > 0:
        raise InputError(label, value, "0: a body without mass has no shape to keep")
    return value / now
