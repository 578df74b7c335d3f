"""What makes a motion good for identification: one number of the information matrix M.

M = mean over samples of Y^T W^2 Y, with the weighted base regressor W Y; its inverse C is the
covariance of the parameters up to a factor. Every criterion is a logarithm to be minimised, so a
difference of 0.1 means 10 % of a standard deviation or of a condition number.

    "std"            mean log sqrt(C_jj): the geometric mean of the standard deviations
    "D"              -log det M / (2 n): the geometric mean axis of the confidence ellipsoid
    "A"              log sqrt(tr(S^-1 C S^-1) / n): root mean square of relative deviations
    "E"              -log(smallest eigenvalue of S M S) / 2: the worst relative combination
    "condition"      log cond(W Y D), with D scaling the columns to unit length
    "raw-condition"  log cond(W Y): half the log of the paper's index on W Y [gnad2024] eq. 9
    "balanced"       "std" + "condition" / 2

S holds reference values of the parameters. "std", "D", "condition" and "balanced" do not depend on
the units of the parameters. The deviations are what counts, so "balanced" follows them. Alone they
tolerate columns that are nearly alike, where the rest gains enough; half of the condition number
guards against that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import UnknownNameError

CONDITION_WEIGHT = 0.5  # in "balanced"
_LEAST = 1e-15  # of the largest eigenvalue: rounding leaves about this


class Value(NamedTuple):
    """A criterion and its gradient by M (n, n), symmetric."""

    value: float
    gradient: FloatArray


#: From M (n, n) and the reference value of each parameter (n,).
Criterion = Callable[[FloatArray, FloatArray], Value]


def criterion_by_name(name: str) -> Criterion:
    """The criterion of that name."""
    try:
        return CRITERIA[name]
    except (KeyError, TypeError):
        raise UnknownNameError("criterion", name, CRITERIA) from None


def std_criterion(M: FloatArray, scale: FloatArray) -> Value:
    """mean log sqrt(C_jj), with C = M^-1."""
    length, values, vectors = _normalised(M)
    C = (vectors / values) @ vectors.T / np.outer(length, length)
    variance = np.diag(C)
    gradient: FloatArray = -(C / variance) @ C / (2 * len(M))
    return Value(float(np.log(variance).mean() / 2), gradient)


def d_criterion(M: FloatArray, scale: FloatArray) -> Value:
    """-log det M / (2 n)."""
    length, values, vectors = _normalised(M)
    n = len(M)
    inverse = (vectors / values) @ vectors.T / np.outer(length, length)
    value = -(np.log(values).sum() / 2 + np.log(length).sum()) / n
    return Value(float(value), -inverse / (2 * n))


def a_criterion(M: FloatArray, scale: FloatArray) -> Value:
    """log(tr (S M S)^-1 / n) / 2, with S the reference values."""
    S = np.outer(scale, scale)
    values, vectors = _eigen(M * S)
    trace = float((1 / values).sum())
    square = (vectors / values**2) @ vectors.T
    return Value(float(np.log(trace / len(M)) / 2), -square * S / (2 * trace))


def e_criterion(M: FloatArray, scale: FloatArray) -> Value:
    """-log(smallest eigenvalue of S M S) / 2."""
    S = np.outer(scale, scale)
    values, vectors = _eigen(M * S)
    weakest = np.outer(vectors[:, 0], vectors[:, 0])
    return Value(float(-np.log(values[0]) / 2), -weakest * S / (2 * values[0]))


def condition(M: FloatArray, scale: FloatArray) -> Value:
    """log cond of the weighted regressor with columns of unit length."""
    length, values, vectors = _normalised(M)
    over = 1 / np.outer(length, length)

    def slope(k: int) -> FloatArray:  # d log(value) / d M, where the columns' lengths follow M
        v = vectors[:, k]
        rise: FloatArray = np.outer(v, v) * over / values[k] - np.diag((v / length) ** 2)
        return rise

    gradient: FloatArray = (slope(-1) - slope(0)) / 2
    return Value(float(np.log(values[-1] / values[0]) / 2), gradient)


def raw_condition(M: FloatArray, scale: FloatArray) -> Value:
    """log cond of the weighted regressor as it is, in the parameters' units."""
    values, vectors = _eigen(M)
    strong, weak = (np.outer(vectors[:, k], vectors[:, k]) / values[k] for k in (-1, 0))
    return Value(float(np.log(values[-1] / values[0]) / 2), (strong - weak) / 2)


def balanced(M: FloatArray, scale: FloatArray) -> Value:
    """The standard deviations, and half of the condition number."""
    first, second = std_criterion(M, scale), condition(M, scale)
    return Value(
        first.value + CONDITION_WEIGHT * second.value,
        first.gradient + CONDITION_WEIGHT * second.gradient,
    )


CRITERIA: dict[str, Criterion] = {
    "balanced": balanced,
    "std": std_criterion,
    "D": d_criterion,
    "A": a_criterion,
    "E": e_criterion,
    "condition": condition,
    "raw-condition": raw_condition,
}


def _eigen(M: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, increasing and kept above rounding, and eigenvectors."""
    values, vectors = np.linalg.eigh(M)
    return np.maximum(values, _LEAST * values[-1]), vectors


class _Normalised(NamedTuple):
    """Lengths of the columns, and the eigenvalues and -vectors of the scaled matrix."""

    length: FloatArray
    values: FloatArray
    vectors: FloatArray


def _normalised(M: FloatArray) -> _Normalised:
    """M = diag(length) N diag(length), with the eigenvalues and -vectors of N."""
    length = np.sqrt(np.diag(M))
    return _Normalised(length, *_eigen(M / np.outer(length, length)))
