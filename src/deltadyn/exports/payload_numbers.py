"""Every number of a payload estimator, gathered for those who write it in another language.

`docs/payload.md` says what the estimator does, `payload/estimator.py` is the program that these
numbers belong to. Tuples per axis have one entry per axis of the robot. All units are SI.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.backends.layout import COUNT, KINEMATIC, PLACES
from deltadyn.backends.packed import packed_parameters
from deltadyn.errors import InputError
from deltadyn.payload.estimator import SETTLE, PayloadEstimator
from deltadyn.payload.events import (
    CALM,
    CONFIRM,
    LEFT,
    MEMORY,
    MIXED,
    PARDON,
    SAME,
    SMALL,
    WINDOWS,
)
from deltadyn.payload.front_end import NARROW, STAGES
from deltadyn.payload.intake import PATIENCE
from deltadyn.payload.noise import REST, REVERSAL
from deltadyn.robot import Robot


@dataclass(frozen=True)
class PayloadNumbers:
    """The numbers of an estimator in the acceleration form, in the order of an update."""

    dof: int
    events: bool  # False: all samples are one load, nothing is searched

    # the door: samples that are refused
    reach: float  # rad: an arm's angle that moved further since the last sample has jumped
    patience: int  # samples in a row that jumped: the angles are true, begin anew

    # first filter, at every sample: `stages` stages y += gain (x - y)
    rate: float  # Hz of the samples
    stages: int
    gain: float
    over_smoothing: float  # s/rad: a direction is tanh(rate of the angle * over_smoothing)

    # model, at every `step`-th sample
    step: int
    interval: float  # s between residuals
    delay: float  # s by which a residual lies behind its last sample
    # friction of passive joints is in neither of the two
    empty: tuple[float, ...]  # the robot without payload, in the order of backends/layout.py
    column: tuple[float, ...]  # one kg at the payload's offset and nothing else, in the same order

    # second filter, at every residual: `narrow_stages` stages y += narrow_gain (x - y)
    narrow_stages: int
    narrow_gain: float
    warm_up: int  # residuals after a begin that do not count
    settle: int  # residuals after the gripper's signal that do not count

    # weights: e = r - a1 r_1 - a2 r_2 with variance + friction / (1 + over_reversal qd^2)^2
    a1: tuple[float, ...]
    a2: tuple[float, ...]
    variance: tuple[float, ...]  # (N m)^2, dispersion included
    friction: tuple[float, ...]  # (N m)^2, dispersion included
    over_reversal: float  # (s/rad)^2
    rest: float  # rad/s: an axis that is not faster says nothing
    tare: float  # kg, taken off

    # standard deviation of a mass m: sqrt(1 / information + (relative m)^2 + zero^2)
    relative: float
    zero: float  # kg

    # change of the mass
    windows: tuple[int, ...]  # residuals, increasing
    memory: int  # residuals' sums that are kept
    limit: float  # z that a change must pass
    slack: int  # residuals by which the begin of a change may be off
    rest_speed: float  # m/s: a load that goes at a higher speed was lost
    pardon: float  # nats: a drop is a release unless the data speak so much clearer for motion
    confirm: int  # residuals after which a load's change is judged
    mixed: int  # residuals after a change that are left out of the new load's mass
    calm: int  # residuals after a drop without a search
    left: int  # residuals after a lost grip within which a load that shows was left of it
    small: float  # of a lost load: less than that left is none
    same: int  # residuals after a pick within which a further rise is still that pick

    @classmethod
    def of(cls, estimator: PayloadEstimator) -> PayloadNumbers:
        """The numbers of an estimator as it was made; what it has seen does not matter."""
        _check(estimator)
        robot, grid, noise = estimator.robot, estimator.grid, estimator.noise
        d2 = noise.dispersion**2
        settle = math.ceil((grid.delay + SETTLE) / grid.interval)
        return cls(
            dof=robot.dof,
            events=estimator.events,
            reach=estimator.intake.reach,
            patience=PATIENCE,
            rate=grid.rate,
            stages=STAGES,
            gain=grid.gain,
            over_smoothing=estimator.front.over_smoothing,
            step=grid.step,
            interval=grid.interval,
            delay=grid.delay,
            empty=empty_parameters(robot),
            column=column_parameters(robot),
            narrow_stages=NARROW,
            narrow_gain=grid.narrow_gain,
            warm_up=grid.warm_up,
            settle=settle,
            a1=tuple(a[0] for a in noise.coefficients),
            a2=tuple(a[1] for a in noise.coefficients),
            variance=tuple(d2 * sigma * sigma for sigma in noise.deviation),
            friction=tuple(d2 * f * f for f in noise.friction),
            over_reversal=1 / REVERSAL**2,
            rest=REST,
            tare=noise.tare,
            relative=noise.gain,
            zero=noise.zero,
            windows=WINDOWS,
            memory=MEMORY,
            limit=estimator.threshold,
            slack=estimator.detector.slack,
            rest_speed=estimator.detector.rest_speed,
            pardon=PARDON,
            confirm=CONFIRM,
            mixed=MIXED,
            calm=CALM,
            left=LEFT,
            small=SMALL,
            same=SAME,
        )


def payload_numbers(
    robot: Robot, estimator: PayloadEstimator | None = None, *, rate: float = 2000.0
) -> PayloadNumbers:
    """The numbers of the estimator that is given, or of `PayloadEstimator(robot, rate=rate)`."""
    if estimator is None:
        return PayloadNumbers.of(PayloadEstimator(robot, rate=rate))
    if not isinstance(estimator, PayloadEstimator):
        raise InputError("estimator", type(estimator).__name__, "a PayloadEstimator")
    if estimator.robot != robot:
        allowed = f"one of the robot that is exported, {robot.name!r}, with the same numbers"
        raise InputError("robot of the estimator", estimator.robot.name, allowed)
    return PayloadNumbers.of(estimator)


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
