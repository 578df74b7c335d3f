"""The report of a check: one line per limit, what binds, and a table."""

from __future__ import annotations

import math
from dataclasses import dataclass

from deltadyn.errors import DeltadynError, UnknownNameError

OK, EXCEEDED = "ok", "exceeded"
UNNAMED = "unknown: the robot names no limit"
NO_SAMPLE = "unknown: no sample has a value"

ROUNDING = 1e-9  # of a limit: a motion that touches it must not fail by the last digits


@dataclass(frozen=True)
class Limit:
    """One limit and the sample of a motion that comes closest to it.

    `use` is the share of the limit that the motion takes: 1 at the limit, more beyond it. A
    quantity with a range takes 0 in the middle of it and 1 at both ends; a quantity that must stay
    above a bound takes bound / worst. `margin` is what is left in `unit`, negative beyond.
    """

    name: str
    worst: float
    allowed: float | None  # None where the robot names no limit
    unit: str
    margin: float | None
    use: float | None
    time: float | None  # s; None where no single sample decides
    axis: str  # of the drive or arm, empty where there is none
    status: str  # "ok", "exceeded", or "unknown: ..." with the reason

    @property
    def exceeded(self) -> bool:
        """Whether the motion goes beyond this limit."""
        return self.status == EXCEEDED

    @property
    def known(self) -> bool:
        """Whether worst value and limit are both known."""
        return self.use is not None

    def __str__(self) -> str:
        """One sentence: quantity, axis, time, value, allowed and by how much."""
        return self.sentence("" if self.time is None else f"{self.time:.6g} s")

    def sentence(self, place: str) -> str:
        """The same with another word for the place."""
        axis = f" of axis {self.axis}" if self.axis else ""
        at = f" at {place}" if place else ""
        text = f"{self.name}{axis}{at} is {self.worst:.6g} {self.unit}"
        if self.allowed is None or self.margin is None:
            return f"{text}; {self.status}"
        left = f"{abs(self.margin):.4g} {self.unit} {'beyond' if self.exceeded else 'left'}"
        return f"{text}; allowed: {self.allowed:.6g} {self.unit}, {left}"


class LimitError(DeltadynError):
    """A motion that breaks a limit at every duration: which, where and by how much.

    `position` is that of the platform where `limit` is exceeded most, None where no single sample
    decides.
    """

    def __init__(
        self, robot: str, limit: Limit, position: tuple[float, ...] | None, reason: str
    ) -> None:
        self.robot = robot
        self.limit = limit
        self.position = position
        self.reason = reason
        place = ""
        if position is not None:
            place = f"platform position [{', '.join(f'{x:.4g}' for x in position)}]"
        super().__init__(f"{limit.sentence(place)} (robot {robot!r}); {reason}")


@dataclass(frozen=True)
class LimitReport:
    """Every limit of a robot along a motion, in the order of the table that `str` gives."""

    robot: str
    model: str
    duration: float  # s
    samples: int
    share: float  # of the limits on rates, accelerations, torques and forces
    limits: tuple[Limit, ...]

    @property
    def ok(self) -> bool:
        """Whether no known limit is exceeded."""
        return not self.exceeded

    @property
    def exceeded(self) -> tuple[Limit, ...]:
        """The limits that the motion goes beyond."""
        return tuple(limit for limit in self.limits if limit.exceeded)

    @property
    def binding(self) -> Limit | None:
        """The known limit of which the motion takes the largest share."""
        known = [limit for limit in self.limits if limit.use is not None]
        return max(known, key=lambda limit: limit.use or 0.0, default=None)

    def __getitem__(self, name: str) -> Limit:
        """The limit of that name."""
        for limit in self.limits:
            if limit.name == name:
                return limit
        raise UnknownNameError("limit", name, (limit.name for limit in self.limits))

    @property
    def summary(self) -> str:
        """One sentence: kept or not, and what binds."""
        count = len(self.exceeded)
        if count:
            plural = "limit is" if count == 1 else "limits are"
            verdict = f"{count} {plural} exceeded: {', '.join(x.name for x in self.exceeded)}"
        else:
            verdict = "every known limit is kept"
        closest = self.binding
        if closest is None or closest.use is None:
            return "the robot names no limit"
        axis = f" of axis {closest.axis}" if closest.axis else ""
        return f"{verdict}; {closest.name}{axis} binds with {_percent(closest.use)}"

    def __str__(self) -> str:
        """The table, with units."""
        head = ("limit", "worst", "allowed", "unit", "margin", "used", "at", "axis", "status")
        rows = [head, *(_cells(limit) for limit in self.limits)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
        right = (1, 2, 4, 5, 6)
        lines = [
            "  ".join(
                cell.rjust(width) if k in right else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        share = "" if self.share == 1 else f", {_percent(self.share)} of the limits that time sets"
        title = (
            f"{self.robot}, {self.samples} samples in {self.duration:.6g} s, model {self.model!r}"
            f"{share}: {self.summary}"
        )
        return "\n".join([title, *lines])


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %" if math.isfinite(share) else "all and more"


def _cells(limit: Limit) -> tuple[str, ...]:
    def text(value: float | None) -> str:
        return "" if value is None else f"{value:.4g}"

    used = "" if limit.use is None else _percent(limit.use)
    time = "" if limit.time is None else f"{limit.time:.4f} s"
    numbers = (text(limit.worst), text(limit.allowed), limit.unit, text(limit.margin))
    return (limit.name, *numbers, used, time, limit.axis, limit.status)
