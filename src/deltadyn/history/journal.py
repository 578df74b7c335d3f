"""The journal of a history: entries as they were before they were corrected or removed, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from deltadyn.errors import InputError
from deltadyn.history.database import Database, Row
from deltadyn.history.entry import Entry
from deltadyn.history.rows import damaged, plain
from deltadyn.history.times import restored, stored

MAX_REASON_CHARACTERS = 500


@dataclass(frozen=True, eq=False)
class JournalRecord:
    """One act of a person: entry `entry` was corrected or removed at `time` (UTC), and why.

    `before` is the entry as it was, as `Entry.as_dict` gives it; an entry that was removed is held
    by its record alone, without its factors.
    """

    number: int
    entry: int
    time: datetime
    act: str
    reason: str
    before: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "number": self.number,
            "entry": self.entry,
            "time": self.time.isoformat(),
            "act": self.act,
            "reason": self.reason,
            "before": dict(self.before),
        }

    @property
    def line(self) -> str:
        """The act in one line of a list."""
        done = {"correct": "corrected", "remove": "removed"}[self.act]
        was = f"it was of {self.before.get('serial')}, {self.before.get('time')}"
        return f"{self.time:%Y-%m-%d %H:%M} UTC  entry {self.entry} {done}: {self.reason} ({was})"


def checked_reason(reason: str) -> str:
    """Why an entry is changed: a text of one line."""
    if not isinstance(reason, str) or not reason.strip():
        raise InputError("reason", reason, "a text: why the entry is wrong")
    return plain("reason", reason, MAX_REASON_CHARACTERS)


def write_journal(database: Database, entry: Entry, act: str, reason: str) -> None:
    """Keep an entry as it is now, inside the transaction that changes it."""
    database.rows(
        "INSERT INTO history_journal (entry, time, act, reason, log, record) "
        "VALUES (:entry, :time, :act, :reason, :log, :record)",
        entry=entry.number,
        time=stored(datetime.now(UTC)),
        act=act,
        reason=reason,
        log=entry.log,
        record=json.dumps(entry.as_dict(), allow_nan=False),
    )


def read_journal(
    database: Database, entry: int | None = None, log: str | None = None
) -> tuple[JournalRecord, ...]:
    """The acts of all entries, of one, or of the entries of a log; the oldest first."""
    chosen = {
        key: value for key, value in {"entry": entry, "log": log}.items() if value is not None
    }
    where = " AND ".join(f"{key} = :{key}" for key in chosen)
    sql = f"SELECT * FROM history_journal {f'WHERE {where}' if where else ''} ORDER BY number"
    return tuple(_record(database.place, row) for row in database.rows(sql, **chosen))


def _record(place: str, row: Row) -> JournalRecord:
    """A record from its row; what none can hold is damage."""
    try:
        before = json.loads(row["record"])
        if not isinstance(before, dict) or row["act"] not in ("correct", "remove"):
            raise ValueError("its record is no entry")
        time, reason = restored(row["time"]), plain("reason", row["reason"])
        return JournalRecord(
            int(row["number"]), int(row["entry"]), time, row["act"], reason, before
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged(place, f"record {row['number']} of the journal: {error}") from error
