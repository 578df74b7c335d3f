"""Every number of a payload estimator, gathered for those who write it in another language.

`payload/settings.py` has those of the estimator, `payload/estimator.py` is the program that they
belong to; here the model's are added. Nothing is built that could take a sample.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from deltadyn.backends.layout import COUNT, KINEMATIC, PLACES
from deltadyn.backends.packed import packed_parameters
from deltadyn.errors import InputError
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.payload.settings import EstimatorNumbers, EstimatorOptions, numbers_of
from deltadyn.robot import Robot


@dataclass(frozen=True)
class PayloadNumbers(EstimatorNumbers):
    """The numbers of an estimator in the acceleration form, with those of its model.

    Friction of passive joints is in neither of the two.
    """

    empty: tuple[float, ...]  # the robot without payload, in the order of backends/layout.py
    column: tuple[float, ...]  # one kg at the payload's offset and nothing else, in the same order

    @classmethod
    def of(cls, robot: Robot, numbers: EstimatorNumbers) -> PayloadNumbers:
        """The numbers of an estimator and of the robot that it belongs to."""
        own = {item.name: getattr(numbers, item.name) for item in fields(EstimatorNumbers)}
        return cls(**own, empty=empty_parameters(robot), column=column_parameters(robot))


def payload_numbers(
    robot: Robot, estimator: PayloadEstimator | None = None, *, rate: float = 2000.0
) -> PayloadNumbers:
    """The numbers of the estimator that is given, or of the robot's own one at `rate` Hz.

    What an estimator has seen does not matter.
    """
    if estimator is None:
        return PayloadNumbers.of(robot, numbers_of(robot, None, EstimatorOptions(rate=rate)))
    if not isinstance(estimator, PayloadEstimator):
        raise InputError("estimator", type(estimator).__name__, "a PayloadEstimator")
    if estimator.robot != robot:
        allowed = f"one of the robot that is exported, {robot.name!r}, with the same numbers"
        raise InputError("robot of the estimator", estimator.robot.name, allowed)
    _check(estimator)
    return PayloadNumbers.of(robot, estimator.numbers)


def empty_parameters(robot: Robot) -> tuple[float, ...]:
    """The robot's numbers without payload, in the order of backends/layout.py."""
    return tuple(packed_parameters(robot.with_payload(0.0, robot.payload.offset)).tolist())


def column_parameters(robot: Robot, inertia_per_kg: float = 0.0) -> tuple[float, ...]:
    """One kg at the robot's payload offset on a robot without mass and friction, same order.

    `inertia_per_kg` (m^2) is what the kg has about its own vertical axis.
    """
    empty, column = np.asarray(empty_parameters(robot)), np.zeros(COUNT)
    column[:KINEMATIC] = empty[:KINEMATIC]
    column[PLACES["gravity"]] = empty[PLACES["gravity"]]
    column[PLACES["M_P"]] = 1.0
    if robot.spindle is not None:
        x, y, _ = robot.payload.offset
        about = x**2 + y**2 + inertia_per_kg
        column[PLACES["spindle"]] = [robot.spindle.pivot_z, 0.0, 0.0, 0.0, 0.0, x, y, about]
    return tuple(column.tolist())


def _check(estimator: Any) -> None:
    """Refuse what the exported estimators do not have."""
    if estimator.grid.form != "acceleration":
        allowed = "'acceleration'; make the estimator with that form for an export"
        raise InputError("form of the estimator", estimator.grid.form, allowed)
