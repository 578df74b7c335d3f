"""`sheets`: a robot's numbers for the delta transformations of common controllers."""

from __future__ import annotations

from collections.abc import Callable

from deltadyn.errors import DeltadynError
from deltadyn.exports.sheets.br import b_and_r
from deltadyn.exports.sheets.codesys import codesys
from deltadyn.exports.sheets.common import UNVERIFIED, NotExpressibleError, Sheet, head
from deltadyn.exports.sheets.linuxcnc import linuxcnc
from deltadyn.exports.sheets.twincat import twincat
from deltadyn.robot import Robot

README = "README-sheets.md"


def files(robot: Robot, *, linear_units: str = "mm") -> dict[str, str]:
    """README and one sheet per controller; `linear_units` (mm or inch) is LinuxCNC's."""
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
    lines = [
        f"# {robot.name}: parameter sheets",
        "",
        "<!--",
        *head(robot, "parameter sheets for delta transformations"),
        "-->",
        "",
        "Each sheet holds the parameters of one controller's own delta transformation, how each",
        "number follows from the robot file, how the controller's frame lies in ours, and three",
        "points with the angles that the controller must show there.",
        "",
        "| controller | file | what |",
        "|---|---|---|",
        *(f"| {title} | `{sheet.name}` | {sheet.summary} |" for title, sheet in sheets.items()),
        "",
    ]
    if refused:
        lines += ["Left out, because the transformation cannot express this robot:", ""]
        lines += [f"- {title}: {reason}." for title, reason in refused.items()] + [""]
    return "\n".join([*lines, *_explanation()]) + "\n"


def _explanation() -> list[str]:
    return [
        "## Our frame",
        "",
        "Origin in the middle of the base, in the plane of the shoulder axes; z up, the platform",
        "at negative z; arm i at its azimuth, counted from x towards y seen from above; arm angle",
        "0 = horizontal and outward, positive downward; the platform point is the middle of the",
        "platform in the plane of its joints. Radii are to the joint centres.",
        "",
        "## How the controllers differ",
        "",
        "| controller | origin | first arm | order | angle 0 | positive |",
        "|---|---|---|---|---|---|",
        "| here | plane of the shoulders | azimuth[0] | by azimuth | horizontal, outward | down |",
        "| LinuxCNC | plane of the shoulders | -90 deg | counter-clockwise | the same | down |",
        "| CODESYS | platform with horizontal arms | 180 deg | counter-clockwise (*) | horizontal "
        "| down (*) |",
        "| TwinCAT | plane of the shoulders (*) | 0 deg (*) | counter-clockwise (*) "
        "| horizontal (*) | down (*) |",
        "| B&R | plane of the shoulders | azimuth[0] (*) | by Angle | horizontal (*) | down (*) |",
        "",
        f"(*) {UNVERIFIED}, which shows it in a picture that could not be",
        "read, or does not say it. The sheet's check points decide: put the angles in, compare the",
        "point, before a drive is enabled.",
        "",
        "## Signs and offsets",
        "",
        "The angles of a sheet are those of the transformation. A drive whose own angle counts",
        "otherwise (`controller` in the robot file: drive angle = sign * q + offset) needs its",
        "scaling set accordingly; each sheet repeats sign and offset per axis.",
        "",
        "## Limits",
        "",
        "Sheets hold geometry; only TwinCAT's page has masses. Equal limbs 120 deg apart are",
        "needed but for B&R. A tool or gripper offset is not in them: add it in the controller.",
    ]
