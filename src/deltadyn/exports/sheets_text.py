"""What all parameter sheets say alike: tables of parameters, check points, drive conventions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.exports.common import provenance
from deltadyn.exports.sheets_layout import CheckPoints, Layout
from deltadyn.robot import Robot

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
