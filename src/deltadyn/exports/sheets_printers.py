"""Sheets of printers' firmwares: Klipper, Marlin and RepRapFirmware, for towers and for arms.

A firmware knows a tower by the place (x, y) of its carriage's joint less that of the platform's, a
rod, and how high the carriage is above the bed where its end stop switches:

    H = z + sqrt(l2^2 - (x - x_t)^2 - (y - y_t)^2)

which is q + rail_height of this project, less the height of the bed. What homes a printer follows
from the carriages' highest positions.

An arm it knows by its shoulder, likewise less the platform's joint, two lengths and an angle theta
that counts from the horizontal upward, so theta = -q: the elbow stands at

    (r + l1 cos theta) outward,    h + l1 sin theta above the bed

and homes where the arm is highest, at the least q.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.exports.common import filled
from deltadyn.exports.sheets import (
    EQUAL,
    MM,
    Draft,
    Layout,
    NotExpressibleError,
    Parameter,
    Sheet,
    head,
    one_length,
    refuse_leaning,
    spots,
)
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.robot import Robot

PLACES = (210.0, 330.0, 90.0)  # deg, of the towers or arms A, B, C of Marlin and RepRapFirmware
NO_STOPS = "limits.position_max of the robot file is not given"
NO_ARM_STOPS = "limits.angle_min of the robot file is not given"
KLIPPER = "Klipper v0.13.0-730-g84104bb"
MARLIN = "Marlin 2.1.2.4"
REPRAP = "RepRapFirmware 3.5.3"
KLIPPER_FOURTH = "psi is no axis of Klipper's kinematics; a [manual_stepper] moves it on its own"
MARLIN_FOURTH = "psi is a rotational axis of its own (I_DRIVER_TYPE, AXIS4_ROTATES), in deg"
REPRAP_FOURTH = "psi is an axis of its own (M584 with R1), in deg, which is passed on as it is"


@dataclass(frozen=True, eq=False)
class Towers:
    """Towers in the order of a firmware, in mm: azimuth (deg), radius, rod, height of the stop.

    `order` names our limbs, `turn` (deg) is what our frame is turned by about z, `bed` (mm) the
    height of the firmware's z = 0 in our frame, found `by` what; `stops` are heights of the
    carriages above it.
    Towers run counter-clockwise seen from above: the forward transformations of Klipper and Marlin
    take the lower of their two points by that order.
    """

    order: tuple[int, int, int]
    turn: float
    bed: float
    by: str
    azimuth: FloatArray
    radius: FloatArray
    rod: FloatArray
    stops: FloatArray | None

    @property
    def height(self) -> FloatArray:
        """How high the platform hangs where a carriage alone were at its stop, on the axis (mm)."""
        assert self.stops is not None
        found: FloatArray = self.stops - np.sqrt(self.rod**2 - self.radius**2)
        return found


def towers_of(robot: Robot, *, turned: bool) -> Towers:
    """The towers; `turned` turns the frame so that they stand next to 210, 330 and 90 degrees."""
    refuse_leaning(robot, "this firmware has vertical towers alone")
    places = np.array([frame.shoulder for frame in robot.geometry.frames]) * MM
    azimuth = np.degrees(np.arctan2(places[:, 1], places[:, 0]))
    order, turn = _around(azimuth, turned)
    rows = list(order)
    azimuth = np.remainder(azimuth[rows] + turn, 360.0)
    top, (bed, by) = robot.limits.angle_max, _bed_of_towers(robot)
    stops = None
    if top is not None:
        stops = np.array(top[:3])[rows] * MM + places[rows, 2] - bed
    rod = np.array(robot.geometry.strut_length)[rows] * MM
    radius = np.hypot(places[rows, 0], places[rows, 1])
    return Towers(order, turn, bed, by, azimuth, radius, rod, stops)


def _around(azimuth: FloatArray, turned: bool) -> tuple[tuple[int, int, int], float]:
    """Our limbs counter-clockwise, and the turn (deg) that brings the first to its place."""
    ahead = [(azimuth[i] - azimuth[0]) % 360.0 for i in (1, 2)]
    order = (0, 1, 2) if ahead[0] < ahead[1] else (0, 2, 1)
    return order, math.remainder(PLACES[0] - azimuth[0], 360.0) if turned else 0.0


def _trims(azimuth: FloatArray) -> list[float]:
    """How far (deg) towers or arms stand from 210, 330 and 90 degrees."""
    return [math.remainder(a - b, 360.0) for a, b in zip(azimuth, PLACES, strict=True)]


def _bed(robot: Robot) -> float:
    """Height of the bed in our frame (mm): the bottom of the workspace."""
    space = robot.limits.workspace
    if space is None:
        raise NotExpressibleError(
            "limits.workspace is not given, and its z_min is where the bed is taken to be"
        )
    return space.z_min * MM


def _bed_of_towers(robot: Robot) -> tuple[float, str]:
    """Height of the bed in our frame (mm), and what says so.

    A controller that counts carriages upward from one level counts them from its bed.
    """
    own, lift = robot.controller, np.array([f.shoulder[2] for f in robot.geometry.frames])
    levels = (lift - np.array(own.offset[: robot.legs])) * MM
    upward = all(sign > 0 for sign in own.sign[: robot.legs])
    if upward and any(own.offset[: robot.legs]) and float(np.ptp(levels)) <= EQUAL * MM:
        return float(levels[0]), "where controller.offset counts carriages from"
    return _bed(robot), "the bottom of limits.workspace"


def _check(robot: Robot, towers: Towers) -> list[str]:
    """Our point and positions, the firmware's point and the heights of its carriages."""
    ours, q = (values * MM for values in spots(robot))
    c, s = math.cos(math.radians(towers.turn)), math.sin(math.radians(towers.turn))
    lift = np.array([frame.shoulder[2] for frame in robot.geometry.frames]) * MM
    heights = (q + lift - towers.bed)[:, list(towers.order)]
    lines = [
        f"{'our x, y, z (mm)':>34}   {'our q (mm)':>34}   {'firmware x, y, z (mm)':>34}   "
        "carriages above the bed (mm)"
    ]
    for point, joints, high in zip(ours, q, heights, strict=True):
        theirs = (c * point[0] - s * point[1], s * point[0] + c * point[1], point[2] - towers.bed)
        cells = [", ".join(f"{x + 0.0:.4f}" for x in row) for row in (point, joints, theirs, high)]
        lines.append("   ".join(f"{cell:>34}" for cell in cells))
    return lines


