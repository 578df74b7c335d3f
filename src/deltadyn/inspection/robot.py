"""A robot before anything is fitted: the errors of its file, and numbers that its engineer knows.

A number in the wrong unit or at the wrong side of a gear makes a file that loads and is nonsense.
What follows from the file shows it: rotors that are nothing beside the arms, a reach of 6 m, a
torque of 4000 N m for a pick.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import equations_of_motion
from deltadyn.errors import DeltadynError, OldFileWarning, RobotFileError
from deltadyn.kinematics import State
from deltadyn.kinematics.platform import telescope
from deltadyn.kinematics.workspace import (
    SINGULARITY_MARGIN,
    WorkspaceBoundary,
    WorkspaceRules,
    cylinder_inside,
    workspace,
)
from deltadyn.motion.scenarios import adept_cycle
from deltadyn.recording.checks.findings import SEVERITIES, Finding
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import Workspace
from deltadyn.sizing.loads import MotionLoads, motion_loads

HEIGHTS, AZIMUTHS = 49, 60  # of the boundary of the workspace: within 2 % of a fine one
USUAL_CYCLES = 60.0  # per minute: a pace that every robot keeps with its full payload
SAMPLES = 500.0  # Hz of the Adept cycle
LITTLE, MOST = 0.02, 0.95  # share of the rotors in the inertia that a drive moves
#: The smallest and the largest of the catalogue, in m: what is beyond them, or a few times larger,
#: is mostly in another unit.
SMALLEST_M = {"geometry.arm_length": 0.12, "geometry.strut_length": 0.215, "reach": 0.052}
LARGEST_M = {"geometry.arm_length": 0.62, "geometry.strut_length": 1.106, "reach": 0.978}
TIMES_LARGEST = 3.0  # what a robot may be larger than the catalogue's
MARGIN = WorkspaceRules(singularity=SINGULARITY_MARGIN)

#: Every kind of finding about a robot: severity, and what to do.
KINDS = {
    "file": ("error", "Correct the line; docs/robot-file.md says what every field means."),
    "old file": ("warning", "Save it again with `robot.save`, or add the line."),
    "empty workspace": ("error", "Check the lengths, the angle limits and their units."),
    "short spindle": (
        "error",
        "Check the lengths of spindle.upper and spindle.lower, and the heights of its joints.",
    ),
    "size": ("warning", "Check the unit in the name of the field: _mm or _m."),
    "radii": ("warning", "Check whether base_radius and platform_radius are swapped."),
    "gear ratio": (
        "warning",
        "Give turns of the motor per turn of the output: 20 for a gear of 1:20.",
    ),
    "workspace": ("warning", "Check limits.workspace and the lengths in geometry."),
    "holding torque": ("error", "Check masses and their units, or the limits on torque."),
    "torque limits": (
        "warning",
        "Check masses, rotor inertia and its side, and the limits on torque: at the output of the "
        "gear.",
    ),
    "rotor share": (
        "warning",
        "Check rotor_inertia, its unit and rotor_side: rotors are usually 10 to 70 % of what a "
        "drive accelerates.",
    ),
    "no rotor inertia": ("info", "Give drives.rotor_inertia from the motor's data sheet."),
    "no friction": ("info", "Identify it, or give `friction:`; sizing goes without until then."),
    "no effect": ("info", "Leave it out, or give the platform or the spindle that turns it."),
    "no torque limit": (
        "info",
        "Give it at the output of the gear, so that saturation and sizing can be judged.",
    ),
}


@dataclass(frozen=True)
class Number:
    """A number that follows from a robot file: its name, values (one, or one per axis), unit."""

    key: str  # of the JSON, with the unit
    name: str
    values: tuple[float, ...]
    unit: str
    note: str = ""

    def __str__(self) -> str:
        shown = [f"{value:.4g}" for value in self.values]
        return f"{', '.join(shown if len(set(shown)) > 1 else shown[:1])} {self.unit}"


@dataclass(frozen=True, eq=False)
class RobotCheck:
    """What a robot file says, before anything is fitted.

    `robot` is None where the file cannot be read; its errors are among the findings. `boundary` is
    the natural workspace, which arms, joints and spindle allow; `cycle` are the loads of an Adept
    cycle.
    """

    source: str
    robot: Robot | None
    findings: tuple[Finding, ...]
    numbers: tuple[Number, ...] = ()
    boundary: WorkspaceBoundary | None = None
    largest: Workspace | None = None
    cycle: MotionLoads | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing of severity "error" was found."""
        return not any(item.severity == "error" for item in self.findings)

    def number(self, key: str) -> Number | None:
        """The number of this key."""
        return next((item for item in self.numbers if item.key == key), None)

    @property
    def text(self) -> str:
        """Findings, then the numbers."""
        name = self.source if self.robot is None else self.robot.name
        lines = [f"robot {name}"]
        width = max((len(item.name) for item in self.numbers), default=0)
        for item in self.numbers:
            note = f"  ({item.note})" if item.note else ""
            lines.append(f"  {item.name:<{width}}  {item}{note}")
        told = (item.text if item.kind == "file" else str(item) for item in self.findings)
        return "\n".join([*lines, *(f"  {text}" for text in told)])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "file": self.source,
            "name": None if self.robot is None else self.robot.name,
            "dof": None if self.robot is None else self.robot.dof,
            "ok": self.ok,
            "findings": [finding_dict(item) for item in self.findings],
            "numbers": {item.key: list(item.values) for item in self.numbers},
        }


