"""`deltadyn history`, its tables and its views."""

from __future__ import annotations

import csv
import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.history.samples import ROBOT, START, entry, log

import deltadyn as dd
from deltadyn.cli import main
from deltadyn.history import History
from deltadyn.history.tables import write_tables

FAST = ("--method", "base", "--terms", "file")


def run(*arguments: str, code: int = 0) -> Result:
    """One call of `deltadyn history`."""
    found = CliRunner().invoke(main, ["history", *arguments])
    assert found.exit_code == code, found.output
    return found


def record(*arguments: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json", code=code).stdout)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A robot file and the logs of two nights."""
    place = tmp_path_factory.mktemp("plant")
    ROBOT.save(place / "robot.yaml")
    for number in (0, 1):
        dd.write_recording(log(number), place / f"night{number}.csv")
    return place


def test_the_whole_path(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call = ["add", str(folder / "robot.yaml")]
    about = ["--serial", "D3-0117", "--zone", "Europe/Berlin", *FAST]
    first = [*call, str(folder / "night0.csv"), *about, "--time", "2026-05-03T02:00:00"]
    added = record(*first, "--note", "new belt")
    entry = added["added"][0]["entry"]
    assert added["history"] == "deltadyn-history.db"
    assert added["added"][0]["new"]
    assert (entry["kind"], entry["time"]) == ("log", "2026-05-03T00:00:00+00:00")
    assert (entry["temperature_degC"], entry["note"]) == (20.0, "new belt")
    assert "there already, as entry 1: nothing was added" in run(*first).stdout
    # the zone is known by now
    second = [*call, str(folder / "night1.csv"), "--serial", "D3-0117", *FAST]
    run(*second, "--time", "2026-05-04T02:00:00")
    held = record(
        *(*call, str(folder / "night1.csv"), "--serial", "D3-0117", "--kind", "validation"),
        *("--time", "2026-05-04T02:00:00"),
    )
    assert held["added"][0]["entry"]["grade"] == "good"
    told = run("list").stdout
    assert "2026-05-04 02:00:00+02:00" in told
    assert told.endswith("3 entries in deltadyn-history.db\n")
    robots = run("list", "--robots").stdout
    assert robots.startswith("D3-0117")
    assert "3 entries, 2026-05-03 02:00:00+02:00 to" in robots
    assert record("list", "--robots")["robots"][0]["first"] == "2026-05-03T00:00:00+00:00"
    chosen = record("list", "--serial", "D3-0117", "--kind", "log", "--from", "2026-05-04")
    assert [item["number"] for item in chosen["entries"]] == [
        held["added"][0]["entry"]["number"] - 1
    ]
    shown = run("show", "1").stdout
    assert "recorded 2026-05-03 02:00:00+02:00 (Europe/Berlin), 2026-05-03 00:00 UTC" in shown
    assert record("show", "1")["parameters"][0]["name"] == "M_P"
    refit = record("refit", "D3-0117", "--method", "base", "--out", "may")
    assert refit["logs"] == ["night 0", "night 1"]
    assert dd.load_robot("may.yaml").name == ROBOT.name
    assert "copied to copy.db" in run("backup", "copy.db").stdout
    assert len(record("list", "--store", "copy.db")["entries"]) == 3
    would = run("forget", "--older-than", "1d").stdout
    assert would == "would remove 3 entries and 2 archives of factors; pass --yes to do it\n"
    gone = record("forget", "--older-than", "1d", "--factors-only", "--yes")
    assert gone == {"entries": 0, "factors": 2, "done": True}
    assert record("forget", "--older-than", "1d", "--yes")["entries"] == 3
    assert record("list")["entries"] == []


def test_a_wrong_entry_is_corrected_or_removed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    about = ["--serial", "D3-0117", "--zone", "Europe/Berlin", *FAST]
    call = ["add", str(folder / "robot.yaml"), str(folder / "night0.csv"), *about]
    run(*call, "--time", "2026-05-03T02:00:00")
    again = run(*call, "--time", "2026-05-04T02:00:00", "--payload", "1.5").stdout
    assert "there already, as entry 1: nothing was added" in again
    assert "the entry's time is 2026-05-03 02:00:00+02:00, not 2026-05-04 02:00:00+02:00" in again
    assert "the entry's payload is " in again
    assert "not 1.5 kg as given now" in again
    told = run("correct", "1", "--time", "2026-05-04T02:00:00", "--reason", "clock").stdout
    assert "recorded 2026-05-04 02:00:00+02:00" in told
    assert "--reason" in run("remove", "1", code=2).stderr
    assert "removed: 1  2026-05-04" in run("remove", "1", "--reason", "payload forgotten").stdout
    added = record(*call, "--time", "2026-05-04T02:00:00", "--payload", "1.5")["added"][0]
    assert added["new"]
    assert added["entry"]["payload_kg"] == 1.5
    assert added["notes"][0].endswith("payload forgotten")
    acts = record("journal")["journal"]
    assert [item["act"] for item in acts] == ["correct", "remove"]
    assert acts[0]["before"]["time"] == "2026-05-03T00:00:00+00:00"
    lines = run("journal", "--entry", "1").stdout.splitlines()
    assert len(lines) == 3
    assert lines[-1] == "2 acts in the journal of deltadyn-history.db"


def test_calls_that_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "deltadyn-history.db: file does not exist" in run("list", code=2).stderr
    call = ["add", str(folder / "robot.yaml"), str(folder / "night0.csv"), "--serial", "D3-0117"]
    assert "time at log 'night 0' is None; allowed: given with the log" in run(*call, code=2).stderr
    ghost = run(*call, "--time", "2026-03-29T02:30:00", "--zone", "Europe/Berlin", code=2)
    assert "a time that exists: the clocks of Europe/Berlin go forward over it" in ghost.stderr
    both = [*call[:3], str(folder / "night1.csv"), *call[3:], "--time", "2026-05-03T02:00:00Z"]
    assert "--time is " in run(*both, code=2).stderr
    error = record("show", "3", "--store", "none.db", code=2)["error"]
    assert error["kind"] == "FileError"
    assert not Path("none.db").exists()
    assert "age is '2 years'" in run("forget", "--older-than", "2 years", code=2).stderr


def test_one_bad_log_costs_itself(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cut = (folder / "night0.csv").read_text()[:-40]
    for name, text in (("cut.csv", cut), ("night1.csv", (folder / "night1.csv").read_text())):
        lines = text.replace("t_s,", "time,").splitlines()
        rows = [line for line in lines if not line.startswith("#")]
        start = datetime(2026, 5, 3, 2) + timedelta(days=name == "night1.csv")
        for k, row in enumerate(rows[1:], start=1):
            stamp = start + timedelta(milliseconds=2 * (k - 1))
            rows[k] = f"{stamp.isoformat(timespec='milliseconds')},{row.partition(',')[2]}"
        Path(name).write_text("\n".join(rows))
    call = ["add", str(folder / "robot.yaml"), "cut.csv", "night1.csv", "--serial", "D3-0117"]
    found = record(*call, *FAST, "--zone", "Europe/Berlin", code=2)
    assert [item["log"] for item in found["lost"]] == ["cut.csv"]
    assert "truncated" in found["lost"][0]["message"]
    # the time is that of the file
    assert found["added"][0]["entry"]["time"] == "2026-05-04T00:00:00+00:00"


def test_a_fit_that_is_not_to_be_trusted(folder: Path, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).standard_normal(log().tau.shape)
    dd.write_recording(log().replace(tau=noise), tmp_path / "noise.csv")
    call = ["add", str(folder / "robot.yaml"), str(tmp_path / "noise.csv"), "--serial", "D3-0117"]
    place = ["--store", str(tmp_path / "history.db"), "--time", "2026-05-03T02:00:00Z"]
    added = record(*call, *FAST, *place, "--no-check", code=1)["added"][0]["entry"]
    assert added["grade"] == "not to be trusted"
    run(*call, *FAST, *place, "--no-check")  # told once


def test_the_project_names_the_store(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    robot = (folder / "robot.yaml").as_posix()
    head = f'[project]\nrobot = "{robot}"\nhistory = "plant.db"\n[reading]\nname = "mine"\n'
    Path("deltadyn.toml").write_text(f'{head}[history.add]\nmethod = "base"\nterms = "file"\n')
    night = str(folder / "night0.csv")
    added = record("add", ".", night, "--serial", "D3-0117", "--time", "2026-05-03T02:00:00Z")
    assert added["history"] == "plant.db"
    assert added["added"][0]["entry"]["method"] == "base"
    assert record("refit", "D3-0117")["logs"] == ["mine"]  # read as [reading] says
    assert "[runs" not in Path("deltadyn.toml").read_text()
    Path("deltadyn.toml").write_text(f"{head}[history]\nplace = 3\n")
    told = run("list", code=2).stderr
    assert "option [history] place" in told
    assert "add, " in told
    Path("deltadyn.toml").write_text("[project]\nhistory = 3\n")
    assert "project.history is 3; allowed: a path or a URL" in run("list", code=2).stderr


@pytest.mark.full
def test_tables(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    with History(tmp_path / "history.db") as history:
        for number in range(2):
            history.add(entry(number, note='belt, "new"\nline', temperature=20.0 + number))
        entries = history.entries()
    files = [
        *write_tables(entries, tmp_path / "t"),
        *write_tables(entries, tmp_path / "t", "parquet"),
    ]
    assert [path.name for path in files[:2]] == ["entries.csv", "parameters.csv"]
    for name, count in (("entries", 2), ("parameters", 6)):
        with (tmp_path / "t" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            text = list(csv.DictReader(file))
        binary = parquet.read_table(tmp_path / "t" / f"{name}.parquet").to_pylist()
        assert len(text) == len(binary) == count
        for row, other in zip(text, binary, strict=True):
            assert list(row) == list(other)
            for key, value in other.items():
                if isinstance(value, datetime):
                    assert datetime.fromisoformat(row[key]) == value.astimezone(UTC)
                elif isinstance(value, float):
                    assert math.isclose(float(row[key]), value, rel_tol=0.0)
                else:
                    assert row[key] == ("" if value is None else str(value))
    assert binary[0]["time"] == START
    assert [row["std"] for row in binary[:3]] == [0.01, 0.02, None]  # the log does not show Fc2
    with pytest.raises(dd.DeltadynError, match="format is 'xlsx'; allowed: one of 'csv'"):
        write_tables(entries, tmp_path, "xlsx")


@pytest.mark.full
def test_the_view_of_a_dashboard(place: str) -> None:
    with History(place) as history:
        for number in range(3):
            history.add(entry(number, temperature=20.5))
        rows = history._database.rows(
            "SELECT time, serial, parameter, value, std, unit, temperature FROM parameter_history "
            "WHERE parameter = 'Fc2' ORDER BY time"
        )
        (first, *_) = history._database.rows("SELECT * FROM entry_history ORDER BY time")
    assert [row["value"] for row in rows] == [3.1, 3.11, 3.12]
    assert {row["std"] for row in rows} == {None}  # not shown by these logs
    assert (rows[0]["serial"], rows[0]["unit"], rows[0]["temperature"]) == ("D3-0117", "N m", 20.5)
    assert len(record("list", "--store", place)["entries"]) == 3
    times = [row["time"] for row in rows]
    if isinstance(times[0], str):  # SQLite has no times of its own
        times = [datetime.fromisoformat(text) for text in times]
    assert times == [START + timedelta(days=day) for day in range(3)]
    assert first["robot"] == "sipro-d3-1200"
