"""Physically consistent least squares: the global optimum under linear matrix inequalities.

From the triangular factor R = [[R1, r], [0, rho]] of [Y tau] and x = K v with the standard
parameters v of consistent bodies, it minimises

    f(v) = 1/2 |R1 K v - r|^2 + 1/2 rho^2        over the cones of `Bodies`,

half the sum of squared residuals. It is a convex problem, and the duals of the cones prove the
answer: the certificate is recomputed from them and trusts nothing that the solver says.

Data cannot tell all standard parameters apart. By default a tie-break in two steps keeps the rest
at the prior: first f plus squares so weak that they cost less than 1e-9 of the objective, then the
bodies nearest to the prior among those with the same x, by the distance that is asked for. By
default that one counts what the robot file has a source for most, see `trust`. Where
that second step is too narrow for the solver (bodies on the border of consistency), the first
answer stays. With a `strength` of its own the regularisation is part of the objective, in one step:

    f + strength * f_ls * g,    g the mean square of (u - prior) in scaled variables ("euclidean")
    or twice the mean log-det divergence of pseudo-inertias ("entropic").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from deltadyn.arrays import FloatArray, contract
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.bodies import Bodies
from deltadyn.identification.bodies.body import Cone, Hull
from deltadyn.identification.bodies.cone_program import (
    REGULARISATIONS,
    ConeProgram,
    ConeSolution,
    Regulariser,
    square,
)
from deltadyn.identification.bodies.trust import freedom
from deltadyn.identification.methods.rows import named, positive, whole
from deltadyn.identification.problem import BODIES, Certificate, Problem, Solution, Solver

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


# The cone programs behind consistent least squares, and the proof of an answer.
#
# Slack. The squares are written about the unconstrained optimum, f(u) = 1/2 |B u - c|^2 + floor,
# and B u - c becomes a variable of its own: B u - slack y = c with the price 1/2 |y|^2. With slack
# = sqrt(unit) the program's objective is (f - floor) / unit. B has singular values over many
# decades and residuals are small beside torques; in this form neither a weak regularisation nor a
# small residual is lost in rounding: the solver sees numbers near 1. In the tie-break the same rows
# say B u = B u_found up to a slack far below the residual: x stays, what is not seen moves.
#
# Attempts. Which unit suits the solver depends on how far the constraints push the answer from the
# unconstrained optimum, which nobody knows before: f - floor is far below the floor on good data
# and many times above it where data contradict the bodies. So units from the floor upwards are
# tried, with and without the solver's own scaling, until a proof holds to `ENOUGH`; the best proof
# is kept. No attempt is believed: `prove` bounds the objective by the duals alone,
# and `_inside` moves the answer into the cones by what rounding needs.


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
#: What is proved, and what is not.
OPTIMUM = (
    "The optimum of this problem is found and proved; whether the model is true of the robot, "
    "held-out motion tells."
)
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


def nearest(
    task: Task, near: Regulariser, own: FloatArray, u: FloatArray, tolerance: float
) -> FloatArray:
    """The tie-break: nearest to the prior with B u as it is; u itself where nothing is gained.

    `own` (k,) is the prior: where it fits as well it is the answer, to its last digit.
    """
    fit = task.fit
    now = fit.value(u)
    values = task.bodies.T @ (own * task.bodies.scale)
    fits = fit.value(own) <= now + SAME_FIT * max(now, fit.reference)
    if fits and all(cone.margin(values) >= 0 for cone in task.cones):
        return own
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


TIE_BREAK = 1e-10  # of f_ls, per unit of g
ON_BORDER = 1e-5  # of a cone's reference size
PRICED = 1e-9  # of the objective: what a constraint costs at least to count as active


@dataclass(frozen=True)
class ActiveCone:
    """A constraint that the optimum touches, and its price: half squares per reference size."""

    body: str
    text: str
    price: float


@dataclass(frozen=True, eq=False)
class ConvexResult:
    """The consistent standard parameters that fit best, and the proof.

    `objective` is f, half the sum of squared (weighted) residuals, `unconstrained` its least value
    without constraints, `regularisation` the weighted distance from the prior; `certificate` holds
    primal and dual of objective + regularisation. `distance` is the root mean square distance from
    the prior in scaled variables.
    """

    standard: dict[str, float]
    x: FloatArray
    objective: float
    unconstrained: float
    regularisation: float
    distance: float
    certificate: Certificate
    iterations: int
    status: str
    converged: bool
    active: tuple[ActiveCone, ...]

    @property
    def vector(self) -> FloatArray:
        """Standard values (n,) in the order of the bodies' names."""
        return np.array(list(self.standard.values()))


