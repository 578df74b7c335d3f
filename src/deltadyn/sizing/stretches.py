"""The path of a motion by its length, cut where the motion stands.

A stretch leads from one stop to the next. Its parameter s is the length of the way of the platform
point, to which a turn of psi adds as on an arm's length (m):

    ds^2 = |d(x, y, z)|^2 + (l1 d psi)^2,    p' = pd / sd,    p'' = (pdd - p' sdd) / sd^2

with sd, sdd of the motion that was given. The nodes lie closer in bends and at both ends: a motion
that starts with a continuous acceleration has p ~ t^3 there, so the curvature may grow without
bound at a stop, where the speed vanishes with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.motion.motion import Motion
from deltadyn.motion.profiles import quintic
from deltadyn.robot import Robot

# Quintic Hermite interpolation: two continuous derivatives through values and derivatives.


class Values(NamedTuple):
    """A curve and its first two derivatives at N places, each (N, k)."""

    y: FloatArray
    y1: FloatArray
    y2: FloatArray


@dataclass(frozen=True, eq=False)
class Quintic:
    """A curve of quintics between knots x (n,); coefficients (6, n - 1, k) on unit intervals."""

    x: FloatArray
    coefficients: FloatArray

    @classmethod
    def through(cls, x: FloatArray, y: FloatArray, y1: FloatArray, y2: FloatArray) -> Quintic:
        """The curve with the values y and the derivatives y1, y2 (n, k) at the knots."""
        h = np.diff(x)[:, None]
        c0, c1, c2 = y[:-1], h * y1[:-1], h**2 * y2[:-1] / 2
        a = y[1:] - c0 - c1 - c2
        b = h * y1[1:] - c1 - 2 * c2
        c = h**2 * y2[1:] - 2 * c2
        c3, c4, c5 = 10 * a - 4 * b + c / 2, -15 * a + 7 * b - c, 6 * a - 3 * b + c / 2
        return cls(x, np.stack([c0, c1, c2, c3, c4, c5]))

    def at(self, x: FloatArray) -> Values:
        """The curve and its derivatives at x (N,) within the knots."""
        which = np.clip(np.searchsorted(self.x, x, side="right") - 1, 0, len(self.x) - 2)
        h = (self.x[which + 1] - self.x[which])[:, None]
        u = (x - self.x[which])[:, None] / h
        c0, c1, c2, c3, c4, c5 = self.coefficients[:, which]
        y = c0 + u * (c1 + u * (c2 + u * (c3 + u * (c4 + u * c5))))
        y1 = c1 + u * (2 * c2 + u * (3 * c3 + u * (4 * c4 + u * 5 * c5)))
        y2 = 2 * c2 + u * (6 * c3 + u * (12 * c4 + u * 20 * c5))
        return Values(y, y1 / h, y2 / h**2)


STILL = 1e-9  # of the largest speed: the motion stands
STOP = 1e-2  # of the largest speed: a minimum below is a stop that no sample has met
NOWHERE = 1e-9  # m: rounding of a motion that stands
NEAR = 1e-4  # of a stretch's time: where the direction at its ends is taken
NEWTON = 6  # steps towards the wanted nodes; where they lie is then known, not wanted
STRAIGHT = 1e-6  # rad: less is no turn
LOOKS = 65  # per turn of the search for a minimum of the speed


@dataclass(frozen=True, eq=False)
class Stretch:
    """A path p(s) between two stops: nodes s (n,) in m, p, dp, ddp (n, dof), then a hold (s)."""

    s: FloatArray
    p: FloatArray
    dp: FloatArray
    ddp: FloatArray
    hold: float

    @property
    def length(self) -> float:
        """From stop to stop, in m."""
        return float(self.s[-1])

    @cached_property
    def curve(self) -> Quintic:
        """The path between the nodes."""
        return Quintic.through(self.s, self.p, self.dp, self.ddp)

    def at(self, s: FloatArray) -> Values:
        """p, p' and p'' at s (N,)."""
        return self.curve.at(s)


@dataclass(frozen=True, eq=False)
class Way:
    """All stretches of a motion, and how long (s) it stands before the first."""

    wait: float
    stretches: tuple[Stretch, ...]

    @property
    def held(self) -> float:
        """Seconds in which the motion stands."""
        return self.wait + sum(item.hold for item in self.stretches)


def way_of(robot: Robot, motion: Motion, samples: int) -> Way:
    """The stretches of a motion, with `samples` intervals each."""
    weight = np.ones(robot.dof)
    weight[3:] = min(robot.geometry.arm_length)
    scaled = motion.pd * weight
    speed = np.linalg.norm(scaled, axis=1)
    peak = float(speed.max())
    if not peak * motion.duration > NOWHERE:
        allowed = f"above {NOWHERE:g} m: a path leads somewhere"
        raise InputError("length of path", peak * motion.duration, allowed)
    path = Quintic.through(motion.t, motion.p, motion.pd, motion.pdd)
    stops = _stops(path, motion.t, scaled, speed, peak, weight)
    stretches = tuple(
        _stretch(path, motion, weight, leave, arrive, end - arrive, samples)
        for (_, leave), (arrive, end) in pairwise(stops)
    )
    return Way(stops[0][1] - stops[0][0], stretches)


