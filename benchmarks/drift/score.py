"""What became of each planted fault, and how many alarms were false."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np

from benchmarks.drift.faults import CAUSES, KINDS
from benchmarks.drift.whole import START, Year
from deltadyn.history.drift import Change, Drift

EARLY = 7.0  # days before a fault at which the interval of a date may end: a ramp begins slowly
LEAST = 0.02  # a parameter that a fault moves by less is not among those that it moves


@dataclass
class Score:
    """The faults of one kind."""

    planted: int = 0
    found: int = 0
    delays: list[float] = field(default_factory=list)
    covered: int = 0
    named: int = 0
    sizes: list[float] = field(default_factory=list)  # found over planted
    inside: int = 0  # sizes whose interval holds the planted one
    missed: list[str] = field(default_factory=list)


@dataclass
class Scores:
    """All of them."""

    kinds: dict[str, Score] = field(default_factory=lambda: {kind: Score() for kind in KINDS})
    robot_years: float = 0.0
    false: list[str] = field(default_factory=list)
    further: int = 0  # alarms of a fault that had raised one
    repairs: int = 0
    repairs_found: int = 0
    odd: int = 0
    told: dict[str, list[int]] = field(default_factory=dict)  # cause: right, of all

    def add(self, year: Year, found: Drift) -> None:
        """Count one robot."""
        span = (found.times[-1] - found.times[0]).total_seconds() / (365.25 * 86400)
        fault = year.fault
        self.odd += len(found.odd)
        own = [item for item in found.changes if self._belongs(year, item)]
        others = [item for item in found.changes if item not in own]
        self.robot_years += span
        self.false += [f"{year.serial} {item.raised.date()}: {item.words}" for item in others]
        for item in others:
            self._tell(item.cause, right=False)
        if fault is None:
            return
        score = self.kinds[fault.kind]
        score.planted += 1
        before = [item for item in own if _day(item.date) < fault.repaired - 5]
        if fault.repaired < _day(found.times[-1]) - 10:
            self.repairs += 1
            self.repairs_found += any(abs(_day(item.date) - fault.repaired) < 10 for item in own)
        if not before:
            score.missed.append(f"{year.serial}: {fault}")
            return
        first = min(before, key=lambda item: item.raised)
        self.further += sum(item.alarm for item in before) - 1
        self._tell(first.cause, right=first.cause == CAUSES[fault.kind])
        self._score(score, year, first)

    def _belongs(self, year: Year, item: Change) -> bool:
        """Whether an alarm is of the robot's fault or its repair."""
        fault = year.fault
        if fault is None or _day(item.raised) < fault.day:
            return False
        moved = {name for name, size in year.effects.items() if abs(size) > LEAST}
        moved.add(f"residual{fault.axis + 1}")
        names = {move.parameter for move in item.moves}
        return bool(names & moved) and _day(item.high) >= fault.day - EARLY

    def _tell(self, cause: str, right: bool) -> None:
        count = self.told.setdefault(cause or "none", [0, 0])
        count[0] += right
        count[1] += 1

    def _score(self, score: Score, year: Year, first: Change) -> None:
        fault = year.fault
        assert fault is not None
        score.found += 1
        score.delays.append(_day(first.raised) - fault.day)
        score.covered += int(_day(first.low) <= fault.day <= _day(first.high))
        score.named += first.cause == CAUSES[fault.kind]
        move = max(
            (m for m in first.moves if m.parameter in year.effects),
            key=lambda m: abs(m.z),
            default=None,
        )
        if move is None or move.percent is None or move.percent_std is None:
            return
        share = fault.course(min(_day(first.until), fault.repaired - 1e-6))
        planted = 100 * share * np.expm1(year.effects[move.parameter])
        score.sizes.append(float(move.percent / planted))
        score.inside += int(abs(move.percent - planted) < 1.96 * move.percent_std)


def _day(time: object) -> float:
    return float((time - START) / timedelta(days=1))  # type: ignore[operator]
