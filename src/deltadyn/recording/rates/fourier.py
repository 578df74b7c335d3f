"""The method "fourier": a Fourier series fitted to periodic motion by least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.recording.alignment import find_period
from deltadyn.recording.rates.sampling import (
    Estimate,
    RateOptions,
    Samples,
    Times,
    listed,
    positive,
    samples,
)

FEWEST = 8
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
    return fourier_of(samples(t, x, FEWEST), period, harmonics)


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
    elif isinstance(harmonics, bool) or not isinstance(harmonics, int | np.integer):
        raise InputError("harmonics", harmonics, f"a whole number from 1 to {most}")
    elif not 1 <= harmonics <= most:
        raise InputError("harmonics", int(harmonics), f"a whole number from 1 to {most}")
    else:
        count = int(harmonics)
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
    """Harmonics that the samples tell apart: below half the sampling rate, fewer than samples."""
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
        status += "; the samples do not tell all harmonics apart"
    return FourierFit(
        seconds,
        np.concatenate([coefficients[:1], coefficients[1::2]]),
        np.concatenate([zero, coefficients[2::2]]),
        noise,
        float(signal.t[0]),
        status,
    )
