"""The method "spline": a cubic smoothing spline, its weight given or by cross validation."""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.recording.rates.bandwidth import FEWEST as FEWEST_FOR_SPECTRUM
from deltadyn.recording.rates.bandwidth import Spectrum
from deltadyn.recording.rates.constant_jerk import LARGEST_STEP
from deltadyn.recording.rates.sampling import (
    Estimate,
    RateOptions,
    Samples,
    listed,
    noise_level,
    noise_through,
    per_channel,
)


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
    gains = np.array([_noise_gains(float(h), signal.dt) for h in steps]).T
    hz = steps / (2 * np.pi * signal.dt)
    status = f"bandwidth {listed(hz, 'Hz')} {source}"
    return Estimate(parts[0], parts[1], parts[2], hz, noise, gains * noise, status)


def _cross_validated(signal: Samples) -> FloatArray:
    """Steps h = 2 pi fc dt (k,) of the least sum of squares / (1 - mean gain)^2.

    Both are taken from the spectrum: solving for the spline at every trial would take minutes.
    """
    if not signal.even:
        raise InputError("bandwidth", None, "a number in Hz for method 'spline' on uneven samples")
    if len(signal) < FEWEST_FOR_SPECTRUM:
        allowed = f"at least {FEWEST_FOR_SPECTRUM} to find the bandwidth, or give the bandwidth"
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


def _noise_gains(h: float, dt: float) -> FloatArray:
    """Standard deviations (3,) that white noise of 1 leaves in x, xd, xdd."""

    def response(angle: FloatArray) -> list[FloatArray]:
        u = 2 - 2 * np.cos(angle)
        gain = h**4 / (u**2 + h**4 * (1 - u / 6))
        return [gain * (1 - u / 6), gain * np.sin(angle) / dt, gain * u / dt**2]

    return noise_through(response)
