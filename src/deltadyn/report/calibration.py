"""A calibration's page: what is known, what is left over the workspace, and what did not fit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.calibration.result import MODELS, Calibration
from deltadyn.report.html import (
    Columns,
    First,
    Section,
    figure_html,
    items_html,
    table_of,
    text_section,
    write_sections,
)
from deltadyn.report.plots import COLOURS, draw_points, finished, panels


def calibration_page(result: Calibration, path: str | os.PathLike[str]) -> Path:
    """Write the page of a calibration."""
    sections = [calibration_section(result), _parameters(result), _poses(result)]
    return write_sections(
        path,
        f"Calibration of {result.nominal.name}",
        MODELS[result.model],
        [_first(result).html],
        [*sections, text_section(str(result))],
    )


def _first(result: Calibration) -> First:
    sizes = result.field.as_dict()
    care = bool(result.findings or result.misfits or not result.complete)
    kind = "care" if care else "good"
    head = "Calibrated, with notes" if care else "Calibrated"
    numbers = [
        (f"{sizes['before_rms_mm']:.3f} mm", "position deviation over the workspace before (rms)"),
        (f"{sizes['after_rms_mm']:.3f} mm", "standard deviation after (rms)"),
        (f"{sizes['after_worst_mm']:.3f} mm", "the same at the worst point"),
    ]
    steps = [str(item) for item in result.findings]
    steps += [f"Measure again or leave out: {item}." for item in result.misfits]
    steps.append("Use the robot file of this calibration from here on.")
    figure = figure_html("Deviation over the workspace", field_figure(result), _FIELD)
    return First(kind, head, result.status + ".", numbers, figure, steps)


def calibration_section(result: Calibration) -> Section:
    """What the data see, which models were tried, and the known combinations."""
    told = [f"{result.status}.", f"Data: {result.visible}."]
    blocks = [
        items_html([*told, *(f"{item}." for item in result.additions)]),
        table_of(list(result.trials), _MODELS, "Models, from small to large"),
        table_of(list(result.combinations), _KNOWN, "Known combinations, with 95 % intervals"),
    ]
    return Section("calibration", "Calibration", tuple(blocks), result.as_dict())


def _parameters(result: Calibration) -> Section:
    return Section(
        "parameters",
        "Parameters one by one",
        (table_of(list(result.table), _KNOWN, "Deviations from the robot file"),),
    )


def _poses(result: Calibration) -> Section:
    blocks = []
    if result.misfits:
        blocks.append(table_of(list(result.misfits), _MISFITS, "Poses that do not fit"))
    blocks.append(figure_html("Residuals", _residuals(result), _RESIDUALS))
    return Section("poses", "Poses", tuple(blocks))


_MODELS: Columns = {
    "model": lambda item: MODELS[item.model],
    "free": lambda item: str(item.free),
    "residual (mm)": lambda item: f"{item.rms * 1e3:.4f}",
    "left-out places (mm)": lambda item: f"{item.held_out * 1e3:.4f}",
}
_KNOWN: Columns = {
    "what": lambda item: item.words,
    "deviation": lambda item: f"{item.shown()[0]:+.4f}",
    "± (95 %)": lambda item: f"{item.shown()[1]:.4f}",
    "unit": lambda item: item.shown()[2],
    "known from": lambda item: "measurement" if item.known else "tolerance",
}
_MISFITS: Columns = {
    "pose": lambda item: item.pose,
    "kind": lambda item: item.kind,
    "off (mm)": lambda item: f"{item.off * 1e3:.3f}",
}
_FIELD = (
    "Seen from above: what the robot file was off by (left), and the standard deviation that is "
    "left (right), in mm, at points spread over the workspace."
)
_RESIDUALS = "Distance of every measured point from the calibrated robot."


def field_figure(result: Calibration) -> Any:
    """The error field from above, before and after, each with its own scale of colours."""
    field = result.field
    figure = panels(1, 2, titles=("before (mm)", "after (mm)"), across=0.2)
    _draw_field(figure, field.points, field.before * 1e3, 1, 0.41)
    _draw_field(figure, field.points, field.after * 1e3, 2, 1.01)
    figure.update_yaxes(scaleanchor="x", row=1, col=1)
    figure.update_yaxes(scaleanchor="x2", row=1, col=2)
    return finished(figure, 380, legend=False, x="x (mm)", y="y (mm)", top=40, right=70)


def _draw_field(
    figure: Any, points: FloatArray, values: FloatArray, column: int, bar: float
) -> None:
    import plotly.graph_objects as go

    marker = {
        "size": 7,
        "color": values,
        "colorscale": "Viridis",
        "colorbar": {"x": bar, "thickness": 12},
    }
    trace = go.Scatter(
        x=points[:, 0] * 1e3,
        y=points[:, 1] * 1e3,
        mode="markers",
        marker=marker,
        text=[
            f"z {z * 1e3:.0f} mm: {value:.4g} mm"
            for z, value in zip(points[:, 2], values, strict=True)
        ],
        showlegend=False,
    )
    figure.add_trace(trace, row=1, col=column)


def _residuals(result: Calibration) -> Any:
    figure = panels()
    for index, item in enumerate(result.solution.measured):
        size = np.linalg.norm(result.residuals(index), axis=1) * 1e3
        names: list[Any] = list(item.names) if index == 0 else list(range(1, len(size) + 1))
        draw_points(figure, names, size, COLOURS[index], name=item.kind)
    return finished(figure, 300, x="pose", y="residual (mm)")
