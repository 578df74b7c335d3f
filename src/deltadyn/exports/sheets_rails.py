"""Sheets of robots on vertical rails and in a plane: printers' firmwares, CODESYS, TwinCAT.

A printer's firmware knows a tower by the place (x, y) of its carriage's joint less that of the
platform's, a rod, and how high the carriage is above the bed where its end stop switches:

    H = z + sqrt(l2^2 - (x - x_t)^2 - (y - y_t)^2)

which is q + rail_height of this project, less the height of the bed. What homes a printer follows
from the carriages' highest positions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.exports.common import filled, working_height
from deltadyn.exports.sheets import (
    EQUAL,
    MM,
    UNVERIFIED,
    NotExpressibleError,
    Parameter,
    Sheet,
    head,
    one_length,
    table,
)
from deltadyn.kinematics.actuation import actuation
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.robot import Robot

TOWERS = (210.0, 330.0, 90.0)  # deg, of the towers A, B, C (X, Y, Z) of Marlin and RepRapFirmware
NO_STOPS = "limits.position_max of the robot file is not given"


@dataclass(frozen=True, eq=False)
class Towers:
    """Towers in the order of a firmware, in mm: azimuth (deg), radius, rod, height of the stop.

    `order` names our limbs, `turn` (deg) is what our frame is turned by about z, `bed` (mm) the
    height of the firmware's z = 0 in our frame; `stops` are heights of the carriages above it.
    """

    order: tuple[int, int, int]
    turn: float
    bed: float
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
    _refuse_leaning(robot)
    places = np.array([frame.shoulder for frame in robot.geometry.frames]) * MM
    azimuth = np.degrees(np.arctan2(places[:, 1], places[:, 0]))
    order, turn = (0, 1, 2), 0.0
    if turned:
        ahead = [(azimuth[i] - azimuth[0]) % 360.0 for i in (1, 2)]
        order = (0, 1, 2) if ahead[0] < ahead[1] else (0, 2, 1)  # counter-clockwise
        turn = math.remainder(TOWERS[0] - azimuth[0], 360.0)
    rows = list(order)
    azimuth = np.remainder(azimuth[rows] + turn, 360.0)
    top, bed = robot.limits.angle_max, _bed(robot)
    stops = None
    if top is not None:
        stops = np.array(top[:3])[rows] * MM + places[rows, 2] - bed
    rod = np.array(robot.geometry.strut_length)[rows] * MM
    radius = np.hypot(places[rows, 0], places[rows, 1])
    return Towers(order, turn, bed, azimuth, radius, rod, stops)


def _refuse_leaning(robot: Robot) -> None:
    if actuation(robot) != "vertical":
        shown = ", ".join(f"{math.degrees(x):g}" for x in robot.geometry.rail_pitch)  # type: ignore[union-attr]
        raise NotExpressibleError(
            f"geometry.rail_pitch is [{shown}] deg, and this firmware has vertical towers alone"
        )


def _bed(robot: Robot) -> float:
    """Height of the bed in our frame (mm): the bottom of the workspace."""
    space = robot.limits.workspace
    if space is None:
        raise NotExpressibleError(
            "limits.workspace is not given, and its z_min is where the bed is taken to be"
        )
    return space.z_min * MM


def _points(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """A point on the axis and two beside it (3, 3) in mm, and q (3, 3) in mm."""
    z, space = working_height(robot), robot.limits.workspace
    aside = round(robot.geometry.size / 4 if space is None else space.radius / 2, 3)
    points = np.array([(0.0, 0.0, z), (aside, 0.0, z), (0.0, aside, z)])
    q = inverse_kinematics(robot, points, unreachable="nan")
    if not np.isfinite(q).all():
        raise NotExpressibleError(f"the check points at z = {z:g} m are out of reach")
    return points * MM, np.asarray(q) * MM


def _check(robot: Robot, towers: Towers) -> list[str]:
    """Our point and positions, the firmware's point and the heights of its carriages."""
    ours, q = _points(robot)
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
        f"p_firmware = Rz({towers.turn:.6g} deg) p + (0, 0, {-towers.bed:.9g} mm); the bed lies at "
        f"z = {towers.bed:.9g} mm of our frame, the bottom of limits.workspace",
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


