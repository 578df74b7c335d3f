"""Physically consistent identification by the log-Cholesky chart [gnad2024] eqs. 12-16.

The parameters p(pi) of `charts` are consistent for every pi, so that a method without constraints
can minimise

    J = f(p) + weight/2 |(p - p_reg) / |p_reg||^2,      f = 1/2 |R1 K p - r|^2 + 1/2 rho^2

from the triangular factor of [Y tau] ([gnad2024] eq. 15, with its weights in the factor). Hulls are
no part of the chart. `finish="convex"` solves the same problem by a cone program, with a proof.

Steps along pi do not reach the optimum. What data do not identify is a valley that the chart bends,
with a curvature 1e12 times less along it than across: steps leave it unless they are short, and the
descent ends anywhere in it, with other bodies. On the border of consistency, which lies at infinity
of pi, the derivative vanishes, and the descent can stay on a face that is not the optimum's. So the
steps are straight in p, in which J is a quadratic and a valley is straight, and the logarithms keep
them inside: J + mu b is minimised, where

    b = sum over the cones of tr(C M) - log det M,      log det M = 2 sum of log diag(L),  M = L L',

is convex in p and least at M = C^-1, the bodies' interior point; log det M is linear in pi. As mu
falls its minima run to that of J, which is at most mu (nu + sum tr(C M)) below, nu the sum of the
orders of M. pi are the parameters of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.errors import InputError
from deltadyn.identification.bodies.bodies import Bodies
from deltadyn.identification.bodies.charts import LEAST, Chart, charts
from deltadyn.identification.bodies.cone_program import Regulariser
from deltadyn.identification.bodies.guesses import geometric_guess
from deltadyn.identification.methods.convex import (
    Convex,
    ConvexResult,
    FactorFit,
    Task,
    prior_vector,
)
from deltadyn.identification.methods.rows import named, whole
from deltadyn.identification.problem import BODIES, Certificate, Problem, Solution, Solver

GUESSES = ("nominal", "geometric", "random")
STRENGTH = 1e-6  # of f_ls, per unit of the mean square
SPREAD = 0.5  # of the random start's logarithms and of its other parameters
ON_BORDER = 1e-5  # of a cone's reference size
NOT_SINGULAR = 1e-14  # of a body's size: what rounding leaves of an answer's smallest eigenvalue


@dataclass(frozen=True)
class DescentSettings:
    """Numbers of the descent; tests sweep them.

    `max_gap` is what may be left to gain, by J above the least f without constraints (or by
    `least_share` of that f, where J is next to it); `max_rounding` the same where rounding ends the
    descent before. mu falls by the factor `decrease` from one minimum to the next: a larger fall
    takes fewer but longer searches, of at most `max_steps`. A minimum is reached where a step's
    expected gain is below `max_decrement` times mu.
    """

    max_gap: float = 1e-10
    max_rounding: float = 1e-6
    least_share: float = 1e-6
    decrease: float = 0.1
    max_decrement: float = 0.02
    max_steps: int = 60


@dataclass(frozen=True, eq=False)
class Descent:
    """Variables (k,) where the descent ended, how many evaluations it took, and why it ended."""

    u: FloatArray
    evaluations: int
    reason: str
    converged: bool


@dataclass(frozen=True, eq=False)
class LogCholeskyResult:
    """The consistent standard parameters of least J.

    `parameters` are the chart's, `border` names the bodies on the border of consistency,
    `objective` is f and `regularisation` the second term of [gnad2024] eq. 15. `certificate` is
    there where the convex solve ended it.
    """

    standard: dict[str, float]
    x: FloatArray
    objective: float
    unconstrained: float
    regularisation: float
    parameters: dict[str, float]
    evaluations: int
    status: str
    converged: bool
    border: tuple[str, ...]
    certificate: Certificate | None = None

    @property
    def vector(self) -> FloatArray:
        """Standard values (n,) in the order of the bodies' names."""
        return np.array(list(self.standard.values()))


