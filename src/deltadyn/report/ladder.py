"""Section: every model by name on the held-out recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltadyn.identification.fit_figures import COLOURS, LEFT, layout
from deltadyn.pages import Section, figure_html, wide_table
from deltadyn.report.held_out import Rung
from deltadyn.report.numbers import cell, cells

ALIKE = 1e-6  # relative: models that are the same for this robot


def ladder_section(rungs: Sequence[Rung], axes: Sequence[str], *, gains: bool = False) -> Section:
    """RMS of every model, the smallest first, and bars."""
    ordered = sorted(rungs, key=lambda rung: float(f"{rung.relative:.6g}"))  # ties as they come
    rows = [
        (
            rung.name,
            *cells(rung.metrics.rms),
            cell(rung.relative),
            rung.source,
        )
        for rung in ordered
    ]
    columns = ("model", *(f"axis {axis} (N m)" for axis in axes), "relative", "source")
    note = (
        "<p>The fit found gains of the drives, which a robot by itself does not have: its models "
        "here predict the true torque, not the reported one.</p>"
        if gains
        else ""
    )
    blocks = (
        f"<p>{_sentence(ordered)}</p>{note}",
        wide_table(columns, rows, caption=_CAPTION),
        figure_html("RMS of the residual by model", _bars(ordered, axes), _BARS),
    )
    numbers = {
        "rungs": [
            {
                "model": rung.name,
                "source": rung.source,
                "relative_rms": rung.relative,
                **rung.metrics.as_dict(),
            }
            for rung in ordered
        ]
    }
    return Section("ladder", "Model ladder", blocks, numbers)


_CAPTION = (
    "RMS of the residual on held-out motion: the identified robot moved by every model, and the "
    "robot file. Relative: over all axes, each over its torque's standard deviation"
)
_BARS = "Shorter is better. Models with the same bars are the same for this robot."


def _sentence(ordered: Sequence[Rung]) -> str:
    best = ordered[0]
    same = [r.name for r in ordered[1:] if r.relative <= best.relative * (1 + ALIKE)]
    alike = f" (and, the same for this robot, {', '.join(same)})" if same else ""
    worst = ordered[-1]
    times = worst.relative / best.relative if best.relative > 0 else float("inf")
    return (
        f"{best.name}{alike} leaves the least; {worst.name} leaves the most, {times:.3g} times as "
        "much. Parameters were identified for one model: in a simpler one they serve worse than "
        "parameters that are fitted to it."
    )


def _bars(ordered: Sequence[Rung], axes: Sequence[str]) -> Any:
    import plotly.graph_objects as go

    figure = go.Figure()
    for k, axis in enumerate(axes):
        figure.add_trace(
            go.Bar(
                y=[rung.name for rung in ordered],
                x=[float(rung.metrics.rms[k]) for rung in ordered],
                orientation="h",
                name=f"axis {axis}",
                marker={"color": COLOURS[k], "line": {"color": LEFT, "width": 0.5}},
            )
        )
    figure.update_layout(**layout(46 * len(ordered) + 100), barmode="group")
    figure.update_xaxes(title_text="RMS (N m)")
    figure.update_yaxes(autorange="reversed")
    return figure
