"""A model of a robot behind a stream: batches in, its updates out; no message ends it.

Nothing here knows a transport. A stream gives items: messages (bytes or text), `Connection`s,
`Broken`, `Dropped`, `Silence` and `Reset`s; `LiveModel.take` turns each into updates. What comes
twice, late, damaged or not at all is counted and said; `order.py` has the account of the samples.
"""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from deltadyn.errors import DeltadynError, InputError, UnknownNameError
from deltadyn.recording.read import CONVENTIONS
from deltadyn.robot import Robot
from deltadyn.robot.convention import Angles, from_controller
from deltadyn.streams.order import Order, Placed
from deltadyn.streams.packing import Batch, MalformedError, unpack

#: Kinds of notices and the field of `Counts` that counts them.
KINDS = {
    "malformed": "malformed",  # no batch
    "duplicate": "duplicates",  # came twice
    "late": "late",  # not after the samples before
    "refused": "refused",  # of another robot or rate, or values that the model cannot use
    "gap": "gaps",  # samples or batches missing
    "jump": "jumps",  # the sender's clock went ahead
    "restart": "restarts",  # the sender began anew
    "overflow": "overflows",  # more messages than could wait
    "silence": "silences",  # nothing came for a while
}


@dataclass(frozen=True)
class Connection:
    """A change of the connection: `detail` is the address, or why it was lost."""

    up: bool
    detail: str
    attempt: int = 0  # to connect since the last message


@dataclass(frozen=True)
class Dropped:
    """So many messages were dropped here: they came faster than they were used."""

    messages: int


@dataclass(frozen=True)
class Silence:
    """Nothing has come for so many seconds, although the connection is up."""

    seconds: float


@dataclass(frozen=True)
class Broken:
    """What a transport received and could make no message of, in words."""

    text: str


class GaveUpError(DeltadynError):
    """A stream that could not be reached for as long as was allowed."""


@dataclass(frozen=True)
class Reset:
    """Somebody asks to forget an alarm."""


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


U = TypeVar("U")  # what a model tells beside notices


