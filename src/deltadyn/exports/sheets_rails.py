"""Sheets of robots on vertical rails and in a plane: CODESYS, TwinCAT.

What their public pages say, and what stays to be checked on the machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

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
    refuse_leaning,
    spots,
    table,
)
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.robot import Robot


def codesys_linear(robot: Robot) -> Sheet:
    """The inputs of Kin_Tripod_Linear, as a declaration."""
    g = robot.geometry
    refuse_leaning(robot, "the public page does not say to which side dAxisAngle leans")
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
    refuse_leaning(robot, "this transformation has vertical rails alone")
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
    ours, q = (values * MM for values in spots(robot))
    check = [f"{'x, y, z (mm)':>34}   axes 1, 2, 3 (mm)"]
    for point, joints in zip(ours, sign * q, strict=True):
        left = ", ".join(f"{x + 0.0:.4f}" for x in point)
        check.append(f"{left:>34}   " + ", ".join(f"{x + 0.0:.6f}" for x in joints))
    if robot.dof == 4:
        check += ["", "psi: an axis of its own in deg beside this transformation, which has three"]
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
