"""Section: measured torque beside that of the identified model and of the robot file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.report.html import Section, figure_html, list_html, paragraphs, wide_table, write_page
from deltadyn.report.numbers import cell, cells, percent
from deltadyn.report.plots import COLOURS, layout
from deltadyn.validation.result import Validation
from deltadyn.validation.validate import Comparison

# The pages of a validation and of a comparison, to open without a network.


BLACK, GREY = "#111111", "#8a9099"
PALETTE = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#bcbd22")
POINTS = 8000  # per curve: more than a screen has columns
ROW = 250  # pixels


def validation_page(found: Validation, path: str | os.PathLike[str]) -> Path:
    """Torques, residual, its autocorrelation and its spectrum, a row per axis."""
    from plotly.subplots import make_subplots

    names = found.robot.axis_names()
    dof = len(names)
    titles = [f"axis {name}: {what}" for name in names for what in ("torque", "residual")]
    titles += ["residual's autocorrelation", "residual's power spectral density, as recorded"]
    figure = make_subplots(
        rows=dof + 1,
        cols=2,
        column_widths=[0.6, 0.4],
        subplot_titles=titles,
        vertical_spacing=0.3 / (dof + 1),
        horizontal_spacing=0.07,
    )
    for axis in range(dof):
        for name, values, color in (
            ("measured", found.measured, BLACK),
            ("predicted", found.torque, PALETTE[0]),
        ):
            _curve(figure, found, values[:, axis], name, color, axis + 1, 1, axis == 0)
        residual = found.residual[:, axis]
        _curve(figure, found, residual, "residual", PALETTE[1], axis + 1, 2, axis == 0)
        figure.update_yaxes(title_text="N m", row=axis + 1)
    figure.update_xaxes(title_text="time (s)", row=dof)
    draw_whiteness(figure, found, dof + 1)
    draw_spectrum(figure, found, dof + 1)
    figure.update_layout(**_layout((dof + 1) * ROW + 80))
    text = f"{found.text}\n\n{found.segment_table}"
    return _write(f"Validation: {found.model}", text, figure, path)


def comparison_page(found: Comparison, path: str | os.PathLike[str]) -> Path:
    """Bars of RMS, fitness and R^2, then torques and residuals of all models, a row per axis."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    first = found.validations[found.best]
    names = first.robot.axis_names()
    dof = len(names)
    colors = {name: PALETTE[k % len(PALETTE)] for k, name in enumerate(found.ranking)}
    wide: list[list[Any]] = [[{"colspan": 3}, None, None, {"colspan": 3}, None, None]] * dof
    bars: list[Any] = [{"colspan": 2}, None, {"colspan": 2}, None, {"colspan": 2}, None]
    titles = ["RMS of the residual (N m)", "fitness (kim2022 eq. 41)", "R^2"]
    titles += [f"axis {name}: {what}" for name in names for what in ("torque", "residual")]
    figure = make_subplots(
        rows=dof + 1,
        cols=6,
        specs=[bars, *wide],
        subplot_titles=titles,
        vertical_spacing=0.3 / (dof + 1),
        horizontal_spacing=0.05,
    )
    axes = [f"axis {name}" for name in names]
    for name in found.ranking:
        validation = found.validations[name]
        for column, field in ((1, "rms"), (3, "fitness"), (5, "r_squared")):
            values = getattr(validation, field)
            bar = go.Bar(
                x=axes,
                y=values,
                name=name,
                legendgroup=name,
                showlegend=column == 1,
                marker_color=colors[name],
            )
            figure.add_trace(bar, row=1, col=column)
    for axis in range(dof):
        row = axis + 2
        _curve(figure, first, first.measured[:, axis], "measured", BLACK, row, 1, axis == 0)
        for name in found.ranking:
            item, color = found.validations[name], colors[name]
            _curve(figure, item, item.torque[:, axis], name, color, row, 1, False)
            _curve(figure, item, item.residual[:, axis], name, color, row, 4, False)
        figure.update_yaxes(title_text="N m", row=row)
    figure.update_xaxes(title_text="time (s)", row=dof + 1)
    figure.update_layout(**_layout((dof + 1) * ROW + 80), barmode="group")
    return _write("Comparison of models", found.text, figure, path)


def _curve(
    figure: Any,
    found: Validation,
    values: FloatArray,
    name: str,
    color: str,
    row: int,
    column: int,
    legend: bool,
) -> None:
    import plotly.graph_objects as go

    x, y = drawn_curve(found.t, values, found.starts)
    line = {"color": color, "width": 1.4}
    trace = go.Scattergl if len(x) > 4 * POINTS else go.Scatter
    figure.add_trace(
        trace(x=x, y=y, mode="lines", name=name, legendgroup=name, showlegend=legend, line=line),
        row=row,
        col=column,
    )