def _frame_lines(towers: Towers) -> list[str]:
    arms = ", ".join(str(i + 1) for i in towers.order)
    return [
        f"p_firmware = Rz({towers.turn:.9g} deg) p + (0, 0, {-towers.bed:.9g} mm); the bed lies at "
        f"z = {towers.bed:.9g} mm of our frame, {towers.by}",
        f"towers in order = our limbs {arms}; lengths in mm, angles in deg from x towards y",
    ]


def _travel(robot: Robot) -> list[float] | None:
    """mm of a carriage in a turn of its motor."""
    drives, gear = robot.drives, robot.drives.gear_ratio
    if drives.lead is not None:
        per_turn = [x * MM for x in drives.lead]
    elif drives.pulley_radius is not None:
        per_turn = [2 * math.pi * x * MM for x in drives.pulley_radius]
    else:
        return None
    return [way / ratio for way, ratio in zip(per_turn, gear, strict=False)]


def _written(
    robot: Robot, title: str, source: str, mark: str, towers: Towers, body: str, fourth: str
) -> str:
    """A file of a firmware: comment, then its lines; `fourth` says where psi goes."""
    words = {
        "head": "\n".join(head(robot, title)),
        "source": source,
        "frame": "\n".join(_frame_lines(towers)),
        "fourth": "" if robot.dof == 3 else f"Axis 4: {fourth}\n",
        "check": "\n".join(_check(robot, towers)),
    }
    comment = filled("sheets", "firmware.txt", words).splitlines()
    return "\n".join([*(f"{mark} {line}".rstrip() for line in comment), "", body]) + "\n"


def klipper(robot: Robot) -> Sheet:
    """[printer] and [stepper_a], [stepper_b], [stepper_c] of Klipper's kinematics delta."""
    towers = towers_of(robot, turned=False)
    radius = _one(
        "the towers' distance from the axis", towers.radius, "Klipper has one delta_radius"
    )
    travel = _travel(robot)
    space = robot.limits.workspace
    assert space is not None
    lines = ["[printer]", "kinematics: delta", f"delta_radius: {radius:.6f}"]
    lines += [f"print_radius: {space.radius * MM:.6f}", "minimum_z_position: 0"]
    for k, name in enumerate("abc"):
        lines += ["", f"[stepper_{name}]", f"arm_length: {towers.rod[k]:.6f}"]
        lines.append(f"angle: {towers.azimuth[k]:.6f}")
        stop = f"# position_endstop: left out, {NO_STOPS}"
        if towers.stops is not None:
            stop = f"position_endstop: {towers.height[k]:.6f}"
        lines.append(stop)
        if travel is not None:
            lines.append(f"rotation_distance: {travel[k]:.6f}")
    source = f"klippy/kinematics/delta.py and the configuration reference of {KLIPPER}"
    body = "\n".join(lines)
    text = _written(robot, "Klipper, kinematics delta", source, "#", towers, body, KLIPPER_FOURTH)
    return Sheet("klipper-delta.cfg", text, "sections for printer.cfg: geometry and homing, mm")


