"""Pick-and-place moves: gates with rounded corners, and the overlapped gate.

`pick_and_place` follows a path: straight up, across, straight down, with corners of continuous
curvature, at the pace of a profile. `gate_move` overlaps three moves in time instead: it takes no
sharp corner, so it is the faster of the two, and its path follows from the overlap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.motion.arguments import (
    check_between,
    check_flag,
    check_positive,
    check_turns,
    dwell_times,
    is_real,
    one_point,
)
from deltadyn.motion.motion import Motion
from deltadyn.motion.paths import RoundedPath, rounded_path
from deltadyn.motion.planned import Course, Hold, Leg, Plan, PlannedMotion, line, planned, reverse
from deltadyn.motion.profiles import PROFILES, Profile, profile_by_name, timed
from deltadyn.robot import Robot

ROUNDED = 0.75  # of the lower upright: what is left of it is straight
NARROWEST = 1e-6  # m: less is no way across


def pick_and_place(
    robot: Robot,
    start: npt.ArrayLike,
    end: npt.ArrayLike,
    *,
    lift: float = 0.05,
    rounding: float | None = None,
    profile: str = "quintic",
    back: bool = False,
    dwell: float | tuple[float, float] = 0.0,
    duration: float | None = None,
    rate: float = 2000.0,
    share: float = 1.0,
) -> PlannedMotion:
    """Up to `lift` (m) above the higher end, across and down, along a path with rounded corners.

    The corners are cut `rounding` (m) before and after, by default three quarters of the lower
    upright and at most half of the width; see `paths` for the curve. The arc length follows the
    `profile`. A robot with psi turns it between the uprights. `dwell` holds the robot (s) at the
    start before it leaves and at the end after it came; with `back` it then returns to the start.
    Without a `duration` (s, all of it) the move is as short as `share` of the robot's limits allow.
    """
    a, b = one_point(robot, start, "start"), one_point(robot, end, "end")
    shape = profile_by_name(profile)
    check_flag("back", back)
    at_start, at_end = dwell_times(dwell)
    course = rounded_gate(a, b, lift, rounding, shape)
    parts: list[Leg | Hold] = [Hold(a, at_start), Leg(course), Hold(b, at_end)]
    if back:
        parts.append(Leg(reverse(course)))
    return planned(robot, Plan(tuple(parts)), duration, rate, share)


def gate_move(
    robot: Robot,
    start: npt.ArrayLike,
    end: npt.ArrayLike,
    *,
    lift: float = 0.05,
    duration: float | None = 0.4,
    overlap: float = 0.6,
    rise: float = 0.4,
    rate: float = 2000.0,
    share: float = 1.0,
) -> PlannedMotion:
    """Up, across and down in `duration` seconds, sampled at `rate` hertz, from rest to rest.

    Lift and drop take `rise` of the time each; the way across begins after 1 - `overlap` of the
    lift's time and ends as long before the drop's end, so corners are rounded. Every part is a
    quintic in time, so the accelerations are continuous. A robot with psi turns it on the way
    across. With duration=None the move is as short as `share` of the robot's limits allow.
    """
    a, b = one_point(robot, start, "start"), one_point(robot, end, "end")
    if duration is not None:
        check_positive(duration=duration)
    check_positive(rate=rate, lift=lift)
    plan = Plan((Leg(overlapped_gate(a, b, lift, overlap, rise)),))
    return planned(robot, plan, duration, rate, share)


def overlapped_gate(
    a: FloatArray, b: FloatArray, lift: float, overlap: float = 0.6, rise: float = 0.4
) -> Course:
    """Lift, way across and drop as three quintics that overlap in time, from a to b (dof,)."""
    check_positive(lift=lift)
    check_between("overlap", overlap, 0.0, 1.0)
    if not is_real(rise) or not 0 < rise <= 0.5:
        raise InputError("rise", rise, "a number above 0 and at most 0.5")
    wait = rise * (1 - overlap)
    if not wait < 0.5:
        raise InputError("overlap", overlap, "above 0 with a rise of 0.5, to leave time to cross")
    quintic = PROFILES["quintic"]

    def course(u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        across = timed(quintic, u, wait, 1 - wait)
        up, down = timed(quintic, u, 0.0, rise), timed(quintic, u, 1 - rise, 1.0)
        p, pd, pdd = (value[:, None] * (b - a) for value in across)
        p = p + a
        for x, one, two in zip((p, pd, pdd), up, down, strict=True):
            x[:, _height(a)] += lift * (one - two)
        return p, pd, pdd

    return course


class Uprights(NamedTuple):
    """Heights (m) of both uprights of a gate, and its width."""

    first: float
    second: float
    width: float


def rounded_gate(
    a: FloatArray, b: FloatArray, lift: float, rounding: float | None, profile: Profile
) -> Course:
    """Along the rounded path of a gate, psi between its uprights, at the pace of a profile."""
    check_positive(lift=lift)
    path, begin, end = gate_path(a, b, lift, rounding)
    turn = b[3:] - a[3:]  # (0,) or (1,)
    quintic = PROFILES["quintic"]

    def course(u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        share, sharpness, bend = profile(u)
        s, sd, sdd = path.length * share, path.length * sharpness, path.length * bend
        x, x1, x2 = (part[:, [0, 2]] if len(a) == 2 else part for part in path.at(s))
        if turn.size:
            f, f1, f2 = (value[:, None] for value in timed(quintic, s, begin, end))
            x = np.concatenate([x, a[3:] + f * turn], axis=1)
            x1, x2 = (np.concatenate([y, z * turn], axis=1) for y, z in ((x1, f1), (x2, f2)))
        sd_, sdd_ = sd[:, None], sdd[:, None]
        return x, x1 * sd_, x2 * sd_**2 + x1 * sdd_

    return course


def gate_path(
    a: FloatArray, b: FloatArray, lift: float, rounding: float | None
) -> tuple[RoundedPath, float, float]:
    """The path of a gate, and the arc lengths (m) at which it leaves and meets the uprights."""
    a, b = _in_space(a), _in_space(b)
    higher = max(a[2], b[2])
    top = higher + lift
    width = float(np.hypot(*(b - a)[:2]))
    gate = Uprights(lift + (higher - a[2]), lift + (higher - b[2]), width)
    if gate.width < NARROWEST:
        allowed = f"at least {NARROWEST:g} m; to turn psi alone there is spindle_turn"
        raise InputError("horizontal distance of start and end", gate.width, allowed)
    largest = min(gate.first, gate.second, gate.width / 2)
    if rounding is None:
        rounding = min(ROUNDED * min(gate.first, gate.second), gate.width / 2)
    if not is_real(rounding) or not 0 < rounding <= largest:
        allowed = f"above 0 and at most {largest:g} m, the lower upright or half of the width"
        raise InputError("rounding", rounding, allowed)
    corners = np.array([a[:3], [a[0], a[1], top], [b[0], b[1], top], b[:3]])
    path = rounded_path(corners, np.full(2, float(rounding)))
    return path, gate.first - rounding, path.length - (gate.second - rounding)


def _height(point: FloatArray) -> int:
    """Which coordinate of a pose is z: the second in a plane."""
    return 1 if len(point) == 2 else 2


def _in_space(point: FloatArray) -> FloatArray:
    """x, y, z (3,) of a pose (dof,); y is 0 in a plane."""
    return np.array([point[0], 0.0, point[1]]) if len(point) == 2 else point[:3]


# Turns of psi: alone, or on top of any motion of a robot that has it.


def spindle_turn(
    robot: Robot,
    point: npt.ArrayLike,
    turns: float | npt.ArrayLike,
    *,
    profile: str = "quintic",
    back: bool = False,
    dwell: float = 0.0,
    duration: float | None = None,
    rate: float = 2000.0,
    share: float = 1.0,
) -> PlannedMotion:
    """Turn psi by `turns` (rad, one or several in a row) while the platform stands at `point` (4,).

    psi is a spindle's, or what the limbs of a Par4 or Heli4 carry; `kinematics.psi_range` tells how
    far these turn. Every turn goes from rest to rest with the `profile`, in times that give all the
    same peak acceleration; `dwell` (s) follows each of them. With `back` psi then returns to its
    start. Without a `duration` (s) the turns are as quick as `share` of the robot's limits allow.
    """
    check_turns(robot)
    shape = profile_by_name(profile)
    at = one_point(robot, point, "point")
    check_flag("back", back)
    steps = _turns(turns)
    if back and sum(steps) != 0:
        steps = [*steps, -sum(steps)]
    _, pause = dwell_times((0.0, dwell))
    parts: list[Leg | Hold] = []
    for step in steps:
        then = at + np.array([0.0, 0.0, 0.0, step])
        parts += [Leg(line(at, then, shape), abs(step) ** 0.5), Hold(then, pause)]
        at = then
    return planned(robot, Plan(tuple(parts)), duration, rate, share)


def with_turn(
    robot: Robot,
    motion: Motion,
    turn: float,
    *,
    begin: float | None = None,
    end: float | None = None,
    profile: str = "quintic",
) -> Motion:
    """The same motion with a `turn` of psi (rad) more, between the times `begin` and `end` (s).

    By default the turn takes the whole motion; before it psi is as it was, after it psi stays
    turned. `stretch` finds the shortest duration of the result.
    """
    check_turns(robot)
    shape = profile_by_name(profile)
    if not isinstance(motion, Motion) or motion.p.shape[1] != robot.dof:
        raise InputError("motion", type(motion).__name__, f"a Motion of {robot.dof} coordinates")
    if not is_real(turn):
        raise InputError("turn", turn, "a number of rad")
    first, last = float(motion.t[0]), float(motion.t[-1])
    begin, end = first if begin is None else begin, last if end is None else end
    for name, value in (("begin", begin), ("end", end)):
        if not is_real(value) or not first <= value <= last:
            raise InputError(name, value, f"from {first:g} to {last:g} s, within the motion")
    if not begin < end:
        raise InputError("end", end, f"above begin, {begin:g} s")
    if robot.spindle is None:  # the limbs carry psi: they all move
        course = [x.copy() for x in (motion.p, motion.pd, motion.pdd)]
        for x, share in zip(course, timed(shape, motion.t, float(begin), float(end)), strict=True):
            x[:, 3] += turn * share
        return Motion.from_platform(robot, motion.t, *course)
    names = ("p", "pd", "pdd", "q", "qd", "qdd")
    values = {name: getattr(motion, name).copy() for name in names}
    progress = timed(shape, motion.t, float(begin), float(end))
    for name, share in zip(names, (*progress, *progress), strict=True):
        values[name][:, 3] += turn * share  # the arms do not notice
    q = values.pop("q")
    new = Motion(cos_q=motion.cos_q, sin_q=motion.sin_q, t=motion.t, **values)
    new.__dict__["q"] = q
    return new


def _turns(value: float | npt.ArrayLike) -> list[float]:
    """One or several turns that are not zero."""
    given = np.atleast_1d(np.asarray(value))
    if given.ndim != 1 or not given.size or given.dtype.kind not in "fiu":
        raise InputError("turns", value, "a number of rad, or several")
    for row in np.flatnonzero(~np.isfinite(given) | (given == 0)):
        raise InputError(
            "turns", float(given[row]), "finite and not 0 rad", where=f"row {int(row)}"
        )
    return [float(turn) for turn in given]
