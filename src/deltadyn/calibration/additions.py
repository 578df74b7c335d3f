"""What one more measurement would add to those that are there.

Positions over the workspace count after the best alignment, because no frame is asked for. With M
of all numbers and rows a of one more measurement, the mean variance loses |a M^-1 V M^-1 a^T| over
1 + a M^-1 a^T, as in a plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.calibration.estimate import Solution, holds_frame, system
from deltadyn.calibration.field import with_psi
from deltadyn.calibration.measurements import Positions
from deltadyn.calibration.plan import (
    INSTRUMENTS,
    PlanOptions,
    candidates,
    gains_of,
    goal_slopes,
    pair_rows,
)
from deltadyn.kinematics import inverse_kinematics


@dataclass(frozen=True)
class Addition:
    """One more measurement: what and where, and the mean deviation with it (m, aligned)."""

    words: str
    before: float
    after: float

    def __str__(self) -> str:
        return (
            f"{self.words}: {self.before * 1e3:.4f} mm over the workspace (aligned) would become "
            f"{self.after * 1e3:.4f} mm"
        )


def additions(solution: Solution) -> tuple[Addition, ...]:
    """The best single distance, height and position, each with what it would leave."""
    geometric, scales = solution.geometric, solution.scales
    robot, n = geometric.robot, geometric.count
    held = holds_frame(geometric, "all", solution.measured)
    rows = system(geometric, solution.measured, np.eye(n), solution.x, solution.own, held)
    matrix = _whole(rows.slopes / solution.spread[:, None], scales)
    points = candidates(robot, "tracker", PlanOptions())
    slopes = geometric.slopes(solution.x, inverse_kinematics(robot, with_psi(robot, points)))[1]
    goal = np.zeros_like(matrix)
    field = goal_slopes(geometric, "distances", points) * scales
    goal[:n, :n] = np.einsum("nij,nik->jk", field, field) / len(field)
    now = float(np.trace(np.linalg.solve(matrix, goal)))
    found = []
    pairs, lengths = pair_rows(points, slopes * scales / INSTRUMENTS["distances"], 0)
    options = {"distance": lengths, "height": (slopes * scales / INSTRUMENTS["probe"])[:, 2:3]}
    if any(isinstance(item, Positions) for item in solution.measured) and held:
        options["position"] = slopes * scales / INSTRUMENTS["tracker"]
    for kind, part in options.items():
        wide = np.concatenate([part, np.zeros((*part.shape[:2], len(matrix) - n))], axis=2)
        gains = gains_of(wide, matrix, goal)
        best = int(np.argmax(gains))
        after = float(np.sqrt(max(now - gains[best], 0.0)))
        ends = pairs[best] if kind == "distance" else [best]
        where = " and ".join(
            "(" + ", ".join(f"{v * 1e3:.0f}" for v in points[k]) + ")" for k in ends
        )
        place = f"between {where} mm" if kind == "distance" else f"at {where} mm"
        sigma = INSTRUMENTS[{"distance": "distances", "height": "probe"}.get(kind, "tracker")]
        words = f"one more {kind} {place}, to {sigma * 1e3:g} mm"
        found.append(Addition(words, float(np.sqrt(now)), after))
    return tuple(sorted(found, key=lambda item: item.after))


def _whole(slopes: FloatArray, scales: FloatArray) -> FloatArray:
    """M of x in tolerances and of the instruments' own numbers, regular."""
    n = len(scales)
    scaled = slopes.copy()
    scaled[:, :n] *= scales
    matrix = scaled.T @ scaled
    matrix[np.arange(n), np.arange(n)] += 1.0
    own = np.arange(n, len(matrix))
    matrix[own, own] *= 1 + 1e-9
    out: FloatArray = matrix
    return out
