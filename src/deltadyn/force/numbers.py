"""Every number of a force observer, for those who write it in another language.

`observer.py`, `axes.py` and `contact.py` are the program that the numbers belong to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.force.axes import CALMER, RESTS
from deltadyn.force.filtering import settle
from deltadyn.force.rows import WINDOW
from deltadyn.force.settings import (
    ALONE,
    ALONE_DEVIATIONS,
    GATE,
    LOOK,
    PICK_DEVIATIONS,
    PICK_SHARE,
    REVERSAL,
    SCALE,
    SMOOTH,
    STAGES,
)
from deltadyn.force.tare import Tare
from deltadyn.payload.settings import Pace
from deltadyn.robot import Robot

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ForceNumbers:
    """The numbers of an observer, in the order of an update; axes have one each."""

    dof: int

    # samples that are refused
    reach: float  # rad: an arm's angle that moved further since the last sample has jumped
    patience: int  # samples in a row that jumped: the angles are true, begin anew

    # the row: four angles, and a torque between two samples
    rate: float  # Hz of the samples
    angles: int  # samples of angles that are kept
    torques: int  # samples of torques that are kept
    place: int  # whole samples from the oldest angle to the torque; below 0 before it
    share: float  # of the sample behind that place
    over_smooth: float  # s/rad, on rails s/m, of tanh in Z
    over_reversal: float  # s/rad, on rails s/m, of tanh in `rest`

    # filter of some stages y += gain (x - y) on all parts of a row
    stages: int
    gain: float
    settle: int  # rows after which the force counts

    # slow states of each axis, (dof, 4): those of the empty run
    states: Rows
    variance: Rows  # when a log begins
    growth: Rows  # of the variance from step to step
    every: int  # rows from step to step
    gate: float  # z above which they learn nothing
    still: float  # of `rest`, above which an axis says nothing of them
    calmer: float

    # statistic z = (|e| - held) / std, std^2 = noise^2 + Z P Z^T, and the alarm above the limit
    noise: tuple[float, ...]  # N m
    rest_noise: tuple[float, ...]
    held: tuple[float, ...]
    limit: float
    scale: float  # of the residual: deviation of the torques' scale

    # where it acts and what it is
    alone: float
    alone_deviations: float
    look: int  # rows after the alarm
    pick_deviations: float
    pick_share: float

    @classmethod
    def of(cls, robot: Robot, tare: Tare) -> ForceNumbers:
        """The numbers of `ForceObserver(robot, tare)`."""
        axes, options = tare.axes, tare.options
        pace = Pace.of(robot, options.rate)
        if len(axes.held) != robot.dof:
            raise InputError("axes of the tare", len(axes.held), f"{robot.dof}, as the robot has")
        late = options.delay * options.rate
        behind, before = max(0, math.ceil(late - 1.5)), max(0, math.ceil(-1.5 - late))
        step = options.every / options.rate  # s
        return cls(
            dof=robot.dof,
            reach=pace.reach,
            patience=pace.patience,
            rate=options.rate,
            angles=WINDOW + behind,
            torques=WINDOW + behind + before,
            place=math.floor(1.5 + late),
            share=1.5 + late - math.floor(1.5 + late),
            over_smooth=1 / (SMOOTH * robot.radian[0]),
            over_reversal=1 / (REVERSAL * robot.radian[0]),
            stages=STAGES,
            gain=options.gain,
            settle=settle(options) + 1,
            states=_rows(axes.states),
            variance=_rows(axes.spread**2),
            growth=_rows(step * axes.walk**2),
            every=options.every,
            gate=GATE,
            still=RESTS,
            calmer=CALMER,
            noise=tuple(axes.noise.tolist()),
            rest_noise=tuple(axes.rest_noise.tolist()),
            held=tuple(axes.held.tolist()),
            limit=float(tare.limit()),
            scale=SCALE,
            alone=ALONE,
            alone_deviations=ALONE_DEVIATIONS,
            look=max(4, round(LOOK * options.rate)),
            pick_deviations=PICK_DEVIATIONS,
            pick_share=PICK_SHARE,
        )


def _rows(values: FloatArray) -> Rows:
    return tuple(tuple(row) for row in values.tolist())