def _one(what: str, values: FloatArray, why: str) -> float:
    if float(np.ptp(values)) > EQUAL * MM:
        shown = ", ".join(f"{x:g}" for x in values)
        raise NotExpressibleError(f"{what} is [{shown}] mm, and {why}")
    return float(values[0])


def marlin(robot: Robot) -> Sheet:
    """The lines of Configuration.h for Marlin's DELTA."""
    towers = towers_of(robot, turned=True)
    radius, rod = float(towers.radius[0]), float(towers.rod[0])
    trims = _trims(towers.azimuth)
    lines = [
        "#define DELTA",
        f"#define DELTA_DIAGONAL_ROD {rod:.6f} // mm",
        f"#define DELTA_RADIUS {radius:.6f} // mm",
        f"#define DELTA_TOWER_ANGLE_TRIM {_braces(trims)} // deg",
        f"#define DELTA_RADIUS_TRIM_TOWER {_braces(towers.radius - radius)} // mm",
        f"#define DELTA_DIAGONAL_ROD_TRIM_TOWER {_braces(towers.rod - rod)} // mm",
    ]
    if towers.stops is None:
        lines.append(f"// DELTA_HEIGHT and DELTA_ENDSTOP_ADJ: left out, {NO_STOPS}")
    else:
        height = float(towers.height.min())  # adjustments are not above 0
        lines += [
            f"#define DELTA_HEIGHT {height:.6f} // mm",
            f"#define DELTA_ENDSTOP_ADJ {_braces(height - towers.height)} // mm",
        ]
    source = f"Marlin/src/module/delta.cpp, delta.h, M665.cpp and M666.cpp of {MARLIN}"
    body = "\n".join(lines)
    text = _written(robot, "Marlin, DELTA", source, "//", towers, body, MARLIN_FOURTH)
    return Sheet("marlin-delta.h", text, "lines for Configuration.h: geometry and homing, mm")


def _braces(values: Sequence[float] | FloatArray) -> str:
    return "{ " + ", ".join(f"{round(float(x), 6) + 0.0:.6f}" for x in values) + " }"


def reprap(robot: Robot) -> Sheet:
    """M665 and M666 of RepRapFirmware's linear delta."""
    towers = towers_of(robot, turned=True)
    radius = _one("the towers' distance from the axis", towers.radius, "M665 has one R")
    trims = _trims(towers.azimuth)
    space = robot.limits.workspace
    assert space is not None
    rods = ":".join(f"{x:.6f}" for x in towers.rod)
    angles = _words(
        {name: [_row(name, x, "deg", "")] for name, x in zip("XYZ", trims, strict=True)}
    )
    place = f"B{space.radius * MM:.6f} {angles}"
    if towers.stops is None:
        body = f"M665 L{rods} R{radius:.6f} {place}\n; H and M666: left out, {NO_STOPS}"
    else:
        height = float(towers.height.mean())
        stops = " ".join(
            f"{name}{x:.6f}" for name, x in zip("XYZ", towers.height - height, strict=True)
        )
        body = f"M665 L{rods} R{radius:.6f} H{height:.6f} {place}\nM666 {stops}"
    source = f"src/Movement/Kinematics/LinearDeltaKinematics.cpp of {REPRAP}"
    text = _written(robot, "RepRapFirmware, linear delta", source, ";", towers, body, REPRAP_FOURTH)
    return Sheet("reprapfirmware-delta.g", text, "M665 and M666 for config.g: geometry and homing")


# Arms.


@dataclass(frozen=True, eq=False)
class Arms:
    """Arms in the order of a firmware, in mm and deg; theta counts upward, `stops` in theta."""

    layout: Layout
    azimuth: FloatArray
    radius: FloatArray  # shrunk: base less platform
    height: FloatArray  # of the shoulders above the bed
    arm: FloatArray
    rod: FloatArray
    stops: FloatArray | None

    @property
    def stop_heights(self) -> FloatArray:
        """z (mm) of the platform on the axis where an arm alone were at its stop."""
        assert self.stops is not None
        theta = np.radians(self.stops)
        out, up = self.arm * np.cos(theta), self.arm * np.sin(theta)
        reach = self.radius + out
        if not np.all(self.rod > np.abs(reach)):
            raise NotExpressibleError(
                f"with arms at {-self.stops.max():g} deg, limits.angle_min, the rods do not reach "
                "the axis, and this firmware counts its end stops there"
            )
        z: FloatArray = self.height + up - np.sqrt(self.rod**2 - reach**2)
        # the elbow is on the outer side of the line from shoulder to platform
        if not (np.all((self.height - z) * out > self.radius * up) and np.all(z > 0)):
            raise NotExpressibleError(
                "limits.angle_min is no place above the bed with its elbows outward, and this "
                "firmware counts its end stops by the platform's height there"
            )
        return z


