"""The least sum of absolute residuals, with a proof: the objective of [kim2022] is convex.

A point y of the dual, max tau.y with |y_i| <= w_i and Y^T y = 0, bounds the objective from below at
every x, since sum w |tau - Y x| >= y.(tau - Y x) = y.tau. Bounds on x are rows with one-sided
penalties, which are exact when their slope is that of the whole objective.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, chunks
from deltadyn.errors import InputError
from deltadyn.identification.information import triangle
from deltadyn.identification.methods.base import remaining
from deltadyn.identification.methods.rows import linear_rows, one_each, positive
from deltadyn.identification.problem import Certificate, Problem, Solution, Solver

# Rows at once go to HiGHS; of long data most rows only keep their sign.
#
# An optimum meets k rows; all others enter through the sign of their residual, which a rough answer
# already tells. So of N rows those nearest to zero there, about (k N)^(2/3) of them (Portnoy and
# Koenker 1997), stay as they are; the others add up to one linear term. If one of them has changed
# its sign at the answer, it joins the rows that stay, and the program is solved again. The answer
# is that of all rows, and so is its proof.
#
# Why HiGHS: an interior point with pivots of our own needs 200 lines of delicate code for the same
# optimum to 1e-15 of the objective. It took 5, 34, 47 and 144 ms at 1,080, 20,000, 60,000 and
# 200,000 rows of 10 parameters; HiGHS takes 30, 73, 166 and 509 ms with the reduction above, and
# 20, 323, 993 and 3,828 ms without it. A fit spends more than that on reading its log.


WHOLE = 5_000  # rows that are solved at once
BLOCK = 16_384  # rows of one pass over long data
RANK = 1e-12  # of the largest singular value of normalised columns
ROUNDING = 1e-13  # of sum w |tau|: a gap that no arithmetic in 64 bits can close
INSIDE = 1e-9  # of its range: a multiplier this far from both slopes belongs to a row that is met
ROUGH = 12  # reweighted least squares before the signs are read


@dataclass(frozen=True, eq=False)
class L1(Solver):
    """The global optimum of [kim2022] eq. 33, the sum of absolute residuals, with its proof.

    `lower` and `upper` (k,) bound the parameters; infinite ones are none. `tolerance` is the gap
    between the objective and its bound that is allowed, relative to the objective.
    """

    name: ClassVar[str] = "l1"
    finds_terms: ClassVar[bool] = True

    lower: npt.ArrayLike | None = None
    upper: npt.ArrayLike | None = None
    tolerance: float = 1e-9

    def __post_init__(self) -> None:
        positive(self.tolerance, "tolerance")

    def solve(self, problem: Problem) -> Solution:
        """The optimum over all weighted rows; parameters with a prior stay at least squares'.

        Bounds are those of the robot's parameters; columns of a log have none.
        """
        rows, own = remaining(problem, problem.known), problem.par.own
        low = rows.bounds(self.lower, own, -np.inf, "lower")
        high = rows.bounds(self.upper, own, np.inf, "upper")
        found = replace(self, lower=low, upper=high).minimise(rows.Y, rows.tau)
        proof = Certificate(found.objective, found.bound, found.gap)
        details = {"objective": found.objective, "iterations": found.iterations}
        status = found.status + rows.words(problem.par.names)
        x = rows.completed(found.x)
        return Solution(x, status, found.converged, None, proof, details)

    def minimise(
        self, Y: npt.ArrayLike, tau: npt.ArrayLike, weights: npt.ArrayLike | None = None
    ) -> L1Result:
        """sum_i w_i |tau_i - Y_i x| with lower <= x <= upper, minimised."""
        given = linear_rows(Y, tau)
        w = _weights(weights, len(given.tau))
        box = _Bounds.of(self.lower, self.upper, given.Y.shape[1])
        counted = w > 0
        rows = _with_bounds(given.Y[counted], given.tau[counted], w[counted], box)
        if not rows.T.size:  # nothing to choose: Y is zero
            point = Point(np.zeros(0), np.where(rows.tau > 0, rows.b, rows.a), 0)
        else:
            point = _solved(rows)
        size = float(w @ np.abs(given.tau))
        return _result(rows, point, box, self.tolerance, size, counted)


def least_absolute(
    Y: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    lower: npt.ArrayLike | None = None,
    upper: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    tolerance: float = L1.tolerance,
) -> L1Result:
    """`L1` on rows of its own, each with its weight."""
    return L1(lower, upper, tolerance).minimise(Y, tau, weights)


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


class Rhos(NamedTuple):
    """min sum_i rho_i(tau_i - Q_i z) + c.z, rho_i(r) = max(a_i r, b_i r), for rows Q (N, k).

    With a = -w, b = w it is the sum of absolute residuals, with a = 0 or b = 0 a one-sided penalty.
    """

    Q: FloatArray
    tau: FloatArray
    a: FloatArray
    b: FloatArray
    c: FloatArray


class Point(NamedTuple):
    """z (k,), multipliers y (N,) with a <= y <= b, and the solver's steps."""

    z: FloatArray
    y: FloatArray
    steps: int


