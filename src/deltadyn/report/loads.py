"""Section: what the motion asks of drives and bearings, and the margin to every limit."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from deltadyn.identification.fit_figures import COLOURS, LEFT, layout
from deltadyn.motion.limit_report import Limit
from deltadyn.pages import Section, figure_html, wide_table
from deltadyn.report.numbers import cell, cells, percent
from deltadyn.sizing.loads import MotionLoads
from deltadyn.sizing.loads_text import BEARING_ROWS, DRIVE_ROWS

OVER = COLOURS[5]


def loads_section(found: MotionLoads, source: str) -> Section:
    """Drives and bearings of the identified robot on the motion, then the limits.

    `source` says in words which motion it is.
    """
    axes = found.robot.axis_names()
    limits = found.robot.limits
    peak, steady = limits.torque_peak, limits.torque_rms
    drives = [
        (words, unit, *cells(getattr(found.drives, field), 4)) for field, words, unit in DRIVE_ROWS
    ]
    for place, words, bound in (
        (1, "torque, peak allowed", peak),
        (3, "torque, RMS allowed", steady),
    ):
        if bound is not None:
            drives.insert(place, (words, "N m", *cells(np.broadcast_to(bound, len(axes)), 4)))
    arms = [
        (words, unit, *cells(getattr(found.bearings, field), 4))
        for field, words, unit in BEARING_ROWS
    ]
    known = [limit for limit in found.limits.limits if limit.use is not None]
    columns = ("limit", "worst", "allowed", "margin", "unit", "used", "axis", "status")
    blocks = [
        f"<p>{escape(_sentence(found, source))}</p>",
        wide_table(columns, [_row(limit) for limit in found.limits.limits], caption="Limits"),
    ]
    if known:
        blocks.append(figure_html("Use of the limits", _bars(known), _BARS))
    blocks += [
        wide_table(("drives", "unit", *(f"axis {a}" for a in axes)), drives,
                   caption="Drives, at the output side of the gears"),
        wide_table(("arms", "unit", "arm 1", "arm 2", "arm 3"), arms, caption="Shoulder bearings"),
    ]  # fmt: skip
    return Section("loads", "Loads and limits", tuple(blocks), found.as_dict())


_BARS = "Share of each limit that the motion takes; 100 % is the limit."


def _sentence(found: MotionLoads, source: str) -> str:
    summary = found.limits.summary.replace("_", " ")
    return (
        f"By the identified robot with {found.robot.payload.mass:g} kg on {source}, "
        f"{found.motion.duration:.4g} s: {summary}."
    )


def _row(limit: Limit) -> tuple[str, ...]:
    return (
        _words(limit),
        cell(limit.worst, 4),
        cell(limit.allowed, 4),
        cell(limit.margin, 4),
        limit.unit,
        percent(limit.use),
        limit.axis or "-",
        limit.status,
    )


def _words(limit: Limit) -> str:
    return limit.name.replace("_", " ")


def _bars(known: list[Limit]) -> Any:
    import plotly.graph_objects as go

    uses = [100 * (limit.use or 0.0) for limit in known]
    shown = [use if np.isfinite(use) else None for use in uses]
    figure = go.Figure(
        go.Bar(
            y=[_words(limit) for limit in known],
            x=shown,
            orientation="h",
            text=[percent(limit.use) + (" exceeded" if limit.exceeded else "") for limit in known],
            textposition="outside",
            cliponaxis=False,
            marker={"color": [OVER if limit.exceeded else COLOURS[0] for limit in known]},
        )
    )
    figure.add_vline(x=100, line_color=LEFT, line_dash="dash")
    figure.update_layout(**layout(30 * len(known) + 100, legend=False))
    longest = max([100.0, *(use for use in shown if use is not None)])
    figure.update_xaxes(title_text="used (%)", range=[0, 1.2 * longest])
    figure.update_yaxes(autorange="reversed")
    return figure
