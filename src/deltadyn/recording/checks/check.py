"""Check a recording: report what is wrong with it, and repair nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deltadyn.errors import InputError
from deltadyn.recording.checks.findings import KINDS, Finding, Findings
from deltadyn.recording.checks.homing import check_homing
from deltadyn.recording.checks.robot import (
    CLOSED,
    check_closure,
    check_pose,
    check_range,
    check_rates,
    check_readings,
    check_torques,
    model_torque,
)
from deltadyn.recording.checks.signal import (
    check_copied,
    check_frozen,
    check_jumps,
    check_saturated,
)
from deltadyn.recording.checks.stretch import smooth_stretch
from deltadyn.recording.checks.time import check_finite, check_time
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

#: Findings after which torques are not compared with the model's: they would only follow.
_SPOILERS = frozenset(["time unit", "angle unit", "open loop", "encoder wrap", "jump", "rate unit"])


def check_recording(recording: Recording, robot: Robot | None = None) -> Findings:
    """What is wrong with a recording; with the robot also its units, signs and axes.

    Nothing is changed. Model checks use the exact model with the robot's own parameters, so a
    missing payload or friction does not disturb them: they look at correlation, not at size.
    """
    if not isinstance(recording, Recording):
        raise InputError("recording", type(recording).__name__, "a Recording")
    if robot is not None and robot.dof != recording.dof:
        raise InputError(
            "axes of the recording", recording.dof, f"{robot.dof}, as robot {robot.name!r} has"
        )
    skipped: list[str] = []
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinite values are findings
        found = [*check_finite(recording), *check_time(recording)]
        if len(recording):
            found += _channel_checks(recording, robot)
            found += _robot_checks(recording, robot, found, skipped)
    found.sort(key=lambda item: KINDS.index(item.kind))
    return Findings(recording.name, tuple(found), tuple(skipped))


def _channel_checks(recording: Recording, robot: Robot | None) -> Iterator[Finding]:
    yield from check_jumps(recording, robot)
    yield from check_frozen(recording)
    yield from check_saturated(recording, robot)
    yield from check_copied(recording)


def _robot_checks(
    recording: Recording, robot: Robot | None, before: list[Finding], skipped: list[str]
) -> list[Finding]:
    wrapped = any(item.kind == "encoder wrap" for item in before)
    found = [] if wrapped else list(check_range(recording, robot))
    stretch = smooth_stretch(recording)
    if stretch is None:
        skipped.append(
            "units, signs and axes: no stretch of regular, finite samples is long enough"
        )
        return found
    found += check_rates(recording, stretch)
    if robot is None:
        skipped.append("closure, limits, signs and axes: no robot was given")
        return found
    if wrapped:
        skipped.append("units, signs and axes: undo the encoder's wraps first")
        return found
    if not any(item.kind == "angle unit" for item in found):
        found += check_closure(recording, robot)
        found += check_pose(recording, robot)
        found += check_readings(stretch, robot)
    spoiled = sorted({item.kind for item in [*before, *found]} & _SPOILERS)
    if spoiled:
        skipped.append(f"signs and axes of the torques: correct {', '.join(spoiled)} first")
        return found
    model = model_torque(robot, stretch.q, stretch.qd, stretch.qdd)
    if not np.isfinite(model).all(axis=1).mean() >= CLOSED:
        skipped.append("signs and axes of the torques: the loop does not close")
        return found
    torques = list(check_torques(stretch, robot, model))
    found += torques
    if not torques and not any(item.kind == "angle sign" for item in found):
        found += check_homing(stretch, robot)
    return found
