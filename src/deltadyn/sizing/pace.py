"""The fastest pace along one stretch of a path, with friction.

First the optimum under limits that are linear in sdd and sd^2 (reachability), then the pace as a
law of time, then the rounds that put friction in as its tangent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.errors import DeltadynError
from deltadyn.motion.planned import PlannedMotion, Samples, reached
from deltadyn.robot import Robot
from deltadyn.sizing.path import (
    Linear,
    PathLimits,
    Row,
    Stretch,
    Values,
    Way,
    at_ends,
    path_limits,
    with_friction,
)

HALVINGS = 50  # of a range: to rounding
FLAT = 1e-12  # of an interval's largest coefficient: less is none
SLACK = 1e-6  # relative: a step back from an edge, to see whether the set rises towards it
ROUNDING = 1e-9  # of the acceleration squared: at the tip of a cone
ROUNDS = 30  # of the tangent of friction, at most
SETTLED = 1e-8  # of the largest sd^2: the change of a round that ends them


# Reachability: controllable sets backward, the largest step forward.
#
# Between two nodes, d apart, u = sdd is constant, so x = sd^2 goes from x_i = x to x_{i+1} = y with
# u = (y - x) / (2 d). Limits are kept at both ends of the interval, so each interval allows a
# convex set of (x, y): |P y + Q x + R| <= 1 for every row, |P y + Q x| <= 1 for the cone, 0 <= x, y
# <= cap. A motion that may stand anywhere has (0, 0) in all sets. Then the x from which the end can
# be reached are 0 <= x_i <= beta_i, found backward from the end,
#
#     beta_i = max x  with  (x, y) allowed and y <= beta_{i+1}
#
# and the fastest motion takes in each interval the largest y <= beta_{i+1} that its x allows: more
# speed at one place never costs speed at another, because sets from 0 up are nested.


class StuckError(DeltadynError):
    """A place that no pace from 0 up can pass within the limits."""


@dataclass(frozen=True, eq=False)
class Side:
    """One of x and y from the other, z: low <= value <= high.

    Rows allow mid + slope z -+ half (n, m); the cone turn z -+ sqrt(size - bend z^2), (n, 2).
    """

    slope: FloatArray
    low: FloatArray
    high: FloatArray
    turn: FloatArray
    size: FloatArray
    bend: FloatArray

    def range(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Low and high (n,) for z (n,); the range is empty where low is above high."""
        along = self.slope * z[:, None]
        low = (along + self.low).max(axis=1, initial=-np.inf)
        high = (along + self.high).min(axis=1, initial=np.inf)
        left = self.size - self.bend * (z**2)[:, None]
        root = np.sqrt(np.maximum(left, 0.0))
        mid = self.turn * z[:, None]
        none = left < -ROUNDING * self.size
        low = np.maximum(low, np.where(none, np.inf, mid - root).max(axis=1, initial=-np.inf))
        high = np.minimum(high, np.where(none, -np.inf, mid + root).min(axis=1, initial=np.inf))
        return low, high

    def highest(self) -> Callable[[int, float], float]:
        """A function of interval and z that gives high for one interval, quickly."""
        slopes, highs = list(self.slope), list(self.high)
        turns, sizes, bends = self.turn.tolist(), self.size.tolist(), self.bend.tolist()
        room = np.empty(self.slope.shape[1])

        def high(i: int, z: float) -> float:
            most = math.inf
            if room.size:
                np.multiply(slopes[i], z, out=room)
                np.add(room, highs[i], out=room)
                most = float(np.minimum.reduce(room))
            for turn, size, bend in zip(turns[i], sizes[i], bends[i], strict=True):
                left = size - bend * (z * z)
                # `range` finds edges at its own limit: here it is twice that, or an edge is lost
                if left < -2 * ROUNDING * size:
                    return -math.inf
                most = min(most, turn * z + math.sqrt(max(left, 0.0)))
            return most

        return high

    def part(self, rows: npt.NDArray[np.intp]) -> Side:
        """The same of some intervals."""
        return Side(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Sets:
    """The sets of (x, y) of all intervals: x by y, y by x, and the caps of x at the nodes."""

    x_by_y: Side
    y_by_x: Side
    cap: FloatArray  # (n,)


def allowed_sets(
    spacing: FloatArray,
    ends: Linear,
    cone_u: FloatArray | None,
    cone_x: FloatArray | None,
    cap: FloatArray,
) -> Sets:
    """The sets of all intervals from rows at their ends (n - 1, 2, k) and the cone at the nodes."""
    over = 1 / (2 * spacing)
    left, right = (Linear(*(part[:, side] for part in ends)) for side in (0, 1))
    push = left.alpha * over[:, None], right.alpha * over[:, None]
    P = np.concatenate([push[0], right.beta + push[1]], axis=1)
    Q = np.concatenate([left.beta - push[0], -push[1]], axis=1)
    R = np.concatenate([left.gamma, right.gamma], axis=1)
    cone_P = cone_Q = np.zeros((len(spacing), 0, 3))
    area = np.zeros((len(spacing), 0))
    if cone_u is not None and cone_x is not None:
        at_left, at_right = cone_u[:-1] * over[:, None], cone_u[1:] * over[:, None]
        cone_P = np.stack([at_left, cone_x[1:] + at_right], axis=1)
        cone_Q = np.stack([cone_x[:-1] - at_left, -at_right], axis=1)
        normal = np.linalg.norm(np.cross(cone_u, cone_x), axis=1)
        area = np.stack([normal[:-1], normal[1:]], axis=1) * over[:, None]  # |P x Q|
    x_by_y = _side(Q, P, R, cone_Q, cone_P, area)
    return Sets(x_by_y, _side(P, Q, R, cone_P, cone_Q, area), cap)


def fastest_pace(sets: Sets) -> FloatArray:
    """x = sd^2 (n,) of the fastest motion from rest to rest."""
    beta = _controllable(sets)
    highest = sets.y_by_x.highest()
    pace = [0.0]
    for i, most in enumerate(beta[1:]):
        pace.append(min(most, highest(i, pace[i])))
    x = np.array(pace)
    stuck = np.flatnonzero(~(x[1:-1] > 0))
    if stuck.size:
        raise StuckError(f"the path cannot be passed at node {int(stuck[0]) + 1} of {len(x)}")
    return x


def _controllable(sets: Sets) -> list[float]:
    """beta: the largest x at each node from which rest at the end can be reached."""
    best, cap = _best_next(sets).tolist(), sets.cap.tolist()
    highest = sets.x_by_y.highest()
    beta = [0.0] * len(cap)
    for i in range(len(cap) - 2, -1, -1):
        beta[i] = max(min(cap[i], highest(i, min(beta[i + 1], best[i]))), 0.0)
    return beta


def _best_next(sets: Sets) -> FloatArray:
    """The y (n - 1,) that allows the largest x, for all intervals at once.

    The largest x by y is concave: up to its peak, more y is better. The y that allow any x are the
    range from 0 to an edge, which bisection finds.
    """
    side, cap, edge = sets.x_by_y, sets.cap[:-1], sets.cap[1:].copy()
    beyond = np.flatnonzero(~_allows(side, cap, edge))
    if beyond.size:
        edge[beyond] = _edge(side.part(beyond), cap[beyond], edge[beyond])
    before, at = (np.minimum(side.range(y)[1], cap) for y in (edge * (1 - SLACK), edge))
    falling = np.flatnonzero(before > at)
    if falling.size:
        edge[falling] = _peak(side.part(falling), edge[falling])
    return edge


def _allows(side: Side, cap: FloatArray, y: FloatArray) -> BoolArray:
    """Whether any x is allowed with y (n,)."""
    low, high = side.range(y)
    some: BoolArray = np.minimum(high, cap) >= np.maximum(low, 0.0)
    return some


def _edge(side: Side, cap: FloatArray, high: FloatArray) -> FloatArray:
    """The largest y that allows any x, below one that does not: bisection."""
    low = np.zeros_like(high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        good = _allows(side, cap, middle)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return low


def _peak(side: Side, edge: FloatArray) -> FloatArray:
    """Where the largest x by y peaks between 0 and the edge: ternary search."""
    low, high = np.zeros_like(edge), edge
    for _ in range(HALVINGS):
        third = (high - low) / 3
        one, two = low + third, high - third
        rising = side.range(one)[1] < side.range(two)[1]
        low, high = np.where(rising, one, low), np.where(rising, high, two)
    return (low + high) / 2


def _side(
    own: FloatArray,
    other: FloatArray,
    constant: FloatArray,
    cone: FloatArray,
    cone_z: FloatArray,
    area: FloatArray,
) -> Side:
    """Rows |own v + other z + constant| <= 1 and cones |cone v + cone_z z| <= 1, solved for v.

    `area` = |cone x cone_z| keeps the digits that zz vv - vz^2 would lose.
    """
    # vv v^2 + 2 vz v z + zz z^2 <= 1 holds for v between -vz/vv z -+ sqrt(1/vv - bend z^2), with
    # bend = (zz vv - vz^2) / vv^2 = (area / vv)^2. A coefficient of v that vanishes becomes tiny.
    size = np.abs(own).max(axis=1, initial=0.0, keepdims=True)
    least = np.maximum(FLAT * size, np.finfo(float).tiny)
    own = np.where(np.abs(own) < least, np.where(own < 0, -least, least), own)
    mid, half = -constant / own, 1 / np.abs(own)
    vv = contract("nek,nek->ne", cone, cone)
    vz = contract("nek,nek->ne", cone, cone_z)
    vv = np.maximum(vv, np.finfo(float).tiny)
    return Side(-other / own, mid - half, mid + half, -vz / vv, 1 / vv, (area / vv) ** 2)


# The pace along the stretches of a path: when the robot is where.


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
    s = _places(pace, at).s
    s[0], s[-1] = 0.0, pace.stretch.length
    return Stretch(s, *pace.stretch.at(s), pace.stretch.hold)


class _Place(NamedTuple):
    """s, sd and sdd (N,) at N times."""

    s: FloatArray
    sd: FloatArray
    sdd: FloatArray


def _places(pace: Pace, tau: FloatArray) -> _Place:
    """Where the pace is so many seconds after the stop."""
    which = np.clip(np.searchsorted(pace.t, tau, side="right") - 1, 0, len(pace.sdd) - 1)
    left, u = tau - pace.t[which], pace.sdd[which]
    s = pace.stretch.s[which] + left * (pace.sd[which] + u * left / 2)
    return _Place(s, np.maximum(pace.sd[which] + u * left, 0.0), u)


def _passed(pace: Pace, since: FloatArray, slower: float) -> Values:
    """p, pd, pdd (N, dof) so many seconds after the stop."""
    s, sd, sdd = (x[:, None] for x in _places(pace, since / slower))
    p, dp, ddp = pace.stretch.at(np.clip(s[:, 0], 0.0, pace.stretch.length))
    return Values(p, dp * (sd / slower), ddp * (sd / slower) ** 2 + dp * (sdd / slower**2))


# Rounds over the tangent of friction.


@dataclass(frozen=True, eq=False)
class Part:
    """A stretch, its limits and a pace: x = sd^2 (n,) at the nodes, u = sdd (n - 1,) between."""

    stretch: Stretch
    limits: PathLimits
    x: FloatArray
    u: FloatArray

    @property
    def times(self) -> FloatArray:
        """Seconds (n - 1,) in each interval."""
        v = np.sqrt(self.x)
        lasting: FloatArray = 2 * np.diff(self.stretch.s) / (v[:-1] + v[1:])
        return lasting

    def with_pace(self, x: FloatArray) -> Part:
        """The same at another pace."""
        return Part(self.stretch, self.limits, x, np.diff(x) / (2 * np.diff(self.stretch.s)))


def fastest_part(
    robot: Robot, stretch: Stretch, share: float, ceiling: FloatArray | None = None
) -> Part:
    """The fastest pace within `share` of the limits that hold at every place.

    `ceiling` (n,) is a pace x that must not be passed, on top of the limits.
    """
    limits = path_limits(robot, stretch, share)
    if ceiling is not None:
        limits = replace(limits, cap=np.minimum(limits.cap, ceiling))
    spacing = np.diff(stretch.s)
    part = Part(stretch, limits, np.zeros(len(stretch.s)), np.zeros(len(spacing)))
    begins = True
    for _ in range(ROUNDS):
        ends, rubs = with_friction(robot, stretch, limits, part.x, None if begins else part.u)
        sets = allowed_sets(spacing, ends, limits.cone_u, limits.cone_x, limits.cap)
        try:
            new = fastest_pace(sets)
        except StuckError:
            if begins:
                raise
            part = part.with_pace(part.x / 4)  # the tangent of friction at half the speed is lower
            continue
        before, part, begins = part.x, part.with_pace(new), False
        if not rubs or np.abs(part.x - before).max() <= SETTLED * part.x.max():
            break
    return part


def paced(robot: Robot, part: Part) -> Pace:
    """The pace of a part, with the limit that is nearest in each interval."""
    limits, x = part.limits, at_ends(part.x[:, None])  # (n - 1, 2, 1)
    u = part.u[:, None, None]
    ends, _ = with_friction(robot, part.stretch, limits, part.x, part.u)
    uses = [
        np.abs(ends.alpha * u + ends.beta * x + ends.gamma).max(axis=1),
        np.sqrt((x / at_ends(limits.cap_each)).max(axis=1)),
    ]
    rows = [*limits.rows, *limits.caps]
    if limits.cone_u is not None and limits.cone_x is not None:
        vector = at_ends(limits.cone_u) * u + at_ends(limits.cone_x) * x
        uses.append(np.linalg.norm(vector, axis=2).max(axis=1)[:, None])
        rows.append(Row("platform_acceleration", ""))
    every = np.concatenate(uses, axis=1)
    active = tuple(rows[k] for k in every.argmax(axis=1))
    return Pace(part.stretch, np.sqrt(part.x), part.u, every.max(axis=1), active)
