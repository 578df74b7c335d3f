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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.dynamics.base import base_parameters, exciting_states, level_rails
from deltadyn.dynamics.regressor import regressor
from deltadyn.errors import UnidentifiableError as UnidentifiableError
from deltadyn.errors import UnknownNameError
from deltadyn.errors import unidentifiable_text as unidentifiable_text
from deltadyn.kinematics.state import State
from deltadyn.motion.fourier import FourierSeries
from deltadyn.robot import Robot

IntArray = np.ndarray[tuple[int], np.dtype[np.int64]]

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


# Which parameters a motion shall identify, and whether it can: said before the search.

NO_INFLUENCE = 1e-10  # of the longest column
DEPENDENT = 1e-8  # of the largest singular value, columns of unit length; rounding leaves 1e-15
NAMED = 0.05  # of a unit vector: parameters below take no part in a dependency


@dataclass(frozen=True, eq=False)
class Chosen:
    """The base parameters to identify: columns `index` of the model's regressor.

    `all_values` holds the values of all its columns, for the torque.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    index: IntArray
    all_values: FloatArray

    def kept(self, keep: Sequence[int]) -> Chosen:
        """Only these."""
        rows = np.asarray(keep, dtype=np.int64)
        names, units = (tuple(part[j] for j in rows) for part in (self.names, self.units))
        return Chosen(names, units, self.values[rows], self.index[rows], self.all_values)


@dataclass(frozen=True)
class Identifiability:
    """What random motions of the kind asked for can identify: `keep` are independent columns."""

    keep: tuple[int, ...]
    no_influence: tuple[str, ...]
    dependent: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every parameter can be identified."""
        return not (self.no_influence or self.dependent)


def choose_parameters(robot: Robot, model: str, tied: bool, friction: bool) -> Chosen:
    """All parameters of the exact model; of another model its base parameters.

    Friction is part of the torque in any case; without `friction` it is not to be identified. G
    along a level rail is not, because gravity does not act there.
    """
    state = exciting_states(robot, 3)
    full = regressor(robot, state, model, tied=tied)
    without = regressor(robot, state, model, tied=tied, friction=False).names
    level = level_rails(robot)
    unseen = {"G"} if tied and level else {*level}
    if model == "exact":
        names = tuple(n for n in (full.names if friction else without) if n not in unseen)
        values = np.array([full.parameters[full.names.index(name)] for name in names])
    else:
        base = base_parameters(robot, model, tied, friction=friction)
        names = base.independent
        values = np.array([item.value for item in base.parameters])
    index = np.array([full.names.index(name) for name in names], dtype=np.int64)
    units = tuple(full.units[j] for j in index)
    return Chosen(tuple(names), units, values, index, full.parameters)


def identifiability(names: tuple[str, ...], Y: FloatArray) -> Identifiability:
    """Rank check of a weighted regressor (rows, n) stacked over random motions."""
    from scipy.linalg import qr  # takes longer than the rest of the import

    length = np.linalg.norm(Y, axis=0)
    alive = np.flatnonzero(length > NO_INFLUENCE * length.max())
    dead = tuple(name for j, name in enumerate(names) if j not in alive)
    unit = np.linalg.qr(Y[:, alive] / length[alive], mode="r")  # all that the rank depends on
    _, singular, vectors = np.linalg.svd(unit, full_matrices=False)
    rank = int((singular > DEPENDENT * singular[0]).sum())
    lost = np.abs(vectors[rank:]).max(axis=0, initial=0.0) > NAMED
    _, _, order = qr(unit, mode="economic", pivoting=True)
    keep = tuple(int(j) for j in np.sort(alive[order[:rank]]))
    return Identifiability(keep, dead, tuple(names[j] for j in alive[lost]))


# What a motion will give: condition numbers and standard deviations before anything is measured.
#
# With residuals of the standard deviation sigma_i on axis i, sampled at the rate f and correlated
# over the time tau_c (first order), a slow regressor sees as many independent samples as
#
#     N_eff = N (1 - rho) / (1 + rho),    rho = exp(-1 / (f tau_c))
#
# and the weighted estimate has the covariance C = B (Y^T W^2 Sigma W^2 Y) B N / N_eff with
# B = (Y^T W^2 Y)^-1, which is (Y^T Sigma^-1 Y)^-1 N / N_eff for the weights 1 / sigma.


PHASES = 2000  # samples of a period: jumps of sharp friction are met to 1e-3


@dataclass(frozen=True, eq=False)
class Noise:
    """Residual torque: deviation per axis (N m), correlation time (s), sample rate (Hz)."""

    std: FloatArray
    correlation: float
    rate: float

    @property
    def inflation(self) -> float:
        """N / N_eff = (1 + rho) / (1 - rho)."""
        if self.correlation == 0:
            return 1.0
        return 1 / math.tanh(1 / (2 * self.rate * self.correlation))


@dataclass(frozen=True, eq=False)
class Prediction:
    """Condition numbers of the base regressor, and the covariance (n, n) of the parameters.

    `condition_number` is that of the weighted rows and columns of unit length,
    `raw_condition_number` that of Y as it is, and `paper_condition_number` that of Y^T Y, the index
    of [gnad2024] section IV-B.
    """

    condition_number: float
    raw_condition_number: float
    paper_condition_number: float
    covariance: FloatArray

    @property
    def std(self) -> FloatArray:
        """Standard deviations (n,), in the parameters' units."""
        return np.sqrt(np.diag(self.covariance))


def predict(
    robot: Robot,
    series: FourierSeries,
    duration: float,
    chosen: Chosen,
    weights: FloatArray,
    noise: Noise,
    model: str,
    tied: bool,
    *,
    phases: int = PHASES,
) -> Prediction:
    """Condition numbers and covariance for whole periods of a series during `duration` seconds.

    The mean over a period is taken at `phases` samples of it.
    """
    t = np.arange(phases) / (phases * series.frequency)
    state = State.from_platform(robot, *series.at(t))
    Y = regressor(robot, state, model, tied=tied).Y[:, :, chosen.index]  # (N, dof, n)
    flat = Y.reshape(-1, Y.shape[2])
    weighted = (Y * weights[:, None]).reshape(flat.shape)
    normalised = weighted / np.linalg.norm(weighted, axis=0)
    raw = _condition(flat)
    samples = duration * noise.rate / noise.inflation
    return Prediction(
        _condition(normalised), raw, raw**2, _covariance(Y, weights, noise.std) / samples
    )


def _condition(matrix: FloatArray) -> float:
    """Condition number of a tall matrix, that of its triangular factor."""
    return float(np.linalg.cond(np.linalg.qr(matrix, mode="r")))


def _covariance(Y: FloatArray, weights: FloatArray, std: FloatArray) -> FloatArray:
    """Covariance of one effective sample of the mean information."""
    weighted = Y * weights[:, None]
    length = np.sqrt(contract("nij,nij->j", weighted, weighted) / len(Y))
    unit = (weighted / length).reshape(-1, Y.shape[2])
    noisy = (weighted * (weights * std)[:, None] / length).reshape(unit.shape)
    B = np.linalg.inv(unit.T @ unit / len(Y))
    covariance: FloatArray = B @ (noisy.T @ noisy / len(Y)) @ B / np.outer(length, length)
    return covariance
