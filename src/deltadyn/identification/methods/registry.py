"""The methods by name: what each takes, and how it meets the common problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base import base_parameters, exact_base_map
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.bodies import Bodies, standard_parameters
from deltadyn.identification.bodies.body import Hull
from deltadyn.identification.methods.base import solve_base, solve_robust, torque_rms
from deltadyn.identification.problem import Certificate, Problem, Solution

LINEAR = ("exact", "rigid", "half-half", "euler-lagrange", "virtual-work", "gray-box")
BODIES = ("exact", "rigid")
BOX = 3.0  # times a parameter's value before: where a swarm starts


@dataclass(frozen=True)
class Method:
    """A method: its default model, the models it can fit, its options, its source.

    `alone` takes over the whole fit where a method has its own way with the data.
    """

    solve: Callable[..., Solution]
    model: str
    models: tuple[str, ...]
    options: tuple[str, ...]
    source: str
    alone: Callable[..., Any] | None = None

    def check(self, name: str, model: str | None, options: Mapping[str, Any]) -> None:
        """Refuse options and models that the method does not know."""
        for option in options:
            if option not in self.options:
                raise UnknownNameError(f"option of {name!r}", option, self.options)
        if model is not None and model not in self.models:
            raise UnknownNameError(f"model for {name!r}", model, self.models)


def method_by_name(name: str) -> Method:
    """The method of that name."""
    try:
        return METHODS[name]
    except (KeyError, TypeError):
        raise UnknownNameError("method", name, METHODS) from None


def bodies_of(problem: Problem, hull: Hull | bool = True) -> tuple[Bodies, FloatArray]:
    """The bodies behind the parameters, and K (k, n): parameters = K @ standard ones.

    Parameters that are held come behind the others, as in `factor_with_held`.
    """
    robot, par = problem.robot, problem.par
    names = (*par.names, *problem.held)
    if par.source == "rigid":
        base = base_parameters(robot, "rigid", par.tied, friction=True)
        rows = [base.independent.index(name) for name in names]
        bodies = Bodies.of(robot, base.standard, "rigid", tied=par.tied, hull=hull)
        return bodies, base.matrix[rows]
    standard = standard_parameters(robot, par.tied).names
    K = exact_base_map(robot, names, standard, par.tied)
    return Bodies.of(robot, standard, "exact", tied=par.tied, hull=hull), K


def solve_convex_method(problem: Problem, *, hull: Hull | bool = True, **options: Any) -> Solution:
    """The global optimum over consistent bodies, with its certificate."""
    from deltadyn.identification.methods.convex import solve_convex

    bodies, K = bodies_of(problem, hull)
    found = solve_convex(problem.factor_with_held(), K, bodies, **options)
    details = {
        "objective": found.objective,
        "unconstrained_objective": found.unconstrained,
        "iterations": found.iterations,
        "active": [item.text for item in found.active],
    }
    x = found.x[: len(problem.par.names)]
    return Solution(x, found.status, found.converged, found.standard, found.certificate, details)


def solve_log_cholesky_method(problem: Problem, **options: Any) -> Solution:
    """[gnad2024]: consistent bodies by log-Cholesky parameters."""
    from deltadyn.identification.methods.log_cholesky import solve_log_cholesky

    bodies, K = bodies_of(problem, hull=False)
    factor = problem.factor_with_held()
    found = solve_log_cholesky(factor, K, bodies, seed=problem.seed, **options)
    details = {
        "objective": found.objective,
        "unconstrained_objective": found.unconstrained,
        "regularisation": found.regularisation,
        "evaluations": found.evaluations,
        "variables": len(found.parameters),
        "border": list(found.border),
    }
    x = found.x[: len(problem.par.names)]
    return Solution(x, found.status, found.converged, found.standard, found.certificate, details)


def solve_l1(problem: Problem, **options: Any) -> Solution:
    """The global optimum of [kim2022] eq. 33, with its proof."""
    from deltadyn.identification.methods.l1 import least_absolute

    found = least_absolute(*problem.stacked(), **options)
    proof = Certificate(found.objective, found.bound, found.gap)
    details = {"objective": found.objective, "iterations": found.iterations}
    return Solution(found.x, found.status, found.converged, None, proof, details)


def solve_swarm(
    problem: Problem,
    *,
    lower: npt.ArrayLike | None = None,
    upper: npt.ArrayLike | None = None,
    **options: Any,
) -> Solution:
    """[kim2022]: a particle swarm on the sum of absolute residuals."""
    from deltadyn.identification.methods.swarm import swarm

    low, high = _box(problem)
    found = swarm(
        *problem.stacked(),
        low if lower is None else lower,
        high if upper is None else upper,
        seed=problem.seed,
        progress=problem.progress,
        **options,
    )
    details = {
        "objective": found.objective,
        "evaluations": found.evaluations,
        "history": found.history,
        "topology": found.topology,
        "neighbours_best": found.neighbours_best,
    }
    return Solution(found.x, found.status, details=details)


def solve_rls(problem: Problem, **options: Any) -> Solution:
    """Recursive least squares [kim2022] eq. 39, sample after sample."""
    from deltadyn.identification.methods.recursive import recursive_least_squares

    return _plain(recursive_least_squares(*problem.stacked(), **options))


def solve_damped(problem: Problem, **options: Any) -> Solution:
    """Damped least squares [kim2022] eq. 40."""
    from deltadyn.identification.methods.recursive import damped_least_squares

    return _plain(damped_least_squares(*problem.stacked(), **options))


def solve_svd(problem: Problem, **options: Any) -> Solution:
    """Least squares by a truncated singular value decomposition [kim2022]."""
    from deltadyn.identification.methods.recursive import truncated_svd

    return _plain(truncated_svd(*problem.stacked(), **options))


def solve_gray_box(problem: Problem, **options: Any) -> Solution:
    """[falezza2020]: rho1 and rho2 by grid, friction per joint, averaged over recordings."""
    from deltadyn.identification.methods.gray_box import gray_box

    if problem.parts is None:
        raise InputError("data", "information alone", "recordings: this method reads the samples")
    parts = list(problem.parts())
    found = gray_box(
        problem.robot,
        [(part.state, part.tau) for part in parts],
        limit=[part.limited for part in parts],
        **options,
    )
    values = {"rho1": found.rho1, "rho2": found.rho2}
    for axis in range(problem.robot.dof):
        values[f"Fv{axis + 1}"] = float(found.viscous[axis])
        values[f"Fc{axis + 1}"] = float(found.coulomb[axis])
    prior = dict(zip(problem.par.names, problem.par.prior, strict=True))
    x = np.array([values.get(name, prior[name]) for name in problem.par.names])
    return Solution(x, found.status, found.converged)


def _plain(found: Any) -> Solution:
    left_out = ("x", "status", "history", "covariance")  # as long as the data, or of no use here
    details = {key: value for key, value in vars(found).items() if key not in left_out}
    return Solution(found.x, found.status, details=details)


def _box(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Where a swarm starts: up to three times the values before; friction up to half the torque."""
    prior = np.abs(problem.par.prior)
    torque = float(torque_rms(problem.information).max())
    friction = np.array([name[0] == "F" or "." in name for name in problem.par.names])
    reach = np.where(friction, np.maximum(BOX * prior, torque / 2), BOX * prior)
    reach = np.maximum(reach, 1e-3 * max(float(reach.max()), 1e-12))
    return np.where(friction, -reach, 0.0), reach


