"""Numbers that carry their first two derivatives along a curve, over arrays.

With them a Lagrangian is differentiated to rounding: for T = 1/2 sum w (dy/dt)^2 of coordinates
y(q) with constant weights, the force on q_k is sum w dy/dq_k y'' (Lagrange's equations).
"""

# Why not differences of values: the audit says that the corrected M_f is the exact model to 1e-10
# N m and that M_f as printed errs by 15,425 N m RMS, near where an arc cosine leaves its domain.
# Fourth order differences with steps of 0.1 to 3 ms leave 3e-10 to 2e-7 and give 105 to 15,377.
# Complex steps have no arc tangent of two numbers in NumPy and give first derivatives alone. CasADi
# and JAX would do it and are no core dependencies; `deltadyn reproduce audit` is in the wheel.

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Jet:
    """A value with its first and second derivative by the curve's parameter."""

    v: Any
    d: Any = 0.0
    dd: Any = 0.0

    def __add__(self, other: Any) -> Jet:
        b = jet(other)
        return Jet(self.v + b.v, self.d + b.d, self.dd + b.dd)

    def __neg__(self) -> Jet:
        return Jet(-self.v, -self.d, -self.dd)

    def __sub__(self, other: Any) -> Jet:
        return self.__add__(-jet(other))

    def __mul__(self, other: Any) -> Jet:
        b = jet(other)
        dd = self.dd * b.v + 2 * self.d * b.d + self.v * b.dd
        return Jet(self.v * b.v, self.d * b.v + self.v * b.d, dd)

    def __truediv__(self, other: Any) -> Jet:
        b = jet(other)
        return self.__mul__(b.through(1 / b.v, -1 / b.v**2, 2 / b.v**3))

    def __radd__(self, other: Any) -> Jet:
        return self.__add__(other)

    def __rsub__(self, other: Any) -> Jet:
        return jet(other).__sub__(self)

    def __rmul__(self, other: Any) -> Jet:
        return self.__mul__(other)

    def through(self, f: Any, slope: Any, bend: Any) -> Jet:
        """A function of this number, given its value and two derivatives."""
        return Jet(f, slope * self.d, slope * self.dd + bend * self.d**2)


def jet(value: Any) -> Jet:
    """A constant as a jet."""
    return value if isinstance(value, Jet) else Jet(value)


def cos(a: Jet) -> Jet:
    """Cosine."""
    c, s = np.cos(a.v), np.sin(a.v)
    return a.through(c, -s, -c)


def sin(a: Jet) -> Jet:
    """Sine."""
    c, s = np.cos(a.v), np.sin(a.v)
    return a.through(s, c, -s)


def sqrt(a: Jet) -> Jet:
    """Square root."""
    root = np.sqrt(a.v)
    return a.through(root, 0.5 / root, -0.25 / root**3)


def arccos(a: Jet) -> Jet:
    """Angle in [0, pi]; not a number where the argument exceeds 1."""
    w = 1 - a.v**2
    return a.through(np.arccos(a.v), -1 / np.sqrt(w), -a.v / np.sqrt(w) ** 3)


def arctan2(y: Jet, x: Jet) -> Jet:
    """Angle of the point (x, y)."""
    square = x.v**2 + y.v**2
    d = (x.v * y.d - y.v * x.d) / square
    dd = (x.v * y.dd - y.v * x.dd - 2 * d * (x.v * x.d + y.v * y.d)) / square
    return Jet(np.arctan2(y.v, x.v), d, dd)


def along(values: tuple[Any, ...], rates: tuple[Any, ...], second: tuple[Any, ...]) -> list[Jet]:
    """Coordinates along the motion: position, rate and acceleration."""
    return [Jet(*triple) for triple in zip(values, rates, second, strict=True)]


def by_coordinate(values: tuple[Any, ...], k: int) -> list[Jet]:
    """Coordinates that vary with the k-th alone, so that `d` is the partial derivative."""
    return [Jet(value, 1.0 if j == k else 0.0) for j, value in enumerate(values)]
