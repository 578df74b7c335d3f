"""Rates and accelerations of measured positions, by method name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.motion.arguments import check_count
from deltadyn.options import names_of
from deltadyn.recording.alignment import find_period
from deltadyn.recording.rates.bandwidth import FEWEST, Spectrum, chosen_bandwidth, kalman
from deltadyn.recording.rates.constant_jerk import LARGEST_STEP
from deltadyn.recording.rates.sampling import (
    Estimate,
    RateOptions,
    Samples,
    Times,
    listed,
    noise_level,
    noise_through,
    per_channel,
    positive,
    samples,
)

# The methods "central" and "zero-phase": three-point differences, of x or of filtered x.

ORDER = 4  # of the Butterworth filter
PADDING = 8.0  # periods of fc, mirrored through the end points: the start fades to 1e-8


def differences(t: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Derivatives of the parabola through three neighbours, with any steps a before and b after:

        xd = (a s+ + b s-) / (a + b),   xdd = 2 (s+ - s-) / (a + b),   s- and s+ the slopes

    At the ends those of the first and the last parabola.
    """
    gaps = np.diff(t)[:, None]
    slopes = np.diff(x, axis=0) / gaps
    a, b = gaps[:-1], gaps[1:]
    xd, xdd = np.empty_like(x), np.empty_like(x)
    xdd[1:-1] = 2 * np.diff(slopes, axis=0) / (a + b)
    xd[1:-1] = (a * slopes[1:] + b * slopes[:-1]) / (a + b)
    xdd[0], xdd[-1] = xdd[1], xdd[-2]
    xd[0] = slopes[0] - gaps[0] * xdd[0] / 2
    xd[-1] = slopes[-1] + gaps[-1] * xdd[-1] / 2
    return xd, xdd


def central(signal: Samples, options: RateOptions) -> Estimate:
    """x as it is, and its three-point central differences [kim2022].

    White noise s leaves 0.71 s / dt in xd and 2.4 s / dt^2 in xdd.
    """
    xd, xdd = differences(signal.t, signal.x)
    unknown = np.full(signal.channels, np.nan)
    noise = noise_level(signal.x) if signal.even else unknown
    gains = np.array([1.0, np.sqrt(0.5) / signal.dt, np.sqrt(6.0) / signal.dt**2])
    status = f"not smoothed, noise {listed(noise, '')}" if signal.even else "not smoothed"
    return Estimate(signal.x.copy(), xd, xdd, unknown, noise, gains[:, None] * noise, status)


def zero_phase(signal: Samples, options: RateOptions) -> Estimate:
    """Filter with 1 / (1 + (tan(w dt / 2) / tan(wc dt / 2))^8), then three-point differences.

    Left out, the bandwidth comes from the data as for the constant-jerk smoother, whose filter this
    one is away from the ends.
    """
    from scipy.signal import butter, sosfiltfilt  # takes longer than the rest of the import

    signal.require_even("method 'zero-phase'")
    chosen = chosen_bandwidth(signal, options)
    hz = chosen.hz
    share = ((signal.t - signal.t[0]) / signal.duration)[:, None]
    line = (1 - share) * signal.x[0] + share * signal.x[-1]  # passes every filter as it is
    bent = signal.x - line
    x = np.empty_like(signal.x)
    for channel, fc in enumerate(hz):
        sections = butter(ORDER, fc, fs=signal.rate, output="sos")
        padding = min(len(signal) - 1, round(PADDING * signal.rate / fc))
        x[:, channel] = line[:, channel] + sosfiltfilt(sections, bent[:, channel], padlen=padding)
    xd, xdd = differences(signal.t, x)
    gains = np.array([_zero_phase_gains(float(fc), signal.dt) for fc in hz]).T
    return Estimate(x, xd, xdd, hz, chosen.noise, gains * chosen.passing, chosen.status)


def _zero_phase_gains(fc: float, dt: float) -> FloatArray:
    """Standard deviations (3,) that white noise of 1 leaves in x, xd, xdd."""

    def response(angle: FloatArray) -> list[FloatArray]:
        gain = 1 / (1 + (np.tan(angle / 2) / np.tan(np.pi * fc * dt)) ** (2 * ORDER))
        return [gain, gain * np.sin(angle) / dt, gain * (2 - 2 * np.cos(angle)) / dt**2]

    return noise_through(response)


# The method "spline": a cubic smoothing spline, its weight given or by cross validation.


