"""Section: how well the motion of the fit excites the robot."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.excitation.result import Excitation
from deltadyn.identification.fit import Fit
from deltadyn.report.html import Section, figure_html, wide_table
from deltadyn.report.numbers import cell, percent
from deltadyn.report.plots import COLOURS, LEFT, layout
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
    before, after = excitation.before, excitation.prediction
    achieved = fit.identifiability
    rows = [
        (
            "rows weighted, columns normalised",
            cell(before.condition_number, 4),
            cell(after.condition_number, 4),
            "-" if achieved is None else cell(achieved.condition_number, 4),
        ),
        (
            "raw, depends on units",
            cell(before.raw_condition_number, 4),
            cell(after.raw_condition_number, 4),
            "-" if achieved is None else cell(achieved.raw_condition_number, 4),
        ),
    ]
    columns = ("condition number", "a random motion", "the design", "the data of the fit")
    told = [
        (
            row["name"],
            cell(row["predicted"]),
            cell(row["achieved"]),
            cell(row["ratio"]),
            row["unit"],
        )
        for row in deviations(fit, excitation)
    ]
    std = ", ".join(f"{value:.3g}" for value in excitation.noise.std)
    caption = f"Standard deviations; the design assumed a residual of {std} N m per axis"
    bound = [
        f"{limit.name}{f' of axis {limit.axis}' if limit.axis else ''} ({percent(limit.use)})"
        for limit in excitation.binding
    ]
    binding = f" Bound by {', '.join(bound)}." if bound else ""
    return [
        f"<p>Designed for the model {escape(excitation.model)}: {excitation.periods} periods of "
        f"{excitation.series.period:.4g} s, {excitation.series.harmonics} harmonics. "
        f"{escape(excitation.status)}{escape(binding)}</p>",
        wide_table(columns, rows, caption="Condition numbers"),
        wide_table(("parameter", "predicted", "achieved", "achieved / predicted", "unit"), told,
                   caption=caption) if told else "",
    ]  # fmt: skip


def _paths(robot: Robot, path: FloatArray) -> Any:
    """The path from above and from the side, with the workspace."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    titles = ("from above", "from the side")
    figure = make_subplots(rows=1, cols=2, subplot_titles=titles, horizontal_spacing=0.12)
    work = robot.limits.workspace
    for column, second in ((1, 1), (2, 2)):
        figure.add_trace(
            go.Scatter(
                x=path[:, 0].astype(np.float32),
                y=path[:, second].astype(np.float32),
                mode="lines",
                line={"color": COLOURS[0], "width": 1},
                showlegend=False,
            ),
            row=1,
            col=column,
        )
        if work is not None:
            shape = {"type": "circle"} if column == 1 else {"type": "rect"}
            low, high = (-work.radius, work.radius) if column == 1 else (work.z_min, work.z_max)
            figure.add_shape(
                **shape,
                x0=-work.radius,
                x1=work.radius,
                y0=low,
                y1=high,
                line={"color": LEFT, "dash": "dash"},
                row=1,
                col=column,
            )
        figure.update_xaxes(title_text="x (m)", constrain="domain", row=1, col=column)
        anchor = "x" if column == 1 else "x2"
        figure.update_yaxes(
            title_text=("y (m)", "z (m)")[column - 1], scaleanchor=anchor, row=1, col=column
        )
    figure.update_layout(**layout(430, legend=False))
    figure.update_layout(margin={"t": 40})
    return figure
