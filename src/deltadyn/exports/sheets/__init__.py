"""`sheets`: a robot's numbers for the delta transformations of common controllers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deltadyn.errors import DeltadynError
from deltadyn.exports.common import filled
from deltadyn.exports.sheets.common import UNVERIFIED, NotExpressibleError, Sheet, head
from deltadyn.exports.sheets.controllers import b_and_r, codesys, linuxcnc, twincat
from deltadyn.robot import Robot

README = "README-sheets.md"


@dataclass(frozen=True)
class Options:
    """Options of target `sheets`."""

    linear_units: str = "mm"  # or "inch", of LinuxCNC


def files(robot: Robot, options: Options | None = None) -> dict[str, str]:
    """README and one sheet per controller."""
    linear_units = (Options() if options is None else options).linear_units
    writers: dict[str, Callable[[], Sheet]] = {
        "LinuxCNC rotarydeltakins": lambda: linuxcnc(robot, linear_units),
        "CODESYS SoftMotion Kin_Tripod_Rotary": lambda: codesys(robot),
        "TwinCAT 3D-Delta Type 1": lambda: twincat(robot),
        "B&R mapp Motion Delta A": lambda: b_and_r(robot),
    }
    sheets: dict[str, Sheet] = {}
    refused: dict[str, str] = {}
    for title, write in writers.items():
        try:
            sheets[title] = write()
        except NotExpressibleError as error:
            refused[title] = str(error)
    if not sheets:
        reasons = "; ".join(f"{title}: {reason}" for title, reason in refused.items())
        raise DeltadynError(f"no sheet can be written for {robot.name}: {reasons}")
    written = {sheet.name: sheet.text for sheet in sheets.values()}
    return {README: _readme(robot, sheets, refused), **written}


def _readme(robot: Robot, sheets: dict[str, Sheet], refused: dict[str, str]) -> str:
    rows = [f"| {title} | `{sheet.name}` | {sheet.summary} |" for title, sheet in sheets.items()]
    left_out = ""
    if refused:
        items = "\n".join(f"- {title}: {reason}." for title, reason in refused.items())
        left_out = "Left out, because the transformation cannot express this robot:\n\n" + items
        left_out += "\n\n"
    words = {
        "robot": robot.name,
        "head": "\n".join(head(robot, "parameter sheets for delta transformations")),
        "sheets": "\n".join(rows),
        "refused": left_out,
        "unverified": UNVERIFIED,
    }
    return filled("sheets", "README.md", words)
