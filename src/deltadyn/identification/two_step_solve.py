"""Bounded least squares of one step, with the covariance that correlated residuals ask for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError

DEPENDENT = 1e-8  # smallest singular value of unit columns; rounding leaves 1e-15
SHARE = 0.01  # of a dependency's largest entry, above which a parameter is named
EXACT = 1e-9  # residual over torque below which data have no noise to weigh by
BLOCKS = 20  # of time, each longer than residuals are correlated
ARMS = 3


class Estimate(NamedTuple):
    """Bounded and unbounded values (k,), covariance (k, k) of the latter, residuals' RMS (3,)."""

    values: FloatArray
    unbounded: FloatArray
    covariance: FloatArray
    rms: FloatArray


class Doubt(NamedTuple):
    """Columns (M, 3, j) of parameters that were held, and their covariance (j, j)."""

    columns: FloatArray
    covariance: FloatArray


def estimate(
    title: str,
    names: tuple[str, ...],
    columns: FloatArray,
    target: FloatArray,
    weights: npt.ArrayLike | str,
    doubt: Doubt | None = None,
) -> Estimate:
    """Values (k,) that minimise the weighted squares of target (M, 3) - columns (M, 3, k) @ x.

    All but offsets (F0) stay at or above 0. `weights` as in `two_step`.
    """
    if len(target) < BLOCKS:
        raise InputError(f"samples of step {title!r}", len(target), f"at least {BLOCKS}")
    _check_rank(title, names, columns)
    low = np.array([-np.inf if name.startswith("F0") else 0.0 for name in names])
    weigh = _weights(weights, title, columns, target, low)
    values, unbounded, inverse = _solve(columns, target, weigh, low)
    residual = target - columns @ unbounded
    scores = np.einsum("mik,mi->mk", columns * weigh[:, None] ** 2, residual)
    blocks = np.stack([part.sum(axis=0) for part in np.array_split(scores, BLOCKS)])
    covariance = inverse @ (blocks.T @ blocks) @ inverse * BLOCKS / (BLOCKS - 1)
    if doubt is not None:
        pull = inverse @ np.einsum("mik,mij->kj", columns * weigh[:, None] ** 2, doubt.columns)
        covariance = covariance + pull @ doubt.covariance @ pull.T
    return Estimate(values, unbounded, covariance, _rms(target - columns @ values))


def _solve(
    columns: FloatArray, target: FloatArray, weigh: FloatArray, low: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bounded and unbounded minimum, and the inverse of the normal matrix."""
    from scipy.linalg import solve_triangular  # takes longer than the rest of the import

    A = (columns * weigh[:, None]).reshape(-1, columns.shape[2])
    b = (target * weigh).reshape(-1)
    length = np.linalg.norm(A, axis=0)
    Q, R = np.linalg.qr(A / length)
    right = Q.T @ b
    unbounded = solve_triangular(R, right) / length
    upper = solve_triangular(R, np.eye(len(length))) / length[:, None]
    values = unbounded
    if np.any(unbounded < low):
        from scipy.optimize import lsq_linear

        values = np.asarray(lsq_linear(R, right, (low, np.inf), method="bvls").x) / length
        values = np.maximum(values, low)  # -0.0 and rounding
    return values, unbounded, upper @ upper.T


def _weights(
    given: npt.ArrayLike | str, title: str, columns: FloatArray, target: FloatArray, low: FloatArray
) -> FloatArray:
    """Weights (3,) of the arms."""
    equal = np.ones(ARMS)
    if isinstance(given, str):
        if given not in ("residual", "equal"):
            raise InputError("weights", given, "'residual', 'equal' or three numbers above 0")
        if given == "equal":
            return equal
        values, _, _ = _solve(columns, target, equal, low)
        rms = _rms(target - columns @ values)
        return equal if np.any(rms < EXACT * _rms(target).max()) else 1 / rms
    try:
        weigh = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        weigh = np.empty(0)
    if weigh.shape != (ARMS,) or not np.all(np.isfinite(weigh)) or not np.all(weigh > 0):
        raise InputError("weights", given, "'residual', 'equal' or three numbers above 0")
    return weigh


def _check_rank(title: str, names: tuple[str, ...], columns: FloatArray) -> None:
    """Refuse parameters that the samples cannot tell, by name."""
    A = columns.reshape(-1, columns.shape[2])
    length = np.linalg.norm(A, axis=0)
    silent = [name for name, size in zip(names, length, strict=True) if not size > 0]
    if silent:
        allowed = "a motion in which each has an influence, or hold them"
        raise InputError(f"parameters of step {title!r}", silent, allowed)
    _, singular, axes = np.linalg.svd(np.linalg.qr(A / length, mode="r"))
    rank = int(np.sum(singular > DEPENDENT * singular[0]))
    if rank < len(names):
        mixed = np.abs(axes[rank:]).max(axis=0)
        together = [n for n, x in zip(names, mixed, strict=True) if x > SHARE * mixed.max()]
        raise InputError(
            f"rank of step {title!r}",
            rank,
            f"{len(names)}: these samples tell only combinations of {', '.join(together)}; hold "
            "some of them, or move more",
        )


def _rms(values: FloatArray) -> FloatArray:
    out: FloatArray = np.sqrt(np.mean(values**2, axis=0))
    return out
