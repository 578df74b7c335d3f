"""Particle swarm with a distributed cyclic neighbourhood [kim2022] eqs. 31-35, of any cost.

The paper's cost is eq. 33, the sum of absolute residuals. Rows whose residual cannot change its
sign where the particles are add up to one linear function, so that a swarm that has drawn together
needs few rows; the sum is the same to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.methods.base import Remaining, remaining, torque_rms
from deltadyn.identification.methods.rows import (
    linear_rows,
    named,
    one_each,
    positive,
    whole,
)
from deltadyn.identification.problem import Problem, Solution, Solver
from deltadyn.options import merged

#: The cost of one position (k,), or of all positions (P, k) at once.
Cost = Callable[[FloatArray], Any]

# The sum of absolute residuals at many points, exact, with few rows where the points are close.


BLOCK = 256  # rows at once: residuals of 300 points in 0.6 MB stay in the second-level cache
MARGIN = 1.5  # of the ellipsoid around the points, so that it serves some moves
RENEW = 10  # evaluations, after which the ellipsoid is drawn anew
STRAY = 0.02  # share of points outside the ellipsoid at which it is drawn anew at once
ROUNDING = 1e-10  # of a row's torques: residuals as small as this keep their row


class AbsoluteErrorSum:
    """The cost [kim2022] eq. 33, f(x) = sum_i |tau_i - Y_i x|, of points x (P, k), for `swarm`.

    `Y` is (N, k) with `tau` (N,), or (N, dof, k) with (N, dof).

    With m and S the mean and the covariance of the points, every x of the ellipsoid
    |S^-1/2 (x - m)| <= radius has |Y_i (x - m)| <= radius |Y_i S^1/2|. Rows with a larger residual
    at m have one sign there, and their sum is linear in x. Points outside are summed over all rows.
    """

    def __init__(self, Y: npt.ArrayLike, tau: npt.ArrayLike) -> None:
        rows = linear_rows(Y, tau)
        self._rows = np.concatenate([rows.Y, rows.tau[:, None]], axis=1)  # (N, k + 1)
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
C0, C1, C2 = 0.72984, 1.49618, 1.49618  # [kim2022] section 3


@dataclass(frozen=True, eq=False)
class SwarmResult:
    """The best `position` (k,) that any particle has been at, its `cost`, and how it was found.

    `history` (iterations + 1,) is the best cost so far, `spread` the largest standard deviation of
    a coordinate over the particles at the end, relative to the width of its bounds. `status` says
    in a sentence how the search ended; a swarm never proves its optimum.
    """

    position: FloatArray
    cost: float
    history: FloatArray = field(repr=False)
    evaluations: int
    status: str
    topology: str
    neighbours_best: str
    bounds: str
    spread: float
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
    """Minimise a cost by a particle swarm [kim2022] eqs. 34-35, by default that of eq. 33.

    `cost` is a function of the residual (N, dof) in N m, measured less computed torque in the band
    of the fit, that gives a number: any loss, convex or not. None is the sum of absolute residuals,
    each in the weight of its axis. `particles` start at rest, uniform between `lower` and `upper`
    (k,): by default from 0 to 3 times the robot's values, friction up to half of the RMS torque or
    that on either side. `bounds="start"` lets them leave these bounds, as in the paper; "keep"
    stops them there. In `topology` "cyclic" a particle follows the best of itself and `neighbours`
    / 2 on either side of the ring (an even number), in "star" the best of all. `neighbours_best` is
    over the neighbours' best positions so far, "best", or over their present ones, "current"
    (eq. 32 and the update as printed). `draws` gives every "coordinate" its own random numbers, or
    one pair to a "particle" (eq. 34 as printed), which keeps a particle in the plane of its three
    points. `c0` is the inertia, `c1` the attraction to the particle's best position, `c2` that to
    its leader, by default those of section 3; `iterations` are made.
    """

    name: ClassVar[str] = "swarm"
    model: ClassVar[str] = "virtual-work"
    source: ClassVar[str] = "kim2022"

    lower: npt.ArrayLike | None = None
    upper: npt.ArrayLike | None = None
    particles: int = 300
    neighbours: int = 60
    iterations: int = 1000
    c0: float = C0
    c1: float = C1
    c2: float = C2
    topology: str = "cyclic"
    neighbours_best: str = "best"
    draws: str = "particle"
    bounds: str = "start"
    cost: Callable[[FloatArray], float] | None = None

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
        for name in ("c0", "c1", "c2"):
            positive(getattr(self, name), name, zero=True)
        if self.cost is not None and not callable(self.cost):
            raise InputError("cost", self.cost, "a function of the residual (N, dof), or None")

    def solve(self, problem: Problem) -> Solution:
        """The best place that a particle finds, from all rows.

        Parameters of a log, and those with a prior, stay where least squares put them.
        """
        of_log = np.arange(len(problem.par.names)) >= problem.par.own
        rows, count = remaining(problem, of_log | problem.known), problem.par.own
        low, high = _box(problem)
        low = low if self.lower is None else one_each(self.lower, count, "lower")
        high = high if self.upper is None else one_each(self.upper, count, "upper")
        free = rows.free[:count]
        within = replace(self, lower=low[free], upper=high[free])
        cost: Cost = AbsoluteErrorSum(rows.Y, rows.tau)
        if self.cost is not None:
            cost = _residual_cost(problem, rows, self.cost)
        together = self.cost is None
        result = within.minimise(cost, problem.seed, problem.progress, vectorized=together)
        details = {
            "objective": result.cost,
            "evaluations": result.evaluations,
            "history": result.history,
            "topology": result.topology,
            "neighbours_best": result.neighbours_best,
        }
        status = result.status + rows.words(problem.par.names)
        x = rows.completed(result.position)
        return Solution(x, status, bool(np.isfinite(result.cost)), details=details)

    def minimise(
        self, cost: Cost, seed: int = 0, progress: bool = False, vectorized: bool = False
    ) -> SwarmResult:
        """The least of `cost` over positions that start between `lower` and `upper`; see `swarm`.

        The field of that name is not used.
        """
        box = _Box.of(self.lower, self.upper)
        rng = np.random.default_rng(whole(seed, "seed", 0))
        objective = _Objective(cost, vectorized)
        flock = _start(objective, rng, box, self.particles)
        history = np.empty(self.iterations + 1)
        history[0] = flock.best_value.min()
        with _bar(progress, self.iterations) as report:
            for step in range(self.iterations):
                self._move(flock, rng, box)
                _judge(flock, objective)
                history[step + 1] = flock.best_value.min()
                report(history[step + 1])
        return self._result(flock, history, box, int(seed))

    def _move(self, flock: _Flock, rng: np.random.Generator, box: _Box) -> None:
        """One step of all particles, eqs. 34-35."""
        count, k = flock.x.shape
        leader = _leaders(flock, self._half, self.neighbours_best)
        own, social = rng.random((2, count, k if self.draws == "coordinate" else 1))
        flock.v *= self.c0
        flock.v += self.c1 * own * (flock.best - flock.x)
        flock.v += self.c2 * social * (leader - flock.x)
        flock.x += flock.v
        if self.bounds == "keep":
            _stop_at(flock, box)

    @property
    def _half(self) -> int:
        """Neighbours on either side; in a star all of them."""
        return self.neighbours // 2 if self.topology == "cyclic" else self.particles

    def _result(self, flock: _Flock, history: FloatArray, box: _Box, seed: int) -> SwarmResult:
        best = int(flock.best_value.argmin())
        spread = float((flock.x.std(axis=0) / (box.high - box.low)).max())
        status = (
            f"{self.iterations} iterations done; the particles are spread over {spread:.1e} of the "
            f"bounds, {self.topology} neighbourhood, leaders by their {self.neighbours_best} "
            "positions; no proof of optimality"
        )
        if not np.isfinite(flock.best_value[best]):
            status = f"{self.iterations} iterations done; no particle met a finite cost"
        return SwarmResult(
            flock.best[best].copy(),
            float(flock.best_value[best]),
            history,
            len(history) * len(flock.x),
            status,
            self.topology,
            self.neighbours_best,
            self.bounds,
            spread,
            seed,
        )


def swarm(
    cost: Cost,
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    vectorized: bool = False,
    seed: int = 0,
    progress: bool = False,
    bounds: str = "keep",
    **options: Any,
) -> SwarmResult:
    """Minimise any cost between bounds by the particle swarm of [kim2022] eqs. 31-35.

    For models that are nonlinear in their parameters, such as lengths or Stribeck velocities, and
    for costs without derivatives. A cost that is convex in the parameters of a linear model has
    methods with a proof: `identify(..., "l1")`, `"convex"`, `"base"`.

    Parameters
    ----------
    cost
        Function of a position (k,) that gives a number. NaN and infinity stand for a position that
        the model does not have; no particle keeps it.
    lower, upper
        Bounds (k,) of the positions, finite. Particles start uniformly between them, at rest.
    vectorized
        `cost` takes the positions (P, k) of all particles and gives their costs (P,).
    seed
        Of the random numbers: the same seed gives the same result.
    progress
        Show a bar with the best cost.
    bounds
        "keep" stops particles at the bounds; "start", as in the paper, lets them leave.
    **options
        Fields of `Swarm`, by default the paper's: `particles`, `neighbours`, `iterations`, `c0`,
        `c1`, `c2`, `topology` ("cyclic" or "star"), `neighbours_best`, `draws`.

    Returns
    -------
    SwarmResult
        With `position`, `cost`, `history`, `evaluations` and `status`.

    Examples
    --------
    >>> import numpy as np
    >>> from deltadyn.identification import swarm
    >>> def cost(x):
    ...     return np.sum(1 - np.cos(x - 1.0) + 0.1 * (x - 1.0) ** 2, axis=-1)
    >>> result = swarm(cost, [-9, -9], [9, 9], vectorized=True, iterations=200)
    >>> result.position.round(6).tolist()
    [1.0, 1.0]
    """
    settings = {"lower": lower, "upper": upper, "bounds": bounds, **options}
    method = merged(Swarm, None, settings, what="option of swarm")
    return method.minimise(cost, seed, progress, vectorized)


class _Objective:
    """The costs (P,) of positions (P, k); where the model has no value, infinity."""

    def __init__(self, cost: Cost, vectorized: bool) -> None:
        if not callable(cost):
            raise InputError("cost", cost, "a function of a position")
        self._cost, self._vectorized = cost, vectorized

    def __call__(self, x: FloatArray) -> FloatArray:
        given = self._cost(x.copy()) if self._vectorized else [self._cost(row.copy()) for row in x]
        try:
            value = np.array(given, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError("value of cost", given, "a real number per position") from error
        if value.shape != (len(x),):
            expected = f"({len(x)},)" if self._vectorized else "(): a number"
            shape = value.shape if self._vectorized else value.shape[1:]
            raise InputError("shape of the value of cost", shape, expected)
        value[np.isnan(value)] = np.inf
        return value


def _residual_cost(problem: Problem, rows: Remaining, cost: Callable[[FloatArray], float]) -> Cost:
    """A cost of the residual (N, dof) in N m as one of the free parameters; rows left out are 0."""
    blocks = list(problem.rows())
    Y = np.concatenate([block.Y for block in blocks])
    target = np.concatenate([block.tau for block in blocks]) - Y @ rows.x
    free = np.ascontiguousarray(Y[:, :, rows.free])
    return lambda x: cost(target - free @ x)


@dataclass(frozen=True, eq=False)
class _Box:
    """Where particles start: low and high (k,)."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, lower: npt.ArrayLike | None, upper: npt.ArrayLike | None) -> _Box:
        if lower is None or upper is None:
            raise InputError("lower, upper", None, "(k,): where particles start")
        count = max(np.size(lower), np.size(upper))
        low, high = one_each(lower, count, "lower"), one_each(upper, count, "upper")
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


def _start(objective: _Objective, rng: np.random.Generator, box: _Box, count: int) -> _Flock:
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


def _judge(flock: _Flock, objective: _Objective) -> None:
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
