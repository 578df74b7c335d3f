"""The band in which a rigid model explains the torque, found from the data.

A rigid model is fitted in a narrow band. The spectrum of what it leaves, over that of the torque,
tells up to which frequency it explains the torque: above, gears swing, ripple and noise rule. The
fit is repeated in the band that was found.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.regressor import regressor
from deltadyn.recording.prepare.data import Prepared
from deltadyn.robot import Robot

LONGEST = 60_000  # samples that are looked at
LEAST = 0.5  # share of the torque's power that the model must explain
MOTION = 0.99  # of the power of the accelerations lies in the first band
LOWEST = 3.0  # Hz
OUTLASTS = 18.0  # periods of the band in a recording: the filter's windows take up six
WINDOW = 0.5  # s, of a spectrum
WIDENING = 1.1  # from one frequency of the smoothed spectra to the next
ALL = 0.36  # of the sampling rate: a band beyond it is the whole spectrum


def choose_band(robot: Robot, parts: Sequence[Prepared]) -> float | None:
    """The band in Hz for these parts; None where the model explains all that was recorded."""
    part = _shortened(robot, max(parts, key=len))
    Y = regressor(robot, part.state, "exact", tied=False, com_offset=True).Y
    even_Y = Y if part.grid is None else part.grid(Y)
    even_tau = part.tau if part.grid is None else part.grid(part.tau)
    band: float | None = _motion_band(part)
    for _ in range(3):
        found = _explained_up_to(part.with_band(band), Y, even_Y, even_tau)
        if found is None or (band is not None and abs(found - band) < 0.05 * band):
            return found
        band = found
    return band


def _explained_up_to(
    part: Prepared, Y: FloatArray, even_Y: FloatArray, even_tau: FloatArray
) -> float | None:
    """Hz up to which a fit in the part's band explains the torque."""
    left, right = part.limited(Y), part.limited(part.tau)
    flat = left.reshape(-1, Y.shape[2])
    length = np.linalg.norm(flat, axis=0)
    length[length == 0] = 1.0
    scale = 1 / np.maximum(right.std(axis=0), 1e-300)  # axes count alike
    weighted = (left / length * scale[:, None]).reshape(flat.shape)
    x = np.linalg.lstsq(weighted, (right * scale).reshape(-1), rcond=1e-8)[0] / length
    residual = (even_tau - even_Y @ x) * scale
    frequency, torque = _spectrum(even_tau * scale, part.rate)
    _, rest = _spectrum(residual, part.rate)
    unexplained = np.asarray(rest / np.maximum(torque, 1e-300))
    lost = np.flatnonzero((unexplained > 1 - LEAST) & (frequency > LOWEST))
    if not lost.size or frequency[lost[0]] > ALL * part.rate:
        return None
    return float(max(frequency[max(lost[0] - 1, 0)], _least(part)))


def _spectrum(x: FloatArray, rate: float) -> tuple[FloatArray, FloatArray]:
    """Frequencies and mean power over the axes, smoothed over bands of a tenth of an octave."""
    from scipy.signal import welch  # takes longer than the rest of the import

    size = min(len(x), max(64, int(WINDOW * rate)))
    f, power = welch(x, fs=rate, nperseg=size, axis=0, detrend="constant")
    total = power.sum(axis=1)[1:]
    f = f[1:]
    edges = [f[0] * 0.999]
    while edges[-1] < f[-1]:
        edges.append(max(edges[-1] * WIDENING, edges[-1] + f[0]))
    place = np.searchsorted(edges, f, side="right") - 1
    count = np.bincount(place, minlength=len(edges))
    used = count > 0
    means = np.bincount(place, total, len(edges))[used] / count[used]
    middles = np.bincount(place, f, len(edges))[used] / count[used]
    return middles, means


def _motion_band(part: Prepared) -> float:
    """Hz below which nearly all the power of the joint rates' changes lies, as a first guess."""
    f, power = _spectrum(part.state.qd, part.rate)
    below = np.cumsum(power * f**2 * np.gradient(f))
    first = float(f[int(np.searchsorted(below, MOTION * below[-1]))])
    return float(max(min(first, 0.1 * part.rate), _least(part)))


def _least(part: Prepared) -> float:
    """The narrowest band in Hz: its filter takes at most a third of the recording."""
    return min(max(LOWEST, OUTLASTS * part.rate / len(part)), ALL * part.rate)


def _shortened(robot: Robot, part: Prepared) -> Prepared:
    """The middle of a long part."""
    if len(part) <= LONGEST:
        return part.with_band(None)
    from dataclasses import replace

    from deltadyn.kinematics.state import State
    from deltadyn.recording.prepare.lowpass import EvenGrid

    first = (len(part) - LONGEST) // 2
    rows = slice(first, first + LONGEST)
    state = part.state
    cut = State.from_joints(robot, state.q[rows], state.qd[rows], state.qdd[rows])
    t = part.t[rows]
    grid = None if part.grid is None else EvenGrid.of(t, 1 / part.rate)
    return replace(part, t=t, state=cut, tau=part.tau[rows], grid=grid, filter=None)
