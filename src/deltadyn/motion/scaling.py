"""The shortest duration of a motion within the limits of its robot.

Poses do not depend on the pace, so limits on them are kept by every duration or by none. With the
moving time T rates shrink as 1/T and accelerations as 1/T^2: they give the least T at once. Torques
and forces have a part that does not shrink (gravity, Coulomb friction); from the least T on the
time grows until they are kept, and bisection finds the edge between. Below the duration found the
binding limit is exceeded; that no still shorter one keeps it is not proved, because a torque of
gravity and inertia need not fall steadily.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from deltadyn.errors import InputError
from deltadyn.motion.arguments import check_positive, check_share
from deltadyn.motion.limit_report import Limit, LimitError, LimitReport
from deltadyn.motion.limits import check_motion
from deltadyn.motion.motion import Motion
from deltadyn.motion.planned import Plan, PlannedMotion, reached, repaced, sampled
from deltadyn.robot import Robot

#: Limits that the pace decides, with the power of 1/T by which the quantity shrinks, where it does.
POWERS: dict[str, int | None] = {
    "rate": 1,
    "acceleration": 2,
    "platform_speed": 1,
    "platform_acceleration": 2,
    "torque_peak": None,
    "torque_rms": None,
    "strut_force": None,
}

TOLERANCE = 1e-4  # relative, of the moving time: an acceleration within 2e-4 of its limit
SLOW = 1e3  # times the least duration: what is still exceeded then is exceeded at rest

#: The motion in a moving time.
Pace = Callable[[float], Motion]


def planned(
    robot: Robot, plan: Plan, duration: float | None, rate: float, share: float
) -> PlannedMotion:
    """A plan as a motion: in `duration` seconds, or in the shortest time within the limits."""
    check_positive(rate=rate)
    check_share(share)
    if duration is not None:
        check_positive(duration=duration)
        return sampled(robot, plan, float(duration), rate)
    coarse = reached(robot, plan.at(plan.grid(1.0), 1.0))

    def coarsely(moving: float) -> Motion:
        return repaced(coarse, moving, plan.grid(moving))

    def finely(moving: float) -> PlannedMotion:
        return sampled(robot, plan, moving + plan.held, rate)

    moving, binding = shortest(robot, coarsely, 1.0, share)
    motion = finely(moving)
    report = check_motion(robot, motion, share=share)
    if not report.ok:  # the peak of a finer sampling is a little higher
        _check_poses(robot, motion, report)
        moving, binding = _edge(robot, finely, moving, report)
    return replace(finely(moving), binding=binding)


def stretch(
    robot: Robot, motion: Motion, *, duration: float | None = None, share: float = 1.0
) -> PlannedMotion:
    """Any motion with its time axis stretched to `duration` seconds, or to the shortest time.

    The poses and the number of samples stay, so the sample rate changes. With `duration=None` the
    motion takes the shortest time in which it keeps `share` of the robot's limits, and `.binding`
    is the limit that sets it.
    """
    if not isinstance(motion, Motion):
        raise InputError("motion", type(motion).__name__, "a Motion")
    check_share(share)
    if len(motion) < 2 or not motion.duration > 0:
        raise InputError("samples of motion", len(motion), "at least 2, to be stretched")
    base = _as_planned(motion)
    since, first = motion.t - motion.t[0], float(motion.t[0])

    def at(seconds: float, binding: Limit | None = None) -> PlannedMotion:
        factor = seconds / motion.duration
        return repaced(base, factor, first + since * factor, binding)

    if duration is not None:
        check_positive(duration=duration)
        return at(float(duration))
    return at(*shortest(robot, at, motion.duration, share))


def shortest(robot: Robot, pace: Pace, moving: float, share: float) -> tuple[float, Limit]:
    """The shortest moving time (s) in which a motion keeps all limits, and the one that binds.

    `pace` gives the motion in a moving time; `moving` is any first guess.
    """
    first = pace(moving)
    report = check_motion(robot, first, share=share)
    _check_poses(robot, first, report)
    least = _least(report, moving)
    if least is None:
        least = _too_short(robot, pace, moving, share)
    report = check_motion(robot, pace(least), share=share)
    if report.ok:
        return least, _closest(report)
    slowest = pace(least * SLOW)
    for limit in check_motion(robot, slowest, share=share).exceeded:
        raise _hopeless(robot, slowest, limit, "it takes that much however slow the motion is")
    return _edge(robot, pace, least, report)


def _edge(robot: Robot, pace: Pace, short: float, report: LimitReport) -> tuple[float, Limit]:
    """The edge above a moving time that is too short, and the limit that binds there."""
    long, growth = short, TOLERANCE
    while not report.ok:
        short = long
        over = max(limit.use or 0.0 for limit in report.exceeded)
        long = short * max(1 + growth, over**0.5)
        growth *= 2  # a torque that hardly falls with the time needs long steps
        report = check_motion(robot, pace(long), share=report.share)
    while long - short > TOLERANCE * long:
        middle = (short + long) / 2
        trial = check_motion(robot, pace(middle), share=report.share)
        if trial.ok:
            long, report = middle, trial
        else:
            short = middle
    return long, _closest(report)


def _least(report: LimitReport, moving: float) -> float | None:
    """The moving time at which the tightest limit on a rate or acceleration is met exactly."""
    bounds = [
        moving * limit.use ** (1 / power)
        for limit in report.limits
        if (power := POWERS.get(limit.name)) is not None and limit.use is not None
    ]
    least = max(bounds, default=0.0)
    return least if least > 0 else None


def _too_short(robot: Robot, pace: Pace, moving: float, share: float) -> float:
    """A moving time at which a torque or force is exceeded, where no other limit is named."""
    for _ in range(40):
        if not check_motion(robot, pace(moving), share=share).ok:
            return moving
        moving /= 2
    allowed = f"a number of s: robot {robot.name!r} names no limit that bounds the pace"
    raise InputError("duration", None, allowed)


def _check_poses(robot: Robot, motion: Motion, report: LimitReport) -> None:
    """Refuse a motion whose poses break a limit."""
    for limit in report.exceeded:
        if limit.name not in POWERS:
            raise _hopeless(robot, motion, limit, "no duration changes that")


def _hopeless(robot: Robot, motion: Motion, limit: Limit, reason: str) -> LimitError:
    """The error for a limit that no duration keeps."""
    position = None
    if limit.time is not None:
        row = int(np.argmin(np.abs(motion.t - limit.time)))
        position = tuple(float(x) for x in motion.p[row])
    return LimitError(robot.name, limit, position, reason)


def _closest(report: LimitReport) -> Limit:
    """Among the limits that the pace decides, the one taken most."""
    paced = [x for x in report.limits if x.name in POWERS and x.use is not None]
    return max(paced, key=lambda limit: limit.use or 0.0)


def _as_planned(motion: Motion) -> PlannedMotion:
    values: dict[str, Any] = {item.name: getattr(motion, item.name) for item in fields(Motion)}
    new = PlannedMotion(**values)
    new.__dict__["q"] = motion.q
    return new
