"""Checks of the channels alone: the clock, then the signals one by one."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.recording.checks.findings import (
    LEAST_DURATION,
    LEAST_SAMPLES,
    LOWEST_RATE,
    Finding,
    Subject,
    finding,
    ranges_where,
)
from deltadyn.recording.recording import Recording, channel_name
from deltadyn.recording.stretch import GAP, steady_steps
from deltadyn.robot import Robot

# The clock: order and spacing of the times, rate and length.


JITTER = 0.05  # of the time step, standard deviation
SLOWEST_STEP = 0.2  # s; no drive is logged so slowly: milliseconds taken as seconds
FASTEST_STEP = 2e-5  # s; no drive is logged so fast: seconds taken as milliseconds


def check_finite(subject: Subject) -> Iterator[Finding]:
    """Values that are NaN or infinite, channel by channel."""
    for name, axis, values in subject.recording.columns():
        bad = ~np.isfinite(values)
        if bad.any():
            text = f"{int(bad.sum())} of {len(bad)} values are NaN or infinite"
            channel = channel_name(name, axis, subject.recording.dof)
            yield finding("not finite", channel, text, ranges_where(bad))


def check_time(subject: Subject) -> Iterator[Finding]:
    """The order and spacing of the times."""
    recording = subject.recording
    t = recording.t
    usual = recording.sample_time
    wrong_unit = usual > SLOWEST_STEP or 0 < usual < FASTEST_STEP
    if not wrong_unit:
        yield from _length(recording)
    if len(t) < 2:
        return
    steps = np.diff(t)
    yield from _backward("duplicate time", "equal", steps == 0)
    yield from _backward("decreasing time", "are below", steps < 0)
    if not usual > 0:
        return
    yield from _rate(usual, wrong_unit)
    yield from _gaps(t, usual)
    normal = steps[steady_steps(recording)]
    if normal.size > 2 and float(normal.std()) > JITTER * usual:
        spread = float(normal.std()) / usual
        text = f"The time step varies by {100 * spread:.3g} % (standard deviation) around "
        yield finding("jitter", "t", text + f"{1e3 * usual:.6g} ms.", value=spread)


def _backward(kind: str, what: str, steps: BoolArray) -> Iterator[Finding]:
    if steps.any():
        text = f"{int(steps.sum())} times {what} their predecessor"
        yield finding(kind, "t", text, _after(np.flatnonzero(steps)))


def _after(at: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """The rows (k, 2) to which the steps at these places lead."""
    return np.stack([at + 1, at + 2], axis=1)


def _gaps(t: FloatArray, usual: float) -> Iterator[Finding]:
    order = np.argsort(t, kind="stable") if (np.diff(t) < 0).any() else np.arange(len(t))
    steps = np.diff(t[order])
    at = np.flatnonzero((steps > GAP * usual) & np.isfinite(steps))
    if at.size:
        missing = float(np.round(steps[at] / usual - 1).sum())
        longest = float(steps[at].max())
        text = (
            f"{at.size} gaps with some {missing:.0f} missing samples, the longest {longest:.4g} s"
        )
        ranges = np.stack([order[at], order[at] + 2], axis=1)
        yield finding("gap", "t", text, ranges, value=longest)


def _rate(usual: float, wrong_unit: bool) -> Iterator[Finding]:
    if wrong_unit:
        guess = "milliseconds taken as seconds" if usual > 1e-2 else "seconds taken as milliseconds"
        yield finding("time unit", "t", f"The time step is {usual:.6g} s: {guess}?", value=usual)
    elif usual > 1 / LOWEST_RATE:
        yield finding("low rate", "t", f"The rate is {1 / usual:.4g} Hz.", value=1 / usual)


def _length(recording: Recording) -> Iterator[Finding]:
    count, duration = len(recording), recording.duration
    if count < LEAST_SAMPLES or duration < LEAST_DURATION:
        text = f"{count} samples over {duration:.4g} s."
        severity = "error" if count < 2 else None
        yield finding("too short", None, text, value=duration, severity=severity)


# The signals: wraps and jumps, frozen values, flat tops, copied commands.


TURN = 2 * math.pi
JUMP = 0.1  # rad in one step, beyond what the steps around it would allow
RAIL = 0.2  # m of a carriage that stand for a rad, whatever the robot is
FROZEN_SAMPLES = 20
FROZEN_TIME = 0.03  # s
UNUSUAL = 5  # times the length of a channel's usual runs of one value
MOVED = 0.02  # rad: the other axes moved meanwhile
FLAT_SAMPLES = 4
OVERSHOOT = 0.02  # of a channel's range, cut off at a flat top
AT_LIMIT = 0.999


def check_jumps(subject: Subject) -> Iterator[Finding]:
    """Steps in the angles that no motion makes: by a whole turn of the encoder, or by any."""
    recording, robot = subject.recording, subject.robot
    if len(recording) < 4:
        return
    steady = steady_steps(recording)
    for axis in range(recording.dof):
        q = recording.q[:, axis]
        slides = recording.slides[axis]
        at = jumps(q, steady, _smallest_jump(robot, axis, slides))
        if not at.size:
            continue
        period = wrap_period(q, at, robot, axis, slides)
        kind, how = "encoder wrap", "a turn of the encoder"
        step = period
        if step is None:
            kind, how, step = "jump", "in one sample", float(np.diff(q)[at[0]])
        text = f"The angle jumps by {math.degrees(step):.4g} deg, {how}"
        if slides:
            text = f"The place jumps by {1e3 * step:.4g} mm, {how}"
        yield finding(kind, channel_name("q", axis), text, _after(at), value=step)


def jumps(q: FloatArray, steady: BoolArray, least: float = JUMP) -> npt.NDArray[np.intp]:
    """Rows k at which q[k + 1] - q[k] is far from the steps before and after it."""
    size = np.abs(np.diff(q))
    before = np.concatenate([size[1:2], size[:-1]])
    after = np.concatenate([size[1:], size[-2:-1]])
    near = np.minimum(before, after)  # a jump's neighbour may be a jump too
    return np.flatnonzero((size > 5 * near + least) & steady & np.isfinite(size))


def _motor_turn(robot: Robot | None, axis: int, slides: bool) -> float | None:
    """What the axis goes in a turn of its motor, in rad or m; None where nothing tells it."""
    if robot is None or (slides and robot.drives.lead is robot.drives.pulley_radius is None):
        return None
    return TURN / float(robot.drives.motor_turns[axis])


def _smallest_jump(robot: Robot | None, axis: int, slides: bool) -> float:
    """Half a turn of the motor, where that is less than usual."""
    usual, turn = JUMP * (RAIL if slides else 1.0), _motor_turn(robot, axis, slides)
    return usual if turn is None else min(usual, turn / 2)


def wrap_period(
    q: FloatArray, at: npt.NDArray[np.intp], robot: Robot | None, axis: int, slides: bool = False
) -> float | None:
    """The period of which all jumps are multiples: a turn of the axis or of the motor."""
    steps, scale = np.abs(np.diff(q)), RAIL if slides else 1.0
    usual = float(np.nanpercentile(steps, 99)) if steps.size > 100 else 0.0
    slack = min(3 * usual, 0.3 * scale) + 0.01 * scale
    periods = [] if slides else [TURN]
    turn = _motor_turn(robot, axis, slides)
    if turn is not None and turn not in periods:
        periods.append(turn)
        slack = min(slack, 0.2 * turn) if slides else slack
    for period in periods:
        turns = np.round(steps[at] / period)
        off = np.abs(steps[at] - turns * period)
        if slack < period / 4 and (turns >= 1).all() and (off <= slack).all():
            return period
    return None


def check_frozen(subject: Subject) -> Iterator[Finding]:
    """Channels that keep one value while the other axes move."""
    recording = subject.recording
    least = max(FROZEN_SAMPLES, _samples(recording, FROZEN_TIME))
    legs = recording.legs or 0
    arms = recording.q[:, :legs] / (RAIL if recording.linear else 1.0)
    for name, array in _measured(recording):
        for axis in range(legs):
            others = np.delete(arms, axis, axis=1) if name == "q" else arms
            runs = equal_runs(array[:, axis], max(least, _usual_run(array[:, axis])))
            frozen = [run for run in runs if _stuck(array[:, axis], others, run, least)]
            if not frozen:
                continue
            longest = max(stop - start for start, stop in frozen)
            text = f"The value does not change for {longest} samples while the robot moves"
            yield finding("frozen", channel_name(name, axis), text, np.array(frozen))


def check_saturated(subject: Subject) -> Iterator[Finding]:
    """Torques that stay at the limit of the drive, or whose peaks are cut off."""
    recording, robot = subject.recording, subject.robot
    peaks = None if robot is None else robot.limits.torque_peak
    for axis in range(recording.dof) if recording.has_torque else ():
        tau = recording.tau[:, axis]
        channel = channel_name("tau", axis)
        if peaks is not None:
            with np.errstate(invalid="ignore"):
                at_limit = np.abs(tau) >= AT_LIMIT * peaks[axis]
            ranges = ranges_where(at_limit)
            ranges = ranges[ranges[:, 1] - ranges[:, 0] >= FLAT_SAMPLES - 1]
            if len(ranges):
                unit = recording.unit("tau", axis)
                yield _saturated(channel, f"at the limit of {peaks[axis]:g} {unit}", ranges)
                continue
        cut = [run for run in equal_runs(tau, FLAT_SAMPLES) if _cut(tau, run)]
        if cut:
            level = float(tau[cut[0][0]])
            text = f"cut off at {level:.6g} {recording.unit('tau', axis)}"
            yield _saturated(channel, text, np.array(cut))


def check_copied(subject: Subject) -> Iterator[Finding]:
    """Measured channels that are the command, digit by digit."""
    recording = subject.recording
    for name, measured in _measured(recording):
        command = getattr(recording, f"{name}_command")
        if command is None or not len(measured):
            continue
        same = (command == measured).all(axis=0) & (np.ptp(measured, axis=0) > 0)
        if same.any():
            axes = [channel_name(name, int(axis)) for axis in np.flatnonzero(same)]
            text = f"{', '.join(axes)} equal the command in every sample."
            yield finding("same as command", axes[0], text)


def _measured(recording: Recording) -> list[tuple[str, FloatArray]]:
    """Angles, and torques where the recording has them."""
    channels = recording.channels()
    return [(name, channels[name]) for name in ("q", "tau") if name in channels]


def equal_runs(x: FloatArray, least: int) -> list[tuple[int, int]]:
    """Ranges of at least `least` equal values."""
    same = np.diff(x) == 0
    ranges = ranges_where(same)
    long = ranges[ranges[:, 1] - ranges[:, 0] >= least - 1]
    return [(int(start), int(stop) + 1) for start, stop in long]


def _stuck(x: FloatArray, others: FloatArray, run: tuple[int, int], least: int) -> bool:
    """Whether a channel kept its value for no reason: the robot moved, and it went on elsewhere.

    At the turning point of a coarsely quantised signal it would go on by one step.
    """
    start, stop = run
    if not _moved(others, run) or _cut(x, run):
        return False
    if stop - start >= UNUSUAL * least or start == 0 or stop == len(x):
        return True
    return bool(abs(x[stop] - x[stop - 1]) > 2.5 * _resolution(x))


def _usual_run(x: FloatArray) -> int:
    """Several times the length of the runs that coarse resolution alone makes."""
    ends = np.flatnonzero(np.diff(x) != 0)
    lengths = np.diff(ends)
    if not lengths.size:
        return 0
    most, nearly_all = np.percentile(lengths, [90, 99])
    return int(max(UNUSUAL * most, UNUSUAL / 2 * nearly_all))


def _resolution(x: FloatArray) -> float:
    """The smallest difference between neighbours."""
    steps = np.abs(np.diff(x))
    return float(np.min(steps, where=steps > 0, initial=np.inf))


def _cut(x: FloatArray, run: tuple[int, int]) -> bool:
    """Whether a run is a flat top: an extreme value, entered or left with a slope.

    A peak of a coarsely quantised signal is flat too, but its slope at the ends is one step.
    """
    start, stop = run
    level, low, high = x[start], np.nanmin(x), np.nanmax(x)
    if level not in (low, high) or low == high or start == 0 or stop >= len(x):
        return False
    slope = (abs(x[start] - x[start - 1]) + abs(x[stop] - x[stop - 1])) / 2
    steep = slope > 1.4 * _resolution(x)
    return bool(steep and slope * (stop - start) > OVERSHOOT * (high - low))


def _moved(others: FloatArray, run: tuple[int, int]) -> bool:
    part = others[run[0] : run[1]]
    return bool(np.isfinite(part).all() and np.ptp(part, axis=0).max() > MOVED)


def _saturated(channel: str, what: str, ranges: npt.NDArray[np.intp]) -> Finding:
    count = int((ranges[:, 1] - ranges[:, 0]).sum())
    return finding("saturated", channel, f"{count} samples are {what}", ranges)


def _samples(recording: Recording, duration: float) -> int:
    step = recording.sample_time
    return math.ceil(duration / step) if step > 0 else 0
