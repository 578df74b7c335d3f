"""The payload estimator on a stream: batches in, events and readings out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from deltadyn.errors import InputError
from deltadyn.payload.estimator import PayloadEstimator, Samples
from deltadyn.payload.events import Pick
from deltadyn.payload.noise import NoiseModel
from deltadyn.payload.settings import EstimatorOptions
from deltadyn.streams.live import LiveModel, Notice, Used, finite_or_none, name_of
from deltadyn.streams.order import PATIENCE
from deltadyn.streams.packing import Batch

RESET = "reset"  # the event of a load that is not known any more
SHORTEST = 1e-5  # s: of a sample time that is believed

# What a live estimator tells: events and readings, beside the notices of every stream.


@dataclass(frozen=True)
class Event:
    """A pick, a release, a lost grip or a reset, known at `t` (s); mass and deviation in kg.

    After a release or a lost grip they are those of the finished `pick`. A "reset" says that the
    load is not known any more: a pause, a new clock or other columns made the estimator begin anew
    while it held something; they are what was known before.
    """

    t: float
    event: str
    mass: float
    std: float
    pick: Pick | None = None

    def __str__(self) -> str:
        text = f"{self.t:12.4f} s  {self.event:<9}  {_mass(self.mass, self.std)}"
        if self.pick is None:
            return text
        return f"{text}, held {self.pick.end - self.pick.start:.3f} s"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; None for a deviation that is not known yet."""
        record = {"type": "event", "t": self.t, "event": self.event}
        pick = None if self.pick is None else {**vars(self.pick), "latency": self.pick.latency}
        return {**record, "mass": self.mass, "std": finite_or_none(self.std), "pick": pick}


@dataclass(frozen=True)
class Reading:
    """The estimate at a time: t in s, mass and standard deviation in kg, the estimator's status.

    The deviation is infinite while a load is not known, also after a pause in the stream.
    """

    t: float
    mass: float
    std: float
    status: str

    def __str__(self) -> str:
        return f"{self.t:12.4f} s  {'reading':<9}  {_mass(self.mass, self.std)}, {self.status}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; None for a deviation that is not known yet."""
        return {"type": "reading", **vars(self), "std": finite_or_none(self.std)}


Update = Event | Reading | Notice


def _mass(mass: float, std: float) -> str:
    return f"{mass:6.3f} kg +- {std:.3f}" if math.isfinite(std) else f"{mass:6.3f} kg, not sure yet"


