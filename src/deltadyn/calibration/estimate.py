"""The fit: Gauss-Newton on standardised residuals, with a Huber loss per point and tolerances.

Unknown are y of a model's x = T y and the instruments' own numbers. A step solves

    min | sqrt(w) (r + A dz) |^2 + | (y + dy) / scale |^2,      w = min(1, 1.5 s / |r of the point|)

with s the robust spread of the residuals, at least 1 where deviations were given. Where a model
holds the whole geometry, the frame of an instrument is part of it (24 of 30 columns are
independent): the frame that the nominal points fit best is kept then, and the geometry says all.

Then points are looked at one by one: t^2 = e^T (1 + A M_-^-1 A^T)^-1 e of its residual e when it is
left out is chi-squared. A point far beyond that is set aside and named, and the fit is repeated.

A fold that is left out is predicted without a second fit: with M = A^T A + P its residuals are
(1 - A_g M^-1 A_g^T)^-1 r_g, exact as far as the problem is linear about its solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtr

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.calibration.measurements import Commanded, Measured, Rows
from deltadyn.calibration.parameters import Geometric
from deltadyn.errors import InputError

HUBER = 1.5
IntArray = npt.NDArray[np.intp]

STEPS = 25
NOTHING = 1e-9  # weight of a point that was set aside
FAR = {1: 25.0, 3: 33.0, 6: 42.0}  # t^2 of a point's rows beyond which it does not belong
MOST_ASIDE = 0.2  # of a set; where more are far off, it is the model that does not fit
SETTLED = 1e-3  # of a tolerance: 1 um of 1 mm
#: Medians of |r| / sqrt(m) of m normal residuals, by which a spread is read off.
MEDIANS = {1: 0.6745, 3: 0.8881, 6: 0.9443}
SAME_PLACE = 5e-3  # m: poses nearer than this are one place
MOST_FOLDS = 60
LOG_FOLDS = 10


@dataclass(frozen=True, eq=False)
class System:
    """All rows at one point of the fit: residuals, slopes by y and own, and the points' sets."""

    residual: FloatArray  # (m,), in standard deviations
    slopes: FloatArray  # (m, k + own)
    sets: tuple[slice, ...]  # rows of each set


