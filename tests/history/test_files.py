"""Files of a history: older ones, damaged ones, those of others, several writers, killed ones."""

from __future__ import annotations

import signal
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from tests.history.samples import START, entry, fit
from tests.history.writers import die, start, write
from tests.waits import PATIENCE

from deltadyn.errors import FileError
from deltadyn.history import History
from deltadyn.history.schema import NEWEST

#: The tables of schema version 1, as the first deltadyn with a history made them.
VERSION_1 = """
CREATE TABLE history_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE history_robots (number INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL,
  serial TEXT NOT NULL, zone TEXT NOT NULL, UNIQUE (type, serial));
CREATE TABLE history_entries (number INTEGER PRIMARY KEY AUTOINCREMENT,
  robot INTEGER NOT NULL REFERENCES history_robots (number),
  kind TEXT NOT NULL CHECK (kind IN ('fit', 'validation', 'log')), time TEXT NOT NULL,
  zone TEXT NOT NULL, temperature DOUBLE PRECISION, log TEXT NOT NULL, code TEXT NOT NULL,
  method TEXT NOT NULL, model TEXT NOT NULL, grade TEXT NOT NULL, verdict TEXT NOT NULL,
  note TEXT NOT NULL, covariance BLOB NOT NULL);
CREATE UNIQUE INDEX history_once ON history_entries (robot, kind, log, method, model)
  WHERE log <> '';
CREATE INDEX history_by_time ON history_entries (robot, time);
CREATE TABLE history_parameters (
  entry INTEGER NOT NULL REFERENCES history_entries (number) ON DELETE CASCADE,
  place INTEGER NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, value DOUBLE PRECISION,
  std DOUBLE PRECISION, PRIMARY KEY (entry, place));
CREATE TABLE history_axes (
  entry INTEGER NOT NULL REFERENCES history_entries (number) ON DELETE CASCADE,
  axis INTEGER NOT NULL, residual DOUBLE PRECISION, torque_level DOUBLE PRECISION,
  PRIMARY KEY (entry, axis));
CREATE TABLE history_factors (
  entry INTEGER PRIMARY KEY REFERENCES history_entries (number) ON DELETE CASCADE,
  archive BLOB NOT NULL);
INSERT INTO history_meta VALUES ('schema', '1');
INSERT INTO history_robots VALUES (4, 'sipro-d3-1200', 'D3-0117', 'Europe/Berlin');
INSERT INTO history_entries VALUES (7, 4, 'log', '2026-05-03T00:00:00.000000Z', 'Europe/Berlin',
  21.5, 'abc', 'deltadyn 0.1.0', 'base', 'exact', 'good', 'good: it is', 'old', :covariance);
INSERT INTO history_parameters VALUES (7, 0, 'M_P', 'kg', 1.3, 0.01);
INSERT INTO history_axes VALUES (7, 0, 0.1, 6.0);
INSERT INTO history_factors VALUES (7, :archive);
"""


def old_file(path: Path) -> Path:
    information = fit(0).information
    assert information is not None
    values = {"covariance": np.array([[1e-4]]).tobytes(), "archive": information.archive()}
    connection = sqlite3.connect(path)
    for sql in VERSION_1.split(";\n"):
        used = {name: value for name, value in values.items() if f":{name}" in sql}
        connection.execute(sql, used)
    connection.commit()
    connection.close()
    return path


def test_an_older_file_is_brought_up_to_date(tmp_path: Path) -> None:
    path = old_file(tmp_path / "old.db")
    with History(path, create=False) as history:
        (found,) = history.entries()
        assert (found.number, found.serial, found.note) == (7, "D3-0117", "old")
        assert (found.temperature, found.grade, found.zone) == (21.5, "good", "Europe/Berlin")
        np.testing.assert_array_equal(found.values, [1.3])
        same = fit(0).information
        assert same is not None
        np.testing.assert_array_equal(history.merged("D3-0117").factors, same.factors)
        assert history.add(entry(1)).entry.number == 8
    with sqlite3.connect(path) as connection:
        names = "time, serial, parameter, value, std, unit, temperature"
        first = connection.execute(f"SELECT {names} FROM parameter_history").fetchone()
        version = connection.execute("SELECT value FROM history_meta").fetchall()
        keys = connection.execute("PRAGMA foreign_key_list(history_factors)").fetchall()
    moment = "2026-05-03T00:00:00.000000Z"
    assert first == (moment, "D3-0117", "M_P", 1.3, 0.01, "kg", 21.5)
    assert version == [(str(NEWEST),)]
    assert keys[0][2] == "history_entries"
    with History(path) as again:  # nothing is left to do
        assert len(again.entries()) == 2


