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

    def column(self, i: int, factor: Component) -> Vector:
        """Column i of S^-1, times a factor."""
        return times(self.normals[i], factor * self.over)

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


class PlaneInverse(NamedTuple):
    """S^-1 of a matrix S with two rows of two."""

    first: Parts
    second: Parts
    determinant: Component
    over: Component  # 1 / det S

    def column(self, i: int, factor: Component) -> Vector:
        """Column i of S^-1, times a factor."""
        own = self.second if i == 0 else self.first
        scale = factor * self.over
        return (own[1] * scale, -own[0] * scale) if i == 0 else (-own[1] * scale, own[0] * scale)

    def columns(self) -> list[Vector]:
        """The columns of S^-1."""
        return [self.column(0, 1.0), self.column(1, 1.0)]

    def solve(self, right: Parts) -> Vector:
        """x with S x = right."""
        (a, b), (c, d) = self.first[:2], self.second[:2]
        return (
            (d * right[0] - b * right[1]) * self.over,
            (a * right[1] - c * right[0]) * self.over,
        )

    def solve_transposed(self, force: Parts) -> list[Component]:
        """lambda with S^T lambda = force."""
        (a, b), (c, d) = self.first[:2], self.second[:2]
        return [
            (d * force[0] - c * force[1]) * self.over,
            (a * force[1] - b * force[0]) * self.over,
        ]


class PairsInverse(NamedTuple):
    """S^-1 of four struts in two pairs, each on a half of the platform.

    Row i is (s_i, sigma s_i.a rate), with the offset sigma of the strut's half along the direction
    `a` that the fourth coordinate moves at `rate`: the halves' velocities differ by L a rate xd_4,
    L = sigma_1 - sigma_2. N12 = s_1 x s_2 and N34 = s_3 x s_4 are normal to the pairs, and
    det S = rate L N12.(N34 x a).
    """

    rods: Sequence[Parts]
    along: Vector
    sigma: tuple[Component, Component]
    rate: Component
    normals: tuple[Vector, Vector]
    determinant: Component  # N12.(N34 x a)

    @classmethod
    def of(
        cls, rods: Sequence[Parts], along: Vector, sigma: tuple[Any, Any], rate: Any
    ) -> PairsInverse:
        """The inverse for these struts."""
        normals = cross(rods[0], rods[1]), cross(rods[2], rods[3])
        return cls(rods, along, sigma, rate, normals, dot(normals[0], cross(normals[1], along)))

    def column(self, i: int, factor: Component) -> Vector:
        """Column i of S^-1, times a factor."""
        return self.solve([factor if j == i else 0.0 for j in range(4)])

    def columns(self) -> list[Vector]:
        """The columns of S^-1."""
        return [self.column(i, 1.0) for i in range(4)]

    def solve(self, right: Parts) -> Vector:
        """x with S x = right: v1 of half 1 solves s_1.v1 = r_1, s_2.v1 = r_2 but for N12, v2 alike.

        v1 - v2 = L a w fixes what is free along N12, and w = rate x_4.
        """
        (n12, n34), a, (first, second) = self.normals, self.along, self.sigma
        one = _held(self.rods[0], self.rods[1], n12, right[0], right[1])
        two = _held(self.rods[2], self.rods[3], n34, right[2], right[3])
        apart = tuple(two[k] - one[k] for k in range(3))
        over = 1 / self.determinant
        free = dot(apart, cross(n34, a)) * over
        w = -dot(apart, cross(n12, n34)) * over * (1 / (first - second))
        v = tuple(one[k] + free * n12[k] - first * w * a[k] for k in range(3))
        return (*v, w * (1 / self.rate))

    def solve_transposed(self, force: Parts) -> list[Component]:
        """lambda with S^T lambda = force: f1, f2 on the halves, each in the plane of its pair."""
        (n12, n34), a, (first, second) = self.normals, self.along, self.sigma
        across = force[3] * (1 / self.rate) - second * dot(a, force)
        t = across * (1 / (first - second))
        lead, over = dot(n34, force), 1 / self.determinant
        turned, both = cross(a, n12), cross(n12, n34)
        f1 = tuple((lead * turned[k] + t * both[k]) * over for k in range(3))
        f2 = tuple(force[k] - f1[k] for k in range(3))
        found: list[Component] = []
        for own, other, normal, f in (
            (self.rods[0], self.rods[1], n12, f1),
            (self.rods[2], self.rods[3], n34, f2),
        ):
            square = 1 / dot(normal, normal)
            found += [dot(cross(f, other), normal) * square, dot(cross(own, f), normal) * square]
        return found


def _held(a: Parts, b: Parts, n: Parts, first: Component, second: Component) -> Vector:
    """The shortest v with a.v = first and b.v = second, n = a x b."""
    over = 1 / dot(n, n)
    x, y = cross(b, n), cross(n, a)
    return tuple((first * x[k] + second * y[k]) * over for k in range(3))


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
