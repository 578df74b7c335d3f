"""Intervals that hold: over the models that remain, and wider where a term is missing.

One model's deviation leaves out that another set of terms may be true. The interval is the hull
over the models that remain, of x_m +- z sd_m R_m, with R_m the deviation from segments of time over
that of the model, at least 1. Products of terms that a linear model neglects count by `PRODUCTS`.

Where the residual exceeds the noise of the torque and no term explains it, the error is the same in
every motion and no resampling sees it. With E = residual variance / noise - 1, n rows and D
directions granted to what is missing, deviations grow by sqrt(1 + n E / ((1 + E) D kappa)), and the
words are "a term is missing".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.identification.terms.choose import Choice, Weighing
from deltadyn.identification.uncertainty import check_level
from deltadyn.recording.prepare.data import Prepared

REMAIN = 5.0  # nats below the best
PRODUCTS = 1e-3  # of a parameter, per root of the number of pairs of terms
ENOUGH = 0.15  # of the noise: a smaller excess is none
DIRECTIONS = 6.0  # granted to what is missing
QUIET_FROM, QUIET_TO = 100.0, 400.0  # Hz: torque there is taken for noise


@dataclass(frozen=True, eq=False)
class Hull:
    """Estimates x (m, k) and deviations (m, k) of the models that remain, the best one first.

    `products` (k,) is added on each side, `factor` is what a missing term widens deviations by,
    `excess` (dof,) the residual's variance over the noise, less 1.
    """

    x: FloatArray
    std: FloatArray
    products: FloatArray
    excess: FloatArray
    factor: float

    @property
    def missing(self) -> bool:
        """Whether a term is missing: the residual exceeds the noise and nothing explains it."""
        return self.factor > 1.0

    def interval(self, level: float = 0.95) -> FloatArray:
        """Lower and upper ends (k, 2)."""
        from scipy.special import ndtri  # takes longer than the rest of the import

        z = float(ndtri((1 + check_level(level)) / 2))
        half = z * self.factor * self.std
        low = (self.x - half).min(axis=0) - z * self.products
        high = (self.x + half).max(axis=0) + z * self.products
        return np.stack([low, high], axis=1)


def hull(choice: Choice, parts: Sequence[Prepared], *, share: float = 1.0) -> Hull:
    """The hull over a choice's models; `share` of the log's rows were looked at."""
    weighing, k = choice.weighing, choice.weighing.rows.base
    kept = [m for m in choice.models if m.evidence >= choice.best.evidence - REMAIN]
    x, std = [], []
    for model in kept:
        columns = choice.columns(model)
        z, V = weighing.estimate(columns)
        own = np.sqrt(np.maximum(np.diag(V)[:k], 0.0))
        seen = segment_deviation(weighing, z, columns)
        x.append(z[:k])
        std.append(np.maximum(own, seen) * math.sqrt(share))
    count = len(choice.best.candidates)
    pairs = math.sqrt(count * (count - 1) / 2)
    excess = excess_of(choice, parts)
    rows = weighing.rows.counts().sum()
    E = float(np.mean(np.where(excess > ENOUGH, excess, 0.0)))
    factor = math.sqrt(1 + rows * E / ((1 + E) * DIRECTIONS * weighing.kappa))
    return Hull(np.array(x), np.array(std), PRODUCTS * pairs * np.abs(x[0]), excess, factor)


def segment_deviation(weighing: Weighing, z: FloatArray, columns: Sequence[int]) -> FloatArray:
    """Deviations (k,) of the base parameters, from the scores of segments of time."""
    rows, kappa = weighing.rows, weighing.kappa
    k = rows.base
    on = np.append(np.arange(k), k + np.asarray(columns, dtype=np.int64))
    where = np.full(rows.width, -1)
    where[on] = np.arange(len(on))
    left = rows.left(z)
    starts = np.flatnonzero(np.append(True, np.diff(rows.segment) != 0))
    scores = np.zeros((len(starts), len(on)))
    for axis, sigma in zip(range(len(rows.axes)), weighing.sigma, strict=True):
        own = rows.axes[axis]
        take = where[own.places] >= 0
        product = own.X[:, take] * (left[:, axis] / sigma**2)[:, None]
        scores[:, where[own.places[take]]] += np.add.reduceat(product, starts, axis=0)
    _, V = weighing.estimate(columns)
    bread = V[np.ix_(on, on)] / kappa
    count = len(starts)
    meat = scores.T @ scores * (count / max(count - 1, 1))
    out: FloatArray = np.sqrt(np.maximum(np.diag(bread @ meat @ bread)[:k], 0.0))
    return out


def excess_of(choice: Choice, parts: Sequence[Prepared]) -> FloatArray:
    """Residual variance over the noise of the torque, less 1 (dof,); 0 where noise is unknown."""
    noise = np.mean([torque_noise(part) for part in parts], axis=0)
    rows = choice.weighing.rows
    left = rows.left(choice.z)
    variance = (left**2).sum(axis=0) / np.maximum(rows.counts() - rows.base / len(noise), 1.0)
    known = np.isfinite(noise) & (noise > 0)
    out: FloatArray = np.where(known, variance / np.where(known, noise, 1.0) - 1, 0.0)
    return out


def torque_noise(part: Prepared) -> FloatArray:
    """Variance (dof,) of the torque's noise in the part's band, from frequencies above the motion.

    The noise is taken as white: its power between 100 and 400 Hz, through the filter of the band.
    """
    from scipy.signal import welch  # takes longer than the rest of the import

    dof = part.tau.shape[1]
    if part.filter is None:
        return np.full(dof, np.nan)
    low, high = max(QUIET_FROM, 2 * part.filter.band), min(QUIET_TO, 0.45 * part.rate)
    even = part.tau if part.grid is None else part.grid(part.tau)
    size = min(len(even), 512)
    if low >= 0.8 * high or size < 64:
        return np.full(dof, np.nan)
    f, power = welch(even, fs=part.rate, nperseg=size, axis=0)
    inside = (f >= low) & (f <= high)
    density = (
        np.median(power[inside], axis=0) / math.log(2)
        if inside.sum() < 3
        else power[inside].mean(axis=0)
    )
    out: FloatArray = density * part.rate / 2 * float((part.filter.taps**2).sum())
    return out
