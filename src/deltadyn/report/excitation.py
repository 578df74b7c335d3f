"""Section: how well the motion of the fit excites the robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.excitation.result import Excitation
from deltadyn.identification.fit import Fit
from deltadyn.report.html import (
    Columns,
    Section,
    cell,
    figure_html,
    paragraphs,
    percent,
    table_of,
    wide_table,
)
from deltadyn.report.plots import COLOURS, LEFT, Curve, draw, finished, panels
from deltadyn.robot import Robot


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
            path = excitation.motion.p[:, :3]
    if path is not None:
        span = np.ptp(path, axis=0)
        numbers["path_span_m"] = span
        caption = (
            f"The platform covers {span[0]:.3g} x {span[1]:.3g} x {span[2]:.3g} m. Dashed: the "
            "workspace of the robot file, where it names one."
        )
        blocks.append(figure_html("Path of the platform", _paths(fit.robot, path), caption))
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
    caption = f"Standard deviations; the design assumed a residual of {std} N m per axis"
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


def _paths(robot: Robot, path: FloatArray) -> Any:
    """The path from above and from the side, with the workspace."""
    figure = panels(1, 2, titles=("from above", "from the side"), across=0.12)
    work = robot.limits.workspace
    for column in (1, 2):
        # not thinned: the study gives as many points as a picture needs
        curve = Curve("path", path[:, 0], path[:, column], COLOURS[0], width=1)
        draw(figure, curve, column=column, legend=False, points=len(path))
        if work is not None:
            low, high = (-work.radius, work.radius) if column == 1 else (work.z_min, work.z_max)
            figure.add_shape(
                type="circle" if column == 1 else "rect",
                x0=-work.radius,
                x1=work.radius,
                y0=low,
                y1=high,
                line={"color": LEFT, "dash": "dash"},
                row=1,
                col=column,
            )
        anchor, title = (("x", "y (m)"), ("x2", "z (m)"))[column - 1]
        figure.update_xaxes(title_text="x (m)", constrain="domain", row=1, col=column)
        figure.update_yaxes(title_text=title, scaleanchor=anchor, row=1, col=column)
    return finished(figure, 430, legend=False, top=40)
