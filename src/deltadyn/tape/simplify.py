"""What is simpler than an operation, and the same bit for bit: an operand, or another operation.

A rule gives None where it knows nothing. Signs move outward, where the next sum takes them in:
(-a) b is -(a b), and c + -(a b) is c - a b. Nothing is reordered, and nothing is factored out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Value = Any  # a Number of `tape`, or a float where it is known


def known(value: Value) -> bool:
    """Whether a value is a plain number."""
    return isinstance(value, int | float)


def _is(value: Value, number: float) -> bool:
    return known(value) and bool(value == number)


def _same(a: Value, b: Value) -> bool:
    if known(a) or known(b):
        return known(a) and known(b) and bool(a == b)
    return bool(a.place == b.place)


def _opposite(value: Value) -> Value | None:
    """a of a value that is -a."""
    if known(value):
        return -value if value < 0 else None
    operation, *operands = value.entry
    return value.beside(operands[0]) if operation == "neg" else None


def _sum(a: Value, b: Value) -> Value | None:
    if _is(a, 0.0) or _is(b, 0.0):
        return b if _is(a, 0.0) else a
    for first, second in ((a, b), (b, a)):
        if (opposite := _opposite(second)) is not None:
            return first - opposite
    return None


def _difference(a: Value, b: Value) -> Value | None:
    if _is(b, 0.0) or _is(a, 0.0):
        return a if _is(b, 0.0) else -b
    if _same(a, b):
        return 0.0
    if (opposite := _opposite(b)) is not None:
        return a + opposite
    return None if (opposite := _opposite(a)) is None else -(opposite + b)


def _product(a: Value, b: Value) -> Value | None:
    if _is(a, 0.0) or _is(b, 0.0):
        return 0.0
    if _is(a, 1.0) or _is(b, 1.0):
        return b if _is(a, 1.0) else a
    for first, second in ((a, b), (b, a)):
        if (opposite := _opposite(second)) is not None:
            return -(first * opposite)
    return None


def _quotient(a: Value, b: Value) -> Value | None:
    if _is(a, 0.0) or _is(b, 1.0):
        return a
    if known(b) and abs(math.frexp(b)[0]) == 0.5 and math.isfinite(1.0 / b):
        return a * (1.0 / b)  # a power of two has an exact inverse
    if (opposite := _opposite(a)) is not None:
        return -(opposite / b)
    return None if (opposite := _opposite(b)) is None else -(a / opposite)


def _negative(a: Value) -> Value | None:
    operation, *operands = a.entry
    if operation == "-":
        first, second = map(a.beside, operands)
        return second - first
    return _opposite(a)


def _choice(a: Value, b: Value, yes: Value, no: Value) -> Value | None:
    return yes if _same(yes, no) else None


SIMPLER: dict[str, Callable[..., Value | None]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "/": _quotient,
    "neg": _negative,
    "choose": _choice,
}
