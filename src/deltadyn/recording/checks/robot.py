"""Checks against the robot: closure of the loop, limits, units, signs, order of axes, homing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import regressor
from deltadyn.errors import UnreachableError
from deltadyn.kinematics import State, forward_kinematics
from deltadyn.recording.checks.findings import (
    Finding,
    Stretch,
    Subject,
    finding,
    model_torque,
    ranges_where,
)
from deltadyn.recording.recording import Recording, channel_name
from deltadyn.robot import Robot

# Units, signs and order: what the model of the robot says about angles and torques.


TURN = 2 * math.pi
LARGEST_ANGLE = 3.5  # rad; an arm cannot turn further than half a turn
CLOSED = 0.99  # share of samples at which the loop must close
BETTER = 0.25  # of correlation, by which another reading must beat the recording's own
GOOD = 0.8  # correlation of a reading that explains the torques
OPPOSITE = -0.5
EXPLAINED = 0.005  # share of the torques left unexplained that is no reason to look further
PLAINLY = 0.35  # of what is unexplained: another reading must be so much better
UNIT_FACTOR = 5.0  # a torque that is so many times the model's is in another unit
ANGLE_SLACK = math.radians(1.0)
POSE_ERROR = 0.005  # m

_READINGS = (
    ("angle unit", math.pi / 180, "degrees that were taken as radians"),
    ("angle unit", 180 / math.pi, "radians that were taken as degrees"),
    ("angle sign", -1.0, "angles with the opposite sign"),
)


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


def check_range(subject: Subject) -> Iterator[Finding]:
    """Arm angles beyond half a turn are degrees; then the robot's own limits."""
    recording, robot = subject.recording, subject.robot
    size = np.abs(recording.q[:, :3])
    beyond = (size > LARGEST_ANGLE).any(axis=1)
    if beyond.mean() > 0.01:
        text = f"Arm angles reach {float(np.nanmax(size)):.4g} rad: degrees taken as radians?"
        yield finding("angle unit", "q", text, value=math.pi / 180)
    elif robot is not None:
        yield from _angle_limits(recording, robot)


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
    guess = _nearest(factor, names)
    timing = {1e3: "t was read 1000 times too long", 1e-3: "t was read 1000 times too short"}
    other = _nearest(factor, timing)
    kind = "time unit" if other and not guess else "rate unit"
    text = f"The measured rate is {factor:.4g} times the derivative of the angle"
    text += f": {guess or other}?" if guess or other else "."
    yield finding(kind, channel_name("qd", axis), text, value=factor)


def check_readings(subject: Subject) -> Iterator[Finding]:
    """Other readings of the angles that explain the torques where the recording's does not."""
    stretch, robot = subject.smooth, subject.machine
    own = _unexplained(stretch, robot, 1.0)
    if own < EXPLAINED:
        return
    others = [(_unexplained(stretch, robot, item[1]), item) for item in _READINGS]
    best, (kind, factor, reading) = min(others)
    if best > PLAINLY * own:
        return
    text = (
        f"The angles look like {reading}: the model then leaves {100 * best:.2g} % of the torques "
        f"unexplained, and {100 * own:.2g} % as they are."
    )
    yield finding(kind, "q", text, value=factor)


