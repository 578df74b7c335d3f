"""One sheet per controller: the parameters of its own delta transformation.

A sheet says its names in `templates/sheets`, and here only how its numbers follow from the robot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deltadyn.errors import UnknownNameError
from deltadyn.exports.common import filled
from deltadyn.exports.sheets.common import (
    MM,
    UNVERIFIED,
    Layout,
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

UNITS = {"mm": MM, "inch": 1 / 0.0254}  # in a metre


@dataclass(frozen=True)
class Draft:
    """What a sheet is filled with: a template, and what is the controller's own in it.

    `axes` are the controller's names of its axes, `fourth` says where axis 4 goes, `more` holds
    further blocks of lines by the template's word. Points are in `unit`.
    """

    template: str
    title: str
    layout: Layout
    rows: Sequence[Parameter]
    axes: tuple[str, str, str]
    fourth: tuple[str, ...] = ()
    unit: str = "mm"
    more: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def lines(self, robot: Robot) -> list[str]:
        """The lines of the sheet, without the marks of a comment."""
        points = check_points(robot, self.layout)
        blocks = {
            "head": head(robot, self.title),
            "table": table(self.rows),
            "frame": frame_lines(robot, self.layout),
            "drives": [*drive_lines(robot, self.layout), *(self.fourth if robot.dof == 4 else ())],
            "check": check_table(points, self.axes, self.unit, UNITS[self.unit]),
            **self.more,
        }
        words = {name: "\n".join(lines) for name, lines in blocks.items()}
        words |= {"unverified": UNVERIFIED, "axes": str(robot.dof)}
        return [line.rstrip() for line in filled("sheets", self.template, words).splitlines()]


# LinuxCNC: a HAL file with the four lengths of rotarydeltakins.


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
    draft = Draft(
        "linuxcnc.txt",
        "LinuxCNC rotarydeltakins: geometry of the robot",
        symmetric_layout(robot, -math.pi / 2),  # joint 0 swings in the YZ plane, knee at negative y
        rows,
        ("joint 0", "joint 1", "joint 2"),
        ("  psi: rotarydeltakins passes ABCUVW through to joints 3 to 8; use C, joint 5, deg",),
        linear_units,
    )
    comment = "\n".join(f"# {line}".rstrip() for line in draft.lines(robot))
    lines = "\n".join(f"setp {row.name} {row.text}" for row in rows)
    text = f"{comment}\n\n# after: loadrt rotarydeltakins\n{lines}\n"
    summary = f"setp lines in {linear_units} (option linear_units)"
    return Sheet("linuxcnc-rotarydeltakins.hal", text, summary)


# CODESYS SoftMotion: the inputs of Kin_Tripod_Rotary, as a declaration.


def codesys(robot: Robot) -> Sheet:
    """The declaration with its comment."""
    rows = _codesys_parameters(robot)
    draft = Draft(
        "codesys.txt",
        "CODESYS SoftMotion, TRAFO.Kin_Tripod_Rotary: geometry of the robot",
        symmetric_layout(robot, math.pi, height_at_zero(robot)),
        rows,
        ("A0", "A1", "A2"),
        (
            "  psi: couple TRAFO.Kin_CAxis as orientation kinematics, psi in deg is its C axis",
            f"  {UNVERIFIED}: the name and use of Kin_CAxis",
        ),
    )
    comment = "\n".join(f"  {line}".rstrip() for line in draft.lines(robot))
    fields = ",\n".join(f"    {row.name} := {_real(row.text)}" for row in rows)
    body = f"VAR_GLOBAL\n  kinematics : TRAFO.Kin_Tripod_Rotary := (\n{fields});\nEND_VAR\n"
    summary = "declaration of Kin_Tripod_Rotary, mm and deg"
    return Sheet("codesys-kin-tripod-rotary.st", f"(*\n{comment}\n*)\n{body}", summary)


def _codesys_parameters(robot: Robot) -> list[Parameter]:
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


def _real(text: str) -> str:
    """A literal of type LREAL."""
    return text if "." in text or "e" in text else f"{text}.0"


# TwinCAT: the parameters of the kinematic transformation 3D-Delta Type 1 (P_3C).


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
    draft = Draft(
        "twincat.txt",
        "TwinCAT 3 Kinematic Transformation, 3D-Delta Type 1 (P_3C)",
        symmetric_layout(robot, 0.0),
        rows,
        ("M1", "M2", "M3"),
        ("  psi: a separate axis in deg beside this transformation, which has three",),
        more={"dynamics": _dynamics(robot)},
    )
    text = "\n".join(draft.lines(robot)) + "\n"
    summary = "3D-Delta Type 1 (P_3C) with its dynamic model, mm, deg, kg"
    return Sheet("twincat-3d-delta-type-1.txt", text, summary)


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


# B&R mapp Motion: the mechanical system 3-axis (4-axis) Delta A; every limb has its own numbers.


def b_and_r(robot: Robot) -> Sheet:
    """The table of parameters."""
    draft = Draft(
        "br.txt",
        f"B&R mapp Motion, mechanical system {robot.dof}-axis Delta A",
        Layout((0, 1, 2)),
        _b_and_r_parameters(robot),
        ("Q1", "Q2", "Q3"),
        more={"directions": _directions(robot)},
    )
    text = "\n".join(draft.lines(robot)) + "\n"
    summary = f"{robot.dof}-axis Delta A of mapp Motion, mm and deg"
    return Sheet(f"br-{robot.dof}-axis-delta-a.txt", text, summary)


def _b_and_r_parameters(robot: Robot) -> list[Parameter]:
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
