"""`calibrate`: from measurements to a robot whose forward kinematics is the calibrated one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.calibration.checks import check_fit, check_measurements
from deltadyn.calibration.estimate import HUBER, Solution, fit_model, holds_frame, subset_scales
from deltadyn.calibration.measurements import Measured
from deltadyn.calibration.parameters import LADDER, Geometric, Tolerances
from deltadyn.calibration.read import read_measurements
from deltadyn.calibration.result import Calibration, Finding, Trial, chosen
from deltadyn.calibration.visible import visible
from deltadyn.errors import InputError
from deltadyn.options import merged
from deltadyn.robot import Robot

WIDER = 2.0  # errors of so many tolerances are not of this robot's kind: the tolerances are


@dataclass(frozen=True)
class CalibrationOptions:
    """How `calibrate` fits.

    `model` is "homing", "sizes", "all", or "auto": the smallest that meets left-out places.
    `gains` frees the drives' gear ratios too, `rods` the two rods of every pair, with a prior: the
    robot file has one strut for both, so that their difference is told and not kept. `huber` is the
    size in deviations beyond which a point counts less; None is plain least squares. `check` looks
    at the data before and after.
    """

    model: str = "auto"
    gains: bool = False
    rods: bool = False
    tolerances: Tolerances = field(default_factory=Tolerances)
    huber: float | None = HUBER
    check: bool = True

    def __post_init__(self) -> None:
        if self.model not in (*LADDER, "auto"):
            raise InputError("model", self.model, "'auto' or one of " + ", ".join(LADDER))
        if self.huber is not None and not self.huber > 0:
            raise InputError("huber", self.huber, "a number above 0, or None")


Data = Measured | Sequence[Measured] | str | os.PathLike[str]


def calibrate(
    robot: Robot,
    measurements: Data,
    options: CalibrationOptions | None = None,
    **keywords: Any,
) -> Calibration:
    """Find a robot's geometric errors from measurements of its poses.

    `measurements` is one set or several (`Positions`, `Heights`, `Distances`, `BallBar`,
    `Commanded` of `deltadyn.calibration`), or the path of a file of poses. Every keyword is a field
    of `CalibrationOptions`.
    """
    chosen_options = merged(CalibrationOptions, options, keywords)
    geometric = Geometric(robot, chosen_options.gains, chosen_options.rods)
    sets = _sets(robot, measurements)
    scales = geometric.scales(chosen_options.tolerances)
    findings = check_measurements(geometric, sets, scales) if chosen_options.check else []
    names = LADDER if chosen_options.model == "auto" else (chosen_options.model,)
    fits = [_fitted(geometric, sets, scales, name, chosen_options.huber) for name in names]
    trials = [_trial(fit) for fit, _ in fits]
    best, wider = fits[chosen(trials)]
    held = holds_frame(geometric, "all", sets)
    seen = visible(geometric, sets, scales, np.zeros(geometric.count), held=held)
    if chosen_options.check:
        findings += check_fit(best)
    if wider > 1:
        text = (
            f"the errors are {wider:.1f} times the tolerances that were given; the tolerances were "
            "widened by that"
        )
        findings.append(Finding("tolerances", text))
    counted = ", ".join(f"{len(item.names)} {item.kind}" for item in sets)
    mended = geometric.mended(best.x, f"calibrated: {counted}")
    return Calibration(robot, mended, best, tuple(trials), seen, tuple(findings), wider)


def _sets(robot: Robot, measurements: Data) -> tuple[Measured, ...]:
    if isinstance(measurements, str | os.PathLike):
        return tuple(read_measurements(measurements, robot))
    sets: tuple[Any, ...] = (
        tuple(measurements) if isinstance(measurements, Sequence) else (measurements,)
    )
    if not sets:
        raise InputError("measurements", "none", "at least one set of measurements")
    for item in sets:
        if not hasattr(item, "per_point"):
            kinds = "Positions, Heights, Distances, BallBar or Commanded, or a path"
            raise InputError("measurements", type(item).__name__, kinds)
        tool = getattr(item, "tool", np.zeros(3))
        if robot.legs == 4 and np.any(tool[:2]):
            allowed = "(0, 0, z): under two halves the tool turns, and only its axis stays"
            raise InputError("tool", tuple(tool), allowed)
        if item.q.shape[1] != robot.dof:
            allowed = f"{robot.dof}, one per axis of {robot.name}"
            raise InputError(f"columns of q of {item.kind}", item.q.shape[1], allowed)
    return sets


def _fitted(
    geometric: Geometric,
    sets: Sequence[Measured],
    scales: FloatArray,
    model: str,
    huber: float | None,
) -> tuple[Solution, float]:
    """A model's fit; tolerances that the errors pass by far are widened, as often as needed."""
    wider = 1.0
    for _ in range(4):
        found = fit_model(geometric, sets, scales * wider, model, huber=huber)
        own = np.linalg.lstsq(found.subset, found.x, rcond=None)[0]
        size = float(np.sqrt(((own / subset_scales(found.subset, scales)) ** 2).mean()))
        if size <= WIDER * wider:
            break
        wider = size
    return found, wider


def _trial(solution: Solution) -> Trial:
    """How a model meets what it was not fitted to; several sets by their geometric mean."""
    sets = range(len(solution.measured))
    held_out = float(np.exp(np.mean([np.log(solution.held_out(k) + 1e-12) for k in sets])))
    return Trial(solution.model, solution.count, solution.rms(0), held_out)
