"""The picks of a payload log: its page, and a section of a report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.payload.offline import PickLog
from deltadyn.report.html import (
    Columns,
    First,
    Section,
    figure_html,
    list_html,
    paragraphs,
    table_of,
    write_sections,
)
from deltadyn.report.plots import (
    COLOURS,
    Curve,
    draw,
    draw_points,
    extreme_rows,
    finished,
    panels,
)

ONLINE, WHOLE = COLOURS[0], COLOURS[1]
EVENT_SYMBOLS = {
    "pick": "triangle-up",
    "release": "triangle-down",
    "lost grip": "x",
}
VIEW = 1.4  # of the heaviest pick: what the figure shows at first
POINTS = 12_000  # of the estimate and the two sides of its band together


def pick_page(log: PickLog, path: str | os.PathLike[str]) -> Path:
    """Write the page of a log's picks."""
    about = f"{len(log.t)} samples"
    title = f"Payload: {log.name}"
    return write_sections(path, title, about, [_first(log).html], [picks_section(log)])


def _first(log: PickLog) -> First:
    """How many picks, and what they weigh."""
    figure = figure_html("Payload over time", pick_figure(log, FIRST_HEIGHT), _SHORT)
    if not log.picks:
        head = "No pick was found"
        steps = [
            "Take the noise from an empty run (`--empty`): light loads need it. The gripper's "
            "signal (`--holding`) makes them known sooner."
        ]
        return First("unknown", head, f"{log.status}.", [("0", "picks")], figure, steps)
    mass, std = log.product
    lost = sum(pick.ended == "lost grip" for pick in log.picks)
    numbers = [
        (str(len(log.picks)), "picks" if len(log.picks) != 1 else "pick"),
        (f"{mass:.3f} kg", "if all were of one product"),
        (f"± {std:.3f} kg", "one standard deviation of it"),
    ]
    kind, head = "good", "All picks were released"
    if lost:
        kind, head = "care", f"{lost} of {len(log.picks)} picks were lost"
    elif any(pick.ended != "release" for pick in log.picks):
        kind, head = "care", "Not all picks ended with a release"
    doubtful = sum(bool(pick.note) for pick in log.picks)
    if doubtful:
        kind, head = "care", f"{head}; {doubtful} of {len(log.picks)} picks are doubtful"
    steps = ["The table below has every pick with its deviation."]
    return First(kind, head, f"{log.status}.", numbers, figure, steps)


def picks_section(log: PickLog) -> Section:
    """Table, every pick with its deviation, and the estimate over time."""
    notes = [log.summary]
    notes += [f"Pick {k}: {pick.note}." for k, pick in enumerate(log.picks, 1) if pick.note]
    numbers: dict[str, Any] = log.as_dict()
    if log.bridged:
        notes.append(f"{log.bridged} missing samples were interpolated.")
    if log.picks:
        mass, std = log.product
        numbers["product"] = {"mass_kg": mass, "std_kg": std}
        notes.append(f"If all picks were of one product, it weighs {mass:.3f} ± {std:.3f} kg.")
    blocks = [paragraphs(f"{log.status}.")]
    if log.picks:
        blocks.append(table_of(list(enumerate(log.picks, 1)), _PICKS, "Picks"))
        blocks.append(figure_html("Mass of every pick", _masses(log), _MASSES))
    blocks += [
        figure_html("Payload over time", pick_figure(log), _TIME),
        list_html("Notes", notes, level=3),
    ]
    return Section("picks", "Payload picks", tuple(blocks), numbers)


_PICKS: Columns = {
    "pick": lambda item: str(item[0]),
    "start (s)": lambda item: f"{item[1].start:.3f}",
    "end (s)": lambda item: f"{item[1].end:.3f}",
    "mass (kg)": lambda item: f"{item[1].mass:.3f}",
    "std (kg)": lambda item: f"{item[1].std:.3f}",
    "latency (ms)": lambda item: f"{1e3 * item[1].latency:.0f}",
    "ended by": lambda item: item[1].ended,
    "note": lambda item: item[1].note,
}
_SHORT = "The estimate while it ran; the broad line is the mass of all samples of a pick."
_MASSES = "Mass of all samples of a pick with one standard deviation to both sides."
_TIME = (
    "The online estimate as it was known at that time with two standard deviations; the broad line "
    "is the mass of all samples of a pick. Bands of first samples go beyond the picture: "
    "double-click to see all."
)


FIRST_HEIGHT = 360  # pixels


def pick_figure(log: PickLog, height: int = 420) -> Any:
    """Estimate and band over time, every pick's mass, events."""
    std = np.where(np.isfinite(log.std), log.std, 0.0)
    band = np.stack([log.mass, log.mass - 2 * std, log.mass + 2 * std], axis=-1)
    rows = extreme_rows(band, POINTS)
    t, mass, low, high = log.t[rows], *band[rows].T
    figure = panels()
    _draw_band(figure, t, low, high)
    draw(figure, Curve("online", t, mass, ONLINE), points=len(t))
    if log.picks:
        x = np.concatenate([[pick.start, pick.end] for pick in log.picks])
        y = np.repeat([pick.mass for pick in log.picks], 2)
        starts = range(0, len(x), 2)
        whole = Curve("pick, all samples", x, y, WHOLE, width=2.5, starts=starts)
        draw(figure, whole, points=len(x))
    for what, symbol in EVENT_SYMBOLS.items():
        when = [time for time, event in log.events if event == what]
        if when:
            level = np.interp(when, log.t, log.mass)
            ink = WHOLE if what == "lost grip" else ONLINE
            draw_points(figure, when, level, ink, name=what, symbol=symbol)
    if log.picks:  # the band of a pick's first samples is wide beyond use
        top = VIEW * max(pick.mass + 2 * pick.std for pick in log.picks)
        figure.update_yaxes(range=[-top / 4, top])
    return finished(figure, height, x="time (s)", y="payload (kg)")


def _draw_band(figure: Any, t: FloatArray, low: FloatArray, high: FloatArray) -> None:
    figure.add_scatter(
        x=np.concatenate([t, t[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        fill="toself",
        fillcolor="rgba(31,95,168,0.2)",
        line={"width": 0},
        name="two standard deviations",
        hoverinfo="skip",
    )


def _masses(log: PickLog) -> Any:
    figure = panels()
    numbers = [str(number) for number in range(1, len(log.picks) + 1)]
    half = [pick.std for pick in log.picks]
    draw_points(figure, numbers, [pick.mass for pick in log.picks], COLOURS[0], half=half)
    figure.update_xaxes(type="category")
    figure.update_yaxes(rangemode="tozero")
    return finished(figure, 300, legend=False, x="pick", y="mass (kg)")
