"""`History`: the entries of all robots in one place: to add, look at, merge, copy and forget."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from deltadyn.errors import InputError
from deltadyn.history import copies, factors, rows
from deltadyn.history.database import Database
from deltadyn.history.entry import Entry
from deltadyn.history.journal import JournalRecord, checked_reason, read_journal, write_journal
from deltadyn.history.logs import Night, Task
from deltadyn.history.queries import (
    Added,
    Edge,
    Forgotten,
    Member,
    condition,
    differences,
    member,
)
from deltadyn.history.results import entry_of, kept
from deltadyn.history.schema import prepare
from deltadyn.history.server import ServerDatabase
from deltadyn.history.sqlite import SqliteDatabase
from deltadyn.history.times import before, moment, zone_of
from deltadyn.identification.fit import Fit
from deltadyn.identification.identify import identify
from deltadyn.identification.information import Information
from deltadyn.identification.options import FitOptions
from deltadyn.identification.problem import Method
from deltadyn.recording.prepare.stream import FilePath, Streamed
from deltadyn.recording.read import ReadOptions
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.robot.file import robot_text
from deltadyn.systems import is_url
from deltadyn.validation.result import Validation

DEFAULT = "deltadyn-history.db"


class History:
    """What was found about each robot over the years, in an SQLite file or in PostgreSQL.

    `store` is a path, or a URL postgresql+psycopg://user@host/name (extra "history"). A new file
    is made unless `create` is False; tables of an older version are brought up to date. Close it,
    or use it in a `with` block.
    """

    def __init__(self, store: str | os.PathLike[str] = DEFAULT, *, create: bool = True) -> None:
        self._database = open_database(store, create)
        try:
            prepare(self._database, create)
        except BaseException:
            self._database.close()
            raise

    @property
    def place(self) -> str:
        """Where it is kept; of a URL without the password."""
        return self._database.place

    def __repr__(self) -> str:
        return f"History({self.place!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file or the server."""
        self._database.close()

    # Adding.

    def add(
        self,
        result: Fit | Validation | Entry,
        serial: str | None = None,
        *,
        time: datetime | str | None = None,
        zone: str | None = None,
        temperature: float | None = None,
        note: str = "",
    ) -> Added:
        """Add a fit with its factors, a validation, or an entry that is whole by itself.

        `time` is when the log was recorded: with an offset, or local in the `zone` (IANA), which
        is kept beside it and is by default that of the robot's last entry, else UTC. The same log
        by the same method is added once: a second time the entry that is there is given back.
        """
        if isinstance(result, Entry):
            return self._insert(result, None, ())
        if not isinstance(result, Fit | Validation):
            raise InputError("result", type(result).__name__, "a Fit, a Validation or an Entry")
        if serial is None or time is None:
            missing = "serial" if serial is None else "time"
            raise InputError(missing, None, "the robot's serial number, and when it was recorded")
        robot = result.before if isinstance(result, Fit) else result.robot
        own = zone or self._zone(robot.name, serial)
        instant = moment(time, own)
        entry = entry_of(result, serial, instant, own or "UTC", temperature, note)
        information = result.information if isinstance(result, Fit) else None
        archives = () if information is None else (kept(information),)
        return self._insert(entry, robot_text(robot), archives)

    def add_entries(self, entries: Iterable[Entry]) -> tuple[Added, ...]:
        """Add entries that are whole by themselves in one transaction: all of them, or none."""
        with self._database.writing():
            return tuple(self._inserted(entry, None, ()) for entry in entries)

    def add_log(
        self,
        robot: Robot,
        log: Recording | Streamed | FilePath,
        serial: str,
        *,
        time: datetime | str | None = None,
        zone: str | None = None,
        temperature: float | None = None,
        note: str = "",
        method: str | Method = "convex",
        options: FitOptions | None = None,
        reading: ReadOptions | None = None,
        **keywords: Any,
    ) -> Added:
        """Identify a robot from a log, and keep what was found with its factors.

        `reading` tells how a file is read. Without `time` it is that of the file's own dates; a
        file that has none is refused.
        `temperature` is by default the mean of the recorded one (of a long log, of its first
        samples). Further keywords are those of `identify`; what the log cannot identify is held. A
        log that was added already is not fitted again. Factors are kept with the terms of the fit
        and without, so that logs with different terms can be merged, too.
        """
        given = Night.of(robot, log, reading)
        own = zone or self._zone(robot.name, serial)
        instant = moment(given.recorded if time is None else time, own)
        task = Task.of(method, options, keywords)
        known = self._known(robot.name, serial, given.fingerprint, task)
        if known is not None:
            call = {"time": instant, "zone": zone, "temperature": temperature, "note": note or None}
            return Added(known, False, differences(known, {**call, "payload": given.head.payload}))
        fit, archives = task.fitted(robot, given)
        warm = given.temperature if temperature is None else temperature
        entry = entry_of(fit, serial, instant, own or "UTC", warm, note)
        return self._insert(replace(entry, kind="log"), robot_text(robot), archives)

    def _insert(self, entry: Entry, file: str | None, archives: tuple[Information, ...]) -> Added:
        with self._database.writing():
            return self._inserted(entry, file, archives)

    def _inserted(self, entry: Entry, file: str | None, archives: tuple[Information, ...]) -> Added:
        """An entry written inside a transaction."""
        rows.plain("serial number", entry.serial, rows.LONGEST)
        rows.plain("robot", entry.robot, rows.LONGEST)
        zone_of(entry.zone)
        number, new = rows.insert(self._database, entry, file, archives)
        if new:
            return Added(replace(entry, number=number), True, self._removals(entry.log))
        (there,) = rows.select(self._database, "WHERE e.number = :number", {"number": number})
        given = {name: getattr(entry, name) for name in ("time", "zone", "payload", "temperature")}
        return Added(there, False, differences(there, {**given, "note": entry.note or None}))

    def _removals(self, log: str) -> tuple[str, ...]:
        """Sentences about entries of the same log that somebody removed."""
        if not log:
            return ()
        return tuple(
            f"entry {item.entry} of this log was removed on {item.time:%Y-%m-%d}: {item.reason}"
            for item in read_journal(self._database, log=log)
            if item.act == "remove"
        )

    # Correcting.

    def correct(
        self,
        number: int,
        *,
        reason: str,
        serial: str | None = None,
        time: datetime | str | None = None,
        zone: str | None = None,
        temperature: float | None = None,
        note: str | None = None,
    ) -> Entry:
        """Change what was said wrongly about an entry; what it was stays in the journal.

        Only what is given changes. A `time` without an offset is local in the `zone`, by default
        that of the entry; a zone alone keeps the instant. With a serial number all entries of the
        same log move to that robot. What was identified does not change: of a log that was read
        wrongly, or with another payload, `remove` the entry and add the log again.
        """
        why = checked_reason(reason)
        with self._database.writing():
            entry = self._existing(number)
            if zone is not None:
                zone_of(zone)
            given = {
                "serial": serial,
                "time": None if time is None else moment(time, zone or entry.zone),
                "zone": zone,
                "temperature": temperature,
                "note": note,
            }
            changes = {name: value for name, value in given.items() if value is not None}
            if serial is not None:
                rows.plain("serial number", serial, rows.LONGEST)
            changed = replace(entry, **changes)
            if all(getattr(entry, name) == getattr(changed, name) for name in changes):
                allowed = "at least one of serial, time, zone, temperature and note, other than now"
                raise InputError("correction", changes, allowed, where=f"entry {number}")
            for other in self._of_same_log(entry) if changed.serial != entry.serial else ():
                write_journal(self._database, other, "correct", why)
                rows.update(self._database, replace(other, serial=changed.serial))
            write_journal(self._database, entry, "correct", why)
            rows.update(self._database, changed)
        return changed

    def remove(self, number: int, *, reason: str) -> Entry:
        """Remove an entry with its factors; the entry as it was stays in the journal.

        The log can be added again, for instance with another payload.
        """
        why = checked_reason(reason)
        with self._database.writing():
            entry = self._existing(number)
            write_journal(self._database, entry, "remove", why)
            rows.delete(self._database, number)
        return entry

    def journal(self, number: int | None = None) -> tuple[JournalRecord, ...]:
        """What was corrected and removed, of all entries or of one, the oldest act first."""
        with self._database.reading():
            return read_journal(self._database, entry=number)

    def _existing(self, number: int) -> Entry:
        """The entry of a number, inside a transaction."""
        found = rows.select(self._database, "WHERE e.number = :number", {"number": number})
        if not found:
            raise InputError("entry", number, f"the number of one in {self.place}")
        return found[0]

    def _of_same_log(self, entry: Entry) -> tuple[Entry, ...]:
        """The other entries of a log: the samples of one log come from one robot."""
        if not entry.log:
            return ()
        where = "WHERE e.log = :log AND e.number <> :number"
        return rows.select(self._database, where, {"log": entry.log, "number": entry.number})

    def _zone(self, robot: str, serial: str) -> str | None:
        sql = "SELECT zone FROM history_robots WHERE type = :type AND serial = :serial"
        found = self._database.rows(sql, type=robot, serial=rows.plain("serial number", serial))
        return found[0]["zone"] if found else None

    def _known(self, robot: str, serial: str, log: str, task: Task) -> Entry | None:
        """The entry of a log that was fitted so before."""
        where = (
            "WHERE r.type = :robot AND r.serial = :serial AND e.kind = 'log' AND e.log = :log "
            "AND e.method = :method AND e.model = :model"
        )
        names = {"method": task.way.name, "model": task.model}
        values = {"robot": robot, "serial": serial, "log": log, **names}
        found = rows.select(self._database, where, values)
        return found[0] if found else None

    # Looking.

    def robots(self) -> tuple[Member, ...]:
        """All robots, with how many entries they have and from when to when."""
        found = self._database.rows(
            "SELECT r.type, r.serial, r.zone, COUNT(e.number) AS entries, MIN(e.time) AS first, "
            "MAX(e.time) AS last FROM history_robots r LEFT JOIN history_entries e "
            "ON e.robot = r.number GROUP BY r.type, r.serial, r.zone ORDER BY r.type, r.serial"
        )
        return tuple(member(self.place, row) for row in found)

    def entries(
        self,
        *,
        robot: str | None = None,
        serial: str | None = None,
        start: Edge = None,
        end: Edge = None,
        kind: str | None = None,
        zone: str | None = None,
    ) -> tuple[Entry, ...]:
        """Entries by type of robot, serial number, kind and period, the oldest first.

        `start` is in the period, `end` is not; a date begins at midnight in the `zone`, or UTC.
        """
        where, values = condition(robot, serial, start, end, kind, zone)
        with self._database.reading():
            return rows.select(self._database, where, values)

    def entry(self, number: int) -> Entry:
        """The entry of a number."""
        with self._database.reading():
            return self._existing(number)

    # Factors.

    def merged(
        self,
        serial: str,
        start: Edge = None,
        end: Edge = None,
        *,
        robot: str | None = None,
        zone: str | None = None,
        terms: str = "auto",
    ) -> Information:
        """The information of all logs of a robot in a period, exactly as if read together.

        Factors hold the terms of their fit. Where all logs have the same, these are kept; else the
        factors without terms are merged where every log has them, as `add_log` keeps them.
        `terms="file"` takes those in any case.
        """
        where, values = condition(robot, serial, start, end, None, zone)
        with self._database.reading():
            return factors.merged(self._database, where, values, terms)

    def refit(
        self,
        serial: str,
        start: Edge = None,
        end: Edge = None,
        *,
        robot: str | None = None,
        zone: str | None = None,
        terms: str = "auto",
        file: Robot | None = None,
        method: str | Method = "convex",
        options: FitOptions | None = None,
        **keywords: Any,
    ) -> Fit:
        """Fit a period again from its factors, without the logs; see `merged` for the terms.

        `file` is by default the robot as it was given with the last of the logs. Further keywords
        are those of `identify`; what the logs cannot identify is held.
        """
        where, values = condition(robot, serial, start, end, None, zone)
        with self._database.reading():
            information = factors.merged(self._database, where, values, terms)
            given = file or factors.last_robot(self._database, where, values)
        asked = options or FitOptions(unidentifiable="hold")
        return identify(given, information, method, asked, **keywords)

    # Keeping house.

    def forget(
        self,
        older_than: str | datetime,
        *,
        factors_only: bool = False,
        robot: str | None = None,
        serial: str | None = None,
        rehearse: bool = False,
    ) -> Forgotten:
        """Remove entries recorded before an age ("2y", "18mo", "90d") or a time; or factors alone.

        An entry without factors keeps its parameters; its period can no longer be refitted.
        `rehearse` counts and removes nothing.
        """
        old = before(older_than) if isinstance(older_than, str) else moment(older_than)
        where, values = condition(robot, serial, None, old, None, None)
        if rehearse:
            with self._database.reading():
                return Forgotten(*copies.count(self._database, where, values, factors_only))
        with self._database.writing():
            found = Forgotten(*copies.remove(self._database, where, values, factors_only))
        self._database.shrink()
        return found

    def backup(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write a whole copy into an SQLite file, while others read and write; it is a history.

        A file that is there is kept and named in an error unless `overwrite` is set.
        """
        return copies.backup(self._database, path, overwrite)


def open_database(store: str | os.PathLike[str], create: bool) -> Database:
    """The database of a path or of a URL."""
    text = os.fspath(store)
    if not isinstance(text, str) or not text or "\0" in text:
        raise InputError("history", text, "a path, or postgresql+psycopg://user@host/name")
    if not is_url(text):
        return SqliteDatabase(text, create)
    kind, _, rest = text.partition("://")
    if kind not in ("postgresql", "postgresql+psycopg"):
        allowed = "the path of an SQLite file, or postgresql+psycopg://user@host/name"
        raise InputError("history", f"{kind}://...", allowed)
    return ServerDatabase(f"postgresql+psycopg://{rest}")