def optimum(problem: Rhos) -> Point | None:
    """The vertex at which the objective is least; None where it has no lower end.

    HiGHS solves the dual, max tau.y with Q^T y = c and a <= y <= b, whose own multipliers are z.
    The rows that it meets, those with y inside its range, then give z and y to rounding.
    """
    from scipy.optimize import linprog  # takes longer than the rest of the import

    Q, tau, a, b, c = problem
    length, size = (
        np.sqrt(len(Q)),
        float(np.abs(tau).mean()) + 1e-300,
    )  # its tolerances are absolute
    call = {"A_eq": length * Q.T, "b_eq": length * c, "bounds": np.column_stack([a, b])}
    for method in ("highs-ipm", "highs-ds"):
        found = linprog(-tau / size, method=method, **call)
        if found.status in (0, 2):
            break
    if found.status != 0:
        return None
    z, y = -size * length * found.eqlin.marginals, np.clip(np.asarray(found.x), a, b)
    met = np.minimum(y - a, b - y) > INSIDE * (b - a)
    if met.sum() == Q.shape[1] and np.linalg.cond(Q[met]) < 1e8:
        z = np.linalg.solve(Q[met], tau[met])
        y[met] = np.clip(y[met] + np.linalg.solve(Q[met].T, c - Q.T @ y), a[met], b[met])
    return Point(z, y, int(found.nit))


