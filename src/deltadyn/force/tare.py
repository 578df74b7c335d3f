"""The empty run: how far the observer strays without a force, and where an alarm begins.

The statistic of a row is the largest z of its axes, see `axes`. Squares of its maxima over
stretches of motion have a generalised Pareto tail, an exponential one where the residual is normal;
the limit is where that tail is passed as often as false alarms are allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.force.axes import RESTS, Axes, SlowStates
from deltadyn.force.filtering import filtered_rows, robot_of
from deltadyn.force.settings import ForceOptions
from deltadyn.recording.recording import Recording

STRETCH = 0.4  # s of motion whose maximum counts once
TAIL, MOST, ENOUGH = 0.1, 0.3, 40  # share of the maxima that make the tail: more where it has few
FEWEST = 30  # stretches
LEARN = 4.0  # s in which the slow states settle: they do not count
SHAPES = (-0.1, 0.3)  # of the tail
EXPONENTIAL = 200  # maxima in the tail that the shape 0 counts for
NORMAL, LIKE_NORMAL = 1.5, 10  # scale of a normal residual's tail, and the maxima it counts for


@dataclass(frozen=True)
class Tail:
    """The tail of maxima z: P(z^2 > base + y) = share (1 + shape y / scale)^(-1 / shape)."""

    base: float
    scale: float
    shape: float
    share: float

    @classmethod
    def of(cls, maxima: FloatArray) -> Tail:
        """The tail of maxima of z (N,).

        The shape is the probability-weighted moments' estimate, drawn to 0: few maxima cannot tell
        how a tail ends. Nor can they tell that it is shorter than that of a normal residual, so a
        scale below that one's is drawn to it.
        """
        squares = np.maximum(maxima, 0.0) ** 2
        share = min(MOST, max(TAIL, ENOUGH / len(squares)))
        base = float(np.quantile(squares, 1 - share))
        y = np.sort(squares[squares > base] - base)
        n = len(y)
        if n < 2:  # nothing ever strays
            return cls(base, NORMAL, 0.0, share)
        first, second = y.mean(), float(np.mean((n - np.arange(1, n + 1)) / (n - 1) * y))
        shape = (2 - first / (first - 2 * second)) * n / (n + EXPONENTIAL)
        shape = float(np.clip(shape, *SHAPES))
        scale = float(first * (1 - shape))
        usual = (n * scale + LIKE_NORMAL * NORMAL) / (n + LIKE_NORMAL)
        return cls(base, max(scale, usual), shape, share)

    def passed(self, chance: float) -> float:
        """z that a stretch passes with this chance."""
        part = min(1.0, chance / self.share)
        if abs(self.shape) < 1e-6:
            y = -self.scale * float(np.log(part))
        else:
            y = self.scale / self.shape * (part**-self.shape - 1)
        return float(np.sqrt(self.base + y))


@dataclass(frozen=True, eq=False)
class Tare:
    """What an empty run tells: the numbers of the axes, and the tail of the statistic."""

    options: ForceOptions
    axes: Axes
    tail: Tail
    seconds: float  # of motion that the tail was made from

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
        parts = [part.rows for item in several for part in filtered_rows(own, item, chosen)]
        if not any((part.rest < RESTS).any() for part in parts):
            raise InputError("empty run", "no motion", f"at least {LEARN + FEWEST * STRETCH:g} s")
        states = SlowStates(Axes.of(own, parts, chosen), chosen)
        z = np.concatenate([states.follow(part).z.max(axis=1) for part in parts])
        moving = np.concatenate([(part.rest < RESTS).any(axis=1) for part in parts])
        learnt = round(LEARN * chosen.rate)
        maxima = _maxima(z[learnt:], moving[learnt:], round(STRETCH * chosen.rate))
        seconds = float(len(maxima) * STRETCH)
        if len(maxima) < FEWEST:
            least = f"at least {FEWEST * STRETCH:g} s after the first {LEARN:g} s"
            raise InputError("empty run", f"{seconds:.1f} s of motion", least)
        return cls(chosen, states.learned, Tail.of(maxima), seconds)

    def limit(self, per_hour: float | None = None) -> float:
        """z that is passed so many times an hour of motion."""
        rate = self.options.false_alarms if per_hour is None else per_hour
        return self.tail.passed(rate * STRETCH / 3600)


def _maxima(z: FloatArray, moving: FloatArray, length: int) -> FloatArray:
    """Largest z of each stretch in which the robot moves."""
    count = len(z) // length
    rows = z[: count * length].reshape(count, length)
    moves = moving[: count * length].reshape(count, length).any(axis=1)
    found: FloatArray = rows[moves].max(axis=1) if moves.any() else np.zeros(0)
    return found
