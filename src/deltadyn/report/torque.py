"""Section: measured torque beside that of the identified model and of the robot file."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltadyn.identification.fit_figures import COLOURS, layout
from deltadyn.pages import Section, figure_html, wide_table
from deltadyn.report.numbers import cell, percent
from deltadyn.validation.page import drawn_curve
from deltadyn.validation.result import Validation

MEASURED, IDENTIFIED, FILE = "#111111", COLOURS[0], COLOURS[1]
POINTS = 5000  # per curve of the picture
HEIGHTS = (0.66, 0.34)  # of torque and residual


def torque_section(found: Validation, file: Validation | None) -> Section:
    """Numbers of all samples per axis, then the curves with zoom."""
    size = found.measured.std(axis=0)
    rows = []
    for k, axis in enumerate(found.robot.axis_names()):
        share = found.rms[k] / size[k] if size[k] > 0 else None
        rows.append(
            (
                axis,
                cell(found.rms[k]),
                "-" if file is None else cell(file.rms[k]),
                cell(size[k]),
                percent(share),
                cell(found.maximum[k]),
                cell(found.mean[k]),
                cell(found.r_squared[k], 5),
                cell(found.fitness[k], 5),
            )
        )
    columns = (
        "axis",
        "RMS identified (N m)",
        "RMS robot file (N m)",
        "torque, std (N m)",
        "identified / torque",
        "largest (N m)",
        "mean (N m)",
        "R^2",
        "fitness (kim2022)",
    )
    band = "as recorded" if found.band is None else f"below {found.band:.3g} Hz"
    about = f"{len(found.t)} samples at {found.rate:.4g} Hz, torques {band}"
    held = ", ".join(found.recordings)
    thin = len(found.t) > POINTS
    drawn = (
        f" The picture shows the extremes of about {POINTS // 2} intervals of the "
        f"{len(found.t)} samples; the numbers above are of all samples."
        if thin
        else " All samples are drawn."
    )
    caption = (
        f"Drag to zoom into a time, double-click to see all; all axes zoom together.{drawn} "
        "The robot file's residual is hidden: click on it in the legend."
    )
    blocks = (
        f"<p>{_text(held)}</p>",
        wide_table(columns, rows, caption=f"Residual on held-out motion: {about}"),
        figure_html("Measured and predicted torque", torque_figure(found, file), caption),
    )
    numbers = {
        "identified": found.as_dict(),
        "robot_file": None if file is None else file.as_dict(),
        "torque_std_Nm": size,
        "drawn_points_per_curve": min(POINTS, len(found.t)),
    }
    return Section("torque", "Measured and predicted torque", blocks, numbers)


def torque_figure(found: Validation, file: Validation | None, points: int = POINTS) -> Any:
    """Two rows per axis: the torques, and the residuals below; one time axis for all."""
    from plotly.subplots import make_subplots

    names = found.robot.axis_names()
    titles = [text for name in names for text in (f"axis {name}: torque", "residual")]
    figure = make_subplots(
        rows=2 * len(names),
        cols=1,
        shared_xaxes=True,
        row_heights=list(HEIGHTS) * len(names),
        subplot_titles=titles,
        vertical_spacing=0.09 / len(names),
    )
    for axis in range(len(names)):
        torques = [("measured", found.measured, MEASURED, "solid")]
        residuals = [("residual, identified", found.residual, IDENTIFIED, "solid")]
        if file is not None:
            torques.append(("robot file", file.torque, FILE, "dot"))
            residuals.append(("residual, robot file", file.residual, FILE, "dot"))
        torques.append(("identified", found.torque, IDENTIFIED, "solid"))
        for row, curves in ((2 * axis + 1, torques), (2 * axis + 2, residuals)):
            for name, values, colour, dash in curves:
                _draw(figure, found, values[:, axis], name, colour, dash, row, axis == 0, points)
            figure.update_yaxes(title_text="N m", row=row, col=1)
    figure.update_xaxes(title_text="time (s)", row=2 * len(names), col=1)
    figure.update_layout(**layout(270 * len(names) + 120), hovermode="x unified")
    figure.update_layout(margin={"t": 75})
    return figure


def _draw(
    figure: Any,
    found: Validation,
    values: Any,
    name: str,
    colour: str,
    dash: str,
    row: int,
    legend: bool,
    points: int,
) -> None:
    import plotly.graph_objects as go

    x, y = drawn_curve(found.t, values, found.starts, points)
    trace = go.Scatter(
        x=x,
        y=y.astype(np.float32),  # half the size of the page; the numbers are not these
        mode="lines",
        name=name,
        legendgroup=name,
        showlegend=legend,
        visible="legendonly" if name == "residual, robot file" else True,
        line={"color": colour, "width": 1.3, "dash": dash},
        hovertemplate="%{y:.4g} N m",
    )
    figure.add_trace(trace, row=row, col=1)


def _text(recordings: str) -> str:
    from html import escape

    return f"Held-out recording: {escape(recordings)}. No sample of it was used in the fit."