def _solved(rows: _Rows) -> Point:
    """The optimum over all rows, of long data by those whose signs are in doubt."""
    count, rank = len(rows.tau), rows.T.shape[1]
    if count <= WHOLE:
        whole = Rhos(rows.Y @ rows.T, rows.tau, rows.a, rows.b, np.zeros(rank))
        point = optimum(whole)
        assert point is not None  # a sum of absolute values is bounded below
        return point
    z, steps = _rough(rows), 0
    many = max(WHOLE // 2, int((rank * count) ** (2 / 3)))
    active: npt.NDArray[np.bool_] | None = None
    while True:
        r, reach = _residuals(rows, z)
        if active is None:
            active = _in_doubt(rows, r, reach, min(many, count))
        sign = r > 0
        y = np.where(sign, rows.b, rows.a)
        y[active] = 0.0
        inside = np.flatnonzero(active)
        held = -(rows.T.T @ (rows.Y.T @ y))
        parts = (rows.tau[inside], rows.a[inside], rows.b[inside])
        point = optimum(Rhos(rows.Y[inside] @ rows.T, *parts, held))
        if point is None:  # without a lower end: too many signs were held
            many, active = 2 * many, None
            continue
        z, steps = point.z, steps + point.steps
        changed = ((_residuals(rows, z)[0] > 0) != sign) & ~active
        if not changed.any():
            y[inside] = point.y
            return Point(z, y, steps)
        if changed.sum() < 0.1 * many:
            active = active | changed
        else:
            many, active = 2 * many, None


def _rough(rows: _Rows) -> FloatArray:
    """z near the optimum without bounds: least squares with weights w / |r|, repeated."""
    z = np.zeros(rows.T.shape[1])
    Y, data = rows.Y[: rows.data], slice(0, rows.data)
    for _ in range(ROUGH):
        r = _residuals(rows, z)[0][data]
        weight = rows.b[data] / np.maximum(np.abs(r), 1e-3 * float(np.abs(r).mean()) + 1e-300)
        gram = rows.T.T @ ((Y * weight[:, None]).T @ Y) @ rows.T
        right = rows.T.T @ (Y.T @ (weight * rows.tau[data]))
        z = np.asarray(np.linalg.lstsq(gram, right, rcond=None)[0], dtype=np.float64)
    return z


def _in_doubt(rows: _Rows, r: FloatArray, reach: FloatArray, many: int) -> npt.NDArray[np.bool_]:
    """The rows whose residual is smallest against their length, and those of bounds."""
    doubt = np.abs(r) / np.maximum(reach, 1e-300)
    doubt[rows.data :] = 0.0
    active = np.zeros(len(r), dtype=bool)
    active[np.argpartition(doubt, many - 1)[:many]] = True
    active[rows.data :] = True
    return active


def _residuals(rows: _Rows, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """tau - Y T z (N,) and the length of every row of Y T (N,)."""
    r, reach = np.empty(len(rows.tau)), np.empty(len(rows.tau))
    for part in chunks(len(r), BLOCK):
        Q = rows.Y[part] @ rows.T
        r[part] = rows.tau[part] - Q @ z
        reach[part] = np.sqrt(np.einsum("nk,nk->n", Q, Q))
    return r, reach


def _with_bounds(Y: FloatArray, tau: FloatArray, w: FloatArray, box: _Bounds) -> _Rows:
    """Rows x_j - low_j with no cost above zero, x_j - high_j with none below."""
    k, low, high = Y.shape[1], box.low, box.high
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
    box: _Bounds,
    tolerance: float,
    size: float,
    counted: npt.NDArray[np.bool_],
) -> L1Result:
    """The answer with its gap; `size` is sum w |tau|, `counted` (N,) the rows with a weight."""
    x = rows.origin + rows.T @ point.z
    x = np.clip(x, box.low, box.high)  # rounding apart, the penalties keep it inside
    r, y = rows.tau - rows.Y @ (x - rows.origin), point.y
    whole = np.maximum(rows.a * r, rows.b * r)
    objective = float(whole[: rows.data].sum())
    left = np.abs(rows.Y.T @ y) @ np.abs(x - rows.origin)  # of Y^T y = 0
    gap = float((whole - y * r).sum()) + float(left)
    nothing = ROUNDING * size * np.sqrt(len(r)) + 1e-200
    tight = gap <= max(tolerance * objective, nothing)
    multipliers = np.zeros(len(counted))
    multipliers[counted] = y[: rows.data]
    room = np.zeros(len(counted))
    room[counted] = (np.minimum(y - rows.a, rows.b - y) / (rows.b - rows.a))[: rows.data]
    return L1Result(
        x=x,
        objective=objective,
        bound=objective - gap,
        gap=gap,
        iterations=point.steps,
        status=_status(objective, gap, bool(tight), objective <= nothing, rows.T.shape),
        converged=bool(tight),
        rank=rows.T.shape[1],
        multipliers=multipliers,
        met=tuple(int(row) for row in np.flatnonzero(room > INSIDE)),
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


class _Bounds(NamedTuple):
    """low <= x <= high (k,), infinite where there is none."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, lower: npt.ArrayLike | None, upper: npt.ArrayLike | None, k: int) -> _Bounds:
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
            allowed = f"from lower, {low[j]:g}"
            raise InputError("upper", float(high[j]), allowed, where=f"parameter {j}")
        return cls(low, high)
