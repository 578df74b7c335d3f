"""The page of a fleet: verdict, how every parameter spreads, residuals, provenance."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.report.html import figures_html, list_html, table_html, write_page

if TYPE_CHECKING:
    from deltadyn.fleet.fleet import Fleet

BLUE, RED, GREY = "#1f5fa8", "#b00020", "#8a9099"
COLUMNS = 4  # of small figures


def fleet_page(found: Fleet, path: str | os.PathLike[str]) -> Path:
    """Write the page."""
    band = "all frequencies" if found.band is None else f"up to {found.band:.3g} Hz"
    blocks = [
        f"<p><strong>{escape(found.status)}</strong></p>",
        list_html("Robots that stand out", [str(item) for item in found.outliers]),
        *figures_html([("Parameters, robot by robot", _figure(found), _CAPTION)]),
        f"<h2>Parameters</h2>{_parameters(found)}",
        f"<h2>Residual RMS, {band}</h2>{_residuals(found)}",
        f"<h2>Data</h2>{_data(found)}",
    ]
    return write_page(path, f"Fleet of {len(found.members)} robots: {found.robot.name}", blocks)


_CAPTION = (
    "Each robot's value with its 95 % interval; red where it stands out. The line is the fleet's "
    "mean, the band what robots differ by beyond the noise of their logs (one deviation)."
)


def _figure(found: Fleet) -> Any:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    names = list(found.members)
    rows = -(-len(found.spreads) // COLUMNS)
    titles = [f"{item.name} ({item.unit})" for item in found.spreads]
    figure = make_subplots(rows=rows, cols=COLUMNS, subplot_titles=titles)
    for place, item in enumerate(found.spreads):
        where = {"row": place // COLUMNS + 1, "col": place % COLUMNS + 1}
        odd = {o.member for o in found.outliers if o.parameter == item.name}
        width = np.where(np.isfinite(item.std), 1.96 * item.std, 0.0)
        points = go.Scatter(
            x=names,
            y=item.values,
            error_y={"type": "data", "array": width, "color": GREY},
            mode="markers",
            marker={"size": 8, "color": [RED if name in odd else BLUE for name in names]},
            showlegend=False,
        )
        figure.add_trace(points, **where)
        figure.add_hline(y=item.mean, line_color=GREY, **where)
        low, high = item.mean - item.between, item.mean + item.between
        figure.add_hrect(y0=low, y1=high, fillcolor=BLUE, opacity=0.1, line_width=0, **where)
    figure.update_layout(template="plotly_white", height=230 * rows + 60, margin={"t": 40})
    return figure


def _parameters(found: Fleet) -> str:
    columns = ("parameter", "mean", "std of it", "between robots", "p of equal robots", "unit")
    rows = [
        (
            item.name,
            f"{item.mean:.4g}",
            f"{item.mean_std:.2g}",
            f"{item.between:.2g}",
            f"{item.p_value:.2g}",
            item.unit,
        )
        for item in found.spreads
    ]
    return table_html(columns, rows)


def _residuals(found: Fleet) -> str:
    axes = found.robot.axis_names()
    fits = {**found.members, "all together": found.common}
    rows = [(name, *(f"{value:.3g}" for value in fit.residual)) for name, fit in fits.items()]
    return table_html(("robot", *(f"axis {axis} (N m)" for axis in axes)), rows)


def _data(found: Fleet) -> str:
    rows = [
        (name, source.file or source.name, str(source.samples), f"{source.duration:.4g}")
        for name, fit in found.members.items()
        for source in fit.data
    ]
    return table_html(("robot", "recording", "samples", "duration (s)"), rows)