def by_severity(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Errors first, then warnings, then hints."""
    return tuple(sorted(findings, key=lambda item: SEVERITIES.index(item.severity)))


def finding_dict(finding: Finding) -> dict[str, Any]:
    """A finding for JSON; at most its first rows."""
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        "channel": finding.channel,
        "text": finding.text,
        "advice": finding.advice,
        "count": finding.count,
        "rows": [list(rows) for rows in finding.rows[:20]],
        "value": finding.value,
    }


def check_robot_file(robot: Robot | str | PathLike[str]) -> RobotCheck:
    """The errors of a robot file, or what follows from it.

    A file that does not exist, or is no robot file at all, is an error of the call.
    """
    if isinstance(robot, Robot):
        return _checked(robot, robot.name, ())
    source = Path(fspath(robot)).name
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", OldFileWarning)
            found = load_robot(robot)
    except RobotFileError as error:
        if error.line is None:
            raise
        errors = (error, *error.others)
        return RobotCheck(source, None, tuple(_file_error(item) for item in errors))
    old = tuple(_finding("old file", None, f"{item.message}.") for item in told)
    return _checked(found, source, old)


def _file_error(error: RobotFileError) -> Finding:
    """An error of a robot file; its line is the finding's value."""
    text = f"Line {error.line}: {error.quantity} {error.problem}"
    if "did you mean" not in text:
        text += f"; allowed: {error.allowed}."
    return replace(_finding("file", error.quantity, text), value=error.line)


def _finding(kind: str, field: str | None, text: str) -> Finding:
    severity, advice = KINDS[kind]
    return Finding(kind, severity, field, text, advice)


def _checked(robot: Robot, source: str, findings: tuple[Finding, ...]) -> RobotCheck:
    boundary = workspace(robot, rules=MARGIN, heights=HEIGHTS, azimuths=AZIMUTHS)
    largest = boundary.largest_cylinder()
    found = [*findings, *_file_findings(robot)]
    if largest is None:
        return RobotCheck(source, robot, by_severity([*found, _empty(robot)]), (), boundary)
    found += _workspace_findings(robot)
    reach = float(boundary.radius.max())
    found += _odd_length("reach", reach, reach)
    across, shape = ("half width", "rectangle") if robot.planar else ("radius", "cylinder")
    numbers = [
        Number("reach_m", "reach", (reach,), "m", f"{across}, natural"),
        Number(
            "largest_cylinder_m",
            f"largest {shape}",
            (largest.radius, largest.z_min, largest.z_max),
            "m",
            f"{across}, z from, z to",
        ),
    ]
    cylinder = robot.limits.workspace or largest
    more, told = _middle(robot, cylinder)
    cycle, of_cycle, of_limits = _cycle(robot)
    findings = by_severity([*found, *told, *of_limits])
    return RobotCheck(
        source, robot, findings, (*numbers, *more, *of_cycle), boundary, largest, cycle
    )


def _file_findings(robot: Robot) -> list[Finding]:
    """What the file leaves open."""
    found = []
    if not any(robot.drives.rotor_inertia):
        found.append(_finding("no rotor inertia", None, "The rotors have no inertia."))
    if robot.friction.absent:
        found.append(_finding("no friction", None, "The robot has no friction."))
    found += _without_effect(robot)
    for kind, words in (("peak", "peak"), ("rms", "RMS")):
        if getattr(robot.limits, f"torque_{kind}") is None:
            text = f"The drives have no limit on {words} {_push(robot)}."
            found.append(_finding("no torque limit", f"limits.torque_{kind}", text))
    return [*found, *_odd_sizes(robot), *_odd_ratios(robot)]


def _odd_sizes(robot: Robot) -> list[Finding]:
    """Lengths beyond those of the catalogue, and a platform that is wider than the base."""
    found = []
    for name in ("arm_length", "strut_length"):
        lengths = getattr(robot.geometry, name, None)
        if lengths is not None:
            found += _odd_length(f"geometry.{name}", min(lengths), max(lengths))
    base, platform = robot.geometry.base_radius, robot.geometry.platform_radius
    for axis in [k for k, (a, b) in enumerate(zip(base, platform, strict=True)) if a < b][:1]:
        text = (
            f"base_radius of axis {axis + 1}, {base[axis]:.4g} m, is below its platform_radius, "
            f"{platform[axis]:.4g} m."
        )
        found.append(_finding("radii", "geometry", text))
    return found


def _odd_length(field: str, least: float, most: float) -> list[Finding]:
    """A finding where a length is smaller, or much larger, than all of the catalogue."""
    if least < SMALLEST_M[field]:
        text = f"{field} is {least:.4g} m; the smallest of the catalogue is {SMALLEST_M[field]:g} m"
    elif most > TIMES_LARGEST * LARGEST_M[field]:
        text = f"{field} is {most:.4g} m; the largest of the catalogue is {LARGEST_M[field]:g} m"
    else:
        return []
    return [_finding("size", field, f"{text}.")]


def _odd_ratios(robot: Robot) -> list[Finding]:
    """A gear that makes the output faster than its motor: mostly the ratio of the other side."""
    low = [k for k, ratio in enumerate(robot.drives.gear_ratio) if ratio < 1]
    return [
        _finding(
            "gear ratio",
            "drives.gear_ratio",
            f"gear_ratio of axis {k + 1} is {robot.drives.gear_ratio[k]:.4g}: the motor is slower "
            f"than its output. Did you mean {1 / robot.drives.gear_ratio[k]:.4g}?",
        )
        for k in low[:1]
    ]


def _without_effect(robot: Robot) -> list[Finding]:
    """Where nothing turns, a load acts by its mass alone, wherever it hangs."""
    if robot.turns:
        return []
    told = {
        "effector.com": robot.effector.com,
        "effector.inertia_zz": (robot.effector.inertia_zz,),
        "payload.offset": robot.payload.offset,
        "payload.inertia_zz": (robot.payload.inertia_zz,),
    }
    return [
        _finding("no effect", field, f"{field} does nothing: the platform does not turn.")
        for field, value in told.items()
        if any(value)
    ]


# The workspace: what the limbs allow, what the file states, and the spindle.


def _empty(robot: Robot) -> Finding:
    """Why no point of the axis can be reached: which limit, taken away, would open it."""
    spindle = robot.spindle
    if spindle is not None and spindle.stroke is not None:
        free = workspace(robot, rules=replace(MARGIN, stroke=False), heights=9, azimuths=12)
        if free.heights.size:
            return _short_spindle(robot, _corners(free), "the workspace of the arms")
    for words, rules in (
        ("angle_min and angle_max", replace(MARGIN, angles=False)),
        ("ball_joint_angle", replace(MARGIN, ball_joints=False)),
    ):
        free = workspace(robot, rules=rules, heights=9, azimuths=12)
        if free.heights.size:
            text = f"limits.{words} leave no point below the base that the arms reach."
            return _finding("empty workspace", "limits", text)
    text = "The arms reach no point of the axis below the base."
    return _finding("empty workspace", "geometry", text)


def _corners(boundary: WorkspaceBoundary) -> FloatArray:
    """Points of the boundary and of its axis, (n, 3)."""
    axis = np.zeros((len(boundary.heights), 3))
    axis[:, 2] = boundary.heights
    return np.concatenate([boundary.vertices, axis])


def _short_spindle(robot: Robot, points: FloatArray, where: str) -> Finding:
    spindle = robot.spindle
    assert spindle is not None
    assert spindle.stroke is not None
    x, y, z = points.T
    lengths = telescope(np, spindle.pivot_z, (x, y, z)).l
    low, high = spindle.stroke
    text = (
        f"The telescope can be {low:.4g} to {high:.4g} m long; {where} needs "
        f"{float(lengths.min()):.4g} to {float(lengths.max()):.4g} m."
    )
    return _finding("short spindle", "spindle", text)


def _workspace_findings(robot: Robot) -> list[Finding]:
    stated = robot.limits.workspace
    if stated is None:
        return []
    found = []
    rules = WorkspaceRules(stroke=False)
    inside = cylinder_inside(robot, rules=rules, samples=13)
    if not inside.inside:
        text = f"limits.workspace is larger than what the robot reaches: {inside.status}."
        found.append(_finding("workspace", "limits.workspace", text))
    elif not cylinder_inside(robot, samples=13).inside:  # with the spindle's stroke
        rim = np.array(
            [[r, 0.0, z] for r in (0.0, stated.radius) for z in (stated.z_min, stated.z_max)]
        )
        found.append(_short_spindle(robot, rim, "limits.workspace"))
    return found


# The middle of the workspace: what the drives feel and hold.


def _middle(robot: Robot, cylinder: Workspace) -> tuple[list[Number], list[Finding]]:
    point = np.zeros((1, robot.dof))
    point[0, robot.coordinates.index("z")] = (cylinder.z_min + cylinder.z_max) / 2
    rest = np.zeros_like(point)
    try:
        eom = equations_of_motion(robot, State.from_platform(robot, point, rest, rest))
    except DeltadynError:  # the stated cylinder has no middle within reach
        return [], []
    rotor = np.array(robot.drives.output_inertia)
    whole = np.diagonal(np.asarray(eom.M)[0])
    share = np.divide(rotor, whole, out=np.zeros_like(rotor), where=whole > 0)
    hold = np.asarray(eom.g)[0]
    names = [f"axis {name}" for name in robot.axis_names()]
    inertia, push = robot.axis_unit("inertia").replace("^2", "²"), _push(robot)
    numbers = [
        Number(
            robot.axis_key("rotor_inertia", "inertia"),
            "rotor inertia at the output",
            tuple(rotor),
            inertia,
        ),
        Number(
            "rotor_share",
            "its share of what a drive moves",
            tuple(100 * share),
            "%",
            "in the middle of the workspace",
        ),
        Number(
            robot.axis_key("inertia", "inertia"),
            "inertia that a drive moves",
            tuple(whole),
            inertia,
            "at rest there",
        ),
        Number(
            robot.axis_key("holding_torque", "tau"),
            f"holding {push}",
            tuple(hold),
            robot.axis_unit("tau"),
            "at rest there",
        ),
    ]
    found = []
    arms = slice(robot.legs)  # a spindle's drive turns little beside its rotor
    odd = (rotor > 0) & ((share < LITTLE) | (share > MOST))
    for axis in np.flatnonzero(odd[arms])[:1]:
        ratio = robot.drives.gear_ratio[axis]
        text = (
            f"The rotor of {names[axis]} is {100 * share[axis]:.2g} % of what its drive moves: "
            f"{rotor[axis]:.3g} of {whole[axis]:.3g} {'kg' if robot.linear else 'kg m²'} at the "
            "output"
        )
        if not robot.linear and robot.drives.rotor_side == "output_side" and ratio != 1:
            text += f"; were it given at the motor side, it would be {ratio**2 * rotor[axis]:.3g}"
        found.append(_finding("rotor share", "drives.rotor_inertia", f"{text}."))
    allowed = robot.limits.torque_rms or robot.limits.torque_peak
    if allowed is not None:
        for axis in np.flatnonzero(np.abs(hold) > np.array(allowed))[:1]:
            unit = robot.axis_units("tau")[axis]
            text = (
                f"{names[axis].capitalize()} needs {abs(hold[axis]):.3g} {unit} to hold the "
                f"platform in the middle of the workspace; its limit is {allowed[axis]:.3g} {unit}"
                f"{_other_side(robot, axis, allowed[axis], float(abs(hold[axis])))}."
            )
            found.append(_finding("holding torque", "limits", text))
    return numbers, found


# An Adept cycle against the limits.


def _cycle(robot: Robot) -> tuple[MotionLoads | None, list[Number], list[Finding]]:
    pace = min(USUAL_CYCLES, robot.limits.cycles or USUAL_CYCLES)
    carried = robot.limits.payload or 0.0
    try:
        motion = adept_cycle(robot, cycles_per_minute=pace, rate=SAMPLES)
        loads = motion_loads(robot, motion, payload=carried)
    except DeltadynError:  # the stated workspace is not within reach; that is a finding already
        return None, [], []
    note = f"Adept cycle, {pace:g} a minute, {carried:g} kg"
    numbers = []
    for kind, words in (("peak", "peak"), ("rms", "RMS")):
        values = getattr(loads.drives, f"torque_{kind}")
        allowed = getattr(robot.limits, f"torque_{kind}")
        against = "" if allowed is None else f"; {_use(values, allowed)} of the limit"
        push, unit = _push(robot), robot.axis_unit("tau")
        key = robot.axis_key(f"adept_torque_{kind}", "tau")
        numbers.append(Number(key, f"{push}, {words}", tuple(values), unit, note + against))
    over = [x for x in loads.limits.exceeded if x.name in ("torque_peak", "torque_rms")]
    found = []
    if over:
        worst = max(over, key=lambda limit: limit.use or 0.0)
        values = getattr(loads.drives, worst.name)
        limits = getattr(robot.limits, worst.name)
        axis = int(np.argmax(values / np.array(limits)))
        side = _other_side(robot, axis, limits[axis], float(values[axis]))
        text = f"In an {note}, {worst}{side}."
        found.append(_finding("torque limits", f"limits.{worst.name}", text))
    return loads, numbers, found


def _other_side(robot: Robot, axis: int, limit: float, needed: float) -> str:
    """Words where a limit that is too small would do if it were that of the motor."""
    turns = robot.drives.motor_turns[axis]
    if turns <= 1 or turns * limit < needed:
        return ""
    unit = robot.axis_units("tau")[axis]
    return (
        f"; limits count at the output of the gear: a motor's rated torque of {limit:.3g} N m "
        f"would be {turns * limit:.3g} {unit} there"
    )


def _push(robot: Robot) -> str:
    """What a drive gives: the carriages of a robot on rails feel forces."""
    return "force" if robot.linear else "torque"


def _use(values: FloatArray, allowed: Any) -> str:
    return f"{100 * float(np.max(values / np.array(allowed))):.0f} %"