def _two_step(robot: Any, recordings: Any, given: dict[str, Any]) -> Any:
    from deltadyn.identification.methods.two_step import two_step_fit

    return two_step_fit(robot, recordings, given)


METHODS: dict[str, Method] = {
    "swarm": Method(
        solve_swarm,
        "virtual-work",
        LINEAR,
        (
            "lower",
            "upper",
            "particles",
            "neighbours",
            "iterations",
            "inertia",
            "attraction",
            "topology",
            "neighbours_best",
            "draws",
            "bounds",
        ),
        "kim2022",
    ),
    "rls": Method(
        solve_rls,
        "virtual-work",
        LINEAR,
        ("forgetting", "initial_covariance", "prior"),
        "kim2022",
    ),
    "damped": Method(solve_damped, "virtual-work", LINEAR, ("damping",), "kim2022"),
    "svd": Method(solve_svd, "virtual-work", LINEAR, ("tolerance",), "kim2022"),
    "l1": Method(solve_l1, "exact", LINEAR, ("lower", "upper", "tolerance"), "past the papers"),
    "gray-box": Method(
        solve_gray_box, "gray-box", ("gray-box",), ("grid", "friction"), "falezza2020"
    ),
    "base": Method(solve_base, "exact", LINEAR, (), "gnad2024"),
    "log-cholesky": Method(
        solve_log_cholesky_method,
        "rigid",
        BODIES,
        (
            "prior",
            "guess",
            "regularisation",
            "weight",
            "reduction",
            "finish",
            "max_evaluations",
        ),
        "gnad2024",
    ),
    "two-step": Method(
        solve_base,
        "exact",
        ("exact", "projected-rod"),
        ("hold",),
        "telescopic2022",
        _two_step,
    ),
    "convex": Method(
        solve_convex_method,
        "exact",
        BODIES,
        (
            "hull",
            "prior",
            "regularisation",
            "strength",
            "weight",
            "scale",
            "bounds",
            "tolerance",
            "max_iterations",
        ),
        "past the papers",
    ),
    "robust": Method(solve_robust, "exact", LINEAR, ("threshold", "passes"), "past the papers"),
}
