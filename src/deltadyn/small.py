"""Triples, the inverse of three rows, and small symmetric systems, over any components.

A component is a float, an array of NumPy or JAX with one coordinate of many samples, or a symbol.
Arithmetic alone is used, so one source serves them all; `xp` is the namespace where a choice or a
sign is needed. Nothing raises but the division of a float by zero: what does not exist is not
finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import Component, FloatArray
from deltadyn.tracing import repeat

Vector = tuple[Component, ...]
Matrix = list[list[Component]]
#: Components in any order of arrays: the first axis counts them.
Parts = Sequence[Component] | FloatArray
Rows = Sequence[Parts] | FloatArray

GEAR_ROUNDS = 20  # a sign pattern of three or four loads settles in two or three


def dot(a: Parts, b: Parts) -> Component:
    """a . b of two triples of components."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Parts, b: Parts) -> tuple[Component, Component, Component]:
    """a x b of two triples of components."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def times(a: Parts, factor: Component) -> Vector:
    """Every component times one factor."""
    return tuple(x * factor for x in a)


class Inverse(NamedTuple):
    """S^-1 of a matrix S with three rows s_i, by cross products.

    Column i is n_i / det S with n_1 = s_2 x s_3 and so on round, and det S = s_1 . n_1. The
    division is kept apart, because most uses need one product with it only.
    """

    normals: tuple[Vector, Vector, Vector]
    determinant: Component
    over: Component  # 1 / det S

    def columns(self) -> list[Vector]:
        """The columns of S^-1."""
        return [times(normal, self.over) for normal in self.normals]

    def solve(self, right: Parts) -> Vector:
        """x with S x = right."""
        a, b, c = self.normals
        return tuple(
            (a[k] * right[0] + b[k] * right[1] + c[k] * right[2]) * self.over for k in range(3)
        )

    def solve_transposed(self, force: Parts) -> list[Component]:
        """lambda with S^T lambda = force."""
        return [dot(normal, force) * self.over for normal in self.normals]


def normals_of_rows(
    rows: Rows,
) -> tuple[tuple[Vector, Vector, Vector], Component]:
    """n_1 = s_2 x s_3 and so on round, and det S = s_1 . n_1, of three rows s_i."""
    first, second, third = rows
    normals = cross(second, third), cross(third, first), cross(first, second)
    return normals, dot(first, normals[0])


def inverse_of_rows(rows: Rows) -> Inverse:
    """The inverse of the matrix with these three rows; not finite where they are coplanar."""
    normals, determinant = normals_of_rows(rows)
    return Inverse(normals, determinant, 1 / determinant)


class Symmetric(NamedTuple):
    """A = L D L^T of a symmetric matrix: L with ones on its diagonal, D, and 1 / D.

    No square root is needed, and A is positive definite where all of D are positive.
    """

    L: Matrix
    D: list[Component]
    over: list[Component]

    def solve(self, right: Parts) -> list[Component]:
        """x with A x = right: down through L, across D, up through L^T."""
        n, L = len(right), self.L
        x: list[Component] = []
        for i in range(n):
            x.append(right[i] - sum(L[i][k] * x[k] for k in range(i)))
        x = [x[i] * self.over[i] for i in range(n)]
        for i in reversed(range(n)):
            x[i] = x[i] - sum(L[k][i] * x[k] for k in range(i + 1, n))
        return x


def factor_symmetric(A: Rows) -> Symmetric:
    """L D L^T of a symmetric matrix, of which the lower triangle is read."""
    n = len(A)
    L: Matrix = [[0.0] * n for _ in range(n)]
    D: list[Component] = []
    over: list[Component] = []
    for j in range(n):
        scaled = [L[j][k] * D[k] for k in range(j)]
        D.append(A[j][j] - sum(L[j][k] * scaled[k] for k in range(j)))
        over.append(1 / D[j])
        for i in range(j + 1, n):
            L[i][j] = (A[i][j] - sum(L[i][k] * scaled[k] for k in range(j))) * over[j]
    return Symmetric(L, D, over)


def solve_symmetric(A: Rows, right: Parts) -> list[Component]:
    """x with A x = right for a symmetric A, of which the lower triangle is read."""
    return factor_symmetric(A).solve(right)


def times_symmetric(A: Rows, x: Parts) -> list[Component]:
    """A x of a symmetric matrix, of which the lower triangle is read."""
    n = len(x)
    return [sum((A[i][j] if j <= i else A[j][i]) * x[j] for j in range(n)) for i in range(n)]


def accelerations_with_losses(
    xp: Any,
    M: Rows,
    needed: Parts,
    given: Parts,
    loss: Parts,
    rotor: Parts,
    rounds: int = GEAR_ROUNDS,
) -> list[Component]:
    """qdd where gears lose a share of the load that goes through them; NaN where none settles.

    given = load + rotor qdd + loss |load| with load = (M - rotor) qdd + needed, which is linear
    once the signs of the loads are known. They are guessed from `given` and corrected until they
    agree with the loads that follow from them. Dividing a row by 1 + loss sign keeps the matrix
    symmetric: A = M - rotor + rotor / (1 + loss sign).
    """
    n = len(given)
    behind = [
        [(M[i][j] if j <= i else M[j][i]) - (rotor[i] if i == j else 0.0) for j in range(n)]
        for i in range(n)
    ]

    def step(carry: Any) -> Any:
        sign, _, _ = carry
        scale = [1 / (1 + loss[i] * sign[i]) for i in range(n)]
        A = [list(row) for row in behind]
        for i in range(n):
            A[i][i] = behind[i][i] + rotor[i] * scale[i]
        qdd = solve_symmetric(A, [given[i] * scale[i] - needed[i] for i in range(n)])
        load = [sum(behind[i][j] * qdd[j] for j in range(n)) + needed[i] for i in range(n)]
        now = tuple(xp.where(load[i] == 0, sign[i], xp.sign(load[i])) for i in range(n))
        settled = now[0] == sign[0]
        for i in range(1, n):
            settled = settled & (now[i] == sign[i])
        return now, tuple(qdd), settled

    start = tuple(xp.sign(x) + 0.0 * y for x, y in zip(given, needed, strict=True))
    carry = start, start, start[0] != start[0]
    if xp is np:  # values can be looked at: stop where all have settled
        for _ in range(rounds):
            carry = step(carry)
            if np.all(carry[2]):
                break
        _, qdd, settled = carry
    else:
        _, qdd, settled = repeat(xp, rounds, step, carry)
    return [xp.where(settled, x, np.nan) for x in qdd]
