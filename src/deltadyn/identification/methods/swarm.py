"""Particle swarm with a distributed cyclic neighbourhood [kim2022] eqs. 31-35.

The objective is eq. 33, the sum of absolute residuals. Rows whose residual cannot change its sign
where the particles are add up to one linear function, so that a swarm that has drawn together needs
few rows; the sum is the same to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.methods.base import remaining, torque_rms
from deltadyn.identification.methods.rows import (
    Rows,
    linear_rows,
    named,
    one_each,
    positive,
    whole,
)
from deltadyn.identification.problem import Problem, Solution, Solver

# The sum of absolute residuals at many points, exact, with few rows where the points are close.


BLOCK = 256  # rows at once: residuals of 300 points in 0.6 MB stay in the second-level cache
MARGIN = 1.5  # of the ellipsoid around the points, so that it serves some moves
RENEW = 10  # evaluations, after which the ellipsoid is drawn anew
STRAY = 0.02  # share of points outside the ellipsoid at which it is drawn anew at once
ROUNDING = 1e-10  # of a row's torques: residuals as small as this keep their row


class SignedSum:
    """f(x) = sum_i |tau_i - Y_i x| for points x (P, k).

    With m and S the mean and the covariance of the points, every x of the ellipsoid
    |S^-1/2 (x - m)| <= radius has |Y_i (x - m)| <= radius |Y_i S^1/2|. Rows with a larger residual
    at m have one sign there, and their sum is linear in x. Points outside are summed over all rows.
    """

    def __init__(self, Y: FloatArray, tau: FloatArray) -> None:
        self._rows = np.concatenate([Y, tau[:, None]], axis=1)  # (N, k + 1)
        self._size = np.abs(self._rows).sum(axis=1)
        self._age = RENEW
        self._read = 0.0
        self._points = 0

    @property
    def rows_read(self) -> float:
        """The share of rows read one by one, over all points so far."""
        return self._read / max(1, self._points * len(self._rows))

    def __call__(self, x: FloatArray) -> FloatArray:
        """f at all points (P, k)."""
        if self._age >= RENEW:
            self._draw(x)
        away = self._outside(x)
        if self._age and away.sum() > STRAY * len(x):
            self._draw(x)
            away = self._outside(x)
        value = self._sum(self._active, x)
        value += self._constant + (x - self._centre) @ self._slope
        if away.any():
            value[away] = self._sum(self._rows, x[away])
        self._age += 1
        self._points += len(x)
        self._read += len(self._active) * len(x) + len(self._rows) * int(away.sum())
        return value

    def _draw(self, x: FloatArray) -> None:
        """Find the ellipsoid around the points and the rows that change their sign in it."""
        self._age = 0
        centre = x.mean(axis=0)
        offset = x - centre
        tiny = 1e-14 * (np.abs(x).max(axis=0) + 1e-300)  # keeps a collapsed swarm invertible
        S = offset.T @ offset / len(x) + np.diag(tiny**2)
        scale = np.sqrt(np.diag(S))
        factor = np.linalg.cholesky(S / np.outer(scale, scale) + 1e-12 * np.eye(len(S)))
        self._centre = centre
        self._to_ball = np.linalg.inv(factor) / scale  # (k, k)
        self._radius = MARGIN * float(np.linalg.norm(offset @ self._to_ball.T, axis=1).max())
        Y = self._rows[:, :-1]
        reach = self._radius * np.linalg.norm(Y @ (factor * scale[:, None]), axis=1)
        residual = self._rows[:, -1] - Y @ centre
        size = self._size * (1.0 + float(np.abs(centre).max()))
        sure = np.abs(residual) > reach + ROUNDING * size
        sign = np.sign(residual[sure])
        self._constant = float(np.abs(residual[sure]).sum())
        self._slope = -(sign @ Y[sure])
        self._active = self._rows[~sure]

    def _outside(self, x: FloatArray) -> FloatArray:
        distance = np.linalg.norm((x - self._centre) @ self._to_ball.T, axis=1)
        outside: FloatArray = distance > self._radius
        return outside

    def _sum(self, rows: FloatArray, x: FloatArray) -> FloatArray:
        """The sum over some rows, block by block."""
        points = np.empty((x.shape[1] + 1, len(x)))
        points[:-1], points[-1] = -x.T, 1.0
        total, ones = np.zeros(len(x)), np.ones(BLOCK)
        buffer = np.empty((min(BLOCK, len(rows)), len(x)))
        for start in range(0, len(rows), BLOCK):
            block = rows[start : start + BLOCK]
            residual = np.matmul(block, points, out=buffer[: len(block)])
            np.abs(residual, out=residual)
            total += ones[: len(block)] @ residual
        return total


TOPOLOGIES = ("cyclic", "star")
BESTS = ("best", "current")
DRAWS = ("particle", "coordinate")
BOUNDS = ("start", "keep")
REACH = 3.0  # times a parameter's value before: where a swarm starts
INERTIA, ATTRACTION = 0.72984, (1.49618, 1.49618)  # [kim2022] section 3


@dataclass(frozen=True, eq=False)
class SwarmResult:
    """The best position x (k,) that any particle has been at, and how it was found.

    `history` (iterations + 1,) is the best objective so far, `spread` the largest standard
    deviation of a coordinate over the particles at the end, relative to the width of its bounds.
    `rows_read` is the share of rows that had to be read one by one to evaluate all particles.
    """

    x: FloatArray
    objective: float
    history: FloatArray
    evaluations: int
    status: str
    topology: str
    neighbours_best: str
    bounds: str
    spread: float
    rows_read: float
    seed: int


@dataclass(eq=False)
class _Flock:
    """Positions x, velocities v, best positions and their objectives."""

    x: FloatArray
    v: FloatArray
    value: FloatArray
    best: FloatArray
    best_value: FloatArray


@dataclass(frozen=True, eq=False)
class Swarm(Solver):
    """Minimise sum |tau - Y x| [kim2022] eq. 33 by a particle swarm, eqs. 34-35.

    `particles` start at rest, uniform between `lower` and `upper` (k,): by default from 0 to 3
    times the robot's values, friction up to half of the RMS torque or that on either side.
    `bounds="start"` lets them leave these bounds, as in the paper; "keep" stops them there. In
    `topology` "cyclic" a particle follows the best of itself and `neighbours` / 2 on either side of
    the ring (an even number), in "star" the best of all. `neighbours_best` is over the neighbours'
    best positions so far, "best", or over their present ones, "current" (eq. 32 and the update as
    printed). `draws` gives every "coordinate" its own random numbers, or one pair to a "particle"
    (eq. 34 as printed), which keeps a particle in the plane of its three points. `inertia` and
    `attraction`, to the own best and to the leader, are those of section 3; `iterations` are made.
    """

    name: ClassVar[str] = "swarm"
    model: ClassVar[str] = "virtual-work"
    source: ClassVar[str] = "kim2022"

    lower: npt.ArrayLike | None = None
    upper: npt.ArrayLike | None = None
    particles: int = 300
    neighbours: int = 60
    iterations: int = 1000
    inertia: float = INERTIA
    attraction: tuple[float, float] = ATTRACTION
    topology: str = "cyclic"
    neighbours_best: str = "best"
    draws: str = "particle"
    bounds: str = "start"

    def __post_init__(self) -> None:
        whole(self.particles, "particles", 2)
        whole(self.iterations, "iterations", 1)
        named(self.topology, "topology", TOPOLOGIES)
        named(self.neighbours_best, "neighbours_best", BESTS)
        named(self.draws, "draws", DRAWS)
        named(self.bounds, "bounds", BOUNDS)
        if self.topology == "cyclic":
            number = whole(self.neighbours, "neighbours", 2)
            if number % 2 or number >= self.particles:
                allowed = f"an even number below that of particles, {self.particles}"
                raise InputError("neighbours", number, allowed)
        positive(self.inertia, "inertia", zero=True)
        pair: object = self.attraction
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            allowed = "two numbers: to the own best, to the leader"
            raise InputError("attraction", self.attraction, allowed)
        for value in self.attraction:
            positive(value, "attraction", zero=True)

    def solve(self, problem: Problem) -> Solution:
        """The best place that a particle finds, from all weighted rows.

        Parameters of a log, and those with a prior, stay where least squares put them.
        """
        of_log = np.arange(len(problem.par.names)) >= problem.par.own
        rows, count = remaining(problem, of_log | problem.known), problem.par.own
        low, high = _box(problem)
        low = low if self.lower is None else one_each(self.lower, count, "lower")
        high = high if self.upper is None else one_each(self.upper, count, "upper")
        free = rows.free[:count]
        own = replace(self, lower=low[free], upper=high[free])
        found = own.minimise(rows.Y, rows.tau, problem.seed, problem.progress)
        details = {
            "objective": found.objective,
            "evaluations": found.evaluations,
            "history": found.history,
            "topology": found.topology,
            "neighbours_best": found.neighbours_best,
        }
        status = found.status + rows.words(problem.par.names)
        return Solution(rows.completed(found.x), status, details=details)

    def minimise(
        self, Y: npt.ArrayLike, tau: npt.ArrayLike, seed: int = 0, progress: bool = False
    ) -> SwarmResult:
        """The sum of absolute residuals of rows, minimised between `lower` and `upper`."""
        rows = linear_rows(Y, tau)
        k = rows.Y.shape[1]
        box = _Box.of(self.lower, self.upper, k)
        rng = np.random.default_rng(whole(seed, "seed", 0))
        objective = SignedSum(rows.Y, rows.tau)
        flock = _start(objective, rng, box, self.particles)
        history = np.empty(self.iterations + 1)
        history[0] = flock.best_value.min()
        with _bar(progress, self.iterations) as report:
            for step in range(self.iterations):
                self._move(flock, rng, box)
                _judge(flock, objective)
                history[step + 1] = flock.best_value.min()
                report(history[step + 1])
        return self._result(rows, flock, history, objective, box, int(seed))

    def _move(self, flock: _Flock, rng: np.random.Generator, box: _Box) -> None:
        """One step of all particles, eqs. 34-35."""
        count, k = flock.x.shape
        leader = _leaders(flock, self._half, self.neighbours_best)
        own, social = rng.random((2, count, k if self.draws == "coordinate" else 1))
        to_best, to_leader = self.attraction
        flock.v *= self.inertia
        flock.v += to_best * own * (flock.best - flock.x)
        flock.v += to_leader * social * (leader - flock.x)
        flock.x += flock.v
        if self.bounds == "keep":
            _stop_at(flock, box)

    @property
    def _half(self) -> int:
        """Neighbours on either side; in a star all of them."""
        return self.neighbours // 2 if self.topology == "cyclic" else self.particles

    def _result(
        self,
        rows: Rows,
        flock: _Flock,
        history: FloatArray,
        objective: SignedSum,
        box: _Box,
        seed: int,
    ) -> SwarmResult:
        x = flock.best[int(flock.best_value.argmin())].copy()
        spread = float((flock.x.std(axis=0) / (box.high - box.low)).max())
        status = (
            f"{self.iterations} iterations done; the particles are spread over {spread:.1e} of the "
            f"bounds, {self.topology} neighbourhood, leaders by their {self.neighbours_best} "
            "positions; no proof of optimality"
        )
        return SwarmResult(
            x,
            float(np.abs(rows.tau - rows.Y @ x).sum()),
            history,
            len(history) * len(flock.x),
            status,
            self.topology,
            self.neighbours_best,
            self.bounds,
            spread,
            objective.rows_read,
            seed,
        )


def swarm(
    Y: npt.ArrayLike,
    tau: npt.ArrayLike,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    seed: int = 0,
    progress: bool = False,
    **options: Any,
) -> SwarmResult:
    """`Swarm` with these options on rows of its own."""
    return Swarm(lower, upper, **options).minimise(Y, tau, seed, progress)


@dataclass(frozen=True, eq=False)
class _Box:
    """Where particles start: low and high (k,)."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, lower: npt.ArrayLike | None, upper: npt.ArrayLike | None, k: int) -> _Box:
        if lower is None or upper is None:
            raise InputError("lower, upper", None, f"({k},), or one number: where particles start")
        low, high = one_each(lower, k, "lower"), one_each(upper, k, "upper")
        for name, array in (("lower", low), ("upper", high)):
            bad = np.flatnonzero(~np.isfinite(array))
            if bad.size:
                where = f"parameter {bad[0]}"
                raise InputError(name, float(array[bad[0]]), "finite numbers", where=where)
        bad = np.flatnonzero(low >= high)
        if bad.size:
            j = int(bad[0])
            allowed = f"more than lower, {low[j]:g}"
            raise InputError("upper", float(high[j]), allowed, where=f"parameter {j}")
        return cls(low, high)


