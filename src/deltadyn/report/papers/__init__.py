"""Pages of the reproductions: claims, figures, tables, statements and checks in one HTML file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from deltadyn.arrays import FloatArray
from deltadyn.recording.prepare.data import Prepared
from deltadyn.report.html import BAR, figures_html, list_html, table_html, write_page
from deltadyn.report.plots import LEFT, MEASURED, Curve, axes_figure, colour, draw, finished
from deltadyn.reproduce.claims import VERDICTS, Claim
from deltadyn.reproduce.result import JOINTS, Paper, Reproduction, Table

PATH_POINTS = 2000


@dataclass(frozen=True)
class Figure:
    """A figure of the page: `draw()` makes the plotly figure when the page is written."""

    title: str
    draw: Callable[[], Any]
    caption: str = ""


def captioned(
    paper: Paper, drawn: Mapping[str, Callable[[], Any]], /, **values: Any
) -> tuple[Figure, ...]:
    """Figures by their names in the paper's words, with title and caption."""
    out = []
    for name, draw_it in drawn.items():
        title, caption = paper.caption(name, **values)
        out.append(Figure(title, draw_it, caption))
    return tuple(out)


def figures_of(result: Reproduction) -> tuple[Figure, ...]:
    """The figures of a reproduction, by the module here that has its paper's name."""
    if result.data is None:
        return ()
    module = import_module(f"{__name__}.{result.paper}")
    drawn: tuple[Figure, ...] = module.figures(result.data)
    return drawn


def write_reproduction(result: Reproduction, path: str | os.PathLike[str]) -> Path:
    """Write one HTML page with claims, figures, tables, statements and checks, to open offline."""
    figures = [(item.title, _roomy(item.draw()), item.caption) for item in figures_of(result)]
    lines = "".join(
        f"<li{'' if check.passed else ' class=no'}>{escape(str(check))}</li>"
        for check in result.checks
    )
    blocks = [
        claims_block(result.claims),
        *figures_html(figures),
        *(table_block(table) for table in result.tables),
        list_html("What was assumed and noticed", result.statements),
        f"<h2>Checks</h2><ul>{lines}</ul>" if lines else "",
    ]
    return write_page(path, f"{result.paper}: {result.title}", blocks)


#: The class of page.css that colours a verdict.
COLOUR_CLASSES = {"near": "near", "far": "far", "not shown": "absent"}
CLAIM_COLUMNS = ("place", "claim", "paper", "ours", "verdict", "reason")


def claims_block(claims: Sequence[Claim]) -> str:
    """The paper's claims beside ours as a coloured table; nothing where there are none."""
    if not claims:
        return ""
    rows = [list(claim.as_dict().values()) for claim in claims]
    column = CLAIM_COLUMNS.index("verdict")
    classes = {(index, column): COLOUR_CLASSES[claim.verdict] for index, claim in enumerate(claims)}
    counts = Counter(claim.verdict for claim in claims)
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    return (
        "<h2>What the paper says, and what we show</h2>"
        f"<p>{summary}.</p><div class=table>{table_html(CLAIM_COLUMNS, rows, classes)}</div>"
    )


def table_block(table: Table) -> str:
    """A table as a piece of a page, with its title and note; cells beside the paper's in colour."""
    head, *body = table.texts()
    classes = {cell: COLOUR_CLASSES[verdict] for cell, verdict in table.grades().items()}
    note = f"<p class=note>{escape(table.note)}</p>" if table.note else ""
    scale = ""
    if classes:
        scale = (
            "<p class=note>Ours beside the paper's: <span class=near>near</span> (within "
            f"{100 * table.near:g} %), <span class=far>far</span>, "
            "<span class=absent>not shown</span>.</p>"
        )
    shown = f"<div class=table>{table_html(head, body, classes)}</div>"
    return f"<h3>{escape(table.title)}</h3>{shown}{note}{scale}"


# Figures and marks that several papers have.


