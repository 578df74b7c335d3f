"""Settings of the payload estimator, and every number that follows from them.

`EstimatorOptions` is what a user chooses. `EstimatorNumbers` is what the estimator computes with:
`PayloadEstimator` is built from it, and so are the estimators that are exported to other languages.
`docs/payload.md` says what they mean. Tuples have one entry per axis. All units are SI.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from deltadyn.errors import InputError
from deltadyn.payload.events import (
    CALM,
    CONFIRM,
    LEFT,
    MEMORY,
    MIXED,
    PARDON,
    SAME,
    SLACK,
    SMALL,
    WINDOWS,
    threshold,
)
from deltadyn.payload.front_end import GAP, NARROW, STAGES, Grid, direction_gain
from deltadyn.payload.noise import NoiseModel
from deltadyn.robot import Robot

FASTEST = 100.0  # rad/s of an arm: beyond it an angle has jumped
PATIENCE = 20  # samples in a row that jumped, or came at another rate, from which that is believed
SETTLE = 0.008  # s after a change, besides the filter's delay, from which residuals count


ESTIMATORS = ("bank", "least-squares")
LONGEST = 10.0  # s


@dataclass(frozen=True)
class EstimatorOptions:
    """What a user chooses about the estimator, beside the robot and its noise."""

    estimator: str = field(default="bank", kw_only=True)  # or "least-squares"
    rate: float = 2000.0  # Hz of the samples
    form: str = "acceleration"  # or "momentum", which needs no acceleration
    events: bool = True  # False takes all samples for one load
    false_alarms: float = 0.1  # per hour, at most
    rest_speed: float = 0.15  # m/s: a load that goes while the platform is faster was lost
    longest: float = LONGEST  # s: a longer pick is flagged
    delay: float | None = None  # s, of the torque behind the angles; None: that of the fit

    @classmethod
    def of(cls, options: EstimatorOptions | None, **fields: Any) -> EstimatorOptions:
        """The given options, or the defaults, with other values of the named fields."""
        return replace(cls() if options is None else options, **fields)


class Pace(NamedTuple):
    """How samples must come: their rate in Hz, and which angles have jumped."""

    rate: float
    reach: float  # rad or m: a limb's axis that moved further since the last sample has jumped
    patience: int  # samples in a row that jumped: the angles are true, begin anew

    @classmethod
    def of(cls, robot: Robot, rate: float) -> Pace:
        """The usual limits at this rate."""
        return cls(rate, FASTEST * robot.radian[0] * GAP / rate, PATIENCE)


@dataclass(frozen=True)
class EstimatorNumbers:
    """The numbers of an estimator, in the order of an update."""

    dof: int
    events: bool  # False: all samples are one load, nothing is searched

    # samples that are refused
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


def noise_for(robot: Robot, noise: NoiseModel | None, options: EstimatorOptions) -> NoiseModel:
    """The noise that is given, checked, or what is assumed of a robot."""
    grid = Grid.of(options.rate, options.form)
    if noise is None:
        return NoiseModel.assumed(robot, rate=grid.rate, form=grid.form)
    if not isinstance(noise, NoiseModel):
        raise InputError("noise", type(noise).__name__, "a NoiseModel")
    if len(noise.deviation) != robot.dof:
        allowed = f"{robot.dof}, as robot {robot.name!r} has"
        raise InputError("axes of the noise model", len(noise.deviation), allowed)
    if noise.grid != grid:
        allowed = f"{grid.rate:g} Hz in the form {grid.form!r}, as the estimator has"
        raise InputError("noise model", f"{noise.grid.rate:g} Hz, {noise.grid.form}", allowed)
    return noise


def numbers_of(
    robot: Robot, noise: NoiseModel | None = None, options: EstimatorOptions | None = None
) -> EstimatorNumbers:
    """The numbers of the estimator of a robot; without `noise` those of the assumed one."""
    chosen = EstimatorOptions.of(options)
    noise = noise_for(robot, noise, chosen)
    for name, unit in (("rest_speed", "m/s"), ("longest", "s")):
        if not getattr(chosen, name) > 0:
            raise InputError(name, getattr(chosen, name), f"above 0 {unit}")
    grid, pace = noise.grid, Pace.of(robot, noise.grid.rate)
    return EstimatorNumbers(
        dof=robot.dof,
        events=bool(chosen.events),
        reach=pace.reach,
        patience=pace.patience,
        rate=pace.rate,
        stages=STAGES,
        gain=grid.gain,
        over_smoothing=direction_gain(robot),
        step=grid.step,
        interval=grid.interval,
        delay=grid.delay,
        narrow_stages=NARROW,
        narrow_gain=grid.narrow_gain,
        warm_up=grid.warm_up,
        settle=math.ceil((grid.delay + SETTLE) / grid.interval),
        a1=tuple(a[0] for a in noise.coefficients),
        a2=tuple(a[1] for a in noise.coefficients),
        variance=noise.variances,
        friction=noise.friction_variances,
        over_reversal=1 / noise.reversal**2,
        rest=noise.rest,
        tare=noise.tare,
        relative=noise.gain,
        zero=noise.zero,
        windows=WINDOWS,
        memory=MEMORY,
        limit=noise.tails * threshold(chosen.false_alarms, grid.interval),
        slack=round(SLACK / grid.interval),
        rest_speed=float(chosen.rest_speed),
        pardon=PARDON,
        confirm=CONFIRM,
        mixed=MIXED,
        calm=CALM,
        left=LEFT,
        small=SMALL,
        same=SAME,
    )