@dataclass(frozen=True, eq=False)
class Convex(Solver):
    """The global optimum over consistent bodies, with its certificate.

    `hull` says where the mass of the bodies can be; False asks for consistency alone. `prior`
    replaces the robot's own standard values. `regularisation` is the distance from it:
    "euclidean", "entropic" or None. `strength` (relative to the objective without constraints, per
    unit of the mean square) makes it a part of the objective; None breaks ties only. `weight` is
    its absolute weight (1/2 weight |u - u0|^2) in place of a strength. `scale` (n,) measures the
    distance in standard parameters, as [gnad2024] eq. 15 does. `bounds` limit standard parameters
    by name, (low, high), None for no limit. `tolerance` and `max_iterations` are the solver's.
    """

    name: ClassVar[str] = "convex"
    finds_terms: ClassVar[bool] = True
    models: ClassVar[tuple[str, ...]] = BODIES

    hull: Hull | bool = True
    prior: Mapping[str, float] | FloatArray | None = None
    regularisation: str | None = "euclidean"
    strength: float | None = None
    weight: float | None = None
    scale: FloatArray | None = None
    bounds: Mapping[str, tuple[float | None, float | None]] | None = None
    tolerance: float = 1e-9
    max_iterations: int = 200

    def __post_init__(self) -> None:
        if self.regularisation is not None:
            named(self.regularisation, "regularisation", REGULARISATIONS, or_else="None")
        for name in ("strength", "weight"):
            number = getattr(self, name)
            if number is not None and not (np.isfinite(number) and number >= 0):
                raise InputError(name, number, "a number of at least 0, or None")
        if self.strength is not None and self.weight is not None:
            raise InputError("weight", self.weight, "None where a strength is given")
        if self.scale is not None and self.regularisation != "euclidean":
            allowed = "None for a regularisation other than 'euclidean'"
            raise InputError("scale", self.scale, allowed)
        positive(self.tolerance, "tolerance")
        whole(self.max_iterations, "max_iterations", 1)

    def solve(self, problem: Problem) -> Solution:
        """The consistent bodies of least weighted squares."""
        bodies, K = problem.bodies(self.hull)
        found = self.minimise(problem.factor_with_held(), K, bodies)
        details = {
            "objective": found.objective,
            "unconstrained_objective": found.unconstrained,
            "iterations": found.iterations,
            "active": [item.text for item in found.active],
        }
        x = problem.completed(found.x[: problem.par.own])
        limits = (self.bounds or {}).items()
        fixed = tuple(name for name, (low, high) in limits if low is not None and low == high)
        return Solution(
            x, found.status, found.converged, found.standard, found.certificate, details, fixed
        )

    def minimise(self, factor: FloatArray, K: FloatArray, bodies: Bodies) -> ConvexResult:
        """Half the squared residuals of a factor (b+1, b+1) over consistent bodies, minimised.

        `K` (b, n) gives the factor's parameters from the bodies' standard ones.
        """
        fit = FactorFit.of(factor, K, bodies)
        near, priced = self._distances(fit, bodies)
        task = Task(fit, bodies, priced, _bounds(bodies, self.bounds))
        answer = best_fit(task, self.tolerance, self.max_iterations)
        u, proof = answer.u, answer.proof
        if self._ties and near.count and not answer.trouble:
            own = bodies.variables_of(prior_vector(bodies, self.prior)) / bodies.scale
            u = nearest(task, near, own, u, self.tolerance)
            proof = Certificate.of(task.value(u), proof.dual, proof.reference)
        standard = bodies.standard(u * bodies.scale)
        return ConvexResult(
            standard=standard,
            x=K @ np.array(list(standard.values())),
            objective=fit.value(u),
            unconstrained=fit.floor,
            regularisation=priced.value(u),
            distance=float(np.sqrt(2 * near.distance(u) / near.count)) if near.count else 0.0,
            certificate=proof,
            iterations=answer.solution.iterations,
            status=answer.trouble or OPTIMUM,
            converged=not answer.trouble,
            active=() if answer.trouble else _active(task, answer, u),
        )

    @property
    def _ties(self) -> bool:
        """Whether the distance breaks ties only."""
        return self.strength is None and self.weight is None

    def _distances(self, fit: FactorFit, bodies: Bodies) -> tuple[Regulariser, Regulariser]:
        """The distance that is asked for, and what the first program prices of it."""
        v0 = prior_vector(bodies, self.prior)
        near = Regulariser.of(bodies, v0, self.regularisation, self.scale)
        if not self._ties:
            relative = 2 * (self.strength or 0.0) * fit.reference / max(near.count, 1)
            return near, near.weighted(relative if self.weight is None else self.weight)
        entropic = self.regularisation == "entropic"
        share = Regulariser.of(bodies, v0, "euclidean") if entropic else near
        if self.regularisation == "euclidean" and self.scale is None:
            near = near.by_trust(freedom(bodies))
        return near, share.weighted(2 * TIE_BREAK * fit.reference / max(share.count, 1))