def spline(signal: Samples, options: RateOptions) -> Estimate:
    """Minimise sum (y_k - s(t_k))^2 + weight * integral of s''^2, a zero-phase filter of order 2.

        gain 1 / (1 + (f / fc)^4),   weight = 1 / (dt (2 pi fc)^4)

    Its acceleration is zero at both ends and has corners at the samples. Left out, the bandwidth
    comes from generalised cross validation, which needs an even grid of samples.
    """
    from scipy.interpolate import make_smoothing_spline  # takes longer than the rest of the import

    highest = LARGEST_STEP / (2 * np.pi) * signal.rate
    if options.bandwidth is None:
        steps = _cross_validated(signal.filled())
        source = "by cross validation"
    else:
        hz = per_channel(options.bandwidth, signal.channels, "bandwidth", 0.0, highest)
        steps = 2 * np.pi * signal.dt * hz
        source = "as given"
    parts = np.empty((3, *signal.x.shape))
    scaled = (signal.t - signal.t[0]) / signal.dt  # well-conditioned at any sampling rate
    for channel, h in enumerate(steps):
        curve = make_smoothing_spline(scaled, signal.x[:, channel], lam=float(h) ** -4)
        for order in range(3):
            parts[order, :, channel] = curve(scaled, order) / signal.dt**order
    known = signal.places is not None
    noise = noise_level(signal.filled().x) if known else np.full(signal.channels, np.nan)
    gains = np.array([_spline_gains(float(h), signal.dt) for h in steps]).T
    hz = steps / (2 * np.pi * signal.dt)
    status = f"bandwidth {listed(hz, 'Hz')} {source}"
    return Estimate(parts[0], parts[1], parts[2], hz, noise, gains * noise, status)


def _cross_validated(signal: Samples) -> FloatArray:
    """Steps h = 2 pi fc dt (k,) of the least sum of squares / (1 - mean gain)^2.

    Both are taken from the spectrum: solving for the spline at every trial would take minutes.
    """
    if not signal.even:
        raise InputError("bandwidth", None, "a number in Hz for method 'spline' on uneven samples")
    if len(signal) < FEWEST:
        allowed = f"at least {FEWEST} to find the bandwidth, or give the bandwidth"
        raise InputError("samples of x", len(signal), allowed)
    spectrum = Spectrum.of(signal.x)
    u = spectrum.u[:, None]
    cubic = 1 - u / 6  # samples of the cubic B-spline
    grid = np.geomspace(4 * np.pi / len(signal), LARGEST_STEP, 400)
    cost = np.empty((len(grid), signal.channels))
    for row, h in enumerate(grid):
        rest = u**2 / (u**2 + h**4 * cubic)  # 1 - gain
        cost[row] = np.sum(rest**2 * spectrum.P / u**2, axis=0) / np.mean(rest) ** 2
    best: FloatArray = grid[np.argmin(cost, axis=0)]
    return best


def _spline_gains(h: float, dt: float) -> FloatArray:
    """Standard deviations (3,) that white noise of 1 leaves in x, xd, xdd."""

    def response(angle: FloatArray) -> list[FloatArray]:
        u = 2 - 2 * np.cos(angle)
        gain = h**4 / (u**2 + h**4 * (1 - u / 6))
        return [gain * (1 - u / 6), gain * np.sin(angle) / dt, gain * u / dt**2]

    return noise_through(response)


# The method "fourier": a Fourier series fitted to periodic motion by least squares.

FEWEST_SERIES = 8
MOST = 60  # harmonics tried where none are given
STEPS = 10


@dataclass(frozen=True, eq=False)
class FourierFit:
    """x(t) = c_0 + sum_h c_h cos(h w t) + s_h sin(h w t), w = 2 pi / period, t from `start`.

    `cosines` (H + 1, k) and `sines` (H + 1, k), the first row of which is the constant and zero;
    `noise` (k,) is the standard deviation of what the series leaves, `start` the first time in s.
    """

    period: float
    cosines: FloatArray
    sines: FloatArray
    noise: FloatArray
    start: float
    status: str

    @property
    def harmonics(self) -> int:
        """The number H of harmonics."""
        return len(self.cosines) - 1

    def __call__(self, t: npt.ArrayLike, order: int = 0) -> FloatArray:
        """The series (N, k) or its derivative of this order at times t (N,) in s."""
        w = 2 * np.pi / self.period * np.arange(self.harmonics + 1)
        angle = np.multiply.outer(np.asarray(t, dtype=np.float64) - self.start, w)
        turned = angle + order * np.pi / 2
        scale = w[:, None] ** order
        value: FloatArray = np.cos(turned) @ (scale * self.cosines)
        value += np.sin(turned) @ (scale * self.sines)
        return value


