"""Orders of ripple: how often per turn of an axis a residual waves.

The residual is summed by angle over one turn; the transform of these sums is the power by order.
A joint travels over a part of a turn, so peaks are some orders wide.
"""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray

BINS = 8192  # of a turn
NEIGHBOURS = 241  # orders that the level of a peak is taken from: several times its width
PEAK = 5.0  # times the level of its neighbours, to be tried; the evidence decides
MOST = 3  # orders
HIGHEST = 1000  # of the orders
LOWEST = 6  # waves per turn: fewer are shapes of the joint's whole travel


def periodogram(q: FloatArray, residual: FloatArray) -> FloatArray:
    """Power over the level of its neighbours, mean of the axes, by order (HIGHEST,)."""
    from scipy.ndimage import median_filter  # takes longer than the rest of the import

    power = np.zeros(HIGHEST)
    for axis in range(q.shape[1]):
        place = np.floor(q[:, axis] * BINS / (2 * np.pi)).astype(np.int64) % BINS
        sums = np.bincount(place, residual[:, axis], BINS)
        own = np.abs(np.fft.rfft(sums)[:HIGHEST]) ** 2
        level = median_filter(own, NEIGHBOURS, mode="reflect")
        power += own / np.maximum(level, 1e-300) / q.shape[1]
    return power


def orders_of(q: FloatArray, residual: FloatArray, wide: float) -> list[int]:
    """At most three orders at which the residual peaks; `wide` is how far peaks reach."""
    power = periodogram(q, residual)
    power[:LOWEST] = 0.0
    found: list[int] = []
    while len(found) < MOST:
        best = int(np.argmax(power))
        if power[best] < PEAK:
            break
        found.append(best)
        low, high = max(0, int(best - wide)), int(best + wide) + 1
        power[low:high] = 0.0
    return found
