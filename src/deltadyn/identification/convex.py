"""Physically consistent least squares: the global optimum under linear matrix inequalities.

From the triangular factor R = [[R1, r], [0, rho]] of [Y tau] and x = K v with the standard
parameters v of consistent bodies, it minimises

    f(v) = 1/2 |R1 K v - r|^2 + 1/2 rho^2        over the cones of `Bodies`,

half the sum of squared residuals. It is a convex problem, and the duals of the cones prove the
answer: the certificate is recomputed from them and trusts nothing that the solver says.

Data cannot tell all standard parameters apart. By default a tie-break in two steps keeps the rest
at the prior: first f plus squares so weak that they cost less than 1e-9 of the objective, then the
bodies nearest to the prior among those with the same x, by the distance that is asked for. Where
that second step is too narrow for the solver (bodies on the border of consistency), the first
answer stays. With a `strength` of its own the regularisation is part of the objective, in one step:

    f + strength * f_ls * g,    g the mean square of (u - prior) in scaled variables ("euclidean")
    or twice the mean log-det divergence of pseudo-inertias ("entropic").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies import Bodies
from deltadyn.identification.certificate import Certificate
from deltadyn.identification.cones import Cone
from deltadyn.identification.convex_program import Answer, Task, best_fit, nearest
from deltadyn.identification.factor_fit import FactorFit, prior_vector
from deltadyn.identification.regulariser import Regulariser

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


def solve_convex(
    factor: FloatArray,
    K: FloatArray,
    bodies: Bodies,
    prior: Mapping[str, float] | FloatArray | None = None,
    *,
    regularisation: str | None = "euclidean",
    strength: float | None = None,
    weight: float | None = None,
    scale: FloatArray | None = None,
    bounds: Mapping[str, tuple[float | None, float | None]] | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
) -> ConvexResult:
    """Minimise half the squared residuals of a factor (b+1, b+1) over consistent bodies.

    `K` (b, n) gives the factor's parameters from the bodies' standard ones. `prior` replaces the
    robot's own values. `strength` None breaks ties only; `weight` is the absolute weight of the
    distance (1/2 weight |u - u0|^2) in place of a strength. `scale` (n,) measures the distance in
    standard parameters, as [gnad2024] eq. 15 does. `bounds` limit standard parameters by name.
    """
    for name, number in (("strength", strength), ("weight", weight)):
        if number is not None and not (np.isfinite(number) and number >= 0):
            raise InputError(name, number, "a number of at least 0, or None")
    if strength is not None and weight is not None:
        raise InputError("weight", weight, "None where a strength is given")
    if scale is not None and regularisation != "euclidean":
        raise InputError("scale", scale, "None for a regularisation other than 'euclidean'")
    fit = FactorFit.of(factor, K, bodies)
    v0 = prior_vector(bodies, prior)
    near = Regulariser.of(bodies, v0, regularisation, scale)
    ties = strength is None and weight is None
    if ties:
        share = near if regularisation != "entropic" else Regulariser.of(bodies, v0, "euclidean")
        priced = share.weighted(2 * TIE_BREAK * fit.reference / max(share.count, 1))
    else:
        relative = 2 * (strength or 0.0) * fit.reference / max(near.count, 1)
        priced = near.weighted(relative if weight is None else weight)
    task = Task(fit, bodies, priced, _bounds(bodies, bounds))
    answer = best_fit(task, tolerance, max_iterations)
    u, proof = answer.u, answer.proof
    if ties and near.count and not answer.trouble:
        u = nearest(task, near, u, tolerance)
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
        status=answer.trouble or "The optimum is found and proved.",
        converged=not answer.trouble,
        active=() if answer.trouble else _active(task, answer, u),
    )


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
