"""Sheet for rotarydeltakins of LinuxCNC: a HAL file with its four lengths."""

from __future__ import annotations

import math

from deltadyn.errors import UnknownNameError
from deltadyn.exports.sheets.common import (
    Parameter,
    Sheet,
    check_points,
    check_table,
    drive_lines,
    frame_lines,
    head,
    symmetric_layout,
    table,
    three_equal,
)
from deltadyn.robot import Robot

NAME = "linuxcnc-rotarydeltakins.hal"
FIRST = -math.pi / 2  # joint 0 swings in the YZ plane, its knee at negative y
UNITS = {"mm": 1e3, "inch": 1 / 0.0254}  # in a metre
SOURCE = "LinuxCNC, src/emc/kinematics/rotarydeltakins.c and rotarydeltakins-common.h"


def linuxcnc(robot: Robot, linear_units: str) -> Sheet:
    """The HAL file, in the machine's linear units."""
    if linear_units not in UNITS:
        raise UnknownNameError("linear_units", linear_units, UNITS)
    g, scale = robot.geometry, UNITS[linear_units]
    rows = [
        Parameter(
            f"rotarydeltakins.{name}", three_equal(lengths, path) * scale, linear_units, meaning
        )
        for name, lengths, path, meaning in (
            ("platformradius", g.base_radius, "geometry.base_radius", "base_radius R: to a hip"),
            ("thighlength", g.arm_length, "geometry.arm_length", "arm_length l1: hip to knee"),
            ("shinlength", g.strut_length, "geometry.strut_length", "strut_length l2"),
            ("footradius", g.platform_radius, "geometry.platform_radius", "platform_radius r_p"),
        )
    ]
    layout = symmetric_layout(robot, FIRST)
    points = check_points(robot, layout)
    comment = [
        *head(robot, "LinuxCNC rotarydeltakins: geometry of the robot"),
        f"source of names and frame: {SOURCE}",
        "",
        *table(rows),
        "",
        "Frame",
        "As here: z up, origin in the plane of the hips (shoulders), z negative at work; hip",
        "angles in degrees, 0 = thigh straight out, positive = knee downward. The controlled point",
        "is the middle of the foot (platform) in the plane of its joints; a tool goes into the",
        "tool table.",
        "Not as here: joint 0 stands at -90 deg (negative y), joint 1 at 30, joint 2 at 150 deg.",
        "(An early version of the source had joints 1 and 2 exchanged and z mirrored; this is the",
        "frame of the later ones.)",
        *frame_lines(robot, layout),
        "",
        "Drives (SCALE and HOME_OFFSET of the joints in the INI file)",
        *drive_lines(robot, layout),
        *_fourth(robot),
        "",
        "Check: in world mode, at these points, the joints must show these angles",
        *check_table(points, ("joint 0", "joint 1", "joint 2"), linear_units, scale),
    ]
    text = "\n".join(f"# {line}".rstrip() for line in comment)
    lines = "\n".join(f"setp {row.name} {row.text}" for row in rows)
    text = f"{text}\n\n# after: loadrt rotarydeltakins\n{lines}\n"
    return Sheet(NAME, text, f"setp lines in {linear_units} (option linear_units)")


def _fourth(robot: Robot) -> list[str]:
    if robot.dof == 3:
        return []
    return ["  psi: rotarydeltakins passes ABCUVW through to joints 3 to 8; use C, joint 5, deg"]