def arms_of(robot: Robot, *, turned: bool) -> Arms:
    """The arms; `turned` turns the frame so that they stand next to 210, 330 and 90 degrees."""
    g = robot.rotary
    if robot.legs != 3:
        raise NotExpressibleError(f"the robot has {robot.legs} arms, and this firmware has three")
    for name in ("shoulder_tangential", "axis_yaw", "axis_roll"):
        if any(getattr(g, name)):
            raise NotExpressibleError(
                f"geometry.{name} is not 0, and this firmware has no such number"
            )
    azimuth = np.degrees(np.array(g.azimuth))
    order, turn = _around(azimuth, turned)
    rows, bed = list(order), _bed(robot)
    lengths = np.array([g.shrunk_radius, g.shoulder_height, g.arm_length, g.strut_length]) * MM
    radius, height, arm, rod = lengths[:, rows]
    low = robot.limits.angle_min
    stops = None if low is None else -np.degrees(np.array(low[:3])[rows])
    layout = Layout(order, math.radians(turn), -bed / MM)
    place = np.remainder(azimuth[rows] + turn, 360.0)
    return Arms(layout, place, radius, height - bed, arm, rod, stops)


def klipper_rotary(robot: Robot) -> Sheet:
    """[printer] and [stepper_a], [stepper_b], [stepper_c] of Klipper's kinematics rotary_delta."""
    arms = arms_of(robot, turned=False)
    why = "Klipper has one shoulder_radius"
    radius = _one("the shoulders' distance from the axis, less the platform's,", arms.radius, why)
    if radius <= 0:
        raise NotExpressibleError(
            f"base_radius less platform_radius is {radius:g} mm, and shoulder_radius is above 0"
        )
    height = _one("the shoulders' height", arms.height, "Klipper has one shoulder_height")
    sections = {"printer": [_row("shoulder_radius", radius, "mm", "base_radius R less r_p")]}
    sections["printer"].append(
        _row("shoulder_height", height, "mm", "of the shoulders above the bed")
    )
    for k, name in enumerate("abc"):
        i = arms.layout.order[k]
        rows = [
            _row("upper_arm_length", arms.arm[k], "mm", f"arm_length[{i}] l1"),
            _row("lower_arm_length", arms.rod[k], "mm", f"strut_length[{i}] l2"),
            _row("angle", arms.azimuth[k], "deg", f"azimuth[{i}]"),
        ]
        if arms.stops is not None:
            meaning = f"platform on the axis, arm at limits.angle_min[{i}]"
            rows.append(_row("position_endstop", arms.stop_heights[k], "mm", meaning))
        sections[f"stepper_{name}"] = rows
    where = "rotary_delta.py, kin_rotary_delta.c and the configuration reference"
    draft = Draft(
        "klipper_rotary.txt",
        "Klipper, kinematics rotary_delta",
        arms.layout,
        [
            replace(row, name=f"{part}.{row.name}")
            for part, rows in sections.items()
            for row in rows
        ],
        ("stepper_a", "stepper_b", "stepper_c"),
        (f"  {KLIPPER_FOURTH}",),
        sign=-1.0,
        more={"source": [f"{KLIPPER}, {where}"]},
    )
    lines = [f"# {line}".rstrip() for line in draft.lines(robot)]
    for part, rows in sections.items():
        lines += ["", f"[{part}]"]
        if part == "printer":
            lines += ["kinematics: rotary_delta", "minimum_z_position: 0"]
        lines += [f"{row.name}: {_fixed(row)}" for row in rows]
        if part == "printer":
            continue
        if arms.stops is None:
            lines.append(f"# position_endstop: left out, {NO_ARM_STOPS}")
        gear = robot.drives.gear_ratio[arms.layout.order["abc".index(part[-1])]]
        lines.append(f"gear_ratio: {gear:.9g}:1")
    summary = "sections for printer.cfg: geometry and homing, mm, deg"
    return Sheet("klipper-rotary-delta.cfg", "\n".join(lines) + "\n", summary)


