"""The band in which a rigid model is fitted: regressor and torque pass the same linear filter.

A linear filter F on both sides keeps tau = Y x true, F tau = (F Y) x, whatever it takes away. So
noise, ripple and elastic gears above the band leave the fit without a bias, and the samples that
are left can be thinned out. Uneven samples are first moved to an even grid by linear
interpolation, which is linear too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError

OVERSAMPLING = 2.5  # samples per second and Hz of the band that are kept
REJECTION = 50.0  # dB of what would fold back into the band
COLUMNS = 64  # filtered at once


@dataclass(frozen=True, eq=False)
class LowPass:
    """A linear-phase FIR filter for samples at `rate`, of which every `step`-th is kept."""

    rate: float
    band: float
    step: int
    taps: FloatArray

    @classmethod
    def of(cls, rate: float, band: float) -> LowPass:
        """The filter that passes up to `band` Hz and stops what would fold back into it."""
        from scipy.signal import firwin, kaiserord  # takes longer than the rest of the import

        highest = rate / OVERSAMPLING
        if not 0 < band <= highest:
            raise InputError("band", band, f"above 0 and at most {highest:.4g} Hz, or None")
        step = max(1, int(rate / (OVERSAMPLING * band) + 1e-6))  # times are rounded
        stop = min(rate / step - band, rate / 2)
        count, beta = kaiserord(REJECTION, 2 * (stop - band) / rate)
        half = step * max(1, int(np.ceil((count - 1) / 2 / step)))
        taps = firwin(2 * half + 1, (band + stop) / 2, window=("kaiser", beta), fs=rate)
        return cls(rate, band, step, np.asarray(taps, dtype=np.float64))

    @property
    def margin(self) -> int:
        """Samples that are lost at each end."""
        return (len(self.taps) - 1) // 2

    def length(self, count: int) -> int:
        """How many samples are left of `count`."""
        return max(0, (count - 2 * self.margin - 1) // self.step + 1)

    def __call__(self, x: FloatArray) -> FloatArray:
        """Filter and thin out the rows of x (N, ...), whole windows only."""
        from scipy.signal import upfirdn

        kept = self.length(len(x))
        if not kept:
            return np.empty((0, *x.shape[1:]))
        flat = x.reshape(len(x), -1)
        out = np.empty((kept, flat.shape[1]))
        first = 2 * self.margin // self.step
        for start in range(0, flat.shape[1], COLUMNS):
            part = np.ascontiguousarray(flat[:, start : start + COLUMNS].T)
            full = upfirdn(self.taps, part, down=self.step)
            out[:, start : start + COLUMNS] = full[:, first : first + kept].T
        return out.reshape(kept, *x.shape[1:])

    def times(self, t: FloatArray) -> FloatArray:
        """The times at the middle of the windows."""
        return t[self.margin :: self.step][: self.length(len(t))]


@dataclass(frozen=True, eq=False)
class EvenGrid:
    """Linear interpolation from N samples to an even grid."""

    t: FloatArray
    left: np.ndarray[tuple[int], np.dtype[np.intp]]
    share: FloatArray  # of the right neighbour

    @classmethod
    def of(cls, t: FloatArray, step: float) -> EvenGrid:
        """The grid with this step over the span of t."""
        count = int(np.floor((t[-1] - t[0]) / step + 1e-6)) + 1
        grid = np.minimum(t[0] + step * np.arange(count), t[-1])
        left = np.clip(np.searchsorted(t, grid, side="right") - 1, 0, len(t) - 2)
        return cls(grid, left, (grid - t[left]) / (t[left + 1] - t[left]))

    def __call__(self, x: FloatArray) -> FloatArray:
        """The values of x (N, ...) on the grid."""
        share = self.share.reshape(-1, *(1,) * (x.ndim - 1))
        out: FloatArray = x[self.left] * (1 - share) + x[self.left + 1] * share
        return out


# A low-pass filter along contiguous rows, as small matrix products.
#
# Several neighbouring outputs together need little more input than one, so a window of input times
# a band matrix of the taps gives them all, at the speed of matrix products.


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
