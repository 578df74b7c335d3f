"""Section: what the residual on held-out motion looks like, and what it is put down to."""

from __future__ import annotations

from typing import Any

import numpy as np

from deltadyn.identification.fit_figures import COLOURS, layout
from deltadyn.pages import Section, figure_html, list_html, paragraphs, wide_table
from deltadyn.report.numbers import cell, cells, percent
from deltadyn.validation.page import draw_spectrum, draw_whiteness
from deltadyn.validation.result import Validation

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
