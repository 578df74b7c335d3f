"""What a set of terms predicts of motion that its fit has not seen.

Logs are cut into chunks of time that are dealt to folds; each fold is predicted by a fit to the
others. Terms that no robot holds (`NOT_PREDICTED`) are fitted with the others and left out of the
prediction, as the fitted robot leaves them out. With the products G and b of weighted columns and
torque by fold,

    z_f = (sum over g != f of G_g + kappa D)^-1 (sum over g != f of b_g)

where D is 1 for the columns of terms, in units of their prior deviation, and 0 for the base.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.identification.information import IntArray
from deltadyn.identification.terms.evidence import Candidate

if TYPE_CHECKING:
    from deltadyn.identification.terms.choose import Weighing

FOLDS = 4
NOT_PREDICTED = ("other",)  # terms without a name, which no robot holds
KNOWN = 1e-10  # of a unit diagonal: directions that a fold's fit does not know stay at 0


def fold_rows(part: IntArray) -> IntArray:
    """The fold (M,) of each row, of its part (M,): every part has a chunk in each fold."""
    fold = np.zeros(len(part), dtype=np.int64)
    for place, number in enumerate(np.unique(part)):
        rows = np.flatnonzero(part == number)
        fold[rows] = (np.arange(len(rows)) * FOLDS // max(len(rows), 1) + place) % FOLDS
    return fold


@dataclass(frozen=True, eq=False)
class UnseenMotion:
    """Sets of the `considered` candidates on motion that their fits did not see.

    `level` (dof,) is the RMS torque in N m.
    """

    weighing: Weighing
    items: Sequence[Candidate]
    considered: frozenset[int]
    level: FloatArray

    @cached_property
    def fold(self) -> IntArray:
        """The fold (M,) of each row."""
        return fold_rows(self.weighing.rows.part)

    def error(self, candidates: Collection[int]) -> float:
        """RMS error of the robot that a set of terms gives, over the RMS torque.

        It is the quadratic mean over the axes.
        """
        rows = self.weighing.rows
        counts = np.maximum(rows.counts(), 1.0)
        square = (self.residuals(candidates) ** 2).sum(axis=0) / counts
        return float(np.sqrt(np.mean(square / self.level**2)))

    def residuals(self, candidates: Collection[int]) -> FloatArray:
        """What the predictions of a set leave (M, dof) in N m, 0 at rows that are not used."""
        rows = self.weighing.rows
        left = np.zeros((len(self.fold), len(rows.axes)))
        for number, z in enumerate(self._estimates(candidates)):
            for i, axis in enumerate(rows.axes):
                use = axis.used & (self.fold == number)
                left[use, i] = axis.y[use] - axis.X[use] @ z[axis.places]
        return left

    def worsening(self, candidates: Collection[int], asked: Collection[int] = ()) -> int | None:
        """The candidate without which the error of a set is lowest, where it is not higher.

        None where every candidate that was not `asked` for lowers the error.
        """
        own = frozenset(candidates)
        errors = {n: self.error(own - {n}) for n in sorted(own - frozenset(asked))}
        worst = min(errors, key=lambda n: errors[n], default=None)
        return worst if worst is not None and errors[worst] <= self.error(own) else None

    def _estimates(self, candidates: Collection[int]) -> FloatArray:
        """z (F, k + m) of the folds' fits, 0 for what no robot holds."""
        G, b, places, scale = self._products
        rows, kappa = self.weighing.rows, self.weighing.kappa
        on = np.flatnonzero((places < rows.base) | np.isin(places, self._columns(candidates)))
        named = [n for n in candidates if self.items[n].stem not in NOT_PREDICTED]
        held = (places[on] < rows.base) | np.isin(places[on], self._columns(named))
        prior = np.diag(kappa * (places[on] >= rows.base))
        G, b = G[:, on][:, :, on], b[:, on]
        z = np.zeros((FOLDS, rows.width))
        for number in range(FOLDS):
            H, right = G.sum(axis=0) - G[number] + prior, b.sum(axis=0) - b[number]
            z[number, places[on]] = np.where(held, scale[on] * _solved(H, right), 0.0)
        return z

    def _columns(self, candidates: Collection[int]) -> IntArray:
        """The places among all k + m columns of some candidates' columns."""
        found = [c for n in sorted(candidates) for c in self.items[n].columns]
        return self.weighing.rows.base + np.asarray(found, dtype=np.int64)

    @cached_property
    def _products(self) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
        """G (F, n, n) and b (F, n) of the considered columns, their places and units (n,)."""
        rows = self.weighing.rows
        places = np.append(np.arange(rows.base), self._columns(self.considered))
        scale = np.append(np.ones(rows.base), rows.size)[places]
        where = np.full(rows.width, -1)
        where[places] = np.arange(len(places))
        G = np.zeros((FOLDS, len(places), len(places)))
        b = np.zeros((FOLDS, len(places)))
        for axis, sigma in zip(rows.axes, self.weighing.sigma, strict=True):
            take = where[axis.places] >= 0
            on = where[axis.places[take]]
            X, y = axis.X[:, take] * (scale[on] / sigma), axis.y / sigma
            for number in range(FOLDS):
                use = axis.used & (self.fold == number)
                G[number][np.ix_(on, on)] += X[use].T @ X[use]
                b[number][on] += X[use].T @ y[use]
        return G, b, places, scale


def _solved(H: FloatArray, b: FloatArray) -> FloatArray:
    """H^-1 b, 0 along directions that are not known."""
    length = np.sqrt(np.maximum(np.diag(H), 0.0))
    length = np.where(length > 0, length, 1.0)
    z = np.linalg.lstsq(H / np.outer(length, length), b / length, rcond=KNOWN)[0]
    out: FloatArray = z / length
    return out
