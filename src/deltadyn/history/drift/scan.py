"""Generalised likelihood ratios of steps and ramps, for many nights and parameters at once.

A parameter of night i is y_i = h_i' beta + delta c_i(tau) + e_i with known things h (its level,
temperature, earlier changes), beta with a normal prior of precision P, and the change sought: a
step c_i = [i >= tau] or a ramp c_i = (t_i - t_tau) [i >= tau]. The noise e is an autoregression of
first order; over sigma_i and with f_i = phi^(gap in nights) every column is whitened,

    x_i -> (x_i/sigma_i - f_i x_(i-1)/sigma_(i-1)) / sqrt(1 - f_i^2).

Then with G = sum h h' + P and sums up to night n the estimate and its deviation are

    V = c'c - c'h G^-1 h'c,   delta = (c'y - c'h G^-1 h'y)/V,   std = 1/sqrt(V),   z = delta/std,

and z^2/2 is the log likelihood ratio of the change. All sums run from tau to n: they are
differences of cumulative sums of the outer products of e_i = (h_i, t_i, y_i), and cost nothing per
candidate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray

MONTH = 30.0  # days, the unit of a ramp's time
STEP, RAMP = "step", "ramp"
NEAREST = {STEP: 3, RAMP: 8}  # nights that a change needs behind it
BEFORE = 10  # nights that it needs before it
SPREAD = 1.2  # ratio of neighbouring lags
MOST = 0.95  # of f_i, where two logs follow at once
FLAT = 1e-9  # precision of a level: none

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sums:
    """Cumulative sums of whitened products.

    `E` (n + 1, k, q, q) of e = (h, t, y), `first` (n, k) the whitened step at its own night, `rows`
    (n, k, q) the whitened e, `count` (n + 1, k) of the nights used, `t` (n,) in months.
    """

    E: FloatArray
    first: FloatArray
    rows: FloatArray
    count: Ints
    t: FloatArray
    P: FloatArray  # (k, p) precisions

    @property
    def p(self) -> int:
        """The number of known columns."""
        return int(self.P.shape[1])


@dataclass(frozen=True, eq=False)
class Scan:
    """z, estimate and whether there are nights enough, each (nights, lags, k)."""

    z: FloatArray
    delta: FloatArray
    valid: Bools


def sums_of(
    y: FloatArray,
    h: FloatArray,
    P: FloatArray,
    sigma: FloatArray,
    phi: FloatArray,
    days: FloatArray,
    spacing: float,
) -> Sums:
    """The sums of series y (n, k) with known columns h (n, k, p); NaN in y is left out."""
    used = np.isfinite(y)
    t = days / MONTH
    n, k, p = h.shape
    e = np.empty((n, k, p + 2))
    e[..., :p] = h
    e[..., p] = t[:, None]
    e[..., p + 1] = np.where(used, y, 0.0)
    sigma = np.where(used, sigma, 1.0)
    f = np.zeros((n, k))
    gaps = np.maximum(np.diff(days), 0.0) / spacing
    f[1:] = np.minimum(phi ** np.maximum(gaps, 1e-3)[:, None], MOST)
    f[1:] *= used[:-1]
    u = e / sigma[..., None]
    over = np.sqrt(1 - f**2)
    rows = u.copy()
    rows[1:] -= f[1:, :, None] * u[:-1]
    rows /= over[..., None]
    rows *= used[..., None]
    E = np.zeros((n + 1, k, p + 2, p + 2))
    np.cumsum(rows[..., :, None] * rows[..., None, :], axis=0, out=E[1:])
    count = np.zeros((n + 1, k), dtype=np.int64)
    np.cumsum(used, axis=0, out=count[1:])
    return Sums(E, used / (sigma * over), rows, count, t, P)


def lags(n: int) -> Ints:
    """How many nights back changes are sought: 3, 4, 5, 6, 8, ... up to n."""
    out, lag = [], NEAREST[STEP]
    while lag <= n:
        out.append(lag)
        lag = max(lag + 1, round(lag * SPREAD))
    return np.array(out, dtype=np.int64)


def scan(sums: Sums, kind: str, nights: Ints, starts: Ints, begins: Ints) -> Scan:
    """Changes of a kind that begin at rows `starts` (nights, lags), seen from rows `nights`.

    `begins` (k,) are the rows at which the present level of each parameter began.
    """
    p = sums.p
    now = sums.E[nights + 1]  # (N, k, q, q)
    G = now[..., :p, :p] + _diagonal(sums.P)
    solved = np.linalg.solve(G, now[..., :p, p + 1 :])[..., 0]  # G^-1 h'y, (N, k, p)
    inverse = np.linalg.inv(G)
    at = np.clip(starts, 0, None)
    D = now[:, None] - sums.E[at + 1]  # (N, L, k, q, q)
    cc, ch, cy = _step(sums, D, at) if kind == STEP else _ramp(sums, D, at)
    V = cc - np.einsum("nlkp,nkpq,nlkq->nlk", ch, inverse, ch)
    top = cy - np.einsum("nlkp,nkp->nlk", ch, solved)
    behind = sums.count[nights + 1][:, None] - sums.count[at]
    before = sums.count[at] - sums.count[begins, np.arange(sums.count.shape[1])]
    valid = (starts >= 0)[..., None] & (behind >= NEAREST[kind]) & (before >= BEFORE)
    valid &= np.greater(V, 1e-6 * cc)  # seen beside what is known
    safe = np.where(valid, V, 1.0)
    return Scan(np.where(valid, top / np.sqrt(safe), 0.0), top / safe, valid)


def _diagonal(P: FloatArray) -> FloatArray:
    return P[:, :, None] * np.eye(P.shape[1])


def _step(sums: Sums, D: FloatArray, at: Ints) -> tuple[FloatArray, FloatArray, FloatArray]:
    """c'c, c'h and c'y of steps: the level's own column behind the first night."""
    p, first, row = sums.p, sums.first[at], sums.rows[at]
    cc = D[..., 0, 0] + first**2
    return (
        cc,
        D[..., 0, :p] + first[..., None] * row[..., :p],
        D[..., 0, p + 1] + first * row[..., p + 1],
    )


def _ramp(sums: Sums, D: FloatArray, at: Ints) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same of ramps: c = t - t_tau."""
    p, t = sums.p, sums.t[at][..., None]
    cc = D[..., p, p] - 2 * t * D[..., p, 0] + t**2 * D[..., 0, 0]
    ch = D[..., p, :p] - t[..., None] * D[..., 0, :p]
    return cc, ch, D[..., p, p + 1] - t * D[..., 0, p + 1]
