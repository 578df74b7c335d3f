"""The cone programs behind consistent least squares, and the proof of an answer.

The squares are written about the unconstrained optimum and the program's unit is a multiple of the
least objective, so that neither a weak regularisation nor a small residual is lost in rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.identification.bodies import Bodies
from deltadyn.identification.certificate import Certificate
from deltadyn.identification.cone_program import ConeProgram, ConeSolution, square
from deltadyn.identification.cones import Cone
from deltadyn.identification.factor_fit import FactorFit
from deltadyn.identification.regulariser import Regulariser

#: The program's unit by the least objective, and whether the solver may rescale; tried in turn.
ATTEMPTS = (
    (1e2, False),
    (1.0, True),
    (1e2, True),
    (1.0, False),
    (1e4, False),
    (1e7, False),
    (1e10, False),
    (1e13, False),
)
FINER = 1e-2  # of the tolerance: what the solver is asked for in those units
SAME_FIT = 1e-9  # of the objective: what the tie-break may cost
SLACK = 1e-9  # of the residual's norm: room for x in the tie-break
TIE_ITERATIONS = 60
MOST_INWARD = 1e-6  # share of the way to the interior that rounding may need
PROVED = 1e-6  # of the objective: the largest gap of a proof
ENOUGH = 1e-8  # of the objective: a gap at which no other attempt is made
REACH = 10.0  # scales of a variable, or times its value: the proof holds that far from the answer
NOT_SINGULAR = 1e-13  # of a cone's reference size: where a log-det divergence is asked for


@dataclass(frozen=True, eq=False)
class Answer:
    """A point u (k,) inside the cones, the dual matrices of the cones, its proof and its end.

    `trouble` says why it is not the optimum; it is empty where it is.
    """

    u: FloatArray
    duals: tuple[FloatArray, ...]
    proof: Certificate
    solution: ConeSolution
    trouble: str


@dataclass(frozen=True, eq=False)
class Task:
    """minimise f(u) + regularisation over the bodies' cones and bounds, in scaled variables u."""

    fit: FactorFit
    bodies: Bodies
    near: Regulariser
    bounds: tuple[Cone, ...]

    @property
    def cones(self) -> tuple[Cone, ...]:
        """The bodies' cones, then the bounds."""
        return (*self.bodies.cones, *self.bounds)

    @cached_property
    def matrices(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """F (k, d, d) and constant (d, d) of each cone's sum u_k F[k] + constant, in its sizes."""
        S = self.bodies.T * self.bodies.scale
        out = []
        for cone in self.cones:
            sizes = np.outer(cone.size, cone.size)
            F = contract("mij,mk->kij", cone.F / sizes, S[list(cone.columns)])
            out.append((F, cone.constant / sizes))
        return tuple(out)

    def value(self, u: FloatArray) -> float:
        """f and regularisation."""
        return self.fit.value(u) + self.near.value(u)

    def program(self, slack: float, target: FloatArray) -> tuple[ConeProgram, int]:
        """Variables u and y with B u - slack y = target, under all cones; 1/2 |y|^2 is priced."""
        k, rank = self.fit.B.shape[1], len(self.fit.c)
        program = ConeProgram(k + rank + self.near.extra)
        program.P[range(k, k + rank), range(k, k + rank)] = 1.0
        size = np.linalg.norm(self.fit.B, axis=1)
        M = np.zeros((rank, program.n))
        M[:, :k] = self.fit.B / size[:, None]
        M[:, k : k + rank] = -np.diag(slack / size)
        program.equal(M, -target / size)
        for F, constant in self.matrices:
            full = np.zeros((program.n, *constant.shape))
            full[:k] = F
            if len(constant) == 1:
                program.not_negative(full[:, 0, 0][None, :], constant[0])
            else:
                program.semidefinite(full, constant)
        return program, k + rank


def best_fit(task: Task, tolerance: float, limit: int) -> Answer:
    """The optimum; where no attempt proves one, the first attempt and its trouble."""
    kept: Answer | None = None
    for factor, rescale in ATTEMPTS:
        unit = factor * task.fit.reference
        program, start = task.program(float(np.sqrt(unit)), task.fit.c)
        task.near.add(program, start, unit)
        found = program.solve(FINER * tolerance, limit, rescale)
        u, trouble = _inside(task, found)
        count = 1 + len(task.cones)
        duals = tuple(unit * square(dual) for dual in found.duals[1:count])
        if found.solved:
            slope, below = task.near.tangent(u, found.duals[count:], unit)
            proof = prove(task, u, duals, slope, below)
        else:
            proof = Certificate.of(task.value(u), -np.inf, task.fit.reference)
        answer = Answer(u, duals, proof, found, trouble)
        if kept is None or _better(answer, kept):
            kept = answer
        if not trouble and answer.proof.holds(ENOUGH):
            break
    assert kept is not None
    if kept.trouble or kept.proof.holds(PROVED):
        return kept
    unproved = f"{kept.solution.sentence} It is not proved: {kept.proof.sentence}"
    return Answer(kept.u, kept.duals, kept.proof, kept.solution, unproved)


def _better(new: Answer, old: Answer) -> bool:
    if new.trouble:
        return False
    return bool(old.trouble) or new.proof.relative < old.proof.relative


def prove(
    task: Task, u: FloatArray, duals: tuple[FloatArray, ...], slope: FloatArray, below: float
) -> Certificate:
    """A lower bound of the objective from the cones' duals, whatever the solver says of them.

    `slope` and `below` are a plane under the regularisation. For any d = u' - u with u' in the
    cones and any positive semidefinite Z, by convexity F(u') >= F(u) - below - sum <Z, M(u)> +
    rest.d + 1/2 |B d|^2 with rest = f'(u) + slope - sum <Z, M'>. What the data see of `rest` is
    paid by the square; the other part is bounded within `REACH` of the answer.
    """
    fit, overlap = task.fit, below
    rest = fit.B.T @ (fit.B @ u - fit.c) + slope
    for (F, constant), dual in zip(task.matrices, duals, strict=True):
        values, vectors = np.linalg.eigh(dual)
        Z = (vectors * np.maximum(values, 0.0)) @ vectors.T
        rest = rest - contract("kij,ij->k", F, Z)
        overlap += float(np.sum((contract("k,kij->ij", u, F) + constant) * Z))
    reach = REACH * float(np.linalg.norm(np.maximum(np.abs(u), 1.0)))
    size = np.linalg.norm(fit.B, axis=1)
    V = fit.B / size[:, None]  # orthonormal rows
    seen = V @ rest
    paid = np.minimum((seen / size) ** 2 / 2, np.abs(seen) * reach)
    unseen = rest - V.T @ seen
    loss = overlap + float(paid.sum()) + float(np.linalg.norm(unseen)) * reach
    value = task.value(u)
    return Certificate.of(value, value - loss if np.isfinite(loss) else -np.inf, fit.reference)


def nearest(task: Task, near: Regulariser, u: FloatArray, tolerance: float) -> FloatArray:
    """The tie-break: nearest to the prior with B u as it is; u itself where nothing is gained."""
    fit = task.fit
    now = fit.value(u)
    again = Task(fit, task.bodies, near.weighted(2 / near.count), task.bounds)
    room = SLACK * float(np.sqrt(2 * max(now, fit.reference)))
    best = u
    for rescale in (True, False):
        program, start = again.program(room, fit.B @ u)
        again.near.add(program, start, 1.0)
        other, trouble = _inside(again, program.solve(tolerance, TIE_ITERATIONS, rescale))
        same = fit.value(other) <= now + SAME_FIT * max(now, fit.reference)
        if same and not trouble and near.distance(other) < near.distance(best):
            return other
    return best


def _inside(task: Task, found: ConeSolution) -> tuple[FloatArray, str]:
    """The solver's answer moved into the cones by what its rounding needs, and what is wrong."""
    bodies = task.bodies
    u = found.x[: len(bodies.scale)]
    if not np.all(np.isfinite(u)):
        return bodies.interior / bodies.scale, found.sentence
    least = NOT_SINGULAR if task.near.divergences else 0.0
    z, share = bodies.inward(u * bodies.scale, least)
    if not found.solved:
        return z / bodies.scale, found.sentence
    if share > MOST_INWARD:
        outside = f"Its answer lies outside the cones by {share:.1e} of the way to their inside."
        return z / bodies.scale, f"{found.sentence} {outside}"
    missed = [cone.text for cone in task.bounds if cone.margin(bodies.T @ z) < -MOST_INWARD]
    if missed:
        return z / bodies.scale, f"{found.sentence} But not so in its answer: {missed[0]}."
    return z / bodies.scale, ""
