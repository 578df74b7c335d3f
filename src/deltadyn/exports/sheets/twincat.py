"""Sheet for TwinCAT: the parameters of the kinematic transformation 3D-Delta Type 1 (P_3C)."""

from __future__ import annotations

from deltadyn.exports.sheets.common import (
    MM,
    UNVERIFIED,
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

NAME = "twincat-3d-delta-type-1.txt"
SOURCE = (
    "Beckhoff Information System, TF5110-TF5113 TwinCAT 3 Kinematic Transformation, "
    "page '3D-Delta Type 1 (P_3C)'"
)


def twincat(robot: Robot) -> Sheet:
    """The table of parameters, kinematic and dynamic."""
    g = robot.geometry
    rows = [
        Parameter(name, three_equal(lengths, path) * MM, "mm", meaning)
        for name, lengths, path, meaning in (
            ("Inner arm length", g.arm_length, "geometry.arm_length", "arm_length l1"),
            ("Outer arm length", g.strut_length, "geometry.strut_length", "strut_length l2"),
            ("Displacement", g.base_radius, "geometry.base_radius", "base_radius R"),
            ("TCP displacement", g.platform_radius, "geometry.platform_radius", "platform_radius"),
        )
    ]
    layout = symmetric_layout(robot, 0.0)
    lines = [
        *head(robot, "TwinCAT 3 Kinematic Transformation, 3D-Delta Type 1 (P_3C)"),
        f"source of names: {SOURCE}",
        "",
        "Parameters for the kinematics",
        *table(rows),
        "",
        "Parameters for the dynamic model",
        *_dynamics(robot),
        "",
        "Frame",
        "Motor axes are in degrees, points in mm. The page shows zero, positive direction and the",
        "places of the arms in a picture only. Taken here: origin in the middle of the motor axes,",
        "z up, M1 on the positive x axis, M2 and M3 counter-clockwise seen from above, 0 deg =",
        f"arm horizontal and outward, positive downward. All of this is {UNVERIFIED}.",
        *frame_lines(robot, layout),
        "If the check fails: with angles alike on all axes the first point tells zero and sign,",
        "the others tell the azimuth of M1 and the order of M2 and M3. A fixed turn or lift",
        "between the frames goes into the static transformation of the group (MCS to WCS).",
        "",
        "Drives (scaling factor and offset of the axes)",
        *drive_lines(robot, layout),
        *_fourth(robot),
        "",
        "Check: FB_KinCalcTrafo of these angles must give these points",
        *check_table(check_points(robot, layout), ("M1", "M2", "M3")),
    ]
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    return Sheet(NAME, text, "3D-Delta Type 1 (P_3C) with its dynamic model, mm, deg, kg")


def _dynamics(robot: Robot) -> list[str]:
    """Masses as the page defines them, where the three limbs are alike."""
    if len(set(robot.arms)) > 1 or len(set(robot.struts)) > 1:
        return ["left out: the limbs differ in their bodies, and the page has one set for all"]
    arm, strut = robot.arms[0], robot.struts[0]
    rows = [
        Parameter("Inner arm mass", arm.mass, "kg", "arm.mass, without elbow_mass"),
        Parameter(
            "Inner arm moment of inertia",
            arm.axis_inertia * MM**2,
            "kg mm^2",
            "about the motor axis (P1), without rotor and elbow_mass",
        ),
        Parameter("Outer arm mass", strut.rods * strut.mass, "kg", f"{strut.rods} rods together"),
        Parameter("Link mass", arm.elbow_mass, "kg", "arm.elbow_mass"),
        Parameter("TCP mass", robot.platform.mass + robot.effector.mass, "kg", "without payload"),
    ]
    lines = [
        *table(rows),
        f"payload of the robot file, a parameter of its own there: {robot.payload.mass:.9g} kg",
        "The page does not say how the outer arm's mass is shared; the exact model of this project",
        "is what the targets c and structured-text give. Rotors belong to the drive torque",
        "objects.",
    ]
    if robot.spindle is not None:
        lines.append(
            "The centre stick of that page is one rigid stick; the telescope of this robot is two "
            "rods and is left out."
        )
    return lines


def _fourth(robot: Robot) -> list[str]:
    if robot.dof == 3:
        return []
    return ["  psi: a separate axis in deg beside this transformation, which has three"]