def check_torques(subject: Subject) -> Iterator[Finding]:
    """Order, sign and unit of the torques, by correlation with the exact model's."""
    good = np.isfinite(subject.model).all(axis=1)
    if good.mean() < CLOSED or good.sum() < 50:
        return
    tau, model = subject.smooth.tau[good], subject.model[good]
    best = _best_order(tau, model)
    if best.correlation > max(GOOD, best.own + BETTER):
        told = ", ".join(f"tau{i + 1} is that of axis {j + 1}" for i, j in enumerate(best.order))
        text = f"The torques fit the angles in another order ({told}): correlation "
        text += f"{best.correlation:.2f} instead of {best.own:.2f}."
        yield finding("swapped axes", "tau", text)
        return
    yield from _signs_and_units(tau, model, subject.machine)


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
    best = min(
        (_pose_error(robot, _reordered(q, order), p), order) for order in permutations(range(3))
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


def _angle_limits(recording: Recording, robot: Robot) -> Iterator[Finding]:
    limits = robot.limits
    if limits.angle_min is None or limits.angle_max is None:
        return
    for axis in range(recording.dof):
        low, high = limits.angle_min[axis], limits.angle_max[axis]
        q = recording.q[:, axis]
        outside = (q < low - ANGLE_SLACK) | (q > high + ANGLE_SLACK)
        outside &= np.isfinite(q)
        if outside.any():
            allowed = f"{math.degrees(low):.4g} to {math.degrees(high):.4g} deg"
            text = f"{int(outside.sum())} angles are outside {allowed}"
            yield finding("limits", channel_name("q", axis), text, ranges_where(outside))


def _signs_and_units(tau: FloatArray, model: FloatArray, robot: Robot) -> Iterator[Finding]:
    wrong: list[int] = []
    factors: list[tuple[int, float]] = []
    for axis in range(tau.shape[1]):
        x, y = model[:, axis], tau[:, axis]
        likeness = _cosine(x, y)
        if likeness < OPPOSITE and _correlation(x, y) < 0:
            wrong.append(axis)
        factor = abs(float(x @ y / (x @ x))) if x.any() else 1.0
        if axis < 3 and abs(likeness) > GOOD and not 1 / UNIT_FACTOR < factor < UNIT_FACTOR:
            factors.append((axis, factor))
    if wrong:
        axes = ", ".join(channel_name("tau", axis) for axis in wrong)
        verb = "has" if len(wrong) == 1 else "have"
        text = f"{axes} {verb} the opposite sign of the model's torque."
        yield finding("torque sign", channel_name("tau", wrong[0]), text)
    if factors:
        yield _torque_unit(factors, robot)


def _torque_unit(factors: list[tuple[int, float]], robot: Robot) -> Finding:
    axis, factor = factors[0]
    gear = float(robot.drives.gear_ratio[axis])
    names = {1e3: "mN m", 1e2: "N cm", 1e-3: "kN m"}
    if gear != 1:
        names[1 / gear] = f"at the motor side (gear ratio {gear:g})"
        names[gear] = "multiplied by the gear ratio twice"
    guess = _nearest(factor, names, slack=1.6)
    axes = ", ".join(channel_name("tau", item) for item, _ in factors)
    text = f"{axes}: the torque is {factor:.3g} times the model's"
    text += f": {guess}?" if guess else "."
    return finding("torque unit", channel_name("tau", axis), text, value=factor)


def _unexplained(stretch: Stretch, robot: Robot, factor: float) -> float:
    """Share of the arms' squared torques that the model cannot give if angles are `factor` times
    these, whatever the sign and unit of each torque; 1 where the loop does not close.
    """
    scaled = []
    for array in (stretch.q, stretch.qd, stretch.qdd):
        copy = array.copy()
        copy[:, :3] *= factor
        scaled.append(copy)
    if np.abs(scaled[0][:, :3]).max() > LARGEST_ANGLE:
        return 1.0
    model = model_torque(robot, *scaled)
    good = np.isfinite(model).all(axis=1)
    if good.mean() < CLOSED:
        return 1.0
    pairs = [(model[good, axis], stretch.tau[good, axis]) for axis in range(3)]
    return float(np.mean([1 - _cosine(x, y) ** 2 for x, y in pairs]))


class _Order(NamedTuple):
    """The order of the arms with the best correlation, that correlation, and the own order's."""

    order: tuple[int, ...]
    correlation: float
    own: float


def _best_order(tau: FloatArray, model: FloatArray) -> _Order:
    """The order in which the torques fit the model's best."""
    table = np.array(
        [[abs(_correlation(model[:, j], tau[:, i])) for j in range(3)] for i in range(3)]
    )
    scores = {order: float(table[range(3), order].mean()) for order in permutations(range(3))}
    best = max(scores, key=lambda order: scores[order])
    return _Order(best, scores[best], scores[0, 1, 2])


def _pose_error(robot: Robot, q: FloatArray, p: FloatArray) -> float:
    """Median distance in m; infinite where the loop does not close."""
    finite = np.isfinite(q).all(axis=1) & np.isfinite(p).all(axis=1)
    if not finite.any():
        return 0.0
    own = forward_kinematics(robot, q[finite], unreachable="nan")[:, :3]
    distance = np.linalg.norm(own - p[finite], axis=1)
    return float(np.median(np.where(np.isnan(distance), np.inf, distance)))


def _reordered(q: FloatArray, order: tuple[int, ...]) -> FloatArray:
    out = q.copy()
    out[:, :3] = q[:, list(order)]
    return out


def _nearest(factor: float, names: dict[float, str], slack: float = 1.15) -> str | None:
    for value, name in names.items():
        if factor * value > 0 and 1 / slack < factor / value < slack:
            return name
    return None


def _correlation(x: FloatArray, y: FloatArray) -> float:
    return _cosine(x - x.mean(), y - y.mean())


def _cosine(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale > 0 else 0.0


# Homing: offsets of the angles that no parameter of the model can explain.


HOMING_SAMPLES = 600
HOMING_STEPS = 4
ANGLE_STEP = 1e-3  # rad, of the differences
LEAST_OFFSET = math.radians(1.0)  # smaller offsets are not told apart from an imperfect model
LARGEST_OFFSET = math.radians(25.0)
REMOVED = 0.5  # share of the squared residual that the offsets must remove
RANK = 1e-5  # singular values below this share of the largest are zero
NOTICEABLE = 0.01  # residual without offsets, as a share of the torque


def check_homing(subject: Subject) -> Iterator[Finding]:
    """Offsets of the arm angles by Gauss-Newton steps, beside all linear parameters and friction.

    The residual is that of tau = Y(q + offset) parameters + friction; what other masses, inertias
    or friction would explain is never called an offset.
    """
    stretch, robot = subject.smooth, subject.machine
    stride = max(1, len(stretch.row) // HOMING_SAMPLES)
    q, qd, qdd, tau = (
        array[::stride] for array in (stretch.q, stretch.qd, stretch.qdd, stretch.tau)
    )
    offset = np.zeros(3)
    before = residual = math.inf
    for number in range(HOMING_STEPS):
        shifted = q.copy()
        shifted[:, :3] += offset
        fitted = _step(robot, shifted, qd, qdd, tau)
        if fitted is None:
            return
        residual = fitted.residual
        if number == 0:
            before = fitted.without
            if before < NOTICEABLE * math.sqrt(float(np.mean(tau**2))):
                return
        offset = offset + fitted.change
        if not np.abs(offset).max() < LARGEST_OFFSET:
            return
    if residual**2 > (1 - REMOVED) * before**2 or np.abs(offset).max() < LEAST_OFFSET:
        return
    axis = int(np.abs(offset).argmax())
    told = ", ".join(f"q{i + 1} {math.degrees(x):+.2f} deg" for i, x in enumerate(offset))
    text = (
        f"Offsets of the angles ({told}) would lower the residual torque from {before:.3g} to "
        f"{residual:.3g} N m whatever the masses and the friction are."
    )
    yield finding("homing", channel_name("q", axis), text, value=float(offset[axis]))


class _Step(NamedTuple):
    """RMS of the arms' residual (N m) without and with offsets, and those of a linear step."""

    without: float
    residual: float
    change: FloatArray  # (3,) in rad


def _step(
    robot: Robot, q: FloatArray, qd: FloatArray, qdd: FloatArray, tau: FloatArray
) -> _Step | None:
    """One Gauss-Newton step of the offsets; None where the loop does not close."""
    try:
        state = State.from_joints(robot, q, qd, qdd)
    except UnreachableError:  # another check reports loops that do not close
        return None
    Y = np.asarray(regressor(robot, state).Y)  # (n, dof, k)
    count = len(q)
    friction = np.zeros((count, robot.dof, 3 * robot.dof))
    for axis in range(robot.dof):
        for place, column in enumerate((qd[:, axis], np.sign(qd[:, axis]), np.ones(count))):
            friction[:, axis, 3 * axis + place] = column
    slopes = np.empty((count, robot.dof, 3))
    for axis in range(3):
        moved = np.zeros(robot.dof)
        moved[axis] = ANGLE_STEP
        up, down = (model_torque(robot, q + sign * moved, qd, qdd) for sign in (1, -1))
        slopes[:, :, axis] = (up - down) / (2 * ANGLE_STEP)
    if not np.isfinite(slopes).all():
        return None
    plain = np.concatenate([Y, friction], axis=2)[:, :3].reshape(3 * count, -1)
    full = np.concatenate([plain, slopes[:, :3].reshape(3 * count, 3)], axis=1)
    target = tau[:, :3].reshape(-1)
    without, _ = _least_squares(plain, target)
    residual, solution = _least_squares(full, target)
    return _Step(without, residual, solution[-3:])


def _least_squares(a: FloatArray, b: FloatArray) -> tuple[float, FloatArray]:
    """RMS residual and solution."""
    scale = np.linalg.norm(a, axis=0)
    scale[scale == 0] = 1.0
    x = np.linalg.lstsq(a / scale, b, rcond=RANK)[0] / scale
    rest = b - a @ x
    return math.sqrt(float(np.mean(rest**2))), x