def test_a_move_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = old_file(tmp_path / "old.db")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE history_factors SET archive = x'00'")
    connection.close()
    with pytest.raises(FileError, match=r"Information\.save"):
        History(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT value FROM history_meta").fetchone() == ("1",)
        assert connection.execute("SELECT COUNT(*) FROM history_factors").fetchone() == (1,)


def test_a_newer_schema_is_refused_by_its_number(place: str) -> None:
    with History(place) as history:
        history._database.rows("UPDATE history_meta SET value = '77'")
    with pytest.raises(FileError, match=rf"version 77, .*; allowed: at most version {NEWEST}"):
        History(place)


def test_files_of_others(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    before = other.read_bytes()
    with pytest.raises(FileError, match="is another program's SQLite file, with recipes"):
        History(other)
    with sqlite3.connect(other) as connection:
        assert [row[0] for row in connection.execute("SELECT name FROM sqlite_master")] == [
            "recipes"
        ]
    assert len(before) == other.stat().st_size
    text = tmp_path / "text.db"
    text.write_text("t_s,q1_rad\n" * 1000)
    with pytest.raises(FileError, match="is no SQLite file"):
        History(text)
    assert text.read_text().startswith("t_s,q1_rad")
    (tmp_path / "empty.db").touch()
    with History(tmp_path / "empty.db") as history:
        assert history.entries() == ()


def test_damaged_files_say_so(tmp_path: Path) -> None:
    """Cut off, overwritten in the middle, or bytes changed: an error of ours, or sound entries."""
    path = tmp_path / "history.db"
    with History(path) as history:
        history.add(fit(0), "D3-0117", time=START)
        for number in range(40):
            history.add(entry(number + 1))
        history.backup(tmp_path / "whole.db")
    whole = (tmp_path / "whole.db").read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for case in range(40):
        damaged = bytearray(whole)
        if case < 8:
            damaged = damaged[: int(rng.integers(100, len(whole)))]
        else:
            at = int(rng.integers(0, len(whole) - 600))
            damaged[at : at + 512] = rng.bytes(512)
        bad = tmp_path / f"bad{case}.db"
        bad.write_bytes(damaged)
        told = looked_at(bad)
        refused += told is not None
        assert told is None or told.startswith(str(bad))
    assert refused > 20


def looked_at(path: Path) -> str | None:
    """What is said of a file; None where all of it can be read."""
    try:
        with History(path, create=False) as history:
            history.entries()
            history.merged("D3-0117")
    except FileError as error:
        return str(error)
    return None


def test_several_writers_lose_nothing(place: str) -> None:
    names = ("a", "b", "c")
    writers = [start(write, place, name, 8) for name in names]
    for writer in writers:
        writer.join(PATIENCE)
        assert writer.exitcode == 0
    with History(place, create=False) as history:
        for name in names:
            assert len(history.entries(serial=name)) == 8
        assert len(history.entries(serial="shared")) == 8  # each log once, whoever was first
        assert all(len(item.values) == 3 for item in history.entries())


def test_a_killed_writer_leaves_a_sound_store(place: str, tmp_path: Path) -> None:
    writer = start(die, place)
    writer.join(PATIENCE)
    assert writer.exitcode == -signal.SIGKILL
    with History(place, create=False) as history:
        (left,) = history.entries()  # what was committed, and nothing of what was not
        assert len(left.values) == 3
        assert history.add(entry(1)).new
        history.backup(tmp_path / "copy.db")  # checks the copy whole
