"""The band of a comparison: one linear filter for model and measurement, and how wide it may be.

A linear filter F on both sides keeps tau = Y x true, F tau = (F Y) x, whatever it takes away. So
noise, ripple and elastic gears above the band leave a fit without a bias, and the samples that are
left can be thinned out. Uneven samples are first moved to an even grid by linear interpolation,
which is linear too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.regressor import regressor
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot

if TYPE_CHECKING:
    from deltadyn.recording.prepare.data import Prepared  # it is made with these filters

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

    @property
    def shortest(self) -> int:
        """Samples of which two are left."""
        return 2 * self.margin + 1 + self.step

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


# The same filter along contiguous rows, as small matrix products.
#
# An output is y_k = sum_j h_j x_{k s - j} with the taps h and the step s. Several neighbouring
# outputs together need little more input than one, so a window of input times a band matrix B of
# the taps gives them all, (y_k, ..., y_{k+m}) = (x_a, ..., x_b) B, at the speed of matrix products.


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
        band, flat = _band_matrix(filter, together), np.ascontiguousarray(flat)
        # views of all rows at once: making one takes as long as the product of a row
        windows = sliding_window_view(flat, len(band), axis=1)[:, :: together * filter.step]
        first = kept // together * together
        for own, result in zip(windows, out, strict=True):
            _filter_row(band, own, result[:first])
        if first < kept:
            rest = flat[:, first * filter.step :]
            single = sliding_window_view(rest, len(filter.taps), axis=1)[:, :: filter.step]
            for own, result in zip(single, out, strict=True):
                result[first:] = own[: kept - first] @ filter.taps[::-1]
    return out.reshape(*x.shape[:-1], kept)


def _band_matrix(filter: LowPass, together: int) -> FloatArray:
    """(window, together): the taps in every column, each a step below its neighbour on the left."""
    size = len(filter.taps)
    band = np.zeros(((together - 1) * filter.step + size, together))
    for column in range(together):
        start = column * filter.step
        band[start : start + size, column] = filter.taps[::-1]
    return band


def _filter_row(band: FloatArray, windows: FloatArray, out: FloatArray) -> None:
    """One row: products of its windows with the band."""
    together = band.shape[1]
    inner = out.reshape(-1, together)
    several = max(1, SMALL // band.size)
    for start in range(0, len(inner), several):
        stop = min(start + several, len(inner))
        np.matmul(np.ascontiguousarray(windows[start:stop]), band, out=inner[start:stop])


# The band in which a rigid model explains the torque, found from the data.
#
# A rigid model is fitted in a narrow band. The spectrum S_e of what it leaves, over that of the
# torque S_tau, tells up to which frequency it explains at least half of the power,
#
#     S_e(f) / S_tau(f) <= 1 / 2
#
# Above, gears swing, ripple and noise rule. The fit is repeated in the band that was found.


LONGEST = 60_000  # samples that are looked at
LEAST = 0.5  # share of the torque's power that the model must explain
MOTION = 0.99  # of the power of the accelerations lies in the first band
LOWEST = 3.0  # Hz
OUTLASTS = 18.0  # periods of the band in a recording: the filter's windows take up six
WINDOW = 0.5  # s, of a spectrum
WIDENING = 1.1  # from one frequency of the smoothed spectra to the next
ALL = 0.36  # of the sampling rate: a band beyond it is the whole spectrum


def choose_band(robot: Robot, parts: Sequence[Prepared]) -> float | None:
    """The band in Hz for these parts; None where the model explains all that was recorded."""
    part = _shortened(robot, max(parts, key=len))
    Y = regressor(robot, part.state, "exact", tied=False, com_offset=True).Y
    even_Y = Y if part.grid is None else part.grid(Y)
    even_tau = part.tau if part.grid is None else part.grid(part.tau)
    band: float | None = _motion_band(part)
    for _ in range(3):
        found = _explained_up_to(part.with_band(band), Y, even_Y, even_tau)
        if found is None or (band is not None and abs(found - band) < 0.05 * band):
            return found
        band = found
    return band


def _explained_up_to(
    part: Prepared, Y: FloatArray, even_Y: FloatArray, even_tau: FloatArray
) -> float | None:
    """Hz up to which a fit in the part's band explains the torque."""
    left, right = part.limited(Y), part.limited(part.tau)
    flat = left.reshape(-1, Y.shape[2])
    length = np.linalg.norm(flat, axis=0)
    length[length == 0] = 1.0
    scale = 1 / np.maximum(right.std(axis=0), 1e-300)  # axes count alike
    weighted = (left / length * scale[:, None]).reshape(flat.shape)
    x = np.linalg.lstsq(weighted, (right * scale).reshape(-1), rcond=1e-8)[0] / length
    residual = (even_tau - even_Y @ x) * scale
    frequency, torque = _spectrum(even_tau * scale, part.rate)
    _, rest = _spectrum(residual, part.rate)
    unexplained = np.asarray(rest / np.maximum(torque, 1e-300))
    lost = np.flatnonzero((unexplained > 1 - LEAST) & (frequency > LOWEST))
    if not lost.size or frequency[lost[0]] > ALL * part.rate:
        return None
    return float(max(frequency[max(lost[0] - 1, 0)], _least(part)))


def _spectrum(x: FloatArray, rate: float) -> tuple[FloatArray, FloatArray]:
    """Frequencies and mean power over the axes, smoothed over bands of a tenth of an octave."""
    from scipy.signal import welch  # takes longer than the rest of the import

    size = min(len(x), max(64, int(WINDOW * rate)))
    f, power = welch(x, fs=rate, nperseg=size, axis=0, detrend="constant")
    total = power.sum(axis=1)[1:]
    f = f[1:]
    edges = [f[0] * 0.999]
    while edges[-1] < f[-1]:
        edges.append(max(edges[-1] * WIDENING, edges[-1] + f[0]))
    place = np.searchsorted(edges, f, side="right") - 1
    count = np.bincount(place, minlength=len(edges))
    used = count > 0
    means = np.bincount(place, total, len(edges))[used] / count[used]
    middles = np.bincount(place, f, len(edges))[used] / count[used]
    return middles, means


def _motion_band(part: Prepared) -> float:
    """Hz below which nearly all the power of the joint rates' changes lies, as a first guess."""
    f, power = _spectrum(part.state.qd, part.rate)
    below = np.cumsum(power * f**2 * np.gradient(f))
    first = float(f[int(np.searchsorted(below, MOTION * below[-1]))])
    return float(max(min(first, 0.1 * part.rate), _least(part)))


def _least(part: Prepared) -> float:
    """The narrowest band in Hz: its filter takes at most a third of the recording."""
    return min(max(LOWEST, OUTLASTS * part.rate / len(part)), ALL * part.rate)


def _shortened(robot: Robot, part: Prepared) -> Prepared:
    """The middle of a long part."""
    if len(part) <= LONGEST:
        return part.with_band(None)
    first = (len(part) - LONGEST) // 2
    rows = slice(first, first + LONGEST)
    state = part.state
    cut = State.from_joints(robot, state.q[rows], state.qd[rows], state.qdd[rows])
    t = part.t[rows]
    grid = None if part.grid is None else EvenGrid.of(t, 1 / part.rate)
    warmth = None if part.temperature is None else part.temperature[rows]
    return replace(
        part, t=t, state=cut, tau=part.tau[rows], grid=grid, filter=None, temperature=warmth
    )
