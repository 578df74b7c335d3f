"""The page of a fleet: verdict, how every parameter spreads, residuals, provenance."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.fleet import FEWEST, Fleet, Spread
from deltadyn.identification.meanings import meaning
from deltadyn.report.html import (
    Columns,
    First,
    Section,
    cells,
    figure_html,
    table_of,
    wide_table,
    write_sections,
)
from deltadyn.report.plots import (
    COLOURS,
    LEFT,
    draw_points,
    finished,
    panels,
    power_ticks,
    squeezed,
)

RED = "#b00020"
COLUMNS = 4  # of small figures


def fleet_page(found: Fleet, path: str | os.PathLike[str]) -> Path:
    """Write the page."""
    title = f"Fleet of {len(found.members)} robots: {found.robot.name}"
    count = sum(source.samples for fit in found.members.values() for source in fit.data)
    sections = [_parameters(found), _residuals(found), _data(found)]
    return write_sections(path, title, f"{count} samples", [_first(found).html], sections)


def _first(found: Fleet) -> First:
    """Who stands out, by how much, and what to look at."""
    few = len(found.members) < FEWEST
    kind = "unknown" if few else "care" if found.outliers else "good"
    odd = list(dict.fromkeys(item.member for item in found.outliers))
    shown, member, change = _largest(found)
    sentence = f"{found.outliers[0]}." if found.outliers else _alike(shown, member, change)
    numbers = [
        (str(len(found.members)), "robots"),
        (str(len(odd)), "of them stands out" if len(odd) == 1 else "of them stand out"),
        (f"{100 * change:+.2g} %", f"is the largest difference: {shown.name} of {member}"),
    ]
    linear = found.robot.linear
    steps = [
        f"Inspect {item.member}: {item.parameter} is the {meaning(item.parameter, linear)}."
        for item in found.outliers[:3]
    ]
    if few:
        steps = [f"Add robots: it takes {FEWEST} to say which one is odd."]
    elif not steps:
        steps = ["Nothing to do; keep the records, and compare again after months."]
    steps += [f"Record again: {item}." for item in found.damaged]
    figure = figure_html(
        f"{shown.name}: {meaning(shown.name, linear)}",
        _panels(found, [shown], 1, FIRST_HEIGHT),
        _CAPTION,
    )
    return First(kind, found.status, sentence, numbers, figure, steps)


FIRST_HEIGHT = 340  # pixels


def _largest(found: Fleet) -> tuple[Spread, str, float]:
    """The parameter to show first: that of the surest outlier, else of the largest difference.

    With the robot and its difference from the fleet's middle, as a share.
    """
    names = list(found.members)
    changes = {item.name: changes_of(item) for item in found.spreads}
    if found.outliers:
        first = found.outliers[0]
        shown = next(item for item in found.spreads if item.name == first.parameter)
        return shown, first.member, float(changes[shown.name][names.index(first.member)])
    known = [item for item in found.spreads if np.isfinite(changes[item.name]).any()]
    shown = max(known, key=lambda item: float(np.nanmax(np.abs(changes[item.name]))))
    place = int(np.nanargmax(np.abs(changes[shown.name])))
    return shown, names[place], float(changes[shown.name][place])


def _alike(shown: Spread, member: str, change: float) -> str:
    return (
        f"The largest difference from the fleet's middle is {100 * change:+.2g} %, in {shown.name} "
        f"of {member}: no more than noise and usual scatter."
    )


def changes_of(item: Spread) -> FloatArray:
    """Differences (m,) from the median of the robots, as shares; NaN where that is 0."""
    middle = float(np.nanmedian(item.values))
    return (item.values - middle) / abs(middle) if middle else np.full(len(item.values), np.nan)


_CAPTION = (
    "Each robot's difference from the middle of the fleet with its 95 % interval; red where it "
    "stands out. The band is what robots differ by beyond the noise of their logs (one deviation). "
    "Beyond 1 % the scale goes by powers of ten: an outlier does not hide the others."
)


def _parameters(found: Fleet) -> Section:
    blocks = (
        figure_html("Parameters, robot by robot", _all_panels(found), _CAPTION),
        table_of(found.spreads, _spread(found.robot.linear), "Parameters of the fleet"),
    )
    return Section("parameters", "Parameters", blocks)


def _all_panels(found: Fleet) -> Any:
    rows = -(-len(found.spreads) // COLUMNS)
    return _panels(found, found.spreads, COLUMNS, 230 * rows + 60)


def _spread(linear: bool) -> Columns:
    """Columns of the table; `linear` where carriages move the robots."""
    return {
        "parameter": lambda item: item.name,
        "meaning": lambda item: meaning(item.name, linear),
        "mean": lambda item: f"{item.mean:.4g}",
        "std of it": lambda item: f"{item.mean_std:.2g}",
        "between robots": lambda item: f"{item.between:.2g}",
        "p of equal robots": lambda item: f"{item.p_value:.2g}",
        "unit": lambda item: item.unit,
    }


def _panels(found: Fleet, spreads: Sequence[Spread], columns: int, height: int) -> Any:
    """A panel per parameter: percent from the fleet's middle, or values where that is 0."""
    names = list(found.members)
    rows = -(-len(spreads) // columns)
    titles = [item.name for item in spreads] if len(spreads) > 1 else ()
    figure = panels(rows, columns, titles=titles, down=0.3 / rows)
    for place, item in enumerate(spreads):
        row, column = place // columns + 1, place % columns + 1
        odd = {o.member for o in found.outliers if o.parameter == item.name}
        inks = [RED if name in odd else COLOURS[0] for name in names]
        middle = float(np.nanmedian(item.values))
        factor = 100 / abs(middle) if middle else 1.0
        half = np.where(np.isfinite(item.std), 1.96 * item.std, 0.0)
        ends = [(item.values + side * half - middle) * factor for side in (-1, 0, 1)]
        band = [(item.mean + side * item.between - middle) * factor for side in (-1, 1)]
        if middle:
            ends, band = [squeezed(x) for x in ends], squeezed(np.array(band)).tolist()
        low, value, high = ends
        draw_points(
            figure, names, value, inks, half=high - value, below=value - low, row=row, column=column
        )
        figure.add_hline(y=0.0, line_color=LEFT, row=row, col=column)
        figure.add_hrect(
            y0=band[0],
            y1=band[1],
            fillcolor=COLOURS[0],
            opacity=0.1,
            line_width=0,
            row=row,
            col=column,
        )
        if middle:
            most = float(np.nanmax(np.abs([*low, *high, *band, squeezed(np.array(1.0))])))
            figure.update_yaxes(
                **power_ticks(most), range=[-1.1 * most, 1.1 * most], row=row, col=column
            )
        figure.update_yaxes(
            title_text="%" if middle else item.unit, title_standoff=2, row=row, col=column
        )
    return finished(figure, height, legend=False, top=40)


def _residuals(found: Fleet) -> Section:
    axes = found.robot.axis_names()
    fits = {**found.members, "all together": found.common}
    rows = [(name, *cells(fit.residual)) for name, fit in fits.items()]
    units = zip(axes, found.robot.axis_units("tau"), strict=True)
    columns = ("robot", *(f"axis {axis} ({unit})" for axis, unit in units))
    band = "all frequencies" if found.band is None else f"up to {found.band:.3g} Hz"
    table = wide_table(columns, rows, caption=f"Residual RMS, {band}")
    return Section("residuals", "Residuals", (table,))


def _data(found: Fleet) -> Section:
    rows = [
        (name, source.file or source.name, str(source.samples), f"{source.duration:.4g}")
        for name, fit in found.members.items()
        for source in fit.data
    ]
    table = wide_table(("robot", "recording", "samples", "duration (s)"), rows, long=True)
    return Section("data", "Data", (table,))
