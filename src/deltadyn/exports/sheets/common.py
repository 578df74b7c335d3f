"""What all parameter sheets say alike: tables of parameters, check points, drive conventions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import DeltadynError
from deltadyn.exports.common import provenance
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.robot import Robot

# How a robot lies in a controller's frame, and what a controller's transformation can express.


EQUAL = 1e-9  # rad and m: what counts as equal in a robot file
THIRD = 2 * math.pi / 3


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


def three_equal(values: Sequence[float], path: str) -> float:
    """The one value of the three arms; refuses arms that differ."""
    if max(values) - min(values) > EQUAL:
        shown = ", ".join(f"{value:g}" for value in values)
        raise NotExpressibleError(f"{path} is [{shown}], and this transformation has one for all")
    return float(values[0])


def symmetric_layout(robot: Robot, first: float, lift: float = 0.0) -> Layout:
    """Arm 1 at the azimuth `first` (rad), the others counter-clockwise seen from above."""
    azimuth = robot.geometry.azimuth
    steps = [math.remainder(a - azimuth[0], 2 * math.pi) for a in azimuth[1:]]
    if max(abs(abs(step) - THIRD) for step in steps) > EQUAL:
        shown = ", ".join(f"{math.degrees(a):g}" for a in azimuth)
        raise NotExpressibleError(
            f"geometry.azimuth is [{shown}] deg, and this transformation has its arms 120 deg apart"
        )
    order = (0, 1, 2) if steps[0] > 0 else (0, 2, 1)
    return Layout(order, math.remainder(first - azimuth[0], 2 * math.pi), lift)


def check_points(robot: Robot, layout: Layout) -> CheckPoints:
    """A point on the axis and two beside it, inside the robot's reach."""
    points = np.array(_reachable(robot))
    full = points if robot.dof == 3 else np.column_stack([points, np.zeros(len(points))])
    angles = inverse_kinematics(robot, full)[:, list(layout.order)]
    return CheckPoints(points, layout.point(points), angles)


def working_height(robot: Robot) -> float:
    """z of a point on the axis at which the robot can work, in m, rounded to mm."""
    g, space = robot.geometry, robot.limits.workspace
    if space is not None:
        return round((space.z_min + space.z_max) / 2, 3)
    return round(-float(g.strut_length[0] + g.arm_length[0]) * 0.6, 3)


def _reachable(robot: Robot) -> list[tuple[float, float, float]]:
    """Points in round numbers: within the stated workspace, or below the robot's middle."""
    z, space = working_height(robot), robot.limits.workspace
    aside = robot.geometry.arm_length[0] / 4 if space is None else space.radius / 2
    aside = round(aside, 3)
    points = [(0.0, 0.0, z), (aside, 0.0, z), (0.0, aside, z)]
    full = [(*point, *(0.0,) * (robot.dof - 3)) for point in points]
    if not np.isfinite(inverse_kinematics(robot, full, unreachable="nan")).all():
        raise NotExpressibleError(
            f"the check points at z = {z:g} m, {aside:g} m beside the axis, are out of reach; "
            "give limits.workspace in the robot file"
        )
    return points


MM = 1e3  # mm in a metre
UNVERIFIED = "NOT VERIFIED against the vendor's manual"


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
        f"p_controller = Rz({turn:.6g} deg) p + (0, 0, {layout.lift * MM:.9g} mm); "
        "Rz turns from x towards y, seen from above",
        f"axes of the controller in order = our arms {layout.arms}",
    ]
    if robot.dof == 4:
        lines.append(
            "axis 4: psi of the effector is 1:1 with its drive (about z up, from x towards y); "
            f"in the controller's frame the effector stands at psi {turn:+.6g} deg"
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
