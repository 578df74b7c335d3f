"""The tab Robot: choose, upload, edit, compare, download.

A robot's main numbers are changed one by one; a changed body keeps its shape.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import inverse_dynamics
from deltadyn.errors import DeltadynError, InputError
from deltadyn.kinematics import State
from deltadyn.motion.motion import Motion
from deltadyn.report.picture import TWO_HALVES
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, ArticulatedPlatform, Rod, Strut, TenParameters
from deltadyn.robot.file import robot_names
from deltadyn.robot.write import robot_text
from deltadyn.studio.page import Tab, message_box, paragraph, table

if TYPE_CHECKING:
    from deltadyn.studio.server import Window
    from deltadyn.studio.session import Upload

Scaled = Callable[[Any, float, float], Any]  # a body, times its mass, times its length


LENGTHS, BODIES, DRIVES = "Lengths", "Masses and centres of mass", "Drives and friction"


@dataclass(frozen=True)
class Entry:
    """A number of the editor: its label with the unit, how to read it and how to set it.

    `read` gives one value per limb, or one; values that differ between limbs cannot be edited.
    """

    label: str
    scale: float  # shown value = scale * value in SI
    read: Callable[[Robot], tuple[float, ...]]
    write: Callable[[Robot, float], Robot]
    group: str = BODIES
    signed: bool = False  # whether it may be negative

    def shown(self, robot: Robot) -> float | None:
        """The value as shown; None where the limbs differ."""
        values = self.read(robot)
        return self.scale * values[0] if len(set(values)) == 1 else None


def entries(robot: Robot) -> dict[str, Entry]:
    """What can be edited on this robot, by key."""
    found = {
        "base_radius": _radius("base"),
        "platform_radius": _radius("platform"),
        **_limb_lengths(robot),
        **_limb_masses(robot),
        "strut_mass": _mass("mass of one rod", "struts", _scaled_strut),
        **_platform_entries(robot),
        "payload": _lump("payload", "payload"),
    }
    if all(strut.ten is None for strut in robot.struts):
        found["strut_com"] = _com("rod COM from the elbow (%)", "struts", "com_fraction", 100.0)
    if robot.spindle is not None:
        found["upper_mass"] = _rod("upper")
        found["lower_mass"] = _rod("lower")
    for axes, name, key in _drives(robot):
        side = "motor" if robot.drives.rotor_side == "motor_side" else "output"
        limb = axes.start == 0
        unit, scale = "kg cm²", 1e4
        if robot.linear and limb and side == "output":  # a carriage feels a mass
            unit, scale = "kg", 1.0
        rotor = f"rotor inertia{name} at the {side} ({unit})"
        found[f"gear_ratio{key}"] = _axes(f"gear ratio{name}", "drives.gear_ratio", axes)
        found[f"rotor_inertia{key}"] = _axes(rotor, "drives.rotor_inertia", axes, scale)
        own = (robot.axis_units(kind)[axes][0] for kind in ("viscous", "tau"))
        viscous, coulomb = (
            f"{word} friction{name} ({of})"
            for word, of in zip(("viscous", "Coulomb"), own, strict=True)
        )
        found[f"viscous{key}"] = _axes(viscous, "friction.viscous", axes)
        found[f"coulomb{key}"] = _axes(coulomb, "friction.coulomb", axes)
    return found


def _drives(robot: Robot) -> list[tuple[slice, str, str]]:
    """The axes that have a field together: the arms, and psi."""
    arms = [(slice(0, robot.legs), "", "")]
    return arms if robot.dof == robot.legs else [*arms, (slice(3, 4), " of psi", "_psi")]


def _limb_lengths(robot: Robot) -> dict[str, Entry]:
    strut = {"strut_length": _length("strut", "struts", _scaled_strut)}
    return strut if robot.linear else {"arm_length": _length("arm", "arms", _scaled_arm), **strut}


def _limb_masses(robot: Robot) -> dict[str, Entry]:
    if robot.linear:
        return {
            "carriage_mass": _each("carriage mass", "arms", "mass"),
            "counterweight": _each("counterweight", "arms", "counterweight"),
        }
    return {
        "arm_mass": _mass("arm mass", "arms", _scaled_arm),
        "arm_com": _com("arm COM from the shoulder (mm)", "arms", "com", 1e3),
    }


def _platform_entries(robot: Robot) -> dict[str, Entry]:
    """The platform's mass, or those of its halves with the length of bars or the screw's lead."""
    own = robot.platform
    if not isinstance(own, TWO_HALVES):
        return {"platform_mass": _lump("platform mass", "platform")}
    found = {f"half_{i + 1}": _half(i) for i in (0, 1)}
    if isinstance(own, ArticulatedPlatform):
        found["bar_mass"] = _of_platform("mass of both bars (kg)", "bar_mass", 1.0)
        found["bar_length"] = _of_platform("bar length (mm)", "bar_length", 1e3, LENGTHS)
    else:
        found["lead"] = _of_platform("lead of the screw (mm)", "lead", 1e3, LENGTHS)
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


def differences(before: Robot, after: Robot) -> list[tuple[str, ...]]:
    """Rows label, before, after, change of the numbers that differ."""
    known = entries(after)
    rows: list[tuple[str, ...]] = []
    for key, entry in entries(before).items():
        if key not in known:
            continue
        old, new = entry.read(before), known[key].read(after)
        if not np.allclose(old, new, rtol=1e-9, atol=1e-12):
            change = 100 * (new[0] / old[0] - 1) if old[0] else math.inf
            told = f"{change:+.1f} %" if math.isfinite(change) else "new"
            rows.append((entry.label, _few(entry, old), _few(entry, new), told))
    return rows


def torque_rows(before: Robot, after: Robot, motion: Motion) -> list[tuple[str, ...]]:
    """Rows axis, peak before, peak after, RMS before, RMS after on the same platform motion.

    Both robots run the motion of the platform; raises where one of them cannot.
    """
    old, new = torque_along(before, motion), torque_along(after, motion)
    names = after.axis_names()[: min(before.dof, after.dof)]
    return [
        (
            name,
            *(f"{np.abs(tau[:, k]).max():.2f}" for tau in (old, new)),
            *(f"{math.sqrt(float((tau[:, k] ** 2).mean())):.2f}" for tau in (old, new)),
        )
        for k, name in enumerate(names)
    ]


def torque_along(robot: Robot, motion: Motion, model: str = "exact") -> FloatArray:
    """Torque (N, dof) of a robot that moves its platform as `motion` says; N of carriages."""
    columns = [np.asarray(array)[:, : robot.dof] for array in (motion.p, motion.pd, motion.pdd)]
    if robot.dof > columns[0].shape[1]:  # a motion without psi: the spindle stands still
        zeros = np.zeros((len(columns[0]), 1))
        columns = [np.concatenate([array, zeros], axis=1) for array in columns]
    state = State.from_platform(robot, *columns)
    return np.asarray(inverse_dynamics(robot, state, model))


def _few(entry: Entry, values: tuple[float, ...]) -> str:
    shown = [f"{entry.scale * value:.5g}" for value in dict.fromkeys(values)]
    return ", ".join(shown)


def _changed(part: Any, fields: Mapping[str, Any]) -> Any:
    """A part of the robot, of whatever kind, with these fields."""
    return replace(part, **fields)


def _radius(name: str) -> Entry:
    field = f"{name}_radius"
    return Entry(
        f"{name} radius (mm)",
        1e3,
        lambda robot: tuple(getattr(robot.geometry, field)),
        lambda robot, value: robot.replace(geometry=_changed(robot.geometry, {field: value})),
        LENGTHS,
    )


def _com(label: str, bodies: str, name: str, scale: float) -> Entry:
    """The place of the centre of mass of each arm or rod; its inertia about it stays."""

    def write(robot: Robot, value: float) -> Robot:
        moved = tuple(replace(body, **{name: value}) for body in getattr(robot, bodies))
        return robot.replace(**{bodies: moved})

    def read(robot: Robot) -> tuple[float, ...]:
        return tuple(getattr(body, name) for body in getattr(robot, bodies))

    return Entry(label, scale, read, write, signed=True)


def _axes(label: str, path: str, axes: slice, scale: float = 1.0) -> Entry:
    """A number of drives or friction, the same on these axes."""
    part, _, name = path.partition(".")

    def read(robot: Robot) -> tuple[float, ...]:
        return tuple(getattr(getattr(robot, part), name)[axes])

    def write(robot: Robot, value: float) -> Robot:
        own = getattr(robot, part)
        values = list(getattr(own, name))
        values[axes] = [value] * len(values[axes])
        return robot.replace(**{part: replace(own, **{name: tuple(values)})})

    return Entry(label, scale, read, write, DRIVES)


def _length(name: str, bodies: str, scaled: Scaled) -> Entry:
    """The length of arms or struts; their bodies grow with it."""
    field = f"{name}_length"

    def write(robot: Robot, value: float) -> Robot:
        if not value > 0:
            raise InputError(f"{name} length", value, "above 0")
        ratio = value / getattr(robot.geometry, field)[0]
        grown = tuple(scaled(body, 1.0, ratio) for body in getattr(robot, bodies))
        geometry = _changed(robot.geometry, {field: value})
        return robot.replace(geometry=geometry, **{bodies: grown})

    def read(robot: Robot) -> tuple[float, ...]:
        return tuple(getattr(robot.geometry, field))

    return Entry(f"{name} length (mm)", 1e3, read, write, LENGTHS)


def _mass(label: str, bodies: str, scaled: Scaled) -> Entry:
    """The mass of each arm or rod; its body keeps its shape."""

    def write(robot: Robot, value: float) -> Robot:
        own = getattr(robot, bodies)
        heavier = tuple(scaled(body, _ratio(label, value, body.mass), 1.0) for body in own)
        return robot.replace(**{bodies: heavier})

    def read(robot: Robot) -> tuple[float, ...]:
        return tuple(body.mass for body in getattr(robot, bodies))

    return Entry(f"{label} (kg)", 1.0, read, write)


def _each(label: str, bodies: str, name: str) -> Entry:
    """A mass of each body, which has no shape."""

    def write(robot: Robot, value: float) -> Robot:
        changed = tuple(replace(body, **{name: value}) for body in getattr(robot, bodies))
        return robot.replace(**{bodies: changed})

    def read(robot: Robot) -> tuple[float, ...]:
        return tuple(getattr(body, name) for body in getattr(robot, bodies))

    return Entry(f"{label} (kg)", 1.0, read, write)


def _half(i: int) -> Entry:
    """The mass of one half of the platform."""

    def write(robot: Robot, value: float) -> Robot:
        masses = list(robot.platform.half_mass)  # type: ignore[union-attr]
        masses[i] = value
        return robot.replace(platform=_changed(robot.platform, {"half_mass": tuple(masses)}))

    def read(robot: Robot) -> tuple[float, ...]:
        return (robot.platform.half_mass[i],)  # type: ignore[union-attr]

    return Entry(f"half {i + 1} of the platform (kg)", 1.0, read, write)


def _of_platform(label: str, name: str, scale: float, group: str = BODIES) -> Entry:
    """A number of the platform."""

    def write(robot: Robot, value: float) -> Robot:
        return robot.replace(platform=_changed(robot.platform, {name: value}))

    return Entry(label, scale, lambda robot: (getattr(robot.platform, name),), write, group)


def _lump(label: str, body: str) -> Entry:
    """The mass of a body without a shape."""

    def write(robot: Robot, mass: float) -> Robot:
        return robot.replace(**{body: replace(getattr(robot, body), mass=mass)})

    return Entry(f"{label} (kg)", 1.0, lambda robot: (getattr(robot, body).mass,), write)


def _rod(name: str) -> Entry:
    """The mass of a rod of the spindle; it keeps its shape."""
    label = f"{name} spindle rod"

    def write(robot: Robot, value: float) -> Robot:
        assert robot.spindle is not None
        rod: Rod = getattr(robot.spindle, name)
        mass = _ratio(label, value, rod.mass)
        changed: Any = replace(
            rod,
            mass=rod.mass * mass,
            inertia=rod.inertia * mass,
            axial_inertia=rod.axial_inertia * mass,
            ten=_scaled_ten(rod.ten, mass, 1.0),
        )
        return robot.replace(spindle=replace(robot.spindle, **{name: changed}))

    return Entry(f"{label} (kg)", 1.0, lambda robot: (getattr(robot.spindle, name).mass,), write)


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


def _ratio(label: str, value: float, now: float) -> float:
    if not value >= 0:
        raise InputError(label, value, "at least 0 kg")
    if not now > 0:
        raise InputError(label, value, "0: a body without mass has no shape to keep")
    return value / now


def robot_bytes(robot: Robot) -> bytes:
    """The robot file."""
    return robot_text(robot).encode()


def file_stem(robot: Robot) -> str:
    """The robot's name as the start of a file name."""
    return re.sub(r"[^\w-]+", "-", robot.name).strip("-") or "robot"


