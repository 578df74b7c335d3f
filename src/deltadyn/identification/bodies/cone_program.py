"""Cone programs, solved by Clarabel: minimise 1/2 x'Px + q'x under affine cones.

A program is collected row by row: equations, half-spaces, semidefinite matrices and exponential
cones. The answer carries primal and dual objective, and each end of the solver has its sentence.

What data cannot identify stays near a prior by a distance of bodies that a program prices:
"euclidean", 1/2 w |G (u - u0)|^2 in scaled free variables, or in standard parameters over a scale
of their own [gnad2024] eq. 15; or "entropic", w times the log-det divergences of the
pseudo-inertias, and squares for friction.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.bodies import Bodies

MAX_ITERATIONS = 200
GAP = 1e-3  # of the tolerance: gap at which an objective near zero counts as solved

SENTENCES = {
    "Solved": "The solver reports an optimum.",
    "AlmostSolved": "The solver reports an optimum with reduced accuracy.",
    "PrimalInfeasible": "No values meet all constraints: they contradict each other.",
    "AlmostPrimalInfeasible": "No values seem to meet all constraints: they contradict each other.",
    "DualInfeasible": "The objective has no lower end: a direction is neither bounded nor priced.",
    "AlmostDualInfeasible": "The objective seems to have no lower end.",
    "MaxIterations": "The solver reached its limit of iterations before the optimum.",
    "MaxTime": "The solver reached its limit of time before the optimum.",
    "NumericalError": "The solver met numerical trouble before the optimum.",
    "InsufficientProgress": "The solver stopped making progress before the optimum.",
}


@dataclass(frozen=True, eq=False)
class ConeSolution:
    """x (n,), the duals of each cone in the order in which they were added, and the end's name."""

    x: FloatArray
    duals: tuple[FloatArray, ...]
    primal: float
    dual: float
    status: str
    iterations: int

    @property
    def sentence(self) -> str:
        """How the solver ended."""
        return SENTENCES.get(self.status, f"The solver ended with {self.status!r}.")

    @property
    def solved(self) -> bool:
        """Whether an optimum was found, with full or reduced accuracy."""
        return self.status in ("Solved", "AlmostSolved")


