"""The few samples of a log on which conventions are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.recording.stretch import Stretch

FEW = 36  # samples of the search over a grid
SOME = 240  # samples of a refined candidate
REST = 0.04  # of an axis' fast rate: below, friction may stick and its torque is not known
FAST = 98.0  # percentile of |rate|
STILL = 0.02  # of the fastest axis' way: an axis that moves less does not move
LEAST = 24  # samples that must be left
SEED = 0


@dataclass(frozen=True, eq=False)
class Samples:
    """Angles x with rates and torques (n, legs) of the arms as they are logged.

    `used` (n, legs) leaves out an axis at rest. `low` and `high` (legs,) are the ends of the
    angles, `moving` (legs,) says which arms move, `soft` (legs,) is the rate that smooths the sign
    of a rate, `seconds` the time that they stand for.
    """

    x: FloatArray
    xd: FloatArray
    xdd: FloatArray
    tau: FloatArray
    used: BoolArray
    low: FloatArray
    high: FloatArray
    moving: BoolArray
    soft: FloatArray
    seconds: float

    def __len__(self) -> int:
        return len(self.x)

    @property
    def arms(self) -> int:
        """How many arms, or carriages, there are."""
        return int(self.x.shape[1])

    def thinned(self, count: int) -> Samples:
        """At most `count` of the samples, drawn by a seed."""
        if len(self) <= count:
            return self
        rows = np.sort(np.random.default_rng(SEED).permutation(len(self))[:count])
        x, xd, xdd, tau = (array[rows] for array in (self.x, self.xd, self.xdd, self.tau))
        return replace(self, x=x, xd=xd, xdd=xdd, tau=tau, used=self.used[rows])

    @property
    def friction(self) -> FloatArray:
        """The signs (n, legs) of the rates, smooth about zero."""
        return np.tanh(self.xd / self.soft)


def samples_of(stretch: Stretch, legs: int = 3) -> Samples | None:
    """The moving samples of a stretch, of its first `legs` axes; None where too few are left."""
    x, xd, xdd, tau = (
        array[:, :legs] for array in (stretch.q, stretch.qd, stretch.qdd, stretch.tau)
    )
    if len(x) < LEAST:
        return None
    way = np.ptp(x, axis=0)
    moving = way > STILL * way.max()
    fast = np.percentile(np.abs(xd), FAST, axis=0)
    soft = np.maximum(REST * fast, np.finfo(float).tiny)
    used = (np.abs(xd) > soft) & moving
    rows = used.sum(axis=1) >= min(2, int(moving.sum()))
    if rows.sum() < LEAST or not moving.any():
        return None
    return Samples(
        x[rows],
        xd[rows],
        xdd[rows],
        tau[rows],
        used[rows],
        x.min(axis=0),
        x.max(axis=0),
        moving,
        soft,
        float(rows.sum()) * stretch.step,
    )
