"""Small symmetric systems on plain floats; only the lower triangle is read."""

from __future__ import annotations

from collections.abc import Sequence

Floats = tuple[float, ...]
Rows = list[list[float]]


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