def _stops(
    path: Quintic,
    t: FloatArray,
    velocity: FloatArray,
    speed: FloatArray,
    peak: float,
    weight: FloatArray,
) -> list[tuple[float, float]]:
    """When the motion comes to a stop and when it leaves it, in s; its ends count as stops."""
    still = speed <= STILL * peak
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(int)))
    stops = [(float(t[i]), float(t[j - 1])) for i, j in edges.reshape(-1, 2)]
    low = speed < STOP * peak
    near = still.copy()
    near[1:] |= still[:-1]
    near[:-1] |= still[1:]
    inner = np.zeros(len(t), dtype=bool)
    inner[1:-1] = (speed[1:-1] <= speed[:-2]) & (speed[1:-1] < speed[2:]) & low[1:-1]
    turned = np.einsum("nk,nk->n", velocity[:-1], velocity[1:]) < 0
    inner[:-1] |= turned
    for i in map(int, np.flatnonzero(inner & ~near)):
        at = _slowest(path, t[max(i - 1, 0)], t[min(i + 1, len(t) - 1)], weight)
        if not any(abs(at - a) < 2 * (t[i + 1] - t[i]) for a, _ in stops):
            stops.append((at, at))
    if not still[0]:
        stops.append((float(t[0]), float(t[0])))
    if not still[-1]:
        stops.append((float(t[-1]), float(t[-1])))
    return sorted(stops)


def _slowest(path: Quintic, begin: float, end: float, weight: FloatArray) -> float:
    """The time (s) of the least speed between two samples."""
    for _ in range(4):
        at = np.linspace(begin, end, LOOKS)
        place = int(np.argmin(np.linalg.norm(path.at(at).y1 * weight, axis=1)))
        begin, end = at[max(place - 1, 0)], at[min(place + 1, LOOKS - 1)]
    return float((begin + end) / 2)


def _stretch(
    path: Quintic,
    motion: Motion,
    weight: FloatArray,
    begin: float,
    end: float,
    hold: float,
    samples: int,
) -> Stretch:
    """Nodes along the path from one stop to the next."""
    inside = motion.t[(motion.t > begin) & (motion.t < end)]
    t = np.concatenate([[begin], inside, [end]])
    if len(inside) < 4:
        allowed = "at least 4 samples between two stops"
        raise InputError("samples of path", len(inside), allowed, where=f"{begin:g} to {end:g} s")
    length = _lengths(path, t, weight)
    wanted = _nodes(path, t, length, weight, samples)
    inner, reached = _times(path, t, length, wanted[1:-1], weight)
    off = NEAR * (end - begin)
    _, dp, ddp = _by_length(path.at(np.array([begin + off, *inner, end - off])), weight)
    ddp[[0, -1]] = 0.0  # without effect at a stop, and unbounded there for some paths
    p = path.at(np.array([begin, *inner, end])).y
    return Stretch(np.array([0.0, *reached, length[-1]]), p, dp, ddp, hold)


def _nodes(
    path: Quintic, t: FloatArray, length: FloatArray, weight: FloatArray, samples: int
) -> FloatArray:
    """Where nodes should lie (m): half of them by the way, closer at both ends, half by turns."""
    u = np.linspace(0.0, 1.0, 20 * len(t))
    share = np.interp(length / length[-1], quintic(u)[0], u)
    inner = path.at(t[1:-1]).y1 * weight
    heading = inner / np.linalg.norm(inner, axis=1, keepdims=True)
    turn = np.cumsum(np.linalg.norm(np.diff(heading, axis=0), axis=1))
    if turn[-1] > STRAIGHT:
        share = (share + np.concatenate([[0.0, 0.0], turn, turn[-1:]]) / turn[-1]) / 2
    return np.interp(np.linspace(0.0, 1.0, samples + 1), share, length)


def _rate(values: Values, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """sd and sdd (N,) of the motion that was given."""
    speed = np.linalg.norm(values.y1 * weight, axis=1)
    along = np.einsum("nk,nk->n", values.y1 * weight, values.y2 * weight)
    slope = np.divide(along, speed, out=np.zeros_like(speed), where=speed > 0)
    return speed, slope


def _lengths(path: Quintic, t: FloatArray, weight: FloatArray) -> FloatArray:
    """s (N,) at times t."""
    return np.concatenate([[0.0], np.cumsum(_gauss(path, t[:-1], t[1:], weight))])


def _gauss(path: Quintic, begin: FloatArray, end: FloatArray, weight: FloatArray) -> FloatArray:
    """Lengths (N,) of the ways from `begin` to `end` (s), by Gauss-Legendre with five points."""
    nodes, weights = np.polynomial.legendre.leggauss(5)
    half = (end - begin) / 2
    at = begin[:, None] + half[:, None] * (nodes + 1)
    speed = _rate(path.at(at.ravel()), weight)[0].reshape(at.shape)
    way: FloatArray = half * (speed @ weights)
    return way


def _times(
    path: Quintic, t: FloatArray, length: FloatArray, wanted: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """When the motion has come about as far as `wanted` (N,), and how far it is then."""
    which = np.clip(np.searchsorted(length, wanted, side="right") - 1, 0, len(t) - 2)
    low, high = t[which].copy(), t[which + 1].copy()
    at = np.interp(wanted, length, t)
    for _ in range(NEWTON):  # or a bisection where the step leaves the bracket
        off = length[which] + _gauss(path, t[which], at, weight) - wanted
        high, low = np.where(off > 0, at, high), np.where(off > 0, low, at)
        slope = _rate(path.at(at), weight)[0]
        new = at - np.divide(off, slope, out=np.full_like(off, np.inf), where=slope > 0)
        at = np.where((new >= low) & (new <= high), new, (low + high) / 2)
    return at, length[which] + _gauss(path, t[which], at, weight)


def _by_length(values: Values, weight: FloatArray) -> Values:
    """p, p' and p'' by s of what is given by time."""
    speed, slope = _rate(values, weight)
    dp = values.y1 / speed[:, None]
    return Values(values.y, dp, (values.y2 - dp * slope[:, None]) / speed[:, None] ** 2)
