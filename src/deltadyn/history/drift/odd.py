"""Odd nights: one bad log is no change.

Night i of a parameter is odd where it differs from the median of the five nights before it by more
than `FAR` deviations (the first five nights: from the median of the first eleven), and stands out
from its neighbours the same way: from the night before and from both after. A step has a neighbour
that stands as far, the next night, and a ramp one that stands further. Until that comes the newest
night waits: `held` says from which nights no alarm may be raised.
"""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.history.drift.scan import Bools

FAR = 5.0  # deviations from the nights before
NEAR = 4.0  # deviations by which it stands out from its neighbours
BEFORE = 5
MANY = 0.3  # share of the parameters that makes a whole night odd


def odd_nights(y: FloatArray, sigma: FloatArray) -> tuple[Bools, Bools]:
    """Which nights are odd, and which hold back alarms, both (n, k)."""
    odd, held = np.zeros(y.shape, dtype=bool), np.zeros(y.shape, dtype=bool)
    known = np.isfinite(y) & np.isfinite(sigma)
    whole = known.all(axis=0)
    if len(y) > BEFORE and whole.any():
        odd[:, whole], held[:, whole] = _without_gaps(y[:, whole], sigma[:, whole])
    for k in np.flatnonzero(~whole):
        rows = np.flatnonzero(known[:, k])
        if len(rows) > BEFORE:
            found, waits = _without_gaps(y[rows, k, None], sigma[rows, k, None])
            odd[rows, k], held[rows, k] = found[:, 0], waits[:, 0]
    # one log, one night: where many parameters are odd the others are not trusted either
    many = odd.sum(axis=1) >= np.maximum(MANY * known.sum(axis=1), 2)
    wait = held.sum(axis=1) >= np.maximum(MANY * known.sum(axis=1), 2)
    return odd | (many[:, None] & known), held | wait[:, None]


def _without_gaps(y: FloatArray, sigma: FloatArray) -> tuple[Bools, Bools]:
    """The same for parameters y (n, k) that every night shows."""
    windows = np.lib.stride_tricks.sliding_window_view(y, BEFORE, axis=0)[:-1]
    off = np.zeros(y.shape)
    off[BEFORE:] = y[BEFORE:] - np.median(windows, axis=-1)
    off[:BEFORE] = y[:BEFORE] - np.median(y[: 2 * BEFORE + 1], axis=0)  # the first have no five
    alone = (np.abs(off) > FAR * sigma) & _sticks_out(y, sigma, off, -1)
    after = alone & _sticks_out(y, sigma, off, 1)
    waits = alone.copy()  # the newest night, and the last but one where its follower differs
    waits[1:] |= after[:-1]
    return after & _sticks_out(y, sigma, off, 2), waits


def _sticks_out(y: FloatArray, sigma: FloatArray, off: FloatArray, step: int) -> Bools:
    """Whether a night stands further off than the one `step` nights on; True beyond the ends."""
    out = np.ones(y.shape, dtype=bool)
    own, other = (slice(None, -step), slice(step, None))
    if step < 0:
        own, other = slice(-step, None), slice(None, step)
    beyond = np.sign(off[own]) * (y[own] - y[other])
    out[own] = beyond > NEAR * np.maximum(sigma[own], sigma[other])
    return out
