"""The method "zero-phase": a Butterworth filter forward and backward, then central differences."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.recording.rates.bandwidth import bandwidth_of
from deltadyn.recording.rates.central import differences
from deltadyn.recording.rates.constant_jerk import HIGHEST
from deltadyn.recording.rates.sampling import Estimate, Samples, listed, noise_level, per_channel

ORDER = 4
FEWEST = 8
PADDING = 8.0  # periods of fc, mirrored through the end points: the start fades to 1e-8


def zero_phase(signal: Samples, bandwidth: npt.ArrayLike | None, criterion: str | None) -> Estimate:
    """Filter with 1 / (1 + (tan(w dt / 2) / tan(wc dt / 2))^8), then three-point differences.

    Left out, the bandwidth comes from the data as for the constant-jerk smoother, whose filter this
    one is away from the ends.
    """
    from scipy.signal import butter, sosfiltfilt  # takes longer than the rest of the import

    signal.require_even("method 'zero-phase'")
    if len(signal) < FEWEST:
        raise InputError("samples of x", len(signal), f"at least {FEWEST} for method 'zero-phase'")
    if bandwidth is None:
        chosen = bandwidth_of(signal, criterion)
        hz, noise, passing, status = chosen.hz, chosen.noise, chosen.passing, chosen.status
    elif criterion is not None:
        raise InputError("criterion", criterion, "left out where the bandwidth is given")
    else:
        hz = per_channel(bandwidth, signal.channels, "bandwidth", 0.0, HIGHEST * signal.rate)
        noise = passing = noise_level(signal.x)
        status = f"bandwidth {listed(hz, 'Hz')} as given, noise {listed(noise, '')}"
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
    return Estimate(x, xd, xdd, hz, noise, gains * passing, status)


def _noise_gains(fc: float, dt: float) -> FloatArray:
    """Standard deviations (3,) that white noise of 1 leaves in x, xd, xdd."""
    angle = np.pi * np.arange(0.5, 8192) / 8192
    gain = 1 / (1 + (np.tan(angle / 2) / np.tan(np.pi * fc * dt)) ** (2 * ORDER))
    responses = (gain, gain * np.sin(angle) / dt, gain * (2 - 2 * np.cos(angle)) / dt**2)
    return np.array([np.sqrt(np.mean(response**2)) for response in responses])
