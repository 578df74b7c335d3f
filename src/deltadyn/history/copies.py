"""Copies of a history, and the end of what is too old."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deltadyn.errors import FileError
from deltadyn.files import replacing
from deltadyn.history.database import Database, Row
from deltadyn.history.schema import TABLES, prepare
from deltadyn.history.sqlite import SqliteDatabase

TOGETHER = 1000  # rows that are copied at once
_CHOSEN = "FROM history_entries e JOIN history_robots r ON r.number = e.robot"


def backup(database: Database, path: str | os.PathLike[str], overwrite: bool) -> Path:
    """Write a copy into an SQLite file, which is checked and takes its place when it is whole."""
    target = Path(path)
    if isinstance(database, SqliteDatabase) and _same(target, database.place):
        raise FileError.of_file(str(target), "is the history itself", "another file")
    if target.exists() and not target.is_file():
        raise FileError.of_file(str(target), "is no file", "the path of a file")
    if target.exists() and not overwrite:
        allowed = "another path, or overwrite=True (--force)"
        raise FileError.of_file(str(target), "is there already, and is kept", allowed)
    if not target.absolute().parent.is_dir():
        raise FileError.of_file(str(target), "has no folder", "a path in a folder that exists")
    with replacing(target) as file:
        copy = SqliteDatabase(file.name, create=True)
        try:
            if isinstance(database, SqliteDatabase):
                with database.named():
                    database.connection.backup(copy.connection)
            else:
                prepare(copy)
                _copy_rows(database, copy)
            copy.rows("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            copy.check(whole=True)
        finally:
            copy.close()
    return target


def _same(target: Path, place: str) -> bool:
    try:
        return target.samefile(place)
    except OSError:
        return False


def _copy_rows(source: Database, target: Database) -> None:
    """All rows of one instant."""
    with source.reading(), target.writing():
        for table in TABLES:
            for rows in _pieces(source, table):
                names = list(rows[0])
                values = ", ".join(f":{name}" for name in names)
                sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"
                target.each(sql, rows)


def _pieces(source: Database, table: str) -> Iterator[list[Row]]:
    """The rows of a table, some at a time; large ones one by one."""
    order = {
        "history_robots": "number",
        "history_files": "digest",
        "history_entries": "number",
        "history_parameters": "entry, place",
        "history_axes": "entry, axis",
        "history_factors": "entry, terms",
        "history_journal": "number",
    }[table]
    step = 1 if table == "history_factors" else TOGETHER
    start = 0
    while True:
        sql = f"SELECT * FROM {table} ORDER BY {order} LIMIT :count OFFSET :start"
        rows = source.rows(sql, count=step, start=start)
        if not rows:
            return
        yield rows
        start += len(rows)


def count(
    database: Database, where: str, values: Mapping[str, Any], factors_only: bool
) -> tuple[int, int]:
    """What `remove` would remove."""
    (entries,) = database.rows(f"SELECT COUNT(*) AS n {_CHOSEN} {where}", **values)
    join = "JOIN history_factors f ON f.entry = e.number"
    (factors,) = database.rows(f"SELECT COUNT(*) AS n {_CHOSEN} {join} {where}", **values)
    return (0 if factors_only else int(entries["n"])), int(factors["n"])


def remove(
    database: Database, where: str, values: Mapping[str, Any], factors_only: bool
) -> tuple[int, int]:
    """Remove the chosen entries, or their factors alone: how many of each."""
    chosen = f"SELECT e.number {_CHOSEN} {where}"
    sql = f"DELETE FROM history_factors WHERE entry IN ({chosen}) RETURNING entry"
    factors = len(database.rows(sql, **values))
    if factors_only:
        return 0, factors
    sql = f"DELETE FROM history_entries WHERE number IN ({chosen}) RETURNING number"
    # robots and their files stay: they are small, and somebody may be adding to them
    return len(database.rows(sql, **values)), factors
