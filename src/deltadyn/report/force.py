"""Force on the platform and contacts of a log: its page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.force.contact import PICK
from deltadyn.force.offline import ForceLog
from deltadyn.report.html import (
    Columns,
    First,
    Section,
    figure_html,
    table_of,
    write_sections,
)
from deltadyn.report.plots import COLOURS, Curve, draw, draw_points, extreme_rows, finished, panels

POINTS = 12_000
AXES = {2: ("x", "z"), 3: ("x", "y", "z")}  # of the force, by its components
ENOUGH = 600.0  # s of an empty run


def force_page(log: ForceLog, path: str | os.PathLike[str]) -> Path:
    """Write the page of a log's contacts."""
    about = f"{len(log.t)} samples"
    title = f"Force in {log.recording.name}"
    return write_sections(path, title, about, [_first(log).html], [force_section(log)])


def _first(log: ForceLog) -> First:
    """Whether something touched the robot, the largest force, and what to do next."""
    count, seconds = len(log.contacts), float(log.t[-1] - log.t[0])
    words = "No contact" if not count else "1 contact" if count == 1 else f"{count} contacts"
    rate = log.tare.options.false_alarms
    sentence = (
        f"{rate * seconds / 3600:.2g} false alarms are expected in {seconds:.0f} s of motion."
    )
    largest = float(np.linalg.norm(log.force[:, :3], axis=1).max())
    numbers = [
        (str(count), f"alarms; {rate:g} false per hour of motion is allowed"),
        (f"{largest:.0f} N", "largest force on the platform"),
        (f"{float(np.median(log.std[:, :3])):.1f} N", "median standard deviation of a component"),
    ]
    steps = []
    if any(item.kind == PICK for item in log.contacts):
        steps.append("Weigh picks with `deltadyn payload`.")
    if log.tare.seconds < ENOUGH:
        steps.append(
            f"Record a longer empty run: {log.tare.seconds:.0f} s of motion set the limit, "
            f"{ENOUGH:.0f} s are better."
        )
    figure = figure_html("Force on the platform", force_figure(log), _FORCE)
    return First("care" if count else "good", words, sentence, numbers, figure, steps)


def force_section(log: ForceLog) -> Section:
    """Contacts, and the statistic beside its limit."""
    blocks = []
    if log.contacts:
        blocks.append(table_of(list(log.contacts), _CONTACTS, "Contacts"))
    blocks.append(figure_html("Statistic", _statistic(log), _STATISTIC))
    return Section("force", "External force", tuple(blocks), log.as_dict())


_CONTACTS: Columns = {
    "time (s)": lambda item: f"{item.time:.3f}",
    "kind": lambda item: item.kind,
    "where": lambda item: item.where,
    "force (N)": lambda item: ", ".join(f"{x:.0f}" for x in item.force[:3]),
    "std (N)": lambda item: ", ".join(f"{x:.0f}" for x in item.std[:3]),
}
_FORCE = (
    "External force in the base frame; marks are alarms. A force smaller than the threshold raises "
    "none, whatever its direction. A load that hangs on the platform pulls down."
)
_STATISTIC = (
    "The largest residual torque of an axis, less what its friction holds at rest, in deviations. "
    "An alarm begins at the line."
)


def force_figure(log: ForceLog) -> Any:
    """Force over time with its alarms."""
    rows = extreme_rows(log.force[:, :3], POINTS)
    figure = panels()
    for k, axis in enumerate(AXES[min(log.force.shape[1], 3)]):
        curve = Curve(f"F_{axis}", log.t[rows], log.force[rows, k], COLOURS[k])
        draw(figure, curve, points=len(rows))
    low = extreme_rows(log.threshold[:, None], POINTS)
    draw(figure, Curve("threshold", log.t[low], log.threshold[low], COLOURS[4]), points=len(low))
    if log.contacts:
        when = [item.time for item in log.contacts]
        size = [float(np.linalg.norm(item.force[:3])) for item in log.contacts]
        draw_points(figure, when, size, COLOURS[3], name="alarm, |F|", symbol="x")
    return finished(figure, 380, x="time (s)", y="force (N)")


def _statistic(log: ForceLog) -> Any:
    rows = extreme_rows(log.statistic[:, None], POINTS)
    figure = panels()
    draw(figure, Curve("z", log.t[rows], log.statistic[rows], COLOURS[0]), points=len(rows))
    ends = np.array([log.t[0], log.t[-1]])
    draw(figure, Curve("limit", ends, np.full(2, log.limit), COLOURS[1]), points=2)
    return finished(figure, 260, x="time (s)", y="z")
