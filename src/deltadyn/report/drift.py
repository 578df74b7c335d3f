"""The page of a robot's history: alarms in words, curves with bands and dates, odd nights."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.history.drift.result import Change, Drift, Track
from deltadyn.history.drift.words import title
from deltadyn.report.html import (
    First,
    Section,
    cell,
    figure_html,
    percent,
    text_section,
    wide_table,
    write_sections,
)
from deltadyn.report.plots import COLOURS, FITTED, MEASURED, finished, panels

RED = "#b00020"
COLUMNS = 2  # of small figures
FIRST_HEIGHT, PANEL = 380, 230  # pixels
BAND = 1.96  # deviations
CAPTION = (
    "Points: nights, with their 95 % band about the fitted line, as wide as the nights scatter. "
    "Orange: the fitted line with temperature. Black: the level without it. Red: changes, with the "
    "interval of their date. Crosses: odd nights, which do not count; those far off stand at the "
    "edge."
)


def drift_page(found: Drift, path: str | os.PathLike[str]) -> Path:
    """Write the page."""
    sections = [_curves(found), _changes(found), _nights(found), text_section(str(found))]
    heading = f"History of {found.robot} {found.serial}"
    return write_sections(path, heading, found.how.strip("()"), [_first(found).html], sections)


def _first(found: Drift) -> First:
    """What changed since when, and what to look at."""
    if not found.watched:
        steps = [f"Add nights: it takes {found.burn_in} before a parameter is watched."]
        nights = len(found.times)
        number = (str(nights), "night" if nights == 1 else "nights")
        return First("unknown", found.status, "", [number], "", steps)
    alarms = found.raised_since(None)
    newest = max(found.changes, key=lambda item: item.raised, default=None)
    shown = found[newest.parameter] if newest else _most_moved(found)
    numbers = [
        (str(len(found.times)), "nights"),
        (str(len(alarms)), "alarm" if len(alarms) == 1 else "alarms"),
        (str(len(found.odd)), "odd night" if len(found.odd) == 1 else "odd nights"),
    ]
    words = "\n".join(f"{item.words}." for item in found.changes)
    steps = [f"Inspect: {item.words}." for item in alarms[-3:]]
    steps += [
        f"Look at the log of {found.day(night.date)}: it does not fit to those around it."
        for night in found.odd[-2:]
    ]
    figure = figure_html(
        f"{shown.name}: {title(shown.name)}", _figure(found, [shown], 1, FIRST_HEIGHT), CAPTION
    )
    kind = "care" if alarms else "good"
    quiet = "Nothing to do; keep the nights coming."
    return First(kind, found.status, words, numbers, figure, steps or [quiet])


def _most_moved(found: Drift) -> Track:
    """The parameter that came nearest to its bounds."""

    def largest(track: Track) -> float:
        with np.errstate(invalid="ignore", divide="ignore"):
            far = np.abs(track.values - track.fitted) / track.std
        return float(np.nanmax(np.where(np.isfinite(far), far, 0.0)))

    return max(found.tracks, key=largest)


def _curves(found: Drift) -> Section:
    """A panel per parameter, those that moved first."""
    moved = [move.parameter for item in found.changes for move in item.moves]
    order = sorted(found.tracks, key=lambda track: track.name not in moved)
    if not order:
        return Section("curves", "Parameters over time", ())
    rows = -(-len(order) // COLUMNS)
    figure = _figure(found, order, COLUMNS, PANEL * rows + 60)
    block = figure_html("Parameters, night by night", figure, CAPTION)
    return Section("curves", "Parameters over time", (block,))


def _figure(found: Drift, tracks: Sequence[Track], columns: int, height: int) -> Any:
    rows = -(-len(tracks) // columns)
    titles = [title(track.name) for track in tracks] if len(tracks) > 1 else ()
    figure = panels(rows, columns, titles=titles, down=0.35 / rows if rows > 1 else None)
    for place, track in enumerate(tracks):
        _draw(figure, found, track, place // columns + 1, place % columns + 1)
    if titles:
        figure.update_annotations(font_size=13)
    return finished(figure, height, legend=False, top=40)


def _draw(figure: Any, found: Drift, track: Track, row: int, column: int) -> None:
    """A parameter: band, points, lines, changes."""
    import plotly.graph_objects as go

    times = list(found.times)
    add = {"row": row, "col": column}
    half = BAND * _filled(track.std)
    edges = np.concatenate([track.fitted + half, (track.fitted - half)[::-1]])
    band = go.Scatter(
        x=times + times[::-1],
        y=edges,
        fill="toself",
        fillcolor="rgba(38, 118, 201, 0.13)",
        line={"width": 0},
        hoverinfo="skip",
    )
    odd = np.array([_is_odd(found, track.name, time) for time in times])
    low, high = _range(np.where(odd, np.nan, track.values), edges)
    at_edge = np.clip(np.where(odd, track.values, np.nan), low, high)
    for trace in (
        band,
        _points(times, np.where(odd, np.nan, track.values), COLOURS[0], "circle", 5),
        _points(times, at_edge, RED, "x", 8),
        _line(times, track.fitted, FITTED, 1.3),
        _line(times, track.level, MEASURED, 1.3),
    ):
        figure.add_trace(trace, **add)
    for item in found.changes:
        if track.name in (move.parameter for move in item.moves):
            figure.add_vrect(
                x0=item.low, x1=item.high, fillcolor=RED, opacity=0.15, line_width=0, **add
            )
            figure.add_vline(x=item.date, line_color=RED, line_width=1.2, **add)
    figure.update_yaxes(title_text=track.unit, title_standoff=2, range=[low, high], **add)


def _range(values: FloatArray, edges: FloatArray) -> tuple[float, float]:
    """What the y axis shows: nights that count, and the band; odd nights stand at its edge."""
    low, high = (float(f([f(values), f(edges)])) for f in (np.nanmin, np.nanmax))
    room = 0.06 * (high - low)
    return low - room, high + room


def _filled(std: FloatArray) -> FloatArray:
    """Deviations with those of missing nights from the others."""
    known = np.isfinite(std)
    return np.where(known, std, np.median(std[known]) if known.any() else 0.0)


def _is_odd(found: Drift, name: str, time: object) -> bool:
    return any(night.date == time and name in night.parameters for night in found.odd)


def _points(x: Sequence[Any], y: FloatArray, ink: str, symbol: str, size: int) -> Any:
    import plotly.graph_objects as go

    marker = {"size": size, "color": ink, "symbol": symbol, "opacity": 0.75}
    return go.Scatter(x=x, y=y, mode="markers", marker=marker, hovertemplate="%{x}: %{y:.4g}")


def _line(x: Sequence[Any], y: FloatArray, ink: str, width: float) -> Any:
    import plotly.graph_objects as go

    return go.Scatter(x=x, y=y, mode="lines", line={"color": ink, "width": width})


def _changes(found: Drift) -> Section:
    """Every change with all that moved in it."""
    head = ("what", "kind", "date", "between", "alarm", "parameter", "before", "after", "unit", "%")
    rows = [row for item in found.changes for row in _change_rows(found, item)]
    table = wide_table(head, rows, caption="Changes, and what moved in each") if rows else ""
    none = "" if rows else "<p>No change.</p>"
    return Section("changes", "Changes", (table or none,))


def _change_rows(found: Drift, item: Change) -> list[list[str]]:
    rows = []
    for place, move in enumerate(item.moves):
        first = [
            item.words,
            item.kind,
            found.day(item.date),
            f"{found.day(item.low)} to {found.day(item.high)}",
            found.day(item.raised),
        ]
        share = "-" if move.percent is None else f"{move.percent:+.3g}"
        if move.percent_std is not None:
            share += f" ± {BAND * move.percent_std:.2g}"
        numbers = [cell(move.before, 4), cell(move.before + move.size, 4)]
        rows.append(
            [*(first if not place else [""] * 5), move.parameter, *numbers, move.unit, share]
        )
    return rows


def _nights(found: Drift) -> Section:
    """How far nights scatter, what temperature does, and which nights are odd."""
    head = ("parameter", "meaning", "level", "unit", "night to night", "memory", "per kelvin")
    rows = []
    for track in found.tracks:
        scatter = float(np.nanmedian(track.std))
        level = float(track.level[-1])
        share = percent(scatter / abs(level)) if level else "-"
        warm = "-"
        if track.per_kelvin is not None:
            warm = f"{100 * track.per_kelvin[0]:+.2g} ± {196 * track.per_kelvin[1]:.2g} %"
        rows.append(
            [
                track.name,
                title(track.name),
                cell(level, 4),
                track.unit,
                share,
                f"{track.memory:.2f}",
                warm,
            ]
        )
    blocks = [wide_table(head, rows, caption="Scatter and temperature of every parameter")]
    if found.odd:
        odd = [[found.day(night.date), ", ".join(night.parameters)] for night in found.odd]
        blocks.append(wide_table(("night", "parameters"), odd, caption="Odd nights"))
    return Section("nights", "Nights", tuple(blocks))
