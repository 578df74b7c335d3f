"""Least squares on the information: base parameters, weights of the axes, and Huber's weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.errors import InputError
from deltadyn.identification.information import Information, triangle
from deltadyn.identification.methods.rows import one_each, positive, whole
from deltadyn.identification.parametrisation import Parametrisation
from deltadyn.identification.problem import Problem, Solution, Solver

PASSES = 10  # over the weights of the axes
SETTLED = 1e-6  # relative change of the weights that ends them
HUBER = 1.345  # deviations: 95 % efficient where residuals are normal
NORMAL = 1.4826  # standard deviation per median of absolute values
ROUNDING = 1e-9  # of the torque: residuals below are none


@dataclass(frozen=True)
class Base(Solver):
    """Weighted least squares for the base parameters [gnad2024], from the factor alone."""

    name: ClassVar[str] = "base"
    finds_terms: ClassVar[bool] = True
    source: ClassVar[str] = "gnad2024"

    def solve(self, problem: Problem) -> Solution:
        """x of least |R (x, -1)|."""
        x = solved(problem.factor())
        return Solution(x, "Weighted least squares for the base parameters; nothing was bounded.")


@dataclass(frozen=True)
class Robust(Solver):
    """Huber's estimate: residuals beyond `threshold` deviations of their axis count less.

    `passes` are at most made over the weights.
    """

    name: ClassVar[str] = "robust"
    finds_terms: ClassVar[bool] = True

    threshold: float = HUBER
    passes: int = 50

    def __post_init__(self) -> None:
        positive(self.threshold, "threshold", unit="number of deviations")
        whole(self.passes, "passes", 1)

    def solve(self, problem: Problem) -> Solution:
        """Least squares again and again, with weights from the last residuals."""
        x = solved(problem.factor())
        scale = _spread(problem, x)
        for count in range(1, self.passes + 1):
            new, light = _reweighted(problem, x, scale * self.threshold)
            change = np.abs(new - x) / np.maximum(np.abs(new), 1e-12)
            x = new
            scale = _spread(problem, x)
            if change.max() < 1e-7:
                status = (
                    f"Huber's estimate after {count} passes; {100 * light:.2g} % of the residuals "
                    f"lie beyond {self.threshold:g} deviations and count less."
                )
                return Solution(x, status, details={"passes": count, "light_share": light})
        status = f"Huber's weights did not settle in {self.passes} passes; the last change was "
        return Solution(x, f"{status}{change.max():.1e}.", converged=False)


def solved(factor: FloatArray) -> FloatArray:
    """x (k,) that minimises |R (x, -1)|, with columns scaled to length 1."""
    from scipy.linalg import solve_triangular  # takes longer than the rest of the import

    k = len(factor) - 1
    R, target = factor[:k, :k], factor[:k, k]
    length = np.linalg.norm(R, axis=0)
    if not (length > 0).all() or np.abs(np.diag(R)).min() == 0:
        raise InputError("rank of the columns", int(np.linalg.matrix_rank(R)), f"{k}")
    x: FloatArray = solve_triangular(R / length, target) / length
    return x


def residual_rms(reduced: FloatArray, information: Information, x: FloatArray) -> FloatArray:
    """Root mean square of the residuals (dof,) in N m, from reduced factors."""
    left = contract("bamk,k->bam", reduced, np.append(x, -1.0))
    rms: FloatArray = np.sqrt(contract("bam,bam->a", left, left) / information.counts)
    return rms


def torque_rms(information: Information) -> FloatArray:
    """Root mean square of the measured torque (dof,) in N m, in the band of the fit."""
    last = information.factors[..., -1]
    rms: FloatArray = np.sqrt(contract("bam,bam->a", last, last) / information.counts)
    return rms


def axis_weights(information: Information, par: Parametrisation) -> FloatArray:
    """1 / residual deviation of each axis (dof,), iterated with the fit that they weight."""
    reduced = information.reduced(par)
    torque = torque_rms(information)
    floor = np.maximum(ROUNDING * torque, 1e-12 * max(float(torque.max()), 1e-300))
    weights = 1 / np.maximum(torque, floor)
    for _ in range(PASSES):
        x = least(information.factor_of(reduced, weights))
        new = 1 / np.maximum(residual_rms(reduced, information, x), floor)
        change = float(np.abs(new / weights - 1).max())
        weights = new
        if change < SETTLED:
            break
    return weights


def least(factor: FloatArray) -> FloatArray:
    """Least squares, of least norm where columns depend on each other."""
    k = len(factor) - 1
    length = np.linalg.norm(factor[:, :k], axis=0)
    length[length == 0] = 1.0
    x: FloatArray = np.linalg.lstsq(factor[:, :k] / length, factor[:, k], rcond=1e-10)[0] / length
    return x


# Sums of absolute residuals have no room for a prior: a square beside them is no linear program,
# and an absolute value instead would say something else of the parameter. So methods that minimise
# such sums hold what has a prior where least squares, prior counted in, put it.


class Remaining(NamedTuple):
    """Weighted rows Y (rows, f) and torque (rows,) of the f parameters that stay `free` (k,).

    `x` (k,) has the values of those that do not.
    """

    Y: FloatArray
    tau: FloatArray
    x: FloatArray
    free: BoolArray

    def completed(self, free: FloatArray) -> FloatArray:
        """x (k,) with the free parameters in their places."""
        x = self.x.copy()
        x[self.free] = free
        return x

    def bounds(
        self, given: npt.ArrayLike | None, own: int, none: float, quantity: str
    ) -> FloatArray | None:
        """Bounds (f,) from those of the robot's `own` parameters; those of a log have `none`."""
        if given is None:
            return None
        values = one_each(given, own, quantity)
        return np.append(values, np.full(len(self.free) - own, none))[self.free]

    def words(self, names: Sequence[str]) -> str:
        """What was held, in a sentence; empty where nothing was."""
        held = [name for name, free in zip(names, self.free, strict=True) if not free]
        return f" {', '.join(held)} stayed where least squares put it." if held else ""


