"""The fastest motion along a path within all limits of a robot, with the exact model."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.dynamics.inverse import check_state
from deltadyn.errors import InputError
from deltadyn.motion.arguments import check_count, check_positive, check_share
from deltadyn.motion.limits import Limit, LimitError, LimitReport, check_motion
from deltadyn.motion.motion import Motion
from deltadyn.motion.paths import spline_move
from deltadyn.motion.planned import POWERS, SLOW, PlannedMotion, stretch
from deltadyn.robot import Robot
from deltadyn.robot.settings import Limits
from deltadyn.sizing.loads import carrying
from deltadyn.sizing.pace import TimeLaw, evenly_timed, fastest_part, paced
from deltadyn.sizing.stretches import Way, way_of
from deltadyn.sizing.thermal import thermal_pace

TOLERANCE = 1e-5  # relative, of the moving time: where the whole is stretched
THERMAL = 1 + 1e-3  # times slower: worth another pace, where RMS torque asks for it
THERMAL_NODES = 320  # of all stretches together, for that pace: it is smooth
THERMAL_RANGE = (40, 200)  # of one stretch
LEAST_SAMPLES = 20  # intervals of a stretch
BEND_SAMPLES = 200  # of a spline, between two points


class Trial(NamedTuple):
    """A law, its motion and how that stands with the limits."""

    law: TimeLaw
    motion: PlannedMotion
    report: LimitReport

    @property
    def binding(self) -> Limit | None:
        """Among the limits that the pace decides, the one taken most."""
        paced = [item for item in self.report.limits if item.name in POWERS and item.known]
        return max(paced, key=lambda item: item.use or 0.0, default=None)


@dataclass(frozen=True, eq=False)
class FastMotion(PlannedMotion):
    """A motion along a path at the fastest pace; `law` holds the pace at the nodes of the path.

    `thermal` tells that RMS torque, which no single place of the path decides, shapes the pace.
    `law.slower` is above 1 where the whole was then slowed down evenly to keep its limits.
    """

    law: TimeLaw = None  # type: ignore[assignment]  # follows fields with defaults
    thermal: bool = False

    @property
    def cycles_per_minute(self) -> float:
        """How often the motion runs in a minute, one after the other."""
        return 60.0 / self.duration


def fastest(
    robot: Robot,
    path: Motion | npt.ArrayLike,
    *,
    payload: float | None = None,
    limits: Limits | None = None,
    share: float = 1.0,
    samples: int = 800,
    rate: float = 2000.0,
) -> FastMotion:
    """Pass a path as fast as torques, rates, accelerations and forces of the robot allow.

    `path` is a Motion, whose path and holds are kept and whose pace is not, or points (K, dof) for
    a quintic spline. The robot stops where the motion stops or slows down below 1 % of its largest
    speed, and at both ends. `payload` (kg) and `limits` replace those of the robot, `share` (0 to
    1) of which is used. `samples` is the number of intervals of each stretch between two stops:
    limits are kept at both ends of each, which costs some 2e-4 of the time with 800 and as much
    less as there are more. `rate` (Hz) is that of the motion returned.

    The pace is the optimum for the limits that hold at every place (see `path_limits` and
    `reachability`), or, where torque_rms binds, for these and RMS torques together (`thermal`). The
    acceleration jumps, because no limit on jerk is kept. What the motion returned takes between the
    nodes beyond a limit (usually below 1e-3 of it) slows down the whole evenly.
    """
    robot = carrying(robot, payload)
    if limits is not None:
        if not isinstance(limits, Limits):
            raise InputError("limits", type(limits).__name__, "Limits of a robot, or None")
        robot = robot.replace(limits=limits)
    check_share(share)
    check_count("samples", samples, LEAST_SAMPLES)
    check_positive(rate=rate)
    motion = _motion(robot, path)
    _check_possible(robot, motion, share)
    way = way_of(robot, motion, samples)
    parts = (fastest_part(robot, part, share) for part in way.stretches)
    law = TimeLaw(way, tuple(paced(robot, part) for part in parts))
    found = _slowed(robot, law, rate, share)
    thermal = found.law.slower > THERMAL and _hot(found)
    if thermal:
        cool = _slowed(robot, _thermal(robot, found, share, samples), rate, share)
        found = min(cool, found, key=lambda trial: trial.law.duration)
    values: dict[str, Any] = {
        item.name: getattr(found.motion, item.name) for item in fields(Motion)
    }
    binding = found.report["torque_rms"] if thermal else found.binding
    return FastMotion(**values, binding=binding, law=found.law, thermal=thermal)


def _hot(found: Trial) -> bool:
    """Whether it is the RMS torque that asks for the slowing down."""
    return found.binding is not None and found.binding.name == "torque_rms"


def _motion(robot: Robot, path: Motion | npt.ArrayLike) -> Motion:
    """The motion whose path is meant."""
    if not isinstance(path, Motion):
        points = np.asarray(path) if not isinstance(path, np.ndarray) else path
        if points.ndim != 2 or points.dtype.kind not in "fiu":
            raise InputError("path", path, f"a Motion, or points (K, {robot.dof}) with K from 2")
        return spline_move(robot, points, duration=1.0, rate=BEND_SAMPLES * max(len(points) - 1, 2))
    check_state(robot, path)
    if len(path) < 6:
        raise InputError("samples of path", len(path), "at least 6")
    bad = np.flatnonzero(~np.isfinite(path.qdd).all(axis=1))
    if bad.size:
        raise InputError("path", "out of reach", "a motion in reach", where=f"row {int(bad[0])}")
    return path


def _check_possible(robot: Robot, motion: Motion, share: float) -> None:
    """Refuse a path that breaks a limit however slowly it is passed."""
    slow = stretch(robot, motion, duration=SLOW * max(motion.duration, 1.0))
    for limit in check_motion(robot, slow, share=share).exceeded:
        position = None
        if limit.time is not None:
            row = int(np.argmin(np.abs(slow.t - limit.time)))
            position = tuple(float(value) for value in slow.p[row])
        reason = "no duration changes that"
        if limit.name in POWERS:
            reason = "it takes that much however slow the motion is"
        raise LimitError(robot.name, limit, position, reason)


def _thermal(robot: Robot, evenly: Trial, share: float, samples: int) -> TimeLaw:
    """A law that keeps RMS torques, from one that keeps them slowed down evenly."""
    law = evenly.law
    whole = sum(pace.duration for pace in law.paces)
    stretches = []
    for pace in law.paces:
        count = round(THERMAL_NODES * pace.duration / whole)
        count = min(max(count, THERMAL_RANGE[0]), THERMAL_RANGE[1], samples)
        stretches.append(evenly_timed(pace, count))
    way = Way(law.way.wait, tuple(stretches))
    parts = tuple(fastest_part(robot, stretch, share) for stretch in stretches)
    parts = thermal_pace(robot, way, parts, law.slower, share)
    fine = []
    for pace, part in zip(law.paces, parts, strict=True):
        ceiling = np.interp(pace.stretch.s, part.stretch.s, part.x)  # u is constant between nodes
        fine.append(paced(robot, fastest_part(robot, pace.stretch, share, ceiling)))
    return TimeLaw(law.way, tuple(fine))


def _slowed(robot: Robot, law: TimeLaw, rate: float, share: float) -> Trial:
    """The law, slowed down evenly as far as the sampled motion asks for it."""

    def trial(slower: float) -> Trial:
        slowed = replace(law, slower=slower)
        motion = slowed.sampled(robot, rate)
        return Trial(slowed, motion, check_motion(robot, motion, share=share))

    short, long, growth = 1.0, 1.0, TOLERANCE
    kept = trial(long)
    while not kept.report.ok:
        short = long
        over = max(item.use or 0.0 for item in kept.report.exceeded)
        long = short * max(1 + growth, over**0.5)
        growth *= 2
        kept = trial(long)
    while long - short > TOLERANCE * long:
        middle = (short + long) / 2
        tried = trial(middle)
        if tried.report.ok:
            long, kept = middle, tried
        else:
            short = middle
    return kept