@dataclass(frozen=True, eq=False)
class Solution:
    """A model fitted to sets of measurements."""

    geometric: Geometric
    measured: tuple[Measured, ...]
    model: str
    x: FloatArray  # (n,)
    own: tuple[Any, ...]
    held: bool  # whether the instrument's frame was kept
    scales: FloatArray  # (n,), standard deviations before the measurement
    subset: FloatArray  # T (n, k)
    residual: FloatArray  # (m,), in the given standard deviations
    slopes: FloatArray  # (m, k + own)
    weights: FloatArray  # (m,)
    sets: tuple[slice, ...]
    steps: int
    aside: BoolArray  # (m,), rows of points that were set aside
    huber: float | None

    @property
    def count(self) -> int:
        """Numbers of the geometry that are free."""
        return int(self.subset.shape[1])

    @cached_property
    def prior(self) -> FloatArray:
        """1 / scale (k + own,) of the unknowns, 0 for the instruments' own."""
        extra = np.zeros(self.slopes.shape[1] - self.count)
        return np.concatenate([1 / subset_scales(self.subset, self.scales), extra])

    @cached_property
    def factor(self) -> FloatArray:
        """M^-1 for residuals of deviation 1: (A^T w A + P)^-1."""
        return self._inverse(np.ones(len(self.residual)))

    def _inverse(self, spread: FloatArray) -> FloatArray:
        weighted = self.slopes * (np.sqrt(self.weights) / spread)[:, None]
        matrix = weighted.T @ weighted + np.diag(self.prior**2)
        size = np.sqrt(np.diag(matrix))
        size[size == 0] = 1.0
        both = np.outer(size, size)
        out: FloatArray = np.linalg.pinv(matrix / both, rcond=1e-14, hermitian=True) / both
        return out

    @cached_property
    def freedom(self) -> FloatArray:
        """Rows less fitted numbers, of each set: 1 - leverage summed."""
        weighted = self.slopes * np.sqrt(self.weights)[:, None]
        leverage = np.einsum("ij,jk,ik->i", weighted, self.factor, weighted)
        free = (1 - leverage) * ~self.aside
        return np.array([float(free[rows].sum()) for rows in self.sets])

    @cached_property
    def chi(self) -> FloatArray:
        """Reduced chi of each set: 1 where model and given deviations are right."""
        squares = (self.weights * self.residual) ** 2  # an outlier counts as one at Huber's edge
        sums = np.array([float(squares[rows].sum()) for rows in self.sets])
        usual = [_usual_square(item.per_point, self.huber) for item in self.measured]
        return np.sqrt(sums / np.maximum(self.freedom, 1e-9) / usual)

    @cached_property
    def spread(self) -> FloatArray:
        """By what the given deviations are multiplied (m,): at least 1 where they were given."""
        out = np.ones(len(self.residual))
        for item, rows, chi, freedom in zip(
            self.measured, self.sets, self.chi, self.freedom, strict=True
        ):
            known = chi if freedom > 0.5 else 1.0
            out[rows] = max(1.0, known) if item.sigma_given else known
        return out

    def correlation(self, rows: slice) -> float:
        """The correlation of neighbouring residuals of a log, at least 0."""
        series = self.residual[rows].reshape(-1, 3)
        square = float((series**2).sum())
        found = float((series[1:] * series[:-1]).sum()) / square if square else 0.0
        return float(np.clip(found, 0.0, 0.999))

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance (k + own, k + own) of y and the instruments' own numbers.

        The rows of a log follow each other, with a correlation of neighbours rho. The fit does not
        weigh them so, and its covariance is M^-1 (A^T R A + P) M^-1 with R_ij = rho^|i - j|, the
        coordinates each by itself.
        """
        inverse = self._inverse(self.spread)
        if not any(isinstance(item, Commanded) for item in self.measured):
            return inverse
        weighted = self.slopes * (np.sqrt(self.weights) / self.spread)[:, None]
        inner = np.diag(self.prior**2)
        for item, rows in zip(self.measured, self.sets, strict=True):
            part = weighted[rows].reshape(-1, item.per_point, weighted.shape[1])
            rho = self.correlation(rows) if isinstance(item, Commanded) else 0.0
            inner = inner + np.einsum("nij,nik->jk", part, correlated(part, rho))
        out: FloatArray = inverse @ inner @ inverse
        return out

    @cached_property
    def x_covariance(self) -> FloatArray:
        """Covariance (n, n) of x, in m and rad."""
        k = self.count
        out: FloatArray = self.subset @ self.covariance[:k, :k] @ self.subset.T
        return out

    def points_of(self, index: int) -> FloatArray:
        """Residuals of a set by point (points, per_point), in given deviations."""
        item = self.measured[index]
        return self.residual[self.sets[index]].reshape(-1, item.per_point)

    @cached_property
    def left_out(self) -> FloatArray:
        """Residuals (m,) of every place when it is not fitted, in the given deviations."""
        weighted = self.slopes * np.sqrt(self.weights)[:, None]
        residual = self.residual * np.sqrt(self.weights)
        out = np.empty_like(residual)
        inverse = self.factor
        for rows in self.folds:
            part = weighted[rows]
            hat = part @ inverse @ part.T
            values, vectors = np.linalg.eigh((hat + hat.T) / 2)
            free = np.maximum(1 - values, 1e-6)  # what only this fold shows is not predictable
            out[rows] = vectors @ ((vectors.T @ residual[rows]) / free)
        return out / np.sqrt(self.weights)

    @cached_property
    def folds(self) -> list[IntArray]:
        """Rows of each fold: places near each other together, each set by itself."""
        found = []
        for item, rows in zip(self.measured, self.sets, strict=True):
            label = place_folds(item.places(self.geometric.points(self.x, item.q)))
            label = np.repeat(label, item.per_point)
            numbers = np.arange(rows.start, rows.stop)
            found += [numbers[label == value] for value in np.unique(label)]
        return found

    def held_out(self, index: int) -> float:
        """Root mean square of left-out points of a set, in m; points far off are cut at 3 medians.

        A single outlier must not choose the model.
        """
        item = self.measured[index]
        rows = self.left_out[self.sets[index]].reshape(-1, item.per_point)
        length = np.linalg.norm(metres(item, rows), axis=1)
        return float(np.sqrt((np.minimum(length, 3 * np.median(length)) ** 2).mean()))

    def rms(self, index: int) -> float:
        """Root mean square of a set's residuals, in m (per point, all coordinates together).

        Points that were set aside do not count.
        """
        item = self.measured[index]
        kept = ~self.aside[self.sets[index]].reshape(-1, item.per_point)[:, 0]
        length = np.linalg.norm(metres(item, self.points_of(index)), axis=1)[kept]
        return float(np.sqrt((length**2).mean()))


def correlated(rows: FloatArray, rho: float) -> FloatArray:
    """R rows with R_ij = rho^|i - j| over the first axis: sums that fade, forth and back."""
    if rho == 0:
        return rows
    forth, back = rows.copy(), rows.copy()
    for k in range(1, len(rows)):
        forth[k] += rho * forth[k - 1]
        back[-1 - k] += rho * back[-k]
    return forth + back - rows


def _usual_square(m: int, huber: float | None) -> float:
    """E min(n^2, k^2) of n^2 = chi-squared_m / m: what Huber's weights leave of a normal point."""
    if huber is None:
        return 1.0
    square = huber * huber
    return float(chdtr(m + 2, m * square) + square * (1 - chdtr(m, m * square)))


