"""The tables of a history, said once for SQLite and PostgreSQL, and how older ones become these.

A version is what it adds to the one before. A new store runs all of them, an older one those that
it lacks, in one transaction. Words in braces are those of the database.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from deltadyn.errors import FileError
from deltadyn.history.database import META, Database
from deltadyn.identification.information import information_of

#: In the order in which rows can be written: what is named by others comes first.
TABLES = (
    "history_robots",
    "history_files",
    "history_entries",
    "history_parameters",
    "history_axes",
    "history_factors",
    "history_journal",
)
NUMBERED = ("history_robots", "history_entries", "history_journal")

VERSION_1 = (
    f"CREATE TABLE {META} (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE history_robots (
        number {number},
        type TEXT NOT NULL,
        serial TEXT NOT NULL,
        zone TEXT NOT NULL,
        UNIQUE (type, serial))""",
    """CREATE TABLE history_entries (
        number {number},
        robot {link} NOT NULL REFERENCES history_robots (number),
        kind TEXT NOT NULL CHECK (kind IN ('fit', 'validation', 'log')),
        time TEXT NOT NULL,
        zone TEXT NOT NULL,
        temperature DOUBLE PRECISION,
        log TEXT NOT NULL,
        code TEXT NOT NULL,
        method TEXT NOT NULL,
        model TEXT NOT NULL,
        grade TEXT NOT NULL,
        verdict TEXT NOT NULL,
        note TEXT NOT NULL,
        covariance {bytes} NOT NULL)""",
    """CREATE UNIQUE INDEX history_once ON history_entries (robot, kind, log, method, model)
        WHERE log <> ''""",
    "CREATE INDEX history_by_time ON history_entries (robot, time)",
    """CREATE TABLE history_parameters (
        entry {link} NOT NULL REFERENCES history_entries (number) ON DELETE CASCADE,
        place INTEGER NOT NULL,
        name TEXT NOT NULL,
        unit TEXT NOT NULL,
        value DOUBLE PRECISION,
        std DOUBLE PRECISION,
        PRIMARY KEY (entry, place))""",
    """CREATE TABLE history_axes (
        entry {link} NOT NULL REFERENCES history_entries (number) ON DELETE CASCADE,
        axis INTEGER NOT NULL,
        residual DOUBLE PRECISION,
        torque_level DOUBLE PRECISION,
        PRIMARY KEY (entry, axis))""",
    """CREATE TABLE history_factors (
        entry {link} PRIMARY KEY REFERENCES history_entries (number) ON DELETE CASCADE,
        archive {bytes} NOT NULL)""",
)

# Version 2: an entry may have factors with and without terms; the robot file of each; views.
VERSION_2 = (
    "ALTER TABLE history_factors RENAME TO history_factors_1",
    """CREATE TABLE history_factors (
        entry {link} NOT NULL REFERENCES history_entries (number) ON DELETE CASCADE,
        terms TEXT NOT NULL,
        archive {bytes} NOT NULL,
        PRIMARY KEY (entry, terms))""",
    "CREATE TABLE history_files (digest TEXT PRIMARY KEY, content TEXT NOT NULL)",
    "ALTER TABLE history_entries ADD COLUMN file TEXT REFERENCES history_files (digest)",
    "CREATE INDEX history_by_log ON history_entries (log)",
    """CREATE VIEW entry_history AS
        SELECT {instant} AS time, r.type AS robot, r.serial, e.number AS entry, e.kind,
            e.temperature, e.zone, e.method, e.model, e.grade, e.verdict, e.note, e.log, e.code
        FROM history_entries e JOIN history_robots r ON r.number = e.robot""",
    # an infinite deviation tells that a log does not show a parameter: no number for a plot
    """CREATE VIEW parameter_history AS
        SELECT {instant} AS time, r.type AS robot, r.serial, e.number AS entry, e.kind,
            p.name AS parameter, p.value, CASE WHEN p.std < 1e300 THEN p.std END AS std, p.unit,
            e.temperature, e.grade
        FROM history_parameters p
        JOIN history_entries e ON e.number = p.entry
        JOIN history_robots r ON r.number = e.robot""",
)

# Version 3: what was carried, and entries as they were before somebody corrected or removed them.
VERSION_3 = (
    "ALTER TABLE history_entries ADD COLUMN payload DOUBLE PRECISION",
    """CREATE TABLE history_journal (
        number {number},
        entry {link} NOT NULL,
        time TEXT NOT NULL,
        act TEXT NOT NULL CHECK (act IN ('correct', 'remove')),
        reason TEXT NOT NULL,
        log TEXT NOT NULL,
        record TEXT NOT NULL)""",
    "CREATE INDEX history_journal_by_log ON history_journal (log)",
)


def _keyed_factors(database: Database) -> None:
    """Factors of version 1 with the key of their terms."""
    for row in database.rows("SELECT entry FROM history_factors_1"):
        (found,) = database.rows("SELECT * FROM history_factors_1 WHERE entry = :entry", **row)
        archive = bytes(found["archive"])
        terms = information_of(archive, database.place).terms
        sql = (
            "INSERT INTO history_factors (entry, terms, archive) VALUES (:entry, :terms, :archive)"
        )
        database.rows(sql, entry=row["entry"], terms=terms_key(terms), archive=archive)
    database.rows("DROP TABLE history_factors_1")


def terms_key(terms: str) -> str:
    """What tells factors with other terms apart; "" without a search for terms."""
    return sha256(terms.encode()).hexdigest() if terms else ""


#: Statements of every version, from 1 on, and what moves the rows behind them.
VERSIONS: tuple[tuple[tuple[str, ...], Callable[[Database], None] | None], ...] = (
    (VERSION_1, None),
    (VERSION_2, _keyed_factors),
    (VERSION_3, None),
)
NEWEST = len(VERSIONS)


def prepare(database: Database, create: bool = True) -> None:
    """Make the tables of a new store, or bring those of an older one up to date.

    Without `create` a store that has none is refused, and left as it is.
    """
    version = _version(database)
    if version == NEWEST:
        return
    if version == 0 and not create:
        database.refuse_without_history()
    with database.changing():
        version = _version(database)  # somebody else may have been faster
        for number in range(version, NEWEST):
            statements, move = VERSIONS[number]
            for sql in statements:
                database.rows(sql)
            if move is not None:
                move(database)
        database.rows(f"DELETE FROM {META} WHERE name = 'schema'")
        sql = f"INSERT INTO {META} (name, value) VALUES ('schema', :value)"
        database.rows(sql, value=str(NEWEST))


def _version(database: Database) -> int:
    """The version of the tables; 0 where there are none yet."""
    tables = database.tables()
    if META not in tables:
        if tables:
            database.refuse_foreign(tables)
        return 0
    rows = database.rows(f"SELECT value FROM {META} WHERE name = 'schema'")
    text = rows[0]["value"] if rows else ""
    if not text.isdigit() or int(text) < 1:
        problem = f"has the schema version {text!r}"
        allowed = f"a history of schema version 1 to {NEWEST}"
        raise FileError.of_file(database.place, problem, allowed)
    if int(text) > NEWEST:
        problem = f"has the schema version {text}, of a newer deltadyn"
        allowed = f"at most version {NEWEST}; install the newer deltadyn to open it"
        raise FileError.of_file(database.place, problem, allowed)
    return int(text)
