"""The payload's mass online: one sample at a time, constant memory, with its standard deviation.

`PayloadEstimator(robot, estimator=...)` gives one of the estimators by its name: "bank", hypotheses
about the load (`bank_estimator.py`), or "least-squares", one sum of whitened residuals and tests
for its change (`least_squares.py`). Here is what they share: samples pass the intake (checks, short
gaps), and finished picks are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.payload.events import Pick
from deltadyn.payload.front_end import GAP, Sample, delay_of
from deltadyn.payload.gripper_signal import SignalDelay
from deltadyn.payload.noise import NoiseModel
from deltadyn.payload.settings import (
    ESTIMATORS,
    EstimatorNumbers,
    EstimatorOptions,
    Pace,
    noise_for,
    numbers_of,
)
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

KEPT = 1000  # finished picks that `picks` holds: memory stays constant
FEW = 32  # samples from which it is worth the while to look at them together
OFF = 0.1  # of a sample time: steps within it are on time; others are counted


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples in a row, each (n, dof) at t (n,), and the gripper's signal (n,) where there is one.

    Units are those of `PayloadEstimator.update`; rates that are not measured are None.
    """

    q: FloatArray
    qd: FloatArray | None
    qdd: FloatArray | None
    tau: FloatArray
    t: FloatArray
    holding: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.t)

    def part(self, start: int, stop: int) -> Samples:
        """Those from one number up to another."""
        own = (None if x is None else x[start:stop] for x in vars(self).values())
        return Samples(*own)  # type: ignore[arg-type]

    def sample(self, k: int) -> Sample:
        """One of them."""
        columns = (self.q, self.qd, self.qdd, self.tau)
        return Sample._make(None if x is None else x[k].tolist() for x in columns)

    @property
    def samples(self) -> list[Sample]:
        """One by one."""
        none = [None] * len(self)
        columns = (self.q, self.qd, self.qdd, self.tau)
        lists = (none if x is None else x.tolist() for x in columns)
        return [Sample._make(values) for values in zip(*lists, strict=True)]


class Step(NamedTuple):
    """A sample of many, by its number, that was taken, or refused by an error."""

    number: int
    error: InputError | ArithmeticError | None = None


