"""The grid over rho1 and rho2 [falezza2020] eq. 7, refined until its spacing is small enough."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError

FINER = 2.0  # how much smaller the next grid is: little, so that a slanted valley stays inside
FEWEST = 7  # points per range
MOST_GRIDS = 500


@dataclass(frozen=True)
class Grid:
    """Ranges of rho1 and rho2, points per range, and the spacing at which refining ends.

    The paper gives no ranges. Ours hold a rotor of nine times the arm's inertia; a factor of
    gravity below 0 is a counterweight.
    """

    rho1: tuple[float, float] = (0.05, 10.0)
    rho2: tuple[float, float] = (-2.0, 4.0)
    points: int = 41
    spacing: float = 1e-6

    def __post_init__(self) -> None:
        for name in ("rho1", "rho2"):
            low, high = getattr(self, name)
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise InputError(f"grid.{name}", (low, high), "two finite numbers, low before high")
        if self.rho1[0] <= 0:
            raise InputError("grid.rho1", self.rho1, "above 0: it is a factor of inertia")
        if self.points < FEWEST:
            raise InputError("grid.points", self.points, f"at least {FEWEST}")
        if not 0 < self.spacing < math.inf:
            raise InputError("grid.spacing", self.spacing, "above 0")


@dataclass(frozen=True)
class GridMinimum:
    """The best point of the last grid, and how it was reached."""

    rho1: float
    rho2: float
    spacing: float  # of the last grid, the larger of both
    grids: int
    evaluations: int
    on_border: bool  # of the whole range
    converged: bool


def search(R: FloatArray, grid: Grid) -> GridMinimum:
    """The point of least cost |R (rho1, rho2, -1)|, which is the RMS of the torque error scaled.

    `R` is the triangular factor of the columns of rho1, rho2 and the torque. The next grid lies
    around the best point: finer where it is inside, as fine as before where it is on the edge, so
    that a narrow valley is followed.
    """
    low = np.array([grid.rho1[0], grid.rho2[0]])
    high = np.array([grid.rho1[1], grid.rho2[1]])
    start, end = low, high
    grids = 0
    fine = False
    while not fine and grids < MOST_GRIDS:
        grids += 1
        axes = np.linspace(start, end, grid.points)  # (points, 2)
        cost = _cost(R, axes[:, 0], axes[:, 1])
        at = np.array(np.unravel_index(int(np.argmin(cost)), cost.shape))
        best = axes[at, [0, 1]]
        step = (end - start) / (grid.points - 1)
        on_border = (best <= low) | (best >= high)
        inside = ((at > 0) & (at < grid.points - 1)) | on_border
        fine = bool(inside.all() and (step <= grid.spacing).all())
        half = (end - start) / 2 / (FINER if inside.all() else 1.0)
        start, end = np.maximum(best - half, low), np.minimum(best + half, high)
    return GridMinimum(
        float(best[0]),
        float(best[1]),
        float(step.max()),
        grids,
        grids * grid.points**2,
        bool(on_border.any()),
        fine and not on_border.any(),
    )


def _cost(R: FloatArray, rho1: FloatArray, rho2: FloatArray) -> FloatArray:
    """|R (rho1, rho2, -1)| at every pair of values (points, points)."""
    one = R[:, 0, None] * rho1 - R[:, 2, None]  # (rows, points)
    two = R[:, 1, None] * rho2
    error = one[:, :, None] + two[:, None, :]
    cost: FloatArray = np.sqrt(np.sum(error**2, axis=0))
    return cost
