"""Physically consistent identification by the log-Cholesky chart [gnad2024] eqs. 12-16.

The parameters p(pi) of `log_charts` are consistent for every pi, so that an unconstrained method
minimises

    f(p) + weight/2 |(p - p_reg) / |p_reg||^2,      f = 1/2 |R1 K p - r|^2 + 1/2 rho^2

from the triangular factor of [Y tau] ([gnad2024] eq. 15, with its weights in the factor), with the
analytic derivative. In p the problem is convex, in pi it is not, and the border of consistency lies
at infinity: an optimum there is only crept up to. The result says so, and `finish="convex"` ends it
by the convex solve of the same objective. Hulls are no part of the chart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.identification.bodies.bodies import Bodies
from deltadyn.identification.bodies.charts import Chart, charts
from deltadyn.identification.bodies.cone_program import Regulariser
from deltadyn.identification.bodies.guesses import geometric_guess
from deltadyn.identification.methods.convex import Convex, ConvexResult, FactorFit, prior_vector
from deltadyn.identification.methods.rows import named, whole
from deltadyn.identification.problem import BODIES, Certificate, Problem, Solution, Solver

# Nonlinear least squares by a trust region, with a correction for the valley's curvature.
#
# Each step solves min |r + J s| within |s| <= radius by the singular values of J. In the logarithms
# of masses and inertias data draw narrow curved valleys, so half of the second derivative along the
# step is added (geodesic acceleration). It always ends, and says why.
#
# Why not scipy.optimize.least_squares: near the border of consistency a parameter runs to minus
# infinity and the valley bends, where steps without the correction get short. From six random
# starts each on five robots and families (100 states, tolerance 1e-9) this descent converges 30 of
# 30 times with 136 to 3,713 evaluations, at most 1.1e-5 above the convex optimum; "trf" converges
# 14 times and "lm" 17 times within 4,000 evaluations, they end up to 6e-3 above it and take 0.8 to
# 10 times as long.


LONGEST = 4.0  # of a step: a logarithm's factor e^4
PROBE = 0.1  # of the step: where the curvature is probed
MOST_BENT = 0.75  # of the step's length: a longer correction is not believed
NO_GAIN = 1e-8  # of the objective, in a row of steps
ROW = 10
SHORTEST = 1e-12  # of the radius


@dataclass(frozen=True, eq=False)
class Descent:
    """Where the descent ended, how many evaluations it took, and why it ended."""

    x: FloatArray
    evaluations: int
    reason: str
    converged: bool


@dataclass(frozen=True, eq=False)
class _Region:
    """The singular values of J, and the damping at which the step has the radius' length."""

    U: FloatArray
    s: FloatArray
    Vt: FloatArray
    damping: float

    @classmethod
    def of(cls, r: FloatArray, J: FloatArray, radius: float) -> _Region:
        U, s, Vt = np.linalg.svd(J, full_matrices=False)
        b, square = s * (U.T @ r), s**2

        def length(damping: float) -> float:
            step = b / (square + damping)
            return float(np.sqrt(step @ step))

        low = float(max((1e-15 * s[0]) ** 2, 1e-300))
        if length(low) <= radius:
            return cls(U, s, Vt, low)
        span = [np.log(low), np.log(max(float(np.linalg.norm(b)) / radius, 2 * low))]
        for _ in range(30):  # the step's length falls with the damping
            middle = (span[0] + span[1]) / 2
            span[1 if length(np.exp(middle)) <= radius else 0] = middle
        return cls(U, s, Vt, float(np.exp(span[1])))

    def solve(self, r: FloatArray) -> FloatArray:
        """The damped least-squares solution of J s = -r."""
        step: FloatArray = -self.Vt.T @ (self.s * (self.U.T @ r) / (self.s**2 + self.damping))
        return step


def descend(
    residual: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    x: FloatArray,
    *,
    unit: float,
    floor: float,
    limit: int,
) -> Descent:
    """Minimise 1/2 |r(x)|^2 + floor, with r and its derivative from `residual`.

    `unit` is the objective's least size in the test of progress, `limit` the most evaluations.
    """
    r, J = residual(x)
    value, radius, small, evaluations = float(r @ r) / 2, 1.0, 0, 1
    while evaluations < limit:
        region = _Region.of(r, J, radius)
        step = region.solve(r)
        hoped = value - float(np.sum((r + J @ step) ** 2)) / 2
        probe, _ = residual(x + PROBE * step)
        bend = 2 / PROBE * ((probe - r) / PROBE - J @ step)
        bent = region.solve(bend) / 2
        if np.linalg.norm(bent) <= MOST_BENT * np.linalg.norm(step):
            step = step + bent
        new_r, new_J = residual(x + step)
        evaluations += 2
        new = float(new_r @ new_r) / 2
        if not new <= value:
            radius = 0.3 * min(radius, float(np.linalg.norm(step)))
            if radius < SHORTEST:
                text = "The descent ended: no step makes the objective smaller."
                return Descent(x, evaluations, text, True)
            continue
        gain = value - new
        small = small + 1 if gain <= NO_GAIN * max(value + floor, unit) else 0
        x, r, J, value = x + step, new_r, new_J, new
        if gain > 0.7 * hoped:
            radius = min(2 * radius, LONGEST)
        elif gain < 0.2 * hoped:
            radius /= 2
        if small >= ROW:
            share = f"{NO_GAIN:.0e} of the objective"
            text = f"The descent ended: {ROW} steps in a row gained less than {share} each."
            return Descent(x, evaluations, text, True)
    text = f"The descent stopped at its limit of {limit} evaluations, before an optimum."
    return Descent(x, evaluations, text, False)


