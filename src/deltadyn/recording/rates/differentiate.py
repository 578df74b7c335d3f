"""Rates and accelerations of measured positions, by method name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.recording.rates.central import central
from deltadyn.recording.rates.fourier import fourier
from deltadyn.recording.rates.kalman import kalman
from deltadyn.recording.rates.sampling import Estimate, Samples, Times, samples
from deltadyn.recording.rates.spline import spline
from deltadyn.recording.rates.zero_phase import zero_phase

#: The methods, and the options that each of them takes.
OPTIONS = {
    "kalman": ("bandwidth", "criterion"),
    "zero-phase": ("bandwidth", "criterion"),
    "spline": ("bandwidth",),
    "fourier": ("period", "harmonics"),
    "central": (),
}
METHODS = tuple(OPTIONS)


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Estimates of x, its rate xd and its acceleration xdd at times t, shaped as x was given.

    `bandwidth` (k,) in Hz is what passes; `noise` (k,) the standard deviation of the measurement
    noise in the unit of x; `std` (3, k) the standard deviation that it leaves in x, xd, xdd away
    from the ends. Both are for white noise, and NaN where the method cannot tell.
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
    if not isinstance(method, str) or method not in OPTIONS:
        raise UnknownNameError("method", method, METHODS)
    given = {
        "bandwidth": bandwidth,
        "criterion": criterion,
        "period": period,
        "harmonics": harmonics,
    }
    for name, value in given.items():
        if value is not None and name not in OPTIONS[method]:
            takes = " and ".join(OPTIONS[method]) or "no option"
            raise InputError(name, value, f"left out: method {method!r} takes {takes}")
    signal = samples(t, x, 2)
    estimate = _estimate(signal, method, bandwidth, criterion, period, harmonics)
    return Derivatives(
        signal.t.copy(),
        signal.like_given(estimate.x),
        signal.like_given(estimate.xd),
        signal.like_given(estimate.xdd),
        method,
        estimate.bandwidth,
        estimate.noise,
        estimate.std,
        f"{method}: {estimate.status}",
    )


def _estimate(
    signal: Samples,
    method: str,
    bandwidth: npt.ArrayLike | None,
    criterion: str | None,
    period: float | None,
    harmonics: int | None,
) -> Estimate:
    if method == "kalman":
        return kalman(signal, bandwidth, criterion)
    if method == "zero-phase":
        return zero_phase(signal, bandwidth, criterion)
    if method == "spline":
        return spline(signal, bandwidth)
    if method == "fourier":
        return fourier(signal, period, harmonics)
    return central(signal)
