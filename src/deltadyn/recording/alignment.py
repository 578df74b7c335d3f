"""The delay between a measured channel and its model, to a small part of a sample.

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

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.recording.rates.kalman import kalman
from deltadyn.recording.rates.sampling import Samples, positive, real_array, samples

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
    smooth = kalman(replace(signal, x=other), None, None).x
    fit = _Fit(signal, smooth, rates, span)
    start = _coarse(signal.x, other, span) * signal.dt
    common, settled = _iterate(fit, np.full(signal.channels, start), _weighted)
    _, deviation, explained = fit.step(common)
    own, axis_settled = _iterate(fit, common, lambda shifts, deviations: shifts)
    _, axis_std, _ = fit.step(own)
    seconds = float(common[0])
    std = float(1 / np.sqrt(np.sum(1 / deviation**2))) if np.all(deviation > 0) else 0.0
    converged = settled and axis_settled
    status = _status(seconds, std, own, axis_std, explained, converged, span * signal.dt)
    return Delay(seconds, std, own, axis_std, explained, converged, status)


def remove_delay(t: npt.ArrayLike, x: npt.ArrayLike, delay: Delay | npt.ArrayLike) -> Aligned:
    """x (N,) or (N, k) moved ahead by its delay in s, one for all channels or one each.

    x(t + delay) by a quintic spline through the samples, for the rows where all of it exists.
    """
    from scipy.interpolate import make_interp_spline

    signal = samples(t, x, DEGREE + 1)
    value = delay.seconds if isinstance(delay, Delay) else delay
    seconds = real_array(value, "delay")
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

    def step(self, delays: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Shift, its standard deviation and the explained share, each (k,), at delays (k,)."""
        out = np.empty((3, len(delays)))
        for axis, delay in enumerate(delays):
            out[:, axis] = self._axis(axis, float(delay))
        return out[0], out[1], out[2]

    def _axis(self, axis: int, delay: float) -> tuple[float, float, float]:
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
        shift, deviation, _ = fit.step(delays)
        moved = np.clip(delays + combine(shift, deviation), -fit.longest, fit.longest)
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


def _status(
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
