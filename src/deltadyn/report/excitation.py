"""An excitation: its page, and the section of a report on how well the motion excites the robot."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.excitation.result import Excitation
from deltadyn.excitation.result import percent as share_text
from deltadyn.identification.fit import Fit
from deltadyn.identification.meanings import meaning
from deltadyn.report.html import (
    Columns,
    First,
    Section,
    cell,
    figure_html,
    list_html,
    paragraphs,
    percent,
    table_of,
    text_section,
    wide_table,
    write_sections,
)
from deltadyn.report.plots import (
    COLOURS,
    LEFT,
    Curve,
    colour,
    draw,
    finished,
    panels,
    time_figure,
)
from deltadyn.report.sizing import LIMITS
from deltadyn.robot import Robot

WELL, WEAK = 0.1, 0.3  # predicted deviation over the value: well known; hardly known
FIRST_HEIGHT = 340  # pixels


def excitation_page(found: Excitation, path: str | os.PathLike[str]) -> Path:
    """How well the motion will tell every parameter, its limits, and the motion itself."""
    about = (
        f"{found.periods} periods of {found.series.period:.4g} s, {found.series.harmonics} "
        f"harmonics; model {found.model}, criterion {found.criterion}."
    )
    noise = ", ".join(f"{value:.3g}" for value in found.noise.std)
    unit = found.robot.axis_unit("tau")
    told = f"Predicted standard deviations for residuals of {noise} {unit} per axis"
    sections = [
        Section(
            "parameters",
            "Parameters",
            (
                paragraphs(found.status),
                table_of(found.parameters, _predicted(found.robot.linear), told),
                list_html("Left out", [found.unidentifiable] if found.unidentifiable else []),
            ),
        ),
        Section("limits", "Limits", (table_of(found.report.limits, LIMITS, "Limits"),)),
        Section("motion", "The motion", _motion_blocks(found)),
        text_section(str(found)),
    ]
    title = f"Excitation: {found.robot.name}"
    return write_sections(path, title, about, [_first(found).html], sections)


def _first(found: Excitation) -> First:
    shares = {item.name: item.relative for item in found.parameters if item.relative is not None}
    well = sum(share < WELL for share in shares.values())
    weak = [name for name, share in shares.items() if share > WEAK]
    worst = max(shares, key=lambda name: shares[name])
    kind = "care" if weak or found.unidentifiable else "good"
    head = (
        f"The motion tells {len(weak)} of {len(shares)} parameters only poorly"
        if weak
        else "Some parameters cannot be identified"
        if found.unidentifiable
        else "The motion tells all parameters"
    )
    sentence = found.unidentifiable or (
        f"{well} of the {len(shares)} parameters that the robot file has are predicted to better "
        f"than {percent(WELL)}; the worst is {worst}, {meaning(worst, found.robot.linear)}."
    )
    numbers = [
        (share_text(shares[worst]), f"of its value: predicted deviation of {worst}, the worst"),
        (
            f"{found.condition_number:.3g}",
            f"condition number; {found.before.condition_number:.3g} of a random motion",
        ),
        (f"{found.motion.duration:.3g} s", "with the ways in and out of rest"),
    ]
    steps = [
        "Run the table on the controller, and log angles and torques at 1 kHz or more.",
        "Then fit: `deltadyn identify ROBOT LOG`.",
    ]
    if weak:
        steps.insert(0, "Take a longer `--duration`, or give the search more `--time-limit`.")
    if found.skipped:
        names = ", ".join(name.replace("_", " ") for name in found.skipped)
        steps.insert(0, f"Check by hand: the robot file names no {names}.")
    path = found.robot.in_space(found.motion.p)
    figure = _paths(found.robot, path, FIRST_HEIGHT)
    return First(
        kind, head, sentence, numbers, figure_html("Path", figure, _span(found.robot, path)), steps
    )


def _predicted(linear: bool) -> Columns:
    """Columns of the table; `linear` where carriages move the robot."""
    return {
        "parameter": lambda item: item.name,
        "meaning": lambda item: meaning(item.name, linear),
        "robot file": lambda item: f"{item.value:.4g}",
        "random motion": lambda item: cell(item.before),
        "this motion": lambda item: cell(item.std),
        "of the value": lambda item: share_text(item.relative),
        "unit": lambda item: item.unit,
    }


_OF_AXES = "Of the axes, with the ways in and out of rest."


def _motion_blocks(found: Excitation) -> tuple[str, ...]:
    """Angles and rates of the axes over time."""
    motion, axes = found.motion, found.robot.axis_names()
    blocks = []
    word = "Place" if found.robot.linear else "Angle"
    rows = ((word, "q"), ("Rate", "qd"), ("Acceleration", "qdd"))
    for name, quantity in rows:
        values = getattr(motion, quantity)
        title, label = f"{name}s", f"{name.lower()} ({found.robot.axis_unit(quantity)})"
        curves = [
            Curve(f"axis {axis}", motion.t, values[:, k], colour(k), width=1.6)
            for k, axis in enumerate(axes)
        ]
        blocks.append(figure_html(title, time_figure(curves, label), _OF_AXES))
    return tuple(blocks)


def excitation_section(
    fit: Fit, excitation: Excitation | None, path: FloatArray | None
) -> Section | None:
    """Condition numbers, predicted and achieved deviations, the path; None where none is known."""
    blocks: list[str] = []
    numbers: dict[str, Any] = {}
    known = fit.identifiability
    if known is not None:
        numbers["condition_number"] = known.condition_number
        numbers["raw_condition_number"] = known.raw_condition_number
        blocks.append(
            f"<p>The data of the fit have the condition number {known.condition_number:.3g} "
            "(rows weighted, columns of unit length). It says how alike the parameters look in "
            "the torque; their deviations say how well they are known.</p>"
        )
    if excitation is not None:
        blocks += _designed(fit, excitation)
        numbers["design"] = excitation.as_dict()
        numbers["deviations"] = deviations(fit, excitation)
        if path is None:
            path = excitation.robot.in_space(excitation.motion.p)
    if path is not None:
        numbers["path_span_m"] = np.ptp(path, axis=0)
        blocks.append(
            figure_html("Path of the platform", _paths(fit.robot, path), _span(fit.robot, path))
        )
    if not blocks:
        return None
    return Section("excitation", "Excitation quality", tuple(blocks), numbers)


def deviations(fit: Fit, excitation: Excitation) -> list[dict[str, Any]]:
    """Predicted and achieved standard deviation of the parameters that both know."""
    achieved = dict(zip(fit.names, fit.std.tolist(), strict=True))
    return [
        {
            "name": item.name,
            "unit": item.unit,
            "predicted": item.std,
            "achieved": achieved[item.name],
            "ratio": achieved[item.name] / item.std if item.std > 0 else None,
        }
        for item in excitation.parameters
        if item.name in achieved
    ]


def _designed(fit: Fit, excitation: Excitation) -> list[str]:
    ways = (excitation.before, excitation.prediction, fit.identifiability)
    rows = [
        (words, *(cell(None if way is None else getattr(way, field), 4) for way in ways))
        for words, field in (
            ("rows weighted, columns normalised", "condition_number"),
            ("raw, depends on units", "raw_condition_number"),
        )
    ]
    columns = ("condition number", "a random motion", "the design", "the data of the fit")
    told = deviations(fit, excitation)
    std = ", ".join(f"{value:.3g}" for value in excitation.noise.std)
    unit = excitation.robot.axis_unit("tau")
    caption = f"Standard deviations; the design assumed a residual of {std} {unit} per axis"
    bound = [
        f"{limit.name}{f' of axis {limit.axis}' if limit.axis else ''} ({percent(limit.use)})"
        for limit in excitation.binding
    ]
    binding = f" Bound by {', '.join(bound)}." if bound else ""
    return [
        paragraphs(
            f"Designed for the model {excitation.model}: {excitation.periods} periods of "
            f"{excitation.series.period:.4g} s, {excitation.series.harmonics} harmonics. "
            f"{excitation.status}{binding}"
        ),
        wide_table(columns, rows, caption="Condition numbers"),
        table_of(told, _DEVIATIONS, caption) if told else "",
    ]


_DEVIATIONS: Columns = {
    "parameter": lambda row: row["name"],
    "predicted": lambda row: cell(row["predicted"]),
    "achieved": lambda row: cell(row["achieved"]),
    "achieved / predicted": lambda row: cell(row["ratio"]),
    "unit": lambda row: row["unit"],
}


def _span(robot: Robot, path: FloatArray) -> str:
    axes = [0, 2] if robot.planar else [0, 1, 2]
    span = " x ".join(f"{size:.3g}" for size in np.ptp(path[:, axes], axis=0))
    return (
        f"The platform covers {span} m. Dashed: the workspace of the robot file, where it names "
        "one."
    )


def _paths(robot: Robot, path: FloatArray, height: int = 430) -> Any:
    """The path from above and from the side, with the workspace; in a plane from the side."""
    views = {"from above": 1, "from the side": 2}  # and what goes up in it
    if robot.planar:
        del views["from above"]
    figure = panels(1, len(views), titles=tuple(views), across=0.12)
    work = robot.limits.workspace
    for column, up in enumerate(views.values(), 1):
        # not thinned: the study gives as many points as a picture needs
        curve = Curve("path", path[:, 0], path[:, up], COLOURS[0], width=1)
        draw(figure, curve, column=column, legend=False, points=len(path))
        if work is not None:
            low, high = (-work.radius, work.radius) if up == 1 else (work.z_min, work.z_max)
            figure.add_shape(
                type="circle" if up == 1 else "rect",
                x0=-work.radius,
                x1=work.radius,
                y0=low,
                y1=high,
                line={"color": LEFT, "dash": "dash"},
                row=1,
                col=column,
            )
        anchor, title = "x" if column == 1 else "x2", f"{'xyz'[up]} (m)"
        figure.update_xaxes(title_text="x (m)", constrain="domain", row=1, col=column)
        figure.update_yaxes(title_text=title, scaleanchor=anchor, row=1, col=column)
    return finished(figure, height, legend=False, top=40)
