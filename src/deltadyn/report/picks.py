"""Section: the picks of a payload log."""

from __future__ import annotations

from typing import Any

from deltadyn.identification.fit_figures import COLOURS, layout
from deltadyn.pages import Section, figure_html, list_html, wide_table
from deltadyn.payload.offline import PickLog
from deltadyn.payload.page import pick_figure


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