class PayloadEstimator:
    """The payload by angles and torques; `estimator` chooses how, "bank" or "least-squares".

    `update(q, qd, qdd, tau)` takes a sample; rates that are None come from the angles. Then
    `mass` (kg) and `std` (kg) hold the payload, `event` is "pick", "release", "lost grip" or None,
    `picks` are the finished ones. The robot's own payload mass is not used, its offset is.
    """

    name: str  # of the estimator
    widens = True  # the deviation of a pick whose end was not seen
    enough: int  # residuals in motion after a begin from which an empty robot is known to be empty
    loaded: bool
    status: str

    def __new__(cls, robot: Any, options: EstimatorOptions | None = None, **fields: Any) -> Any:
        """The estimator that the options name."""
        if cls is not PayloadEstimator:
            return super().__new__(cls)
        own = EstimatorOptions() if options is None else options
        return super().__new__(_kind(fields.get("estimator", own.estimator)))

    def __init__(
        self,
        robot: Any,
        options: EstimatorOptions | None = None,
        *,
        noise: NoiseModel | None = None,
        **fields: Any,
    ) -> None:
        """`robot` is an identified Robot or a fit, `noise` that of its empty recording.

        Keywords are single fields of `options`: estimator, rate, form, events, false_alarms,
        rest_speed, longest, delay.
        """
        own = getattr(robot, "robot", robot)
        if not isinstance(own, Robot):
            raise InputError("robot", type(robot).__name__, "a Robot, or a fit with .robot")
        chosen = replace(EstimatorOptions.of(options, **fields), estimator=self.name)
        self.robot, self.noise = own, noise_for(own, noise, chosen)
        self.options = chosen
        self.numbers: EstimatorNumbers = numbers_of(own, self.noise, chosen)
        self.grid, self.events = self.noise.grid, self.numbers.events
        self.intake = Intake(own, self.numbers)
        self._build(delay_of(robot) if chosen.delay is None else chosen.delay)
        self.reset()

    @classmethod
    def from_fit(
        cls,
        fit: Any,
        recording: Recording,
        options: EstimatorOptions | None = None,
        *,
        rate: float | None = None,
        **fields: Any,
    ) -> PayloadEstimator:
        """The estimator of an identified robot, with the noise of an empty recording of it.

        `rate` (Hz) is that of the options, or of the recording where none is given.
        """
        chosen = EstimatorOptions.of(options, **fields)
        own = options.rate if rate is None and options is not None else rate
        if cls is not PayloadEstimator:
            chosen = replace(chosen, estimator=cls.name)
        noise = NoiseModel.of(
            fit, recording, form=chosen.form, rate=own, estimator=chosen.estimator
        )
        return cls(fit, replace(chosen, rate=noise.grid.rate), noise=noise)

    def reset(self, reason: str = "new") -> None:
        """Forget samples and picks; the filters take their first moments anew."""
        self.picks: list[Pick] = []
        self.picked = 0  # all finished picks, also those that `picks` no longer holds
        self.event: str | None = None
        self.intake.reset()
        self._holding: bool | None = None  # what the gripper's signal says with this sample
        self._measured = 0  # residuals that counted since the begin
        self._restart(reason)

    @property
    def mass(self) -> float:
        """The payload in kg; 0 while the robot is empty."""
        raise NotImplementedError

    @property
    def std(self) -> float:
        """Standard deviation of `mass` in kg: noise with its correlation, and model errors.

        Infinite while nothing is known of a load; that of the model's zero on an empty robot.
        """
        raise NotImplementedError

    @property
    def settled(self) -> bool:
        """Whether enough was seen since the begin, or the last long pause, to know the load.

        Until then a robot of which `mass` says 0 kg may carry one.
        """
        return self.loaded or self._measured >= self.enough

    @property
    def summary(self) -> str:
        """One line on the noise that the deviations come from."""
        return self.noise.summary

    @property
    def signal(self) -> SignalDelay | None:
        """What was learned of the gripper's signal; None without one, or where it is a command."""
        return None

    @property
    def time(self) -> float:
        """Time of the last sample in s."""
        return self.intake.t

    @property
    def bridged(self) -> int:
        """Missing samples that were interpolated since the last reset.

        They let the filters run on. Residuals that hold one of them are not counted.
        """
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

        `t` (s) lets gaps, jumps and a wrong rate be found. `holding` is the gripper's own signal:
        the bank takes it for evidence whose delay it learns, least squares for a command.
        """
        self.event, self._holding = None, None if holding is None else bool(holding)
        if self.grid.form == "momentum":
            qdd = None
        rows = self.intake.rows(q, qd, qdd, tau, t)
        if rows is None:
            self._close("reset", self.intake.before)
            self._restart(self.intake.message)
            rows = self.intake.first(q, qd, qdd, tau)
        if len(rows) > 1:
            self._bridge(len(rows) - 1)
        for row in rows:
            try:
                self._take(row)
            except (ValueError, ZeroDivisionError):
                self._close("reset", self.intake.t)
                self._restart("angles at which the loop does not close: begun anew")
                raise InputError("q", list(row.q), "angles at which the loop closes") from None
        self._heed_signal()
        return self.mass

    def follow(self, given: Samples) -> Iterator[Step]:
        """Take samples as `update` does one by one, but faster; to be gone through to its end.

        It stops at every sample after which mass, deviation, status or event may be others, and at
        those that are refused.
        """
        yield from self._one_by_one(given, 0, len(given))

    def _one_by_one(self, given: Samples, start: int, stop: int) -> Iterator[Step]:
        """`update` with some of many samples."""
        part = given.part(start, stop)
        holding = [None] * len(part) if part.holding is None else part.holding.tolist()
        rows = zip(part.samples, part.t.tolist(), holding, strict=True)
        for k, (sample, t, told) in enumerate(rows, start):
            try:
                self.update(*sample, t=t, holding=told)
            except (InputError, ArithmeticError) as error:
                yield Step(k, error)
            else:
                yield Step(k)

    def _build(self, delay: float) -> None:
        """Make the parts; `delay` (s) is that of the torque behind the angles."""
        raise NotImplementedError

    def _restart(self, reason: str) -> None:
        """Begin anew after a pause."""
        raise NotImplementedError

    def _bridge(self, missing: int) -> None:
        """The next samples are interpolated: what they are part of is no measurement."""
        raise NotImplementedError

    def _take(self, row: Sample) -> None:
        """One sample; ValueError or ZeroDivisionError where the loop does not close."""
        raise NotImplementedError

    def _heed_signal(self) -> None:
        """Act on the gripper's signal after a sample, where it is a command."""

    def _close(self, ended: str, end: float) -> None:
        """File the pick that is under way, if there is one."""
        raise NotImplementedError

    def _file(self, pick: Pick) -> None:
        """Keep a finished pick, with what must be said about it."""
        self.picks.append(pick.judged(self.options.longest, widen=self.widens))
        self.picked += 1
        if len(self.picks) > KEPT:
            del self.picks[0]


