"""The least sum of absolute residuals, with a proof: the objective of [kim2022] is convex.

A point y of the dual, max tau.y with |y_i| <= w_i and Y^T y = 0, bounds the objective from below at
every x, since sum w |tau - Y x| >= y.(tau - Y x) = y.tau. Bounds on x are rows with one-sided
penalties, which are exact when their slope is that of the whole objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, chunks
from deltadyn.errors import InputError
from deltadyn.identification.methods.rows import (
    least_squares,
    linear_rows,
    one_each,
    positive,
    triangle,
)

# Interior point and pivots for min sum_i rho_i(tau_i - Q_i z), rho_i(r) = max(a_i r, b_i r).
#
# With a = -w, b = w it is the sum of absolute residuals, with a = 0 or b = 0 a one-sided penalty.
# Its dual is max tau.y with Q^T y = c and a <= y <= b; the linear term c.z is added to the
# objective. The method is that of Frisch and Newton with Mehrotra's corrector, as Portnoy and
# Koenker (1997) use it for quantile regression: one k x k system a step.


IntArray = npt.NDArray[np.intp]

STEP = 0.9995  # of the way to the boundary
MOST = 80  # steps; 10 to 30 are usual
PIVOTS = 1000  # at most, of the exact finish; fewer than k are usual
TIE = 1e-11  # of the mean residual: what parts rows that tie
FEASIBLE = 1e-9  # of a weight: a multiplier this far beyond it is rounding


class Rhos(NamedTuple):
    """Rows Q (N, k) and tau (N,) with slopes a <= b (N,), and the linear term c (k,)."""

    Q: FloatArray
    tau: FloatArray
    a: FloatArray
    b: FloatArray
    c: FloatArray

    def value(self, z: FloatArray) -> float:
        """The objective at z."""
        r = self.tau - self.Q @ z
        return float(np.maximum(self.a * r, self.b * r).sum() + self.c @ z)


class Point(NamedTuple):
    """z (k,), multipliers y (N,) with a <= y <= b, the steps taken, and whether it is a vertex."""

    z: FloatArray
    y: FloatArray
    steps: int
    exact: bool


def interior_point(problem: Rhos, start: FloatArray, tolerance: float) -> Point:
    """Follow the central path until the gap is at most `tolerance`, or as far as 64 bits lead."""
    Q, tau, a, b, c = problem
    z = start.copy()
    r = tau - Q @ z
    width = b - a
    s, t = width / 2, width / 2  # y - a and b - y, kept apart: their small values count
    floor = 1e-2 * float(np.abs(r).mean()) + 1e-12 * float(np.abs(tau).max()) + 1e-300
    u, v = np.maximum(-r, 0) + floor, np.maximum(r, 0) + floor
    steps, least = 0, np.inf
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        while steps < MOST:
            gap = float(s @ u + t @ v)
            missing = c - Q.T @ np.where(s < t, a + s, b - t)  # (k,)
            if gap <= tolerance and float(np.abs(missing).max()) <= 1e-10 * float(width.sum()):
                break
            if not gap < 1e3 * least:
                break
            least = min(least, gap)
            moved = _step(problem, (z, r, s, t, u, v), missing, gap)
            if moved is None:
                break
            z, s, t, u, v = moved
            r = tau - Q @ z
            steps += 1
    if not problem.value(z) <= problem.value(start):
        z = start
    return Point(z, np.clip(np.where(s < t, a + s, b - t), a, b), steps, False)


def _step(
    problem: Rhos, at: tuple[FloatArray, ...], missing: FloatArray, gap: float
) -> tuple[FloatArray, ...] | None:
    """Mehrotra's step from z, r, s, t, u, v; None where arithmetic ends."""
    Q = problem.Q
    z, r, s, t, u, v = at
    weight = 1 / (v / t + u / s)
    gram = (Q * weight[:, None]).T @ Q
    gram[np.diag_indices_from(gram)] += 1e-14 * np.trace(gram) / len(gram)
    try:
        factor = np.linalg.inv(np.linalg.cholesky(gram))
    except np.linalg.LinAlgError:
        return None
    inverse = factor.T @ factor
    _, dy, du, dv = _direction(Q, weight, inverse, missing, r, s, t, u, v, 0.0, 0.0)
    first, second = _longest(s, dy, t, -dy), _longest(u, du, v, dv)
    after = (s + first * dy) @ (u + second * du) + (t - first * dy) @ (v + second * dv)
    centre = (float(after) / gap) ** 3 * gap / (2 * len(s))
    left = (centre - dy * du) / s, (centre + dy * dv) / t  # what the first direction leaves
    dz, dy, du, dv = _direction(Q, weight, inverse, missing, r, s, t, u, v, *left)
    first = min(1.0, STEP * _longest(s, dy, t, -dy))
    second = min(1.0, STEP * _longest(u, du, v, dv))
    if not max(first, second) > 1e-10:
        return None
    moved = (z + second * dz, s + first * dy, t - first * dy, u + second * du, v + second * dv)
    sound = np.isfinite(moved[0]).all() and all((part > 0).all() for part in moved[1:])
    return moved if sound else None


