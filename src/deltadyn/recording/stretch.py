"""Stretches of a log on which models can be evaluated: smooth samples with rates."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.recording.prepare.band import EvenGrid
from deltadyn.recording.recording import Recording

GAP = 1.5  # time steps: from here on a sample is missing
WINDOW = 0.02  # s over which a cubic is fitted for the rates
LEAST_POINTS = 7
EVEN = 0.02  # of a time step: below, the clock is taken as even
PIECES = 12
PIECE_ROWS = 4000
MOST_SAMPLES = 3000


@dataclass(frozen=True, eq=False)
class Stretch:
    """Samples (n, dof) with rates by local cubics, and the rows they came from.

    Torques are smoothed by the same cubics, and NaN where the recording has none. `step` is the
    time between samples in s.
    """

    row: npt.NDArray[np.intp]
    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    tau: FloatArray
    step: float


def smooth_stretch(recording: Recording) -> Stretch | None:
    """Up to some thousand samples spread over the recording; None where no piece is long enough.

    Rates are crude but unbiased for motions up to some 20 Hz, and good enough to tell signs, units
    and axes apart.
    """
    step = recording.sample_time
    if not step > 0:
        return None
    points = max(LEAST_POINTS, 2 * round(WINDOW / step / 2) + 1)
    pieces = [
        _piece(recording, start, stop, step, points) for start, stop in _chosen(recording, points)
    ]
    if not pieces:
        return None
    whole = [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
    stride = max(1, len(whole[0]) // MOST_SAMPLES)
    row, q, qd, qdd, tau = (array[::stride] for array in whole)
    return Stretch(row.astype(np.intp), q, qd, qdd, tau, stride * step)


def steady_steps(recording: Recording) -> BoolArray:
    """Which steps of time (N - 1,) are of the usual length: across a gap nothing is compared."""
    steps = np.diff(recording.t)
    with np.errstate(invalid="ignore"):
        return np.asarray((steps > 0) & (steps <= GAP * recording.sample_time))


def _chosen(recording: Recording, points: int) -> list[tuple[int, int]]:
    """Pieces without gaps and missing values, evenly spread over the recording."""
    good = steady_steps(recording)
    finite = np.asarray(np.isfinite(recording.q).all(axis=1))
    if recording.has_torque:
        finite &= np.isfinite(recording.tau).all(axis=1)
    good &= finite[1:] & finite[:-1]
    breaks = np.flatnonzero(~good) + 1
    bounds = np.concatenate([[0], breaks, [len(recording)]])
    least = 4 * points
    whole = [(int(a), int(b)) for a, b in pairwise(bounds) if b - a >= least]
    total = sum(b - a for a, b in whole)
    if total <= PIECES * PIECE_ROWS:
        return whole
    cut = [
        (start, min(start + PIECE_ROWS, b)) for a, b in whole for start in range(a, b, PIECE_ROWS)
    ]
    cut = [(a, b) for a, b in cut if b - a >= least]
    picked = np.unique(np.linspace(0, len(cut) - 1, PIECES).round().astype(int))
    return [cut[index] for index in picked]


def _piece(
    recording: Recording, start: int, stop: int, step: float, points: int
) -> tuple[FloatArray, ...]:
    """Rows, q, qd, qdd and tau of one piece, at even steps."""
    from scipy.signal import savgol_filter  # takes longer than the rest of the import

    row = np.arange(start, stop, dtype=np.float64)
    torque = recording.tau if recording.has_torque else np.full_like(recording.q, np.nan)
    t, q, tau = (array[start:stop] for array in (recording.t, recording.q, torque))
    if np.ptp(np.diff(t)) > EVEN * step:  # the clock jitters
        grid = EvenGrid.of(t, step)
        row, q, tau = np.round(grid(row)), grid(q), grid(tau)
    rates = [savgol_filter(q, points, 3, deriv=order, delta=step, axis=0) for order in range(3)]
    inside = slice(points // 2, len(row) - points // 2)
    if recording.has_torque:
        tau = savgol_filter(tau, points, 3, axis=0)  # as the angles: what it takes away, both lack
    return (row[inside], *(x[inside] for x in rates), tau[inside])