# The tab.

OTHER = "(from a file)"


class RobotTab(Tab):
    """Controls of the robot."""

    def __init__(self, window: Window, tab: Any) -> None:
        super().__init__(window, tab)
        gui = self._gui
        self._choice = gui.add_dropdown(
            "catalogue", (*robot_names(), OTHER), initial_value=self._name()
        )
        self._choice.on_update(window.guarded(self._choose))
        hint = "YAML, as `deltadyn robots` prints"
        window.upload_button("Upload a robot file", self._upload, hint=hint)
        self._about = gui.add_html("")
        self._numbers: dict[str, Any] = {}
        self._labels: list[str] = []
        self._folders: list[Any] = []
        self._apply_button = window.button("Apply the changes", self._apply)
        self._undo_button = window.button("Take back all changes", self._undo, color="gray")
        with gui.add_folder("Compare"):
            self._before = gui.add_checkbox("show the robot before", False)
            self._before.on_update(window.guarded(lambda _: window.set_before(self._before.value)))
            self._table = gui.add_html("")
        window.button("Download the robot file", self._download)

    def refresh(self) -> None:
        """Show the session's robot."""
        session = self.window.session
        self._choice.value = self._name()
        robot = session.robot
        first = robot.description.split("\n")[0].strip()
        self._about.content = paragraph(f"{robot.name}: {robot.dof} DOF. {first}")
        self._fill()
        self._table.content = self._comparison()

    def _name(self) -> str:
        name = self.window.session.reference.name
        return name if name in robot_names() else OTHER

    def _fill(self) -> None:
        """One field per number; the fields are made anew where the robot has others."""
        robot = self.window.session.robot
        wanted = {
            key: entry for key, entry in entries(robot).items() if entry.shown(robot) is not None
        }
        if [entry.label for entry in wanted.values()] != self._labels:
            self._make(wanted)
        for key, entry in wanted.items():
            self._numbers[key].value = _rounded(entry.shown(robot))
        changed = robot != self.window.session.reference
        self._apply_button.disabled = True
        self._undo_button.disabled = self._before.disabled = not changed

    def _make(self, wanted: Mapping[str, Entry]) -> None:
        """The fields, in a folder per group; the lengths are open."""
        gui = self._gui
        for folder in self._folders:
            folder.remove()
        self._folders, self._numbers = [], {}
        self._labels = [entry.label for entry in wanted.values()]
        for k, group in enumerate((LENGTHS, BODIES, DRIVES)):
            order = self._about.order + 0.1 * (k + 1)
            with self._tab:
                folder = gui.add_folder(group, order=order, expand_by_default=group == LENGTHS)
            self._folders.append(folder)
            with folder:
                for key, entry in wanted.items():
                    if entry.group != group:
                        continue
                    low = None if entry.signed else 0.0
                    made = gui.add_number(entry.label, 0.0, min=low, step=_step(entry.label))
                    made.on_update(self.window.guarded(self._touched))
                    self._numbers[key] = made

    def _touched(self, _event: Any) -> None:
        self._apply_button.disabled = not self._values()

    def _values(self) -> dict[str, float]:
        """The numbers that differ from the robot's; what was not touched stays exact."""
        robot = self.window.session.robot
        known = entries(robot)
        return {
            key: field.value
            for key, field in self._numbers.items()
            if field.value != _rounded(known[key].shown(robot))
        }

    def _comparison(self) -> str:
        session = self.window.session
        rows = differences(session.reference, session.robot)
        if session.reference == session.robot:
            return paragraph("Change a number to compare the robot with itself before.")
        told = table(("number", "before", "now", "change"), rows, "What differs") if rows else ""
        if not rows:
            told = paragraph("Parameters differ that have no field above, e.g. ripple.")
        if session.track is None:
            return told + paragraph("Choose a motion in the tab Motion to compare torques.")
        try:
            torques = torque_rows(session.reference, session.robot, session.track.motion)
        except DeltadynError as error:
            return told + message_box("warning", str(error))
        head = ("axis", "peak before", "peak now", "RMS before", "RMS now")
        unit = session.robot.axis_unit("tau")
        return told + table(head, torques, f"Torque on {session.track.name!r} ({unit})")

    def _choose(self, _event: Any) -> None:
        name = self._choice.value
        if name == OTHER:
            self._choice.value = self._name()
            return
        self.window.motion_tab.pause()
        self.window.session.choose(name)
        self.window.say("")
        self.window.robot_changed(new=True)

    def _upload(self, upload: Upload) -> None:
        self.window.motion_tab.pause()
        self.window.session.upload_robot(upload)
        self.window.say(f"{upload.shown}: the robot {self.window.session.robot.name!r}", "good")
        self.window.robot_changed(new=True)

    def _apply(self, _event: Any) -> None:
        values = self._values()
        if not values:
            self.window.say("no number was changed")
            return
        self.window.session.edit(values)
        self._changed(f"{len(values)} number{'s' * (len(values) > 1)} changed")

    def _undo(self, _event: Any) -> None:
        self.window.session.undo()
        self._changed("")

    def _changed(self, text: str) -> None:
        """Show the changed robot, and say where its motion had to go."""
        self.window.robot_changed()
        notice = self.window.session.notice
        self.window.say(notice or text, "warning" if notice else "good")

    def _download(self, _event: Any) -> None:
        robot = self.window.session.robot
        self.window.send(f"{file_stem(robot)}.yaml", robot_bytes(robot))


def _rounded(value: float | None) -> float:
    return float(f"{value or 0.0:.6g}")


def _step(label: str) -> float:
    return 0.1 if "(mm)" in label or "(%)" in label or "gear" in label else 0.001