def fit_fourier(
    t: Times,
    x: npt.ArrayLike | None = None,
    *,
    period: float | None = None,
    harmonics: int | None = None,
) -> FourierFit:
    """Fit a series to x (N,) or (N, k) over t, or to a recording's q, with any sampling.

    The period in s stays as given, or is found (even sampling) and refined. The number of harmonics
    left out is that of the least Bayes information criterion.
    """
    return fourier_of(samples(t, x, FEWEST_SERIES), period, harmonics)


def fourier_of(signal: Samples, period: float | None, harmonics: int | None) -> FourierFit:
    """The same for checked samples."""
    if period is None:
        found = find_period(signal.t, signal.x)
        if not found.found:
            raise InputError(
                "period", None, f"a number in s, since none was found ({found.status})"
            )
        seconds = found.seconds
    else:
        seconds = positive(period, "period", "s")
        if seconds > signal.duration + signal.dt:
            raise InputError("period", seconds, f"at most the record's {signal.duration:.6g} s")
    most = _most(signal, seconds)
    if harmonics is None:
        count = _by_information(signal, seconds, min(most, MOST))
    else:
        count = check_count("harmonics", harmonics, 1, most)
    if period is None:
        seconds = _refined(signal, seconds, count)
    return _fitted(signal, seconds, count)


def fourier(signal: Samples, options: RateOptions) -> Estimate:
    """Derivatives of the fitted series: noise shrinks by (2 H + 1) / N, vibration is left out."""
    fit = fourier_of(signal, options.period, options.harmonics)
    x, xd, xdd = (fit(signal.t, order) for order in range(3))
    w = 2 * np.pi / fit.period * np.arange(1, fit.harmonics + 1)
    gains = [np.sqrt(2 * np.sum(w ** (2 * order)) / len(signal)) for order in range(3)]
    gains[0] = np.hypot(gains[0], np.sqrt(1 / len(signal)))
    bandwidth = np.full(signal.channels, fit.harmonics / fit.period)
    std = np.multiply.outer(gains, fit.noise)
    return Estimate(x, xd, xdd, bandwidth, fit.noise, std, fit.status)


def _design(signal: Samples, seconds: float, count: int) -> FloatArray:
    """Columns (N, 2 H + 1): 1, cos w t, sin w t, cos 2 w t, ... so that series are nested."""
    angle = np.multiply.outer(signal.t - signal.t[0], 2 * np.pi / seconds * np.arange(1, count + 1))
    pairs = np.stack([np.cos(angle), np.sin(angle)], axis=2).reshape(len(signal), 2 * count)
    return np.concatenate([np.ones((len(signal), 1)), pairs], axis=1)


