"""The page of a fleet: verdict, how every parameter spreads, residuals, provenance."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.fleet import FEWEST, Fleet
from deltadyn.report.html import (
    Columns,
    Section,
    cells,
    figure_html,
    table_of,
    verdict_html,
    wide_table,
    write_sections,
)
from deltadyn.report.plots import COLOURS, LEFT, draw_points, finished, panels

RED = "#b00020"
COLUMNS = 4  # of small figures


def fleet_page(found: Fleet, path: str | os.PathLike[str]) -> Path:
    """Write the page."""
    title = f"Fleet of {len(found.members)} robots: {found.robot.name}"
    count = sum(source.samples for fit in found.members.values() for source in fit.data)
    sections = [_parameters(found), _residuals(found), _data(found)]
    return write_sections(path, title, f"{count} samples", [_lead(found)], sections)


def _lead(found: Fleet) -> str:
    few = len(found.members) < FEWEST
    kind = "unknown" if few else "care" if found.outliers else "good"
    return verdict_html(kind, found.status, [str(item) for item in found.outliers])


_CAPTION = (
    "Each robot's value with its 95 % interval; red where it stands out. The line is the fleet's "
    "mean, the band what robots differ by beyond the noise of their logs (one deviation)."
)


def _parameters(found: Fleet) -> Section:
    blocks = (
        figure_html("Parameters, robot by robot", _figure(found), _CAPTION),
        table_of(found.spreads, _SPREAD, "Parameters of the fleet"),
    )
    return Section("parameters", "Parameters", blocks)


_SPREAD: Columns = {
    "parameter": lambda item: item.name,
    "mean": lambda item: f"{item.mean:.4g}",
    "std of it": lambda item: f"{item.mean_std:.2g}",
    "between robots": lambda item: f"{item.between:.2g}",
    "p of equal robots": lambda item: f"{item.p_value:.2g}",
    "unit": lambda item: item.unit,
}


def _figure(found: Fleet) -> Any:
    names = list(found.members)
    rows = -(-len(found.spreads) // COLUMNS)
    titles = [f"{item.name} ({item.unit})" for item in found.spreads]
    figure = panels(rows, COLUMNS, titles=titles, down=0.3 / rows)
    for place, item in enumerate(found.spreads):
        row, column = place // COLUMNS + 1, place % COLUMNS + 1
        odd = {o.member for o in found.outliers if o.parameter == item.name}
        inks = [RED if name in odd else COLOURS[0] for name in names]
        half = np.where(np.isfinite(item.std), 1.96 * item.std, 0.0)
        draw_points(figure, names, item.values, inks, half=half, row=row, column=column)
        figure.add_hline(y=item.mean, line_color=LEFT, row=row, col=column)
        figure.add_hrect(
            y0=item.mean - item.between,
            y1=item.mean + item.between,
            fillcolor=COLOURS[0],
            opacity=0.1,
            line_width=0,
            row=row,
            col=column,
        )
    return finished(figure, 230 * rows + 60, legend=False, top=40)


def _residuals(found: Fleet) -> Section:
    axes = found.robot.axis_names()
    fits = {**found.members, "all together": found.common}
    rows = [(name, *cells(fit.residual)) for name, fit in fits.items()]
    columns = ("robot", *(f"axis {axis} (N m)" for axis in axes))
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
