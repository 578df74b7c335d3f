"""The constant-jerk smoother of even samples of which some are missing.

A missing sample that lies on the smoothed curve changes nothing: with A the smoother of all samples
and z the missing ones, A_mm z + A_mo y = z. The matrix I - A_mm is symmetric and positive definite,
so conjugate gradients find z with a few runs of the fast smoother.
"""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.recording.kalman_even import smooth_even
from deltadyn.recording.sampling import Samples

STEPS = 60
CONVERGED = 1e-12  # of the first deviation, or of the size of x


def smooth_gaps(signal: Samples, steps: FloatArray) -> FloatArray | None:
    """Smoothed x, xd dt, xdd dt^2 as (3, N, k) at the rows there are, h = 2 pi fc dt per channel.

    None where the missing samples are not found: gaps wider than the smoother reaches.
    """
    if signal.places is None:
        return None
    full = signal.filled().x
    missing = np.ones(len(full), dtype=np.bool_)
    missing[signal.places] = False
    found = _missing(full, missing, steps)
    if found is None:
        return None
    full = full.copy()
    full[missing] = found
    smoothed: FloatArray = smooth_even(full, steps)[:, signal.places]
    return smoothed


def _missing(full: FloatArray, missing: BoolArray, steps: FloatArray) -> FloatArray | None:
    """Conjugate gradients for (I - A_mm) z = A_mo y, all channels (m, k) at once."""
    z = full[missing]
    r = smooth_even(full, steps)[0][missing] - z
    p = r.copy()
    square = np.sum(r**2, axis=0)
    enough = (CONVERGED * (np.sqrt(square) + np.ptp(full, axis=0))) ** 2
    sparse = np.zeros_like(full)
    for _ in range(STEPS):
        if np.all(square <= enough):
            return z
        sparse[missing] = p
        turned = p - smooth_even(sparse, steps)[0][missing]
        bend = np.sum(p * turned, axis=0)
        length = np.divide(square, bend, out=np.zeros_like(bend), where=bend > 0)
        z = z + length * p
        r = r - length * turned
        before, square = square, np.sum(r**2, axis=0)
        p = r + np.divide(square, before, out=np.zeros_like(before), where=before > 0) * p
    return None
