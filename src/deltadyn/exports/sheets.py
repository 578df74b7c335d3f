"""Target `sheets`: a robot's numbers for the delta transformations of common controllers.

First what all sheets say alike: how a robot lies in a controller's frame, tables of parameters,
check points, drive conventions; then a function per controller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.calibration.nearest import Nearest, nearest_robot
from deltadyn.errors import DeltadynError, InputError, UnknownNameError
from deltadyn.exports.common import (
    ExportFiles,
    axis_lines,
    filled,
    kind_of,
    provenance,
    stamp_fingerprint,
    standard,
    working_height,
)
from deltadyn.exports.left_out import drop_terms, left_out_section
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.robot import Robot
from deltadyn.robot.bodies import RailGeometry

EQUAL = 1e-9  # rad and m: what counts as equal in a robot file
THIRD = 2 * math.pi / 3
UNITS = {"mm": 1e3, "inch": 1 / 0.0254}  # in a metre
MM = UNITS["mm"]
UNVERIFIED = "NOT VERIFIED against the vendor's manual"


class NotExpressibleError(DeltadynError):
    """A robot that a controller's transformation has no parameters for; the text says why."""


@dataclass(frozen=True)
class Layout:
    """p_controller = Rz(turn) p + (0, 0, lift); `order` names our arm on each controller axis."""

    order: tuple[int, int, int]
    turn: float = 0.0  # rad
    lift: float = 0.0  # m

    def point(self, p: FloatArray) -> FloatArray:
        """Our points (N, 3) in the controller's frame, m."""
        c, s = math.cos(self.turn), math.sin(self.turn)
        x, y = c * p[:, 0] - s * p[:, 1], s * p[:, 0] + c * p[:, 1]
        return np.stack([x, y, p[:, 2] + self.lift], axis=-1)

    @property
    def arms(self) -> str:
        """Our arms in the order of the controller's axes, counted from 1."""
        return ", ".join(str(arm + 1) for arm in self.order)


@dataclass(frozen=True, eq=False)
class CheckPoints:
    """Points of ours and of the controller (N, 3) in m, and the controller's angles in rad."""

    ours: FloatArray
    theirs: FloatArray
    angles: FloatArray


def one_length(robot: Robot, field: str) -> float:
    """The one value (m) of a length of the geometry; refuses arms that differ."""
    values = getattr(robot.geometry, field)
    if max(values) - min(values) > EQUAL:
        shown = ", ".join(f"{value:g}" for value in values)
        raise NotExpressibleError(
            f"geometry.{field} is [{shown}], and this transformation has one for all"
        )
    return float(values[0])


def symmetric_layout(robot: Robot, first: float, lift: float = 0.0) -> Layout:
    """Arm 1 at the azimuth `first` (rad), the others counter-clockwise seen from above."""
    _refuse_displaced(robot)
    azimuth = robot.geometry.azimuth
    steps = [math.remainder(a - azimuth[0], 2 * math.pi) for a in azimuth[1:]]
    if max(abs(abs(step) - THIRD) for step in steps) > EQUAL:
        shown = ", ".join(f"{math.degrees(a):g}" for a in azimuth)
        raise NotExpressibleError(
            f"geometry.azimuth is [{shown}] deg, and this transformation has its arms 120 deg apart"
        )
    order = (0, 1, 2) if steps[0] > 0 else (0, 2, 1)
    return Layout(order, math.remainder(first - azimuth[0], 2 * math.pi), lift)


def _refuse_displaced(robot: Robot) -> None:
    if not robot.rotary.standard:
        raise NotExpressibleError(
            "the shoulders and axes stand off their places (geometry.shoulder_height, "
            "shoulder_tangential, axis_yaw, axis_roll), and this transformation has no such numbers"
        )


def refuse_leaning(robot: Robot, why: str) -> None:
    """Refuse rails that are not vertical."""
    g = robot.geometry
    assert isinstance(g, RailGeometry)
    if any(g.rail_pitch + g.rail_roll):
        pitch, roll = (
            ", ".join(f"{math.degrees(x):g}" for x in values)
            for values in (g.rail_pitch, g.rail_roll)
        )
        raise NotExpressibleError(
            f"geometry.rail_pitch is [{pitch}] deg, rail_roll [{roll}] deg, and {why}"
        )


