"""The small mathematics of the bench: a step of Runge-Kutta, and symmetric systems on floats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deltadyn.arrays import Component
from deltadyn.tracing import scan

Floats = tuple[float, ...]
Rows = list[list[float]]
Components = tuple[Component, ...]

#: Where the four stages of Runge-Kutta look, as shares of a step, and how much each counts.
AHEAD = (0.0, 0.5, 0.5, 1.0)
WEIGHT = (1 / 6, 1 / 3, 1 / 3, 1 / 6)


def rk4(xp: Any, slope: Callable[[Components, Any], Components], x: Components, h: Any) -> Any:
    """x after h seconds of x' = slope(x, share), by the classical Runge-Kutta method of order 4.

    x is a tuple of components: floats and arrays of NumPy with `xp` = numpy, arrays of JAX with
    `xp` = jax.numpy. `share` says at which part of the step the slope is asked, from 0 to 1.

        k_i = slope(x + a_i h k_(i-1), a_i),    x <- x + h sum w_i k_i

    The four stages are a loop, so that JAX compiles the model once.
    """

    def stage(carry: Any, row: Any) -> Any:
        before, mean = carry
        share, weight = row
        k = slope(_moved(x, before, share * h), share)
        return (k, _moved(mean, k, weight)), None

    table: Any = (AHEAD, WEIGHT)
    if xp is not np:
        table = tuple(xp.asarray(column, dtype=x[0].dtype) for column in table)
    zero = tuple(0.0 * part for part in x)
    (_, mean), _ = scan(xp, stage, (zero, zero), table)
    return _moved(x, mean, h)


def _moved(x: Components, rate: Components, share: Any) -> Components:
    return tuple([a + share * b for a, b in zip(x, rate, strict=True)])


# Symmetric systems on floats, of which the lower triangle is read. They are not those of
# `deltadyn.small`, which serve any components, for three reasons. The drivetrain is a witness for
# `dynamics`, and a witness does not share the code it speaks about. A matrix that is not positive
# definite stops the plant here, where `small` cannot look at values and goes on. And on floats they
# take a third of the time: with `small` a simulated second took 0.45 s instead of 0.39 s.


def solve_symmetric(matrix: Rows, right: Sequence[float]) -> list[float]:
    """x of A x = b for a positive definite A, by A = L D L^T; ArithmeticError where it is not."""
    n = len(right)
    lower = [row[:] for row in matrix]
    x = list(right)
    for j in range(n):
        row = lower[j]
        pivot = row[j]
        for k in range(j):
            pivot -= row[k] * row[k] * lower[k][k]
        if not pivot > 0:
            raise ArithmeticError("the matrix is not positive definite")
        row[j] = pivot
        for i in range(j + 1, n):
            other = lower[i]
            value = other[j]
            for k in range(j):
                value -= other[k] * row[k] * lower[k][k]
            other[j] = value / pivot
            x[i] -= other[j] * x[j]
    for j in range(n - 1, -1, -1):
        x[j] /= lower[j][j]
        for i in range(j + 1, n):
            x[j] -= lower[i][j] * x[i]
    return x


def times_symmetric(matrix: Rows, x: Sequence[float]) -> list[float]:
    """A x of a symmetric A."""
    n = len(x)
    return [
        sum((matrix[i][j] if j <= i else matrix[j][i]) * x[j] for j in range(n)) for i in range(n)
    ]
