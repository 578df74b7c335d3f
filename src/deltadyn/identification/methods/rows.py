"""Checks that methods share: the rows of a linear fit tau = Y x, and numbers of options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError


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


def named(value: object, quantity: str, names: Sequence[str], or_else: str = "") -> None:
    """Refuse a value that is none of the names."""
    if value not in names:
        raise UnknownNameError(quantity, value, names, or_else=or_else)


def whole(value: object, quantity: str, low: int) -> int:
    """`value` as an int of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise InputError(quantity, value, f"a whole number, at least {low}")
    return int(value)


def positive(
    value: object,
    quantity: str,
    *,
    high: float | None = None,
    zero: bool = False,
    unit: str = "number",
) -> float:
    """`value` as a float above 0 (or from 0 on), up to `high`."""
    least = f"a {unit} from 0" if zero else f"a {unit} above 0"
    end = f" to {high:g}" if high is not None else " on" if zero else ""
    allowed = least + end
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not real or not np.isfinite(value):  # type: ignore[call-overload]
        raise InputError(quantity, value, allowed)
    number = float(value)  # type: ignore[arg-type]
    if number < 0 or (number == 0 and not zero) or (high is not None and number > high):
        raise InputError(quantity, value, allowed)
    return number


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
