"""The least-squares estimator: scalar sums of whitened residuals, and tests for their change.

A sample passes the front end (filters and model), the whitener (what a residual says of the mass)
and the search for a change of the mass, in this order.
"""

from __future__ import annotations

import math

from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.payload.events import LOST_GRIP, PICK, RELEASE, Change, ChangeDetector, Pick
from deltadyn.payload.front_end import FrontEnd, GridSample, Sample
from deltadyn.payload.noise import Weighed

APART = 4  # samples per residual from which the search has a sample of its own


class LeastSquaresEstimator(PayloadEstimator):
    """Scalar least squares on whitened residuals, and events from their likelihood."""

    name = "least-squares"
    widens = False  # as the exported blocks; `find_picks` does

    def _build(self, delay: float) -> None:
        n = self.numbers
        self.front = FrontEnd(self.robot, self.grid)
        self.whitener = self.noise.whitener()
        self.detector = ChangeDetector(n.limit, n.rest_speed, n.slack)

    def _restart(self, reason: str) -> None:
        self._measured, self.enough = 0, 2 * self.numbers.confirm
        self.front.reset()
        self.whitener.reset()
        self.detector.reset()
        self.status = reason
        self.loaded = not self.events
        self._S = self._I = 0.0
        self._age = self.numbers.calm  # residuals since the load, or its absence, began
        self._lost, self._before = False, 0.0
        self._skip = self.numbers.warm_up
        self._start = self._detected = math.nan
        self._announced: bool | None = None
        self._pending = False

    @property
    def mass(self) -> float:
        return self._S / self._I if self.loaded and self._I > 0 else 0.0

    @property
    def std(self) -> float:
        if not self.loaded:
            return self.noise.zero
        return self.noise.std(self._I, self.mass)

    @property
    def settled(self) -> bool:
        """As `PayloadEstimator.settled`, or the signal says that the gripper is open."""
        return self._announced is False or super().settled

    @property
    def threshold(self) -> float:
        """z that a change must pass."""
        return self.numbers.limit

    def _bridge(self, missing: int) -> None:
        self._skip = max(self._skip, self.numbers.settle + -(-missing // self.grid.step))

    def _take(self, row: Sample) -> None:
        sample = self.front.push(*row)
        if sample is not None:
            self._absorb(sample)
        elif self._pending and self.front.count % self.grid.step == self.grid.step // 2:
            self._pending = False  # half way between residuals: no sample carries all the work
            self._search()

    def _absorb(self, sample: GridSample) -> None:
        weighed = self.whitener.weigh(sample.r, sample.c, sample.qd)
        if self._skip:
            self._skip -= 1
            return
        if weighed is None:
            return
        self.status = "running"
        self._count(weighed)
        if not self.events:
            return
        self.detector.add(weighed.s, weighed.i, sample.speed)
        self._pending = self.grid.step >= APART
        if not self._pending:
            self._search()

    def _count(self, weighed: Weighed) -> None:
        if self.loaded:
            self._S += weighed.s
            self._I += weighed.i
        self._age += 1
        self._measured += 1

    def _search(self) -> None:
        if not self.loaded:
            if self._announced is not False and self._age >= self.numbers.calm:
                change = self.detector.search_rise()
                if change is not None:
                    self._picked(change)
            return
        spread = math.sqrt(2.0) * self.noise.systematic(self.mass)
        change = self.detector.search_change(self._S, self._I, spread)
        if change is not None:
            self._changed(change)

    def _picked(self, change: Change) -> None:
        """A load on an empty robot: a pick, or what was left after a lost grip."""
        left = self._lost and self._age <= self.numbers.left
        if left and change.mass < self.numbers.small * self._before:
            self.detector.restart()  # the gears still swing
            return
        if self._announced and not left:
            return
        self._lost = False
        self.event = None if left else PICK
        self._begin(change, self.numbers.mixed)

    def _changed(self, change: Change) -> None:
        """A load that changed: it went, or there is more of it."""
        s, i = self.detector.window(change.age)
        rest_S, rest_I = self._S - s, self._I - i
        if change.mass * rest_I > rest_S:
            self._risen(change)
            return
        if change.age < self.numbers.confirm:
            return
        self._S, self._I = rest_S, rest_I
        self._before, when = self.mass, self._when(change)
        lost = self._announced is True or not change.at_rest
        self.event = LOST_GRIP if lost else RELEASE
        self._close(self.event, when)
        self.loaded, self._S, self._I, self._age = False, 0.0, 0.0, 0
        self._lost = lost
        self.detector.restart()

    def _risen(self, change: Change) -> None:
        """More than before: the filter's last share of this pick, or another one."""
        if self._announced is not None:
            return  # the gripper says when it picks
        if self._age > self.numbers.same:
            if change.age < self.numbers.confirm:
                return
            self._close(PICK, self._when(change))
            self.event = PICK
            self._begin(change, self.numbers.mixed)
            return
        start, detected = self._start, self._detected
        self._begin(change, self.numbers.mixed)
        self._start, self._detected = start, detected

    def _begin(self, change: Change, mixed: int) -> None:
        """A load since a change; the residuals right after it mix both loads."""
        reach = max(change.age - mixed, 1)
        self._S, self._I = self.detector.window(reach)
        self.loaded, self._age = True, 0
        self._start, self._detected = self._when(change), self.intake.t
        self.detector.restart(reach)

    def _heed_signal(self) -> None:
        """The gripper closed or opened: that is taken for a pick or a release at once."""
        holding, now = self._holding, self.intake.t
        if holding is None or holding is self._announced:
            return
        self._announced = holding
        if holding and not self.loaded:
            self.loaded, self.event, self._age = True, PICK, 0
            self._start = self._detected = now
        elif not holding and self.loaded and self.events:
            self.event = RELEASE
            self._close(RELEASE, now)
            self.loaded, self._age = False, 0
        else:
            return
        self._S = self._I = 0.0
        self.detector.reset()
        self._skip = max(self._skip, self.numbers.settle)

    def _when(self, change: Change) -> float:
        return self.intake.t - change.age * self.grid.interval - self.grid.delay

    def _close(self, ended: str, end: float) -> None:
        """File the pick that is under way."""
        if not self.loaded or math.isnan(self._start) or self._I <= 0:
            return
        self._file(Pick(self._start, self._detected, end, self.mass, self.std, ended))