GUESSES = ("nominal", "geometric", "random")
STRENGTH = 1e-6  # of f_ls, per unit of the mean square
SPREAD = 0.5  # of the random start's logarithms and of its other parameters
ON_BORDER = 1e-5  # of a cone's reference size
LIFTS = 4  # descents after the first, each from inside the cone
LIFT = 0.03  # of the way to the interior
WORTH = 1e-6  # of the objective: what a lift must gain for another one


@dataclass(frozen=True, eq=False)
class LogCholeskyResult:
    """The consistent standard parameters that the chart's descent ends at.

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
        if self.reduction and bodies.family == "rigid":
            bodies = bodies.reduced()
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
        residual = _Residual(parts, fit, near)
        found = _descend(residual, pi, bodies, self.max_evaluations)
        result = _result(residual, found, bodies, K, self.finish is not None)
        if self.finish is None:
            return result
        options = Convex(prior=p_reg, weight=near.weight, scale=scale)
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
class _Residual:
    """Residuals of fit and regularisation, and their derivative, by the chart's parameters."""

    parts: tuple[Chart, ...]
    fit: FactorFit
    near: Regulariser

    def variables(self, pi: FloatArray) -> tuple[FloatArray, FloatArray]:
        """u (k,) and du/dpi (k, p); complex parameters give complex values."""
        values, blocks, start = [], [], 0
        for part in self.parts:
            stop = start + len(part.names)
            u, D = part.map(pi[start:stop])
            values.append(u)
            blocks.append(D)
            start = stop
        u = np.concatenate(values)
        J = np.zeros((u.size, pi.size), dtype=u.dtype)
        row = column = 0
        for D in blocks:
            J[row : row + D.shape[0], column : column + D.shape[1]] = D
            row, column = row + D.shape[0], column + D.shape[1]
        return u, J

    def total(self, pi: FloatArray) -> float:
        """The objective with its regularisation."""
        u = self.variables(pi)[0]
        return self.fit.value(u) + self.near.value(u)

    def __call__(self, pi: FloatArray) -> tuple[FloatArray, FloatArray]:
        u, J = self.variables(pi)
        root = np.sqrt(self.near.weight)
        A = np.concatenate([self.fit.B, root * self.near.G])
        b = np.concatenate([self.fit.c, root * self.near.target])
        return A @ u - b, A @ J


def _descend(residual: _Residual, pi: FloatArray, bodies: Bodies, limit: int) -> Descent:
    """Descents from the start, and from where the last one ended lifted off the border.

    At the border the chart's derivative vanishes, so that a descent can stay on a face that is not
    the optimum's.
    """
    fit = residual.fit
    settings = {"unit": fit.reference, "floor": fit.floor}
    best = descend(residual, pi, limit=limit, **settings)
    for _ in range(LIFTS):
        left = limit - best.evaluations
        u = residual.variables(best.x)[0]
        if left < 1 or _inertia_margin(bodies, u) > ON_BORDER:
            break
        inside = u + LIFT * (bodies.interior / bodies.scale - u)
        start = _parameters(bodies, residual.parts, inside)
        again = descend(residual, start, limit=left, **settings)
        gain = residual.total(best.x) - residual.total(again.x)
        worth = gain > WORTH * max(residual.total(best.x), fit.reference)
        end = again if gain > 0 else best
        best = replace(end, evaluations=best.evaluations + again.evaluations)
        if not worth:
            break
    return best


def _inertia_margin(bodies: Bodies, u: FloatArray) -> float:
    v = bodies.T @ (u * bodies.scale)
    return min(cone.margin(v) for cone in bodies.cones if cone.kind == "inertia")


def _parameters(bodies: Bodies, parts: tuple[Chart, ...], u: FloatArray) -> FloatArray:
    values, start = [], 0
    for part, body in zip(parts, bodies.bodies, strict=True):
        stop = start + len(body.variables)
        values.append(part.start(u[start:stop]))
        start = stop
    pi: FloatArray = np.concatenate(values)
    if not np.all(np.isfinite(pi)):
        raise InputError("guess", u, "bodies inside the cone of consistent ones")
    return pi


def _result(
    residual: _Residual, found: Descent, bodies: Bodies, K: FloatArray, goes_on: bool
) -> LogCholeskyResult:
    u = residual.variables(found.x)[0]
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
        status += (
            f" The optimum lies on the border of consistency ({', '.join(border)}), where the "
            "logarithm has no end and the descent only creeps"
        )
        status += "." if goes_on else "; finish='convex' ends it there."
    standard = bodies.standard(u * bodies.scale)
    names = [name for part in residual.parts for name in part.names]
    return LogCholeskyResult(
        standard=standard,
        x=K @ np.array(list(standard.values())),
        objective=residual.fit.value(u),
        unconstrained=residual.fit.floor,
        regularisation=residual.near.value(u),
        parameters=dict(zip(names, found.x.tolist(), strict=True)),
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
