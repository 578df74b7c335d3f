"""Cone programs, solved by Clarabel: minimise 1/2 x'Px + q'x under affine cones.

A program is collected row by row: equations, half-spaces, semidefinite matrices and exponential
cones. The answer carries primal and dual objective, and each end of the solver has its sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from deltadyn.arrays import FloatArray

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
