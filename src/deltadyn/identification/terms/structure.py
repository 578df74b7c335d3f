"""Whether a residual still follows the motion: a term is missing then, whatever the noise is.

Shapes F of the motion (rates, products, torque, time, waves of the angle, ...), without what the
model's columns X explain, are compared with the residual e in chunks of time. Where e is noise,
chunks know nothing of each other: with s_k = F_k' e_k the sum over pairs of chunks

    U = sum over k != l of s_k' G^-1 s_l,   G = F'F,

is 0 in the mean, with a variance and a skewness that follow from the same products. Where the same
shape is left in all chunks, U is the square sum that it explains. No level of the noise is needed,
and noise that is correlated over less than a chunk does not matter: neighbours are not compared.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.identification.information import IntArray
from deltadyn.identification.terms.choose import Weighing
from deltadyn.identification.terms.rows import Rows

CHUNKS = 32  # of time that are compared, about
SHORTEST = 16  # rows of a chunk: more than residuals are correlated over
FEWEST = 8  # chunks that tell something
SURE = 3.5  # deviations of U from which on it is no chance
SYMMETRIC = 1e-3  # skewness that is none
LEAST = 0.01  # of the residual's variance: what follows the motion by less is no matter
DAMPED = 0.01  # of a shape's power: what the model leaves of it below counts less
SLOW, FAST = (0.05, 0.1, 0.2, 0.4, 0.8), (0.8, 1.6, 3.2)  # rad/s: rates at which friction bends
HIGHEST = 200.0  # waves per turn
ROWS_PER_SHAPE = 8.0  # at least, else waves of high orders are left out

#: Kinds of shapes, with what it means that a residual has them.
KINDS = {
    "motion": "angles, rates and accelerations of the axes",
    "products": "products of angles, rates and accelerations",
    "friction": "the rate or the direction of its axis, as friction",
    "load": "the torque of its axis, as a loss or a wrong torque constant",
    "change": "how fast torques change, as elastic gears or a delay",
    "time": "time, as what warms up",
    "waves": "waves of the angle, as ripple",
}


@dataclass(frozen=True, eq=False)
class Structure:
    """What of a residual follows the motion.

    `scores` are deviations of U by kind of shape, `share` (dof,) the part of the residual's
    variance that all kinds together explain. Both are empty and 0 where the log is too short.
    """

    scores: Mapping[str, float]
    share: FloatArray

    @property
    def kind(self) -> str:
        """The kind of shape that shows most."""
        return max(self.scores, key=lambda kind: self.scores[kind], default="")

    @property
    def told(self) -> bool:
        """Whether the log is long enough to tell."""
        return bool(self.scores)

    @property
    def shows(self) -> bool:
        """Whether the residual follows the motion beyond chance, by more than does not matter."""
        return self.told and self.scores[self.kind] > SURE and float(self.share.max()) > LEAST


def structure_of(
    weighing: Weighing, z: FloatArray, V: FloatArray, without: Collection[str] = ()
) -> Structure:
    """What of the residual of an estimate z (k + m,) with covariance V follows the motion.

    Kinds of shapes that are named in `without` are not looked at.
    """
    rows, dof = weighing.rows, len(weighing.rows.axes)
    chunk, part = _chunks(rows)
    if len(part) < FEWEST:
        return Structure({}, np.zeros(dof))
    found, apart = _shapes(weighing, z, V, chunk, len(part)), _apart(part)
    scores = {}
    kinds = [kind for kind in KINDS if kind not in without]
    for kind in kinds:
        scores[kind] = _score(found.compared(found.kind == kind) * apart)
    pairs = apart.size / max(float(apart.sum()), 1.0)  # those compared stand for all
    seen = np.isin(found.kind, kinds)
    explained = [
        pairs * (found.compared(seen & (found.axis == i)) * apart).sum() for i in range(dof)
    ]
    whole = ((rows.left(z) / weighing.sigma) ** 2).sum(axis=0)
    share = np.array(explained) / np.maximum(whole, 1e-300)
    return Structure(scores, np.clip(share, 0.0, 1.0))


def _score(M: FloatArray) -> float:
    """The sum of M (K, K) with a diagonal of 0, in deviations of a normal variable.

    Noise gives each chunk a sign of its own: U = e' M e with signs e has the variance 2 tr M^2 and
    the third moment 8 tr M^3. A gamma variable with the same moments is made normal by its cube
    root (Wilson and Hilferty).
    """
    square = M @ M
    variance = 2 * float(np.trace(square))
    if variance <= 0:
        return 0.0
    x = float(M.sum()) / np.sqrt(variance)
    skew = 8 * float((square * M).sum()) / variance**1.5
    if abs(skew) < SYMMETRIC:
        return float(x)
    return float(6 / skew * (np.cbrt(max(1 + skew * x / 2, 0.0)) - 1) + skew / 6)


def _chunks(rows: Rows) -> tuple[IntArray, IntArray]:
    """The chunk (M,) of each row, and the part (K,) of each chunk."""
    size = max(SHORTEST, len(rows.part) // CHUNKS)
    chunk = np.zeros(len(rows.part), dtype=np.int64)
    part: list[int] = []
    for number in np.unique(rows.part):
        own = np.flatnonzero(rows.part == number)
        count = max(1, round(len(own) / size))
        chunk[own] = len(part) + np.arange(len(own)) * count // len(own)
        part += [int(number)] * count
    return chunk, np.array(part, dtype=np.int64)


def _apart(part: IntArray) -> FloatArray:
    """1 where chunks are compared (K, K): neither the same nor neighbours in a log."""
    place = np.arange(len(part))
    near = np.abs(place[:, None] - place) <= 1
    out: FloatArray = (~(near & (part[:, None] == part))).astype(np.float64)
    return out


class _Shapes(NamedTuple):
    """Shapes of all axes, p of them, without what a model explains.

    `kind` and `axis` (p,) say what a shape is, `G` (p, p) are their products and `S` (K, p) those
    with the residual, by chunk. Shapes had length 1 with the model's part.
    """

    kind: NDArray[np.str_]
    axis: IntArray
    G: FloatArray
    S: FloatArray

    def compared(self, some: BoolArray) -> FloatArray:
        """s_k' G^-1 s_l (K, K) of some shapes."""
        G = self.G[np.ix_(some, some)]
        L = np.linalg.cholesky(G + DAMPED * np.eye(len(G)))
        z = np.linalg.solve(L, self.S[:, some].T)
        out: FloatArray = z.T @ z
        return out