@dataclass(frozen=True, eq=False)
class LogCholesky(Solver):
    """[gnad2024]: consistent bodies by log-Cholesky parameters, eqs. 12-16.

    `prior` is p_reg: the robot's own standard values, or the geometric ones where the guess is
    "geometric". `guess` is where the descent starts: "nominal" (the prior), "geometric", "random"
    about the nominal one by the seed of the fit, or standard values. `regularisation` is relative
    to the objective without constraints, per unit of the mean square; `weight` absolute, in its
    place. `reduction` drops what a Delta robot does not need, section VI. `finish="convex"` ends
    the descent by the convex solve of the same objective. `max_evaluations` limits it.
    """

    name: ClassVar[str] = "log-cholesky"
    model: ClassVar[str] = "rigid"
    models: ClassVar[tuple[str, ...]] = BODIES
    source: ClassVar[str] = "gnad2024"

    prior: Mapping[str, float] | FloatArray | None = None
    guess: str | Mapping[str, float] | FloatArray = "nominal"
    regularisation: float = STRENGTH
    weight: float | None = None
    reduction: bool = True
    finish: str | None = None
    max_evaluations: int = 4000
    settings: ClassVar[DescentSettings] = DescentSettings()

    def __post_init__(self) -> None:
        if self.finish is not None:
            named(self.finish, "finish", ("convex",), or_else="None")
        for name in ("regularisation", "weight"):
            number = getattr(self, name)
            if number is not None and not (np.isfinite(number) and number >= 0):
                raise InputError(name, number, "a number of at least 0")
        whole(self.max_evaluations, "max_evaluations", 1)
        if isinstance(self.guess, str):
            named(self.guess, "guess", GUESSES, or_else="standard values")

    def solve(self, problem: Problem) -> Solution:
        """The consistent bodies that the descent ends at."""
        bodies, K = problem.bodies(hull=False)
        found = self.minimise(problem.factor_with_held(), K, bodies, problem.seed)
        details = {
            "objective": found.objective,
            "unconstrained_objective": found.unconstrained,
            "regularisation": found.regularisation,
            "evaluations": found.evaluations,
            "variables": len(found.parameters),
            "border": list(found.border),
        }
        x = problem.completed(found.x[: problem.par.own])
        return Solution(
            x, found.status, found.converged, found.standard, found.certificate, details
        )

    def minimise(
        self, factor: FloatArray, K: FloatArray, bodies: Bodies, seed: int = 0
    ) -> LogCholeskyResult:
        """[gnad2024] eq. 15 from a factor (b+1, b+1), x = K v, minimised by the chart."""
        reduces = self.reduction and bodies.family == "rigid"
        if reduces or bodies.hull is not None:
            family = "reduced" if reduces else bodies.family
            bodies = Bodies.of(bodies.robot, bodies.names, family, tied=bodies.tied, hull=False)
        p_reg, start = self._start(bodies)
        fit = FactorFit.of(factor, K, bodies)
        scale = relative_scale(bodies, p_reg)
        near = Regulariser.of(bodies, p_reg, "euclidean", scale)
        relative = 2 * self.regularisation * fit.reference / near.count
        near = near.weighted(relative if self.weight is None else self.weight)
        parts = charts(bodies, start, self.reduction)
        pi = _parameters(bodies, parts, start)
        if isinstance(self.guess, str) and self.guess == "random":
            pi = pi + SPREAD * np.random.default_rng(seed).normal(size=pi.size)
        fixed = _fixed(bodies, parts, start)
        objective = _Objective(Task(fit, bodies, near, ()), tuple(fixed))
        found = descend(
            objective, _variables(bodies, parts, pi), self.max_evaluations, self.settings
        )
        result = _result(objective, found, parts, K)
        if self.finish is None:
            return result
        options = Convex(
            prior=p_reg,
            weight=near.weight,
            scale=scale,
            bounds={name: (value, value) for name, value in fixed.items()},
        )
        return _ended(result, options.minimise(factor, K, bodies))

    def _start(self, bodies: Bodies) -> tuple[FloatArray, FloatArray]:
        """p_reg (n,) and the start in scaled variables (k,)."""
        guess, shape = self.guess, None
        if isinstance(guess, str) and guess == "geometric":
            shape = bodies.vector(geometric_guess(bodies.robot, tied=bodies.tied))
        p_reg = prior_vector(bodies, self.prior)
        if shape is not None:
            first, p_reg = shape, shape if self.prior is None else p_reg
        else:
            first = p_reg if isinstance(guess, str) else prior_vector(bodies, guess)
        return p_reg, bodies.variables_of(first) / bodies.scale


def solve_log_cholesky(
    factor: FloatArray,
    K: FloatArray,
    bodies: Bodies,
    prior: Mapping[str, float] | FloatArray | None = None,
    *,
    seed: int = 0,
    **options: Any,
) -> LogCholeskyResult:
    """`LogCholesky` with these options on a factor of its own."""
    return LogCholesky(prior, **options).minimise(factor, K, bodies, seed)


def relative_scale(bodies: Bodies, p_reg: FloatArray) -> FloatArray:
    """|p_reg| (n,), the weights of [gnad2024] eq. 15; the body's reference where p_reg is 0."""
    size = np.abs(bodies.T) @ bodies.scale
    size[size == 0] = 1.0
    return np.where(np.abs(p_reg) > 1e-6 * size, np.abs(p_reg), size)


