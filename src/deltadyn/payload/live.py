"""The estimator on a stream: batches in, events and readings out; no message ends it.

Nothing here knows a transport. A stream gives items: messages (bytes or text) and `Connection`s;
`LiveEstimator.take` turns each into updates.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.errors import InputError, UnknownNameError
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.payload.events import Pick
from deltadyn.payload.noise import NoiseModel
from deltadyn.payload.packing import SEQUENCES, Batch, MalformedError, unpack
from deltadyn.payload.settings import EstimatorOptions
from deltadyn.recording.read import CONVENTIONS
from deltadyn.robot import Robot
from deltadyn.robot.convention import Angles, from_controller

# What a live estimator tells: events, readings, notices, and the counts behind them.


#: Kinds of notices and the field of `Counts` that counts them.
KINDS = {
    "malformed": "malformed",  # no batch
    "duplicate": "duplicates",  # came twice
    "late": "late",  # not after the samples before
    "refused": "refused",  # of another robot or rate, or values that the estimator cannot use
    "gap": "gaps",  # samples or batches missing
    "restart": "restarts",  # the sender began anew
}


@dataclass(frozen=True)
class Connection:
    """A change of the connection: `detail` is the address, or why it was lost."""

    up: bool
    detail: str
    attempt: int = 0  # to connect since the last message


@dataclass(frozen=True)
class Event:
    """A pick, a release or a lost grip, known at `t` (s); mass and deviation in kg.

    After a release or a lost grip they are those of the finished `pick`.
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
        return {**record, "mass": self.mass, "std": _finite(self.std), "pick": pick}


@dataclass(frozen=True)
class Reading:
    """The estimate at a time: t in s, mass and standard deviation in kg, the estimator's status."""

    t: float
    mass: float
    std: float
    status: str

    def __str__(self) -> str:
        return f"{self.t:12.4f} s  {'reading':<9}  {_mass(self.mass, self.std)}, {self.status}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; None for a deviation that is not known yet."""
        return {"type": "reading", **vars(self), "std": _finite(self.std)}


@dataclass(frozen=True)
class Notice:
    """Something about the stream: a kind, a sentence, and how many there were of the kind."""

    kind: str
    text: str
    count: int

    def __str__(self) -> str:
        return f"{self.kind} ({self.count}): {self.text}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"type": "notice", **vars(self)}


Update = Event | Reading | Notice


