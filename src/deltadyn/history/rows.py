"""Entries as rows of a history, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import FileError, InputError
from deltadyn.history.database import Database, Row
from deltadyn.history.entry import Entry
from deltadyn.history.schema import terms_key
from deltadyn.history.times import restored, stored, zone_of
from deltadyn.identification.information import Information

TEXTS = ("kind", "zone", "log", "code", "method", "model", "grade", "verdict", "note")
LONGEST = 200  # characters of a serial number
_ENTRY = ", ".join(("time", "temperature", "payload", "covariance", *TEXTS))
_JOINED = "FROM history_entries e JOIN history_robots r ON r.number = e.robot"
_ONCE = "robot = :robot AND kind = :kind AND log = :log AND method = :method AND model = :model"


def plain(what: str, text: str, longest: int | None = None) -> str:
    """A text that every database takes."""
    problem = not isinstance(text, str) or "\0" in text
    if not problem:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            problem = True
    if problem:
        raise InputError(what, text, "a text in UTF-8")
    if longest is not None and (not text.isprintable() or not 0 < len(text.strip()) <= longest):
        raise InputError(what, text, f"1 to {longest} characters in one line")
    return text


def insert(
    database: Database, entry: Entry, file: str | None, factors: tuple[Information, ...]
) -> tuple[int, bool]:
    """Write an entry inside a transaction: its number, and whether it is new."""
    robot = _robot(database, entry)
    values = _values(entry) | {"robot": robot, "file": _file(database, file)}
    _refuse_other_robot(database, entry, robot)
    names = ("robot", "file", *_ENTRY.split(", "))
    made = database.rows(
        f"INSERT INTO history_entries ({', '.join(names)}) "
        f"VALUES ({', '.join(f':{name}' for name in names)}) "
        "ON CONFLICT (robot, kind, log, method, model) WHERE log <> '' DO NOTHING "
        "RETURNING number",
        **values,
    )
    if not made:
        same = {name: values[name] for name in ("robot", "kind", "log", "method", "model")}
        there = database.rows(f"SELECT number FROM history_entries WHERE {_ONCE}", **same)
        if not there:  # somebody removed it in between
            return insert(database, entry, file, factors)
        return int(there[0]["number"]), False
    number = int(made[0]["number"])
    _insert_parts(database, number, entry)
    for item in factors:
        sql = (
            "INSERT INTO history_factors (entry, terms, archive) VALUES (:entry, :terms, :archive)"
        )
        key = terms_key(item.terms)
        database.rows(sql, entry=number, terms=key, archive=item.archive())
    return number, True


def update(database: Database, entry: Entry) -> None:
    """Write what may be corrected of an entry: its robot's serial number, time, zone and so on."""
    values = {name: plain(name, getattr(entry, name)) for name in ("zone", "note")}
    database.rows(
        "UPDATE history_entries SET robot = :robot, time = :time, zone = :zone, note = :note, "
        "temperature = :temperature WHERE number = :number",
        **values,
        robot=_robot_number(database, entry)[0],
        time=stored(entry.time),
        temperature=None if entry.temperature is None else float(entry.temperature),
        number=entry.number,
    )


def delete(database: Database, number: int) -> None:
    """Remove an entry with its parameters and factors."""
    database.rows("DELETE FROM history_entries WHERE number = :number", number=number)


def _robot(database: Database, entry: Entry) -> int:
    """The number of a robot, whose zone becomes that of its newest entry."""
    number, zone = _robot_number(database, entry)
    if zone != entry.zone:
        sql = "UPDATE history_robots SET zone = :zone WHERE number = :number"
        database.rows(sql, zone=entry.zone, number=number)
    return number


def _robot_number(database: Database, entry: Entry) -> tuple[int, str]:
    """The number and the zone of a robot, which is made where it is new."""
    same = {"type": entry.robot, "serial": entry.serial}
    sql = "INSERT INTO history_robots (type, serial, zone) VALUES (:type, :serial, :zone) "
    database.rows(sql + "ON CONFLICT (type, serial) DO NOTHING", **same, zone=entry.zone)
    sql = "SELECT number, zone FROM history_robots WHERE type = :type AND serial = :serial"
    (row,) = database.rows(sql, **same)
    return int(row["number"]), row["zone"]


def _file(database: Database, content: str | None) -> str | None:
    """The checksum of a robot file, which is kept once."""
    if content is None:
        return None
    digest = sha256(content.encode()).hexdigest()
    sql = "INSERT INTO history_files (digest, content) VALUES (:digest, :content) "
    database.rows(sql + "ON CONFLICT (digest) DO NOTHING", digest=digest, content=content)
    return digest


