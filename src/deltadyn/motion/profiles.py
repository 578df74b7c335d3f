"""Profiles on unit time: how far along a move is, from rest at 0 to rest at 1.

A move of length L in the time T that follows a profile with the peak factors `speed` and
`acceleration` reaches speed * L / T and acceleration * L / T^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import UnknownNameError

#: s, ds/du and d2s/du2 over unit time u, each (N,).
Progress = tuple[FloatArray, FloatArray, FloatArray]
Shape = Callable[[FloatArray], Progress]

RAMP = 1 / 3  # of the time: the trapezoid speeds up, cruises and slows down for a third each
S_RAMP = 0.4  # of the time: the S-curve speeds up, and as long slows down
S_JERK = 0.1  # of the time: each stretch of constant jerk of the S-curve


@dataclass(frozen=True)
class Profile:
    """A profile by name with its peak factors, which are exact.

    `jerk` is infinite where the acceleration jumps: the trapezoid's does, also at both ends.
    """

    name: str
    shape: Shape
    speed: float  # largest ds/du
    acceleration: float  # largest |d2s/du2|
    jerk: float  # largest |d3s/du3|

    @property
    def continuous(self) -> bool:
        """Whether the acceleration is continuous, and zero at both ends."""
        return math.isfinite(self.jerk)

    def __call__(self, u: FloatArray) -> Progress:
        """s, ds/du, d2s/du2 at u, held at 0 before and at 1 after the move."""
        inside = (u >= 0) & (u <= 1)
        s, sd, sdd = self.shape(np.clip(u, 0.0, 1.0))
        return s, np.where(inside, sd, 0.0), np.where(inside, sdd, 0.0)


def profile_by_name(name: str) -> Profile:
    """The profile of that name."""
    try:
        return PROFILES[name]
    except (KeyError, TypeError):
        raise UnknownNameError("profile", name, PROFILES) from None


def timed(profile: Profile, t: FloatArray, begin: float, end: float) -> Progress:
    """s, sd, sdd over time (1, 1/s, 1/s^2) of a profile that runs from `begin` to `end` (s)."""
    slope = 1 / (end - begin)
    s, sd, sdd = profile((t - begin) * slope)
    return s, sd * slope, sdd * slope**2


def quintic(u: FloatArray) -> Progress:
    """s = 10 u^3 - 15 u^4 + 6 u^5, on [0, 1]."""
    s = u**3 * (10 + u * (-15 + 6 * u))
    return s, 30 * (u * (1 - u)) ** 2, 60 * u * (1 - u) * (1 - 2 * u)


def mirrored(half: Shape) -> Shape:
    """The shape on [0, 1] whose second half mirrors the given one on [0, 1/2]."""

    @wraps(half)
    def whole(u: FloatArray) -> Progress:
        s, sd, sdd = half(np.minimum(u, 1 - u))
        second = u > 0.5
        return np.where(second, 1 - s, s), sd, np.where(second, -sdd, sdd)

    return whole


@mirrored
def trapezoid(u: FloatArray) -> Progress:
    """Constant acceleration, constant speed, constant deceleration; on [0, 1]."""
    speed = 1 / (1 - RAMP)
    slope = speed / RAMP
    ramp = u < RAMP
    s = np.where(ramp, slope * u**2 / 2, speed * (u - RAMP / 2))
    return s, np.where(ramp, slope * u, speed), np.where(ramp, slope, 0.0)


@mirrored
def s_curve(u: FloatArray) -> Progress:
    """Seven stretches of constant jerk: a trapezoid whose acceleration ramps; on [0, 1].

    The acceleration A rises during j, holds and falls during j; with the ramp r: speed
    V = 1 / (1 - r) and A = V / (r - j).
    """
    s, sd, sdd = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
    jerk = S_CURVE_JERK
    for begin, sign in ((0.0, 1), (S_JERK, -1), (S_RAMP - S_JERK, -1), (S_RAMP, 1)):
        since = np.maximum(u - begin, 0.0)  # each change of the jerk adds a cubic
        s += sign * jerk * since**3 / 6
        sd += sign * jerk * since**2 / 2
        sdd += sign * jerk * since
    return s, sd, sdd


@mirrored
def modified_sine(u: FloatArray) -> Progress:
    """The modified sine of cam design: eighths of a fast sine at both ends, a slow one between.

    (4 + pi) d2s/du2 = 4 pi^2 sin(4 pi u) on the ends and 4 pi^2 sin((pi + 4 pi u) / 3) between.
    """
    fast, slow = 4 * np.pi * u, (np.pi + 4 * np.pi * u) / 3
    end = u < 1 / 8
    over = 1 / (4 + np.pi)
    s = over * np.where(end, np.pi * u - np.sin(fast) / 4, 2 + np.pi * u - 9 * np.sin(slow) / 4)
    sd = over * np.pi * np.where(end, 1 - np.cos(fast), 1 - 3 * np.cos(slow))
    sdd = over * 4 * np.pi**2 * np.where(end, np.sin(fast), np.sin(slow))
    return s, sd, sdd


S_CURVE_SPEED = 1 / (1 - S_RAMP)
S_CURVE_ACCELERATION = S_CURVE_SPEED / (S_RAMP - S_JERK)
S_CURVE_JERK = S_CURVE_ACCELERATION / S_JERK

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("trapezoid", trapezoid, 1 / (1 - RAMP), 1 / (RAMP * (1 - RAMP)), math.inf),
        Profile("s-curve", s_curve, S_CURVE_SPEED, S_CURVE_ACCELERATION, S_CURVE_JERK),
        Profile("quintic", quintic, 15 / 8, 10 / math.sqrt(3), 60.0),
        Profile(
            "modified-sine",
            modified_sine,
            4 * math.pi / (4 + math.pi),
            4 * math.pi**2 / (4 + math.pi),
            16 * math.pi**3 / (4 + math.pi),
        ),
    )
}
