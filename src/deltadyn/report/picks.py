"""Section: the picks of a payload log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.payload.offline import PickLog
from deltadyn.report.html import (
    Section,
    figure_html,
    figures_html,
    list_html,
    table_html,
    wide_table,
    write_page,
)
from deltadyn.report.plots import COLOURS, layout

if TYPE_CHECKING:
    from deltadyn.payload.offline import PickLog


# The page of a log's picks: the mass over time with its band, and the table.


BLUE, RED, GREY = "#1f77b4", "#d62728", "#888888"
EVENT_SYMBOLS = {
    "pick": "triangle-up",
    "release": "triangle-down",
    "lost grip": "x",
}
VIEW = 1.4  # of the heaviest pick: what the figure shows at first
POINTS = 20_000


def pick_figure(log: PickLog, truth: tuple[Any, Any] | None = None) -> Any:
    """Estimate and band over time, every pick's mass, events; `truth` (t, kg) where it is known."""
    import plotly.graph_objects as go

    step = max(1, len(log.t) // POINTS)
    t, mass = log.t[::step], log.mass[::step]
    std = np.where(np.isfinite(log.std[::step]), log.std[::step], 0.0)
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=np.concatenate([t, t[::-1]]),
            y=np.concatenate([mass + 2 * std, (mass - 2 * std)[::-1]]),
            fill="toself",
            fillcolor="rgba(31,119,180,0.2)",
            line={"width": 0},
            name="two standard deviations",
            hoverinfo="skip",
        )
    )
    if truth is not None:
        figure.add_trace(
            go.Scatter(x=truth[0], y=truth[1], name="true", line={"color": GREY, "shape": "hv"})
        )
    figure.add_trace(go.Scatter(x=t, y=mass, name="online", line={"color": BLUE, "width": 1.3}))
    x: list[float | None] = []
    y: list[float | None] = []
    for pick in log.picks:
        x += [pick.start, pick.end, None]
        y += [pick.mass, pick.mass, None]
    figure.add_trace(
        go.Scatter(x=x, y=y, name="pick, all samples", line={"color": RED, "width": 2})
    )
    for what, symbol in EVENT_SYMBOLS.items():
        when = [time for time, event in log.events if event == what]
        if when:
            level = np.interp(when, log.t, log.mass)
            marker = {"symbol": symbol, "size": 9, "color": RED if what == "lost grip" else BLUE}
            figure.add_trace(go.Scatter(x=when, y=level, mode="markers", name=what, marker=marker))
    figure.update_layout(
        template="plotly_white",
        height=420,
        margin={"t": 30},
        xaxis_title="time (s)",
        yaxis_title="payload (kg)",
    )
    if log.picks:  # the band of a pick's first samples is wide beyond use
        top = VIEW * max(pick.mass + 2 * pick.std for pick in log.picks)
        figure.update_yaxes(range=[-top / 4, top])
    return figure


def pick_page(log: PickLog, path: str | os.PathLike[str]) -> Path:
    """Write the page of a log's picks."""
    columns = ("pick", "start (s)", "end (s)", "mass (kg)", "std (kg)", "latency (ms)", "ended by")
    rows = [
        (
            str(k),
            f"{pick.start:.3f}",
            f"{pick.end:.3f}",
            f"{pick.mass:.3f}",
            f"{pick.std:.3f}",
            f"{1e3 * pick.latency:.0f}",
            pick.ended,
        )
        for k, pick in enumerate(log.picks, start=1)
    ]
    notes = [log.status, log.noise.summary]
    if log.bridged:
        notes.append(f"{log.bridged} missing samples were interpolated.")
    caption = (
        "Online estimate as it was known at that time; red: mass of all samples of a pick. Bands "
        "of first samples go beyond the picture: double-click to see all."
    )
    blocks = [
        *figures_html([("Payload over time", pick_figure(log), caption)]),
        table_html(columns, rows),
        list_html("Notes", notes),
    ]
    return write_page(path, f"Picks of {log.name}", blocks)


def picks_section(log: PickLog) -> Section:
    """Table, every pick with its deviation, and the estimate over time."""
    rows = [
        (
            str(number),
            f"{pick.start:.3f}",
            f"{pick.end:.3f}",
            f"{pick.mass:.3f}",
            f"{pick.std:.3f}",
            f"{1e3 * pick.latency:.0f}",
            pick.ended,
        )
        for number, pick in enumerate(log.picks, 1)
    ]
    columns = ("pick", "start (s)", "end (s)", "mass (kg)", "std (kg)", "latency (ms)", "ended by")
    notes = [log.noise.summary]
    numbers: dict[str, Any] = log.as_dict()
    if log.bridged:
        notes.append(f"{log.bridged} missing samples were interpolated.")
    if log.picks:
        mass, std = log.product
        numbers["product"] = {"mass_kg": mass, "std_kg": std}
        notes.append(f"If all picks were of one product, it weighs {mass:.3f} ± {std:.3f} kg.")
    over_time = pick_figure(log)
    over_time.update_layout(**layout(400))
    blocks = [f"<p>{log.status}.</p>"]
    if rows:
        blocks.append(wide_table(columns, rows, caption="Picks", long=len(rows) > 30))
        blocks.append(figure_html("Mass of every pick", _masses(log), _MASSES))
    blocks += [
        figure_html("Payload over time", over_time, _TIME),
        list_html("Notes", notes, level=3),
    ]
    return Section("picks", "Payload picks", tuple(blocks), numbers)


_MASSES = "Mass of all samples of a pick with one standard deviation to both sides."
_TIME = (
    "The online estimate as it was known at that time; red: mass of all samples of a pick. Bands "
    "of first samples go beyond the picture: double-click to see all."
)


def _masses(log: PickLog) -> Any:
    import plotly.graph_objects as go

    figure = go.Figure(
        go.Scatter(
            x=[str(number) for number in range(1, len(log.picks) + 1)],
            y=[pick.mass for pick in log.picks],
            error_y={"type": "data", "array": [pick.std for pick in log.picks]},
            mode="markers",
            marker={"size": 8, "color": COLOURS[0]},
            showlegend=False,
        )
    )
    figure.update_layout(**layout(300, legend=False))
    figure.update_xaxes(title_text="pick", type="category")
    figure.update_yaxes(title_text="mass (kg)", rangemode="tozero")
    return figure
