"""Periodic motion: its period, the mean over whole periods, and the noise that the periods show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, contract
from deltadyn.errors import InputError
from deltadyn.recording.alignment import (
    FEWEST,
    autocorrelation,
    correlation_factor,
    estimate_delay,
    fft_length,
)
from deltadyn.recording.rates.sampling import Samples, Times, positive, samples

ALIKE = 4.0  # times the least difference: periods as alike as the best ones
UNLIKE = 0.05  # of the variance: two periods that differ by more are none
ON_GRID = 0.02  # samples: a period this near to a whole number of them needs no resampling


@dataclass(frozen=True, eq=False)
class Period:
    """The period of a motion and its standard deviation in s; NaN where there is none."""

    seconds: float
    std: float
    status: str

    @property
    def found(self) -> bool:
        """Whether the motion repeats itself."""
        return bool(np.isfinite(self.seconds))


@dataclass(frozen=True, eq=False)
class PeriodAverage:
    """One period t (M,), the mean x (M, k) of `periods` periods, and the noise of a single one.

    `covariance` (M, k, k) is that of the channels at each sample of the period, `pooled` (k, k) the
    mean of it, `autocorrelation` (lags + 1, k) how the noise resembles itself l samples later.
    `correlation` (k,) is 1 + 2 sum rho: a mean of n samples has the variance
    pooled * correlation / n. The mean x itself has the covariance `covariance / periods`.
    """

    t: FloatArray
    x: FloatArray
    covariance: FloatArray
    pooled: FloatArray
    autocorrelation: FloatArray
    correlation: FloatArray
    period: float
    periods: int
    status: str

    @property
    def std(self) -> FloatArray:
        """Standard deviation (k,) of the noise of one sample, pooled over the period."""
        deviation: FloatArray = np.sqrt(np.diagonal(np.atleast_2d(self.pooled)))
        return deviation


def find_period(t: Times, x: npt.ArrayLike | None = None) -> Period:
    """The period of x (N,) or (N, k) over t, or of a recording's q, on an even grid of samples.

    The shortest lag at which the signal repeats itself as well as it ever does, refined on the
    longest whole number of periods in the record. At least two periods must be there.
    """
    signal = samples(t, x, 2 * FEWEST).filled()
    signal.require_even("find_period")
    moving = signal.x[:, np.ptp(signal.x, axis=0) > 0]
    if not moving.shape[1]:
        return Period(np.nan, np.nan, "no period: nothing moves")
    scaled = (moving - moving.mean(axis=0)) / moving.std(axis=0)
    lag, difference = _first_repeat(scaled)
    if not lag:
        text = "no period: the motion does not come back within half of the record"
        return Period(np.nan, np.nan, text)
    if difference > UNLIKE:
        text = f"no period: the best repeat, after {lag * signal.dt:.4g} s, differs by "
        return Period(np.nan, np.nan, text + f"{difference:.0%} of the variance")
    return _refined(signal, scaled, lag)


def average_periods(
    t: Times, x: npt.ArrayLike | None = None, *, period: float | None = None
) -> PeriodAverage:
    """The mean over the whole periods in x (N,) or (N, k), or in a recording's q and tau.

    The period in s is given or found. Samples after the last whole period are left out.
    """
    if x is None and hasattr(t, "tau"):
        recording = t
        known = find_period(recording) if period is None else None
        signal = samples(recording.t, np.hstack([recording.q, recording.tau]), 4)  # type: ignore[union-attr]
    else:
        signal = samples(t, x, 4)
        known = find_period(signal.t, signal.x) if period is None else None
    signal.require_even("average_periods")
    if known is not None and not known.found:
        raise InputError("period", None, f"a number in s, since none was found ({known.status})")
    seconds = known.seconds if known is not None else positive(period, "period", "s")
    blocks, note = _blocks(signal, seconds)  # (P, M, k)
    return _averaged(signal, blocks, seconds, note)


def _averaged(signal: Samples, blocks: FloatArray, seconds: float, note: str) -> PeriodAverage:
    count, length, channels = blocks.shape
    mean = blocks.mean(axis=0)
    noise = blocks - mean
    covariance = contract("pmi,pmj->mij", noise, noise) / (count - 1)
    rho = autocorrelation(noise.reshape(count * length, channels), length // 2)
    factor = correlation_factor(rho)
    left = signal.duration + signal.dt - count * seconds
    rest = f", the last {left:.3g} s left out" if left > 1.5 * signal.dt else ""
    status = f"{count} periods of {seconds:.9g} s{note}{rest}"
    return PeriodAverage(
        np.arange(length) * (seconds / length),
        signal.like_given(mean),
        covariance[:, 0, 0] if signal.single else covariance,
        covariance.mean(axis=0),
        rho[:, 0] if signal.single else rho,
        factor,
        seconds,
        count,
        status,
    )


def _blocks(signal: Samples, seconds: float) -> tuple[FloatArray, str]:
    """Whole periods (P, M, k), and a note where their samples had to be interpolated."""
    from scipy.interpolate import make_interp_spline  # takes longer than the rest of the import

    if seconds < 4 * signal.dt:
        raise InputError("period", seconds, f"at least 4 samples, {4 * signal.dt:.4g} s")
    periods = int(np.floor((signal.duration + signal.dt * 1.01) / seconds))
    if periods < 2:
        allowed = (
            f"at most {(signal.duration + signal.dt) / 2:.6g} s: at least 2 periods in the record"
        )
        raise InputError("period", seconds, allowed)
    exact = seconds / signal.dt
    length = round(exact)
    if abs(exact - length) * periods <= ON_GRID:
        return signal.x[: periods * length].reshape(periods, length, -1), ""
    at = signal.t[0] + seconds * np.arange(periods * length) / length
    if at[-1] > signal.t[-1]:
        periods -= 1
        if periods < 2:
            raise InputError("period", seconds, "at least 2 whole periods in the record")
        at = at[: periods * length]
    resampled = make_interp_spline(signal.t, signal.x, k=5)(at)
    note = f", resampled since a period is {exact:.6g} samples"
    return resampled.reshape(periods, length, -1), note


def _first_repeat(x: FloatArray) -> tuple[int, float]:
    """The shortest lag whose difference comes near the least, and that difference per variance.

    0 where no lag up to half of the record is a minimum of the difference.
    """
    rise = _differences(x)
    away = int(np.argmax(rise >= rise.max() / 2))  # noise makes minima before the motion has left
    low = (rise[1:-1] < rise[:-2]) & (rise[1:-1] <= rise[2:])
    inner = np.flatnonzero(low[away:]) + away + 1
    if not inner.size:
        return 0, np.inf
    # A period between two samples leaves a rest even without noise: the fitted parabola's bottom,
    # known to a small part of its bend.
    left, middle, right = rise[inner - 1], rise[inner], rise[inner + 1]
    bend = left - 2 * middle + right
    bottom = np.maximum(middle - (left - right) ** 2 / (8 * bend), 0.0)
    first = inner[bottom <= ALIKE * bottom.min() + 0.02 * bend][0]
    # Noise makes several minima in the valley around a period: the lowest of them counts.
    near = np.flatnonzero((inner >= first) & (inner <= 1.1 * first))
    best = near[np.argmin(bottom[near])]
    return int(inner[best]), float(bottom[best]) / 2


def _differences(x: FloatArray) -> FloatArray:
    """Mean over channels and time of (x(t + l) - x(t))^2 for lags l up to half of the record."""
    count = len(x)
    lags = count // 2
    size = fft_length(count + lags)
    spectrum = np.fft.rfft(x, size, axis=0)
    products = np.fft.irfft(np.sum(np.abs(spectrum) ** 2, axis=1), size)[: lags + 1]
    squares = np.concatenate([[0.0], np.cumsum(np.sum(x**2, axis=1))])
    span = count - np.arange(lags + 1)
    both = squares[span] + (squares[-1] - squares[count - span])
    total: FloatArray = (both - 2 * products) / (span * x.shape[1])
    return np.maximum(total, 0.0)


def _refined(signal: Samples, scaled: FloatArray, lag: int) -> Period:
    """The delay between the record and itself, once one period later, then as many as fit."""
    seconds, std = lag * signal.dt, np.nan
    whole = signal.duration / seconds
    counts = sorted({1, max(1, int(whole // 2)), max(1, int(whole * 0.8))})
    for count in counts:
        shift = round(count * seconds / signal.dt)
        rows = len(scaled) - shift
        if rows < 2 * FEWEST:
            break
        delay = estimate_delay(signal.t[:rows], scaled[shift:], scaled[:rows])
        seconds = (shift * signal.dt + delay.seconds) / count
        std = delay.std / count
    status = (
        f"period {seconds:.9g} s, std {std:.2g} s, {signal.duration / seconds:.3g} in the record"
    )
    return Period(seconds, std, status)