def _kind(name: str) -> type[PayloadEstimator]:
    """The class of an estimator's name; both know this module, so they are imported here."""
    from deltadyn.payload.bank_estimator import BankEstimator
    from deltadyn.payload.least_squares import LeastSquaresEstimator

    kinds: dict[str, type[PayloadEstimator]] = dict(
        zip(ESTIMATORS, (BankEstimator, LeastSquaresEstimator), strict=True)
    )
    if name not in kinds:
        raise UnknownNameError("estimator", name, ESTIMATORS)
    return kinds[name]


class Intake:
    """Checks samples and their times, and fills gaps of a few samples by a straight line.

    Refused with an InputError, nothing changed: values that are not finite, another number of
    axes, times that do not run forward, a rate other than that of the estimator, an arm's angle
    that jumped. A pause of more than ten sample times makes the estimator begin anew, and so do
    angles that stay where they jumped to.
    """

    def __init__(
        self, robot: Robot, pace: EstimatorNumbers | Pace, *, longest: float = GAP
    ) -> None:
        """`longest` is the pause in sample times up to which a gap is filled."""
        self.robot, self.dof, self.rate, self.longest = robot, robot.dof, pace.rate, longest
        self.reach, self.patience = pace.reach, pace.patience
        self.reset()

    def reset(self) -> None:
        """Forget times and samples."""
        self.t = self.before = math.nan
        self.timed = False
        self.last: Sample | None = None
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
    ) -> list[Sample] | None:
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
        last, self.last = self.last, Sample(q, qd, qdd, tau)
        if not missing or last is None:
            return [self.last]
        self.bridged += missing
        shares = [k / (missing + 1) for k in range(1, missing + 1)]
        return [*(_between(last, self.last, share) for share in shares), self.last]

    def even(self, given: Samples) -> int:
        """How many of the first samples `rows` would take as they are, each as one.

        They are finite, on time, and next to each other. `took` says that they were taken.
        """
        q, t, last = given.q, given.t, self.last
        columns = [x for x in (q, given.qd, given.qdd, given.tau) if x is not None]
        pattern = (given.qd is not None, given.qdd is not None)
        if last is None or self.pattern != pattern or not (self.timed and len(t)):
            return 0
        if any(x.shape != (len(t), self.dof) for x in columns):
            return 0
        legs = self.robot.legs
        steps, moved = np.empty_like(t), np.empty_like(q[:, :legs])
        steps[0], steps[1:] = t[0] - self.t, t[1:] - t[:-1]
        moved[0], moved[1:] = q[0, :legs] - last.q[:legs], q[1:, :legs] - q[:-1, :legs]
        good = np.abs(steps * self.rate - 1) <= OFF
        good &= (np.abs(moved) <= self.reach).all(axis=1)
        for column in columns:
            good &= np.isfinite(column).all(axis=1)
        return len(t) if good.all() else int(np.argmin(good))

    def took(self, given: Samples) -> None:
        """Samples that `even` found were taken."""
        self.t, self.last = float(given.t[-1]), given.sample(-1)
        self.wrong, self.wrong_time, self.jumped = 0, 0.0, 0

    def first(self, *row: Any) -> list[Sample]:
        """The sample after a gap, as the first of a new stretch."""
        self.last = Sample._make(None if x is None else _floats(x) for x in row)
        return [self.last]

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
        before = self.last.q
        for axis in range(self.robot.legs):
            if abs(q[axis] - before[axis]) > self.reach:
                self.jumped += 1
                if self.jumped >= self.patience:
                    self.jumped = 0
                    return True
                unit = self.robot.axis_units("q")[axis]
                near = f"within {self.reach:.3g} {unit} of {before[axis]:.4g}"
                allowed = f"{near}; the sample was not used"
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
        if length > self.longest:
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
        if self.wrong >= self.patience:
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


def _between(old: Sample, new: Sample, share: float) -> Sample:
    """A sample on the straight line between two, which have the same parts."""
    return Sample._make(
        None
        if a is None or b is None
        else [(1 - share) * u + share * v for u, v in zip(a, b, strict=True)]
        for a, b in zip(old, new, strict=True)
    )
