"""The methods "central" and "zero-phase": three-point differences, of x or of filtered x."""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.recording.rates.bandwidth import chosen_bandwidth
from deltadyn.recording.rates.sampling import (
    Estimate,
    RateOptions,
    Samples,
    listed,
    noise_level,
    noise_through,
)

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
    gains = np.array([_noise_gains(float(fc), signal.dt) for fc in hz]).T
    return Estimate(x, xd, xdd, hz, chosen.noise, gains * chosen.passing, chosen.status)


def _noise_gains(fc: float, dt: float) -> FloatArray:
    """Standard deviations (3,) that white noise of 1 leaves in x, xd, xdd."""

    def response(angle: FloatArray) -> list[FloatArray]:
        gain = 1 / (1 + (np.tan(angle / 2) / np.tan(np.pi * fc * dt)) ** (2 * ORDER))
        return [gain, gain * np.sin(angle) / dt, gain * (2 - 2 * np.cos(angle)) / dt**2]

    return noise_through(response)
