"""A narrow peak in a residual's spectrum above the motion: gears or struts that swing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.validation.evidence import Piece

WINDOW = 1.0  # s of a spectrum, where the recording lasts four of them
AVERAGES = 4  # windows that a recording must hold
MOTION = 0.999  # of the power of the joint angles lies below the motion's band
ABOVE = 4.0  # times the motion's band: where a peak is looked for
NEIGHBOURS = 0.4  # of a frequency, to both sides: its neighbourhood, whose median is the background
NARROW = 0.35  # of its frequency: a peak is not wider at half its height
FALSE = 1e-4  # probability of a peak in the spectrum of white noise


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Power spectral density (F, dof) in (N m)^2/Hz of the residual as recorded, not band-limited.

    `motion` (Hz) is the band that holds 99.9 % of the power of every joint angle: angles, because
    what swings hardly shows in them.
    """

    frequency: FloatArray
    density: FloatArray
    motion: float
    averages: float


@dataclass(frozen=True)
class Peak:
    """A narrow peak of one axis: Hz, width at half height in Hz, N m RMS, share of the power."""

    axis: int
    frequency: float
    width: float
    rms: float
    share: float


def residual_spectrum(pieces: Sequence[Piece]) -> Spectrum:
    """The spectrum of the longest stretch at the recorded rate."""
    from scipy.signal import welch  # takes longer than the rest of the import

    piece = max(pieces, key=lambda item: len(item.prepared))
    rate, e = piece.prepared.rate, piece.raw_residual()
    size = max(16, min(int(WINDOW * rate), 2 * len(e) // (AVERAGES + 1)))
    size = min(size, len(e))
    frequency, density = welch(e - e.mean(axis=0), rate, nperseg=size, axis=0)
    q = piece.prepared.state.q
    q = q if piece.prepared.grid is None else piece.prepared.grid(q)
    smooth = (q - q.mean(axis=0)) * np.hanning(len(q))[:, None]
    power = np.cumsum(np.abs(np.fft.rfft(smooth, axis=0)) ** 2, axis=0)
    f = np.fft.rfftfreq(len(q), 1 / rate)
    below = [int(np.searchsorted(column, MOTION * column[-1])) for column in power.T]
    averages = max(1.0, 2 * len(e) / size - 1)
    return Spectrum(frequency, np.asarray(density), float(max(f[below])), averages)


def find_peaks(spectrum: Spectrum) -> tuple[Peak, ...]:
    """The strongest narrow peak of each axis above the motion's band, where there is one."""
    found = (_peak(spectrum, axis) for axis in range(spectrum.density.shape[1]))
    return tuple(peak for peak in found if peak is not None)


def _peak(spectrum: Spectrum, axis: int) -> Peak | None:
    from scipy.stats import chi2  # takes longer than the rest of the import

    f, density = spectrum.frequency, spectrum.density[:, axis]
    searched = np.flatnonzero((f > ABOVE * spectrum.motion) & (f < 0.95 * f[-1]))
    if searched.size < 8 or not density.sum() > 0:
        return None
    background = np.array([_background(density, int(k)) for k in searched])
    ratio = density[searched] / np.maximum(background, 1e-300)
    # overlapping windows are not independent: three quarters of them count
    freedom = max(2.0, 1.5 * spectrum.averages)
    least = max(6.0, float(chi2.ppf(1 - FALSE / searched.size, freedom)) / freedom)
    best = int(np.argmax(density[searched] * (ratio > least)))
    if ratio[best] <= least:
        return None
    k, floor = int(searched[best]), background[best]
    half = _stretch(density > density[k] / 2, k)
    width = float(f[half.stop - 1] - f[half.start] + f[1])
    if width > max(NARROW * f[k], 3 * f[1]):
        return None
    foot = _stretch(density > 2 * floor, k)
    power = float(np.sum(density[foot] - floor) * f[1])
    total = float(np.sum(density) * f[1])
    return Peak(axis, float(f[k]), width, float(np.sqrt(power)), power / total)


def _background(density: FloatArray, k: int) -> float:
    """The median around a frequency, on both sides alike."""
    reach = max(6, int(NEIGHBOURS * k))
    return float(np.median(density[max(1, k - reach) : k + reach + 1]))


def _stretch(flags: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], k: int) -> slice:
    """The run of True around k."""
    start = stop = k
    while start > 0 and flags[start - 1]:
        start -= 1
    while stop < len(flags) and flags[stop]:
        stop += 1
    return slice(start, max(stop, k + 1))
