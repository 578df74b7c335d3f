"""Nonlinear least squares by a trust region, with a correction for the valley's curvature.

Each step solves min |r + J s| within |s| <= radius by the singular values of J. In the logarithms
of masses and inertias data draw narrow curved valleys, so half of the second derivative along the
step is added (geodesic acceleration). It always ends, and says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray

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
