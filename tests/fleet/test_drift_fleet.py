"""Fits day by day as a history, and what changed in it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.fleet.conftest import ROBOT, log_of

import deltadyn as dd
from deltadyn.commands.fleet import fleet as command
from deltadyn.errors import InputError
from deltadyn.fleet import drift_fleet, fleet_entries, identify_fleet
from deltadyn.history.store import History

DAYS, WORN = 21, 16


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A robot whose second axis is worn from 17 May on: short logs, with a temperature."""
    folder = tmp_path_factory.mktemp("days")
    (folder / "logs" / "D3-007").mkdir(parents=True)
    for day in range(DAYS):
        own = ROBOT.with_friction(coulomb=(3.0, 4.2 if day >= WORN else 3.0, 3.0))
        log = log_of(own, seed=day, seconds=6.0)
        warm = log.replace(temperature=np.full(len(log), 25.0 + 0.5 * (day % 5)))
        warm.save(folder / "logs" / "D3-007" / f"2026-05-{day + 1:02d}.parquet")
    ROBOT.save(folder / "robot.yaml")
    return folder


@pytest.mark.full
def test_a_worn_axis_is_told_with_its_day(days: Path) -> None:
    call = ["drift", str(days / "robot.yaml"), str(days / "logs"), "--band", "40", "--work"]
    call += [str(days / "work"), "--zone", "Europe/Berlin", "--store", str(days / "history.db")]
    run = CliRunner().invoke(command, [*call, "--out", str(days / "drift.html"), "--json"])
    assert run.exit_code == 1, run.output  # there is an alarm
    (record,) = json.loads(run.stdout)["robots"]
    assert record["serial"] == "D3-007"
    assert record["nights"] == DAYS
    first = record["alarms"][0]
    assert any(move["parameter"] == "Fc2" for move in first["moves"])
    assert first["date"].startswith(("2026-05-16", "2026-05-17", "2026-05-18"))
    assert (days / "drift.html").exists()
    assert f"{DAYS} fits of 1 robot" in run.stderr
    # with a time behind the alarm there is none; the store has each night once
    again = CliRunner().invoke(command, [*call, "--since", "2026-06-01"])
    assert again.exit_code == 0, again.output
    with History(days / "history.db") as kept:
        entries = kept.entries(serial="D3-007")
    assert len(entries) == DAYS
    assert entries[0].time == datetime(2026, 5, 1, 10, tzinfo=UTC)  # noon in summer time
    assert entries[3].temperature == pytest.approx(26.5)


@pytest.mark.full
def test_entries_hold_what_the_fits_say(days: Path) -> None:
    robot = dd.load_robot(days / "robot.yaml")
    found = identify_fleet(robot, days / "logs", band=40.0, period="week", work=days / "work")
    entries = fleet_entries(found, "Europe/Berlin")
    assert [fit.period for fit in found.fits] == [f"2026-W{week}" for week in (18, 19, 20, 21)]
    assert found.fits[0].days == tuple(date(2026, 5, day) for day in (1, 2, 3))
    for entry, fit in zip(entries, found.fits, strict=True):
        assert dict(zip(entry.names, entry.values, strict=True)) == fit.record["values"]
        assert entry.log == fit.record["fingerprint"]
    assert entries[0].time == datetime(2026, 5, 2, 10, tzinfo=UTC)
    assert len({entry.log for entry in entries}) == len(entries)


@pytest.mark.full
def test_wrong_calls(days: Path) -> None:
    for options, told in (
        ({"period": "all"}, "period is 'all'; allowed: day, week or month"),
        ({"zone": "Mars"}, "zone is 'Mars'"),
        ({"burn_in": 2}, "burn_in is 2"),
        ({"chunks": 2}, "option is 'chunks'"),
    ):
        with pytest.raises(InputError, match=told):
            drift_fleet(ROBOT, days / "logs", **options)
