"""What a history answers, and the conditions of its questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from deltadyn.errors import InputError
from deltadyn.history.database import Row
from deltadyn.history.entry import KINDS, Entry
from deltadyn.history.rows import damaged, plain
from deltadyn.history.times import edge, local, restored, stored, zone_of
from deltadyn.units import counted

Edge = datetime | date | str | None


@dataclass(frozen=True, eq=False)
class Added:
    """What became of a result: its entry, and whether it is `new` or was there already.

    `notes` are sentences: what the call says otherwise than the entry that is there, or that an
    entry of the same log was removed.
    """

    entry: Entry
    new: bool
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        number = self.entry.number
        told = f"there already, as entry {number}: nothing was added"
        lines = [f"added as entry {number}" if self.new else told, *self.notes]
        return "\n  ".join(lines)


def differences(there: Entry, given: Mapping[str, Any]) -> tuple[str, ...]:
    """What a call says otherwise than the entry of the same log; None says nothing."""
    told = []
    for name, value in given.items():
        kept = getattr(there, name)
        if value is None or value == kept:
            continue
        old, new = kept, value
        if isinstance(value, datetime):
            old, new = local(kept, there.zone), local(value, there.zone)
        unit = {"payload": " kg", "temperature": " degC"}.get(name, "")
        before = "none" if old in (None, "") else f"{old}{unit}"
        told.append(f"the entry's {name} is {before}, not {new}{unit} as given now")
    return tuple(told)


@dataclass(frozen=True)
class Member:
    """A robot of a history: its type, serial number, zone, and its entries."""

    robot: str
    serial: str
    zone: str
    entries: int
    first: datetime | None
    last: datetime | None

    def __str__(self) -> str:
        ends = ["-" if time is None else local(time, self.zone) for time in (self.first, self.last)]
        many = counted(self.entries, "entry", "entries")
        return f"{self.serial:<16}{self.robot:<20}{many:>12}, {ends[0]} to {ends[1]} ({self.zone})"


@dataclass(frozen=True)
class Forgotten:
    """How many entries and archives of factors were removed."""

    entries: int
    factors: int


def condition(
    robot: str | None,
    serial: str | None,
    start: Edge,
    end: Edge,
    kind: str | None,
    zone: str | None,
) -> tuple[str, Row]:
    """WHERE on entries e and robots r, with its values."""
    if kind is not None and kind not in KINDS:
        raise InputError("kind", kind, f"one of {', '.join(KINDS)}")
    low, high = edge(start, zone, "start"), edge(end, zone, "end")
    if low is not None and high is not None and low >= high:
        raise InputError("end", high.isoformat(), f"after the start, {low.isoformat()}")
    chosen: Mapping[str, tuple[str, Any]] = {
        "robot": ("r.type = :robot", robot),
        "serial": ("r.serial = :serial", serial),
        "kind": ("e.kind = :kind", kind),
        "low": ("e.time >= :low", None if low is None else stored(low)),
        "high": ("e.time < :high", None if high is None else stored(high)),
    }
    used = {name: pair for name, pair in chosen.items() if pair[1] is not None}
    where = " AND ".join(sql for sql, _ in used.values())
    return (f"WHERE {where}" if where else ""), {name: value for name, (_, value) in used.items()}


def member(place: str, row: Row) -> Member:
    """A robot from its row; what no robot can have is damage."""
    try:
        zone_of(row["zone"])
        return Member(
            plain("robot", row["type"]),
            plain("serial number", row["serial"]),
            row["zone"],
            int(row["entries"]),
            *(None if row[end] is None else restored(row[end]) for end in ("first", "last")),
        )
    except (ValueError, TypeError) as error:
        raise damaged(place, f"robot {row['serial']!r}: {error}") from error