def reprap_rotary(robot: Robot) -> Sheet:
    """M669 and M666 of RepRapFirmware's rotary delta."""
    arms = arms_of(robot, turned=True)
    why = "M669 has one R"
    radius = _one("the shoulders' distance from the axis, less the platform's,", arms.radius, why)
    # its forward transformation takes arm A's length for the heights of all three elbows
    arm = one_length(robot, "arm_length") * MM
    _refuse_folded(robot)
    space = robot.limits.workspace
    assert space is not None
    words = {
        "U": [_row("U", arm, "mm", "arm_length l1")],
        "L": [_row(f"L[{k}]", x, "mm", "strut_length l2") for k, x in enumerate(arms.rod)],
        "H": [_row(f"H[{k}]", x, "mm", "shoulder above bed") for k, x in enumerate(arms.height)],
        "R": [_row("R", radius, "mm", "base_radius R less platform_radius")],
        "B": [_row("B", space.radius * MM, "mm", "limits.workspace.radius")],
    }
    for name, trim, place in zip("XYZ", _trims(arms.azimuth), PLACES, strict=True):
        words[name] = [_row(name, trim, "deg", f"azimuth less {place:g} deg")]
    stops: dict[str, list[Parameter]] = {}
    if arms.stops is not None:
        top = float(arms.stops.mean())
        words["A"] = [
            _row("A[0]", _lowest(robot), "deg", "theta at limits.angle_max; told, not kept to"),
            _row("A[1]", top, "deg", "theta at the end stops, the mean of -limits.angle_min"),
        ]
        for name, theta in zip("XYZ", arms.stops, strict=True):
            stops[name] = [_row(f"M666 {name}", theta - top, "deg", "end stop's theta less A[1]")]
    rise = _row("M208 Z", (space.z_max - space.z_min) * MM, "mm", "height of limits.workspace")
    body = [
        f"M669 K10 {_words(words)}",
        f"M666 {_words(stops)}" if stops else f"; A and M666: left out, {NO_ARM_STOPS}",
        f"M208 Z0:{_fixed(rise)}",
    ]
    rows = [row for group in (*words.values(), *stops.values()) for row in group]
    draft = Draft(
        "reprap_rotary.txt",
        "RepRapFirmware, rotary delta",
        arms.layout,
        [*rows, rise],
        ("X", "Y", "Z"),
        (f"  {REPRAP_FOURTH}",),
        sign=-1.0,
        more={
            "source": [f"src/Movement/Kinematics/RotaryDeltaKinematics.cpp of {REPRAP}"],
            "gears": [", ".join(f"{robot.drives.gear_ratio[i]:.9g}" for i in arms.layout.order)],
        },
    )
    lines = [f"; {line}".rstrip() for line in draft.lines(robot)]
    text = "\n".join([*lines, "", *body]) + "\n"
    summary = "M669, M666 and M208 for config.g: geometry and homing, mm, deg"
    return Sheet("reprapfirmware-rotary-delta.g", text, summary)


def _lowest(robot: Robot) -> float:
    """The lowest theta (deg); where no limit is given, straight down."""
    low = robot.limits.angle_max
    return -90.0 if low is None else -math.degrees(max(low[:3]))


def _row(name: str, value: float, unit: str, meaning: str) -> Parameter:
    """A line of a sheet with the digits that its file holds: 6 behind the point."""
    return Parameter(name, round(float(value), 6) + 0.0, unit, meaning)


def _fixed(row: Parameter) -> str:
    """A number without an exponent, whose e were an axis of its own in G-code."""
    return f"{row.value:.6f}"


def _words(rows: Mapping[str, Sequence[Parameter]]) -> str:
    """Words of a line of G-code."""
    return " ".join(name + ":".join(map(_fixed, group)) for name, group in rows.items())


def _refuse_folded(robot: Robot) -> None:
    """Refuse a workspace whose angles leave -90 to 90 degrees: the firmware takes the arc sine."""
    space = robot.limits.workspace
    assert space is not None
    turn = np.linspace(0.0, 2 * math.pi, 72, endpoint=False)
    rim = np.stack([space.radius * np.cos(turn), space.radius * np.sin(turn)], axis=-1)
    p = np.zeros((2 * len(turn), robot.dof))
    p[:, :2] = np.concatenate([rim, rim])
    p[:, 2] = np.repeat([space.z_min, space.z_max], len(turn))
    q = np.degrees(np.asarray(inverse_kinematics(robot, p, unreachable="nan"))[:, :3])
    worst = float(np.nanmax(np.abs(q), initial=0.0))
    if worst > 90.0:
        raise NotExpressibleError(
            f"limits.workspace needs arms at {worst:.1f} deg, and this firmware, which takes an "
            "arc sine, has no angles beyond 90"
        )