def metres(item: Measured, rows: FloatArray) -> FloatArray:
    """Residuals of points (points, per_point) in m, without a camera's turns."""
    sigma = item.sigma
    lengths = 3 if item.per_point >= 3 else 1
    out: FloatArray = rows[:, :lengths] * sigma.reshape(len(rows), -1)
    return out


def subset_scales(subset: FloatArray, scales: FloatArray) -> FloatArray:
    """Standard deviations (k,) of y: those of the parameters that it moves."""
    moved = np.abs(subset) > 0
    return np.array([scales[column].max() for column in moved.T])


def holds_frame(geometric: Geometric, model: str, measured: Sequence[Measured]) -> bool:
    """Whether a frame to be fitted is part of the geometry: all of it free, one anchored set.

    Hinges and screws between two halves stand along z of the base: it must be free to lean.
    """
    one = sum(item.anchored for item in measured) == 1
    return model == "all" and one and geometric.robot.legs == 3


def system(
    geometric: Geometric,
    measured: Sequence[Measured],
    subset: FloatArray,
    x: FloatArray,
    own: Sequence[Any],
    held: bool,
) -> System:
    """The rows of all sets at x and own."""
    parts: list[Rows] = []
    for item, numbers in zip(measured, own, strict=True):
        p, slopes = geometric.slopes(x, item.q, getattr(item, "tool", None))
        rows = item.rows(p, slopes, numbers)
        parts.append(Rows(rows.residual, rows.by_x @ subset, rows.by_own))
    ends = np.cumsum([0, *(len(part.residual) for part in parts)])
    sets = tuple(slice(int(a), int(b)) for a, b in pairwise(ends))
    widths = [item.unknowns - (item.gauge if held else 0) for item in measured]
    slopes = np.zeros((int(ends[-1]), subset.shape[1] + sum(widths)))
    at = subset.shape[1]
    for part, rows_of, item, width in zip(parts, sets, measured, widths, strict=True):
        slopes[rows_of, : subset.shape[1]] = part.by_x
        slopes[rows_of, at : at + width] = part.by_own[:, item.unknowns - width :]
        at += width
    return System(np.concatenate([part.residual for part in parts]), slopes, sets)


