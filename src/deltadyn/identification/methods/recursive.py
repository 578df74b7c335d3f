"""The estimators beside which [kim2022] puts its swarm: recursive, damped, and by singular values.

The paper names them and cites textbooks without settings; what is ours is said in each docstring.
All solve tau = Y x in least squares, on whatever columns they are given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, chunks
from deltadyn.errors import InputError
from deltadyn.identification.methods.rows import (
    invert,
    linear_rows,
    one_each,
    positive,
    triangle,
    whole,
)

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
    """With the singular values (k,) of the normalised columns and how many were kept."""

    singular_values: FloatArray
    kept: int


def recursive_least_squares(
    Y: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    forgetting: float = 1.0,
    initial_covariance: float = 1e6,
    prior: npt.ArrayLike | None = None,
    block: int = 1,
) -> RecursiveResult:
    """Recursive least squares over tau = Y x [kim2022] eq. 39, one instant after the other.

        K = P Y^T (W + Y P Y^T)^-1,   x += K (tau - Y x),   P = (P - K Y P) / forgetting

    with W = forgetting I. Y (N, dof, k) updates by the dof rows of an instant at once, Y (N, k) by
    single rows; `block` instants make one update, in which W holds the powers of `forgetting`, so
    that the result is the same. The paper gives no start: P = initial_covariance I and x = `prior`,
    or zero, are ours.
    """
    rows = linear_rows(Y, tau)
    k = rows.Y.shape[1]
    keep = positive(forgetting, "forgetting", high=1.0)
    P = positive(initial_covariance, "initial_covariance") * np.eye(k)
    x = np.zeros(k) if prior is None else one_each(prior, k, "prior").copy()
    if not np.isfinite(x).all():
        raise InputError("prior", x, "finite numbers")
    size = whole(block, "block", 1)
    height = size * rows.together
    history = []
    for start in range(0, len(rows.tau), height):
        A, b = rows.Y[start : start + height], rows.tau[start : start + height]
        P, x = _update(P, x, A, b, keep, rows.together)
        history.append(x)
    memory = f"forgetting {keep:g}" if keep < 1 else "nothing forgotten"
    status = f"{len(history)} updates, {memory}"
    return RecursiveResult(x, _residual(rows.Y, rows.tau, x), status, P, np.array(history))


def _update(
    P: FloatArray, x: FloatArray, A: FloatArray, b: FloatArray, keep: float, together: int
) -> tuple[FloatArray, FloatArray]:
    """P and x after the rows A x = b; many rows go by P^-1, where less is lost to rounding."""
    age = (len(b) - 1 - np.arange(len(b))) // together  # instants before the last
    instants = int(age[0]) + 1
    if len(b) > len(x):
        weighted = A.T * keep**age
        P = invert(keep**instants * invert(P) + weighted @ A)
        x = x + P @ (weighted @ (b - A @ x))
    else:
        PA = P @ A.T  # (k, rows)
        S = A @ PA
        S[np.diag_indices_from(S)] += keep ** (instants - age)
        K = np.linalg.solve(S, PA.T).T
        x = x + K @ (b - A @ x)
        P = (P - K @ PA.T) / keep**instants
    return (P + P.T) / 2, x  # rounding must not make P unsymmetric


def damped_least_squares(
    Y: npt.ArrayLike, tau: npt.ArrayLike, damping: float = 1e-3
) -> SpectralResult:
    """Minimise |tau - Y x|^2 + damping |D x|^2, D the lengths of the columns of Y.

    The paper gives no damping; ours is a share of the columns' own squares, so that it does not
    depend on units.
    """
    share = positive(damping, "damping", zero=True)
    rows = linear_rows(Y, tau)
    scale, U, s, Vt, b = _spectrum(rows.Y, rows.tau)
    gain = np.divide(s, s**2 + share, out=np.zeros_like(s), where=s**2 + share > 0)
    x = (Vt.T @ (gain * (U.T @ b))) / scale
    status = f"damped by {share:g} of the columns' squares"
    return SpectralResult(x, _residual(rows.Y, rows.tau, x), status, s, len(s))


def truncated_svd(Y: npt.ArrayLike, tau: npt.ArrayLike, tolerance: float = 1e-2) -> SpectralResult:
    """Least squares without directions whose singular value is below `tolerance` of the largest.

    Columns are normalised first, so that the choice does not depend on units. The paper says
    neither where it cuts nor how it scales: a hundredth is ours.
    """
    share = positive(tolerance, "tolerance", zero=True, high=1.0)
    rows = linear_rows(Y, tau)
    scale, U, s, Vt, b = _spectrum(rows.Y, rows.tau)
    kept = (s > share * s[0]) & (s > 0)
    kept[0] = s[0] > 0
    x = (Vt[kept].T @ ((U.T @ b)[kept] / s[kept])) / scale
    count = int(kept.sum())
    status = f"{count} of {len(s)} directions kept, those above {share:g} of the largest"
    return SpectralResult(x, _residual(rows.Y, rows.tau, x), status, s, count)


def _spectrum(
    Y: FloatArray, tau: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Lengths of the columns (k,), U s Vt of the normalised triangular factor, and Q^T tau."""
    k = Y.shape[1]
    R = np.zeros((0, k + 1))
    for part in chunks(len(Y), BLOCK):
        joined = np.concatenate([Y[part], tau[part, None]], axis=1)
        R = triangle(np.concatenate([R, joined]))
    scale = np.linalg.norm(R[:, :k], axis=0)
    scale[scale == 0] = np.inf  # a column of zeros gets the parameter 0
    U, s, Vt = np.linalg.svd(R[:, :k] / scale, full_matrices=False)
    return scale, U, s, Vt, R[:, k]


def _residual(Y: FloatArray, tau: FloatArray, x: FloatArray) -> float:
    return float(np.sqrt(np.mean((tau - Y @ x) ** 2)))
