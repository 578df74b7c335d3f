"""Short moves from the middle of the workspace and back, each to excite something.

All begin and end at rest at the same place, so they can be repeated and put one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.motion.fourier import FourierSeries, fourier_motion
from deltadyn.motion.limit_report import LimitError
from deltadyn.motion.limits import check_motion
from deltadyn.motion.motion import Motion
from deltadyn.motion.planned import Leg, Plan, line
from deltadyn.motion.profiles import PROFILES
from deltadyn.motion.scaling import planned, stretch
from deltadyn.robot import Robot

COARSE = 250.0  # Hz, of the search for the shortest time
SLACK = 1.002  # of the time: the peaks of a finer sampling are a little higher
TURNS = (math.pi / 2, math.pi)  # rad, of the spindle
ROOM = 0.9  # share of the workspace that moves take
HARMONICS = 4
PERIODS = (1, 3)
SIZES = ((1.0, "over the whole workspace"), (0.3, "in the middle third"))
SLOW = 0.3  # of the limits: a pace at which viscous friction and inertia matter less


@dataclass(frozen=True, eq=False)
class Move:
    """A motion from the middle and back, and what it does in words."""

    words: str
    motion: Motion

    @property
    def duration(self) -> float:
        """In s, with the step to the next move."""
        return self.motion.duration


def short_moves(robot: Robot, share: float, rate: float, seed: int = 0) -> Iterator[Move]:
    """A small family of moves as quick as `share` of the limits allow, and some slow ones."""
    cylinder = working_cylinder(robot)
    middle = np.zeros(robot.dof)
    middle[2] = (cylinder.z_min + cylinder.z_max) / 2
    size = np.array([cylinder.radius, cylinder.radius, (cylinder.z_max - cylinder.z_min) / 2, 1.0])
    size = size[: robot.dof]
    for words, offsets, slower in _ways(robot):
        places = [middle + offset * size for offset in offsets]
        motion = _lines(robot, middle, places, size, slower * share, rate)
        yield from _made(robot, words, motion)
    half = ROOM * size
    if robot.dof == 4:
        half[3] = max((angle for angle in TURNS if _turns(robot, angle)), default=0.0)
    for wide, text in SIZES:
        for periods in PERIODS:
            count = "1 period" if periods == 1 else f"{periods} periods"
            words = f"{count} of a sum of sines on all axes, {text}"
            motion = _sines(robot, middle, wide * half, periods, share, rate, seed)
            yield from _made(robot, words, motion)


def _ways(robot: Robot) -> Iterator[tuple[str, list[FloatArray], float]]:
    """Places to go to, in shares of the workspace and rad of psi, with the share of the pace."""
    x, y, z = ROOM * np.eye(robot.dof)[:3]
    turns = [angle for angle in TURNS if robot.dof == 4 and _turns(robot, angle)]
    for angle in turns:
        psi = angle * np.eye(4)[3]
        text = f"turn the spindle to {angle:.2f} and {-angle:.2f} rad in the middle"
        yield text, [psi, -psi], 1.0
        yield f"{text}, slowly", [psi, -psi], SLOW
    for wide, text in SIZES:
        a, b, c = wide * x, wide * y, wide * z
        yield f"go along x, {text}", [a, -a], 1.0
        yield f"go along y, {text}", [b, -b], 1.0
        yield f"go up and down, {text}", [c, -c], 1.0
        yield f"go along x, y and z, {text}", [a + c, -a - c, b - c, c - b], 1.0
        yield f"go along x, y and z slowly, {text}", [a + c, -a - c, b - c, c - b], SLOW
        for angle in turns:
            psi = angle * np.eye(4)[3]
            words = (
                f"go along x, y and z, {text}, and turn the spindle by {angle:.2f} rad on the way"
            )
            yield words, [a + c + psi, -a - c - psi, b - c + psi, c - b - psi], 1.0


def joined(robot: Robot, moves: Sequence[Move], rate: float) -> Motion:
    """Moves one after the other as one motion."""
    parts = [move.motion for move in moves]
    rows = [slice(0 if i == 0 else 1, None) for i in range(len(parts))]
    p, pd, pdd = (
        np.concatenate([getattr(m, name)[r] for m, r in zip(parts, rows, strict=True)])
        for name in ("p", "pd", "pdd")
    )
    return Motion.from_platform(robot, np.arange(len(p)) / rate, p, pd, pdd)


def _made(robot: Robot, words: str, motion: Motion | None) -> Iterator[Move]:
    if motion is not None and check_motion(robot, motion).ok:
        yield Move(words, motion)


def _lines(
    robot: Robot,
    middle: FloatArray,
    places: list[FloatArray],
    size: FloatArray,
    share: float,
    rate: float,
) -> Motion | None:
    """Straight from place to place and back to the middle; None where limits forbid it."""
    legs = []
    for a, b in pairwise([middle, *places, middle]):
        way = float((np.abs(b - a) / size).max())  # quick legs take the root of their length
        legs.append(Leg(line(a, b, PROFILES["quintic"]), math.sqrt(way)))
    plan = Plan(tuple(legs))
    try:
        quickest = planned(robot, plan, None, COARSE, share).duration
    except LimitError:
        return None
    return planned(robot, plan, math.ceil(SLACK * quickest * rate) / rate, rate, share)


def _sines(
    robot: Robot,
    middle: FloatArray,
    half: FloatArray,
    periods: int,
    share: float,
    rate: float,
    seed: int,
) -> Motion | None:
    """A seeded sum of sines that stays within the workspace, at the shortest period."""
    rng = np.random.default_rng(seed)
    sine, cosine = rng.standard_normal((2, robot.dof, HARMONICS)) / np.arange(1, HARMONICS + 1)
    t = np.linspace(0.0, 1.0, 400)
    wide = FourierSeries(1.0, middle, sine, cosine)
    reach = np.abs(wide.at(t).p - middle).max(axis=0)
    factor = (half / reach)[:, None]
    factor[:2] /= math.sqrt(2)  # the workspace is round
    series = FourierSeries(1.0, middle, factor * sine, factor * cosine)
    try:
        slow = fourier_motion(robot, series, periods=periods, rate=COARSE, ramp=1.0)
        seconds = stretch(robot, slow, share=share).duration * SLACK
    except LimitError:
        return None
    period = seconds / slow.duration
    quick = FourierSeries(1 / period, middle, series.sine, series.cosine)
    return fourier_motion(robot, quick, periods=periods, rate=rate, ramp=period)


def _turns(robot: Robot, angle: float) -> bool:
    """Whether the spindle may turn by this angle to both sides."""
    low, high = robot.limits.angle_min, robot.limits.angle_max
    least = -math.inf if low is None else low[3]
    most = math.inf if high is None else high[3]
    return least <= -angle and angle <= most


def check_rate(rate: float) -> float:
    """A sample rate in Hz that shows the moves."""
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not rate >= 100:
        raise InputError("rate", rate, "at least 100 Hz")
    return float(rate)
