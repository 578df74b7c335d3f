"""Checks that every part of a robot makes of its own fields."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from deltadyn.errors import RobotError

ARMS = 3
COUNTS = {2: "two", 3: "three", 4: "four"}  # in words

Triple = tuple[float, float, float]

_found: ContextVar[list[RobotError] | None] = ContextVar("found", default=None)


@contextmanager
def collected() -> Iterator[list[RobotError]]:
    """Numbers out of range are gathered here instead of raised, so that a file shows all at once.

    What was made then is not to be used where something was gathered.
    """
    errors: list[RobotError] = []
    token = _found.set(errors)
    try:
        yield errors
    finally:
        _found.reset(token)


def refuse(error: RobotError) -> None:
    """Raise the error, or gather it where errors are `collected`."""
    errors = _found.get()
    if errors is None:
        raise error
    errors.append(error)


RATIO = re.compile(r"\s*(\d+(?:\.\d+)?)\s*[:/]\s*(\d+(?:\.\d+)?)\s*")


def ratio_hint(path: str, value: Any) -> str:
    """What a gear ratio that is written as two numbers may mean: "1:20" is 20."""
    ratio = RATIO.fullmatch(value) if isinstance(value, str) else None
    if ratio is None or "gear_ratio" not in path:
        return ""
    low, high = sorted(float(part) for part in ratio.groups())
    return f"; did you mean {high / low:.6g}?" if low > 0 else ""


def number(
    path: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    strict: bool = False,
    unit: str = "",
) -> float:
    """`value` as a finite float in [low, high], or (low, high] where `strict`."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        refuse(RobotError(path, value, f"a number{ratio_hint(path, value)}"))
        return math.nan
    result = float(value)
    if not math.isfinite(result) or result < low or result > high or (strict and result == low):
        refuse(RobotError(path, result, _range_text(low, high, strict, unit)))
    return result


def each(path: str, value: Any, count: int, **limits: Any) -> tuple[float, ...]:
    """One number for all, or `count` numbers, as a tuple of `count` checked floats."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != count:
            raise RobotError(path, list(value), f"one number or {count} numbers")
        return tuple(number(f"{path}[{index}]", item, **limits) for index, item in enumerate(value))
    return (number(path, value, **limits),) * count


def _range_text(low: float, high: float, strict: bool, unit: str) -> str:
    if math.isinf(low) and math.isinf(high):
        return "a finite number"
    if math.isinf(high):
        text = f"{'above' if strict else 'at least'} {low:g}"
    elif math.isinf(low):
        text = f"at most {high:g}"
    else:
        text = (
            f"{'above' if strict else 'from'} {low:g} {'and at most' if strict else 'to'} {high:g}"
        )
    return f"{text} {unit}".rstrip()


class Part:
    """A frozen part; `_set` writes a checked value while it is being made."""

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


def one_each(items: Iterable[Any], path: str, count: int) -> tuple[Any, ...]:
    """Exactly so many parts, one per arm."""
    result = tuple(items)
    if len(result) != count:
        raise RobotError(path, len(result), f"{COUNTS[count]}, one per arm")
    return result