def drawn_curve(
    t: FloatArray, values: FloatArray, starts: Sequence[int], points: int = POINTS
) -> tuple[FloatArray, FloatArray]:
    """A curve of about `points` samples, with a gap between stretches.

    Recordings that begin anew follow one another.
    """
    ends = [*starts[1:], len(t)]
    x: list[FloatArray] = []
    y: list[FloatArray] = []
    last = -np.inf
    for start, stop in zip(starts, ends, strict=True):
        share = max(16, points * (stop - start) // len(t))
        part, curve = thinned(t[start:stop], values[start:stop], share)
        shift = 0.0 if part[0] > last else last - part[0]
        part = part + shift
        last = float(part[-1])
        x += [part, np.array([np.nan])]
        y += [curve, np.array([np.nan])]
    return np.concatenate(x[:-1]), np.concatenate(y[:-1])


def thinned(t: FloatArray, values: FloatArray, points: int) -> tuple[FloatArray, FloatArray]:
    """At most about `points` samples of a curve: the lowest and the highest of every bin."""
    if len(t) <= points:
        return t, values
    bins = points // 2
    edges = np.linspace(0, len(t), bins + 1).astype(int)
    rows = [
        start + extreme
        for start, stop in pairwise(edges)
        for extreme in sorted({int(values[start:stop].argmin()), int(values[start:stop].argmax())})
    ]
    return t[rows], values[rows]


def draw_whiteness(figure: Any, found: Validation, row: int) -> None:
    """The residual's autocorrelation into the first column of a row."""
    import plotly.graph_objects as go

    white = found.diagnosis.whiteness
    for axis, name in enumerate(found.robot.axis_names()):
        trace = go.Scatter(
            x=1e3 * white.lags,
            y=white.autocorrelation[:, axis],
            mode="lines",
            name=f"axis {name}",
            legendgroup=f"axis {name}",
            line={"color": PALETTE[2 + axis]},
        )
        figure.add_trace(trace, row=row, col=1)
    samples = float(
        white.effective[0] * white.correlation_time[0] / (white.lags[1] - white.lags[0])
    )
    bound = 1.96 / np.sqrt(samples)  # of white noise with as many samples
    for side in (-bound, bound):
        figure.add_hline(y=side, line={"color": GREY, "dash": "dot"}, row=row, col=1)
    figure.update_xaxes(title_text="lag (ms)", row=row, col=1)


def draw_spectrum(figure: Any, found: Validation, row: int) -> None:
    """The residual's power spectral density into the second column of a row."""
    import plotly.graph_objects as go

    spectrum = found.diagnosis.spectrum
    for axis, name in enumerate(found.robot.axis_names()):
        trace = go.Scatter(
            x=spectrum.frequency[1:],
            y=spectrum.density[1:, axis],
            mode="lines",
            name=f"axis {name}",
            legendgroup=f"axis {name}",
            showlegend=False,
            line={"color": PALETTE[2 + axis]},
        )
        figure.add_trace(trace, row=row, col=2)
    shown = spectrum.density[1:][spectrum.density[1:] > 0]
    ends = [float(shown.min()), float(shown.max())] if shown.size else [0.1, 1.0]
    for text, hertz, dash in (
        ("end of the motion's band", spectrum.motion, "dash"),
        ("end of the compared band", found.band, "dot"),
    ):
        if hertz is not None and hertz > 0:
            line = {"color": GREY, "dash": dash}
            mark = go.Scatter(x=[hertz, hertz], y=ends, mode="lines", name=text, line=line)
            figure.add_trace(mark, row=row, col=2)
    figure.update_xaxes(title_text="frequency (Hz)", type="log", row=row, col=2)
    figure.update_yaxes(title_text="(N m)^2/Hz", type="log", exponentformat="power", row=row, col=2)


def _layout(height: int) -> dict[str, Any]:
    return {
        "template": "plotly_white",
        "height": height,
        "legend": {"orientation": "h", "x": 0.0, "y": 1.04, "yanchor": "bottom"},
        "margin": {"l": 60, "r": 30, "t": 110, "b": 50},
    }


def _write(title: str, text: str, figure: Any, path: str | os.PathLike[str]) -> Path:
    drawing = figure.to_html(full_html=False, include_plotlyjs=True)
    return write_page(path, title, [f"<pre>{escape(text)}</pre>", drawing])


# Section: what the residual on held-out motion looks like, and what it is put down to.


BINS = 61  # of a histogram at most, over the whole range of an axis


def residual_section(found: Validation) -> Section:
    """Words, autocorrelation and spectrum, then the histogram and RMS by segment."""
    diagnosis = found.diagnosis
    names = found.robot.axis_names()
    rows = [
        (segment.name, segment.rule, percent(segment.share), *cells(segment.metrics.rms))
        for segment in found.segments
    ]
    columns = ("part of the motion", "which samples", "share", *(f"axis {n} (N m)" for n in names))
    white = [
        (
            name,
            cell(diagnosis.whiteness.probability[k]),
            "not ruled out" if diagnosis.whiteness.white[k] else "ruled out",
            cell(1e3 * diagnosis.whiteness.correlation_time[k]),
        )
        for k, name in enumerate(names)
    ]
    blocks = (
        paragraphs(found.verdict),
        list_html("Likely causes", [item.sentence for item in diagnosis.causes], level=3),
        figure_html("Autocorrelation and spectrum", _curves(found), _CURVES),
        wide_table(
            ("axis", "probability", "white noise is", "correlation time (ms)"),
            white,
            caption="White noise: Bartlett's test within the compared band",
        ),
        figure_html("Histogram of the residual by part of the motion", _histogram(found), _BINS),
        wide_table(columns, rows, caption="RMS of the residual by part of the motion"),
    )
    numbers = {
        "diagnosis": diagnosis.as_dict(),
        "segments": {item.name: item.as_dict() for item in found.segments},
        "autocorrelation": {
            "lag_s": diagnosis.whiteness.lags,
            "values": diagnosis.whiteness.autocorrelation,
        },
    }
    return Section("residual", "Residual", blocks, numbers)


_CURVES = (
    "Left: autocorrelation with the 95 % bounds of white noise (dotted). Right: the residual as "
    "recorded, not band-limited, with the ends of the motion's band and of the compared band."
)
_BINS = "Density of all samples of a part; the parts overlap where their rules do."


def _curves(found: Validation) -> Any:
    from plotly.subplots import make_subplots

    titles = ("autocorrelation", "power spectral density")
    figure = make_subplots(rows=1, cols=2, subplot_titles=titles, horizontal_spacing=0.12)
    draw_whiteness(figure, found, 1)
    draw_spectrum(figure, found, 1)
    figure.update_layout(**layout(400))
    figure.update_layout(margin={"t": 75})
    return figure


def _histogram(found: Validation) -> Any:
    """A step curve per part of the motion, a panel per axis."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    names = found.robot.axis_names()
    residual = found.residual
    bins = int(np.clip(np.sqrt(len(residual)), 9, BINS)) | 1  # odd: one bin about 0
    titles = [f"axis {name}" for name in names]
    figure = make_subplots(rows=1, cols=len(names), subplot_titles=titles, horizontal_spacing=0.06)
    for axis in range(len(names)):
        most = float(np.abs(residual[:, axis]).max()) or 1.0
        edges = np.linspace(-most, most, bins + 1)
        for number, segment in enumerate(found.segments):
            part = residual[segment.mask[:, axis], axis]
            if len(part) < 2:
                continue
            height, _ = np.histogram(part, edges, density=True)
            trace = go.Scatter(
                x=(edges[:-1] + edges[1:]) / 2,
                y=height,
                mode="lines",
                name=segment.name,
                legendgroup=segment.name,
                showlegend=not any(t.name == segment.name for t in figure.data),
                line={"shape": "hvh", "width": 1.4, "color": COLOURS[number],
                      "dash": ("solid", "dash", "dot", "dashdot")[number % 4]},
            )  # fmt: skip
            figure.add_trace(trace, row=1, col=axis + 1)
        figure.update_xaxes(title_text="residual (N m)", row=1, col=axis + 1)
    figure.update_yaxes(title_text="density, 1/(N m)", row=1, col=1)
    figure.update_layout(**layout(330))
    figure.update_layout(margin={"t": 75})
    return figure


MEASURED, IDENTIFIED, FILE = "#111111", COLOURS[0], COLOURS[1]
TORQUE_POINTS = 5000  # per curve of the picture
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
    thin = len(found.t) > TORQUE_POINTS
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
        "drawn_points_per_curve": min(TORQUE_POINTS, len(found.t)),
    }
    return Section("torque", "Measured and predicted torque", blocks, numbers)


def torque_figure(found: Validation, file: Validation | None, points: int = TORQUE_POINTS) -> Any:
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
