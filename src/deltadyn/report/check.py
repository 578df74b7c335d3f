"""The page of a check: first the verdict, three numbers, a figure and what to do next."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.inspection import Check, Number, RobotCheck
from deltadyn.recording.checks.findings import Finding
from deltadyn.report.html import (
    Section,
    figure_html,
    items_html,
    text_section,
    verdict_html,
    wide_table,
    write_sections,
)
from deltadyn.report.plots import COLOURS, FITTED, LEFT, Curve, draw, finished, panels
from deltadyn.robot.checks import ARMS
from deltadyn.robot.settings import Workspace

STATED, LARGEST = COLOURS[1], COLOURS[2]
#: Numbers of the first screen without logs, with their words there.
NAMES = {
    "reach_m": "reach",
    "rotor_share": "rotor's share of what the drive of an arm moves",
    "adept_torque_rms_Nm": "largest RMS torque of an arm",
}


def check_page(found: Check, path: str | os.PathLike[str]) -> Path:
    """Write the page of a check."""
    robot = found.robot
    title = robot.source if robot.robot is None else robot.robot.name
    lead = [
        verdict_html(found.grade, found.verdict, []),
        f"<div class=first>{_numbers_html(_three(robot))}{_figure(robot)}</div>",
        f"<div class=next><h2>What to do next</h2>{_steps_html(found.next)}</div>",
    ]
    sections = [*_robot_sections(robot), text_section(found.text)]
    return write_sections(path, f"Check: {title}", "before anything is fitted", lead, sections)


def _three(robot: RobotCheck) -> list[tuple[str, str, str]]:
    """Three numbers for the first screen: name, value, note."""
    errors = sum(item.severity == "error" for item in robot.findings)
    if robot.robot is None:
        return [("errors", str(errors), robot.source)]
    numbers = [robot.number(key) for key in NAMES]
    return [_cell(number) for number in numbers if number is not None]


def _cell(number: Number) -> tuple[str, str, str]:
    """The largest value of the arms."""
    value = max(number.values[:ARMS], key=abs)
    return NAMES[number.key], f"{value:.3g} {number.unit}", number.note


def _numbers_html(numbers: Sequence[tuple[str, str, str]]) -> str:
    cells = "".join(
        f"<div><span class=note>{escape(name)}</span><strong>{escape(value)}</strong>"
        f"<span class=note>{escape(note)}</span></div>"
        for name, value, note in numbers
    )
    return f"<div class=numbers>{cells}</div>" if numbers else ""


def _steps_html(steps: Sequence[str]) -> str:
    """Steps in their order; what stands between backticks is for the terminal."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", items_html(steps, "ol"))


def _figure(robot: RobotCheck) -> str:
    if robot.boundary is None or not robot.boundary.heights.size:
        return ""
    caption = "Where the platform point can be, with the margin to singular poses kept."
    return figure_html("Workspace from the side", _workspace_figure(robot), caption)


def _workspace_figure(robot: RobotCheck) -> Any:
    """Radius over height: what is reached in every direction and in the best one, and cylinders."""
    assert robot.boundary is not None
    boundary = robot.boundary
    figure = panels()
    z = boundary.heights
    for name, radius, dash in (
        ("reached in every direction", boundary.radius.min(axis=1), "solid"),
        ("reached in the best direction", boundary.radius.max(axis=1), "dot"),
    ):
        x = np.concatenate([radius, -radius[::-1], radius[:1]])
        y = np.concatenate([z, z[::-1], z[:1]])
        draw(figure, Curve(name, x, y, FITTED, dash, 2.0, "m"), points=len(x))
    stated = None if robot.robot is None else robot.robot.limits.workspace
    for name, cylinder, colour in (
        ("stated in the file", stated, STATED),
        ("largest cylinder", robot.largest, LARGEST),
    ):
        if cylinder is not None:
            draw(figure, Curve(name, *_outline(cylinder), colour, "dash", 2.0, "m"))
    figure.add_hline(y=0.0, line={"color": LEFT, "dash": "dot"})
    finished(figure, 380, x="to the side (m)", y="z (m)")
    return figure.update_yaxes(scaleanchor="x", constrain="domain")


def _outline(cylinder: Workspace) -> tuple[Any, Any]:
    low, high, radius = cylinder.z_min, cylinder.z_max, cylinder.radius
    return np.array([-1, 1, 1, -1, -1]) * radius, np.array([low, low, high, high, low])


def _robot_sections(robot: RobotCheck) -> list[Section]:
    sections = []
    if robot.findings:
        blocks = [finding_html(item) for item in robot.findings]
        sections.append(
            Section("robot-findings", "What was found in the robot file", tuple(blocks))
        )
    if robot.numbers and robot.robot is not None:
        axes = [f"axis {name}" for name in robot.robot.axis_names()]
        rows = []
        for item in robot.numbers:
            values = [f"{value:.4g}" for value in item.values]
            if len(values) != len(axes) or item.key == "largest_cylinder_m":
                values = [", ".join(values), *[""] * (len(axes) - 1)]
            rows.append([item.name, *values, item.unit, item.note])
        table = wide_table(
            ["number", *axes, "unit", "meaning"], rows, caption="What follows from the robot file."
        )
        sections.append(Section("robot-numbers", "Numbers of the robot", (table,)))
    return sections


def finding_html(finding: Finding, picture: str = "") -> str:
    """A finding: what it is, the sentence, what to do, and a picture of its place."""
    words = {"error": "bad", "warning": "care", "info": "unknown"}
    place = f" ({finding.channel})" if finding.channel else ""
    head = f"<strong>{escape(finding.severity)}: {escape(finding.kind)}{escape(place)}</strong>"
    return (
        f'<div class="verdict finding {words[finding.severity]}"><p>{head}</p>'
        f"<p>{escape(finding.text)}</p><p>{escape(finding.advice)}</p></div>{picture}"
    )
