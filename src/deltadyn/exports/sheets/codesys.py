"""Sheet for CODESYS SoftMotion: the inputs of Kin_Tripod_Rotary, as a declaration."""

from __future__ import annotations

import math

from deltadyn.exports.sheets.common import (
    MM,
    UNVERIFIED,
    NotExpressibleError,
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

NAME = "codesys-kin-tripod-rotary.st"
SOURCE = "CODESYS online help, library SM3_Transformation, page 'Kin_Tripod_Rotary (FB)'"


def codesys(robot: Robot) -> Sheet:
    """The declaration with its comment."""
    rows = parameters(robot)
    layout = symmetric_layout(robot, math.pi, height_at_zero(robot))
    points = check_points(robot, layout)
    comment = [
        *head(robot, "CODESYS SoftMotion, TRAFO.Kin_Tripod_Rotary: geometry of the robot"),
        f"source of names and frame: {SOURCE}",
        "",
        *table(rows),
        "",
        "Frame",
        "Origin: the middle of the tool plate with all three arms horizontal, so z is counted",
        "from there and not from the shoulders. z points from the tool plate towards the motors.",
        "x points away from point P of axis A0, so arm A0 stands at 180 deg. Axis values in",
        "degrees.",
        *frame_lines(robot, layout),
        f"{UNVERIFIED}: dStewartRadius as the circle through the six rod ends.",
        f"{UNVERIFIED} (its text leaves them to a picture): that a positive angle",
        "lowers the arm, and that A1 follows A0 counter-clockwise seen from above. The check below",
        "shows both: if the z of the first point has the other sign, turn the sign of all",
        "axes; if x, y of the others do not agree, exchange A1 and A2.",
        "",
        "Drives",
        *drive_lines(robot, layout),
        *_fourth(robot),
        "",
        "Check: AxesToCartesian of these angles must give these points",
        *check_table(points, ("A0", "A1", "A2")),
    ]
    fields = ",\n".join(f"    {row.name} := {_real(row.text)}" for row in rows)
    body = f"VAR_GLOBAL\n  kinematics : TRAFO.Kin_Tripod_Rotary := (\n{fields});\nEND_VAR\n"
    text = "(*\n" + "\n".join(f"  {line}".rstrip() for line in comment) + f"\n*)\n{body}"
    return Sheet(NAME, text, "declaration of Kin_Tripod_Rotary, mm and deg")


def parameters(robot: Robot) -> list[Parameter]:
    """The inputs of the block; the tool plate's circle goes through the six rod ends."""
    g = robot.geometry
    if g.rod_spacing is None:
        raise NotExpressibleError(
            "geometry.rod_spacing is not given, and dStewartRadius and dDistance need it"
        )
    radius = three_equal(g.platform_radius, "geometry.platform_radius")
    tilt = robot.limits.ball_joint_angle
    degrees = 45.0 if tilt is None else math.degrees(tilt)
    said = "the block's default: the file has none" if tilt is None else "limits.ball_joint_angle"
    base = three_equal(g.base_radius, "geometry.base_radius")
    l1 = three_equal(g.arm_length, "geometry.arm_length")
    l2 = three_equal(g.strut_length, "geometry.strut_length")
    circle = math.hypot(radius, g.rod_spacing / 2)
    return [
        Parameter("dArmLength1", l1 * MM, "mm", "arm_length l1"),
        Parameter("dArmLength2", l2 * MM, "mm", "strut_length l2"),
        Parameter("dArm1Radius", base * MM, "mm", "base_radius R: to the points P of the drives"),
        Parameter(
            "dStewartRadius",
            circle * MM,
            "mm",
            "sqrt(r_p^2 + (rod_spacing / 2)^2), see below",
        ),
        Parameter("dDistance", g.rod_spacing * MM, "mm", "rod_spacing: between a pair's rods"),
        Parameter("dMaxAngleBallJoint", degrees, "deg", said),
    ]


def height_at_zero(robot: Robot) -> float:
    """How far the platform hangs below the shoulders with all arms horizontal (m)."""
    g = robot.geometry
    reach = g.shrunk_radius[0] + g.arm_length[0]
    if g.strut_length[0] <= abs(reach):
        raise NotExpressibleError(
            f"with horizontal arms the loops do not close (R - r_p + l1 = {reach:g} m, l2 = "
            f"{g.strut_length[0]:g} m), and this transformation has its origin there"
        )
    return math.sqrt(g.strut_length[0] ** 2 - reach**2)


def _fourth(robot: Robot) -> list[str]:
    if robot.dof == 3:
        return []
    return [
        "  psi: couple TRAFO.Kin_CAxis as orientation kinematics, psi in deg is its C axis",
        f"  {UNVERIFIED}: the name and use of Kin_CAxis",
    ]


def _real(text: str) -> str:
    """A literal of type LREAL."""
    return text if "." in text or "e" in text else f"{text}.0"
