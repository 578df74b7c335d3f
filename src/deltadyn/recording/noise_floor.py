"""The spectrum of the measurement noise below a motion, white or not.

Drives filter and interpolate positions, so noise is rarely white. Above the band of the motion the
logarithm of the spectrum is fitted by a low pass and a few cosines, and carried on to lower
frequencies:

    ln S(w) = -ln(1 + r^2 - 2 r cos(w dt)) + c_0 + c_1 cos(w dt) + ... + c_n cos(n w dt)

r and n <= 4 are those of Bayes' information criterion; r = n = 0 is white noise. Bins that stand
out, as those of a vibration do, are given little or no weight. Where there is no noise, what lies
above the motion is its own decay, and carried on it would swallow the motion: a spectrum that
falls more steeply than filtered noise does is taken for white noise of its lowest level.
"""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray, contract

ORDER = 4
PASSES = np.array([0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, -0.2, -0.4, -0.6])  # r
PER_BIN = 32  # ordinates: the logarithm of their mean is near to normal
BINS = 64
OUTLIER = 4.685  # standard deviations at which Tukey's weight is zero
STEPS = 8
LEAST = 1e-3  # scatter of a logarithm: no spectrum is known better
STEEPEST = 5.0  # power of 1/w: two filters of first order leave 4, a smooth motion 6 and more


def noise_floor(angle: FloatArray, S: FloatArray, start: float) -> FloatArray:
    """The floor (F,) at `angle` = w dt (F,) of a spectrum S (F,), fitted where angle >= start."""
    used = angle >= start
    centres, levels = _bins(angle[used], S[used])
    if np.any(levels == 0):
        return np.zeros_like(angle)
    if len(levels) > 2 and np.polyfit(np.log(centres), np.log(levels), 1)[0] < -STEEPEST:
        return np.full_like(angle, float(levels.min()))
    logs = np.log(levels) - _passed(centres, PASSES)  # (r, m)
    orders = range(min(ORDER, len(levels) // 8) + 1)
    fits = [_robust(_cosines(centres, order), logs) for order in orders]  # (r, order + 1) each
    rests = np.stack(
        [logs - fit @ _cosines(centres, order).T for order, fit in zip(orders, fits, strict=True)]
    )  # (order, r, m)
    scatter = max(float(np.median(_scatter(rests[-1]))), np.sqrt(len(levels) / used.sum()))
    ratio = rests / (OUTLIER * scatter)
    bounded = OUTLIER**2 / 3 * (1 - np.clip(1 - ratio**2, 0.0, 1.0) ** 3)
    numbers = 1 + np.arange(len(fits))[:, None] + (PASSES != 0)
    cost = bounded.sum(axis=2) + numbers * np.log(len(levels))
    order, r = np.unravel_index(int(np.argmin(cost)), cost.shape)
    best = _cosines(angle, int(order)) @ fits[order][r] + _passed(angle, PASSES[r : r + 1])[0]
    floor: FloatArray = np.exp(best)
    return floor


def _bins(angle: FloatArray, S: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean angle and mean level of bins of equal counts."""
    count = int(np.clip(len(S) // PER_BIN, 1, BINS))
    starts = np.arange(count) * len(S) // count
    sizes = np.diff(np.append(starts, len(S)))
    return np.add.reduceat(angle, starts) / sizes, np.add.reduceat(S, starts) / sizes


def _cosines(angle: FloatArray, order: int) -> FloatArray:
    columns: FloatArray = np.cos(np.multiply.outer(angle, np.arange(order + 1)))
    return columns


def _passed(angle: FloatArray, r: FloatArray) -> FloatArray:
    """Logarithm (r, m) of what a first-order low pass, or high pass for r < 0, leaves."""
    left: FloatArray = -np.log((1 + r**2)[:, None] - 2 * np.multiply.outer(r, np.cos(angle)))
    return left


def _robust(A: FloatArray, Y: FloatArray) -> FloatArray:
    """Least squares A fit = y for every row y of Y (r, m) with Tukey's weights, from medians on."""
    fit: FloatArray = np.zeros((len(Y), A.shape[1]))
    fit[:, 0] = np.median(Y, axis=1)
    for _ in range(STEPS):
        rest = Y - fit @ A.T
        weights = np.clip(1 - (rest / (OUTLIER * _scatter(rest)[:, None])) ** 2, 0.0, None) ** 2
        normal = contract("rm,mi,mj->rij", weights, A, A)
        right = contract("rm,mi,rm->ri", weights, A, Y)
        inverse: FloatArray = np.linalg.inv(normal).astype(np.float64, copy=False)
        fit = contract("rij,rj->ri", inverse, right)
    return fit


def _scatter(rest: FloatArray) -> FloatArray:
    """Standard deviation along the last axis, from the median of absolute values."""
    return np.maximum(1.4826 * np.median(np.abs(rest), axis=-1), LEAST)
