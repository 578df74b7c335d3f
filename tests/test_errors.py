"""One error for damaged files: whatever the file is, it says where and what is wrong."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import deltadyn as dd
from deltadyn.errors import FileError, InputError, RecordingFileError, RobotError, RobotFileError
from deltadyn.identification.information import load_information
from deltadyn.motion.motion import read_motion
from deltadyn.recording import read_recording

ROBOT = dd.load_robot("sipro-d3-1200")

READERS: list[tuple[str, str, Callable[[Path], object]]] = [
    ("robot.yaml", "name: [1, 2", dd.load_robot),
    ("log.csv", "t_s,q1_rad\n0,1\n", read_recording),
    ("motion.csv", "t_s,q1_rad\n0,one\n", lambda path: read_motion(path, ROBOT)),
    ("information.npz", "no archive", load_information),
]


@pytest.mark.parametrize(("name", "text", "read"), READERS)
def test_every_reader_raises_the_same_error(
    tmp_path: Path, name: str, text: str, read: Callable[[Path], object]
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        read(path)
    assert caught.value.path == str(path)
    assert str(caught.value).startswith(str(path))
    assert caught.value.problem in str(caught.value)


def test_a_column_map_is_a_file_too(tmp_path: Path) -> None:
    log, columns = tmp_path / "log.csv", tmp_path / "columns.yaml"
    log.write_text("a,b\n0,1\n")
    columns.write_text("[1, 2]")
    with pytest.raises(FileError, match="column map holds list") as caught:
        read_recording(log, columns=columns)
    assert caught.value.path == str(columns)


def test_the_old_names_are_the_same_error() -> None:
    assert issubclass(RobotFileError, FileError)
    assert issubclass(RobotFileError, RobotError)
    assert issubclass(RecordingFileError, FileError)
    assert issubclass(FileError, InputError)


def test_the_error_has_its_fields_and_travels() -> None:
    error = FileError("q1", "x", "a number", path="log.csv", line=3, column="q1 [rad]")
    assert str(error) == "log.csv, line 3, column 'q1 [rad]': q1 is 'x'; allowed: a number"
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.path, again.line, again.column, again.problem) == (
        "log.csv",
        3,
        "q1 [rad]",
        "is 'x'",
    )
