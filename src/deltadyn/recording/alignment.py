"""Delays: between a measured channel and its model, and between a periodic motion and itself.

A drive logs torque and position through different filters and buses, so one may lag behind the
other. The delay d is that of the least-squares fit

    measured_i(t) = [gain_i model_i + Fv_i qd_i + Fc_i sign(qd_i)](t - d) + offset_i + noise

found by cross-correlation to a sample and by Gauss-Newton steps on its Taylor series from there.
The model is smoothed first: interpolation takes noise away between samples, so a noisy model would
fit best half a sample off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_float, contract
from deltadyn.errors import InputError
from deltadyn.recording.rates.bandwidth import kalman
from deltadyn.recording.rates.sampling import (
    RateOptions,
    Samples,
    Times,
    positive,
    samples,
)

# How far noise resembles itself a few samples later, and what that does to standard deviations.


WINDOW = 5.0  # correlation times: enough to hold the sum, few enough to keep its noise out


def fft_length(least: int) -> int:
    """The next power of two: room for lags without wrapping around."""
    return 1 << (least - 1).bit_length()


def autocorrelation(e: FloatArray, lags: int) -> FloatArray:
    """rho (lags + 1, k) of e (N, k): sum_n e_n e_{n+l} / sum_n e_n^2, without removing a mean."""
    size = fft_length(len(e) + lags)
    power = np.abs(np.fft.rfft(e, size, axis=0)) ** 2
    products = np.fft.irfft(power, size, axis=0)[: lags + 1]
    with np.errstate(invalid="ignore"):
        rho: FloatArray = products / products[0]
    return rho


def correlation_factor(rho: FloatArray) -> FloatArray:
    """1 + 2 sum rho_l (k,): the variance of a mean of n samples is this times sigma^2 / n.

    The sum ends where it spans five times its own value, so that the noise of far lags stays out.
    """
    sums = 2 * np.cumsum(rho, axis=0) - 1
    lags = np.arange(len(rho))[:, None]
    inside = lags < WINDOW * sums
    last = np.where(inside.all(axis=0), len(rho) - 1, np.argmin(inside, axis=0))
    factor: FloatArray = sums[last, np.arange(rho.shape[1])]
    return np.maximum(factor, 0.0)


def variance_of_sum(u: FloatArray) -> float:
    """Variance of sum u_n for u (N,) of mean 0 with any autocorrelation.

    Bartlett weights over a span that an AR(1) fit suggests (Andrews 1991): 1.1447 (a N)^(1/3),
    a = 4 rho^2 / (1 - rho^2)^2.
    """
    count = len(u)
    square = float(u @ u)
    if square == 0.0:
        return 0.0
    rho = min(abs(float(u[:-1] @ u[1:]) / square), 0.999)
    span = 1.1447 * (4 * rho**2 / (1 - rho**2) ** 2 * count) ** (1 / 3)
    lags = min(int(np.ceil(span)), count - 1)
    weights = 1 - np.arange(1, lags + 1) / (lags + 1)
    products = autocorrelation(u[:, None], lags)[1:, 0] * square
    return max(square + 2 * float(weights @ products), 0.0)


FEWEST = 32
DEGREE = 5  # of the interpolating spline
STEPS = 25
CONVERGED = 1e-6  # of a sample
POOR = 0.5  # share of the variance: below it measured and model hardly agree
LARGEST = 0.1  # s: searched by default


@dataclass(frozen=True, eq=False)
class Delay:
    """By how much the measured channel lags behind the model, in s; negative where it leads.

    `seconds` and `std` are common to all axes, `axis_seconds` and `axis_std` (k,) those of each
    axis, `explained` (k,) the share of the measured variance that the fit explains. Standard
    deviations hold for residuals with any autocorrelation.
    """

    seconds: float
    std: float
    axis_seconds: FloatArray
    axis_std: FloatArray
    explained: FloatArray
    converged: bool
    status: str


@dataclass(frozen=True, eq=False)
class Aligned:
    """x without its delay, for the rows `rows` of the record: no sample is made up at its ends."""

    t: FloatArray
    x: FloatArray
    rows: slice


def estimate_delay(
    t: npt.ArrayLike,
    measured: npt.ArrayLike,
    model: npt.ArrayLike,
    *,
    qd: npt.ArrayLike | None = None,
    max_delay: float | None = None,
) -> Delay:
    """The delay of `measured` behind `model`, each (N,) or (N, k), evenly sampled.

    For torques give the rates `qd` (rad/s) unless the model holds the friction: what is missing
    there is in phase with the rate and would look like a delay. Axes may have different units.
    """
    signal = samples(t, measured, FEWEST, "measured")
    signal.require_even("estimate_delay")
    other = _partner(signal, model, "model")
    rates = None if qd is None else _partner(signal, qd, "qd")
    span = _span(signal, max_delay)
    for name, array in (("measured", signal.x), ("model", other)):
        still = np.flatnonzero(np.ptp(array, axis=0) == 0)
        if still.size:
            raise InputError(name, "constant", "a channel that moves", where=f"channel {still[0]}")
    smooth = kalman(replace(signal, x=other), RateOptions()).x
    fit = _Fit(signal, smooth, rates, span)
    start = _coarse(signal.x, other, span) * signal.dt
    common, settled = _iterate(fit, np.full(signal.channels, start), _weighted)
    _, deviation, explained = fit.step(common)
    own, axis_settled = _iterate(fit, common, lambda shifts, deviations: shifts)
    _, axis_std, _ = fit.step(own)
    seconds = float(common[0])
    std = float(1 / np.sqrt(np.sum(1 / deviation**2))) if np.all(deviation > 0) else 0.0
    converged = settled and axis_settled
    status = _delay_status(seconds, std, own, axis_std, explained, converged, span * signal.dt)
    return Delay(seconds, std, own, axis_std, explained, converged, status)


def remove_delay(t: npt.ArrayLike, x: npt.ArrayLike, delay: Delay | npt.ArrayLike) -> Aligned:
    """x (N,) or (N, k) moved ahead by its delay in s, one for all channels or one each.

    x(t + delay) by a quintic spline through the samples, for the rows where all of it exists.
    """
    from scipy.interpolate import make_interp_spline

    signal = samples(t, x, DEGREE + 1)
    value = delay.seconds if isinstance(delay, Delay) else delay
    seconds = as_float(value, "delay")
    if seconds.shape not in ((), (signal.channels,)) or not np.all(np.isfinite(seconds)):
        raise InputError("delay", value, f"one number or ({signal.channels},), in s")
    each = np.broadcast_to(seconds, (signal.channels,))
    first = int(np.searchsorted(signal.t, signal.t[0] - min(each.min(), 0.0), side="left"))
    last = int(np.searchsorted(signal.t, signal.t[-1] - max(each.max(), 0.0), side="right"))
    if last - first < 1:
        allowed = f"within the record of {signal.duration:g} s"
        raise InputError("delay", float(np.abs(each).max()), allowed)
    rows = slice(first, last)
    kept = signal.t[rows]
    moved = np.column_stack(
        [
            make_interp_spline(signal.t, column, k=DEGREE)(kept + shift)
            for column, shift in zip(signal.x.T, each, strict=True)
        ]
    )
    return Aligned(kept, signal.like_given(moved), rows)


class _Shift(NamedTuple):
    """Shift in s, its standard deviation in s and the explained share, each (k,)."""

    seconds: FloatArray
    std: FloatArray
    explained: FloatArray


class _Fit:
    """The linear fit around given delays: how much each axis wants to move, and how surely."""

    def __init__(
        self, signal: Samples, model: FloatArray, rates: FloatArray | None, span: int
    ) -> None:
        from scipy.interpolate import make_interp_spline  # takes longer than the rest of the import

        self.inside = slice(span, len(signal) - span)  # rows for which every delay has a model
        self.t = signal.t[self.inside]
        self.measured = signal.x[self.inside]
        self.models = [make_interp_spline(signal.t, column, k=DEGREE) for column in model.T]
        self.rates = None
        if rates is not None:
            self.rates = [make_interp_spline(signal.t, column, k=1) for column in rates.T]
        self.longest = span * signal.dt
        self.small = CONVERGED * signal.dt

    def step(self, delays: FloatArray) -> _Shift:
        """How much the axes want to move from delays (k,)."""
        rows = [self._axis(axis, float(delay)) for axis, delay in enumerate(delays)]
        return _Shift(*np.array(rows).T)

    def _axis(self, axis: int, delay: float) -> tuple[float, float, float]:
        """One axis: shift, its standard deviation and the explained share."""
        at = self.t - delay
        model = self.models[axis]
        columns = [-model(at, 1), model(at), np.ones_like(at)]
        if self.rates is not None:
            rate = self.rates[axis](at)
            columns += [rate, np.sign(rate)]
        A = np.column_stack(columns)
        scale = np.maximum(np.linalg.norm(A, axis=0), np.finfo(float).tiny)
        Q, R = np.linalg.qr(A / scale)
        inverse = np.linalg.solve(R, Q.T) / scale[:, None]
        y = self.measured[:, axis]
        coefficients = inverse @ y
        residual = y - A @ coefficients
        gain = coefficients[1]
        explained = 1 - float(residual @ residual) / float(np.sum((y - y.mean()) ** 2))
        deviation = np.sqrt(variance_of_sum(inverse[0] * residual)) / abs(gain)
        return float(coefficients[0] / gain), float(deviation), explained


def _iterate(
    fit: _Fit, delays: FloatArray, combine: Callable[[FloatArray, FloatArray], FloatArray]
) -> tuple[FloatArray, bool]:
    """Gauss-Newton steps until all delays (k,) stand still, within the searched span."""
    for _ in range(STEPS):
        shift = fit.step(delays)
        moved = delays + combine(shift.seconds, shift.std)
        moved = np.clip(moved, -fit.longest, fit.longest)
        done = bool(np.all(np.abs(moved - delays) < fit.small))
        delays = moved
        if done:
            return delays, True
    return delays, False


def _weighted(shifts: FloatArray, deviations: FloatArray) -> FloatArray:
    """One shift for all axes, weighted by how well each knows it."""
    weights = 1 / np.maximum(deviations, np.finfo(float).tiny) ** 2
    return np.full_like(shifts, np.average(shifts, weights=weights / weights.max()))


def _coarse(measured: FloatArray, model: FloatArray, span: int) -> int:
    """The delay in samples at which the axes correlate best, each weighted alike."""
    y = (measured - measured.mean(axis=0)) / measured.std(axis=0)
    m = (model - model.mean(axis=0)) / model.std(axis=0)
    size = fft_length(len(y) + span)
    product = np.fft.rfft(y, size, axis=0) * np.conj(np.fft.rfft(m, size, axis=0))
    correlation = np.fft.irfft(product.sum(axis=1), size)
    lags = np.arange(-span + 1, span)
    overlap = len(y) - np.abs(lags)
    return int(lags[np.argmax(correlation[lags] / overlap)])


def _span(signal: Samples, max_delay: float | None) -> int:
    """Samples to search on both sides of zero."""
    longest = (len(signal) - FEWEST // 2) // 4
    if max_delay is None:
        return max(2, min(round(LARGEST / signal.dt), longest))
    wanted = int(np.ceil(positive(max_delay, "max_delay", "s") / signal.dt)) + 1
    if wanted > longest:
        allowed = f"at most {(longest - 1) * signal.dt:.4g} s, a quarter of the record"
        raise InputError("max_delay", max_delay, allowed)
    return wanted


def _partner(signal: Samples, value: npt.ArrayLike, name: str) -> FloatArray:
    partner = samples(signal.t, value, FEWEST, name)
    if partner.channels != signal.channels:
        raise InputError(f"channels of {name}", partner.channels, f"{signal.channels}, as measured")
    return partner.x


def _delay_status(
    seconds: float,
    std: float,
    own: FloatArray,
    axis_std: FloatArray,
    explained: FloatArray,
    converged: bool,
    longest: float,
) -> str:
    who = "lags behind" if seconds >= 0 else "leads"
    parts = [f"measured {who} the model by {abs(seconds) * 1e3:.4g} ms, std {std * 1e3:.2g} ms"]
    if not converged:
        parts.append("not converged")
    if abs(seconds) > 0.95 * longest:
        parts.append(f"at the edge of the search, {longest * 1e3:.3g} ms: give a larger max_delay")
    poor = np.flatnonzero(explained < POOR)
    if poor.size:
        names = ", ".join(str(int(axis)) for axis in poor)
        parts.append(f"axis {names}: measured and model hardly agree")
    spread = np.abs(own - seconds)
    apart = np.flatnonzero(spread > 4 * np.hypot(axis_std, std))
    if apart.size and len(own) > 1:
        names = ", ".join(f"{int(axis)} ({own[axis] * 1e3:.4g} ms)" for axis in apart)
        parts.append(f"axes differ from the common delay: {names}")
    return "; ".join(parts)


# Periodic motion: its period, the mean over whole periods, and the noise that the periods show.
#
# A period is the delay between a record and itself. The mean square difference over a lag l,
#
#     d(l) = mean over t and channels of (x(t + l) - x(t))^2,
#
# comes from one correlation by FFT and from sums of squares. The shortest lag at which d comes down
# to its least again is the period to a sample; the delay between the record and itself some whole
# periods later, by the fit above, refines it to a small part of one.


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
    return _refined_period(signal, scaled, lag)


def average_periods(
    t: Times, x: npt.ArrayLike | None = None, *, period: float | None = None
) -> PeriodAverage:
    """The mean over the whole periods in x (N,) or (N, k), or in a recording's q and tau.

    Of a recording without torques it is q alone. The period in s is given or found. Samples after
    the last whole period are left out.
    """
    if x is None and hasattr(t, "has_torque"):
        recording: Any = t
        known = find_period(recording) if period is None else None
        torque = [recording.tau] if recording.has_torque else []
        signal = samples(recording.t, np.hstack([recording.q, *torque]), 4)
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


def _refined_period(signal: Samples, scaled: FloatArray, lag: int) -> Period:
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