def _box(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Where a swarm starts: up to three times the values before; friction up to half the torque."""
    own = problem.par.own
    prior = np.abs(problem.par.prior[:own])
    torque = float(torque_rms(problem.information).max())
    friction = np.array([name[0] == "F" or "." in name for name in problem.par.names[:own]])
    reach = np.where(friction, np.maximum(REACH * prior, torque / 2), REACH * prior)
    reach = np.maximum(reach, 1e-3 * max(float(reach.max()), 1e-12))
    return np.where(friction, -reach, 0.0), reach


def _start(objective: SignedSum, rng: np.random.Generator, box: _Box, count: int) -> _Flock:
    x = box.low + (box.high - box.low) * rng.random((count, len(box.low)))
    value = objective(x)
    return _Flock(x, np.zeros_like(x), value, x.copy(), value.copy())


def _leaders(flock: _Flock, half: int, neighbours_best: str) -> FloatArray:
    """The position (P, k) that each particle follows [kim2022] eq. 32."""
    if neighbours_best == "best":
        places, values = flock.best, flock.best_value
    else:
        places, values = flock.x, flock.value
    return places[ring_minimum(values, half)]


def ring_minimum(values: FloatArray, half: int) -> npt.NDArray[np.intp]:
    """Where the least of values (P,) is within `half` places on either side of a ring.

    Of equal values the first is taken, counted from the left end of the window.
    """
    count = len(values)
    if 2 * half + 1 >= count:
        return np.full(count, int(values.argmin()))
    around = np.concatenate([values[count - half :], values, values[:half]])
    windows = np.lib.stride_tricks.sliding_window_view(around, 2 * half + 1)  # (P, 2 half + 1)
    places: npt.NDArray[np.intp] = (windows.argmin(axis=1) + np.arange(count) - half) % count
    return places


def _judge(flock: _Flock, objective: SignedSum) -> None:
    """Evaluate all particles and let them remember what is better."""
    flock.value = objective(flock.x)
    better = flock.value < flock.best_value
    flock.best[better] = flock.x[better]
    flock.best_value[better] = flock.value[better]


def _stop_at(flock: _Flock, box: _Box) -> None:
    """A particle that would leave the bounds stays on them and loses that velocity."""
    beyond = (flock.x < box.low) | (flock.x > box.high)
    np.clip(flock.x, box.low, box.high, out=flock.x)
    flock.v[beyond] = 0.0


@contextmanager
def _bar(show: bool, total: int) -> Iterator[Callable[[float], None]]:
    """A bar of iterations on the standard error with the best objective, where it is wanted."""
    if not show:
        yield lambda value: None
        return
    from rich.console import Console  # imported where a bar is drawn
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} iterations"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("swarm", total=total)
        yield lambda value: bar.update(task, advance=1, description=f"swarm, best {value:.6g}")
