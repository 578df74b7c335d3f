"""Logs that are cut and repaired as they are read: rows by time, short holes, other clocks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.errors import InputError, RecordingFileError
from deltadyn.recording import ReadOptions, Recording, iter_recording, read_recording
from deltadyn.recording.prepare.stream import Streamed

ROWS = 1000


def log() -> Recording:
    """One second at 1 kHz, with smooth channels."""
    t = np.arange(ROWS) / 1000
    q = 0.4 + 0.1 * np.sin(9 * t[:, None] + np.arange(3))
    return Recording(t=t, q=q, tau=5 * np.cos(7 * t[:, None] + np.arange(3)))


def file_with(path: Path, holes: dict[int, int]) -> Path:
    """The log as CSV, with cells of tau2 missing: `holes` are first rows and how many."""
    tau = log().tau.copy()
    for row, count in holes.items():
        tau[row : row + count, 1] = np.nan
    log().replace(tau=tau).save(path)
    return path


def test_rows_are_cut_by_their_time(tmp_path: Path) -> None:
    path = file_with(tmp_path / "log.csv", {})
    found = read_recording(path, start=0.2, stop=0.8, exclude=[(0.4, 0.5), (0.7, 0.71)])
    wanted = log().t
    wanted = wanted[(wanted >= 0.2) & (wanted < 0.8)]
    wanted = wanted[(wanted < 0.4) | (wanted >= 0.5)]
    wanted = wanted[(wanted < 0.7) | (wanted >= 0.71)]
    np.testing.assert_array_equal(found.t, wanted)
    assert found.provenance.edits == (
        "kept: t from 0.2 s to 0.8 s, 600 rows",
        "left out: t from 0.4 s to 0.5 s, 100 rows",
        "left out: t from 0.7 s to 0.71 s, 10 rows",
    )
    pieces = list(iter_recording(path, start=0.2, stop=0.8, exclude=[(0.4, 0.5)], rows=70))
    joined = np.concatenate([piece.q for piece in pieces])
    whole = read_recording(path, start=0.2, stop=0.8, exclude=[(0.4, 0.5)])
    np.testing.assert_array_equal(joined, whole.q)


@pytest.mark.parametrize("rows", [7, 64, 100, 500, 5000])
def test_short_holes_are_filled_also_between_pieces(tmp_path: Path, rows: int) -> None:
    path = file_with(tmp_path / "log.csv", {62: 4, 98: 5, 497: 5, 700: 1})
    whole = read_recording(path, repair=["nan"])
    assert np.isfinite(whole.tau).all()
    np.testing.assert_allclose(whole.tau, log().tau, atol=2e-3)
    assert "15 samples" in whole.provenance.repairs[0]
    pieces = list(iter_recording(path, repair="nan", rows=rows))
    np.testing.assert_array_equal(np.concatenate([piece.t for piece in pieces]), whole.t)
    np.testing.assert_allclose(
        np.concatenate([piece.tau for piece in pieces]), whole.tau, rtol=0, atol=1e-12
    )


def test_missing_rows_are_filled_between_pieces(tmp_path: Path) -> None:
    keep = np.setdiff1d(np.arange(ROWS), [70, 71, 139, 140, 141])
    log().take(keep, "x").save(tmp_path / "log.csv")
    whole = read_recording(tmp_path / "log.csv", repair=["gap"])
    np.testing.assert_allclose(whole.t, log().t, atol=1e-12)
    pieces = list(iter_recording(tmp_path / "log.csv", repair=["gap"], rows=70))
    np.testing.assert_allclose(np.concatenate([p.q for p in pieces]), whole.q, atol=1e-12)


def test_a_long_hole_stays_and_the_message_names_the_ways_out(tmp_path: Path) -> None:
    path = file_with(tmp_path / "log.csv", {300: 40})
    found = read_recording(path, repair=["nan"])
    assert np.isnan(found.tau).sum() == 40
    robot = dd.load_robot("example-delta")
    with pytest.raises(InputError, match=r"row 300 \(t 0\.3 s\).*repair='nan'.*start, stop or ex"):
        dd.validate(robot, found)
    assert np.isfinite(read_recording(path, exclude=[(0.3, 0.34)]).tau).all()


def test_what_was_done_is_in_the_data_of_a_fit(tmp_path: Path) -> None:
    from deltadyn.recording.recording import DataSource

    path = file_with(tmp_path / "log.csv", {500: 2})
    options = ReadOptions(start=0.1, repair=("nan",))
    source = DataSource.of(read_recording(path, options=options))
    assert source.edits[0] == "kept: t from 0.1 s, 900 rows"
    assert "interpolated at 2 samples" in source.edits[1]
    streamed = Streamed(dd.load_robot("example-delta"), path, options, rows=130).source
    assert any("interpolated at 2 samples" in text for text in streamed.edits)
    assert any(text.startswith("kept: t from 0.1 s") for text in streamed.edits)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"start": 0.5, "stop": 0.5}, "stop is 0.5; allowed: above start"),
        ({"start": "a"}, "start is 'a'; allowed: a time in s"),
        ({"exclude": [(2, 1)]}, "exclude is"),
        ({"exclude": [1]}, "exclude is"),
        ({"exclude": 3}, "exclude is 3"),
        ({"repair": ["jump"]}, "repair is 'jump'; allowed: one of nan, "),
        ({"repair": [3]}, "repair is 3"),
        ({"start": 7.0}, "no row in the times that are wanted .*times of the log, 0 to 0.999 s"),
    ],
)
def test_wrong_choices_are_refused(tmp_path: Path, options: dict[str, Any], told: str) -> None:
    path = file_with(tmp_path / "log.csv", {})
    with pytest.raises(InputError, match=told):
        read_recording(path, **options)
    with pytest.raises(InputError, match=told):
        list(iter_recording(path, rows=90, **options))


def test_a_log_in_pieces_is_not_sorted(tmp_path: Path) -> None:
    path = file_with(tmp_path / "log.csv", {})
    with pytest.raises(InputError, match="repair is 'duplicate time'; allowed: not finite or gap"):
        list(iter_recording(path, repair=["duplicate-time"]))


def test_excerpts_do_not_pass_by_the_cut(tmp_path: Path) -> None:
    path = file_with(tmp_path / "log.csv", {})
    robot = dd.load_robot("example-delta")
    options = ReadOptions(stop=0.5)
    found = Streamed(robot, path, replace(options), rows=100)
    assert found.head.t[-1] < 0.5
    with pytest.raises(RecordingFileError, match="no row in the times"):
        Streamed(robot, path, ReadOptions(start=2.0))
