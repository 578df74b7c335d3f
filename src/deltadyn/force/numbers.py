"""Every number of a force observer, for those who write it in another language.

`observer.py` and `contact.py` are the program that the numbers belong to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from deltadyn.errors import InputError
from deltadyn.force.filtering import SETTLE, gain
from deltadyn.force.rows import WINDOW
from deltadyn.force.settings import (
    ALONE,
    ALONE_DEVIATIONS,
    AT_REST,
    COULOMB_SHARE,
    LOAD_SHARE,
    LOOK,
    PICK_DEVIATIONS,
    PICK_SHARE,
    VISCOUS_SHARE,
)
from deltadyn.force.tare import Tare
from deltadyn.payload.settings import Pace
from deltadyn.robot import Robot


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

    # what friction holds or may have changed by, in N m
    held: tuple[float, ...]  # of an axis at rest
    over_rest: float  # s/rad: it falls with exp(-(qd over_rest)^2)
    viscous: tuple[float, ...]  # N m s/rad, on |qd|
    dry: tuple[float, ...]
    load: float  # of |tau|

    # filter y += gain (x - y) on force, friction and pull
    gain: float
    settle: int  # rows until the force counts

    # statistic (|J^T F - offset| - held - drift) / sigma, and the alarm above the limit
    offset: tuple[float, ...]  # N m
    sigma: tuple[float, ...]  # N m
    covariance: tuple[tuple[float, ...], ...]  # (N m)^2
    limit: float

    # where it acts and what it is
    alone: float
    alone_deviations: float
    look: int  # rows after the alarm
    pick_deviations: float
    pick_share: float

    @classmethod
    def of(cls, robot: Robot, tare: Tare) -> ForceNumbers:
        """The numbers of `ForceObserver(robot, tare)`."""
        if len(tare.offset) != robot.dof:
            raise InputError("axes of the tare", len(tare.offset), f"{robot.dof}, as the robot has")
        options, pace = tare.options, Pace.of(tare.options.rate)
        late = options.delay * options.rate
        behind, before = max(0, math.ceil(late - 1.5)), max(0, math.ceil(-1.5 - late))
        viscous, coulomb = (np.asarray(x) for x in (robot.friction.viscous, robot.friction.coulomb))
        return cls(
            dof=robot.dof,
            reach=pace.reach,
            patience=pace.patience,
            rate=options.rate,
            angles=WINDOW + behind,
            torques=WINDOW + behind + before,
            place=math.floor(1.5 + late),
            share=1.5 + late - math.floor(1.5 + late),
            held=_floats(coulomb),
            over_rest=1 / AT_REST,
            viscous=_floats(VISCOUS_SHARE * viscous),
            dry=_floats(COULOMB_SHARE * coulomb),
            load=LOAD_SHARE,
            gain=gain(options),
            settle=round(SETTLE / options.bandwidth * options.rate),
            offset=_floats(tare.offset),
            sigma=_floats(tare.sigma),
            covariance=tuple(_floats(row) for row in tare.covariance),
            limit=float(tare.limit()),
            alone=ALONE,
            alone_deviations=ALONE_DEVIATIONS,
            look=max(4, round(LOOK * options.rate)),
            pick_deviations=PICK_DEVIATIONS,
            pick_share=PICK_SHARE,
        )


def _floats(values: object) -> tuple[float, ...]:
    return tuple(float(x) for x in np.asarray(values))
