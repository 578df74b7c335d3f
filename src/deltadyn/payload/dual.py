"""Dual numbers over any objects with arithmetic: a value and its rate along a direction."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Dual:
    """value + rate * epsilon; arithmetic carries the derivative along."""

    __slots__ = ("rate", "value")

    def __init__(self, value: Any, rate: Any = 0.0) -> None:
        self.value = value
        self.rate = rate

    def __add__(self, other: Any) -> Dual:
        b = _dual(other)
        return Dual(self.value + b.value, self.rate + b.rate)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dual:
        b = _dual(other)
        return Dual(self.value - b.value, self.rate - b.rate)

    def __rsub__(self, other: Any) -> Dual:
        return _dual(other) - self

    def __mul__(self, other: Any) -> Dual:
        b = _dual(other)
        return Dual(self.value * b.value, self.value * b.rate + self.rate * b.value)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        b = _dual(other)
        ratio = self.value / b.value
        return Dual(ratio, (self.rate - ratio * b.rate) / b.value)

    def __rtruediv__(self, other: Any) -> Dual:
        return _dual(other) / self

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.rate)

    def __lt__(self, other: Any) -> Any:
        return self.value < _dual(other).value


def dual_namespace(xp: Any) -> Any:
    """`sqrt`, `cos`, `sin` and `where` of dual numbers whose parts the namespace `xp` handles."""

    def sqrt(x: Any) -> Dual:
        a = _dual(x)
        root = xp.sqrt(a.value)
        return Dual(root, a.rate / (2 * root))

    def cos(x: Any) -> Dual:
        a = _dual(x)
        return Dual(xp.cos(a.value), -(xp.sin(a.value) * a.rate))

    def sin(x: Any) -> Dual:
        a = _dual(x)
        return Dual(xp.sin(a.value), xp.cos(a.value) * a.rate)

    def where(condition: Any, yes: Any, no: Any) -> Dual:
        a, b = _dual(yes), _dual(no)
        if _equal(a.rate, b.rate):
            return Dual(xp.where(condition, a.value, b.value), a.rate)
        return Dual(xp.where(condition, a.value, b.value), xp.where(condition, a.rate, b.rate))

    return SimpleNamespace(sqrt=sqrt, cos=cos, sin=sin, where=where)


def _dual(value: Any) -> Dual:
    return value if isinstance(value, Dual) else Dual(value)


def _equal(a: Any, b: Any) -> bool:
    return isinstance(a, int | float) and isinstance(b, int | float) and a == b
