"""The estimators beside which [kim2022] puts its swarm: recursive, damped, and by singular values.

The paper names them and cites textbooks without settings; what is ours is said in each docstring.
All solve tau = Y x in least squares, on whatever columns they are given.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, chunks
from deltadyn.errors import InputError
from deltadyn.identification.information import triangle
from deltadyn.identification.methods.rows import Rows, linear_rows, one_each, positive, whole
from deltadyn.identification.problem import Problem, Solution, Solver

BLOCK = 4096  # rows of one step of the triangular factor


@dataclass(frozen=True, eq=False)
class LinearResult:
    """Estimates x (k,) and the root mean square `residual` that they leave, in the unit of tau."""

    x: FloatArray
    residual: float
    status: str


@dataclass(frozen=True, eq=False)
class RecursiveResult(LinearResult):
    """With the last covariance P (k, k) and the estimates after every update (updates, k)."""

    covariance: FloatArray
    history: FloatArray


@dataclass(frozen=True, eq=False)
class SpectralResult(LinearResult):
    """With the singular values (k,) of the columns that were used and how many were kept."""

    singular_values: FloatArray
    kept: int


class _Linear(Solver):
    """What the three share: [kim2022] and its model, a method on the rows as they are."""

    model: ClassVar[str] = "virtual-work"
    source: ClassVar[str] = "kim2022"

    @abstractmethod
    def estimate(self, Y: npt.ArrayLike, tau: npt.ArrayLike) -> LinearResult:
        """x of tau = Y x."""

    def solve(self, problem: Problem) -> Solution:
        """The estimate from all weighted rows, after those of what is known before."""
        (Y, tau), known = problem.stacked(), problem.prior_rows
        if len(known):
            Y, tau = np.concatenate([known[:, :-1], Y]), np.concatenate([known[:, -1], tau])
        found = self.estimate(Y, tau)
        left_out = ("x", "status", "history", "covariance")  # as long as the data, or of no use
        details = {key: value for key, value in vars(found).items() if key not in left_out}
        return Solution(found.x, found.status, details=details)


@dataclass(frozen=True, eq=False)
class Rls(_Linear):
    """Recursive least squares over tau = Y x [kim2022] eq. 39, one instant after the other.

        K = P Y^T (W + Y P Y^T)^-1,   x += K (tau - Y x),   P = (P - K Y P) / forgetting

    with W = forgetting I, `forgetting` above 0 and up to 1. The paper gives no start: P =
    `initial_covariance` I and x = `prior` (k,), or zero, are ours.
    """

    name: ClassVar[str] = "rls"

    forgetting: float = 1.0
    initial_covariance: float = 1e6
    prior: npt.ArrayLike | None = None

    def __post_init__(self) -> None:
        positive(self.forgetting, "forgetting", high=1.0)
        positive(self.initial_covariance, "initial_covariance")

    def estimate(self, Y: npt.ArrayLike, tau: npt.ArrayLike, block: int = 1) -> RecursiveResult:
        """x after the last row.

        Y (N, dof, k) updates by the dof rows of an instant at once, Y (N, k) by single rows;
        `block` instants make one update, in which W holds the powers of `forgetting`, so that the
        result is the same.
        """
        rows = linear_rows(Y, tau)
        k, keep = rows.Y.shape[1], float(self.forgetting)
        P = self.initial_covariance * np.eye(k)
        x = np.zeros(k) if self.prior is None else one_each(self.prior, k, "prior").copy()
        if not np.isfinite(x).all():
            raise InputError("prior", x, "finite numbers")
        height = whole(block, "block", 1) * rows.together
        history = []
        for start in range(0, len(rows.tau), height):
            A, b = rows.Y[start : start + height], rows.tau[start : start + height]
            P, x = _update(P, x, A, b, keep, rows.together)
            history.append(x)
        memory = f"forgetting {keep:g}" if keep < 1 else "nothing forgotten"
        status = f"{len(history)} updates, {memory}"
        return RecursiveResult(x, _residual(rows, x), status, P, np.array(history))


@dataclass(frozen=True)
class Damped(_Linear):
    """Damped least squares [kim2022] eq. 40: the least |tau - Y x|^2 + damping |D x|^2.

    D are the lengths of the columns of Y. The paper gives no `damping`; ours is a share of the
    columns' own squares, from 0 on, so that it does not depend on units.
    """

    name: ClassVar[str] = "damped"

    damping: float = 1e-3

    def __post_init__(self) -> None:
        positive(self.damping, "damping", zero=True)

    def estimate(self, Y: npt.ArrayLike, tau: npt.ArrayLike) -> SpectralResult:
        """x with weak directions shortened."""
        rows = linear_rows(Y, tau)
        found = _Spectrum.of(rows)
        square = found.s**2 + self.damping
        gain = np.divide(found.s, square, out=np.zeros_like(square), where=square > 0)
        x = found.x(gain)
        status = f"damped by {self.damping:g} of the columns' squares"
        return SpectralResult(x, _residual(rows, x), status, found.s, len(found.s))


@dataclass(frozen=True)
class Svd(_Linear):
    """Least squares without directions whose singular value is below `tolerance` of the largest.

    Columns are given length 1 first, so that the choice does not depend on units; `normalised` =
    False leaves them as they are. [kim2022] says neither where it cuts nor how it scales: a
    hundredth is ours; from 0 to 1.
    """

    name: ClassVar[str] = "svd"

    tolerance: float = 1e-2
    normalised: bool = True

    def __post_init__(self) -> None:
        positive(self.tolerance, "tolerance", zero=True, high=1.0)
        if not isinstance(self.normalised, bool):
            raise InputError("normalised", self.normalised, "True or False")

    def estimate(self, Y: npt.ArrayLike, tau: npt.ArrayLike) -> SpectralResult:
        """x with weak directions left out."""
        rows = linear_rows(Y, tau)
        found = _Spectrum.of(rows, self.normalised)
        s = found.s
        kept = (s > self.tolerance * s[0]) & (s > 0)
        x = found.x(np.divide(1.0, s, out=np.zeros_like(s), where=kept))
        count = int(kept.sum())
        words = f"those above {self.tolerance:g} of the largest"
        status = f"{count} of {len(s)} directions kept, {words}"
        return SpectralResult(x, _residual(rows, x), status, s, count)


def recursive_least_squares(
    Y: npt.ArrayLike, tau: npt.ArrayLike, *, block: int = 1, **options: Any
) -> RecursiveResult:
    """`Rls` with these options on rows of its own."""
    return Rls(**options).estimate(Y, tau, block)


def damped_least_squares(
    Y: npt.ArrayLike, tau: npt.ArrayLike, damping: float = Damped.damping
) -> SpectralResult:
    """`Damped` on rows of its own."""
    return Damped(damping).estimate(Y, tau)


def truncated_svd(
    Y: npt.ArrayLike, tau: npt.ArrayLike, tolerance: float = Svd.tolerance
) -> SpectralResult:
    """`Svd` on rows of its own."""
    return Svd(tolerance).estimate(Y, tau)


def _update(
    P: FloatArray, x: FloatArray, A: FloatArray, b: FloatArray, keep: float, together: int
) -> tuple[FloatArray, FloatArray]:
    """P and x after the rows A x = b; many rows go by P^-1, where less is lost to rounding."""
    age = (len(b) - 1 - np.arange(len(b))) // together  # instants before the last
    instants = int(age[0]) + 1
    if len(b) > len(x):
        weighted = A.T * keep**age
        P = np.asarray(np.linalg.inv(keep**instants * np.linalg.inv(P) + weighted @ A), np.float64)
        x = x + P @ (weighted @ (b - A @ x))
    else:
        PA = P @ A.T  # (k, rows)
        S = A @ PA
        S[np.diag_indices_from(S)] += keep ** (instants - age)
        K = np.linalg.solve(S, PA.T).T
        x = x + K @ (b - A @ x)
        P = (P - K @ PA.T) / keep**instants
    return (P + P.T) / 2, x  # rounding must not make P unsymmetric


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """U s Vt of the triangular factor over the columns' lengths, or over 1, and Q^T tau."""

    length: FloatArray
    U: FloatArray
    s: FloatArray
    Vt: FloatArray
    right: FloatArray

    @classmethod
    def of(cls, rows: Rows, normalised: bool = True) -> _Spectrum:
        k = rows.Y.shape[1]
        R = np.zeros((0, k + 1))
        for part in chunks(len(rows.Y), BLOCK):
            joined = np.concatenate([rows.Y[part], rows.tau[part, None]], axis=1)
            R = triangle(np.concatenate([R, joined]))
        length = np.linalg.norm(R[:, :k], axis=0)
        length[length == 0] = np.inf  # a column of zeros gets the parameter 0
        if not normalised:
            length[np.isfinite(length)] = 1.0
        U, s, Vt = np.linalg.svd(R[:, :k] / length, full_matrices=False)
        return cls(length, U, s, Vt, R[:, k])

    def x(self, gain: FloatArray) -> FloatArray:
        """x (k,) with this gain (k,) along each direction: 1 / s is least squares."""
        out: FloatArray = (self.Vt.T @ (gain * (self.U.T @ self.right))) / self.length
        return out


def _residual(rows: Rows, x: FloatArray) -> float:
    return float(np.sqrt(np.mean((rows.tau - rows.Y @ x) ** 2)))
