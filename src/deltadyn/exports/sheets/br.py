"""Sheet for B&R mapp Motion: the mechanical system 3-axis (4-axis) Delta A."""

from __future__ import annotations

import math

from deltadyn.exports.sheets.common import (
    MM,
    UNVERIFIED,
    Layout,
    Parameter,
    Sheet,
    check_points,
    check_table,
    drive_lines,
    frame_lines,
    head,
    table,
)
from deltadyn.robot import Robot


def b_and_r(robot: Robot) -> Sheet:
    """The table of parameters; every limb has its own numbers there."""
    axes = robot.dof
    kind = f"McCfgMS{axes}AxDeltaAType"
    layout = Layout((0, 1, 2))
    lines = [
        *head(robot, f"B&R mapp Motion, mechanical system {axes}-axis Delta A"),
        f"source of names: data type {kind} (mcCFG_MS_{axes}AX_DELTA_A) of the mapp Motion",
        "libraries, with the comments of its members",
        "",
        "Description.Standard",
        *table(_parameters(robot)),
        *_directions(robot),
        "",
        "Frame",
        "ArmLinkPoint of the base: Angle is the 'angular distance from the center (starting from",
        "zero)' and Radius the 'distance from the center'; Center and Z are 0, so the origin",
        "lies in the plane of the shoulders, as here. Lengths are in the measurement units of the",
        "axes group, mm here, angles in deg.",
        f"{UNVERIFIED}: that Angle counts from x towards y seen from above with",
        "z up, that the model's zero is the arm horizontal and outward, and that it counts",
        "positive downward. The check below shows it: the first point tells zero and",
        "direction of the joint axes, the others the sense of Angle. ModelCountDirections and",
        "ModelZeroPositionOffsets take what differs.",
        *frame_lines(robot, layout),
        "",
        "Drives",
        *drive_lines(robot, layout),
        "",
        "Check: these joint positions must give these points (count directions and zero offsets",
        "still at their defaults)",
        *check_table(check_points(robot, layout), ("Q1", "Q2", "Q3")),
    ]
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    name = f"br-{axes}-axis-delta-a.txt"
    return Sheet(name, text, f"{axes}-axis Delta A of mapp Motion, mm and deg")


def _parameters(robot: Robot) -> list[Parameter]:
    g = robot.geometry
    rows: list[Parameter] = []
    for i in range(3):
        base, arm = f"Dimensions.BasePlatform.ArmLinkPoint[{i}]", f"Dimensions.Arms.Arm[{i}]"
        plate = f"Dimensions.EndEffectorPlatform.ArmLinkPoint[{i}]"
        rows += [
            Parameter(f"{base}.Angle", math.degrees(g.azimuth[i]), "deg", f"azimuth[{i}]"),
            Parameter(f"{base}.Radius", g.base_radius[i] * MM, "mm", f"base_radius[{i}]"),
            Parameter(f"{base}.Z", 0.0, "mm", "shoulders lie in the base plane"),
            Parameter(f"{arm}.UpperArmLength", g.arm_length[i] * MM, "mm", f"arm_length[{i}]"),
            Parameter(f"{arm}.LowerArmLength", g.strut_length[i] * MM, "mm", f"strut_length[{i}]"),
            Parameter(f"{plate}.Radius", g.platform_radius[i] * MM, "mm", f"platform_radius[{i}]"),
            Parameter(f"{plate}.Z", 0.0, "mm", "joints lie in the platform point's plane"),
        ]
    for axis in "XYZ":
        flange = f"Dimensions.EndEffectorPlatform.TranslationToFlange.{axis}"
        rows.append(Parameter(flange, 0.0, "mm", "a tool adds its own"))
    return rows


def _directions(robot: Robot) -> list[str]:
    """The robot file's sign and offset in the words of the mechanical system."""
    lines: list[str] = []
    for axis in range(robot.dof):
        inverse = robot.controller.sign[axis] < 0
        offset = math.degrees(robot.controller.offset[axis])
        lines.append(
            f"joint axis [{axis}]: ModelCountDirections "
            f"{'Inverse' if inverse else 'Standard'}, ModelZeroPositionOffsets of size "
            f"{abs(offset):.9g} deg"
        )
    return [*lines, f"the sign of ModelZeroPositionOffsets is {UNVERIFIED}"]
