"""Checks of the arguments of a call: numbers, shares, counts, flags, points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_samples
from deltadyn.errors import InputError
from deltadyn.robot import Robot

REAL = int | float | np.integer | np.floating


def is_real(value: object) -> bool:
    """Whether a value is one finite real number."""
    return isinstance(value, REAL) and not isinstance(value, bool) and math.isfinite(value)


def check_positive(**values: object) -> None:
    """Refuse what is not a number above 0."""
    for name, value in values.items():
        if not is_real(value) or not value > 0:  # type: ignore[operator]
            raise InputError(name, value, "a number above 0")


def check_between(name: str, value: object, low: float, high: float, unit: str = "") -> None:
    """Refuse what is not a number from `low` to `high`."""
    if not is_real(value) or not low <= value <= high:  # type: ignore[operator]
        raise InputError(name, value, f"a number from {low:g} to {high:g} {unit}".rstrip())


def check_share(share: object) -> None:
    """Refuse what is no share of a limit."""
    if not is_real(share) or not 0 < share <= 1:  # type: ignore[operator]
        raise InputError("share", share, "a number above 0 and at most 1")


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(name, value, "True or False")


def check_count(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number of at least `least`, and at most `most` where that is given."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not least <= value <= (value if most is None else most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(name, value, f"a whole number {limits}")
    return int(value)


def check_level(level: object) -> float:
    """A confidence level between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise InputError("level", level, "above 0 and below 1")
    return float(level)


def one_point(robot: Robot, value: npt.ArrayLike, name: str) -> FloatArray:
    """One platform pose (dof,)."""
    rows, single = as_samples(value, robot.dof, name, coordinates=robot.coordinates)
    if not single:
        raise InputError(f"shape of {name}", rows.shape, f"({robot.dof},)")
    point: FloatArray = rows[0]
    return point


def check_turns(robot: Robot) -> None:
    """Refuse a robot whose tool does not turn."""
    if not robot.turns:
        names = ", ".join(robot.coordinates)
        raise InputError("robot", robot.name, f"one that turns psi: robot.coordinates are {names}")


def dwell_times(value: object, names: tuple[str, str] = ("start", "end")) -> tuple[float, float]:
    """Seconds at both ends of a move, from one number for both or two."""
    pair = tuple(value) if isinstance(value, tuple | list | np.ndarray) else (value, value)
    if len(pair) != 2:
        raise InputError(
            "dwell", value, f"one number of s, or two: at the {' and the '.join(names)}"
        )
    for place, seconds in zip(names, pair, strict=True):
        if not is_real(seconds) or seconds < 0:
            raise InputError("dwell", seconds, "at least 0 s", where=f"the {place}")
    return float(pair[0]), float(pair[1])
