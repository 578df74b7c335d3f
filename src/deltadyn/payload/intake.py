"""The door of the estimator: what is refused, what is bridged, and what makes it begin anew."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from deltadyn.errors import InputError
from deltadyn.payload.stretches import GAP
from deltadyn.robot import Robot

OFF = 0.1  # of a sample time: steps within it are on time; others are counted
PATIENCE = 20  # steps of the same wrong length in a row: the rate has changed
FASTEST = 100.0  # rad/s of an arm: beyond it an angle has jumped

Row = tuple[Any, Any, Any, Any]


class Intake:
    """Checks samples and their times, and fills gaps of a few samples by a straight line.

    Refused with an InputError, nothing changed: values that are not finite, another number of
    axes, times that do not run forward, a rate other than that of the estimator, an arm's angle
    that jumped. A pause of more than ten sample times makes the estimator begin anew, and so do
    angles that stay where they jumped to.
    """

    def __init__(self, robot: Robot, rate: float) -> None:
        self.robot, self.dof, self.rate = robot, robot.dof, rate
        self.reach = FASTEST * GAP / rate  # rad over the longest gap that is bridged
        self.reset()

    def reset(self) -> None:
        """Forget times and samples."""
        self.t = self.before = math.nan
        self.timed = False
        self.last: list[float] | None = None
        self.pattern: tuple[bool, bool] | None = None
        self.bridged = 0
        self.wrong = 0
        self.wrong_time = 0.0
        self.jumped = 0
        self.message = ""

    def rows(
        self,
        q: Sequence[float],
        qd: Sequence[float] | None,
        qdd: Sequence[float] | None,
        tau: Sequence[float],
        t: float | None,
    ) -> list[Row] | None:
        """The samples to take, the missing ones before the given; None where a gap is too long."""
        q, tau = self._axes("q", q), self._axes("tau", tau)
        if qd is not None:
            qd = self._axes("qd", qd)
        if qdd is not None:
            qdd = self._axes("qdd", qdd)
        given = (qd is not None, qdd is not None)
        if given != self.pattern:
            self._check_pattern(given)
        try:
            total = sum(q) + sum(tau) + (sum(qd) if qd else 0.0) + (sum(qdd) if qdd else 0.0)
        except TypeError:
            total = math.nan
        if not math.isfinite(total):
            self._refuse_values({"q": q, "qd": qd, "qdd": qdd, "tau": tau})
        stayed = self._check_jump(q)
        missing = self._missing(t)
        self.pattern = given
        if stayed:
            self.message = f"angles that jumped and stayed, {self._when()}: begun anew"
        if missing is None or stayed:
            return None
        row = (q, qd, qdd, tau)
        if not missing or self.last is None:
            self.last = row  # type: ignore[assignment]
            return [row]
        self.bridged += missing
        rows = [_between(self.last, row, k / (missing + 1)) for k in range(1, missing + 1)]
        self.last = row  # type: ignore[assignment]
        return [*rows, row]

    def first(self, *row: Any) -> list[Row]:
        """The sample after a gap, as the first of a new stretch."""
        q, qd, qdd, tau = (None if x is None else _floats(x) for x in row)
        self.last = (q, qd, qdd, tau)  # type: ignore[assignment]
        return [(q, qd, qdd, tau)]

    def _axes(self, name: str, values: Sequence[float]) -> list[float]:
        try:
            x = _floats(values)
        except TypeError:
            raise InputError(name, values, f"{self.dof} numbers") from None
        if len(x) != self.dof:
            allowed = f"{self.dof} numbers, as robot {self.robot.name!r} has axes"
            raise InputError(f"number of values in {name}", len(x), allowed)
        return x

    def _check_pattern(self, given: tuple[bool, bool]) -> None:
        if given == (False, True):
            raise InputError("qd", None, "the rates, where accelerations are given")
        if self.pattern is not None:
            names = {True: "given", False: "None"}
            text = f"qd {names[given[0]]}, qdd {names[given[1]]}"
            raise InputError("rates", text, "as in the first sample, or reset() before")

    def _refuse_values(self, values: dict[str, Sequence[float] | None]) -> None:
        for name, x in values.items():
            for axis, value in enumerate(x or ()):
                if not isinstance(value, int | float) or not math.isfinite(value):
                    allowed = "a finite number; the sample was not used"
                    raise InputError(name, value, allowed, where=f"axis {axis + 1}, {self._when()}")

    def _check_jump(self, q: list[float]) -> bool:
        """Refuse an angle that jumped; whether it has stayed there for long enough to be true."""
        if self.last is None:
            return False
        before: Any = self.last[0]
        for axis in range(3):
            if abs(q[axis] - before[axis]) > self.reach:
                self.jumped += 1
                if self.jumped >= PATIENCE:
                    self.jumped = 0
                    return True
                allowed = (
                    f"within {self.reach:.3g} rad of {before[axis]:.4g}; the sample was not used"
                )
                raise InputError("q", q[axis], allowed, where=f"axis {axis + 1}, {self._when()}")
        self.jumped = 0
        return False

    def _missing(self, t: float | None) -> int | None:
        """How many samples are missing before this one; None: too many."""
        if t is None:
            if self.timed:
                raise InputError("t", None, "a time, as the samples before had, or reset() before")
            self.t = 0.0 if math.isnan(self.t) else self.t + 1 / self.rate
            return 0
        if not isinstance(t, int | float) or not math.isfinite(t):
            raise InputError("t", t, "a finite number of s; the sample was not used")
        if math.isnan(self.t):
            self.t, self.timed = float(t), True
            return 0
        if not self.timed:
            raise InputError("t", t, "None, as in the samples before, or reset() before")
        step = t - self.t
        if step <= 0:
            raise InputError("t", t, f"above {self.t:.6f} s; the sample was not used")
        length = step * self.rate
        self._check_rate(length)
        self.before, self.t = self.t, float(t)
        if length > GAP:
            self.message = f"a pause of {step:.3g} s before t = {t:.6g} s: begun anew"
            return None
        return max(round(length) - 1, 0)

    def _check_rate(self, length: float) -> None:
        """Twenty steps in a row that are all too long or all too short are another rate."""
        if abs(length - 1) <= OFF:
            self.wrong, self.wrong_time = 0, 0.0
            return
        self.wrong += 1
        self.wrong_time += length
        if self.wrong >= PATIENCE:
            found = self.wrong / self.wrong_time * self.rate
            self.wrong, self.wrong_time = 0, 0.0
            if abs(found / self.rate - 1) > OFF:
                allowed = f"{self.rate:g} Hz; make an estimator for the new rate"
                raise InputError("rate of the samples", found, allowed, where=self._when())

    def _when(self) -> str:
        return "the first sample" if math.isnan(self.t) else f"t = {self.t:.6g} s"


def _floats(values: Sequence[float]) -> list[float]:
    tolist = getattr(values, "tolist", None)
    x = tolist() if callable(tolist) else list(values)
    if not isinstance(x, list):
        raise TypeError("one value per axis")
    return x


def _between(old: Any, new: Row, share: float) -> Row:
    """A sample on the straight line between two."""
    a, b, c, d = (
        None if x is None else [(1 - share) * u + share * v for u, v in zip(w, x, strict=True)]
        for w, x in zip(old, new, strict=True)
    )
    return a, b, c, d
