"""Pick-and-place moves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.motion.arguments import check_between, check_positive, one_point
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot


def gate_move(
    robot: Robot,
    start: npt.ArrayLike,
    end: npt.ArrayLike,
    *,
    lift: float = 0.05,
    duration: float = 0.4,
    overlap: float = 0.6,
    rate: float = 2000.0,
) -> Motion:
    """Up, across and down in `duration` seconds, sampled at `rate` hertz, from rest to rest.

    Lift and drop take two fifths of the time each; the way across begins when 1 - `overlap` of the
    lift's time is over, so corners are rounded. Every part is a quintic in time, so the
    accelerations are continuous. The 4-DOF robot turns psi on the way across.
    """
    dof = robot.dof
    a, b = one_point(start, dof, "start"), one_point(end, dof, "end")
    check_positive(duration=duration, rate=rate, lift=lift)
    check_between("overlap", overlap, 0.0, 1.0)
    if duration * rate < 1:
        raise InputError("rate", rate, f"at least 1 / duration = {1 / duration:g} Hz")
    count = round(duration * rate) + 1
    t = np.linspace(0.0, duration, count)
    up = duration * 0.4
    wait = up * (1 - overlap)
    rise = quintic(t / up, 1 / up)
    fall = quintic((t - (duration - up)) / up, 1 / up)
    across = quintic((t - wait) / (duration - 2 * wait), 1 / (duration - 2 * wait))
    p, pd, pdd = (profile[:, None] * (b - a) for profile in across)
    p = p + a
    for x, one, two in zip((p, pd, pdd), rise, fall, strict=True):
        x[:, 2] += lift * (one - two)
    return Motion.from_platform(robot, t, p, pd, pdd)


def quintic(u: FloatArray, slope: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """10 u^3 - 15 u^4 + 6 u^5 on [0, 1], held outside, and its two derivatives in time.

    `slope` is du/dt in 1/s.
    """
    v = np.clip(u, 0.0, 1.0)
    s = v**3 * (10 + v * (-15 + 6 * v))
    sd = 30 * slope * (v * (1 - v)) ** 2
    sdd = 60 * slope**2 * v * (1 - v) * (1 - 2 * v)
    return s, sd, sdd
