"""The rows of a linear fit, checked: tau = Y x, one equation per row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.bodies.bodies import Bodies


class Rows(NamedTuple):
    """Y (N, k) and tau (N,), finite; `together` rows belong to one instant."""

    Y: FloatArray
    tau: FloatArray
    together: int = 1


def linear_rows(Y: npt.ArrayLike, tau: npt.ArrayLike) -> Rows:
    """Y (N, k) with tau (N,), or Y (N, dof, k) with tau (N, dof) put one under the other."""
    matrix, torque = _real(Y, "Y"), _real(tau, "tau")
    if matrix.ndim not in (2, 3) or 0 in matrix.shape:
        raise InputError("shape of Y", matrix.shape, "(N, k) or (N, dof, k), none of them 0")
    if torque.shape != matrix.shape[:-1]:
        raise InputError("shape of tau", torque.shape, f"{matrix.shape[:-1]}, as Y has rows")
    together = matrix.shape[1] if matrix.ndim == 3 else 1
    flat, column = matrix.reshape(-1, matrix.shape[-1]), torque.reshape(-1)
    _finite(flat, "Y")
    _finite(column, "tau")
    return Rows(flat, column, together)


def one_each(value: npt.ArrayLike, count: int, quantity: str) -> FloatArray:
    """`value` as (count,): an array of that length, or one number for all."""
    array = _real(value, quantity)
    if array.ndim == 0:
        array = np.full(count, float(array))
    if array.shape != (count,):
        raise InputError(f"shape of {quantity}", array.shape, f"({count},), or one number")
    return array


def whole(value: object, quantity: str, low: int) -> int:
    """`value` as an int of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise InputError(quantity, value, f"a whole number, at least {low}")
    return int(value)


def positive(
    value: object, quantity: str, *, high: float | None = None, zero: bool = False
) -> float:
    """`value` as a float above 0 (or from 0 on), up to `high`."""
    allowed = ("a number from 0" if zero else "a number above 0") + (
        " on" if high is None else f" to {high:g}"
    )
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not real or not np.isfinite(value):  # type: ignore[call-overload]
        raise InputError(quantity, value, allowed)
    number = float(value)  # type: ignore[arg-type]
    if number < 0 or (number == 0 and not zero) or (high is not None and number > high):
        raise InputError(quantity, value, allowed)
    return number


def triangle(rows: FloatArray) -> FloatArray:
    """The triangular factor R of rows = Q R."""
    R: FloatArray = np.asarray(np.linalg.qr(rows, mode="r"))
    return R


def invert(matrix: FloatArray) -> FloatArray:
    """The inverse (k, k)."""
    inverse: FloatArray = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    return inverse


def least_squares(Y: FloatArray, tau: FloatArray) -> FloatArray:
    """x (k,) of least |tau - Y x|, the shortest where it is not unique."""
    x: FloatArray = np.asarray(np.linalg.lstsq(Y, tau, rcond=None)[0], dtype=np.float64)
    return x


def _real(value: npt.ArrayLike, quantity: str) -> FloatArray:
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "fiu":
            raise TypeError(given.dtype)
    except (TypeError, ValueError) as error:
        raise InputError(quantity, value, "an array of real numbers") from error
    return given.astype(np.float64, copy=False)


def _finite(array: FloatArray, quantity: str) -> None:
    if np.isfinite(array.sum()):  # one pass; a sum of finite numbers overflows only near 1e308
        return
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, *column = (int(index) for index in bad[0])
        where = f"row {row}" + (f", column {column[0]}" if column else "")
        raise InputError(quantity, float(array[tuple(bad[0])]), "finite numbers", where=where)


# Least squares from a triangular factor, written about its unconstrained optimum.


NOISE_FLOOR = 1e-12  # of |tau|^2: an objective below it is rounding
NO_INFORMATION = 1e-13  # of the largest singular value


@dataclass(frozen=True, eq=False)
class FactorFit:
    """f(u) = 1/2 |B u - c|^2 + floor: half the squared residuals by scaled free variables u (k,).

    B (rank, k) has orthogonal rows, so that `floor` is the least f without constraints.
    `reference` is the floor, or what rounding leaves of the torque where that is more.
    """

    B: FloatArray
    c: FloatArray
    floor: float
    reference: float

    @classmethod
    def of(cls, factor: FloatArray, K: FloatArray, bodies: Bodies) -> FactorFit:
        """Of a factor [[R1, r], [0, rho]] of [Y tau] and x = K v, with v = T (scale * u)."""
        R1, r, rho = _split(factor, K, bodies)
        U, s, Vt = np.linalg.svd(R1 @ K @ (bodies.T * bodies.scale), full_matrices=False)
        if s[0] == 0:
            raise InputError("factor", 0.0, "columns with data: every parameter's column is zero")
        keep = s > NO_INFORMATION * s[0]
        c = U[:, keep].T @ r
        rest = r - U[:, keep] @ c
        floor = (float(rest @ rest) + rho**2) / 2
        least = NOISE_FLOOR * (float(r @ r) + rho**2) / 2
        return cls(s[keep, None] * Vt[keep], c, floor, max(floor, least, 1e-300))

    def value(self, u: FloatArray) -> float:
        """f at scaled free variables (k,)."""
        misfit = self.B @ u - self.c
        return float(misfit @ misfit) / 2 + self.floor


def prior_vector(bodies: Bodies, prior: Mapping[str, float] | FloatArray | None) -> FloatArray:
    """Prior values (n,) of the standard parameters: the robot's own where none are given."""
    if prior is None:
        return bodies.prior
    if isinstance(prior, Mapping):
        return bodies.vector(prior)
    values = np.asarray(prior, dtype=np.float64)
    if values.shape != (len(bodies.names),) or not np.all(np.isfinite(values)):
        raise InputError("prior", prior, f"{len(bodies.names)} finite numbers, or a mapping")
    return values


def _split(
    factor: FloatArray, K: FloatArray, bodies: Bodies
) -> tuple[FloatArray, FloatArray, float]:
    R = np.asarray(factor, dtype=np.float64)
    if R.ndim != 2 or R.shape[0] != R.shape[1] or len(R) < 2:
        raise InputError("shape of factor", R.shape, "(b + 1, b + 1)")
    if not np.all(np.isfinite(R)):
        row, column = (int(i) for i in np.argwhere(~np.isfinite(R))[0])
        raise InputError(
            "factor", float(R[row, column]), "finite numbers", where=f"row {row}, column {column}"
        )
    allowed = (len(R) - 1, len(bodies.names))
    if np.shape(K) != allowed:
        raise InputError(
            "shape of K", np.shape(K), f"{allowed}: the factor's by the standard parameters"
        )
    return R[:-1, :-1], R[:-1, -1], float(R[-1, -1])