def path_figure(points: Mapping[str, FloatArray]) -> Any:
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
        line = {"color": colour(0), "width": 4}
        trace = go.Scatter3d(x=x, y=y, z=z, mode="lines", line=line, showlegend=False)
        figure.add_trace(trace, row=1, col=col)
    figure.update_scenes(camera=camera(1.85, -2.2, 1.1, -0.15), **SPACE)
    return finished(figure, 480, top=30)


SPACE = {"xaxis_title": "x (m)", "yaxis_title": "y (m)", "zaxis_title": "z (m)"}


def camera(x: float, y: float, z: float, middle: float) -> dict[str, Any]:
    """A camera that looks from there at a point of the axis."""
    return {"eye": {"x": x, "y": y, "z": z}, "center": {"x": 0, "y": 0, "z": middle}}


def torque_figure(
    t: FloatArray,
    measured: FloatArray,
    computed: Mapping[str, FloatArray],
    hidden: Sequence[str] = (),
) -> Any:
    """Measured and computed torques (N, dof) over time, a panel per axis."""
    curves = [Curve("measured", t, measured, MEASURED, width=3.0)]
    for k, (name, tau) in enumerate(computed.items()):
        curves.append(Curve(name, t, tau, colour(k), hidden=name in hidden))
    return axes_figure([str(axis + 1) for axis in range(measured.shape[1])], curves)


def band_figure(prepared: Prepared, torques: Mapping[str, FloatArray]) -> Any:
    """The same below the band of a recording that was made ready."""
    shown = {name: prepared.limited(tau) for name, tau in torques.items()}
    return torque_figure(prepared.times, prepared.limited(prepared.tau), shown)


def draw_lines(
    figure: Any,
    x: FloatArray,
    values: FloatArray,
    names: Sequence[str],
    *,
    row: int = 1,
    column: int = 1,
    label: str = "",
    **style: Any,
) -> None:
    """Draw the columns of values (N, k) with a name and a colour each; those of the first panel
    are in the legend."""
    for k, name in enumerate(names):
        curve = Curve(name, x, values[:, k], **{"colour": colour(k), "width": 1.6, **style})
        draw(figure, curve, row=row, column=column, legend=row == column == 1)
    if label:
        figure.update_yaxes(title_text=label, row=row, col=column)


Shown = tuple[Any, Any]  # values of bars, and how far they spread or None


def draw_beside(figure: Any, own: Mapping[str, Shown], paper: Mapping[str, Shown]) -> None:
    """Draw bars per joint, ours filled and the paper's, where it has them, hollow."""
    for k, (name, shown) in enumerate(own.items()):
        draw_bars(figure, name, shown, colour(k))
        if name in paper:
            draw_bars(figure, f"{name}, paper", paper[name], colour(k), hollow=True)


def draw_bars(
    figure: Any,
    name: str,
    shown: Shown,
    colour: str,
    *,
    x: Sequence[str] = JOINTS,
    hollow: bool = False,
    faint: bool = False,
    row: int = 1,
    column: int = 1,
) -> None:
    """Draw a bar per place of `x`; those of the first panel are in the legend."""
    import plotly.graph_objects as go

    values, spread = shown
    error = {"type": "data", "array": spread, "color": LEFT, "thickness": 1.2}
    trace = go.Bar(
        x=x,
        y=values,
        name=name,
        legendgroup=name,
        showlegend=row == column == 1,
        opacity=0.5 if faint else 1.0,
        error_y=None if spread is None else error,
        marker={"color": "white" if hollow else colour, "line": {"color": colour, "width": 1.5}},
    )
    figure.add_trace(trace, row=row, col=column)
    figure.update_layout(barmode="group")


def _roomy(figure: Any) -> Any:
    """The tool bar has a margin of its own: it covers neither titles, legends nor curves."""
    right = figure.layout.margin.r
    if figure.layout.legend.orientation != "h":
        figure.update_layout(legend={"orientation": "h", "y": -0.12, "yanchor": "top"})
    return figure.update_layout(
        modebar_orientation="v", margin_r=max(0 if right is None else right, BAR)
    )
