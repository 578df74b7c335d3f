"""Checks against the robot: its convention, closure of the loop, limits, rates, pose."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.kinematics import forward_kinematics
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.recording.checks.findings import Finding, Subject, finding, ranges_where
from deltadyn.recording.conventions.result import Conventions
from deltadyn.recording.recording import channel_name
from deltadyn.robot import Robot

TURN = 2 * math.pi
LARGEST_ANGLE = 3.5  # rad; an arm cannot turn further than half a turn
GOOD = 0.8  # correlation of a measured rate with the derivative
ANGLE_SLACK = math.radians(1.0)
LONGEST_RAIL = 20.0  # m
APART = 20.0  # times the other arms' way: one arm alone in another unit
POSE_ERROR = 0.005  # m
FEW_POSES = 200  # in every order of four axes


def check_closure(subject: Subject) -> Iterator[Finding]:
    """Angles at which no platform position closes the loop."""
    recording, robot = subject.recording, subject.machine
    finite = np.asarray(np.isfinite(recording.q).all(axis=1))
    stride = max(1, len(recording) // 200_000)
    q = recording.q[::stride]
    p = forward_kinematics(robot, np.where(np.isfinite(q), q, np.nan), unreachable="nan")
    open_rows = np.isnan(p).any(axis=1) & finite[::stride]
    if not open_rows.any():
        return
    share = float(open_rows.mean())
    text = f"At {100 * share:.3g} % of the samples no platform position closes the loop"
    yield finding("open loop", "q", text, ranges_where(open_rows) * stride, value=share)


def check_units(subject: Subject) -> Iterator[Finding]:
    """Arm angles beyond half a turn, where the convention of all arms cannot tell more.

    Of carriages: places beyond any rail.
    """
    recording = subject.recording
    legs, linear = recording.legs, recording.linear
    size = np.abs(recording.q[:, :legs])
    beyond = (size > (LONGEST_RAIL if linear else LARGEST_ANGLE)).mean(axis=0) > 0.01
    if subject.robot and subject.stretch and beyond.any() and not beyond.all():
        way = np.ptp(subject.stretch.q[:, :legs], axis=0)  # the convention tells of all arms alike
        beyond &= way > APART * np.max(way[~beyond])
    told = subject.robot and subject.stretch and subject.recording.has_torque
    if not beyond.any() or (told and beyond.all()):
        return
    gears = () if subject.robot is None or linear else subject.robot.drives.gear_ratio[:legs]
    geared = sorted({gear for gear in gears if gear > 1})
    motor = f", or angles of the motor before the gear of {geared[-1]:g}" if geared else ""
    most = float(np.nanmax(size))
    text = f"Arm angles reach {most:.4g} rad: degrees taken as radians{motor}?"
    if linear:
        text = f"Places of carriages reach {most:.4g} m: millimetres taken as metres?"
    channel = "q"
    if not beyond.all():
        axis = int(beyond.argmax())
        others = "carriages'" if linear else "arms'"
        channel, text = channel_name("q", axis), f"{text} Other {others} do not."
    yield finding("angle unit", channel, text, value=1e-3 if linear else math.pi / 180)


# The convention: signs, units, order and homing, found together.


SPOILT_ALONE = 0.3  # residual as logged that no right log has, whatever the convention is
SPOILT = 1.3  # residual as logged over the best: from here on offsets alone are an error


def check_conventions(subject: Subject) -> Iterator[Finding]:
    """Another convention that explains the torques where the log as it stands does not."""
    found = subject.conventions
    if found is None or found.residual_before is None or found.residual_after is None:
        return
    before, after = 100 * found.residual_before, 100 * found.residual_after
    tail = f"The base model then leaves {after:.2g} % of the torque, as logged {before:.2g} %."
    for kind in found.changed:
        own = _convention(found, kind, tail)
        yield own if found.clear else replace(own, severity="warning")
    if not found.settled and (found.changed or found.status):
        yield _undecided(found, before, after)
    for item in found.uncertain_homing:
        # a frozen or clipped channel moves the offsets: correct that first
        if item["seen"] and not subject.has("frozen", "saturated"):
            channel = channel_name("q", item["axis"] - 1)
            text = f"The log does not show which it is: {item['text']}."
            yield replace(finding("homing", channel, text, severity="warning"), advice=item["move"])


def _convention(found: Conventions, kind: str, tail: str) -> Finding:
    """The finding of one kind of difference."""
    axes = found.axes
    assert axes is not None
    backward = [axis for axis, gain in enumerate(axes.gain) if gain < 0]
    torques = [axis for axis, sign in enumerate(axes.torque_sign) if sign < 0]
    if kind == "angle unit":
        what = "places" if found.linear else "angles"
        text = f"The {what} look like {found.angle_words}. {tail}"
        return finding(kind, "q", text, value=float(abs(axes.gain[0])))
    if kind == "angle sign":
        both = "as the torque does" if torques == backward else "not as the torque does"
        verb = "counts" if len(backward) == 1 else "count"
        text = f"{_named('q', backward)} {verb} against our convention, {both}. {tail}"
        return finding(kind, channel_name("q", backward[0]), text)
    if kind == "swapped axes":
        own = axes.torque_order[: len(found.offset_fit)]
        pairs = sorted((place, axis) for axis, place in enumerate(own))
        told = ", ".join(f"tau{place + 1} is that of axis {axis + 1}" for place, axis in pairs)
        return finding(kind, "tau", f"The torques fit in another order ({told}). {tail}")
    if kind == "torque sign":
        alone = sorted(axes.torque_order[axis] for axis in torques if axis not in backward)
        verb = "has" if len(alone) == 1 else "have"
        text = f"{_named('tau', alone)} {verb} the opposite sign of the model's torque. {tail}"
        return finding(kind, channel_name("tau", alone[0]), text)
    if kind == "torque unit":
        scale = found.torque_scale or 0.0
        text = f"The torque is {scale:.3g} times the model's: {found.torque_words}"
        return finding(kind, "tau", text, value=scale)
    offset = np.asarray(axes.offset[: len(found.offset_fit)])
    axis = int(np.abs(offset).argmax())
    spoilt = (found.residual_before or 0.0) > SPOILT * (found.residual_after or 0.0)
    text = f"{_off_words(found)} ({_offsets_text(found)}). {tail}"
    severity = "error" if spoilt or len(found.changed) > 1 else "warning"
    value = float(offset[axis])
    return finding(kind, channel_name("q", axis), text, value=value, severity=severity)


def _named(quantity: str, axes: list[int]) -> str:
    return ", ".join(channel_name(quantity, axis) for axis in axes)


def _off_words(found: Conventions) -> str:
    if found.linear:
        return "The carriages stand off their places"
    return "The arms stand off their angles"


def _offsets_text(found: Conventions) -> str:
    rows, unit = zip(found.offset_fit, found.offset_deviation, strict=True), found.offset_unit
    own = ", ".join(f"q{i + 1} {value:+.3g} +- {sd:.2g}" for i, (value, sd) in enumerate(rows))
    return f"{own} {unit}; all alike by +- {found.common_deviation:.2g} {unit}"


def _undecided(found: Conventions, before: float, after: float) -> Finding:
    if found.status:
        text = f"{found.status[0].upper()}{found.status[1:]}: {before:.3g} % is left as logged, "
        return finding("convention", None, text + f"{after:.3g} % at best.")
    others = " Or ".join(f"{item['text']}. {item['move']}" for item in found.alternatives)
    text = (
        f"As logged {before:.3g} % of the torque is left. Others fit almost as well as the best: "
    )
    severity = "error" if before > 100 * SPOILT_ALONE else None
    return finding("convention", None, text + others, severity=severity)


def check_rates(subject: Subject) -> Iterator[Finding]:
    """Measured rates against the derivative of the angles: unit, sign, and the unit of time."""
    recording, stretch = subject.recording, subject.smooth
    if recording.qd is None:
        return
    measured = recording.qd[stretch.row]
    factors = []
    for axis in range(recording.dof):
        x, y = stretch.qd[:, axis], measured[:, axis]
        if not np.isfinite(y).all() or np.sqrt(np.mean(x * x)) < 1e-6:
            continue
        if abs(_cosine(x, y)) > GOOD:
            factors.append((axis, float(x @ y / (x @ x))))
    wrong = [(axis, factor) for axis, factor in factors if not 0.8 < factor < 1.25]
    if not wrong:
        return
    axis, factor = wrong[0]
    names = {180 / math.pi: "deg/s", 30 / math.pi: "rpm", 1 / TURN: "rev/s", -1.0: "opposite sign"}
    if recording.slides[axis]:
        names = {1e3: "mm/s", 60.0: "m/min", 6e4: "mm/min", -1.0: "opposite sign"}
    guess = _nearest(factor, names)
    timing = {1e3: "t was read 1000 times too long", 1e-3: "t was read 1000 times too short"}
    other = _nearest(factor, timing)
    kind = "time unit" if other and not guess else "rate unit"
    of = "place" if recording.slides[axis] else "angle"
    text = f"The measured rate is {factor:.4g} times the derivative of the {of}"
    text += f": {guess or other}?" if guess or other else "."
    yield finding(kind, channel_name("qd", axis), text, value=factor)


def check_pose(subject: Subject) -> Iterator[Finding]:
    """A measured pose against the forward kinematics of the angles."""
    recording, robot = subject.recording, subject.machine
    if recording.p is None:
        return
    stride = max(1, len(recording) // 5000)
    q, p = recording.q[::stride], recording.p[::stride, :3]
    error = _pose_error(robot, q, p)
    if not error > POSE_ERROR:
        return
    few, home = slice(None), None
    if robot.legs == 4:  # whose poses have no closed form: they are followed from home once
        few, home = slice(None, None, max(1, len(q) // FEW_POSES)), home_pose(robot)
    best = min(
        (_pose_error(robot, _reordered(q[few], order), p[few], home), order)
        for order in permutations(range(robot.legs))
    )
    if best[0] < POSE_ERROR:
        told = ", ".join(str(axis + 1) for axis in best[1])
        text = f"The pose fits the angles in the order {told}: {1e3 * best[0]:.3g} mm off instead "
        yield finding("swapped axes", "q", text + f"of {1e3 * error:.3g} mm.")
        return
    text = f"The pose is {1e3 * error:.4g} mm (median) from the forward kinematics of the angles."
    if _pose_error(robot, q, p / 1e3) < POSE_ERROR:
        text += " It fits as millimetres taken as metres."
    yield finding("pose", "p", text, value=error)


def check_limits(subject: Subject) -> Iterator[Finding]:
    """Angles outside the robot's limits."""
    recording, robot = subject.recording, subject.machine
    limits = robot.limits
    if limits.angle_min is None or limits.angle_max is None:
        return
    for axis in range(recording.dof):
        low, high = limits.angle_min[axis], limits.angle_max[axis]
        q, slack = recording.q[:, axis], ANGLE_SLACK * robot.radian[axis]
        outside = (q < low - slack) | (q > high + slack)
        outside &= np.isfinite(q)
        if outside.any():
            allowed, what = f"{math.degrees(low):.4g} to {math.degrees(high):.4g} deg", "angles"
            if robot.linear and axis < robot.legs:
                allowed, what = f"{1e3 * low:.4g} to {1e3 * high:.4g} mm", "places"
            text = f"{int(outside.sum())} {what} are outside {allowed}"
            yield finding("limits", channel_name("q", axis), text, ranges_where(outside))


def _pose_error(
    robot: Robot, q: FloatArray, p: FloatArray, hint: FloatArray | None = None
) -> float:
    """Median distance in m; infinite where the loop does not close."""
    finite = np.isfinite(q).all(axis=1) & np.isfinite(p).all(axis=1)
    if not finite.any():
        return 0.0
    own = forward_kinematics(robot, q[finite], unreachable="nan", hint=hint)[:, :3]
    distance = np.linalg.norm(own - p[finite], axis=1)
    return float(np.median(np.where(np.isnan(distance), np.inf, distance)))


def _reordered(q: FloatArray, order: tuple[int, ...]) -> FloatArray:
    out = q.copy()
    out[:, : len(order)] = q[:, list(order)]
    return out


def _nearest(factor: float, names: dict[float, str], slack: float = 1.15) -> str | None:
    for value, name in names.items():
        if factor * value > 0 and 1 / slack < factor / value < slack:
            return name
    return None


def _cosine(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale > 0 else 0.0
