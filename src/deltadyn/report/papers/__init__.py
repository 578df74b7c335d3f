"""Pages of the reproductions: a paper's figures, tables, statements and checks in one HTML file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from deltadyn.arrays import FloatArray
from deltadyn.report.html import BAR, figures_html, list_html, write_page
from deltadyn.reproduce.result import Reproduction, Table

PATH_POINTS = 2000


@dataclass(frozen=True)
class Figure:
    """A figure of the page: `draw()` makes the plotly figure when the page is written."""

    title: str
    draw: Callable[[], Any]
    caption: str = ""


def figures_of(result: Reproduction) -> tuple[Figure, ...]:
    """The figures of a reproduction, by the module here that has its paper's name."""
    if result.data is None:
        return ()
    module = import_module(f"{__name__}.{result.paper}")
    drawn: tuple[Figure, ...] = module.figures(result.data)
    return drawn


def write_reproduction(result: Reproduction, path: str | os.PathLike[str]) -> Path:
    """Write one HTML page with figures, tables, statements and checks, to open offline."""
    figures = [(item.title, _roomy(item.draw()), item.caption) for item in figures_of(result)]
    lines = "".join(
        f"<li{'' if check.passed else ' class=no'}>{escape(str(check))}</li>"
        for check in result.checks
    )
    blocks = [
        *figures_html(figures),
        *(table_block(table) for table in result.tables),
        list_html("What was assumed and noticed", result.statements),
        f"<h2>Checks</h2><ul>{lines}</ul>" if lines else "",
    ]
    return write_page(path, f"{result.paper}: {result.title}", blocks)


def table_block(table: Table) -> str:
    """A table as a piece of a page; columns of numbers are set to the right."""
    head, *body = table.texts()
    words = table.words()
    lines = [f"<h3>{escape(table.title)}</h3>", "<table>"]
    for tag, cells in (("th", head), *(("td", row) for row in body)):
        texts = "".join(
            f"<{tag}{'' if word else ' class=n'}>{escape(cell)}</{tag}>"
            for cell, word in zip(cells, words, strict=True)
        )
        lines.append(f"<tr>{texts}</tr>")
    lines.append("</table>")
    if table.note:
        lines.append(f"<p class=note>{escape(table.note)}</p>")
    return "\n".join(lines)


def paths(points: Mapping[str, FloatArray]) -> Any:
    """Paths (N, 3 or 4) of the platform in space, side by side."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(
        rows=1,
        cols=len(points),
        specs=[[{"type": "scene"}] * len(points)],
        subplot_titles=list(points),
        horizontal_spacing=0.02,
    )
    for col, p in enumerate(points.values(), start=1):
        x, y, z = p[:: max(1, len(p) // PATH_POINTS), :3].T
        line = {"color": "#1f77b4", "width": 4}
        trace = go.Scatter3d(x=x, y=y, z=z, mode="lines", line=line, showlegend=False)
        figure.add_trace(trace, row=1, col=col)
    figure.update_scenes(
        xaxis_title="x (m)",
        yaxis_title="y (m)",
        zaxis_title="z (m)",
        camera={"eye": {"x": 1.85, "y": -2.2, "z": 1.1}, "center": {"x": 0, "y": 0, "z": -0.15}},
    )
    figure.update_layout(template="plotly_white", height=480, margin={"t": 30, "b": 10})
    return figure


def _roomy(figure: Any) -> Any:
    """The tool bar has a margin of its own: it covers neither titles, legends nor curves."""
    right = figure.layout.margin.r
    if figure.layout.legend.orientation != "h":
        figure.update_layout(legend={"orientation": "h", "y": -0.12, "yanchor": "top"})
    return figure.update_layout(
        modebar_orientation="v", margin_r=max(0 if right is None else right, BAR)
    )