def _direction(
    Q: FloatArray,
    weight: FloatArray,
    inverse: FloatArray,
    missing: FloatArray,
    r: FloatArray,
    s: FloatArray,
    t: FloatArray,
    u: FloatArray,
    v: FloatArray,
    first: FloatArray | float,
    second: FloatArray | float,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The Newton step to s u = s first, t v = t second, r = v - u and Q^T y = c."""
    aim = r + first - second
    dz: FloatArray = inverse @ (Q.T @ (weight * aim) - missing)
    dy: FloatArray = weight * (aim - Q @ dz)
    du: FloatArray = first - u - u / s * dy
    dv: FloatArray = second - v + v / t * dy
    return dz, dy, du, dv


def _longest(s: FloatArray, ds: FloatArray, t: FloatArray, dt: FloatArray) -> float:
    """The longest step, up to 1e3, that keeps s and t above 0."""
    worst = max(float((-ds / s).max()), float((-dt / t).max()), 1e-3)
    return 1 / worst


def vertex(problem: Rhos, near: Point) -> Point | None:
    """The exact optimum from a point close to it: k rows met, the others at their slope.

    Rows are picked by how far their multipliers are from both slopes; then, as in the simplex
    method of Barrodale and Roberts (1973), a row with a multiplier beyond its slopes is let go, and
    the line search finds the row to be met instead. Rows that tie are parted by a shift of tau at
    the size of rounding; multipliers of the shifted problem are feasible in the given one. None
    where no vertex is found.
    """
    Q, tau, a, b, c = problem
    basis = _first_basis(problem, near)
    if basis is None:
        return None
    noise = TIE * float(np.abs(tau - Q @ near.z).mean()) + 1e-15 * float(np.abs(tau).max())
    shifted = tau + noise * np.random.default_rng(0).uniform(-1, 1, len(tau))
    for pivot in range(PIVOTS):
        try:
            inverse = np.linalg.inv(Q[basis])  # (k, k)
        except np.linalg.LinAlgError:
            return None
        r = shifted - Q @ (inverse @ shifted[basis])
        r[basis] = 0.0
        y = np.where(r > 0, b, a)
        y[basis] = 0.0
        y[basis] = inverse.T @ (c - Q.T @ y)
        low, high = a[basis], b[basis]
        beyond = np.maximum(low - y[basis], y[basis] - high) / (high - low)
        out = int(beyond.argmax())
        if not beyond[out] > FEASIBLE:
            y[basis] = np.clip(y[basis], low, high)
            return Point(inverse @ tau[basis], y, pivot, True)
        sign = 1.0 if y[basis[out]] > high[out] else -1.0
        # the residual of row `out` becomes positive (sign 1) or negative along this direction
        direction = -sign * inverse[:, out]
        slope = -float(beyond[out] * (high[out] - low[out]))
        entering = _line_search(r, Q @ direction, b - a, slope, basis)
        if entering is None:
            return None
        basis[out] = entering
    return None


def _line_search(
    r: FloatArray, along: FloatArray, width: FloatArray, slope: float, basis: IntArray
) -> int | None:
    """The row at which the objective stops to fall along z + t d, with along = Q d."""
    crossing = np.where(r > 0, along > 0, along < 0)
    crossing[basis] = False
    rows = np.flatnonzero(crossing)
    if not len(rows):
        return None
    t = r[rows] / along[rows]
    order = np.argsort(t, kind="stable")
    rise = slope + np.cumsum((np.abs(along[rows]) * width[rows])[order])
    past = np.flatnonzero(rise >= 0)
    return None if not len(past) else int(rows[order[past[0]]])


def _first_basis(problem: Rhos, near: Point) -> IntArray | None:
    """k independent rows, if possible those whose multipliers are farthest from their slopes."""
    Q, _, a, b, _ = problem
    count, k = Q.shape
    room = np.minimum(near.y - a, b - near.y) / (b - a)
    many = min(count, 4 * k)
    few: IntArray = np.argpartition(room, count - many)[count - many :]
    for rows, least in ((few, 1e-14), (np.arange(count), 1e-6)):
        chosen = _independent(Q[rows] * (room[rows, None] + least))
        if chosen is not None and np.linalg.cond(Q[rows[chosen]]) < 1e8:
            basis: IntArray = rows[chosen]
            return basis
    return None


def _independent(rows: FloatArray) -> IntArray | None:
    """k rows of (N, k) by pivoted QR."""
    from scipy.linalg import qr  # takes longer than the rest of the import

    k = rows.shape[1]
    R, order = qr(rows.T, mode="r", pivoting=True)
    if len(rows) < k or not abs(R[k - 1, k - 1]) > 0:
        return None
    chosen: IntArray = np.asarray(order[:k], dtype=np.intp)
    return chosen


WHOLE = 20_000  # rows that are solved at once; of more, most only keep their sign
BLOCK = 16_384  # rows of one pass over long data
RANK = 1e-12  # of the largest singular value of normalised columns
ROUNDING = 1e-13  # of sum w |tau|: a gap that no arithmetic in 64 bits can close


@dataclass(frozen=True, eq=False)
class L1Result:
    """The optimum x (k,) of sum w |tau - Y x|, and the proof of it.

    No x within the bounds has an objective below `bound`; gap = objective - bound. `multipliers`
    (N,) is the dual point that proves it, `met` the rows whose residual is zero there.
    """

    x: FloatArray
    objective: float
    bound: float
    gap: float
    iterations: int
    status: str
    converged: bool
    rank: int
    multipliers: FloatArray
    met: tuple[int, ...]


class _Rows(NamedTuple):
    """Data rows and, below them, one row per bound: slopes a <= 0 <= b of their residuals.

    `tau` is what least squares leaves, so that small residuals of large torques keep their digits;
    x = origin + T z.
    """

    Y: FloatArray
    tau: FloatArray
    a: FloatArray
    b: FloatArray
    T: FloatArray  # (k, rank): Y T has orthonormal columns
    origin: FloatArray  # (k,)
    data: int  # rows of data


def least_absolute(
    Y: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    lower: npt.ArrayLike | None = None,
    upper: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    tolerance: float = 1e-9,
) -> L1Result:
    """Minimise sum_i w_i |tau_i - Y_i x|, lower <= x <= upper: the global optimum, with its proof.

    An interior point method comes close, pivots from vertex to vertex end on the optimum. Of long
    data, rows whose residual is far from zero enter as one linear term; their signs are checked at
    the end. Infinite bounds are none. `tolerance` is the gap allowed, relative to the objective.
    """
    given = linear_rows(Y, tau)
    goal = positive(tolerance, "tolerance")
    w = _weights(weights, len(given.tau))
    low, high = _bounds(lower, upper, given.Y.shape[1])
    counted = w > 0
    used = (given.Y, given.tau, w)
    if not counted.all():
        used = (given.Y[counted], given.tau[counted], w[counted])
    rows = _with_bounds(*used, low, high)
    size = float(used[2] @ np.abs(used[1]))
    if not rows.T.size:  # nothing to choose: Y is zero
        point, steps = Point(np.zeros(0), np.where(rows.tau > 0, rows.b, rows.a), 0, True), 0
    elif len(rows.tau) > WHOLE:
        point, steps = _solve_long(rows, goal)
    else:
        point, steps = _solve(rows, goal, size)
    return _result(rows, point, steps, (low, high), (goal, size), counted)


def _solve(rows: _Rows, goal: float, size: float) -> tuple[Point, int]:
    """All rows at once."""
    z = np.zeros(rows.T.shape[1])
    problem = Rhos(rows.Y @ rows.T, rows.tau, rows.a, rows.b, z)
    return _finish(problem, z, max(goal * problem.value(z), ROUNDING * size))


def _finish(problem: Rhos, z: FloatArray, gap: float) -> tuple[Point, int]:
    """Interior point, then the vertex; the interior point alone where there is no vertex."""
    near = interior_point(problem, z, 0.01 * gap)
    exact = vertex(problem, near)
    if exact is None:
        return near, near.steps
    return exact, near.steps + exact.steps


def _solve_long(rows: _Rows, goal: float) -> tuple[Point, int]:
    """First some rows at random, then those whose signs are in doubt, the others as a line."""
    count, rank = len(rows.tau), rows.T.shape[1]
    many = max(WHOLE // 2, int((rank * count) ** (2 / 3)))  # Portnoy and Koenker
    some = np.random.default_rng(0).choice(rows.data, min(many, rows.data), replace=False)
    some = np.concatenate([some, np.arange(rows.data, count)])
    share = len(some) / count
    sample = _take(rows, some, np.zeros(rank), share)
    z = least_squares(sample.Q, sample.tau)
    near = interior_point(sample, z, 1e-7 * sample.value(z))
    z, steps, active = near.z, near.steps, None
    while True:
        r, reach = _residuals(rows, z)
        if active is None:
            doubt = np.abs(r) / np.maximum(reach, 1e-300)
            doubt[rows.data :] = 0.0
            active = np.zeros(count, dtype=bool)
            many = min(many, count)
            active[np.argpartition(doubt, many - 1)[:many]] = True
            active[rows.data :] = True
        sign = r > 0
        y = np.where(sign, rows.b, rows.a)
        y[active] = 0.0
        inside = np.flatnonzero(active)
        problem = _take(rows, inside, -(rows.T.T @ (rows.Y.T @ y)))
        total = float(np.abs(y) @ np.abs(r)) + problem.value(z) - float(problem.c @ z)
        point, more = _finish(problem, z, goal * total)
        steps += more
        if not point.exact and many < count:  # without a bound: too many signs were held
            many, active = 2 * many, None
            continue
        z = point.z
        changed = ((_residuals(rows, z)[0] > 0) != sign) & ~active
        if not changed.any():
            y[inside] = point.y
            return point._replace(y=y), steps
        if changed.sum() < 0.1 * many:
            active |= changed
        else:
            many, active = 2 * many, None


def _take(rows: _Rows, which: npt.NDArray[np.intp], c: FloatArray, share: float = 1.0) -> Rhos:
    """Some rows; those of bounds weaker by `share` where they stand beside a share of the data."""
    a, b = rows.a[which], rows.b[which]
    bounds = which >= rows.data
    a[bounds] *= share
    b[bounds] *= share
    return Rhos(rows.Y[which] @ rows.T, rows.tau[which], a, b, c)


def _residuals(rows: _Rows, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """tau - Y T z (N,) and the length of every row of Y T (N,)."""
    r, reach = np.empty(len(rows.tau)), np.empty(len(rows.tau))
    for part in chunks(len(r), BLOCK):
        Q = rows.Y[part] @ rows.T
        r[part] = rows.tau[part] - Q @ z
        reach[part] = np.sqrt(np.einsum("nk,nk->n", Q, Q))
    return r, reach


def _with_bounds(
    Y: FloatArray, tau: FloatArray, w: FloatArray, low: FloatArray, high: FloatArray
) -> _Rows:
    """Rows x_j - low_j with no cost above zero, x_j - high_j with none below."""
    k = Y.shape[1]
    slope = 2 * (w @ np.abs(Y)) + 1e-300  # above that of the whole objective: exact
    below, above = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
    data, which = len(tau), np.concatenate([below, above])
    a, b = -w, w
    if len(which):
        Y = np.concatenate([Y, np.eye(k)[which]])
        tau = np.concatenate([tau, low[below], high[above]])
        a = np.concatenate([a, np.zeros(len(below)), -slope[above]])
        b = np.concatenate([b, slope[below], np.zeros(len(above))])
    T = _whitening(Y)
    origin = np.zeros(k)
    for _ in range(2):  # the second takes what rounding left
        left = tau[:data] - Y[:data] @ origin
        origin = origin + T @ (T.T @ (Y[:data].T @ left))
    return _Rows(Y, tau - Y @ origin, a, b, T, origin, data)


def _whitening(Y: FloatArray) -> FloatArray:
    """T (k, rank) so that Y T has orthonormal columns."""
    R = np.zeros((0, Y.shape[1]))
    for part in chunks(len(Y), BLOCK):
        R = triangle(np.concatenate([R, Y[part]]))
    scale = np.linalg.norm(R, axis=0)
    scale[scale == 0] = 1.0
    _, s, Vt = np.linalg.svd(R / scale, full_matrices=False)
    kept = s > RANK * max(float(s[0]), 1e-300)
    T: FloatArray = (Vt[kept] / s[kept, None]).T / scale[:, None]
    return T


def _result(
    rows: _Rows,
    point: Point,
    steps: int,
    bounds: tuple[FloatArray, FloatArray],
    scale: tuple[float, float],
    counted: npt.NDArray[np.bool_],
) -> L1Result:
    x = rows.origin + rows.T @ point.z
    x = np.clip(x, *bounds)  # rounding apart, the penalties keep it inside
    r, y = rows.tau - rows.Y @ (x - rows.origin), point.y
    whole = np.maximum(rows.a * r, rows.b * r)
    objective = float(whole[: rows.data].sum())
    left = np.abs(rows.Y.T @ y) @ np.abs(x - rows.origin)  # of Y^T y = 0
    gap = float((whole - y * r).sum()) + float(left)
    goal, size = scale
    nothing = ROUNDING * size * np.sqrt(len(r)) + 1e-200
    tight = gap <= max(goal * objective, nothing)
    multipliers = np.zeros(len(counted))
    multipliers[counted] = y[: rows.data]
    room = np.zeros(len(counted))
    room[counted] = (np.minimum(y - rows.a, rows.b - y) / (rows.b - rows.a))[: rows.data]
    return L1Result(
        x=x,
        objective=objective,
        bound=objective - gap,
        gap=gap,
        iterations=steps,
        status=_status(objective, gap, bool(tight), objective <= nothing, rows.T.shape),
        converged=bool(tight),
        rank=rows.T.shape[1],
        multipliers=multipliers,
        met=tuple(int(row) for row in np.flatnonzero(room > 1e-9)),
    )


def _status(objective: float, gap: float, tight: bool, zero: bool, shape: tuple[int, ...]) -> str:
    if zero:
        status = "optimal: the residuals are zero to rounding"
    else:
        proof = f"the gap to the lower bound is {gap / objective:.1e} of the objective"
        status = f"optimal: {proof}" if tight else f"not proven optimal: {proof}"
    k, rank = shape
    return status + (f"; rank {rank} of {k}: x is one of many" if rank < k else "")


def _weights(weights: npt.ArrayLike | None, count: int) -> FloatArray:
    if weights is None:
        return np.ones(count)
    given = np.asarray(weights)
    w = one_each(given.reshape(-1) if given.ndim == 2 else given, count, "weights")
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0)))
    if bad.size:
        where = f"row {bad[0]}"
        raise InputError("weights", float(w[bad[0]]), "numbers from 0 on", where=where)
    if not w.any():
        raise InputError("weights", "0 in all rows", "at least one above 0")
    return w


def _bounds(
    lower: npt.ArrayLike | None, upper: npt.ArrayLike | None, k: int
) -> tuple[FloatArray, FloatArray]:
    low = one_each(-np.inf if lower is None else lower, k, "lower")
    high = one_each(np.inf if upper is None else upper, k, "upper")
    for name, array, wrong in (("lower", low, np.inf), ("upper", high, -np.inf)):
        bad = np.flatnonzero(np.isnan(array) | (array == wrong))
        if bad.size:
            where = f"parameter {bad[0]}"
            raise InputError(name, float(array[bad[0]]), "a number or no bound", where=where)
    bad = np.flatnonzero(low > high)
    if bad.size:
        j = int(bad[0])
        raise InputError("upper", float(high[j]), f"from lower, {low[j]:g}", where=f"parameter {j}")
    return low, high
