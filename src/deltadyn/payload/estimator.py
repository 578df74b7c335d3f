"""The payload's mass online: one sample at a time, constant memory, with its standard deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from deltadyn.errors import InputError
from deltadyn.payload.events import (
    CALM,
    CONFIRM,
    LEFT,
    LOST_GRIP,
    MIXED,
    PICK,
    RELEASE,
    SAME,
    SMALL,
    Change,
    ChangeDetector,
    Pick,
    threshold,
)
from deltadyn.payload.front_end import FrontEnd, Grid, GridSample
from deltadyn.payload.intake import Intake
from deltadyn.payload.noise import NoiseModel, Weighed
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

KEPT = 1000  # finished picks that `picks` holds: memory stays constant
APART = 4  # samples per residual from which the search has a sample of its own
SETTLE = 0.008  # s after a change, besides the filter's delay, from which residuals count


class PayloadEstimator:
    """Scalar least squares on whitened residuals, and events from their likelihood.

    `update(q, qd, qdd, tau)` takes a sample; rates that are None come from the angles. Then
    `mass` (kg) and `std` (kg) hold the payload, `event` is "pick", "release", "lost grip" or None,
    `picks` are the finished ones. The robot's own payload mass is not used, its offset is.
    """

    def __init__(
        self,
        robot: Any,
        *,
        rate: float = 2000.0,
        noise: NoiseModel | None = None,
        form: str = "acceleration",
        events: bool = True,
        false_alarms: float = 0.1,
        rest_speed: float = 0.15,
    ) -> None:
        """`robot` is an identified Robot or a fit; `false_alarms` are per hour, at most.

        `form="momentum"` needs no acceleration. `events=False` takes all samples for one load. A
        load that goes while the platform moves faster than `rest_speed` (m/s) was lost.
        """
        own = getattr(robot, "robot", robot)
        if not isinstance(own, Robot):
            raise InputError("robot", type(robot).__name__, "a Robot, or a fit with .robot")
        grid = Grid.of(rate, form)
        self.robot = own
        self.noise = NoiseModel.assumed(own, rate=rate, form=form) if noise is None else noise
        _check_noise(self.noise, own, grid)
        if not rest_speed > 0:
            raise InputError("rest_speed", rest_speed, "above 0 m/s")
        self.grid, self.events = grid, bool(events)
        self.threshold = self.noise.tails * threshold(false_alarms, grid.interval)
        self.front = FrontEnd(own, grid)
        self.whitener = self.noise.whitener()
        self.detector = ChangeDetector(self.threshold, float(rest_speed), grid.interval)
        self.intake = Intake(own, grid.rate)
        self.reset()

    @classmethod
    def from_fit(cls, fit: Any, recording: Recording, **options: Any) -> PayloadEstimator:
        """The estimator of an identified robot, with the noise of an empty recording of it."""
        form, rate = options.get("form", "acceleration"), options.get("rate")
        noise = NoiseModel.of(fit, recording, form=form, rate=rate)
        return cls(fit, noise=noise, **{**options, "rate": noise.grid.rate})

    def reset(self, reason: str = "new") -> None:
        """Forget samples and picks; the filters take their first moments anew."""
        self.picks: list[Pick] = []
        self.picked = 0  # all finished picks, also those that `picks` no longer holds
        self.event: str | None = None
        self.intake.reset()
        self._restart(reason)

    def _restart(self, reason: str) -> None:
        self.front.reset()
        self.whitener.reset()
        self.detector.reset()
        self.status = reason
        self.loaded = not self.events
        self._S = self._I = 0.0
        self._age = CALM  # residuals since the load, or its absence, began
        self._lost, self._before = False, 0.0
        self._skip = self.grid.warm_up
        self._start = self._detected = math.nan
        self._announced: bool | None = None
        self._pending = False

    @property
    def mass(self) -> float:
        """The payload in kg; 0 while the robot is empty."""
        return self._S / self._I if self.loaded and self._I > 0 else 0.0

    @property
    def std(self) -> float:
        """Standard deviation of `mass` in kg: noise with its correlation, and model errors.

        Infinite while nothing is known of a load; that of the model's zero on an empty robot.
        """
        if not self.loaded:
            return self.noise.zero
        return self.noise.std(self._I, self.mass)

    @property
    def time(self) -> float:
        """Time of the last sample in s."""
        return self.intake.t

    @property
    def bridged(self) -> int:
        """Missing samples that were interpolated since the last reset."""
        return self.intake.bridged

    def update(
        self,
        q: Sequence[float],
        qd: Sequence[float] | None,
        qdd: Sequence[float] | None,
        tau: Sequence[float],
        *,
        t: float | None = None,
        holding: bool | None = None,
    ) -> float:
        """Take a sample (rad, rad/s, rad/s^2, N m; each (dof,)) and give the mass in kg.

        `t` (s) lets gaps, jumps and a wrong rate be found. `holding`, the gripper's own signal,
        announces picks and releases; what goes while it holds is lost.
        """
        self.event = None
        if self.grid.form == "momentum":
            qdd = None
        rows = self.intake.rows(q, qd, qdd, tau, t)
        if rows is None:
            self._close("reset", self.intake.before)
            self._restart(self.intake.message)
            rows = self.intake.first(q, qd, qdd, tau)
        for row in rows:
            self._take(row)
        if holding is not None and holding is not self._announced:
            self._announce(bool(holding))
        return self.mass

    def _take(self, row: tuple[Any, ...]) -> None:
        try:
            sample = self.front.push(*row)
        except (ValueError, ZeroDivisionError):
            self._close("reset", self.intake.t)
            self._restart("angles at which the loop does not close: begun anew")
            raise InputError("q", list(row[0]), "angles at which the loop closes") from None
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

    def _search(self) -> None:
        if not self.loaded:
            if self._announced is not False and self._age >= CALM:
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
        left = self._lost and self._age <= LEFT
        if left and change.mass < SMALL * self._before:
            self.detector.restart()  # the gears still swing
            return
        if self._announced and not left:
            return
        self._lost = False
        self.event = None if left else PICK
        self._begin(change, MIXED)

    def _changed(self, change: Change) -> None:
        """A load that changed: it went, or there is more of it."""
        s, i = self.detector.window(change.age)
        rest_S, rest_I = self._S - s, self._I - i
        if change.mass * rest_I > rest_S:
            self._risen(change)
            return
        if change.age < CONFIRM:
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
        if self._age > SAME:
            if change.age < CONFIRM:
                return
            self._close(PICK, self._when(change))
            self.event = PICK
            self._begin(change, MIXED)
            return
        start, detected = self._start, self._detected
        self._begin(change, MIXED)
        self._start, self._detected = start, detected

    def _begin(self, change: Change, mixed: int) -> None:
        """A load since a change; the residuals right after it mix both loads."""
        reach = max(change.age - mixed, 1)
        self._S, self._I = self.detector.window(reach)
        self.loaded, self._age = True, 0
        self._start, self._detected = self._when(change), self.intake.t
        self.detector.restart(reach)

    def _announce(self, holding: bool) -> None:
        """The gripper closed or opened: what it tells is taken at once."""
        self._announced, now = holding, self.intake.t
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
        self._skip = max(self._skip, math.ceil((self.grid.delay + SETTLE) / self.grid.interval))

    def _when(self, change: Change) -> float:
        return self.intake.t - change.age * self.grid.interval - self.grid.delay

    def _close(self, ended: str, end: float) -> None:
        """File the pick that is under way."""
        if not self.loaded or math.isnan(self._start) or self._I <= 0:
            return
        self.picks.append(Pick(self._start, self._detected, end, self.mass, self.std, ended))
        self.picked += 1
        if len(self.picks) > KEPT:
            del self.picks[0]


def _check_noise(noise: NoiseModel, robot: Robot, grid: Grid) -> None:
    if not isinstance(noise, NoiseModel):
        raise InputError("noise", type(noise).__name__, "a NoiseModel")
    if len(noise.deviation) != robot.dof:
        allowed = f"{robot.dof}, as robot {robot.name!r} has"
        raise InputError("axes of the noise model", len(noise.deviation), allowed)
    if noise.grid != grid:
        allowed = f"{grid.rate:g} Hz in the form {grid.form!r}, as the estimator has"
        raise InputError("noise model", f"{noise.grid.rate:g} Hz, {noise.grid.form}", allowed)
