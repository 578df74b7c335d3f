"""The method "central": three-point central differences [kim2022]."""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.recording.rates.sampling import Estimate, Samples, listed, noise_level

FEWEST = 3


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


def central(signal: Samples) -> Estimate:
    """x as it is, and its differences: white noise s leaves 0.71 s / dt and 2.4 s / dt^2."""
    if len(signal) < FEWEST:
        raise InputError("samples of x", len(signal), f"at least {FEWEST} for method 'central'")
    xd, xdd = differences(signal.t, signal.x)
    unknown = np.full(signal.channels, np.nan)
    noise = noise_level(signal.x) if signal.even else unknown
    gains = np.array([1.0, np.sqrt(0.5) / signal.dt, np.sqrt(6.0) / signal.dt**2])
    status = f"not smoothed, noise {listed(noise, '')}" if signal.even else "not smoothed"
    return Estimate(signal.x.copy(), xd, xdd, unknown, noise, gains[:, None] * noise, status)