@dataclass(frozen=True, eq=False)
class _Objective:
    """J above the least f, 1/2 |A u - b|^2 in scaled free variables u (k,), and b of the cones.

    The variables of the bodies in `fixed` stay.
    """

    task: Task
    fixed: tuple[str, ...]

    @cached_property
    def A(self) -> FloatArray:
        """Rows of fit and regularisation."""
        return np.concatenate([self.task.fit.B, np.sqrt(self.task.near.weight) * self.task.near.G])

    @cached_property
    def b(self) -> FloatArray:
        """Their targets."""
        near = self.task.near
        return np.concatenate([self.task.fit.c, np.sqrt(near.weight) * near.target])

    @cached_property
    def free(self) -> BoolArray:
        """Which variables (k,) move."""
        bodies = self.task.bodies.bodies
        return np.array([body.name not in self.fixed for body in bodies for _ in body.variables])

    @cached_property
    def cones(self) -> tuple[tuple[FloatArray, FloatArray, FloatArray], ...]:
        """F (k, d, d), constant and C (d, d) of every cone M = sum_k u_k F_k + constant."""
        inside = self.task.bodies.interior / self.task.bodies.scale
        out = []
        for F, constant in self.task.matrices:
            if F[self.free].any():
                C = np.linalg.inv(contract("k,kij->ij", inside, F) + constant)
                out.append((F, constant, (C + C.T) / 2))
        return tuple(out)

    @cached_property
    def order(self) -> int:
        """nu, the sum of the orders of M."""
        return sum(len(constant) for _, constant, _ in self.cones)

    def at(self, u: FloatArray) -> _Point | None:
        """Values at variables (k,); None outside the cones."""
        try:
            factors = tuple(
                np.asarray(np.linalg.cholesky(contract("k,kij->ij", u, F) + C0), dtype=np.float64)
                for F, C0, _ in self.cones
            )
        except np.linalg.LinAlgError:
            return None
        residual = self.A @ u - self.b
        linear = sum(
            float(np.sum((L.T @ C @ L).diagonal()))
            for L, (_, _, C) in zip(factors, self.cones, strict=True)
        )
        logarithm = 2 * sum(float(np.log(L.diagonal()).sum()) for L in factors)
        return _Point(u, factors, residual, float(residual @ residual) / 2, linear, logarithm)

    def newton_step(self, point: _Point, mu: float) -> tuple[FloatArray, float]:
        """The step (k,) to the minimum of the second-order model of J + mu b, and its gain.

        With N_k = L^-1 F_k L^-T the model of b is 1/2 |sum_k N_k du_k + L' C L - 1|^2 by its
        entries, so that no normal equations are formed.
        """
        rows, right = [self.A], [point.residual]
        for L, (F, _, C) in zip(point.factors, self.cones, strict=True):
            inverse = np.linalg.inv(L)
            N = inverse @ F @ inverse.T
            rows.append(np.sqrt(mu) * N.reshape(len(F), -1).T)
            right.append(np.sqrt(mu) * (L.T @ C @ L - np.eye(len(L))).reshape(-1))
        X = np.concatenate(rows)[:, self.free]
        size = np.linalg.norm(X, axis=0)
        size[size == 0] = 1.0
        found = -np.linalg.lstsq(X / size, np.concatenate(right), rcond=1e-15)[0] / size
        step = np.zeros(point.u.size)
        step[self.free] = found
        return step, float(np.sum((X @ found) ** 2))


class _Point(NamedTuple):
    """Variables u (k,), the cones' factors L, A u - b, J above the least f, and the parts of b."""

    u: FloatArray
    factors: tuple[FloatArray, ...]
    residual: FloatArray
    value: float
    linear: float  # sum of tr(C M)
    logarithm: float  # sum of log det M

    def total(self, mu: float) -> float:
        """J + mu b."""
        return self.value + mu * (self.linear - self.logarithm)