@dataclass
class Counts:
    """What came over a stream, and what did not.

    Samples: `received` = `samples` (used) + `refused_samples` + `duplicate_samples` +
    `late_samples`; `lost` did not come, by the times before and after them; `interpolated` stand in
    a filter for lost ones and are no measurement. Batches: `missing` by their numbers. `dropped`
    messages came faster than they were used. All others are counted as `KINDS` says.
    """

    messages: int = 0
    received: int = 0
    samples: int = 0  # used
    refused_samples: int = 0
    duplicate_samples: int = 0
    late_samples: int = 0
    lost: int = 0
    interpolated: int = 0
    malformed: int = 0
    duplicates: int = 0
    late: int = 0
    refused: int = 0
    gaps: int = 0
    missing: int = 0
    jumps: int = 0
    restarts: int = 0
    reconnects: int = 0
    overflows: int = 0
    dropped: int = 0
    silences: int = 0
    events: dict[str, int] = field(default_factory=dict)

    @property
    def accounted(self) -> int:
        """Samples whose use or refusal is known: all that were received."""
        return self.samples + self.refused_samples + self.duplicate_samples + self.late_samples

    def add(self, kind: str) -> int:
        """Count a notice of this kind and give the new count."""
        name = KINDS[kind]
        setattr(self, name, getattr(self, name) + 1)
        return int(getattr(self, name))

    def __str__(self) -> str:
        events = ", ".join(f"{n} x {name}" for name, n in self.events.items()) or "none"
        return (
            f"{self.samples} samples in {self.messages} messages; events: {events}\n"
            f"samples received {self.received}: used {self.samples}, refused "
            f"{self.refused_samples}, duplicate {self.duplicate_samples}, "
            f"late {self.late_samples}; lost {self.lost}, "
            f"of which {self.interpolated} bridged in the filters\n"
            f"malformed {self.malformed}, refused {self.refused}, duplicates {self.duplicates}, "
            f"late {self.late}, gaps {self.gaps} ({self.missing} batches missing), "
            f"clock jumps {self.jumps}, restarts of the sender {self.restarts}, "
            f"reconnects {self.reconnects}, dropped here {self.dropped}, silences {self.silences}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"type": "summary", **asdict(self)}


SEEN = 256  # batches that are remembered to know one that comes twice
SAME_RATE = 0.1  # of the sample time: what a model takes for its own rate


@dataclass(frozen=True)
class Used(Generic[U]):
    """Updates of a batch, how many of its samples were `refused`, and why the first was.

    `interpolated` samples before it stand in filters, and are no measurement.
    """

    updates: list[U]
    refused: int = 0
    reason: str = ""
    interpolated: int = 0


class LiveModel(ABC, Generic[U]):
    """What every model behind a stream does alike: the order of batches, notices and counts.

    `take(item)` gives the updates of an item: those of the model (U), of which readings come every
    `every` seconds of the stream (None: none), and `Notice`. `convention` is that of the angles and
    torques in the messages. A model says what it does with a sample, and how it begins anew.
    """

    noun: ClassVar[str]  # of the model, in messages

    def __init__(self, robot: Any, *, every: float | None, convention: str) -> None:
        own = getattr(robot, "robot", robot)
        if not isinstance(own, Robot):
            raise InputError("robot", type(robot).__name__, "a Robot, or a fit with .robot")
        if convention not in CONVENTIONS:
            raise UnknownNameError("convention", convention, CONVENTIONS)
        if every is not None and not every > 0:
            raise InputError("every", every, "above 0 s, or None for no readings")
        self.robot, self.every, self.convention = own, every, convention
        self.counts = Counts()
        self._seen: deque[tuple[Any, ...]] = deque(maxlen=SEEN)
        self._order = Order()
        self._connected = False
        self._forget()

    @property
    @abstractmethod
    def rate(self) -> float:
        """Rate of the samples in Hz; 0 where it is not known yet."""

    @abstractmethod
    def _use(self, batch: Batch) -> Used[U]:
        """Use the samples of a batch; those that the model cannot use are counted."""

    @abstractmethod
    def _restart(self, reason: str) -> list[U]:
        """Forget the samples; gives what has to be told about it."""

    def _reset(self) -> list[U]:
        """Forget an alarm; for models that have one."""
        return []

    def _forget(self) -> None:
        """Begin a new clock."""
        self._order.forget()
        self._columns: tuple[bool, bool] | None = None
        self._due: float | None = None

    def take(self, item: object) -> list[U | Notice]:
        """The updates of a message, a reset or a change of the connection.

        It never raises for the content of a message.
        """
        if isinstance(item, Connection):
            return [self._connection(item)]
        if isinstance(item, Dropped):
            self.counts.dropped += item.messages
            text = f"{item.messages} messages were dropped: they come faster than they are used"
            return [self._note("overflow", text)]
        if isinstance(item, Silence):
            text = f"nothing came for {item.seconds:g} s: what was told last is no longer known"
            return [self._note("silence", text)]
        if isinstance(item, Reset):
            return [*self._reset()]
        self.counts.messages += 1
        if isinstance(item, Broken):
            return [self._note("malformed", item.text)]
        try:
            batch = unpack(item)
        except MalformedError as error:
            return [self._note("malformed", str(error))]
        return self.feed(batch)

    def feed(self, batch: Batch) -> list[U | Notice]:
        """The updates of a batch."""
        self.counts.received += len(batch)
        key = (batch.sequence, batch.t0, hash(batch.q.tobytes()), hash(batch.tau.tobytes()))
        if key in self._seen:
            self.counts.duplicate_samples += len(batch)
            return [self._note("duplicate", f"{name_of(batch)} came twice: not used")]
        self._seen.append(key)
        try:
            self._check_axes(batch)
            notices: list[U | Notice] = [*self._check_rate(batch)]
        except InputError as error:
            self.counts.refused_samples += len(batch)
            self._order.refused(batch)
            return [self._note("refused", f"{name_of(batch)}: {error}")]
        placed = self._order.place(batch, self.rate)
        if not (placed.in_turn or placed.anew):
            return [*notices, self._came_late(batch, placed)]
        notices += [*self._placed(batch, placed), *self._columns_changed(batch)]
        return [*notices, *self._samples(batch)]

    def _check_axes(self, batch: Batch) -> None:
        if batch.dof != self.robot.dof:
            allowed = f"{self.robot.dof}, as robot {self.robot.name!r} has"
            raise InputError("dof", batch.dof, allowed)

    def _check_rate(self, batch: Batch) -> list[Notice]:
        """Refuse a batch of another rate."""
        step = batch.sample_time
        if step and abs(step * self.rate - 1) > SAME_RATE:
            allowed = f"{1 / self.rate:g} s, the sample time of the {self.noun}"
            raise InputError("sample_time", step, allowed)
        return []

    def _came_late(self, batch: Batch, placed: Placed) -> Notice:
        """What was taken for lost and comes after all is late."""
        self.counts.late_samples += len(batch)
        self.counts.lost -= placed.found
        self.counts.missing -= placed.missing
        text = f"{name_of(batch)} is not after {self._order.end:.6f} s: not used"
        return self._note("late", text)

    def _placed(self, batch: Batch, placed: Placed) -> list[U | Notice]:
        """Notices of a gap, a clock that was set, numbers that begin again."""
        if placed.anew:
            text = f"{name_of(batch)}: the sender's clock was set back, begun anew"
            return [*self._anew("new clock"), self._note("restart", text)]
        out: list[U | Notice] = []
        if placed.counts_anew:
            out.append(self._note("restart", f"{name_of(batch)}: the sender counts anew"))
        if not placed.pause:
            return out
        self.counts.lost += placed.lost
        self.counts.missing += placed.missing
        text = f"{placed.pause:.4g} s without samples before {name_of(batch)}"
        if placed.missing:
            text += f", {placed.missing} batches missing"
        if placed.jump:
            text += ": a pause of the sender, or its clock was set"
        return [*out, self._note("jump" if placed.jump else "gap", text)]

    def _columns_changed(self, batch: Batch) -> list[U | Notice]:
        """A sender that begins or ceases to send rates: the filters begin anew."""
        columns, before = (batch.qd is not None, batch.qdd is not None), self._columns
        self._columns = columns
        if before in (None, columns):
            return []
        told = self._anew("other columns")
        self._columns = columns
        return [*told, self._note("restart", f"{name_of(batch)} has other columns: begun anew")]

    def _samples(self, batch: Batch) -> list[U | Notice]:
        used = self._use(batch)
        out: list[U | Notice] = [*used.updates]
        self._order.used(batch)
        self.counts.samples += len(batch) - used.refused
        self.counts.interpolated += used.interpolated
        if used.refused:
            self.counts.refused_samples += used.refused
            text = f"{used.refused} samples of {name_of(batch)}: {used.reason}"
            out.append(self._note("refused", text))
        return out

    def _is_due(self, t: float) -> bool:
        """Whether there is a reading at a time (s); the next one is due `every` later."""
        if self.every is None:
            return False
        early = 0.5 / self.rate  # sums of times are rounded: a reading is not a sample late
        if self._due is not None and t < self._due - early:
            return False
        first, self._due = self._due is None, t + self.every
        return not first

    def _own(self, batch: Batch) -> tuple[npt.NDArray[Any] | None, ...]:
        """q, qd, qdd, tau in deltadyn's convention, and the gripper's signal."""
        q, rest = batch.q, [batch.qd, batch.qdd, batch.tau]
        if self.convention == "controller":
            own = from_controller(self.robot, Angles(q, batch.qd, batch.qdd))
            tau = None if batch.tau is None else batch.tau * np.asarray(self.robot.controller.sign)
            q, rest = own.q, [own.qd, own.qdd, tau]
        return (q, *rest, batch.holding)

    def _anew(self, reason: str) -> list[U]:
        told = self._restart(reason)
        self._forget()
        return told

    def _count_event(self, what: str) -> None:
        self.counts.events[what] = self.counts.events.get(what, 0) + 1

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
    limit: float | None = None,
) -> AsyncGenerator[Any, None]:
    """The items of sessions, one after another, as long as the caller reads.

    A session that ends, or fails with one of `errors`, gives a `Connection`; the next follows
    after a wait that grows until a message came. A GaveUpError ends it when there was no connection
    for `limit` seconds (None: it goes on for ever).
    """
    attempt, since = 0, time.monotonic()
    while True:
        reason, up = "the stream ended", False
        try:
            async with aclosing(session()) as items:  # type: ignore[type-var]
                async for item in items:
                    up = True
                    if not isinstance(item, Connection):
                        attempt = 0
                    yield item
        except errors as error:
            reason = str(error) or type(error).__name__
        attempt += 1
        since = time.monotonic() if up else since
        yield Connection(False, reason, attempt)
        left = math.inf if limit is None else since + limit - time.monotonic()
        if left <= 0:
            raise GaveUpError(
                f"no connection for {limit:g} s, {attempt} attempts: given up; the last: {reason}"
            )
        await asyncio.sleep(min(backoff.delay(attempt), left))


