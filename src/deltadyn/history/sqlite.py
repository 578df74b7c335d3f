"""A history in an SQLite file."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from deltadyn.errors import FileError, InputError
from deltadyn.history.database import META, Database, Row

WAIT = 60.0  # s for other writers
CHECKED = 64 * 2**20  # bytes of a file that is looked through whole when it is opened
OLDEST = (3, 35)  # of SQLite: the first with RETURNING
#: What the cells of a column may be, by the first word of its type.
KINDS = {
    "TEXT": "'text'",
    "INTEGER": "'integer'",
    "DOUBLE": "'real', 'integer'",
    "BLOB": "'blob'",
}
ALLOWED = "an SQLite file that `deltadyn history` wrote"


class SqliteDatabase(Database):
    """A file. Writers wait for each other; readers wait for nobody (write-ahead log)."""

    words: ClassVar = {
        "number": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "link": "INTEGER",
        "bytes": "BLOB",
        "instant": "e.time",
    }

    def __init__(self, path: str, create: bool) -> None:
        self.place = path
        if sqlite3.sqlite_version_info < OLDEST:
            allowed = "3.35 or newer: install a newer Python"
            raise InputError("version of SQLite", sqlite3.sqlite_version, allowed)
        file = Path(path)
        if file.exists() and not file.is_file():
            raise FileError.of_file(path, "is no file", ALLOWED)
        if not file.exists() and not create:
            raise FileError.of_file(path, "does not exist", ALLOWED)
        if not file.absolute().parent.is_dir():
            problem = "cannot be made: its folder does not exist"
            raise FileError.of_file(path, problem, "a path in a folder that exists")
        if file.exists() and file.stat().st_size:
            self._refuse_foreign_file(file)
        elif not create:  # a connection would make it an SQLite file
            self.refuse_without_history()
        with self.named():
            self.connection = sqlite3.connect(file.absolute(), timeout=WAIT, isolation_level=None)
        self.connection.row_factory = sqlite3.Row
        try:
            self._begin(file)
        except BaseException:
            self.connection.close()
            raise

    def _refuse_foreign_file(self, file: Path) -> None:
        """Refuse another program's file before a connection that could change it is made.

        A connection that writes would switch the file to the write-ahead log, and move such a log
        of its program into it.
        """
        beside = file.with_name(f"{file.name}-wal").exists()
        uri = f"{file.absolute().as_uri()}?{'mode=ro' if beside else 'immutable=1'}"
        try:
            with closing(sqlite3.connect(uri, timeout=WAIT, uri=True)) as looking:
                names = {row[0] for row in looking.execute("SELECT name FROM sqlite_master")}
                marks = ("application_id", "user_version")
                marked = any(looking.execute(f"PRAGMA {mark}").fetchone()[0] for mark in marks)
        except sqlite3.DatabaseError:
            return  # damaged, or just being written: the connection that follows says so
        if (names or marked) and META not in names:
            self.refuse_foreign(names)

    def _begin(self, file: Path) -> None:
        """Settings of a connection, and a look at the file."""
        with self.named():
            new = not self._rows("SELECT name FROM sqlite_master", {})
        if new:
            self.rows("PRAGMA auto_vacuum = INCREMENTAL")
        self._log_ahead()
        self.rows("PRAGMA foreign_keys = ON")
        self.rows("PRAGMA synchronous = FULL")  # what was committed outlives a loss of power
        if file.stat().st_size <= CHECKED:
            self.check()

    def _log_ahead(self) -> None:
        """Switch to the write-ahead log; while others open the new file, it is locked."""
        end = time.monotonic() + WAIT
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "readonly" in str(error):  # a backup on a disk of its own is only looked at
                    return
                if "locked" not in str(error) or time.monotonic() > end:
                    with self.named():
                        raise
                time.sleep(0.02)
            except sqlite3.DatabaseError:
                with self.named():
                    raise
            else:
                return

    def check(self, whole: bool = False) -> None:
        """Raise where the file is damaged; `whole` looks at the indices, too."""
        (row,) = self.rows(f"PRAGMA {'integrity' if whole else 'quick'}_check(1)")
        (found,) = row.values()
        if found != "ok":
            problem = f"is damaged: {' '.join(str(found).split())}"
            raise FileError.of_file(self.place, problem, f"{ALLOWED}; take the last backup")
        for table in sorted(self.tables()):
            if table.startswith("history_"):
                self._check_kinds(table)

    def _check_kinds(self, table: str) -> None:
        """Raise where a cell holds another kind than its column: SQLite takes any."""
        wrong = {}
        for column in self.rows(f"PRAGMA table_info({table})"):
            kinds = KINDS.get(str(column["type"]).split(" ")[0])
            if kinds is not None:
                name = column["name"]
                empty = "" if column["notnull"] or column["pk"] else f"{name} IS NOT NULL AND "
                wrong[name] = f"{empty}typeof({name}) NOT IN ({kinds})"
        for name, condition in wrong.items():
            found = self.rows(
                f"SELECT typeof({name}) AS kind FROM {table} WHERE {condition} LIMIT 1"
            )
            if found:
                problem = f"is damaged: column {name} of {table} holds a value of the kind"
                allowed = f"{ALLOWED}; take the last backup"
                raise FileError.of_file(self.place, f"{problem} {found[0]['kind']}", allowed)

    def _rows(self, sql: str, values: Row) -> list[Row]:
        return [dict(row) for row in self.connection.execute(sql, values).fetchall()]

    def each(self, sql: str, values: Iterable[Row]) -> None:
        with self.named():
            self.connection.executemany(self._worded(sql), values)

    def tables(self) -> set[str]:
        return {row["name"] for row in self.rows("SELECT name FROM sqlite_master")}

    def refuse_foreign(self, tables: set[str]) -> None:
        held = f"with {', '.join(sorted(tables)[:5])}" if tables else "without tables"
        problem = f"is another program's SQLite file, {held}"
        raise FileError.of_file(self.place, problem, f"{ALLOWED}, or a new one")

    def writing(self) -> Any:
        return self._transaction("BEGIN IMMEDIATE")

    def reading(self) -> Any:
        return self._transaction("BEGIN")

    changing = writing

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self.rows(begin)
        try:
            yield
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise
        try:
            self.rows("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    def shrink(self) -> None:
        self.rows("PRAGMA incremental_vacuum")

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def named(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:
            problem = "is damaged: a text is not UTF-8"
            raise FileError.of_file(self.place, problem, f"{ALLOWED}; take a backup") from error
        except sqlite3.Error as error:
            text = str(error)
            allowed = ALLOWED
            if "locked" in text:
                text, allowed = f"is in use: others wrote to it for {WAIT:g} s", "to try again"
            elif "not a database" in text:
                text = "is no SQLite file"
            elif "malformed" in text or "corrupt" in text:
                text, allowed = f"is damaged: {text}", f"{ALLOWED}; take the last backup"
            else:
                text, allowed = f"cannot be used: {text}", f"{ALLOWED}, in a folder to write in"
            raise FileError.of_file(self.place, text, allowed) from error
