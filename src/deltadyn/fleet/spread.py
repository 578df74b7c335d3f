"""How a parameter varies over robots of one type: random effects, and who stands out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray

# Member i says x_i with deviation s_i. With robots that differ by tau on top of the noise, x_i has
# the variance s_i^2 + tau^2. tau comes from the scatter about the mean (DerSimonian and Laird); the
# member in question is left out when it is judged, so that it does not hide behind its own scatter.


@dataclass(frozen=True, eq=False)
class Spread:
    """One parameter over the members: mean, its deviation, tau, and z of every member.

    `z` is (x_i - mean of the others) over the deviation of that difference; NaN for a member whose
    log does not identify the parameter, and where fewer than two others do. `p_value` is that of
    equal robots.
    """

    name: str
    unit: str
    values: FloatArray
    std: FloatArray
    mean: float
    mean_std: float
    between: float  # tau, in the parameter's unit
    p_value: float
    z: FloatArray

    @classmethod
    def of(cls, name: str, unit: str, values: FloatArray, std: FloatArray) -> Spread:
        """The spread of values (m,) with standard deviations (m,), infinite where not known."""
        known = np.isfinite(std) & np.isfinite(values)
        x, s = values[known], std[known]
        mean, mean_std, between = _pooled(x, s)
        z = np.full(len(values), np.nan)
        for place, index in enumerate(np.flatnonzero(known)):
            others, theirs = np.delete(x, place), np.delete(s, place)
            if len(others) < 2:
                continue
            centre, deviation, tau = _pooled(others, theirs)
            scale = math.sqrt(s[place] ** 2 + tau**2 + deviation**2)
            z[index] = (x[place] - centre) / scale if scale > 0 else 0.0
        return cls(name, unit, values, std, mean, mean_std, between, _p_value(x, s), z)


def _pooled(x: FloatArray, s: FloatArray) -> tuple[float, float, float]:
    """Mean, its standard deviation, and tau."""
    if not len(x):
        return math.nan, math.inf, 0.0
    floor = 1e-12 * max(float(np.abs(x).max()), 1e-300)  # exact data have no deviation
    w = 1 / np.maximum(s, floor) ** 2
    mean = float(w @ x / w.sum())
    scatter = float(w @ (x - mean) ** 2)
    room = w.sum() - (w @ w) / w.sum()
    tau2 = max(0.0, (scatter - (len(x) - 1)) / room) if room > 0 else 0.0
    w = 1 / (np.maximum(s, floor) ** 2 + tau2)
    return float(w @ x / w.sum()), float(1 / math.sqrt(w.sum())), math.sqrt(tau2)


def _p_value(x: FloatArray, s: FloatArray) -> float:
    """Of Cochran's Q: the probability of such a scatter among equal robots."""
    from scipy.special import chdtrc

    if len(x) < 2:
        return math.nan
    w = 1 / np.maximum(s, 1e-12 * max(float(np.abs(x).max()), 1e-300)) ** 2
    mean = w @ x / w.sum()
    return float(chdtrc(len(x) - 1, w @ (x - mean) ** 2))