def _most(signal: Samples, seconds: float) -> int:
    """Harmonics that the samples distinguish: below half the sampling rate, fewer than samples."""
    most = min(int(np.ceil(seconds / (2 * signal.dt))) - 1, (len(signal) - 3) // 2)
    if most < 1:
        raise InputError("period", seconds, f"above two samples, {2 * signal.dt:.4g} s")
    return most


def _by_information(signal: Samples, seconds: float, most: int) -> int:
    """Harmonics of the least sum over channels of N ln(squares / N) + 2 H ln N."""
    A = _design(signal, seconds, most)
    Q, _ = np.linalg.qr(A)
    parts = (Q.T @ signal.x) ** 2  # squares that each column explains, in order
    left = np.maximum(np.sum((signal.x - Q @ (Q.T @ signal.x)) ** 2, axis=0), np.finfo(float).tiny)
    tail = np.cumsum(parts[::-1], axis=0)[::-1]
    tail = np.concatenate([tail[1:], np.zeros((1, signal.channels))])  # unexplained up to a column
    squares = left + tail[2::2]  # (most, k): after each pair
    count = np.arange(1, most + 1)
    n = len(signal)
    cost = np.sum(n * np.log(squares / n), axis=1) + 2 * count * np.log(n) * signal.channels
    return int(count[np.argmin(cost)])


def _refined(signal: Samples, seconds: float, count: int) -> float:
    """Gauss-Newton on the period: d series / d w = t d series / d(w t), harmonics fitted beside."""
    t = signal.t - signal.t[0]
    w = 2 * np.pi / seconds
    order = np.arange(1, count + 1)
    for _ in range(STEPS):
        A = _design(signal, 2 * np.pi / w, count)
        Q, _ = np.linalg.qr(A)
        coefficients, *_ = np.linalg.lstsq(A, signal.x, rcond=None)
        residual = signal.x - A @ coefficients
        cosines, sines = coefficients[1::2], coefficients[2::2]
        slope = A[:, 1::2] @ (order[:, None] * sines) - A[:, 2::2] @ (order[:, None] * cosines)
        column = t[:, None] * slope
        column -= Q @ (Q.T @ column)
        weights = 1 / np.maximum(np.mean(residual**2, axis=0), np.finfo(float).tiny)
        weights /= weights.max()
        curvature = float(np.sum(weights * np.sum(column**2, axis=0)))
        if curvature == 0.0:
            break
        step = float(np.sum(weights * np.sum(column * residual, axis=0))) / curvature
        w += step
        if abs(step) * signal.duration * count < 1e-9:
            break
    return float(2 * np.pi / w)


def _fitted(signal: Samples, seconds: float, count: int) -> FourierFit:
    A = _design(signal, seconds, count)
    coefficients, _, rank, _ = np.linalg.lstsq(A, signal.x, rcond=None)
    residual = signal.x - A @ coefficients
    noise = np.sqrt(np.sum(residual**2, axis=0) / max(len(signal) - A.shape[1], 1))
    zero = np.zeros((1, signal.channels))
    status = f"{count} harmonics of {1 / seconds:.6g} Hz leave {listed(noise, '')}"
    if rank < A.shape[1]:
        status += "; these samples do not distinguish all harmonics"
    return FourierFit(
        seconds,
        np.concatenate([coefficients[:1], coefficients[1::2]]),
        np.concatenate([zero, coefficients[2::2]]),
        noise,
        float(signal.t[0]),
        status,
    )


# The methods by name.


@dataclass(frozen=True)
class Method:
    """One method: its function, the options that it takes, and the samples that it needs."""

    estimate: Callable[[Samples, RateOptions], Estimate]
    options: tuple[str, ...]
    fewest: int


#: A method is a function, and a row here.
BY_NAME = {
    "kalman": Method(kalman, ("bandwidth", "criterion"), 5),
    "zero-phase": Method(zero_phase, ("bandwidth", "criterion"), 8),
    "spline": Method(spline, ("bandwidth",), 5),
    "fourier": Method(fourier, ("period", "harmonics"), 8),
    "central": Method(central, (), 3),
}
METHODS = tuple(BY_NAME)


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Estimates of x, its rate xd and its acceleration xdd at times t, shaped as x was given.

    `bandwidth` (k,) in Hz is what passes; `noise` (k,) the standard deviation of the measurement
    noise in the unit of x; `std` (3, k) the standard deviation that it leaves in x, xd, xdd away
    from the ends. Both are for white noise, and NaN where the method does not know them.
    """

    t: FloatArray
    x: FloatArray
    xd: FloatArray
    xdd: FloatArray
    method: str
    bandwidth: FloatArray
    noise: FloatArray
    std: FloatArray
    status: str


def differentiate(
    t: Times,
    x: npt.ArrayLike | None = None,
    method: str = "kalman",
    *,
    bandwidth: npt.ArrayLike | None = None,
    criterion: str | None = None,
    period: float | None = None,
    harmonics: int | None = None,
) -> Derivatives:
    """Estimate x, xd, xdd of samples x (N,) or (N, k) at t (N,) in s, or of a recording's q.

    "kalman" [falezza2022] is the constant-jerk smoother, "central" [kim2022] takes three-point
    differences, "zero-phase" is a Butterworth filter forward and backward, "spline" a cubic
    smoothing spline, "fourier" a series for periodic motion. `bandwidth` in Hz, for all channels or
    one each, is found from the data where it is left out: by the `criterion` "acceleration" or
    "likelihood".
    """
    if not isinstance(method, str) or method not in BY_NAME:
        raise UnknownNameError("method", method, METHODS)
    chosen, options = BY_NAME[method], RateOptions(bandwidth, criterion, period, harmonics)
    for name in names_of(RateOptions):
        value = getattr(options, name)
        if value is not None and name not in chosen.options:
            takes = " and ".join(chosen.options) or "no option"
            raise InputError(name, value, f"left out: method {method!r} takes {takes}")
    signal = samples(t, x, 2)
    if len(signal) < chosen.fewest:
        allowed = f"at least {chosen.fewest} for method {method!r}"
        raise InputError("samples of x", len(signal), allowed)
    estimate = chosen.estimate(signal, options)
    x, xd, xdd = (signal.like_given(array) for array in estimate[:3])
    numbers = (estimate.bandwidth, estimate.noise, estimate.std)
    status = f"{method}: {estimate.status}"
    return Derivatives(signal.t.copy(), x, xd, xdd, method, *numbers, status)
