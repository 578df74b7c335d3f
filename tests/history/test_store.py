"""The store of a history: the same tests for an SQLite file and for PostgreSQL."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.history.samples import ROBOT, START, entry, fit, log

import deltadyn as dd
from deltadyn.errors import DeltadynError, FileError, InputError
from deltadyn.files import file_digest
from deltadyn.history import Entry, History
from deltadyn.history.tables import write_tables
from deltadyn.identification import FitOptions
from deltadyn.identification.fit import Fit
from deltadyn.robot.bodies import Geometry
from deltadyn.validation.result import Validation

FIELDS = [
    name for name in Entry.__dataclass_fields__ if name not in ("number", "time", "covariance")
]

OFFSET: dict[str, Any] = {"method": "base", "terms": ("offset",)}


@cache
def fit_with_terms() -> Fit:
    return dd.identify(ROBOT, log(1), unidentifiable="hold", **OFFSET)


@cache
def validation() -> Validation:
    return dd.validate(ROBOT, log(1))


def assert_same(found: Entry, given: Entry) -> None:
    """All fields but the number, arrays to the last bit."""
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(found, name), getattr(given, name), name)
    np.testing.assert_array_equal(found.covariance, given.covariance)
    assert found.time == given.time


@pytest.mark.full
def test_entries_come_back_whole(place: str) -> None:
    given = entry(0, temperature=21.5, zone="Asia/Tokyo", note="nach dem Ölwechsel\nzweite Zeile")
    with History(place) as history:
        added = history.add(given)
        assert added.new
        assert_same(added.entry, given)
    with History(place, create=False) as history:
        (found,) = history.entries()
        assert found.number == added.entry.number
        assert_same(found, given)
        assert_same(history.entry(added.entry.number or 0), given)
        with pytest.raises(InputError, match="entry is 99; allowed: the number of one in"):
            history.entry(99)


@pytest.mark.full
def test_a_fit_is_added_once_with_its_factors(place: str) -> None:
    with History(place) as history:
        added = history.add(fit(0), "D3-0117", time="2026-05-03T02:00:00", zone="Europe/Berlin")
        again = history.add(fit(0), "D3-0117", time="2026-05-03T02:00:00", zone="Europe/Berlin")
        assert (added.new, again.new) == (True, False)
        assert again.entry.number == added.entry.number
        assert str(again) == f"there already, as entry {added.entry.number}: nothing was added"
        found = added.entry
        assert (found.kind, found.method, found.model) == ("fit", "base", "exact")
        assert found.time == datetime(2026, 5, 3, 0, 0, tzinfo=UTC)
        assert found.log == fit(0).data[0].sha256
        assert found.code.startswith(f"deltadyn {dd.__version__} ")
        np.testing.assert_array_equal(found.values, fit(0).values)
        np.testing.assert_array_equal(found.covariance, fit(0).covariance)
        information = fit(0).information
        assert information is not None
        np.testing.assert_array_equal(history.merged("D3-0117").factors, information.factors)
        with pytest.raises(InputError, match=r"'other'; allowed: 'D3-0117' \(sipro-d3-1200\)"):
            history.add(fit(0), "other", time=START)
        assert len(history.entries()) == 1


@pytest.mark.full
def test_a_validation_is_added(place: str) -> None:
    found = validation()
    with History(place) as history:
        first = history.add(found, "D3-0117", time=START, note="after the belt")
        second = history.add(found, "D3-0117", time=START)
    assert (first.new, second.new) == (True, False)
    assert (first.entry.kind, first.entry.grade, first.entry.names) == ("validation", "good", ())
    np.testing.assert_array_equal(first.entry.residual, found.rms)
    assert first.entry.verdict == found.verdict


@pytest.mark.full
def test_many_entries_at_once_are_all_added_or_none(place: str) -> None:
    with History(place) as history:
        added = history.add_entries(entry(number) for number in range(20))
        assert all(item.new for item in added)
        assert_same(added[3].entry, entry(3))
        again = history.add_entries([entry(3), entry(20)])
        assert [item.new for item in again] == [False, True]
        assert again[0].entry.number == added[3].entry.number
        with pytest.raises(InputError, match="serial number is ''"):
            history.add_entries([entry(21), entry(22, serial="")])
        assert len(history.entries()) == 21


def test_fewer_blocks_of_time_are_the_same_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deltadyn.history.results.BLOCKS", 10)
    with History(tmp_path / "history.db") as history:
        history.add(fit(0), "D3-0117", time=START)
        found = history.refit("D3-0117", method="base")
    assert found.information is not None
    assert found.information.blocks <= 10
    np.testing.assert_allclose(found.values, fit(0).values, rtol=1e-9)
    assert (np.abs(np.log(found.std / fit(0).std)) < np.log(3)).all()  # from fewer blocks


def test_a_long_log_is_known_before_it_is_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deltadyn.recording.prepare.stream.HEAD", 1500)
    path = tmp_path / "long.csv"
    dd.write_recording(log(1), path)
    with History(tmp_path / "history.db") as history:
        call = {"time": START, "method": "base", "terms": "file"}
        added = history.add_log(ROBOT, path, "D3-0117", **call)  # type: ignore[arg-type]
        assert added.entry.log == file_digest(path)
        assert history.merged("D3-0117").samples == fit(1).information.samples  # type: ignore[union-attr]
        monkeypatch.setattr("deltadyn.history.logs.identify", None)
        assert not history.add_log(ROBOT, path, "D3-0117", **call).new  # type: ignore[arg-type]


@pytest.mark.full
def test_queries(place: str) -> None:
    with History(place) as history:
        for number in range(4):
            history.add(entry(number))
            history.add(entry(number, "D3-0118", kind="fit"))
        assert len(history.entries()) == 8
        times = [item.time for item in history.entries(serial="D3-0117")]
        assert times == [START + timedelta(days=day) for day in range(4)]
        assert {item.serial for item in history.entries(kind="fit")} == {"D3-0118"}
        assert history.entries(robot="another") == ()
        # the end is not in the period; a date begins at midnight of the zone
        days = history.entries(serial="D3-0117", start=times[1], end=times[3])
        assert [item.time for item in days] == times[1:3]
        assert len(history.entries(serial="D3-0117", start="2026-05-04", end="2026-05-05")) == 1
        tokyo = history.entries(serial="D3-0117", end="2026-05-03T10:59:00", zone="Asia/Tokyo")
        assert tokyo == ()
        members = history.robots()
        assert [(item.serial, item.entries) for item in members] == [
            ("D3-0117", 4),
            ("D3-0118", 4),
        ]
        assert (members[0].first, members[0].last) == (times[0], times[3])
        with pytest.raises(InputError, match="kind is 'fits'; allowed: one of fit"):
            history.entries(kind="fits")
        with pytest.raises(InputError, match=r"end is .*; allowed: after the start"):
            history.entries(start="2026-05-05", end="2026-05-04")


@pytest.mark.full
def test_a_period_is_refitted_without_its_logs(place: str) -> None:
    with History(place) as history:
        for number in range(3):
            history.add(fit(number), "D3-0117", time=START + timedelta(days=number))
        # another entry of the same log: its samples count once
        history.add(replace(fit(0), method="robust"), "D3-0117", time=START)
        assert len(history.entries()) == 4
        merged = history.merged("D3-0117")
        assert merged.recordings == ("night 0", "night 1", "night 2")
        refit = history.refit("D3-0117", START, START + timedelta(days=2), method="base")
        options = FitOptions(band=fit(0).band, terms="file", unidentifiable="hold")
        direct = dd.identify(ROBOT, [log(0), log(1)], "base", options)
        # each log has its own band: the values agree within their deviations
        assert refit.names == direct.names
        assert (np.abs(refit.values - direct.values) < refit.std).all()
        first, second = fit(0).information, fit(1).information
        assert first is not None
        assert second is not None
        exact = dd.identify(ROBOT, first.merge(second), "base", options)
        np.testing.assert_array_equal(refit.values, exact.values)
        np.testing.assert_array_equal(refit.covariance, exact.covariance)
        with pytest.raises(InputError, match=r"entries at .* is 0; allowed: at least one with"):
            history.merged("D3-0117", START + timedelta(days=9))


@pytest.mark.full
def test_factors_that_do_not_belong_together_are_refused(place: str) -> None:
    terms = fit_with_terms()
    assert isinstance(ROBOT.geometry, Geometry)
    longer = ROBOT.replace(geometry=replace(ROBOT.geometry, arm_length=(0.4, 0.4, 0.4)))
    with History(place) as history:
        history.add(fit(0), "D3-0117", time=START)
        history.add(terms, "D3-0117", time=START + timedelta(days=1))
        with pytest.raises(InputError, match="terms of the factors at entry"):
            history.refit("D3-0117")
        # alone they are fitted with the terms that they hold
        alone = history.refit("D3-0117", START + timedelta(days=1), method="base")
        assert alone.terms is not None
        assert alone.terms.titles == ("offset",)
        np.testing.assert_allclose(alone.values, terms.values, rtol=1e-9)
        # masses of a robot file may change over the years, its lengths may not
        history.add(fit(2), "D3-0118", time=START)
        heavier = replace(fit(3), given=ROBOT.with_payload(1.0))
        history.add(heavier, "D3-0118", time=START + timedelta(days=1))
        assert history.merged("D3-0118").recordings == ("night 2", "night 3")
        history.add(replace(fit(4), given=longer), "D3-0118", time=START + timedelta(days=2))
        with pytest.raises(InputError, match=r"robot file at entry .* same geometry"):
            history.merged("D3-0118")
        with pytest.raises(InputError, match="terms is 'offset'; allowed: 'auto'"):
            history.merged("D3-0118", terms="offset")


def test_a_log_keeps_factors_with_and_without_its_terms(tmp_path: Path) -> None:
    with History(tmp_path / "history.db") as history:
        for number in (1, 2):
            day = START + timedelta(days=number)
            added = history.add_log(ROBOT, log(number), "D3-0117", time=day, **OFFSET)
            assert added.new
            assert added.entry.kind == "log"
            assert added.entry.temperature == 20.0 + number
        # the terms of the two nights are of two searches
        found = history.merged("D3-0117")
        assert found.terms == ""
        assert found.recordings == ("night 1", "night 2")
        one = history.merged("D3-0117", end=START + timedelta(days=2))
        assert one.terms != ""
        plain = history.merged("D3-0117", end=START + timedelta(days=2), terms="file")
        assert plain.terms == ""
        assert plain.samples == one.samples == found.samples / 2
        again = dd.identify(ROBOT, plain, "base", unidentifiable="hold")
        assert (np.abs(again.values - fit(1).values) < again.std).all()  # another band
        assert not history.add_log(ROBOT, log(1), "D3-0117", time=START, **OFFSET).new


@pytest.mark.full
def test_forget(place: str) -> None:
    with History(place) as history:
        for number in range(3):
            history.add(fit(number), "D3-0117", time=START + timedelta(days=number))
        gone = history.forget(START + timedelta(days=1), factors_only=True)
        assert (gone.entries, gone.factors) == (0, 1)
        assert len(history.entries()) == 3
        assert history.merged("D3-0117").recordings == ("night 1", "night 2")
        gone = history.forget(START + timedelta(days=2), serial="another")
        assert (gone.entries, gone.factors) == (0, 0)
        gone = history.forget(START + timedelta(days=2))
        assert (gone.entries, gone.factors) == (2, 1)
        (left,) = history.entries()
        assert left.time == START + timedelta(days=2)
        assert history.robots()[0].entries == 1


@pytest.mark.full
def test_a_backup_is_a_history(place: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with History(place) as history:
        history.add(fit(0), "D3-0117", time=START, note="first")
        history.add(entry(1, "D3-0118"))
        assert history.backup(copy) == copy
        history.add(entry(2, "D3-0118"))
        before = history.entries(end=START + timedelta(days=2))
    assert [item.name for item in tmp_path.glob("copy.db*")] == ["copy.db"]
    with History(copy, create=False) as restored:
        assert [item.number for item in restored.entries()] == [item.number for item in before]
        for found, given in zip(restored.entries(), before, strict=True):
            assert_same(found, given)
        np.testing.assert_array_equal(
            restored.refit("D3-0117", method="base").values, fit(0).values
        )
        assert restored.add(entry(3, "D3-0118")).new  # numbers go on behind those that are there


@pytest.mark.full
def test_wrong_calls(place: str) -> None:
    with History(place) as history:
        for serial in ("", " ", "a\nb", "x" * 201, "nul\0"):
            with pytest.raises(InputError, match="serial number is "):
                history.add(entry(serial=serial))
        with pytest.raises(InputError, match=r"note is .*; allowed: a text in UTF-8"):
            history.add(entry(note="\udce9"))
        with pytest.raises(InputError, match="zone is 'Mars/Base'; allowed: a name of the IANA"):
            history.add(entry(zone="Mars/Base"))
        with pytest.raises(InputError, match="result is 'str'; allowed: a Fit, a Validation"):
            history.add("fit", "D3-0117", time=START)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="time is None"):
            history.add(fit(0), "D3-0117")
        with pytest.raises(InputError, match="time at log 'night 0' is None; allowed: given"):
            history.add_log(ROBOT, log(0), "D3-0117")
        assert history.entries() == ()


@pytest.mark.full
def test_a_store_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'mysql://...'; allowed: the path of an SQLite file"):
        History("mysql://host/name")
    with pytest.raises(FileError, match="does not exist"):
        History(tmp_path / "none.db", create=False)
    with pytest.raises(FileError, match="its folder does not exist"):
        History(tmp_path / "none" / "history.db")
    with pytest.raises(FileError, match="is no file"):
        History(tmp_path)
    pytest.importorskip("sqlalchemy")
    with pytest.raises(FileError, match=r"postgresql\+psycopg://me:\*\*\*@127.0.0.1:9/x.*cannot"):
        History("postgresql+psycopg://me:secret@127.0.0.1:9/x")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sqlalchemy", None)
    with pytest.raises(ImportError, match=r"pip install 'deltadyn\[history\]'"):
        History("postgresql+psycopg://me@127.0.0.1/x")


def test_an_entry_is_corrected_and_the_old_one_stays_in_the_journal(place: str) -> None:
    with History(place) as history:
        first = history.add(entry(0, temperature=20.0, zone="Europe/Berlin")).entry
        assert first.number is not None
        number = first.number
        changed = history.correct(
            number, reason="the clock was off", time="2026-05-09T02:00:00", temperature=25.0
        )
        assert changed.time == datetime(2026, 5, 9, 0, 0, tzinfo=UTC)  # local in its zone
        (found,) = history.entries()
        assert found.as_dict() == changed.as_dict()
        np.testing.assert_array_equal(found.values, first.values)
        history.correct(number, reason="wrong cell", serial="D3-0118", note="moved")
        (moved,) = history.entries(serial="D3-0118")
        assert (moved.number, moved.note) == (number, "moved")
        assert history.entries(serial="D3-0117") == ()
        one, two = history.journal(number)
        assert (one.act, one.reason, one.entry) == ("correct", "the clock was off", number)
        assert one.before == json.loads(json.dumps(first.as_dict()))
        assert two.before["temperature_degC"] == 25.0
        assert "wrong cell" in two.line
        assert json.loads(json.dumps(two.as_dict()))["before"]["serial"] == "D3-0117"
    with History(place) as again:  # it was committed
        assert len(again.journal()) == 2


def test_a_removed_entry_is_in_no_answer_but_the_journal(place: str, tmp_path: Path) -> None:
    with History(place) as history:
        numbers = [history.add(fit(k), "D3-0117", time=START + timedelta(days=k)).entry.number
                   for k in (0, 1)]  # fmt: skip
        assert numbers[0] is not None
        whole = history.merged("D3-0117")
        gone = history.remove(numbers[0], reason="the brake was on")
        left = history.merged("D3-0117")
        assert (len(whole.recordings), len(left.recordings)) == (2, 1)
        assert [item.number for item in history.entries()] == [numbers[1]]
        (row,) = history.journal()
        assert (row.act, row.entry, row.reason) == ("remove", numbers[0], "the brake was on")
        assert row.before["parameters"] == json.loads(json.dumps(gone.as_dict()["parameters"]))
        files = write_tables(history.entries(), tmp_path)
        lines = files[0].read_text().splitlines()
        assert len(lines) == 2
        added = history.add(fit(0), "D3-0117", time=START)  # it may be added again
        assert added.new
        assert added.notes == (
            f"entry {numbers[0]} of this log was removed on {row.time:%Y-%m-%d}: the brake was on",
        )
        copy = history.backup(tmp_path / "copy.db")
    with History(copy) as found:
        assert [item.reason for item in found.journal()] == ["the brake was on"]


def test_entries_of_one_log_move_together(place: str) -> None:
    with History(place) as history:
        first = history.add(entry(0)).entry.number
        second = history.add(entry(0, method="l1")).entry.number
        other = history.add(entry(1)).entry.number
        assert first is not None
        history.correct(first, reason="wrong cell", serial="B")
        assert [item.number for item in history.entries(serial="B")] == [first, second]
        assert [item.number for item in history.entries(serial="D3-0117")] == [other]
        assert sorted(item.entry for item in history.journal()) == [first, second]


def test_the_same_log_with_another_time_or_payload_is_told(place: str) -> None:
    with History(place) as history:
        history.add(entry(0, payload=1.5, temperature=20.0))
        same = history.add(entry(0, payload=1.5, temperature=20.0))
        assert (same.new, same.notes) == (False, ())
        later = START + timedelta(days=3)
        again = history.add(entry(0, payload=2.0, time=later, temperature=20.0))
        assert not again.new
        assert again.entry.payload == 1.5
        assert any(text.startswith("the entry's time is") for text in again.notes)
        assert "the entry's payload is 1.5 kg, not 2.0 kg as given now" in again.notes
        assert "the entry's payload" in str(again)


def test_wrong_corrections_are_refused_and_change_nothing(place: str) -> None:
    with History(place) as history:
        number = history.add(entry(0)).entry.number
        assert number is not None
        calls: list[tuple[dict[str, Any], str]] = [
            ({"reason": "", "note": "x"}, "reason"),
            ({"reason": "a\nb", "note": "x"}, "reason"),
            ({"reason": "x" * 501, "note": "x"}, "reason"),
            ({"reason": "why"}, "at least one of"),
            ({"reason": "why", "serial": "D3-0117"}, "other than now"),
            ({"reason": "why", "serial": ""}, "serial"),
            ({"reason": "why", "zone": "Mars/Base"}, "zone"),
            ({"reason": "why", "time": "yesterday"}, "time"),
            ({"reason": "why", "temperature": float("nan")}, "temperature"),
        ]
        for keywords, told in calls:
            with pytest.raises(DeltadynError, match=told):
                history.correct(number, **keywords)
        for act in (history.correct, history.remove):
            with pytest.raises(InputError, match="entry is 99"):
                act(99, reason="why")
        assert history.journal() == ()
        assert len(history.entries()) == 1


def test_cells_that_a_spreadsheet_would_run_are_quoted(tmp_path: Path) -> None:
    texts = ("=1+1", "+49 30", "-note", "@me", "  =A1", "plain", "a=b", "")
    items = [entry(k, note=text, serial=text.strip() or "s") for k, text in enumerate(texts)]
    files = write_tables(items, tmp_path)
    with files[0].open(newline="") as file:
        notes = [row["note"] for row in csv.DictReader(file)]
    assert notes == ["'=1+1", "'+49 30", "'-note", "'@me", "'  =A1", "plain", "a=b", ""]
    negative = entry(0, values=np.array([-1.3, 3.0, 3.1]))
    with write_tables([negative], tmp_path)[1].open(newline="") as file:
        assert next(csv.DictReader(file))["value"] == "-1.3"
