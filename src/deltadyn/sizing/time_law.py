"""The pace along the stretches of a path: when the robot is where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.motion.planned import PlannedMotion, Samples, reached
from deltadyn.robot import Robot
from deltadyn.sizing.path_limits import Row
from deltadyn.sizing.stretches import Stretch, Way


@dataclass(frozen=True, eq=False)
class Pace:
    """The pace along one stretch: sd (n,) in m/s at its nodes, sdd (n - 1,) in m/s^2 between.

    `use` (n - 1,) is the share of the tightest limit that each interval takes, at the worse of its
    ends, and `active` says which limit that is.
    """

    stretch: Stretch
    sd: FloatArray
    sdd: FloatArray
    use: FloatArray
    active: tuple[Row, ...]

    @cached_property
    def t(self) -> FloatArray:
        """Time (n,) at the nodes since the stop, in s."""
        lasting = 2 * np.diff(self.stretch.s) / (self.sd[:-1] + self.sd[1:])
        return np.concatenate([[0.0], np.cumsum(lasting)])

    @property
    def duration(self) -> float:
        """From stop to stop, in s."""
        return float(self.t[-1])


@dataclass(frozen=True, eq=False)
class TimeLaw:
    """The paces of all stretches of a way, `slower` times as slow as they say; holds stay."""

    way: Way
    paces: tuple[Pace, ...]
    slower: float = 1.0

    @property
    def moving(self) -> float:
        """Seconds in which the robot moves."""
        return self.slower * sum(pace.duration for pace in self.paces)

    @property
    def duration(self) -> float:
        """All seconds."""
        return self.moving + self.way.held

    def sampled(self, robot: Robot, rate: float) -> PlannedMotion:
        """The motion at the rate next to `rate` (Hz) that meets its end."""
        count = max(round(self.duration * rate), 1)
        return reached(robot, self.at(np.linspace(0.0, self.duration, count + 1)))

    def at(self, t: FloatArray) -> Samples:
        """Platform positions and rates at times t (N,); at the end of a stretch it stands."""
        dof = self.way.stretches[0].p.shape[1]
        p, pd, pdd = (np.zeros((len(t), dof)) for _ in range(3))
        begin = self.way.wait
        p[t < begin] = self.way.stretches[0].p[0]
        for pace in self.paces:
            end = begin + self.slower * pace.duration
            rows = (t >= begin) & (t < end)
            p[rows], pd[rows], pdd[rows] = _passed(pace, t[rows] - begin, self.slower)
            p[t >= end] = pace.stretch.p[-1]  # later stretches write over it
            begin = end + pace.stretch.hold
        return Samples(t, p, pd, pdd)


def evenly_timed(pace: Pace, count: int) -> Stretch:
    """The same stretch with `count` intervals that take the pace as long, so bends have many."""
    at = np.linspace(0.0, pace.duration, count + 1)
    s = _places(pace, at)[0]
    s[0], s[-1] = 0.0, pace.stretch.length
    return Stretch(s, *pace.stretch.at(s), pace.stretch.hold)


def _places(pace: Pace, tau: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """s, sd, sdd (N,) so many seconds after the stop."""
    which = np.clip(np.searchsorted(pace.t, tau, side="right") - 1, 0, len(pace.sdd) - 1)
    left, u = tau - pace.t[which], pace.sdd[which]
    s = pace.stretch.s[which] + left * (pace.sd[which] + u * left / 2)
    return s, np.maximum(pace.sd[which] + u * left, 0.0), u


def _passed(
    pace: Pace, since: FloatArray, slower: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """p, pd, pdd (N, dof) so many seconds after the stop."""
    s, sd, sdd = (x[:, None] for x in _places(pace, since / slower))
    p, dp, ddp = pace.stretch.at(np.clip(s[:, 0], 0.0, pace.stretch.length))
    return p, dp * (sd / slower), ddp * (sd / slower) ** 2 + dp * (sdd / slower**2)