def _written(robot: Robot, title: str, source: str, mark: str, towers: Towers, body: str) -> str:
    """A file of a firmware: comment, then its lines."""
    words = {
        "head": "\n".join(head(robot, title)),
        "source": source,
        "frame": "\n".join(_frame_lines(towers)),
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
    lines = ["[printer]", "kinematics: delta", f"delta_radius: {radius:.6f}"]
    lines.append("minimum_z_position: 0")
    for k, name in enumerate("abc"):
        lines += ["", f"[stepper_{name}]", f"arm_length: {towers.rod[k]:.6f}"]
        lines.append(f"angle: {towers.azimuth[k]:.6f}")
        stop = f"# position_endstop: left out, {NO_STOPS}"
        if towers.stops is not None:
            stop = f"position_endstop: {towers.height[k]:.6f}"
        lines.append(stop)
        if travel is not None:
            lines.append(f"rotation_distance: {travel[k]:.6f}")
    source = "klippy/kinematics/delta.py and the configuration reference of Klipper"
    body = "\n".join(lines)
    text = _written(robot, "Klipper, kinematics delta", source, "#", towers, body)
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
    trims = [math.remainder(a - b, 360.0) for a, b in zip(towers.azimuth, TOWERS, strict=True)]
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
    source = "Marlin/src/module/delta.cpp, delta.h, M665.cpp and M666.cpp of Marlin"
    text = _written(robot, "Marlin, DELTA", source, "//", towers, "\n".join(lines))
    return Sheet("marlin-delta.h", text, "lines for Configuration.h: geometry and homing, mm")


def _braces(values: Sequence[float] | FloatArray) -> str:
    return "{ " + ", ".join(f"{float(x) + 0.0:.6f}" for x in values) + " }"


def reprap(robot: Robot) -> Sheet:
    """M665 and M666 of RepRapFirmware's linear delta."""
    towers = towers_of(robot, turned=True)
    radius = _one("the towers' distance from the axis", towers.radius, "M665 has one R")
    trims = [math.remainder(a - b, 360.0) for a, b in zip(towers.azimuth, TOWERS, strict=True)]
    space = robot.limits.workspace
    assert space is not None
    rods = ":".join(f"{x:.6f}" for x in towers.rod)
    angles = " ".join(f"{name}{x + 0.0:.6f}" for name, x in zip("XYZ", trims, strict=True))
    place = f"B{space.radius * MM:.6f} {angles}"
    if towers.stops is None:
        body = f"M665 L{rods} R{radius:.6f} {place}\n; H and M666: left out, {NO_STOPS}"
    else:
        height = float(towers.height.mean())
        stops = " ".join(
            f"{name}{x:.6f}" for name, x in zip("XYZ", towers.height - height, strict=True)
        )
        body = f"M665 L{rods} R{radius:.6f} H{height:.6f} {place}\nM666 {stops}"
    source = "src/Movement/Kinematics/LinearDeltaKinematics.cpp of RepRapFirmware"
    text = _written(robot, "RepRapFirmware, linear delta", source, ";", towers, body)
    return Sheet("reprapfirmware-delta.g", text, "M665 and M666 for config.g: geometry and homing")


# Controllers: what their public pages say, and what stays to be checked on the machine.


def codesys_linear(robot: Robot) -> Sheet:
    """The inputs of Kin_Tripod_Linear, as a declaration."""
    g = robot.geometry
    if actuation(robot) != "vertical":
        shown = ", ".join(f"{math.degrees(x):g}" for x in g.rail_pitch)  # type: ignore[union-attr]
        raise NotExpressibleError(
            f"geometry.rail_pitch is [{shown}] deg, and the public page does not say to which "
            "side dAxisAngle leans"
        )
    if g.rod_spacing is None:
        raise NotExpressibleError("geometry.rod_spacing is not given, and dDistance needs it")
    _thirds(robot)
    _level(robot)
    rows = [
        Parameter("dOuterRadius", one_length(robot, "base_radius") * MM, "mm", "base_radius R"),
        Parameter("dInnerRadius", one_length(robot, "platform_radius") * MM, "mm", "platform r_p"),
        Parameter("dLength", one_length(robot, "strut_length") * MM, "mm", "strut_length l2"),
        Parameter("dDistance", g.rod_spacing * MM, "mm", "rod_spacing: between a pair's rods"),
        Parameter("dAxisAngle", 0.0, "deg", "rails are vertical"),
    ]
    lines = _controller(
        robot,
        "CODESYS SoftMotion, TRAFO.Kin_Tripod_Linear: geometry of the robot",
        "codesys_linear.txt",
        rows,
        -1.0,
    )
    comment = "\n".join(f"  {line}".rstrip() for line in lines)
    fields = ",\n".join(f"    {row.name} := {_real(row.text)}" for row in rows)
    body = f"VAR_GLOBAL\n  kinematics : TRAFO.Kin_Tripod_Linear := (\n{fields});\nEND_VAR\n"
    text = f"(*\n{comment}\n*)\n{body}"
    return Sheet("codesys-kin-tripod-linear.st", text, "declaration of Kin_Tripod_Linear, mm")


def twincat_tripod(robot: Robot) -> Sheet:
    """The table of 3D-Tripod Type 1 (P_3Z)."""
    if actuation(robot) != "vertical":
        _refuse_leaning(robot)
    _level(robot)
    rod = one_length(robot, "strut_length") * MM
    plate = one_length(robot, "platform_radius") * MM
    rows = [Parameter("Arm length", rod, "mm", "strut_length l2")]
    g = robot.geometry
    for i in range(3):
        c, s = math.cos(g.azimuth[i]), math.sin(g.azimuth[i])
        x, y = g.frames[i].shoulder[:2]
        for name, value in (
            ("X", x + g.platform_radius[i] * c),
            ("Y", y + g.platform_radius[i] * s),
        ):
            text = f"of the carriage's joint, limb {i + 1}"
            rows.append(Parameter(f"Rail {i + 1} {name}-position", value * MM, "mm", text))
    rows.append(Parameter("TCP displacement", plate, "mm", "platform_radius r_p"))
    lines = _controller(
        robot,
        "TwinCAT 3 Kinematic Transformation, 3D-Tripod Type 1 (P_3Z)",
        "twincat_tripod.txt",
        rows,
        1.0,
    )
    text = "\n".join(lines) + "\n"
    return Sheet("twincat-3d-tripod-type-1.txt", text, "3D-Tripod Type 1 (P_3Z), mm")


def twincat_planar(robot: Robot) -> Sheet:
    """The table of 2D-Kinematics Type 2 (P_2C2) for two arms in a plane."""
    g = robot.rotary
    if not g.standard or max(abs(math.sin(a)) for a in g.azimuth) > EQUAL:
        raise NotExpressibleError("the arms do not stand as at 0 and 180 deg without offsets")
    rows = [
        Parameter("Inner arm length", one_length(robot, "arm_length") * MM, "mm", "arm_length l1"),
        Parameter("Outer arm length", one_length(robot, "strut_length") * MM, "mm", "strut l2"),
        Parameter("Displacement", one_length(robot, "base_radius") * MM, "mm", "base_radius R"),
        Parameter(
            "TCP link distance",
            2 * one_length(robot, "platform_radius") * MM,
            "mm",
            "2 r_p: between the outer arms' pivots on the platform",
        ),
    ]
    z, space = working_height(robot), robot.limits.workspace
    aside = round(g.size / 4 if space is None else space.radius / 2, 3)
    points = np.array([(0.0, z), (aside, z), (-aside, z)])
    q = np.degrees(np.asarray(inverse_kinematics(robot, points, unreachable="nan")))
    if not np.isfinite(q).all():
        raise NotExpressibleError(f"the check points at z = {z:g} m are out of reach")
    check = ["   x, z (mm)                 q1, q2 (deg)"]
    for point, angles in zip(points * MM, q, strict=True):
        left = ", ".join(f"{x:.4f}" for x in point)
        check.append(f"   {left:>22}    " + ", ".join(f"{x:.6f}" for x in angles))
    title = "TwinCAT 3 Kinematic Transformation, 2D-Kinematics Type 2 (P_2C2)"
    words = {
        "head": "\n".join(head(robot, title)),
        "table": "\n".join(table(rows)),
        "check": "\n".join(check),
        "unverified": UNVERIFIED,
    }
    text = filled("sheets", "twincat_planar.txt", words)
    return Sheet("twincat-2d-kinematics-type-2.txt", text, "2D-Kinematics Type 2 (P_2C2), mm, deg")


def _level(robot: Robot) -> None:
    """The rails' points of q = 0 lie in the plane of our origin."""
    heights = [frame.shoulder[2] for frame in robot.geometry.frames]
    if max(abs(x) for x in heights) > EQUAL:
        shown = ", ".join(f"{x:g}" for x in heights)
        raise NotExpressibleError(
            f"geometry.rail_height is [{shown}] m, and this transformation counts all axes from "
            "one plane: give rails that begin at 0"
        )


def _thirds(robot: Robot) -> None:
    azimuth = [math.degrees(a) for a in robot.geometry.azimuth]
    steps = [abs(math.remainder(a - azimuth[0], 360.0)) for a in azimuth[1:]]
    if max(abs(step - 120.0) for step in steps) > 1e-7:
        shown = ", ".join(f"{a:g}" for a in azimuth)
        raise NotExpressibleError(
            f"geometry.azimuth is [{shown}] deg, and this transformation has its axes 120 deg apart"
        )


def _controller(
    robot: Robot, title: str, name: str, rows: Sequence[Parameter], sign: float
) -> list[str]:
    """The lines of a controller's sheet; its axes count `sign` times q."""
    ours, q = _points(robot)
    check = [f"{'x, y, z (mm)':>34}   axes 1, 2, 3 (mm)"]
    for point, joints in zip(ours, sign * q, strict=True):
        left = ", ".join(f"{x + 0.0:.4f}" for x in point)
        check.append(f"{left:>34}   " + ", ".join(f"{x + 0.0:.6f}" for x in joints))
    words = {
        "head": "\n".join(head(robot, title)),
        "table": "\n".join(table(rows)),
        "check": "\n".join(check),
        "unverified": UNVERIFIED,
    }
    return [line.rstrip() for line in filled("sheets", name, words).splitlines()]


def _real(text: str) -> str:
    """A literal of type LREAL."""
    return text if "." in text or "e" in text else f"{text}.0"
