"""Quintic Hermite interpolation: two continuous derivatives through values and derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray


class Values(NamedTuple):
    """A curve and its first two derivatives at N places, each (N, k)."""

    y: FloatArray
    y1: FloatArray
    y2: FloatArray


@dataclass(frozen=True, eq=False)
class Quintic:
    """A curve of quintics between knots x (n,); coefficients (6, n - 1, k) on unit intervals."""

    x: FloatArray
    coefficients: FloatArray

    @classmethod
    def through(cls, x: FloatArray, y: FloatArray, y1: FloatArray, y2: FloatArray) -> Quintic:
        """The curve with the values y and the derivatives y1, y2 (n, k) at the knots."""
        h = np.diff(x)[:, None]
        c0, c1, c2 = y[:-1], h * y1[:-1], h**2 * y2[:-1] / 2
        a = y[1:] - c0 - c1 - c2
        b = h * y1[1:] - c1 - 2 * c2
        c = h**2 * y2[1:] - 2 * c2
        c3, c4, c5 = 10 * a - 4 * b + c / 2, -15 * a + 7 * b - c, 6 * a - 3 * b + c / 2
        return cls(x, np.stack([c0, c1, c2, c3, c4, c5]))

    def at(self, x: FloatArray) -> Values:
        """The curve and its derivatives at x (N,) within the knots."""
        which = np.clip(np.searchsorted(self.x, x, side="right") - 1, 0, len(self.x) - 2)
        h = (self.x[which + 1] - self.x[which])[:, None]
        u = (x - self.x[which])[:, None] / h
        c0, c1, c2, c3, c4, c5 = self.coefficients[:, which]
        y = c0 + u * (c1 + u * (c2 + u * (c3 + u * (c4 + u * c5))))
        y1 = c1 + u * (2 * c2 + u * (3 * c3 + u * (4 * c4 + u * 5 * c5)))
        y2 = 2 * c2 + u * (6 * c3 + u * (12 * c4 + u * 20 * c5))
        return Values(y, y1 / h, y2 / h**2)
