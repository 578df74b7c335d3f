"""The gripper's signal as evidence: edges with a delay that is learned from the picks.

The signal is taken once a row. A closing edge k rows after (k < 0: before) the begin of a
hypothesis' load multiplies the chance of that hypothesis, and an opening edge that of an end, by

    1 + min(p_k / s, most)

with p_k the share of the last picks whose edge had this delay, and s the chance per row of an edge
that belongs to no pick. Both are counted: p_k when a pick is settled, s with every edge. At first
the signal is worth as much as one pick whose edge may lie anywhere, and one stray edge in two
seconds. Nothing lowers a chance: where no edge comes, all is as without a signal, and a signal of
many stray edges soon counts for nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

CLOSING, OPENING = range(2)
NO_EDGE = -1  # in the place of a delay's bin: a change without an edge
PRIOR_S = 2.0  # s in which one stray edge is expected before any was counted
SMOOTHING = ((-1, 0.25), (0, 0.5), (1, 0.25))  # a begin is known to a row


class SignalNumbers(NamedTuple):
    """The numbers of the signal; times are counted in rows."""

    first: int  # from the first row of a change to the earliest edge that may be its own
    delays: int  # bins of one row from there on
    most: float  # the largest p_k / s
    pick_keep: float  # share of the counted picks that a new one leaves
    row_keep: float  # share of the counted stray edges that a row leaves
    prior_rows: float  # rows in which one stray edge is expected at first


class SignalDelay(NamedTuple):
    """How far the gripper's signal lies behind the load, in s, and in which share of the picks."""

    closing: tuple[float, float]
    opening: tuple[float, float]

    def __str__(self) -> str:
        said = []
        for verb, change, (delay, share) in zip(
            ("closes", "opens"), ("comes", "goes"), self, strict=True
        ):
            side = "after" if delay >= 0 else "before"
            where = f"{abs(1e3 * delay):.0f} ms {side} a load {change}"
            far = f"far from where a load {change}"
            said.append(f"{verb} {where if share else far} ({100 * share:.0f} % of the picks)")
        return ", ".join(said)


class GripperSignal:
    """Level and last edges of the signal, and what was learned of its delay."""

    def __init__(self, numbers: SignalNumbers) -> None:
        self.numbers = numbers
        self.clear()

    def clear(self) -> None:
        """Begin anew with a signal of which nothing is known."""
        self.counts = np.zeros((2, self.numbers.delays))  # picks by the delay of their edge
        self.picks = [0.0, 0.0]
        self.stray = [0.0, 0.0]  # edges without a pick
        self.rows = 0.0
        self.lose_level()

    def lose_level(self) -> None:
        """Samples are missing: the level is not known, what was learned stays."""
        self.level: bool | None = None
        self.ages = [math.inf, math.inf]  # rows since the last edges

    def age_edges(self, dead: int, still: int) -> None:
        """A row more; what came since all arms stand still is taken to have come last."""
        for kind, age in enumerate(self.ages):
            if dead <= still or age >= dead:
                self.ages[kind] = age + 1.0

    def detect_edge(self, level: bool | None) -> int:
        """Take the level of a row (None: not known); CLOSING, OPENING or NO_EDGE."""
        n = self.numbers
        self.rows = n.row_keep * self.rows + 1.0
        self.stray = [n.row_keep * count for count in self.stray]
        if level is None or level is self.level:
            return NO_EDGE
        before, self.level = self.level, level
        if before is None:
            return NO_EDGE
        kind = CLOSING if level else OPENING
        self.stray[kind] += 1.0
        return kind

    def delay_bin(self, kind: int, age: float = 0.0) -> int:
        """Bin of the last edge's delay behind a change of this age in rows; NO_EDGE if too far."""
        rows = age - self.ages[kind] - self.numbers.first
        return int(rows) if 0 <= rows < self.numbers.delays else NO_EDGE

    def log_gain(self, kind: int, delay: int) -> float:
        """Natural logarithm of the factor on the chance of a change with its edge in this bin."""
        if delay == NO_EDGE:
            return 0.0
        n = self.numbers
        share = (self.counts[kind, delay] + 1.0 / n.delays) / (self.picks[kind] + 1.0)
        stray = max(self.stray[kind], 1.0) / (self.rows + n.prior_rows)
        return math.log1p(min(share / stray, n.most))

    def count_pick(self, kind: int, delay: int) -> None:
        """A settled pick had its edge in this bin, or none."""
        if self.level is None:
            return
        keep = self.numbers.pick_keep
        self.counts[kind] *= keep
        self.picks[kind] = keep * self.picks[kind] + 1.0
        if delay == NO_EDGE:
            return
        self.stray[kind] = max(self.stray[kind] - 1.0, 0.0)
        for step, share in SMOOTHING:
            if 0 <= delay + step < self.numbers.delays:
                self.counts[kind, delay + step] += share

    def mean_delay(self, kind: int) -> tuple[float, float]:
        """Mean delay in rows behind a change, and the share of the picks with an edge."""
        total = float(self.counts[kind].sum())
        if not total:
            return math.nan, 0.0
        mean = float(self.counts[kind] @ np.arange(self.numbers.delays)) / total
        return mean + self.numbers.first, total / self.picks[kind]