@dataclass(eq=False)
class ConeProgram:
    """minimise 1/2 x'Px + q'x over x (n,), with M x + b in a cone for every added part."""

    n: int
    P: FloatArray = field(init=False)
    q: FloatArray = field(init=False)
    _parts: list[tuple[str, FloatArray, FloatArray, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.P = np.zeros((self.n, self.n))
        self.q = np.zeros(self.n)

    def equal(self, M: FloatArray, b: FloatArray) -> None:
        """M x + b = 0, row by row."""
        self._parts.append(("zero", M, b, len(b)))

    def not_negative(self, M: FloatArray, b: FloatArray) -> None:
        """M x + b >= 0, row by row."""
        self._parts.append(("line", M, b, len(b)))

    def semidefinite(self, M: FloatArray, b: FloatArray) -> None:
        """sum_j x_j M[j] + b >= 0 as a matrix; M is (n, d, d), b (d, d), both symmetric."""
        d = len(b)
        self._parts.append(("matrix", triangle(M).T, triangle(b), d))

    def exponential(self, M: FloatArray, b: FloatArray) -> None:
        """M x + b = (u, v, w) with v exp(u/v) <= w, three rows."""
        self._parts.append(("exponential", M, b, 3))

    def solve(
        self, tolerance: float, max_iterations: int = MAX_ITERATIONS, rescale: bool = True
    ) -> ConeSolution:
        """Call Clarabel; whatever happens there is told by the status.

        `rescale` lets it scale rows and columns, which helps or loses digits.
        """
        import clarabel
        from scipy import sparse

        kinds = {
            "zero": clarabel.ZeroConeT,
            "line": clarabel.NonnegativeConeT,
            "matrix": clarabel.PSDTriangleConeT,
        }
        cones = [
            clarabel.ExponentialConeT() if kind == "exponential" else kinds[kind](size)
            for kind, _, _, size in self._parts
        ]
        A = sparse.csc_matrix(-np.concatenate([M for _, M, _, _ in self._parts]))
        b = np.concatenate([part[2] for part in self._parts])
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = max_iterations
        settings.tol_gap_rel = settings.tol_feas = tolerance
        settings.tol_gap_abs = GAP * tolerance
        settings.max_threads = 1
        settings.equilibrate_enable = rescale
        P = sparse.csc_matrix(np.triu(self.P))
        found = clarabel.DefaultSolver(P, self.q, A, b, cones, settings).solve()
        rows = np.cumsum([0] + [len(part[2]) for part in self._parts])
        z = np.asarray(found.z, dtype=np.float64)
        return ConeSolution(
            x=np.asarray(found.x, dtype=np.float64),
            duals=tuple(z[a:b] for a, b in pairwise(rows)),
            primal=float(found.obj_val),
            dual=float(found.obj_val_dual),
            status=str(found.status),
            iterations=int(found.iterations),
        )


def triangle(matrix: FloatArray) -> FloatArray:
    """The upper triangle of (..., d, d), column by column, with inner products kept."""
    d = matrix.shape[-1]
    columns, rows = np.tril_indices(d)  # column by column of the upper triangle
    factor = np.where(rows == columns, 1.0, np.sqrt(2.0))
    picked: FloatArray = matrix[..., rows, columns] * factor
    return picked


def square(triangular: FloatArray) -> FloatArray:
    """The symmetric matrix (d, d) of a triangle (d (d + 1) / 2,) as `triangle` gives it."""
    d = int((np.sqrt(8 * len(triangular) + 1) - 1) / 2)
    columns, rows = np.tril_indices(d)
    out = np.zeros((d, d))
    out[rows, columns] = triangular / np.where(rows == columns, 1.0, np.sqrt(2.0))
    out[columns, rows] = out[rows, columns]
    return out


# The log-det divergence between a body's pseudo-inertia and its prior, as cones.
#
# With P0 = L L' and M = L^-1 P L^-T it is tr M - log det M - d: zero at the prior, and without
# bound at the border of consistency. log det M is the largest sum of logarithms of the diagonal of
# a triangular Z with [[M, Z], [Z', diag Z]] positive semidefinite.


FLOOR = 1e-3  # of a body's reference size: a prior nearer to the border is moved inside


@dataclass(frozen=True, eq=False)
class Divergence:
    """tr M - log det M - d of one body, with M (d, d) = sum_k u_k F[k] + constant."""

    body: str
    F: FloatArray  # (k, d, d)
    constant: FloatArray  # (d, d)

    @property
    def order(self) -> int:
        """d of the matrix (d, d)."""
        return len(self.constant)

    @property
    def extra(self) -> int:
        """Variables that it adds to a program: Z and the logarithms; a scalar needs no Z."""
        d = self.order
        return d if d == 1 else d * (d + 1) // 2 + d

    def value(self, u: FloatArray) -> float:
        """The divergence at scaled free variables (k,); infinite on the border."""
        M = self.matrix(u)
        sign, logarithm = np.linalg.slogdet(M)
        return float(np.trace(M) - logarithm - self.order) if sign > 0 else float("inf")

    def matrix(self, u: FloatArray) -> FloatArray:
        """M (d, d) at scaled free variables (k,)."""
        return contract("k,kij->ij", u, self.F) + self.constant

    def tangent(self, u: FloatArray, W: FloatArray) -> tuple[FloatArray, float]:
        """Slope (k,) of a plane below the divergence, and how far below it lies at u.

        For every positive definite W the divergence is at least tr((1 - W) M) + log det W, and
        equal to it where W = M^-1.
        """
        M = self.matrix(u)
        below = np.trace(W @ M) - np.linalg.slogdet(M)[1] - np.linalg.slogdet(W)[1] - self.order
        return contract("kij,ji->k", self.F, np.eye(self.order) - W), float(below)

    @property
    def parts(self) -> int:
        """Number of cones that it adds to a program."""
        return 1 if self.order == 1 else self.order + 1

    def witness(self, duals: tuple[FloatArray, ...], weight: float, u: FloatArray) -> FloatArray:
        """W of `tangent` from the duals of its cones; M^-1 where they hold no such matrix."""
        d = self.order
        W = duals[0][2:] if d == 1 else square(duals[-1])[:d, :d]
        W = np.reshape(W, (d, d)) / weight
        if np.all(np.isfinite(W)) and np.linalg.eigvalsh(W)[0] > 0:
            return W
        return np.asarray(np.linalg.inv(self.matrix(u)), dtype=np.float64)

    def add(self, program: ConeProgram, start: int, weight: float) -> float:
        """Add weight * divergence; its variables begin at `start`. Returns the constant part."""
        d, k = self.order, len(self.F)
        program.q[:k] += weight * contract("kii->k", self.F)
        logs = start + self.extra - d
        program.q[logs : logs + d] -= weight
        if d == 1:
            M, b = np.zeros((3, program.n)), np.array([0.0, 1.0, self.constant[0, 0]])
            M[0, logs], M[2, :k] = 1.0, self.F[:, 0, 0]
            program.exponential(M, b)
            return weight * float(self.constant[0, 0] - 1)
        big = np.zeros((program.n, 2 * d, 2 * d))
        big[:k, :d, :d] = self.F
        constant = np.zeros((2 * d, 2 * d))
        constant[:d, :d] = self.constant
        place = start
        for i in range(d):
            for j in range(i + 1):  # Z is lower triangular
                big[place, i, d + j] = big[place, d + j, i] = 1.0
                if i == j:
                    big[place, d + i, d + i] = 1.0
                    M = np.zeros((3, program.n))
                    M[0, logs + i], M[2, place] = 1.0, 1.0
                    program.exponential(M, np.array([0.0, 1.0, 0.0]))
                place += 1
        program.semidefinite(big, constant)
        return weight * float(np.trace(self.constant) - d)


def divergences(bodies: Bodies, prior: FloatArray) -> tuple[tuple[Divergence, ...], frozenset[int]]:
    """The divergences of bodies, rotors and platform, and the free variables that they cover.

    Friction is left out. A prior on the border (a point mass, a thin rod) has no divergence: it is
    moved inside by `FLOOR` of the body's reference size.
    """
    S = bodies.T * bodies.scale
    parts, covered, start = [], set[int](), 0
    for body in bodies.bodies:
        own = range(start, start + len(body.variables))
        start = own.stop
        if body.kind in ("friction", "offset"):
            continue
        covered.update(own)
        for cone in body.cones:
            if cone.kind != "inertia":
                continue
            sizes = np.outer(cone.size, cone.size)
            P0 = cone.matrix(prior) / sizes
            values, vectors = np.linalg.eigh(P0)
            P0 = (vectors * np.maximum(values, FLOOR)) @ vectors.T
            inverse = np.linalg.inv(np.linalg.cholesky(P0)) / cone.size
            F = contract("mij,mk->kij", cone.F, S[list(cone.columns)])
            F = inverse @ F @ inverse.T
            parts.append(Divergence(body.name, F, inverse @ cone.constant @ inverse.T))
    return tuple(parts), frozenset(covered)


REGULARISATIONS = ("euclidean", "entropic")


@dataclass(frozen=True, eq=False)
class Regulariser:
    """weight * (1/2 |G u - target|^2 + sum of divergences); `count` terms make up a mean."""

    G: FloatArray  # (m, k)
    target: FloatArray  # (m,)
    divergences: tuple[Divergence, ...] = ()
    weight: float = 1.0

    @classmethod
    def of(
        cls, bodies: Bodies, prior: FloatArray, kind: str | None, scale: FloatArray | None = None
    ) -> Regulariser:
        """The distance from prior standard values (n,), with weight 1."""
        if kind is not None and kind not in REGULARISATIONS:
            raise UnknownNameError("regularisation", kind, REGULARISATIONS, or_else="None")
        k = len(bodies.scale)
        G = np.eye(k)
        u0 = bodies.variables_of(prior) / bodies.scale
        if kind is None:
            return cls(G[:0], u0[:0])
        if kind == "entropic":
            parts, covered = divergences(bodies, prior)
            rest = [j for j in range(k) if j not in covered]
            return cls(G[rest], u0[rest], parts)
        if scale is None:
            return cls(G, u0)
        if np.shape(scale) != prior.shape or not np.all(np.asarray(scale) > 0):
            raise InputError("scale", scale, f"{len(prior)} numbers above 0")
        used = bodies.T.any(axis=1)
        G = (bodies.T * bodies.scale)[used] / np.asarray(scale)[used, None]
        return cls(G, (prior / scale)[used])

    @property
    def count(self) -> int:
        """Number of terms: squares, and the orders of the matrices."""
        return len(self.G) + sum(part.order for part in self.divergences)

    def by_trust(self, freedom: FloatArray) -> Regulariser:
        """The same distance, in which a square counts by 1 / freedom^2 (m,)."""
        return replace(self, G=self.G / freedom[:, None], target=self.target / freedom)

    def weighted(self, weight: float) -> Regulariser:
        """The same distance with another weight."""
        return replace(self, weight=weight)

    def distance(self, u: FloatArray) -> float:
        """The distance at scaled free variables (k,), without the weight."""
        off = self.G @ u - self.target
        return float(off @ off) / 2 + sum(part.value(u) for part in self.divergences)

    def value(self, u: FloatArray) -> float:
        """weight * distance at scaled free variables (k,)."""
        return self.weight * self.distance(u) if self.weight and self.count else 0.0

    def tangent(
        self, u: FloatArray, duals: tuple[FloatArray, ...], unit: float
    ) -> tuple[FloatArray, float]:
        """Slope (k,) of a plane below `value`, and how far below it lies at u.

        `duals` are those of the divergences' cones in a program with that unit.
        """
        slope: FloatArray = self.G.T @ (self.G @ u - self.target)
        below, start = 0.0, 0
        for part in self.divergences:
            own = duals[start : start + part.parts]
            start += part.parts
            more, gap = part.tangent(u, part.witness(own, self.weight / unit, u))
            slope, below = slope + more, below + gap
        return self.weight * slope, self.weight * below

    @property
    def extra(self) -> int:
        """Variables that the divergences add to a program."""
        return sum(part.extra for part in self.divergences)

    def add(self, program: ConeProgram, start: int, unit: float) -> float:
        """Add weight / unit times the distance to a program; returns its constant part."""
        k, share = self.G.shape[1], self.weight / unit
        program.P[:k, :k] += share * self.G.T @ self.G
        program.q[:k] -= share * self.G.T @ self.target
        constant = share * float(self.target @ self.target) / 2
        for part in self.divergences:
            constant += part.add(program, start, share)
            start += part.extra
        return constant