def point_weights(measured: Sequence[Measured], rows: System, huber: float | None) -> FloatArray:
    """Huber's weights (m,), one per point, against the robust spread of its set."""
    out = np.ones(len(rows.residual))
    if huber is None:
        return out
    for item, own in zip(measured, rows.sets, strict=True):
        size = np.linalg.norm(rows.residual[own].reshape(-1, item.per_point), axis=1)
        size /= np.sqrt(item.per_point)
        spread = float(np.median(size)) / MEDIANS[item.per_point]
        spread = max(spread, 1.0) if item.sigma_given else max(spread, 1e-12)
        weight = np.minimum(1.0, huber * spread / np.maximum(size, 1e-300))
        out[own] = np.repeat(weight, item.per_point)
    return out


def fit_model(
    geometric: Geometric,
    measured: Sequence[Measured],
    scales: FloatArray,
    model: str = "all",
    *,
    huber: float | None = HUBER,
) -> Solution:
    """The geometry of one model of the ladder that meets these measurements best."""
    start = np.zeros(geometric.count)
    own = [item.start(_closed(geometric, start, item)) for item in measured]
    found = _descended(geometric, measured, scales, model, huber, start, own)
    if huber is None:
        return found
    for _ in range(2):
        aside = set_aside(found)
        if (aside == found.aside).all():
            break
        found = _descended(geometric, measured, scales, model, huber, found.x, found.own, aside)
    return found


def _descended(
    geometric: Geometric,
    measured: Sequence[Measured],
    scales: FloatArray,
    model: str,
    huber: float | None,
    x: FloatArray,
    own: Sequence[Any],
    aside: BoolArray | None = None,
) -> Solution:
    """Gauss-Newton steps from x and own, without the rows that were set aside."""
    subset = geometric.subset(model)
    own_scales = subset_scales(subset, scales)
    y = np.linalg.lstsq(subset, x, rcond=None)[0]
    held, k = holds_frame(geometric, model, measured), subset.shape[1]
    steps = 0
    rows = system(geometric, measured, subset, x, own, held)
    if aside is None:
        aside = np.zeros(len(rows.residual), dtype=bool)
    weights = np.where(aside, NOTHING, point_weights(measured, rows, huber))
    for steps in range(1, STEPS + 1):
        root = np.sqrt(weights)
        left = np.concatenate(
            [
                rows.slopes * root[:, None],
                np.concatenate(
                    [np.diag(1 / own_scales), np.zeros((k, rows.slopes.shape[1] - k))], 1
                ),
            ]
        )
        right = -np.concatenate([rows.residual * root, y / own_scales])
        size = np.linalg.norm(left, axis=0)
        size[size == 0] = 1.0
        step = np.linalg.lstsq(left / size, right, rcond=1e-13)[0] / size
        for _ in range(8):  # a step out of reach is halved
            tried = y + step[:k]
            moved = _moved(measured, own, step[k:], held)
            try:
                new = system(geometric, measured, subset, subset @ tried, moved, held)
            except InputError:
                new = None
            if new is not None and np.isfinite(new.residual).all():
                break
            step = step / 2
        else:
            raise InputError(
                f"the fit of {model!r}", f"no pose closes after step {steps}",
                "measurements of this robot: see the notes on units, axes and signs",
            )  # fmt: skip
        y, own, rows = tried, moved, new
        weights = np.where(aside, NOTHING, point_weights(measured, rows, huber))
        if float(np.abs(step[:k] / own_scales).max()) < SETTLED:
            break
    return Solution(
        geometric, tuple(measured), model, subset @ y, tuple(own), held, scales, subset,
        rows.residual, rows.slopes, weights, rows.sets, steps, aside, huber,
    )  # fmt: skip