def spots(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """A point on the axis and two beside it (3, 3) in m, inside the robot's reach, and q (3, 3)."""
    # round numbers: within the stated workspace, or below the robot's middle
    z, space = working_height(robot), robot.limits.workspace
    aside = round(robot.geometry.size / 4 if space is None else space.radius / 2, 3)
    points = np.array([(0.0, 0.0, z), (aside, 0.0, z), (0.0, aside, z)])
    full = np.column_stack([points, np.zeros((len(points), robot.dof - 3))])
    q = np.asarray(inverse_kinematics(robot, full, unreachable="nan"))[:, :3]
    if not np.isfinite(q).all():
        raise NotExpressibleError(
            f"the check points at z = {z:g} m, {aside:g} m beside the axis, are out of reach; "
            "give limits.workspace in the robot file"
        )
    return points, q


def check_points(robot: Robot, layout: Layout, sign: float = 1.0) -> CheckPoints:
    """The points, where the controller's axes count `sign` times q."""
    points, q = spots(robot)
    return CheckPoints(points, layout.point(points), sign * q[:, list(layout.order)])


@dataclass(frozen=True)
class Parameter:
    """One line of a sheet: the controller's name, the value with its unit, and where it is from."""

    name: str
    value: float
    unit: str
    meaning: str

    @property
    def text(self) -> str:
        """The value in at most nine digits: a nanometre on a metre."""
        return f"{self.value:.9g}"


@dataclass(frozen=True)
class Sheet:
    """A file, its text, and one sentence for the README."""

    name: str
    text: str
    summary: str


def table(parameters: Sequence[Parameter]) -> list[str]:
    """Parameters in columns."""
    width = max(len(row.name) for row in parameters)
    values = max(len(f"{row.text} {row.unit}") for row in parameters)
    return [
        f"{row.name:<{width}} = {f'{row.text} {row.unit}':<{values}}   {row.meaning}"
        for row in parameters
    ]


def check_table(
    points: CheckPoints, axes: Sequence[str], unit: str = "mm", scale: float = MM
) -> list[str]:
    """Point of ours, the controller's point and the controller's angles, one line each."""
    theirs = f"controller x, y, z ({unit})"
    lines = [f"{'our x, y, z (mm)':>34}   {theirs:>34}   {', '.join(axes)} (deg)"]
    for ours, point, angle in zip(points.ours, points.theirs, points.angles, strict=True):
        left = ", ".join(f"{_plain(value * MM):.4f}" for value in ours)
        middle = ", ".join(f"{_plain(value * scale):.4f}" for value in point)
        right = ", ".join(f"{math.degrees(value):.6f}" for value in angle)
        lines.append(f"{left:>34}   {middle:>34}   {right}")
    return lines


def head(robot: Robot, what: str) -> list[str]:
    """The provenance; lengths and angles of a sheet are in the controller's units."""
    lines = [line for line in provenance(robot, what) if not line.startswith("units:")]
    return [*lines, "units: as written beside each value; a controller's own, not SI"]


def frame_lines(robot: Robot, layout: Layout) -> list[str]:
    """How our coordinates map into the controller's."""
    turn = math.degrees(layout.turn)
    lines = [
        f"p_controller = Rz({turn:.9g} deg) p + (0, 0, {layout.lift * MM:.9g} mm); "
        "Rz turns from x towards y, seen from above",
        f"axes of the controller in order = our arms {layout.arms}",
    ]
    if robot.dof == 4:
        lines.append(
            "axis 4: psi of the effector is 1:1 with its drive (about z up, from x towards y); "
            f"in the controller's frame the effector stands at psi {turn:+.9g} deg"
        )
    return lines


def drive_lines(robot: Robot, layout: Layout) -> list[str]:
    """How a drive's own angle becomes the transformation's."""
    lines = ["q is the angle of this project: 0 = arm horizontal and outward, positive downward."]
    for axis, arm in enumerate(layout.order):
        sign, offset = robot.controller.sign[arm], math.degrees(robot.controller.offset[arm])
        lines.append(
            f"  axis {axis + 1} (arm {arm + 1}): drive angle = {sign:+g} * q {offset:+.9g} deg"
        )
    return lines


def _plain(value: float) -> float:
    """No minus before a zero."""
    return float(np.round(value, 9)) + 0.0


@dataclass(frozen=True)
class Draft:
    """What a sheet is filled with: a template, and what is the controller's own in it.

    `axes` are the controller's names of its axes, which count `sign` times q; `fourth` says where
    axis 4 goes, `more` holds further blocks of lines by the template's word. Points are in `unit`.
    """

    template: str
    title: str
    layout: Layout
    rows: Sequence[Parameter]
    axes: tuple[str, str, str]
    fourth: tuple[str, ...] = ()
    unit: str = "mm"
    sign: float = 1.0
    more: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def lines(self, robot: Robot) -> list[str]:
        """The lines of the sheet, without the marks of a comment."""
        points = check_points(robot, self.layout, self.sign)
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


def _length_rows(
    robot: Robot, rows: Sequence[tuple[str, str, str]], unit: str = "mm"
) -> list[Parameter]:
    """Lengths of the geometry: the controller's name, our field, and its meaning."""
    return [
        Parameter(name, one_length(robot, field) * UNITS[unit], unit, meaning)
        for name, field, meaning in rows
    ]


# LinuxCNC: a HAL file with the four lengths of rotarydeltakins.


def linuxcnc(robot: Robot, linear_units: str) -> Sheet:
    """The HAL file, in the machine's linear units."""
    if linear_units not in UNITS:
        raise UnknownNameError("linear_units", linear_units, UNITS)
    lengths = (
        ("rotarydeltakins.platformradius", "base_radius", "base_radius R: to a hip"),
        ("rotarydeltakins.thighlength", "arm_length", "arm_length l1: hip to knee"),
        ("rotarydeltakins.shinlength", "strut_length", "strut_length l2"),
        ("rotarydeltakins.footradius", "platform_radius", "platform_radius r_p"),
    )
    rows = _length_rows(robot, lengths, linear_units)
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
    radius = one_length(robot, "platform_radius")
    tilt = robot.limits.ball_joint_angle
    degrees = 45.0 if tilt is None else math.degrees(tilt)
    said = "the block's default: the file has none" if tilt is None else "limits.ball_joint_angle"
    lengths = (
        ("dArmLength1", "arm_length", "arm_length l1"),
        ("dArmLength2", "strut_length", "strut_length l2"),
        ("dArm1Radius", "base_radius", "base_radius R: to the points P of the drives"),
    )
    circle, meaning = math.hypot(radius, g.rod_spacing / 2), "sqrt(r_p^2 + (rod_spacing / 2)^2)"
    return [
        *_length_rows(robot, lengths),
        Parameter("dStewartRadius", circle * MM, "mm", f"{meaning}, see below"),
        Parameter("dDistance", g.rod_spacing * MM, "mm", "rod_spacing: between a pair's rods"),
        Parameter("dMaxAngleBallJoint", degrees, "deg", said),
    ]


def height_at_zero(robot: Robot) -> float:
    """How far the platform hangs below the shoulders with all arms horizontal (m)."""
    _refuse_displaced(robot)
    g = robot.geometry
    reach = g.shrunk_radius[0] + robot.standard.arm_length[0]
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
    from deltadyn.exports.sheets_twincat import dynamic_lines

    lengths = (
        ("Inner arm length", "arm_length", "arm_length l1"),
        ("Outer arm length", "strut_length", "strut_length l2"),
        ("Displacement", "base_radius", "base_radius R"),
        ("TCP displacement", "platform_radius", "platform_radius"),
    )
    draft = Draft(
        "twincat.txt",
        "TwinCAT 3 Kinematic Transformation, 3D-Delta Type 1 (P_3C)",
        symmetric_layout(robot, 0.0),
        _length_rows(robot, lengths),
        ("M1", "M2", "M3"),
        ("  psi: a separate axis in deg beside this transformation, which has three",),
        more={"dynamics": dynamic_lines(robot)},
    )
    text = "\n".join(draft.lines(robot)) + "\n"
    summary = "3D-Delta Type 1 (P_3C) with its dynamic model, mm, deg, kg"
    return Sheet("twincat-3d-delta-type-1.txt", text, summary)


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
    g = robot.rotary
    for name in ("shoulder_tangential", "axis_yaw", "axis_roll"):
        if any(getattr(g, name)):
            raise NotExpressibleError(
                f"geometry.{name} is not 0, and this system has no such number"
            )
    rows: list[Parameter] = []
    for i in range(3):
        base, arm = f"Dimensions.BasePlatform.ArmLinkPoint[{i}]", f"Dimensions.Arms.Arm[{i}]"
        plate = f"Dimensions.EndEffectorPlatform.ArmLinkPoint[{i}]"
        rows += [
            Parameter(f"{base}.Angle", math.degrees(g.azimuth[i]), "deg", f"azimuth[{i}]"),
            Parameter(f"{base}.Radius", g.base_radius[i] * MM, "mm", f"base_radius[{i}]"),
            Parameter(f"{base}.Z", g.shoulder_height[i] * MM, "mm", f"shoulder_height[{i}]"),
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


README = "README-sheets.md"


@dataclass(frozen=True)
class Options:
    """Options of target `sheets`."""

    linear_units: str = "mm"  # or "inch", of LinuxCNC


def files(robot: Robot, options: Options | None = None) -> ExportFiles:
    """README and one sheet per controller."""
    complete = robot
    robot, dropped = drop_terms(robot)
    linear_units = (Options() if options is None else options).linear_units
    writers = _writers(robot, linear_units)
    sheets: dict[str, Sheet] = {}
    refused: dict[str, str] = {}
    nearest = cache(partial(_nearest, robot))  # several transformations have the same room
    for title, write in writers.items():
        try:
            sheets[title] = write(robot)
        except NotExpressibleError as error:
            try:
                sheets[title] = _nearest_sheet(robot, title, write, str(error), nearest)
            except NotExpressibleError as reason:
                refused[title] = str(reason)
    if robot.planar:
        refused |= NOT_KNOWN
    elif not robot.linear:
        refused |= NO_ARMS
    if not sheets:
        reasons = "; ".join(f"{title}: {reason}" for title, reason in refused.items())
        raise DeltadynError(f"no sheet can be written for {robot.name}: {reasons}")
    written = {sheet.name: sheet.text for sheet in sheets.values()}
    readme = _readme(robot, sheets, refused) + left_out_section(complete, dropped)
    return stamp_fingerprint({README: readme, **written}, dropped)


#: Transformations whose inputs no public page names.
NOT_KNOWN = {
    "CODESYS SoftMotion Kin_Bipod_Rotary": "the names of its inputs are on no public page",
    "TwinCAT 2D-Kinematics Type 1 (P_2C)": "its parameters are on no public page; Type 2 is",
}
#: Firmwares without a Delta on arms, by their sources.
NO_ARMS = {
    "Marlin": "it has no rotary Delta (2.1.2.4): DELTA is one on vertical towers, and its "
    "MORGAN_SCARA, MP_SCARA, AXEL_TPARA and ARTICULATED_ROBOT_ARM are other arms",
}


@dataclass(frozen=True)
class Room:
    """What a transformation has numbers for: `nearest_robot` takes the same."""

    each: tuple[str, ...]
    common: tuple[str, ...] = ()
    azimuths: bool = False
    levelled: bool = False


_ROTARY = Room(("offset",), ("radius", "arm", "strut"))
_TOWERS = Room(("height", "strut", "tangential"), ("radius",), azimuths=True)
ROOMS = {
    "LinuxCNC rotarydeltakins": _ROTARY,
    "CODESYS SoftMotion Kin_Tripod_Rotary": _ROTARY,
    "TwinCAT 3D-Delta Type 1": _ROTARY,
    "B&R mapp Motion Delta A": Room(
        ("radius", "tangential", "height", "arm", "offset", "strut"), azimuths=True
    ),
    "Klipper, kinematics rotary_delta": Room(
        ("arm", "strut", "tangential"), ("radius",), azimuths=True
    ),
    "RepRapFirmware, rotary delta": Room(
        ("height", "strut", "tangential"), ("radius", "arm"), azimuths=True
    ),
    "Klipper, kinematics delta": _TOWERS,
    "Marlin, DELTA": Room(("height", "strut", "tangential", "radius"), azimuths=True),
    "RepRapFirmware, linear delta": _TOWERS,
    "CODESYS SoftMotion Kin_Tripod_Linear": Room(("height",), ("radius", "strut"), levelled=True),
    "TwinCAT 3D-Tripod Type 1": Room(("height",), ("radius", "strut"), levelled=True),
}
FARTHEST = 5e-3  # m: a robot that a transformation misses by more is not this robot


def _nearest(robot: Robot, room: Room) -> Nearest:
    return nearest_robot(
        robot, room.each, room.common, azimuths=room.azimuths, levelled=room.levelled
    )


def _nearest_sheet(
    robot: Robot,
    title: str,
    write: Callable[[Robot], Sheet],
    reason: str,
    nearest: Callable[[Room], Nearest],
) -> Sheet:
    """The sheet of the nearest robot that a transformation holds, with the error that is left.

    This is for calibrated robots, which are off their design by little.
    """
    room = ROOMS.get(title)
    if room is None or robot.legs != 3:
        raise NotExpressibleError(reason)
    try:
        found = nearest(room)
    except InputError as error:
        raise NotExpressibleError(reason) from error
    if found.worst > FARTHEST:
        raise NotExpressibleError(f"{reason}; for the nearest robot that it holds, {found}")
    off = f"{found.rms * MM:.3f} mm rms, {found.worst * MM:.3f} mm worst"
    name = f"{robot.name[:50]} (nearest here: off by {off})"
    made = write(found.robot.replace(name=name))
    summary = f"{made.summary}. Not this robot exactly: {reason}. It is the nearest one: {found}"
    return replace(made, summary=summary)


def _writers(robot: Robot, linear_units: str) -> dict[str, Callable[[Robot], Sheet]]:
    """The sheets that a robot of this kind may have, by title."""
    from deltadyn.exports import sheets_printers as printers
    from deltadyn.exports import sheets_rails as other

    if robot.planar:
        return {
            "TwinCAT 2D-Kinematics Type 2 (P_2C2)": other.twincat_planar,
        }
    if robot.linear:
        return {
            "Klipper, kinematics delta": printers.klipper,
            "Marlin, DELTA": printers.marlin,
            "RepRapFirmware, linear delta": printers.reprap,
            "CODESYS SoftMotion Kin_Tripod_Linear": other.codesys_linear,
            "TwinCAT 3D-Tripod Type 1": other.twincat_tripod,
        }
    return {
        "LinuxCNC rotarydeltakins": lambda own: linuxcnc(own, linear_units),
        "CODESYS SoftMotion Kin_Tripod_Rotary": codesys,
        "TwinCAT 3D-Delta Type 1": twincat,
        "B&R mapp Motion Delta A": b_and_r,
        "Klipper, kinematics rotary_delta": printers.klipper_rotary,
        "RepRapFirmware, rotary delta": printers.reprap_rotary,
    }


def _readme(robot: Robot, sheets: dict[str, Sheet], refused: dict[str, str]) -> str:
    rows = [f"| {title} | `{sheet.name}` | {sheet.summary} |" for title, sheet in sheets.items()]
    left_out = ""
    if refused:
        items = "\n".join(f"- {title}: {reason}." for title, reason in refused.items())
        left_out = "Left out, because the transformation cannot express this robot:\n\n" + items
        left_out += "\n\n"
    words = {
        "kind": f"A {kind_of(robot)}. {'; '.join(axis_lines(robot))}.",
        "robot": robot.name,
        "head": "\n".join(head(robot, "parameter sheets for delta transformations")),
        "sheets": "\n".join(rows),
        "refused": left_out,
        "unverified": UNVERIFIED,
    }
    return filled("sheets", "README.md" if standard(robot) else "README-rails.md", words)
