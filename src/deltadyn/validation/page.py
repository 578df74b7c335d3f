"""The pages of a validation and of a comparison, to open without a network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.pages import write_page
from deltadyn.validation.comparison import Comparison
from deltadyn.validation.result import Validation

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