def _refuse_other_robot(database: Database, entry: Entry, robot: int) -> None:
    """The samples of one log come from one robot."""
    if not entry.log:
        return
    sql = f"SELECT e.number, r.type, r.serial {_JOINED} WHERE e.log = :log AND e.robot <> :robot"
    for row in database.rows(sql, log=entry.log, robot=robot):
        allowed = f"{row['serial']!r} ({row['type']}), whose entry {row['number']} is of this log"
        raise InputError("serial number", entry.serial, allowed)


def _values(entry: Entry) -> Row:
    """The columns of an entry's own row."""
    texts = {name: plain(name, getattr(entry, name)) for name in TEXTS}
    matrix = np.ascontiguousarray(entry.covariance, dtype="<f8")
    warm = None if entry.temperature is None else float(entry.temperature)
    load = None if entry.payload is None else float(entry.payload)
    packed = {"covariance": matrix.tobytes(), "temperature": warm, "payload": load}
    return texts | packed | {"time": stored(entry.time)}


def _insert_parts(database: Database, number: int, entry: Entry) -> None:
    """The parameters and the axes of an entry."""
    columns = zip(entry.names, entry.units, entry.values, entry.std, strict=True)
    database.each(
        "INSERT INTO history_parameters (entry, place, name, unit, value, std) "
        "VALUES (:entry, :place, :name, :unit, :value, :std)",
        [
            {"entry": number, "place": place, "name": name, "unit": unit}
            | {"value": _null(value), "std": _null(std)}
            for place, (name, unit, value, std) in enumerate(columns)
        ],
    )
    axes = zip(entry.residual, entry.torque_level, strict=True)
    database.each(
        "INSERT INTO history_axes (entry, axis, residual, torque_level) "
        "VALUES (:entry, :axis, :residual, :torque_level)",
        [
            {"entry": number, "axis": axis, "residual": _null(e), "torque_level": _null(level)}
            for axis, (e, level) in enumerate(axes)
        ],
    )


def select(database: Database, where: str, values: Mapping[str, Any]) -> tuple[Entry, ...]:
    """Entries by a condition on e and r, the oldest first, inside a transaction."""
    found = database.rows(
        f"SELECT e.*, r.type, r.serial {_JOINED} {where} ORDER BY e.time, e.number", **values
    )
    parts: dict[str, dict[int, list[Row]]] = {}
    for table, order in (("history_parameters", "place"), ("history_axes", "axis")):
        sql = (
            f"SELECT p.* {_JOINED} JOIN {table} p ON p.entry = e.number {where} "
            f"ORDER BY p.entry, p.{order}"
        )
        own = parts.setdefault(table, {})
        for row in database.rows(sql, **values):
            own.setdefault(row["entry"], []).append(row)
    return tuple(
        _sound(
            database.place,
            row,
            parts["history_parameters"].get(row["number"], []),
            parts["history_axes"].get(row["number"], []),
        )
        for row in found
    )


def _sound(place: str, row: Row, parameters: list[Row], axes: list[Row]) -> Entry:
    """An entry from its rows; what no entry can hold is damage."""
    try:
        return _entry(row, parameters, axes)
    except (LookupError, ValueError, TypeError, OverflowError) as error:
        raise damaged(place, f"entry {row['number']}: {error}") from error


def damaged(place: str, problem: str) -> FileError:
    """The error of a store whose rows are not what was written."""
    return FileError.of_file(place, f"is damaged: {problem}", "the last backup")


def packed(row: Row, name: str) -> bytes:
    """The bytes of a cell."""
    value = row[name]
    if not isinstance(value, bytes | memoryview):
        raise TypeError(f"{name} is {type(value).__name__}, not bytes")
    return bytes(value)


def _entry(row: Row, parameters: list[Row], axes: list[Row]) -> Entry:
    zone_of(row["zone"])
    count = len(parameters)
    numbers = np.frombuffer(packed(row, "covariance"), dtype="<f8").astype(np.float64)
    return Entry(
        robot=plain("robot", row["type"]),
        serial=plain("serial number", row["serial"]),
        time=restored(row["time"]),
        names=tuple(plain("name", item["name"]) for item in parameters),
        units=tuple(plain("unit", item["unit"]) for item in parameters),
        values=_column(parameters, "value"),
        std=_column(parameters, "std"),
        covariance=numbers.reshape(count, count),
        residual=_column(axes, "residual"),
        torque_level=_column(axes, "torque_level"),
        temperature=row["temperature"],
        payload=row["payload"],
        number=int(row["number"]),
        **{name: plain(name, row[name]) for name in TEXTS},
    )


def _column(rows: list[Row], name: str) -> FloatArray:
    return np.array([math.nan if row[name] is None else row[name] for row in rows], np.float64)


def _null(value: float) -> float | None:
    """NaN has no place in every database; infinity has."""
    return None if math.isnan(value) else float(value)
