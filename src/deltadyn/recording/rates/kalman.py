"""The method "kalman": the constant-jerk smoother with its bandwidth given or from the data."""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.recording.rates.bandwidth import chosen_bandwidth
from deltadyn.recording.rates.constant_jerk import (
    noise_gains,
    smooth_even,
    smooth_gaps,
    smooth_uneven,
)
from deltadyn.recording.rates.sampling import Estimate, RateOptions, Samples

END_ALONE, END_BLENDED = 0.5, 1.0  # periods of fc from an end of the record


def kalman(signal: Samples, options: RateOptions) -> Estimate:
    """Smooth by the constant-jerk model; q / R = (2 pi fc)^8 dt [falezza2022].

    With the bandwidth from the data, the ends are smoothed with their own, wider one.
    """
    chosen = chosen_bandwidth(signal, options)
    smoothed = _smooth(signal, chosen.hz)
    if np.any(chosen.end_hz > chosen.hz):
        share = _end_share(signal, chosen.hz)
        smoothed = smoothed + share * (_smooth(signal, chosen.end_hz) - smoothed)
    steps = 2 * np.pi * chosen.hz * signal.dt
    gains = np.array([noise_gains(float(h), signal.dt) for h in steps]).T
    x, xd, xdd = smoothed
    return Estimate(x, xd, xdd, chosen.hz, chosen.noise, gains * chosen.passing, chosen.status)


def _smooth(signal: Samples, hz: FloatArray) -> FloatArray:
    """x, xd, xdd as (3, N, k)."""
    steps = 2 * np.pi * hz * signal.dt
    fast = smooth_even(signal.x, steps) if signal.even else smooth_gaps(signal, steps)
    if fast is None:
        return smooth_uneven(signal.t, signal.x, hz, signal.dt)
    smoothed: FloatArray = fast / signal.dt ** np.arange(3)[:, None, None]
    return smoothed


def _end_share(signal: Samples, hz: FloatArray) -> FloatArray:
    """Weight (N, k) of the ends' own smoother: 1 at the ends, 0 a period of fc away from them."""
    from_end = np.minimum(signal.t - signal.t[0], signal.t[-1] - signal.t)
    periods = np.multiply.outer(from_end, hz)
    share: FloatArray = np.clip((END_BLENDED - periods) / (END_BLENDED - END_ALONE), 0.0, 1.0)
    return share