@dataclass
class Counts:
    """What came over a stream; `missing` batches by their numbers, all others as `KINDS` says."""

    messages: int = 0
    samples: int = 0  # used
    malformed: int = 0
    duplicates: int = 0
    late: int = 0
    refused: int = 0
    refused_samples: int = 0
    gaps: int = 0
    missing: int = 0
    restarts: int = 0
    reconnects: int = 0
    events: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str) -> int:
        """Count a notice of this kind and give the new count."""
        name = KINDS[kind]
        setattr(self, name, getattr(self, name) + 1)
        return int(getattr(self, name))

    def __str__(self) -> str:
        events = ", ".join(f"{n} x {name}" for name, n in self.events.items()) or "none"
        return (
            f"{self.samples} samples in {self.messages} messages; events: {events}\n"
            f"malformed {self.malformed}, refused {self.refused}, duplicates {self.duplicates}, "
            f"late {self.late}, gaps {self.gaps} ({self.missing} batches missing), "
            f"restarts of the sender {self.restarts}, reconnects {self.reconnects}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"type": "summary", **asdict(self)}


def _mass(mass: float, std: float) -> str:
    return f"{mass:6.3f} kg +- {std:.3f}" if math.isfinite(std) else f"{mass:6.3f} kg, not sure yet"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


SEEN = 256  # batches that are remembered to know one that comes twice
PATIENCE = 3  # batches in a row after which a new clock, or a new rate, is believed
ON_TIME = 1.5  # sample times between batches: more is a gap
SHORTEST = 1e-5  # s: of a sample time that is believed
SAME_RATE = 0.1  # of the sample time: what the estimator takes for its own rate


class LiveEstimator:
    """A payload estimator behind a stream of batches.

    `take(item)` gives the updates of an item: `Event`, `Reading` (every `every` seconds of the
    stream; None: none) and `Notice`. `counts` says what happened. Without an `estimator` one is
    made for the sample time of the first batch, from `noise` and `options`, whose single fields
    may be keywords (`estimator` may be the name of one); `rate` (Hz) or `options` give that sample
    time instead. `convention` is that of the angles and torques in the messages.
    """

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
        own = getattr(robot, "robot", robot)
        if not isinstance(own, Robot):
            raise InputError("robot", type(robot).__name__, "a Robot, or a fit with .robot")
        if isinstance(estimator, str):
            fields, estimator = {**fields, "estimator": estimator}, None
        if convention not in CONVENTIONS:
            raise UnknownNameError("convention", convention, CONVENTIONS)
        if every is not None and not every > 0:
            raise InputError("every", every, "above 0 s, or None for no readings")
        if estimator is not None and estimator.robot.dof != own.dof:
            allowed = f"{own.dof}, as robot {own.name!r} has"
            raise InputError("axes of the estimator", estimator.robot.dof, allowed)
        self.robot, self.every, self.convention = own, every, convention
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
        self.counts = Counts()
        self._seen: deque[tuple[Any, ...]] = deque(maxlen=SEEN)
        self._connected = False
        self._wrong_rates = 0
        self._forget()

    def _forget(self) -> None:
        """Begin a new clock."""
        self._end: float | None = None  # time of the last sample used
        self._sequence: int | None = None
        self._columns: tuple[bool, bool] | None = None
        self._late: list[float] = []  # begins of batches behind that clock
        self._due: float | None = None

    def take(self, item: object) -> list[Update]:
        """The updates of a message or a change of the connection; never raises for its content."""
        if isinstance(item, Connection):
            return [self._connection(item)]
        self.counts.messages += 1
        try:
            batch = unpack(item)
        except MalformedError as error:
            return [self._note("malformed", str(error))]
        return self.feed(batch)

    def feed(self, batch: Batch) -> list[Update]:
        """The updates of a batch."""
        key = (batch.sequence, batch.t0, hash(batch.q.tobytes()), hash(batch.tau.tobytes()))
        if key in self._seen:
            return [self._note("duplicate", f"{_name(batch)} came twice: not used")]
        self._seen.append(key)
        try:
            notices = self._fitting(batch)
        except InputError as error:
            self.counts.refused_samples += len(batch)
            return [self._note("refused", f"{_name(batch)}: {error}")]
        order = self._order(batch)
        if order is None:
            text = f"{_name(batch)} is not after {self._end:.6f} s: not used"
            return [*notices, self._note("late", text)]
        notices += [*order, *self._columns_changed(batch)]
        return [*notices, *self._samples(batch)]

    def _fitting(self, batch: Batch) -> list[Notice]:
        """Refuse a batch of another robot or rate; learn the rate where none was given."""
        if batch.dof != self.robot.dof:
            allowed = f"{self.robot.dof}, as robot {self.robot.name!r} has"
            raise InputError("dof", batch.dof, allowed)
        step = batch.sample_time
        if self.estimator is None:
            if not step:
                allowed = "given in the message, or a rate for the estimator"
                raise InputError("sample_time", step, allowed)
            self._learn(step)
            return []
        rate = self.estimator.grid.rate
        if not step or abs(step * rate - 1) <= SAME_RATE:
            self._wrong_rates = 0
            return []
        self._wrong_rates += 1
        if not self._learns or self._wrong_rates < PATIENCE:
            allowed = f"{1 / rate:g} s, the sample time of the estimator"
            raise InputError("sample_time", step, allowed)
        self._learn(step)
        return [self._note("restart", f"{_name(batch)} is at another rate: begun anew")]

    def _learn(self, step: float) -> None:
        """Make the estimator for a sample time in s."""
        if step < SHORTEST:
            raise InputError("sample_time", step, f"at least {SHORTEST:g} s")
        rate = float(f"{1 / step:.4g}")
        self.estimator = PayloadEstimator(self.robot, replace(self._options, rate=rate))
        self._wrong_rates = 0
        self._forget()

    def _order(self, batch: Batch) -> list[Notice] | None:
        """Notices of a gap or a new clock; None for a batch that comes too late."""
        if self._end is None:
            return []
        if batch.t0 <= self._end:
            if self._late and batch.t0 <= self._late[-1]:
                self._late.clear()
            self._late.append(batch.t0)
            if len(self._late) < PATIENCE:
                return None
            text = f"{_name(batch)}: the sender's clock was set back, begun anew"
            self._anew("new clock")
            return [self._note("restart", text)]
        self._late.clear()
        ahead = 1
        if batch.sequence is not None and self._sequence is not None:
            ahead = (batch.sequence - self._sequence) % SEQUENCES
        if ahead == 0 or ahead > SEQUENCES // 2:
            return [self._note("restart", f"{_name(batch)}: the sender counts anew")]
        pause = batch.t0 - self._end
        if ahead == 1 and pause * self._rate <= ON_TIME:
            return []
        self.counts.missing += ahead - 1
        text = f"{pause:.4g} s without samples before {_name(batch)}"
        return [self._note("gap", f"{text}, {ahead - 1} batches missing" if ahead > 1 else text)]

    def _columns_changed(self, batch: Batch) -> list[Notice]:
        """A sender that begins or ceases to send rates: the filters begin anew."""
        columns, before = (batch.qd is not None, batch.qdd is not None), self._columns
        self._columns = columns
        if before in (None, columns):
            return []
        self._anew("other columns")
        self._columns = columns
        return [self._note("restart", f"{_name(batch)} has other columns: begun anew")]

    def _samples(self, batch: Batch) -> list[Update]:
        estimator = self.estimator
        if estimator is None:
            return []
        columns = [_listed(values, len(batch)) for values in self._own(batch)]
        out: list[Update] = []
        refused, first = 0, ""
        for t, q, qd, qdd, tau, holding in zip(batch.t.tolist(), *columns, strict=True):
            try:
                estimator.update(q, qd, qdd, tau, t=t, holding=holding)
            except (InputError, ArithmeticError) as error:
                refused, first = refused + 1, first or str(error)
                continue
            if estimator.event is not None:
                out.append(self._event(estimator, t))
            if self.every is not None and (self._due is None or t >= self._due):
                if self._due is not None:
                    out.append(Reading(t, estimator.mass, estimator.std, estimator.status))
                self._due = t + self.every
        self._end, self._sequence = batch.end, batch.sequence
        self.counts.samples += len(batch) - refused
        if refused:
            self.counts.refused_samples += refused
            out.append(self._note("refused", f"{refused} samples of {_name(batch)}: {first}"))
        return out

    def _own(self, batch: Batch) -> tuple[npt.NDArray[Any] | None, ...]:
        """q, qd, qdd, tau in deltadyn's convention, and the gripper's signal."""
        q, rest = batch.q, [batch.qd, batch.qdd, batch.tau]
        if self.convention == "controller":
            own = from_controller(self.robot, Angles(q, batch.qd, batch.qdd))
            tau = None if batch.tau is None else batch.tau * np.asarray(self.robot.controller.sign)
            q, rest = own.q, [own.qd, own.qdd, tau]
        return (q, *rest, batch.holding)

    def _event(self, estimator: PayloadEstimator, t: float) -> Event:
        what = estimator.event or ""
        self.counts.events[what] = self.counts.events.get(what, 0) + 1
        pick = estimator.picks[-1] if estimator.picks else None
        if pick is not None and what == pick.ended and not estimator.loaded:
            return Event(t, what, pick.mass, pick.std, pick)
        return Event(t, what, estimator.mass, estimator.std)

    def _anew(self, reason: str) -> None:
        if self.estimator is not None:
            self.estimator.reset(reason)
        self._forget()

    @property
    def _rate(self) -> float:
        return self.estimator.grid.rate if self.estimator is not None else 0.0

    def _note(self, kind: str, text: str) -> Notice:
        return Notice(kind, text, self.counts.add(kind))

    def _connection(self, item: Connection) -> Notice:
        if not item.up:
            return Notice("connection", f"lost: {item.detail}", item.attempt)
        if self._connected:
            self.counts.reconnects += 1
        text = "again" if self._connected else "to"
        self._connected = True
        return Notice("connection", f"connected {text} {item.detail}", 1)


@dataclass(frozen=True)
class Backoff:
    """Waits between attempts to connect: `first` s, then `factor` times longer, at most `cap` s."""

    first: float = 0.2
    factor: float = 2.0
    cap: float = 5.0

    def delay(self, attempt: int) -> float:
        """The wait in s after this attempt, counted from 1."""
        return min(self.cap, self.first * self.factor ** min(attempt - 1, 60))


async def persistent(
    session: Callable[[], AsyncIterator[Any]],
    errors: tuple[type[BaseException], ...],
    backoff: Backoff,
) -> AsyncIterator[Any]:
    """The items of sessions, one after another, as long as the caller reads.

    A session that ends, or fails with one of `errors`, gives a `Connection`; the next follows
    after a wait that grows until a message came.
    """
    attempt = 0
    while True:
        reason = "the stream ended"
        try:
            async with aclosing(session()) as items:  # type: ignore[type-var]
                async for item in items:
                    if not isinstance(item, Connection):
                        attempt = 0
                    yield item
        except errors as error:
            reason = str(error) or type(error).__name__
        attempt += 1
        yield Connection(False, reason, attempt)
        await asyncio.sleep(backoff.delay(attempt))


async def stop(task: asyncio.Task[None]) -> None:
    """Cancel a task until it has ended; its own error is raised.

    Once is not enough: before Python 3.12 `asyncio.wait_for`, which the libraries of the transports
    use, drops a cancellation that comes together with its result.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=0.2)
    if not task.cancelled():
        task.result()


def _listed(values: npt.NDArray[Any] | None, count: int) -> list[Any]:
    return [None] * count if values is None else values.tolist()


def _name(batch: Batch) -> str:
    number = "" if batch.sequence is None else f" {batch.sequence}"
    return f"batch{number} at {batch.t0:.6f} s"