def _shapes(
    weighing: Weighing, z: FloatArray, V: FloatArray, chunk: IntArray, count: int
) -> _Shapes:
    """All shapes, with the residual of an estimate z with covariance V."""
    rows, width = weighing.rows, weighing.rows.width
    f = np.column_stack([axis.X @ z[axis.places] for axis in rows.axes])
    kinds: list[str] = []
    FF, FX, Fe = [], [], []
    XX, Xe = np.zeros((width, width)), np.zeros((count, width))
    for i, (axis, sigma) in enumerate(zip(rows.axes, weighing.sigma, strict=True)):
        by_kind = shapes_of(rows, f, i)
        F = np.column_stack([shape[axis.used] for some in by_kind.values() for shape in some])
        F /= np.maximum(np.linalg.norm(F, axis=0), 1e-300)
        X, e = axis.X[axis.used] / sigma, (axis.y - f[:, i])[axis.used] / sigma
        both = np.zeros((F.shape[1], width))
        both[:, axis.places] = F.T @ X
        XX[np.ix_(axis.places, axis.places)] += X.T @ X
        Xe[:, axis.places] += _summed(X * e[:, None], chunk[axis.used], count)
        FF.append(F.T @ F)
        FX.append(both)
        Fe.append(_summed(F * e[:, None], chunk[axis.used], count))
        kinds += [kind for kind, some in by_kind.items() for _ in some]
    axis_of = np.repeat(np.arange(len(FF)), [len(own) for own in FF])
    G, C = np.zeros((len(axis_of), len(axis_of))), np.concatenate(FX)
    for i, square in enumerate(FF):
        G[np.ix_(axis_of == i, axis_of == i)] = square
    # F without the model: F - X B' with B = F'X H^-1, H^-1 = V / kappa
    B = C @ (V / weighing.kappa)
    G += B @ XX @ B.T - B @ C.T - C @ B.T
    return _Shapes(np.array(kinds), axis_of, (G + G.T) / 2, np.hstack(Fe) - Xe @ B.T)


