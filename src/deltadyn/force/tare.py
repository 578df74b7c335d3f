"""The empty run: how far the observer strays without a force, and where an alarm begins.

The statistic of a row is z = max over the axes of (|r_i| - held_i) / sigma_i with the filtered
joint residual r = J^T F and what an axis at rest may carry. Maxima of z over stretches of motion
have a generalised Pareto tail; the limit is where that tail is passed as often as false alarms are
allowed. Later, what friction may have changed by is subtracted too: (|r_i| - held_i - drift_i).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.force.filtering import Filtered, filtered_rows, robot_of
from deltadyn.force.rows import ForceRows
from deltadyn.force.settings import ForceOptions
from deltadyn.recording.recording import Recording

STRETCH = 0.4  # s of motion whose maximum counts once
TAIL = 0.3  # share of the maxima that make the tail
FEWEST = 40  # stretches
STEEPEST, FLATTEST = 0.0, 0.3  # shape of the tail: never shorter than an exponential one
LEAST_SCALE = 0.5  # of the tail, in sigma: a path that repeats shows little of what may come


@dataclass(frozen=True, eq=False)
class Tare:
    """What an empty run tells: deviations, their covariance, and the tail of the statistic."""

    options: ForceOptions
    offset: FloatArray  # (dof,) N m, the mean residual: it is subtracted
    covariance: FloatArray  # (dof, dof) in (N m)^2, of the filtered joint residual
    base: float  # z above which the tail begins
    scale: float
    shape: float
    share: float  # of the stretches whose maximum lies in the tail
    seconds: float  # of motion that it was made from

    @classmethod
    def of(
        cls,
        robot: Any,
        recordings: Recording | Sequence[Recording],
        options: ForceOptions | None = None,
    ) -> Tare:
        """The tare of a robot (or a fit) by recordings without contact.

        A payload is part of the model where the recording names it.
        """
        several = [recordings] if isinstance(recordings, Recording) else list(recordings)
        own, chosen = robot_of(robot, several, options)
        parts = [part for item in several for part in filtered_rows(own, item, chosen)]
        residual = np.concatenate([part.joint for part in parts])
        moving = np.concatenate([part.moving for part in parts])
        if not moving.any():
            raise InputError("empty run", "no motion", "at least 16 s of motion")
        offset = residual[moving].mean(axis=0)
        covariance = np.cov((residual[moving] - offset).T)
        sigma = np.sqrt(np.diag(covariance))
        maxima = np.concatenate([_maxima(part, offset, sigma, chosen.rate) for part in parts])
        if len(maxima) < FEWEST:
            seconds = len(maxima) * STRETCH
            raise InputError(
                "empty run", f"{seconds:.1f} s of motion", f"at least {FEWEST * STRETCH:g} s"
            )
        base = float(np.quantile(maxima, 1 - TAIL))
        scale, shape = _tail(maxima[maxima > base] - base)
        seconds = float(len(maxima) * STRETCH)
        return cls(chosen, offset, covariance, base, scale, shape, TAIL, seconds)

    @property
    def sigma(self) -> FloatArray:
        """Deviation of each axis' residual (dof,) in N m."""
        found: FloatArray = np.sqrt(np.diag(self.covariance))
        return found

    def limit(self, per_hour: float | None = None) -> float:
        """z that is passed so many times an hour of motion."""
        rate = self.options.false_alarms if per_hour is None else per_hour
        chance = rate * STRETCH / 3600 / self.share  # of a stretch in the tail
        if chance >= 1:
            return self.base
        if self.shape < 1e-6:
            return self.base - self.scale * float(np.log(chance))
        return self.base + self.scale / self.shape * float(chance**-self.shape - 1)

    def statistic(self, joint: FloatArray, rows: ForceRows) -> FloatArray:
        """z of every axis (N, dof)."""
        z: FloatArray = (np.abs(joint - self.offset) - rows.held - rows.drift) / self.sigma
        return z


def _maxima(part: Filtered, offset: FloatArray, sigma: FloatArray, rate: float) -> FloatArray:
    """Largest z of each stretch in which the robot moves."""
    z = ((np.abs(part.joint - offset) - part.rows.held) / sigma).max(axis=1)
    length = round(STRETCH * rate)
    count = len(z) // length
    rows = z[: count * length].reshape(count, length)
    moves = part.moving[: count * length].reshape(count, length).any(axis=1)
    found: FloatArray = rows[moves].max(axis=1) if count else np.zeros(0)
    return found


def _tail(excess: FloatArray) -> tuple[float, float]:
    """Scale and shape of the generalised Pareto distribution of what lies above the base.

    The shape is the probability-weighted moments' estimate, kept between an exponential tail and a
    heavy one: few maxima cannot tell that a tail ends.
    """
    x = np.sort(excess)
    n = len(x)
    first, second = x.mean(), float(np.mean((n - np.arange(1, n + 1)) / (n - 1) * x))
    shape = float(np.clip(2 - first / (first - 2 * second), STEEPEST, FLATTEST))
    return max(LEAST_SCALE, float(first * (1 - shape))), shape
