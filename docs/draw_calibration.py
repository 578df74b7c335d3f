"""Draw docs/calibration.svg: the poses of a plan, and the deviation before and after. Needs
matplotlib.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

import deltadyn as dd
from deltadyn.calibration import Calibration, Geometric, Positions, Tolerances
from deltadyn.calibration.field import error_field

SIGMA = 2e-5  # m


def calibrated() -> tuple[dd.calibration.CalibrationPlan, Calibration]:
    """A catalogue robot with errors of 1 mm and 0.3 degrees, measured at 30 designed poses."""
    robot = dd.load_robot("sipro-d3-1200")
    geometric, rng = Geometric(robot), np.random.default_rng(4)
    errors = geometric.scales(Tolerances()) * rng.standard_normal(geometric.count)
    plan = dd.plan_calibration(robot, "tracker", poses=30)
    p = geometric.points(errors, plan.q) + SIGMA * rng.standard_normal(plan.p.shape)
    return plan, dd.calibrate(robot, Positions(plan.q, p, SIGMA))


def _above(axes: plt.Axes, points: NDArray[np.float64], values: NDArray[np.float64]) -> None:
    shown = axes.scatter(points[:, 0] * 1e3, points[:, 1] * 1e3, c=values * 1e3, s=14)
    axes.figure.colorbar(shown, ax=axes, shrink=0.75)


def main() -> None:
    """Write the picture."""
    plan, result = calibrated()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), constrained_layout=True)
    order = plan.p * 1e3
    left.plot(order[:, 0], order[:, 1], color="#8a94a0", linewidth=0.8)
    high = order[:, 2] > order[:, 2].mean()
    for rows, name, colour in ((high, "top", "#0b62a4"), (~high, "bottom", "#b35900")):
        left.scatter(order[rows, 0], order[rows, 1], s=22, label=name, color=colour)
    left.legend(frameon=False, fontsize=8)
    left.set_title("30 poses, in their order")
    field = error_field(result.solution, 150)
    _above(middle, field.points, field.before)
    middle.set_title("deviation before (mm)")
    _above(right, field.points, field.after)
    right.set_title("standard deviation after (mm)")
    for axes in (left, middle, right):
        axes.set_aspect("equal")
        axes.set_xlabel("x (mm)")
        axes.set_ylabel("y (mm)")
    mpl.rcParams["svg.hashsalt"] = "deltadyn"
    figure.savefig(Path(__file__).with_name("calibration.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
