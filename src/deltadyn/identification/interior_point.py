"""Interior point and pivots for min sum_i rho_i(tau_i - Q_i z), rho_i(r) = max(a_i r, b_i r).

With a = -w, b = w it is the sum of absolute residuals, with a = 0 or b = 0 a one-sided penalty. Its
dual is max tau.y with Q^T y = c and a <= y <= b; the linear term c.z is added to the objective.
The method is that of Frisch and Newton with Mehrotra's corrector, as Portnoy and Koenker (1997) use
it for quantile regression: one k x k system a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray

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
