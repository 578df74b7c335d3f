"""A low-pass filter along contiguous rows, as small matrix products.

Several neighbouring outputs together need little more input than one, so a window of input times a
band matrix of the taps gives them all, at the speed of matrix products.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from deltadyn.arrays import FloatArray
from deltadyn.identification.lowpass import LowPass

SMALL = 250_000  # multiplications in a product: beyond, the library starts threads of its own


def decimated(filter: LowPass | None, x: FloatArray) -> FloatArray:
    """What the filter gives for x (..., N), along the last axis; x itself without a filter."""
    if filter is None:
        return x
    kept = filter.length(x.shape[-1])
    flat = x.reshape(-1, x.shape[-1])
    out = np.empty((len(flat), kept))
    if kept:
        together = max(1, min(kept, -(-len(filter.taps) // filter.step)))
        band = _band_matrix(filter, together)
        for row, result in zip(flat, out, strict=True):
            _filter_row(filter, band, np.ascontiguousarray(row), result)
    return out.reshape(*x.shape[:-1], kept)


def _band_matrix(filter: LowPass, together: int) -> FloatArray:
    """(window, together): the taps in every column, each a step below its neighbour on the left."""
    size = len(filter.taps)
    band = np.zeros(((together - 1) * filter.step + size, together))
    for column in range(together):
        start = column * filter.step
        band[start : start + size, column] = filter.taps[::-1]
    return band


def _filter_row(filter: LowPass, band: FloatArray, x: FloatArray, out: FloatArray) -> None:
    window, together = band.shape
    whole = len(out) // together
    windows = sliding_window_view(x, window)[:: together * filter.step]
    several = max(1, SMALL // band.size)
    inner = out[: whole * together].reshape(whole, together)
    for start in range(0, whole, several):
        stop = min(start + several, whole)
        np.matmul(np.ascontiguousarray(windows[start:stop]), band, out=inner[start:stop])
    first = whole * together
    if first < len(out):
        rest = sliding_window_view(x[first * filter.step :], len(filter.taps))[:: filter.step]
        out[first:] = rest[: len(out) - first] @ filter.taps[::-1]
