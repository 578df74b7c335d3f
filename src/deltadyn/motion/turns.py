"""Turns of the spindle: alone, or on top of any motion of a 4-DOF robot."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deltadyn.errors import InputError
from deltadyn.kinematics.spindle import spindle_of
from deltadyn.motion.arguments import check_flag, dwell_times, is_real, one_point
from deltadyn.motion.motion import Motion
from deltadyn.motion.planned import Hold, Leg, Plan, PlannedMotion, line
from deltadyn.motion.profiles import profile_by_name, timed
from deltadyn.motion.scaling import planned
from deltadyn.robot import Robot


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

    Every turn goes from rest to rest with the `profile`, in times that give all the same peak
    acceleration; `dwell` (s) follows each of them. With `back` psi then returns to its start.
    Without a `duration` (s) the turns are as quick as `share` of the robot's limits allow.
    """
    spindle_of(robot)
    shape = profile_by_name(profile)
    at = one_point(point, robot.dof, "point")
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
    spindle_of(robot)
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
