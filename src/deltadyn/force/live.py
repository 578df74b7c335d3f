"""The force observer on a stream: batches in, alarms and readings out.

An alarm stays until it is reset, whatever the stream does meanwhile: a gap, a new clock or a lost
connection makes the observer begin anew and leaves the alarm standing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.force.contact import UNSURE, Contact
from deltadyn.force.observer import Followed, ForceObserver
from deltadyn.force.tare import Tare
from deltadyn.streams.live import LiveModel, Notice, Used, finite_or_none
from deltadyn.streams.packing import Batch

ALARM, RESET = "alarm", "reset"


@dataclass(frozen=True, eq=False)
class ForceEvent:
    """Something about an alarm, known at `t` (s).

    `event` is "alarm" when it is raised; "contact" or "pick" when its kind is known, 60 ms later;
    "reset" when somebody reset it, with the alarm that is forgotten, or None where there was none.
    """

    t: float
    event: str
    contact: Contact | None

    def __str__(self) -> str:
        contact = self.contact
        told = "there was no alarm"
        if contact is not None:
            told = f"{contact.where}: {_sizes(contact.force, contact.std)}"
            if self.event == RESET:
                told = f"{contact.kind} of {contact.time:.3f} s, {told}"
        return f"{self.t:12.4f} s  {self.event:<9}  {told}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        record = {"type": "event", "t": self.t, "event": self.event, **_alarm(self.contact)}
        record["alarm"] = self.event != RESET
        if self.contact is None:
            return record
        force = _plain(self.contact.force, self.contact.std)
        return {**record, **force, "statistic": self.contact.statistic}


@dataclass(frozen=True, eq=False)
class ForceReading:
    """The force at `t` (s): `force` and `std` (dof,) in N, about z in N m, and the alarm."""

    t: float
    force: FloatArray
    std: FloatArray
    ready: bool  # whether the observer has settled; until then the force is 0
    contact: Contact | None

    def __str__(self) -> str:
        alarm = "no alarm" if self.contact is None else f"alarm since {self.contact.time:.3f} s"
        told = _sizes(self.force, self.std) if self.ready else "not settled yet"
        return f"{self.t:12.4f} s  {'reading':<9}  {told}; {alarm}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; None for a deviation that is not known yet."""
        record = {"type": "reading", "t": self.t, "ready": self.ready}
        return {**record, **_plain(self.force, self.std), **_alarm(self.contact)}


ForceUpdate = ForceEvent | ForceReading | Notice


class LiveForce(LiveModel[ForceEvent | ForceReading]):
    """A force observer behind a stream of batches.

    `take(item)` gives the updates of an item: `ForceEvent`, `ForceReading` (every `every` seconds
    of the stream; None: none) and `Notice`. `contact` is the alarm, which stays until a `Reset` is
    taken. `payload` (kg) is carried while the gripper's signal in the batches says so, or
    throughout where they have none.
    """

    noun = "empty run"

    def __init__(
        self,
        robot: Any,
        tare: Tare,
        *,
        payload: float | None = None,
        every: float | None = 1.0,
        convention: str = "controller",
    ) -> None:
        super().__init__(robot, every=every, convention=convention)
        if payload is not None and not payload >= 0:
            raise InputError("payload", payload, "at least 0 kg")
        self.observer = ForceObserver(robot, tare)
        self.payload = payload
        self.contact: Contact | None = None
        self._held: bool | None = None
        self._now = 0.0  # time of the last sample
        if payload is not None:
            self.observer.carry(payload)

    @property
    def rate(self) -> float:
        """Rate of the samples in Hz: that of the empty run."""
        return self.observer.options.rate

    def _use(self, batch: Batch) -> Used[ForceEvent | ForceReading]:
        q, _, _, tau, holding = self._own(batch)
        assert q is not None  # every batch has angles and torques
        assert tau is not None
        out: list[ForceEvent | ForceReading] = []
        refused, reason = 0, ""
        for part in _stretches(holding, len(batch)):
            if self.payload is not None and holding is not None:
                self._carry(bool(holding[part.start]))
            found = self.observer.follow(q[part], tau[part], batch.t[part])
            out += self._told(found)
            refused, reason = refused + found.refused, reason or found.reason
        return Used(out, refused, reason)

    def _carry(self, held: bool) -> None:
        if held is not self._held:
            self._held = held
            self.observer.carry(self.payload or 0.0 if held else 0.0)

    def _told(self, found: Followed) -> list[ForceEvent | ForceReading]:
        """Events and readings of samples, in their order."""
        marks: list[tuple[int, Contact | None]] = [*found.alarms]
        marks += [(row, None) for row, t in enumerate(found.t.tolist()) if self._is_due(t)]
        out: list[ForceEvent | ForceReading] = []
        for row, contact in sorted(marks, key=lambda mark: (mark[0], mark[1] is None)):
            t = float(found.t[row])
            if contact is not None:
                out += self._raised(t, contact)
                continue
            force, std = found.force[row].copy(), found.std[row].copy()
            ready = bool(np.isfinite(std).all())
            out.append(ForceReading(t, force, std, ready, self.contact))
        if len(found.t):
            self._now = float(found.t[-1])
        return out

    def _raised(self, t: float, contact: Contact) -> list[ForceEvent]:
        if self.contact is not None and contact.time != self.contact.time:
            return []  # raised after the observer began anew: the first alarm stands
        self.contact = contact
        event = ALARM if contact.kind == UNSURE else contact.kind
        self._count_event(event)
        return [ForceEvent(t, event, contact)]

    def _restart(self, reason: str) -> list[ForceEvent | ForceReading]:
        self.observer.reset()
        return []

    def _reset(self) -> list[ForceEvent | ForceReading]:
        before, self.contact = self.contact, None
        self.observer.acknowledge()
        self._count_event(RESET)
        return [ForceEvent(self._now, RESET, before)]


def _stretches(holding: npt.NDArray[Any] | None, count: int) -> list[slice]:
    """Rows in which the gripper's signal does not change."""
    changes = [] if holding is None else (np.flatnonzero(np.diff(holding)) + 1).tolist()
    return [slice(low, high) for low, high in pairwise([0, *changes, count])]


def _sizes(force: FloatArray, std: FloatArray) -> str:
    """Force and deviation by component; the moment about z behind them."""
    each = [f"{x:.1f} +- {s:.1f}" for x, s in zip(force, std, strict=True)]
    told = f"{', '.join(each[:3])} N"
    return told if len(each) <= 3 else f"{told}, {each[3]} N m"


def _plain(force: FloatArray, std: FloatArray) -> dict[str, Any]:
    """Force and deviation for JSON; the moment about z where the robot turns about it."""
    known = [finite_or_none(float(x)) for x in std]
    record: dict[str, Any] = {"force_N": force[:3].tolist(), "std_N": known[:3]}
    if len(force) > 3:
        record.update(moment_Nm=float(force[3]), moment_std_Nm=known[3])
    return record


def _alarm(contact: Contact | None) -> dict[str, Any]:
    """The alarm for JSON."""
    if contact is None:
        return {"alarm": False, "since": None, "kind": None, "where": None}
    return {"alarm": True, "since": contact.time, "kind": contact.kind, "where": contact.where}
