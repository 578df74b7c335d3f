"""What is known of parameters before a fit, as rows beside those of the data.

A value v with the standard deviation s is one row more, (1 / s) x = v / s. With it the squares are
|Y x - tau|^2 + |P x - target|^2, and every estimator that reads a triangular factor of [Y tau] sees
it in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.information import triangle
from deltadyn.identification.parametrisation import Parametrisation


def checked_prior(rows: npt.ArrayLike | None, par: Parametrisation) -> FloatArray:
    """Prior rows (m, k + 1); none where nothing is known."""
    k = len(par.names)
    given = np.zeros((0, 0)) if rows is None else np.asarray(rows, dtype=np.float64)
    if not given.size:
        return np.zeros((0, k + 1))
    if given.ndim != 2 or given.shape[1] != k + 1:
        raise InputError("shape of the prior rows", given.shape, f"(m, {k + 1})")
    if not np.isfinite(given).all():
        raise InputError("prior rows", given, "finite numbers")
    return given


def prior_rows(par: Parametrisation, known: Mapping[str, tuple[float, float]]) -> FloatArray:
    """Rows [P, target] of values and standard deviations by name, in units of weighted rows.

    With weights of one over the residual's deviation a parameter known as v with the deviation s
    adds ((x - v) / s)^2 to the squares. What the parameters do not have is passed over.
    """
    rows = np.zeros((len(par.names), len(par.names) + 1))
    for j, name in enumerate(par.names):
        value, deviation = known.get(name, (0.0, np.inf))
        if not (np.isfinite(value) and deviation > 0):
            allowed = "a finite value and a deviation above 0"
            raise InputError(f"prior of {name}", (value, deviation), allowed)
        rows[j, j], rows[j, -1] = 1 / deviation, value / deviation
    return rows[rows.any(axis=1)]


def with_prior(factor: FloatArray, rows: FloatArray) -> FloatArray:
    """The factor (k + 1, k + 1) of its own rows and of prior rows (m, k + 1)."""
    return triangle(np.concatenate([factor, rows])) if len(rows) else factor


def prior_without(rows: FloatArray, held: BoolArray, values: FloatArray) -> FloatArray:
    """Prior rows of the parameters that are not `held` (k,) at their `values` (k,)."""
    target = rows[:, -1] - rows[:, :-1][:, held] @ values[held]
    left = np.column_stack([rows[:, :-1][:, ~held], target])
    return left[left[:, :-1].any(axis=1)]
