"""Rates and accelerations of measured positions, by method name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.options import names_of
from deltadyn.recording.rates.differences import central, zero_phase
from deltadyn.recording.rates.fourier import fourier
from deltadyn.recording.rates.kalman import kalman
from deltadyn.recording.rates.sampling import Estimate, RateOptions, Samples, Times, samples
from deltadyn.recording.rates.spline import spline


@dataclass(frozen=True)
class Method:
    """One method: its function, the options that it takes, and the samples that it needs."""

    estimate: Callable[[Samples, RateOptions], Estimate]
    options: tuple[str, ...]
    fewest: int


#: A method is a file with its function, and a row here.
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