def solve_convex(
    factor: FloatArray,
    K: FloatArray,
    bodies: Bodies,
    prior: Mapping[str, float] | FloatArray | None = None,
    **options: Any,
) -> ConvexResult:
    """`Convex` with these options on a factor of its own."""
    return Convex(prior=prior, **options).minimise(factor, K, bodies)


def _active(task: Task, answer: Answer, u: FloatArray) -> tuple[ActiveCone, ...]:
    """Cones on whose border the answer lies and that cost something, the dearest first."""
    out = []
    v = task.bodies.T @ (u * task.bodies.scale)
    for cone, dual in zip(task.cones, answer.duals, strict=True):
        price = float(np.linalg.norm(dual))
        if cone.margin(v) < ON_BORDER and price > PRICED * task.fit.reference:
            out.append(ActiveCone(cone.body, cone.text, price))
    return tuple(sorted(out, key=lambda item: -item.price))


def _bounds(
    bodies: Bodies, bounds: Mapping[str, tuple[float | None, float | None]] | None
) -> tuple[Cone, ...]:
    """Half-spaces for lower and upper bounds of standard parameters."""
    out = []
    for name, (low, high) in (bounds or {}).items():
        if name not in bodies.names:
            raise UnknownNameError("bounds", name, bodies.names)
        j = bodies.names.index(name)
        if low is not None and high is not None and low > high:
            raise InputError(f"bounds of {name}", [low, high], "low <= high")
        if not bodies.T[j].any():
            raise InputError("bounds", name, "a parameter that this family of bodies can move")
        size = np.sqrt(np.abs(bodies.T[j] * bodies.scale).max(keepdims=True))
        for limit, sign, word in ((low, 1.0, "below"), (high, -1.0, "above")):
            if limit is not None:
                text = f"{name} is not {word} {limit:g}"
                F, constant = np.array([[[sign]]]), np.array([[-sign * limit]])
                out.append(Cone(name, "bound", text, (j,), F, constant, size))
    return tuple(out)