class LiveEstimator(LiveModel[Event | Reading]):
    """A payload estimator behind a stream of batches.

    `take(item)` gives the updates of an item: `Event`, `Reading` (every `every` seconds of the
    stream; None: none) and `Notice`. `counts` says what happened. Without an `estimator` one is
    made for the sample time of the first batch, from `noise` and `options`, whose single fields
    may be keywords (`estimator` may be the name of one); `rate` (Hz) or `options` give that sample
    time instead. `convention` is that of the angles and torques in the messages.
    """

    noun = "estimator"

    def __init__(
        self,
        robot: Any,
        estimator: PayloadEstimator | str | None = None,
        *,
        noise: NoiseModel | None = None,
        every: float | None = 1.0,
        convention: str = "controller",
        options: EstimatorOptions | None = None,
        rate: float | None = None,
        **fields: Any,
    ) -> None:
        super().__init__(robot, every=every, convention=convention)
        own = self.robot
        if isinstance(estimator, str):
            fields, estimator = {**fields, "estimator": estimator}, None
        if estimator is not None and estimator.robot.dof != own.dof:
            allowed = f"{own.dof}, as robot {own.name!r} has"
            raise InputError("axes of the estimator", estimator.robot.dof, allowed)
        if rate is None and options is None and noise is not None:
            rate = noise.grid.rate
        self._options = EstimatorOptions.of(options, **fields)
        if rate is not None:
            self._options = replace(self._options, rate=rate)
        self._learns = estimator is None and rate is None and options is None
        if estimator is None:
            made = PayloadEstimator(own, self._options, noise=noise)  # checks the options
            estimator = None if self._learns else made
        self.estimator = estimator
        self._wrong_rates = 0
        self._now = 0.0  # time of the last sample

    @property
    def rate(self) -> float:
        """Rate of the estimator in Hz; 0 where it is not known yet."""
        return self.estimator.grid.rate if self.estimator is not None else 0.0

    def _check_rate(self, batch: Batch) -> list[Notice]:
        """Refuse a batch of another rate; learn the rate where none was given."""
        step = batch.sample_time
        if self.estimator is None:
            if not step:
                allowed = "given in the message, or a rate for the estimator"
                raise InputError("sample_time", step, allowed)
            self._learn(step)
            return []
        try:
            super()._check_rate(batch)
        except InputError:
            self._wrong_rates += 1
            if not self._learns or self._wrong_rates < PATIENCE:
                raise
            self._learn(step)
            return [self._note("restart", f"{name_of(batch)} is at another rate: begun anew")]
        self._wrong_rates = 0
        return []

    def _learn(self, step: float) -> None:
        """Make the estimator for a sample time in s."""
        if step < SHORTEST:
            raise InputError("sample_time", step, f"at least {SHORTEST:g} s")
        rate = float(f"{1 / step:.4g}")
        self.estimator = PayloadEstimator(self.robot, replace(self._options, rate=rate))
        self._wrong_rates = 0
        self._forget()

    def _use(self, batch: Batch) -> Used[Event | Reading]:
        estimator = self._made
        q, qd, qdd, tau, holding = self._own(batch)
        assert q is not None  # as in every batch
        assert tau is not None
        times = batch.t.tolist()
        out: list[Event | Reading] = []
        refused, reason = 0, ""
        filled, done = estimator.bridged, 0
        before, told = self._known(), self._told()
        for k, error in estimator.follow(Samples(q, qd, qdd, tau, batch.t, holding)):
            out += self._readings(times[done:k], told)
            done, t = k + 1, times[k]
            if error is None and estimator.event is not None:
                out.append(self._event(estimator, t))
            else:
                out += self._forgotten(before, t)
            before, told = self._known(), self._told()
            if error is None:
                out += self._readings([t], told)
            else:
                refused, reason = refused + 1, reason or str(error)
        out += self._readings(times[done:], told)
        self._now = batch.end
        return Used(out, refused, reason, estimator.bridged - filled)

    def _known(self) -> tuple[float, float] | None:
        """Mass and deviation (kg) of a load; None without one."""
        estimator = self._made
        return (estimator.mass, estimator.std) if estimator.loaded else None

    def _told(self) -> tuple[float, float, str]:
        """Mass, deviation and status of a reading."""
        estimator = self._made
        std = estimator.std if estimator.settled else math.inf
        return estimator.mass, std, estimator.status

    def _readings(
        self, times: Sequence[float], told: tuple[float, float, str]
    ) -> list[Event | Reading]:
        """Those that are due at the times of samples that change nothing."""
        return [Reading(t, *told) for t in times if self._is_due(t)]

    def _restart(self, reason: str) -> list[Event | Reading]:
        estimator = self._made
        before = self._known()
        estimator.reset(reason)
        return self._forgotten(before, self._now)

    def _forgotten(self, before: tuple[float, float] | None, t: float) -> list[Event | Reading]:
        """A load that was known and is not any more, although nobody saw it go."""
        if before is None:
            return []
        now_unknown = math.isfinite(before[1]) and math.isinf(self._made.std)
        if self._made.loaded and not now_unknown:
            return []
        self._count_event(RESET)
        return [Event(t, RESET, *before)]

    @property
    def _made(self) -> PayloadEstimator:
        assert self.estimator is not None  # `_check_rate` has made it
        return self.estimator

    def _event(self, estimator: PayloadEstimator, t: float) -> Event:
        what = estimator.event or ""
        self._count_event(what)
        pick = estimator.picks[-1] if estimator.picks else None
        if pick is not None and what == pick.ended and not estimator.loaded:
            return Event(t, what, pick.mass, pick.std, pick)
        return Event(t, what, estimator.mass, estimator.std)
