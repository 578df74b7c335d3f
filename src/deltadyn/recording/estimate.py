"""What every method of differentiation hands back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray

DIFFERENCE_GAIN = 70.0  # white noise of variance 1 has this variance in its fourth differences


class Estimate(NamedTuple):
    """x, xd, xdd (N, k), bandwidth (k,) in Hz, noise of x (k,), what is left of it (3, k)."""

    x: FloatArray
    xd: FloatArray
    xdd: FloatArray
    bandwidth: FloatArray
    noise: FloatArray
    std: FloatArray
    status: str


def noise_level(x: FloatArray) -> FloatArray:
    """Standard deviation (k,) of the white noise on x (N, k) with even steps.

    From fourth differences: a motion that is slow beside the sampling rate leaves nothing in them.
    """
    if len(x) < 5:
        return np.full(x.shape[1], np.nan)
    fourth = np.diff(x, 4, axis=0)
    level: FloatArray = np.sqrt(np.mean(fourth**2, axis=0) / DIFFERENCE_GAIN)
    return level


def listed(values: FloatArray, unit: str, digits: int = 3) -> str:
    """Numbers for a sentence: one where all are alike."""
    texts = [f"{value:.{digits}g}" for value in values]
    return (texts[0] if len(set(texts)) == 1 else ", ".join(texts)) + (f" {unit}" if unit else "")
