"""Picks, releases and lost grips: a change of the mass, by a generalised likelihood ratio.

Every residual adds s to S and i to the information I, so that the mass over a window is
S_w / I_w with variance 1 / I_w. The test statistic of a change at the window's begin is
z = (S_w / I_w - m_before) / sqrt(1 / I_w + var(m_before)), normal without a change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple

from deltadyn.errors import InputError

PICK, RELEASE, LOST_GRIP = "pick", "release", "lost grip"
#: Lengths of the windows that are tested at every residual; the last is the memory.
WINDOWS = (2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 90, 128)
MEMORY = WINDOWS[-1] + 1
PARDON = 4.0  # nats: a drop is a release unless the data speak so much clearer for one in motion
SLACK = 0.04  # s: how far the begin of a heavy load's change may be off
CONFIRM = 8  # residuals after a load's change from which it is judged: the filter mixes before
MIXED = 2  # residuals after a change that are left out of the new load's mass
CALM = 10  # residuals after a drop without a search: gears and filter swing
LEFT = 40  # residuals after a lost grip within which a load that shows is what was left of it
SMALL = 0.2  # of a lost load: less than that left is none
SAME = 12  # residuals after a pick within which a further rise is still that pick


UNSEEN_END = "its end was not seen"
LONG_PICK = "longer than"
AVERAGED = 0.6  # of the mass: deviation of one that may be averaged with an empty way


@dataclass(frozen=True)
class Pick:
    """One finished pick: times in s, mass and standard deviation in kg.

    `latency` (s) runs from the estimated begin to the sample at which it was known. `ended` says
    how: "release", "lost grip", "pick" (another load followed at once), "reset" or "end of the
    log". `note` says what is doubtful about it, if anything.
    """

    start: float
    detected: float
    end: float
    mass: float
    std: float
    ended: str
    note: str = ""

    @property
    def latency(self) -> float:
        """From the estimated begin to its detection, in s."""
        return self.detected - self.start

    def judged(self, longest: float, *, widen: bool = True) -> Pick:
        """The pick with its note: an end that was not seen, a time that is implausibly long (s).

        A pick that ends by the next one may hide an empty way, over which its mass was averaged:
        with `widen` its deviation grows.
        """
        notes, std = [self.note] if self.note else [], self.std
        if self.ended == PICK and UNSEEN_END not in notes:
            notes.append(UNSEEN_END)
            std = math.hypot(std, AVERAGED * self.mass) if widen else std
        if self.end - self.start > longest and not any(LONG_PICK in note for note in notes):
            notes.append(f"{LONG_PICK} {longest:.3g} s")
        return replace(self, std=std, note=", ".join(notes))

    def __str__(self) -> str:
        return (
            f"{self.start:.3f} to {self.end:.3f} s: {self.mass:.3f} kg +- {self.std:.3f}, "
            f"known after {1e3 * self.latency:.0f} ms, {self.ended}"
            + (f" ({self.note})" if self.note else "")
        )


class Change(NamedTuple):
    """A change of the mass: residuals since then, new mass (kg), its information, at rest?"""

    age: int
    mass: float
    information: float
    at_rest: bool


def threshold(false_alarms: float, interval: float) -> float:
    """z that white noise passes less often than `false_alarms` per hour, one side.

    By Bonferroni over all windows and residuals (one per `interval` s), so it is an upper bound.
    """
    if isinstance(false_alarms, bool) or not isinstance(false_alarms, int | float):
        raise InputError("false_alarms", false_alarms, "a number per hour")
    tests = 3600.0 / interval * len(WINDOWS)
    if not 0 < false_alarms < 0.5 * tests:
        raise InputError(
            "false_alarms", false_alarms, f"above 0 and below {0.5 * tests:g} per hour"
        )
    return -NormalDist().inv_cdf(false_alarms / tests)


class ChangeDetector:
    """The last residuals' S and I, and the tests of all windows on them; constant memory."""

    def __init__(self, limit: float, rest_speed: float, slack: int) -> None:
        """`limit` is the z that a change must pass, `slack` how far its begin may be off."""
        self.limit, self.rest_speed, self.slack = limit, rest_speed, slack
        self.reset()

    def reset(self) -> None:
        """Forget all residuals."""
        self.sums = [(0.0, 0.0)] * MEMORY
        self.speeds = [math.inf] * MEMORY
        self.place = 0
        self.count = 0  # residuals that windows may reach

    def restart(self, reach: int = 0) -> None:
        """Let windows reach only the last `reach` residuals: a change was found before them."""
        self.count = min(reach, self.count)

    def add(self, s: float, i: float, speed: float) -> None:
        """Take what a residual says."""
        total_s, total_i = self.sums[self.place]
        if total_i > 1e12:  # keep the sums small beside their increments
            self.sums = [(a - total_s, b - total_i) for a, b in self.sums]
            total_s = total_i = 0.0
        self.place = (self.place + 1) % MEMORY
        self.sums[self.place] = (total_s + s, total_i + i)
        self.speeds[self.place] = speed
        self.count += 1

    def window(self, length: int) -> tuple[float, float]:
        """S and I of the last residuals."""
        now = self.sums[self.place]
        then = self.sums[(self.place - length) % MEMORY]
        return now[0] - then[0], now[1] - then[1]

    def search_rise(self) -> Change | None:
        """A pick by an empty robot: some window's mass is above 0."""
        sums, place, limit = self.sums, self.place, self.limit
        now_s, now_i = sums[place]
        best, found = limit * limit, 0
        for length in WINDOWS:
            if length > self.count:
                break
            then = sums[(place - length) % MEMORY]
            s, i = now_s - then[0], now_i - then[1]
            if s > 0.0 and s * s > best * i > 0.0:
                best, found = s * s / i, length
        return self._change(found, 0.0, 0.0) if found else None

    def search_change(self, S: float, I: float, systematic: float) -> Change | None:
        """A change of a load whose own sums are S and I; `systematic` is its model error in kg."""
        sums, place = self.sums, self.place
        now_s, now_i = sums[place]
        square, best, found = systematic * systematic, self.limit**2, 0
        for length in WINDOWS:
            if length > self.count:
                break
            then = sums[(place - length) % MEMORY]
            s, i = now_s - then[0], now_i - then[1]
            before = I - i
            if i <= 0.0 or before <= 0.0:
                continue
            step = s / i - (S - s) / before
            z2 = step * step / (1 / i + 1 / before + square)
            if z2 > best:
                best, found = z2, length
        return self._change(found, S, I) if found else None

    def _change(self, length: int, S: float, I: float) -> Change:
        """The begin of a change, to the residual, and whether the robot may have rested then."""
        longest = min(self.count, MEMORY - 1, 2 * length)
        scores = [self._score(k, S, I) for k in range(1, longest + 1)]
        best = max(scores)
        age = scores.index(best) + 1
        near = range(age - self.slack, age + self.slack + 1)
        at_rest = any(
            (k in near or score >= best - PARDON)
            and self.speeds[(self.place - k) % MEMORY] < self.rest_speed
            for k, score in enumerate(scores, start=1)
        )
        s, i = self.window(age)
        return Change(age, s / i if i > 0 else 0.0, i, at_rest)

    def _score(self, length: int, S: float, I: float) -> float:
        """Logarithm of the likelihood ratio of a change that many residuals ago."""
        s, i = self.window(length)
        before = I - i
        if i <= 0.0:
            return 0.0
        if I <= 0.0:
            return 0.5 * s * s / i if s > 0 else 0.0
        if before <= 0.0:
            return 0.0
        step = s / i - (S - s) / before
        return 0.5 * step * step / (1 / i + 1 / before)
