"""Lines of a limit report from values over time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.motion.limit_report import EXCEEDED, NO_SAMPLE, OK, ROUNDING, UNNAMED, Limit


def upper_row(
    name: str,
    unit: str,
    t: FloatArray,
    values: FloatArray,
    allowed: float | Sequence[float] | None,
    axes: tuple[str, ...],
    share: float = 1.0,
    *,
    timeless: bool = False,
) -> Limit:
    """A quantity (N, k) that must not pass its limit of each column."""
    most = None
    if allowed is not None:
        most = share * np.broadcast_to(np.asarray(allowed, dtype=np.float64), values.shape[1])
    use = values if most is None else values / most
    row, column = worst_place(use)
    worst = float(values[row, column])
    at = None if timeless else float(t[row])
    if most is None:
        return limit_row(name, worst, None, unit, None, None, at, axes[column])
    bound = float(most[column])
    share_used = float(use[row, column])
    return limit_row(name, worst, bound, unit, share_used, bound - worst, at, axes[column])


def range_rows(
    low_name: str,
    high_name: str,
    unit: str,
    t: FloatArray,
    values: FloatArray,
    low: float | Sequence[float] | None,
    high: float | Sequence[float] | None,
    axes: tuple[str, ...],
) -> list[Limit]:
    """A quantity (N, k) that must stay between two bounds of each column: one row per bound.

    The share used counts from the middle; where only one bound is known, from half a turn inside.
    """
    rows = []
    both = low is not None and high is not None
    for name, bound, sign in ((low_name, low, -1.0), (high_name, high, 1.0)):
        if bound is None:
            row, column = worst_place(sign * values)
            worst, at = float(values[row, column]), float(t[row])
            rows.append(limit_row(name, worst, None, unit, None, None, at, axes[column]))
            continue
        edge = np.broadcast_to(np.asarray(bound, dtype=np.float64), values.shape[1])
        half = np.subtract(high, low) / 2 if both else np.pi  # type: ignore[arg-type]
        margin = sign * (edge - values)
        use = 1 - margin / half
        row, column = worst_place(use)
        worst, left, at = (float(x) for x in (values[row, column], margin[row, column], t[row]))
        used, most = float(use[row, column]), float(edge[column])
        rows.append(limit_row(name, worst, most, unit, used, left, at, axes[column]))
    return rows


def worst_place(use: FloatArray) -> tuple[int, int]:
    """Row and column of the largest value; the first where there is none."""
    filled = np.where(np.isnan(use), -np.inf, use)
    row, column = divmod(int(np.argmax(filled)), use.shape[1])
    return row, column


def limit_row(
    name: str,
    worst: float,
    allowed: float | None,
    unit: str,
    use: float | None,
    margin: float | None,
    time: float | None = None,
    axis: str = "",
) -> Limit:
    """A line of the report, with its status."""
    if allowed is None:
        return Limit(name, worst, None, unit, None, None, time, axis, UNNAMED)
    if use is None or math.isnan(use):
        return Limit(name, worst, allowed, unit, None, None, None, "", NO_SAMPLE)
    status = EXCEEDED if use > 1 + ROUNDING else OK
    return Limit(name, worst, allowed, unit, margin, max(use, 0.0), time, axis, status)
