"""Which causes explain a residual: a regression that takes one cause after the other.

At each step the cause is taken that raises the likelihood most, less what as many parameters would
raise it by chance (BIC with the number of independent samples). A cause counts only if it explains
a good part of the residual of some axis and stands out of the noise, whose correlation in time the
standard deviations hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.recording.autocorrelation import variance_of_sum
from deltadyn.validation.candidates import Candidates, Parameter

LEAST = 0.1  # share of the residual's power on some axis that a cause must explain
SURE = 4.0  # standard deviations from zero that a parameter of it must have
FLOOR = 1e-10  # of the power: what is left below it is rounding


@dataclass(frozen=True)
class Value:
    """A parameter of a cause with its standard deviation, for residuals with any correlation."""

    parameter: Parameter
    value: float
    std: float

    @property
    def sure(self) -> bool:
        """Whether it stands out of the noise."""
        return abs(self.value) > SURE * self.std


@dataclass(frozen=True, eq=False)
class Explanation:
    """A cause: share (dof,) of each axis's residual power that it adds, and its parameters."""

    cause: str
    share: FloatArray
    values: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class _Fit:
    x: FloatArray  # (k,)
    left: FloatArray  # (dof,) sum of squares


class _Data:
    """Products of all columns and the residual per axis, and the least-squares fit of some."""

    def __init__(self, found: Candidates, residual: FloatArray, noticeable: FloatArray) -> None:
        self.found, self.residual = found, residual
        self.counted = np.sqrt(np.mean(residual**2, axis=0)) > noticeable
        Z = np.concatenate([found.Y, residual[:, :, None]], axis=2).transpose(1, 0, 2)
        self.size = np.sqrt(np.einsum("ank,ank->k", Z, Z))
        self.size[self.size == 0] = 1.0
        Z = Z / self.size
        self.G = Z.transpose(0, 2, 1) @ Z  # (dof, K + 1, K + 1)
        self.whole = self.G[:, -1, -1]
        level = len(residual) * (noticeable / self.size[-1]) ** 2
        # causes may not spoil the axes that need none
        self.floor = np.where(self.counted, FLOOR * self.whole, level) + 1e-300

    def fit(self, places: Sequence[int]) -> _Fit:
        """Axes weighted by what is left on them."""
        k = list(places)
        left, x = self.whole.copy(), np.zeros(len(k))
        for _ in range(3 if k else 0):
            weight = 1 / np.maximum(left, self.floor)
            A = np.einsum("a,aij->ij", weight, self.G[:, k][:, :, k])
            b = np.einsum("a,ai->i", weight, self.G[:, k, -1])
            x = np.linalg.lstsq(A, b, rcond=1e-10)[0]
            square = np.einsum("i,aij,j->a", x, self.G[:, k][:, :, k], x)
            left = np.maximum(self.whole - 2 * self.G[:, k, -1] @ x + square, 0.0)
        return _Fit(x, left)

    def natural(self, places: Sequence[int], x: FloatArray) -> FloatArray:
        """Coefficients of the columns as they were given."""
        scaled: FloatArray = x * self.size[-1] / self.size[list(places)]
        return scaled

    def deviations(self, places: Sequence[int], fit: _Fit) -> FloatArray:
        """Standard deviation (k,) of the natural coefficients, with the residual's correlation."""
        k = list(places)
        Y = self.found.Y[:, :, k]
        rest = self.residual - Y @ self.natural(k, fit.x)
        weight = 1 / np.maximum(fit.left, self.floor)
        weighted = Y * weight[:, None]
        scale = self.size[k]
        A = np.einsum("nai,naj->ij", weighted / scale, Y / scale)
        back = np.linalg.pinv(A, rcond=1e-10, hermitian=True) / scale[:, None] / scale
        scores = np.einsum("nai,na->ni", weighted, rest) @ back
        deviation: FloatArray = np.sqrt([variance_of_sum(column) for column in scores.T])
        return deviation


def explain(
    found: Candidates, residual: FloatArray, effective: FloatArray, noticeable: FloatArray
) -> tuple[Explanation, ...]:
    """The causes of a residual (M, dof), the strongest first; none where none stands out.

    `effective` (dof,) are the independent samples of each axis, `noticeable` (dof,) the RMS in N m
    above which an axis is worth a cause.
    """
    data = _Data(found, residual, noticeable)
    taken: list[str] = []
    while True:
        best = _next(data, taken, effective)
        if best is None:
            return _explanations(data, taken)
        taken.append(best)


def _next(data: _Data, taken: list[str], effective: FloatArray) -> str | None:
    """The cause to take next."""
    before = data.fit(_places(data, taken))
    best, highest = None, 0.0
    for cause in data.found.causes:
        if cause in taken:
            continue
        places = _places(data, [*taken, cause])
        after = data.fit(places)
        gain = _likelihood(data, before, after, effective)
        gain -= len(data.found.places(cause)) * np.log(max(2.0, float(effective.sum())))
        if gain > highest and _counts(data, cause, places, before, after):
            best, highest = cause, gain
    return best


def _likelihood(data: _Data, before: _Fit, after: _Fit, effective: FloatArray) -> float:
    ratio = np.maximum(before.left, data.floor) / np.maximum(after.left, data.floor)
    return float(effective @ np.log(ratio))


def _counts(data: _Data, cause: str, places: list[int], before: _Fit, after: _Fit) -> bool:
    """Whether a cause explains enough of some axis, with a parameter that is not zero."""
    share = (before.left - after.left)[data.counted] / data.whole[data.counted]
    if share.max() < LEAST:
        return False
    deviation = data.deviations(places, after)
    natural = data.natural(places, after.x)
    own = [n for n, place in enumerate(places) if data.found.parameters[place].cause == cause]
    return bool(np.any(np.abs(natural[own]) > SURE * deviation[own]))


def _explanations(data: _Data, taken: list[str]) -> tuple[Explanation, ...]:
    places = _places(data, taken)
    final = data.fit(places)
    natural, deviation = data.natural(places, final.x), data.deviations(places, final)
    parameters = [data.found.parameters[place] for place in places]
    rows = zip(parameters, natural, deviation, strict=True)
    values = [Value(item, float(x), float(std)) for item, x, std in rows]
    out = []
    for number, cause in enumerate(taken):
        before = data.fit(_places(data, taken[:number]))
        after = data.fit(_places(data, taken[: number + 1]))
        share = (before.left - after.left) / np.where(data.whole > 0, data.whole, 1.0)
        own = tuple(value for value in values if value.parameter.cause == cause)
        out.append(Explanation(cause, share, own))
    return tuple(out)


def _places(data: _Data, causes: Sequence[str]) -> list[int]:
    return [k for cause in causes for k in data.found.places(cause)]