def _moved(
    measured: Sequence[Measured], own: Sequence[Any], step: FloatArray, held: bool
) -> list[Any]:
    """Own numbers after a step; a frame that is kept does not move."""
    out, at = [], 0
    for item, numbers in zip(measured, own, strict=True):
        kept = item.gauge if held else 0
        width = item.unknowns - kept
        whole = np.concatenate([np.zeros(kept), step[at : at + width]])
        out.append(item.moved(numbers, whole))
        at += width
    return out


def _closed(geometric: Geometric, x: FloatArray, item: Measured) -> FloatArray:
    """Nominal platform points; refuses joint coordinates at which the loop is open."""
    p = geometric.points(x, item.q)
    bad = np.flatnonzero(np.isnan(p).any(axis=1))
    if bad.size:
        row = int(bad[0])
        raise InputError(
            "q", item.q[row].tolist(),
            "joint coordinates at which the robot's loop closes, by its own convention (units, "
            "sign, offset)", where=f"pose {item.names[row % len(item.names)]}",
        )  # fmt: skip
    return p


def place_folds(points: FloatArray) -> IntArray:
    """Labels (N,) of folds by place: neighbours belong together, long logs have few folds.

    Seeds are taken one after the other, each the farthest from those before.
    """
    most = MOST_FOLDS if len(points) <= 4 * MOST_FOLDS else LOG_FOLDS
    seeds = [int(np.argmin(((points - points.mean(axis=0)) ** 2).sum(axis=1)))]
    away = np.linalg.norm(points - points[seeds[0]], axis=1)
    while len(seeds) < most and float(away.max()) > SAME_PLACE:
        seeds.append(int(np.argmax(away)))
        away = np.minimum(away, np.linalg.norm(points - points[seeds[-1]], axis=1))
    apart = np.linalg.norm(points[:, None] - points[seeds][None], axis=2)
    labels: IntArray = np.argmin(apart, axis=1)
    return labels


def deleted(solution: Solution, index: int) -> tuple[FloatArray, FloatArray]:
    """t^2 (points,) of a set's points, each against a fit without it, and its residual then (m).

    With G = A M^-1 A^T of the point's rows and its weight w: e = (1 - w G)^-1 r, and its covariance
    is 1 + (1 - w G)^-1 G.
    """
    item, rows = solution.measured[index], solution.sets[index]
    m = item.per_point
    part = solution.slopes[rows].reshape(-1, m, solution.slopes.shape[1])
    weight = solution.weights[rows].reshape(-1, m)[:, 0]
    inner = part @ solution.factor @ part.transpose(0, 2, 1)
    without = np.eye(m) - weight[:, None, None] * inner
    without = without + 1e-9 * np.eye(m)  # what only this point shows is not predictable
    residual = solution.points_of(index)[:, :, None]
    off: FloatArray = np.linalg.solve(without, residual).astype(np.float64)
    spread = np.eye(m) + np.linalg.solve(without, inner)
    square = (off * np.linalg.solve(spread, off)).sum(axis=(1, 2))
    return square, np.linalg.norm(metres(item, off[:, :, 0]), axis=1)


def outlying(solution: Solution, index: int) -> tuple[BoolArray, FloatArray]:
    """Which points of a set do not fit, and how far each is off (m) when it is left out.

    They are measured against the spread of their set, which is at least what was given.
    """
    item = solution.measured[index]
    square, off = deleted(solution, index)
    spread = float(np.median(square)) / (item.per_point * MEDIANS[item.per_point] ** 2)
    if item.sigma_given:
        spread = max(spread, 1.0)
    return np.asarray(square > FAR[item.per_point] * spread), off


def set_aside(solution: Solution) -> BoolArray:
    """Rows (m,) of points that do not belong, where they are few; none of a log's."""
    out = np.zeros(len(solution.residual), dtype=bool)
    for index, item in enumerate(solution.measured):
        if isinstance(item, Commanded):
            continue
        mask, _ = outlying(solution, index)
        if mask.sum() <= MOST_ASIDE * len(mask):
            out[solution.sets[index]] = np.repeat(mask, item.per_point)
    return out