def remaining(problem: Problem, held: BoolArray) -> Remaining:
    """All weighted rows, with parameters `held` (k,) at their least-squares values."""
    Y, tau = problem.stacked()
    if not held.any():
        return Remaining(Y, tau, np.zeros(len(held)), ~held)
    x = least(problem.factor())
    return Remaining(Y[:, ~held], tau - Y[:, held] @ x[held], np.where(held, x, 0.0), ~held)


def _reweighted(problem: Problem, x: FloatArray, bound: FloatArray) -> tuple[FloatArray, float]:
    """One pass of Huber's weights, and the share of residuals that count less.

    Prior rows are no residuals: they keep their weight.
    """
    collected = problem.prior_rows
    light, total = 0, 0
    for Y, tau, keep in problem.rows():
        size = np.abs(tau - Y @ x)
        weight = np.sqrt(np.minimum(1.0, bound / np.maximum(size, 1e-300))) * problem.weights
        light += int((size > bound)[keep].sum())
        total += int(keep.sum())
        rows = np.concatenate([Y, tau[..., None]], axis=2) * weight[..., None]
        new = triangle(rows.reshape(-1, rows.shape[2]))
        collected = triangle(np.concatenate([collected, new])) if len(collected) else new
    return solved(collected), light / max(total, 1)


def _spread(problem: Problem, x: FloatArray) -> FloatArray:
    """Deviation of the residuals of each axis (dof,) by the median, which outliers do not move."""
    sizes = np.concatenate([np.abs(tau - Y @ x) for Y, tau, _ in problem.rows()])
    torque = np.concatenate([np.abs(tau) for _, tau, _ in problem.rows()])
    keep = np.concatenate([kept for _, _, kept in problem.rows()])
    floor = ROUNDING * np.maximum(torque.max(axis=0), 1e-300)
    axes = zip(sizes.T, keep.T, strict=True)
    middle = [float(np.median(size[kept])) if kept.any() else 0.0 for size, kept in axes]
    spread: FloatArray = np.maximum(NORMAL * np.array(middle), floor)
    return spread