def descend(objective: _Objective, u: FloatArray, limit: int, settings: DescentSettings) -> Descent:
    """The minimum of J from variables (k,) inside the cones, by those of J + mu b as mu falls."""
    point, evaluations = objective.at(u), 1
    if point is None:
        raise InputError("guess", u, "bodies inside the cone of consistent ones")
    least = settings.least_share * objective.task.fit.reference
    mu = max(point.value, least) / max(objective.order, 1)
    minimum, gap, missed = point, np.inf, 0
    while gap > settings.max_gap * max(minimum.value, least) and missed < 2:
        reached = False
        for _ in range(settings.max_steps):
            if evaluations >= limit:
                text = (
                    f"The descent stopped at its limit of {limit} evaluations, before an optimum."
                )
                return Descent(point.u, evaluations, text, False)
            step, gain = objective.newton_step(point, mu)
            reached = gain <= settings.max_decrement * mu
            if reached:
                break
            better, tried = _search(objective, point, step, gain, mu)
            evaluations += tried
            if better is None:
                break
            point = better
        missed = 0 if reached else missed + 1
        if reached:
            minimum, gap = point, mu * (objective.order + point.linear)
        mu *= settings.decrease
    if gap <= settings.max_rounding * max(minimum.value, least):
        share = gap / (minimum.value + objective.task.fit.reference)
        text = f"The optimum of J is reached: at most {share:.0e} of it is left to gain."
        return Descent(minimum.u, evaluations, text, True)
    text = "The descent ended before an optimum: rounding leaves no step that makes J smaller."
    return Descent(point.u, evaluations, text, False)


def _search(
    objective: _Objective, point: _Point, step: FloatArray, gain: float, mu: float
) -> tuple[_Point | None, int]:
    """The first point along a step that gains, and the evaluations; None where there is none."""
    share = 1.0
    for tried in range(1, 41):
        new = objective.at(point.u + share * step)
        if new is not None and new.total(mu) <= point.total(mu) - 1e-4 * share * gain:
            return new, tried
        share /= 2
    return None, 40


def _fixed(bodies: Bodies, parts: tuple[Chart, ...], start: FloatArray) -> dict[str, float]:
    """The bodies that their chart keeps at the start, and their values."""
    out = {}
    for part, rows in zip(parts, _places(bodies), strict=True):
        if not part.names:
            out[part.body] = float((start * bodies.scale)[rows][0])
    return out


def _places(bodies: Bodies) -> list[slice]:
    """Where the variables (k,) of every body are."""
    stops = np.cumsum([len(body.variables) for body in bodies.bodies])
    return [slice(b - len(x.variables), b) for x, b in zip(bodies.bodies, stops, strict=True)]


def _variables(bodies: Bodies, parts: tuple[Chart, ...], pi: FloatArray) -> FloatArray:
    """Variables (k,) of parameters (p,)."""
    stops = np.cumsum([len(part.names) for part in parts])
    return np.concatenate(
        [part.map(pi[b - len(part.names) : b])[0] for part, b in zip(parts, stops, strict=True)]
    )


def _parameters(bodies: Bodies, parts: tuple[Chart, ...], u: FloatArray) -> FloatArray:
    """Parameters (p,) of variables (k,), moved inside the cones where they are on the border."""
    pairs = zip(parts, _places(bodies), strict=True)
    pi: FloatArray = np.concatenate([part.start(u[rows], LEAST) for part, rows in pairs])
    if not np.all(np.isfinite(pi)):
        raise InputError("guess", u, "bodies inside the cone of consistent ones")
    return pi


def _result(
    objective: _Objective, found: Descent, parts: tuple[Chart, ...], K: FloatArray
) -> LogCholeskyResult:
    u, fit, bodies = found.u, objective.task.fit, objective.task.bodies
    v = bodies.T @ (u * bodies.scale)
    border = tuple(
        dict.fromkeys(
            cone.body
            for cone in bodies.cones
            if cone.kind == "inertia" and cone.margin(v) < ON_BORDER
        )
    )
    status = found.reason
    if border:
        status += f" It lies on the border of consistency ({', '.join(border)})."
    standard = bodies.standard(u * bodies.scale)
    parameters: dict[str, float] = {}
    for part, rows in zip(parts, _places(bodies), strict=True):
        parameters |= dict(zip(part.names, part.start(u[rows], NOT_SINGULAR).tolist(), strict=True))
    return LogCholeskyResult(
        standard=standard,
        x=K @ np.array(list(standard.values())),
        objective=fit.value(u),
        unconstrained=fit.floor,
        regularisation=objective.task.near.value(u),
        parameters=parameters,
        evaluations=found.evaluations,
        status=status,
        converged=found.converged,
        border=border,
    )


def _ended(result: LogCholeskyResult, ended: ConvexResult) -> LogCholeskyResult:
    """The result with the bodies and the proof of the convex solve, where that succeeds."""
    status = f"{result.status} Ended by the convex solve: {ended.status}"
    if not ended.converged:
        return replace(result, status=status)
    return replace(
        result,
        standard=ended.standard,
        x=ended.x,
        objective=ended.objective,
        regularisation=ended.regularisation,
        certificate=ended.certificate,
        converged=True,
        status=status,
    )