def _summed(values: FloatArray, chunk: IntArray, count: int) -> FloatArray:
    """Sums (K, n) of rows by their chunk."""
    starts = np.searchsorted(chunk, np.arange(count))
    total = np.vstack([np.zeros(values.shape[1]), np.cumsum(values, axis=0)])
    out: FloatArray = np.diff(total[np.append(starts, len(values))], axis=0)
    return out


def shapes_of(rows: Rows, f: FloatArray, i: int) -> dict[str, list[FloatArray]]:
    """Shapes (M,) by kind that the residual of axis i may have; f (M, dof) is the model's torque.

    Derivatives are of smoothed quantities: noise of the angles is in the residual, too.
    """
    q, qd = rows.q[:, i], rows.qd[:, i]
    Q, v, a, torque = (_normal(x) for x in (rows.q, rows.qd, rows.qdd, f))
    qd = qd / rows.radian[i]  # rates of friction are those of arms
    sign = np.tanh(rows.qd / (SLOW[0] * rows.radian))
    motion = [*Q.T, *v.T, *a.T]
    own = [Q[:, i], v[:, i], a[:, i]]
    rates = _slopes(torque, rows.part)
    changes = [*rates.T, *_slopes(rates, rows.part).T, *_slopes(a, rows.part).T]
    t = np.linspace(-1, 1, len(q))
    slow = (t, (3 * t**2 - 1) / 2, (5 * t**3 - 3 * t) / 2)
    shapes = {
        "motion": [np.ones(len(q)), *motion, *sign.T],
        "products": [x * y for x, y in combinations_with_replacement(motion, 2)],
        "friction": [
            *(x * y * w for x, y, w in combinations_with_replacement(own, 3)),
            *(sign[:, i] * x for x in motion),
            *(sign[:, i] * np.exp(-np.abs(qd) / rate) for rate in SLOW),
            *(np.tanh(qd / rate) for rate in FAST),
        ],
        "load": [
            torque[:, i],
            np.abs(f[:, i]),
            torque[:, i] * Q[:, i],
            *(sign[:, i] * x for x in (np.abs(f[:, i]), np.abs(a[:, i]), torque[:, i] ** 2)),
        ],
        "change": changes,
        "time": [
            course * x
            for course in slow
            for x in (np.ones(len(q)), v[:, i], sign[:, i], torque[:, i])
        ],
        "waves": [],
    }
    travel = max(float(np.ptp(q)), 1e-3)
    left = len(q) / ROWS_PER_SHAPE - sum(len(some) for some in shapes.values())
    orders = np.arange(2 * np.pi / travel, HIGHEST, 2 * np.pi / travel)[: max(int(left / 4), 0)]
    waves = [wave(order * q) for order in orders for wave in (np.cos, np.sin)]
    shapes["waves"] = [*waves, *(v[:, i] ** 2 * wave for wave in waves)]  # of torque, of angle
    return shapes


def _normal(x: FloatArray) -> FloatArray:
    """Columns about 0 with a deviation of 1."""
    size = x.std(axis=0)
    out: FloatArray = (x - x.mean(axis=0)) / np.where(size > 0, size, 1.0)
    return out


def _slopes(x: FloatArray, part: IntArray) -> FloatArray:
    """Changes (M, n) from row to row, smoothed over neighbours, with a deviation of 1."""
    from scipy.ndimage import gaussian_filter1d  # takes longer than the rest of the import

    out = np.zeros_like(x)
    for number in np.unique(part):
        own = part == number
        out[own] = gaussian_filter1d(x[own], 1.0, axis=0, order=1, mode="nearest")
    return _normal(out)
