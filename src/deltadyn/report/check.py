"""The page of a check: first the verdict, three numbers, a figure and what to do next."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.inspection import Check, LogCheck, Number, RobotCheck
from deltadyn.inspection.log import Explained
from deltadyn.recording.checks.findings import Finding
from deltadyn.recording.recording import Recording, channel_name
from deltadyn.report.html import (
    First,
    Section,
    figure_html,
    items_html,
    text_section,
    wide_table,
    write_sections,
)
from deltadyn.report.plots import (
    COLOURS,
    FITTED,
    LEFT,
    MEASURED,
    Curve,
    axes_figure,
    draw,
    finished,
    panels,
    time_figure,
)
from deltadyn.robot import Robot
from deltadyn.robot.checks import ARMS
from deltadyn.robot.settings import Workspace

NATURAL, STATED, LARGEST = COLOURS[:3]
PLACE = "rgba(194, 84, 10, 0.25)"  # behind the rows of a finding
AROUND = 100  # rows beside a place that a picture shows, at least
PLACES = 3  # of a finding, each with its picture
SHOWN = 3.0  # s of torque
#: Findings about how a log counts: the torque shows them, not a single place.
COUNTING = (
    "angle sign",
    "angle unit",
    "swapped axes",
    "torque sign",
    "torque unit",
    "homing",
    "convention",
    "asked for",
)
#: Numbers of the first screen without logs, with their words there.
NAMES = {
    "reach_m": "reach",
    "rotor_share": "rotor's share of what the drive of an arm moves",
    "adept_torque_rms_Nm": "largest RMS torque of an arm",
    "adept_torque_rms_N": "largest RMS force of a carriage",
}


def check_page(found: Check, path: str | os.PathLike[str]) -> Path:
    """Write the page of a check."""
    robot, log = found.robot, _shown_log(found)
    title = robot.source if robot.robot is None else robot.robot.name
    numbers, figure = (_three(robot), _workspace(robot)) if log is None else _of_log(log)
    told = [(value, f"{name}: {note}" if note else name) for name, value, note in numbers]
    first = First(found.grade, found.verdict, "", told, figure, found.next)
    sections = [
        section
        for number, item in enumerate(found.logs, 1)
        for section in _log_sections(item, f"log-{number}")
    ]
    sections += [*_robot_sections(robot, log is not None), text_section(found.text)]
    names = [*(item.source for item in found.logs), *found.waiting]
    about = ", ".join(names) or "the robot file alone"
    return write_sections(path, f"Check: {title}", f"before a fit: {about}", [first.html], sections)


def _shown_log(found: Check) -> LogCheck | None:
    """The log of the first screen: the first with an error, else the first."""
    logs = [log for log in found.logs if log.recording is not None]
    return next((log for log in logs if not log.ok), logs[0] if logs else None)


# The first screen.


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


def _of_log(log: LogCheck) -> tuple[list[tuple[str, str, str]], str]:
    """Three numbers of a log, and its torque."""
    assert log.recording is not None
    found, told = log.conventions, log.told
    seconds = f"{log.recording.duration:.3g} s, {len(log.recording)} rows, {log.gaps} gaps"
    rate = "-" if log.rate is None else f"{log.rate:.4g} Hz"
    numbers = [("rate", rate, seconds)]
    if found is not None and found.residual_before is not None:
        put = "as it was read"
        if log.changed and found.residual_after is not None:
            put += f"; {100 * found.residual_after:.2g} % put right"
        numbers.append(("left of the torque", f"{100 * found.residual_before:.2g} %", put))
    if told is not None:
        count = f"{len(told.names) - len(told.missing)} of {len(told.names)}"
        weak = f"weak: {', '.join(told.weak)}" if told.weak else "none of them weak"
        numbers.append(("parameters that it tells", count, weak))
    return numbers, _torque_html(log)


def _torque_html(log: LogCheck) -> str:
    _, after = log.explained
    if after is None:
        assert log.recording is not None
        linear = log.robot.linear
        shown, title, words = ("mm", "Places", "place") if linear else ("deg", "Angles", "angle")
        q = 1e3 * log.recording.q if linear else np.degrees(log.recording.q)
        q[:, ARMS:] = np.degrees(log.recording.q[:, ARMS:])
        curves = [
            Curve(f"axis {name}", log.recording.t, q[:, k], COLOURS[k], unit=shown)
            for k, name in enumerate(log.robot.axis_names())
        ]
        return figure_html(title, time_figure(curves, f"{words} ({shown})"), "As they were read.")
    how = "put right" if log.changed else "as it was read"
    caption = (
        f"{SHOWN:g} s of {log.source}, {how}, beside the torque of the base parameters and "
        "friction that fit it best."
    )
    caption += _constant(log)
    figure = _torques(after, log.robot, range(ARMS))
    return figure_html("Torque, measured and explained", figure.update_layout(height=430), caption)


def _constant(log: LogCheck) -> str:
    """What was taken for an option that scales the torque."""
    return f" {', '.join(log.stand_in)} was taken as 1." if log.stand_in else ""


def _torques(found: Explained, robot: Robot, chosen: Sequence[int]) -> Any:
    """Measured and explained torque of some axes over a few seconds."""
    axes = [robot.axis_names()[k] for k in chosen]
    units = [robot.axis_units("tau")[k] for k in chosen]
    middle = found.t[len(found.t) // 2]
    rows = np.abs(found.t - middle) <= SHOWN / 2
    t = found.t[rows]
    step = float(np.median(np.diff(found.t))) if len(found.t) > 1 else 0.0
    starts = [0, *(np.flatnonzero(np.diff(t) > 5 * step) + 1)]
    curves = [
        Curve(name, t, values[rows][:, chosen], colour, "solid", width, "", starts)
        for name, values, colour, width in (
            ("measured", found.measured, MEASURED, 3.2),
            ("explained", found.predicted, FITTED, 1.4),
        )
    ]
    return axes_figure(axes, curves, units=units)


# The robot.


def _workspace(robot: RobotCheck) -> str:
    """The figure of a robot alone: its workspace, or the errors of its file."""
    if robot.robot is None:
        rows = [[f"{item.value:g}", item.text.partition(": ")[2]] for item in robot.findings]
        return wide_table(["line", "error"], rows)
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
        draw(figure, Curve(name, x, y, NATURAL, dash, 2.0, "m"), points=len(x))
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


def _outline(cylinder: Workspace) -> tuple[FloatArray, FloatArray]:
    low, high, radius = cylinder.z_min, cylinder.z_max, cylinder.radius
    return np.array([-1, 1, 1, -1, -1]) * radius, np.array([low, low, high, high, low])


def _robot_sections(robot: RobotCheck, with_figure: bool) -> list[Section]:
    sections = []
    if robot.findings:
        blocks = [finding_html(item) for item in robot.findings]
        sections.append(Section("robot-findings", "Found in the robot file", tuple(blocks)))
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
        figure = _workspace(robot) if with_figure else ""
        sections.append(Section("robot-numbers", "Numbers of the robot", (table, figure)))
    return sections


# A log.


def _log_sections(log: LogCheck, key: str) -> list[Section]:
    name = log.source
    blocks = [finding_html(item, _picture(log, item)) for item in log.findings]
    blocks += [f"<p class=note>Not checked: {escape(text)}</p>" for text in log.skipped]
    sections = [Section(f"{key}-findings", f"{name}: found", tuple(blocks or [_NOTHING]))]
    found = log.conventions
    if found is not None and (found.changed or found.uncertain_homing):
        sections.append(_convention_section(log, key))
    rows = [[str(item.number), item.name, item.text, "; ".join(item.why)] for item in log.columns]
    table = wide_table(["", "column", "taken for", "why"], rows, long=len(rows) > 30)
    facts = items_html([str(item) for item in log.motion])
    told = items_html(log.told_lines)
    sections.append(Section(f"{key}-columns", f"{name}: columns", (table,) if rows else ()))
    sections.append(
        Section(f"{key}-motion", f"{name}: motion, and what it tells", (facts, *_angles(log), told))
    )
    return [section for section in sections if any(section.blocks)]


_NOTHING = "<p>Nothing was found.</p>"


def _convention_section(log: LogCheck, key: str) -> Section:
    found = log.conventions
    assert found is not None
    blocks = [f"<p>{escape(found.summary())}</p>"]
    if found.changed:
        blocks.append(f"<p>For the robot file:</p><pre>{escape(found.block)}</pre>")
    if found.columns:
        blocks.append(f"<p>For the column map:</p><pre>{escape(found.column_map)}</pre>")
    if found.alternatives:
        texts = [f"{item['text']}. {item['move']}" for item in found.alternatives]
        blocks.append(f"<p>Others fit almost as well:</p>{items_html(texts)}")
    if found.uncertain_homing:
        texts = [f"{item['text']}. {item['move']}" for item in found.uncertain_homing]
        blocks.append(f"<p>The log does not show which it is:</p>{items_html(texts)}")
    return Section(f"{key}-convention", f"{log.source}: how it counts", tuple(blocks))


def _angles(log: LogCheck) -> list[str]:
    recording = log.recording
    if recording is None:
        return []
    curves = [
        Curve(f"axis {name}", recording.t, np.degrees(recording.q[:, k]), COLOURS[k], unit="deg")
        for k, name in enumerate(log.robot.axis_names())
    ]
    return [figure_html("Angles as they were read", time_figure(curves, "angle (deg)"), "")]


def finding_html(finding: Finding, picture: str = "") -> str:
    """A finding: what it is, the sentence, what to do, and a picture of its place."""
    words = {"error": "bad", "warning": "care", "info": "unknown"}
    place = f" ({finding.channel})" if finding.channel else ""
    head = f"<strong>{escape(finding.severity)}: {escape(finding.kind)}{escape(place)}</strong>"
    return (
        f'<div class="verdict finding {words[finding.severity]}"><p>{head}</p>'
        f"<p>{escape(finding.text)}</p><p>{escape(finding.advice)}</p></div>{picture}"
    )


# Pictures of the places of findings.


def _picture(log: LogCheck, finding: Finding) -> str:
    """The place of a finding: its rows in its channel, or the torque where the log counts wrong."""
    recording = log.recording
    if recording is None:
        return ""
    if finding.kind in COUNTING:
        before, _ = log.explained
        if before is None:
            return ""
        named = re.search(r"\d", finding.channel or "")
        chosen = range(ARMS) if named is None else [int(named[0]) - 1]
        figure = _torques(before, log.robot, chosen)
        figure.update_layout(height=360 if len(chosen) > 1 else 260)
        caption = "As it was read, beside the torque that the same bodies would need."
        return figure_html(f"Torque as read: {finding.kind}", figure, caption + _constant(log))
    if finding.channel == "t":
        return _steps_picture(recording, finding)
    label, values = _channel(recording, finding.channel)
    if values is None:
        return ""
    return _places(recording, finding, label, values)


def _channel(recording: Recording, name: str | None) -> tuple[str, FloatArray | None]:
    for quantity, axis, values in recording.columns():
        if channel_name(quantity, axis, recording.dof) == name:
            unit = recording.unit(quantity, axis)
            return (f"{name} (deg)", np.degrees(values)) if unit == "rad" else (
                f"{name} ({unit})", values)  # fmt: skip
    return "", None


def _steps_picture(recording: Recording, finding: Finding) -> str:
    """The time from row to row in ms."""
    steps = 1e3 * np.diff(recording.t)
    rows = np.arange(1.0, len(recording))
    figure = panels()
    draw(figure, Curve("time step", rows, steps, FITTED, unit="ms"))
    finished(figure, 260, legend=False, x="row", y="time step (ms)")
    return figure_html(f"Time steps: {finding.kind}", figure, "From row to row.")


def _places(recording: Recording, finding: Finding, label: str, values: FloatArray) -> str:
    """The rows of a finding, marked in its channel; the whole log where it has none."""
    places = finding.rows[:PLACES] or ((0, len(recording)),)
    figure = panels(1, len(places), across=0.08 if len(places) > 1 else None)
    for column, (start, stop) in enumerate(places, 1):
        around = max(AROUND, stop - start)
        rows = slice(max(0, start - around), min(len(recording), stop + around))
        t = recording.t[rows]
        draw(figure, Curve(label, t, values[rows], FITTED), column=column, legend=False)
        if finding.rows:
            ends = recording.t[start], recording.t[min(stop, len(recording)) - 1]
            if all(math.isfinite(end) for end in ends):
                figure.add_vrect(
                    x0=ends[0], x1=ends[1], fillcolor=PLACE, line_width=1, row=1, col=column
                )
        figure.update_xaxes(title_text="time (s)", row=1, col=column)
    figure.update_yaxes(title_text=label, row=1, col=1)
    finished(figure, 260, legend=False)
    more = finding.count - len(places)
    caption = "The rows are marked." if finding.rows else "The whole log."
    if more > 0:
        caption += f" {more} more places are not shown."
    return figure_html(f"{finding.kind}: {label}", figure, caption)