async def watched(items: AsyncGenerator[Any, None], patience: float) -> AsyncGenerator[Any, None]:
    """The items, and a `Silence` each time that nothing came for `patience` s on a connection."""
    up = silent = False
    waiting: asyncio.Task[Any] | None = None
    try:
        while True:
            if waiting is None:
                waiting = asyncio.ensure_future(anext(items))
            done, _ = await asyncio.wait([waiting], timeout=patience if up and not silent else None)
            if not done:
                silent = True
                yield Silence(patience)
                continue
            task, waiting = waiting, None
            try:
                item = task.result()
            except StopAsyncIteration:
                return
            up, silent = item.up if isinstance(item, Connection) else True, False
            yield item
    finally:
        if waiting is not None:
            with suppress(StopAsyncIteration):
                await stop(waiting)
        await items.aclose()


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


def listed(values: npt.NDArray[Any] | None, count: int) -> list[Any]:
    """One value per sample, None where there are none."""
    return [None] * count if values is None else values.tolist()


def name_of(batch: Batch) -> str:
    """A batch in words."""
    number = "" if batch.sequence is None else f" {batch.sequence}"
    return f"batch{number} at {batch.t0:.6f} s"


def finite_or_none(value: float) -> float | None:
    """A number for JSON, which has no infinity."""
    return value if math.isfinite(value) else None
