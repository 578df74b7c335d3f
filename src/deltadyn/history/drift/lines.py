"""The lines of a parameter: its level with all changes, with and without temperature.

By generalised least squares with the changes' own shapes: a step, or a ramp that ends where the
next change begins. Growth bends after a while, so a long ramp has a parabola beside its line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.history.drift.scan import FLAT, MONTH, STEP, sums_of
from deltadyn.history.drift.state import Place
from deltadyn.history.drift.watch import Watched

LONG = 40  # nights of a ramp that bends


@dataclass(frozen=True, eq=False)
class Line:
    """The fit of a parameter: columns h (n, p), beta (p,) and its covariance; lines (n,).

    `of` tells by a change's first row which columns are its own (p,), 1 or 0.
    """

    h: FloatArray
    beta: FloatArray
    covariance: FloatArray
    level: FloatArray
    fitted: FloatArray
    of: dict[int, FloatArray]


def line_of(found: Watched, k: int) -> Line:
    """The lines of a parameter, in its unit."""
    series, noise, w = found.series, found.noise, found.warmth
    shapes, rows = _shapes(found, k)
    h = np.column_stack([np.ones(len(series.days)), w.columns, *shapes])
    P = np.concatenate([[FLAT], w.prior[:, k] ** -2.0, np.full(len(shapes), FLAT)])
    y = np.where(found.odd[:, k], np.nan, series.y[:, k])
    sums = sums_of(
        y[:, None],
        h[:, None],
        P[None],
        noise.sigma(series.s)[:, k, None],
        noise.phi[k : k + 1],
        series.days,
        series.spacing,
    )
    p, m = len(P), w.columns.shape[1]
    G = sums.E[-1, 0, :p, :p] + np.diag(P)
    spread: FloatArray = np.asarray(np.linalg.inv(G), dtype=np.float64)
    beta: FloatArray = np.asarray(np.linalg.solve(G, sums.E[-1, 0, :p, p + 1]), dtype=np.float64)
    at_mean = np.ones(p)
    at_mean[1 : 1 + m] = 0.0
    fitted, level = h @ beta, h @ (at_mean * beta)
    if series.ratio[k]:
        fitted, level = np.exp(fitted), np.exp(level)
    owners = np.concatenate([np.full(1 + m, -1), rows])
    of = {int(row): (owners == row).astype(float) for row in set(rows)}
    return Line(h, beta, spread, level, fitted, of)


def _shapes(found: Watched, k: int) -> tuple[list[FloatArray], list[int]]:
    """Columns of the changes of a parameter, and the first row of the change of each."""
    t = found.series.days / MONTH
    places: list[Place] = sorted(
        (a.places[k] for a in found.alarms if k in a.places), key=lambda place: place.row
    )
    out: list[FloatArray] = []
    rows: list[int] = []
    for number, place in enumerate(places):
        after = places[number + 1].row if number + 1 < len(places) else len(t)
        if place.kind == STEP:
            own = [(np.arange(len(t)) >= place.row).astype(float)]
        else:
            ramp = np.clip(t - t[place.row], 0.0, t[after - 1] - t[place.row])
            own = [ramp, ramp**2] if after - place.row >= LONG else [ramp]
        out += own
        rows += [place.row] * len(own)
    return out, rows
