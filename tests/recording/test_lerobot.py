"""LeRobot datasets that the tests write, in the layout of v3.0 and of v2.1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.recording.recordings import REC, Array, close, robot_of

from deltadyn.errors import InputError
from deltadyn.recording import (
    Recording,
    RecordingFileError,
    guess_columns,
    iter_recording,
    read_recording,
)

pyarrow: Any = pytest.importorskip("pyarrow")
parquet: Any = pytest.importorskip("pyarrow.parquet")

RATE = 1000
ROBOT = robot_of("sipro-d3-1200")
JOINTS = [f"joint_{i}.pos" for i in (1, 2, 3)]


def vectors(values: Array, fixed: bool) -> Any:
    kind = pyarrow.float32()
    if fixed:
        flat = pyarrow.array(values.ravel().astype(np.float32), kind)
        return pyarrow.FixedSizeListArray.from_arrays(flat, values.shape[1])
    return pyarrow.array(values.tolist(), pyarrow.list_(kind))


def table(rec: Recording, episode: int, *, fixed: bool = False, effort: bool = False) -> Any:
    """The frames of one episode."""
    count = len(rec)
    columns = {
        "observation.state": vectors(rec.q, fixed),
        "action": vectors(rec.q + 0.01, fixed),
        "timestamp": pyarrow.array((np.arange(count) / RATE).astype(np.float32)),
        "frame_index": pyarrow.array(np.arange(count)),
        "episode_index": pyarrow.array(np.full(count, episode)),
        "index": pyarrow.array(np.arange(count)),
        "task_index": pyarrow.array(np.zeros(count, dtype=np.int64)),
    }
    if effort:
        columns["observation.effort"] = vectors(rec.tau, fixed)
    return pyarrow.table(columns)


def dataset(
    root: Path, tables: list[Any], names: Any = JOINTS, *, version: str = "v3.0", fps: float = RATE
) -> Path:
    """A dataset with a file for each table."""
    vector = {"dtype": "float32", "shape": [3], "names": names}
    features = {"observation.state": vector, "action": vector}
    info = {"codebase_version": version, "fps": fps, "features": features}
    (root / "meta").mkdir(parents=True)
    (root / "meta" / "info.json").write_text(json.dumps(info), "utf-8")
    folder = root / "data" / "chunk-000"
    folder.mkdir(parents=True)
    for number, item in enumerate(tables):
        file = f"file-{number:03d}" if version == "v3.0" else f"episode_{number:06d}"
        parquet.write_table(item, folder / f"{file}.parquet", row_group_size=17)
    return root


def assert_frames(rec: Recording, wanted: Recording = REC) -> None:
    """Times without the rounding of the stamps, angles and commands in single precision."""
    np.testing.assert_array_equal(rec.t, np.arange(len(wanted)) / RATE)
    close(rec.q, wanted.q, rtol=1e-6)
    assert rec.q_command is not None
    close(rec.q_command, wanted.q + 0.01, rtol=1e-6)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize(
    "names",
    [
        JOINTS,
        {"motors": ["motor_0", "motor_1", "motor_2"]},
        {"axes": ["motor_1", "motor_2", "motor_3"]},
        ["dim"],
        None,
    ],
)
def test_states_and_actions(tmp_path: Path, names: Any, fixed: bool) -> None:
    path = dataset(tmp_path / "d", [table(REC, 0, fixed=fixed)], names)
    rec = read_recording(path, ROBOT)
    assert_frames(rec)
    assert not rec.has_torque
    assert rec.provenance.reader == "lerobot"
    assert rec.name == "d, episode 0"
    assert any("elements without names" in note for note in rec.provenance.notes) == (
        not names or names == ["dim"]
    )
    assert "index" in rec.provenance.ignored
    guess = guess_columns(path, ROBOT)
    assert guess.ok
    assert not guess.has_torque


def test_efforts_are_torques(tmp_path: Path) -> None:
    rec = read_recording(dataset(tmp_path / "d", [table(REC, 0, effort=True)]), ROBOT)
    close(rec.tau, REC.tau, rtol=1e-6)


def test_an_episode_is_chosen(tmp_path: Path) -> None:
    later = REC.replace(q=REC.q + 0.1)
    both = pyarrow.concat_tables([table(REC, 0), table(later, 1)])
    path = dataset(tmp_path / "d", [both, table(REC, 2)])
    message = r"episode is None; the dataset has 3; allowed: episode= one of 0 to 2"
    with pytest.raises(RecordingFileError, match=message):
        read_recording(path, ROBOT)
    with pytest.raises(RecordingFileError, match=r"episode is 3; the dataset has 3"):
        read_recording(path, ROBOT, episode=3)
    with pytest.raises(InputError, match="episode is -1; allowed: a whole number of at least 0"):
        read_recording(path, ROBOT, episode=-1)
    assert_frames(read_recording(path, ROBOT, episode=1), later)
    assert_frames(read_recording(path, ROBOT, episode=2))
    pieces = list(iter_recording(path, ROBOT, episode=1, rows=25))
    assert [len(piece) for piece in pieces] == [25, 25, 10]
    close(np.concatenate([piece.q for piece in pieces]), later.q, rtol=1e-6)


def test_files_of_version_2_and_a_file_alone(tmp_path: Path) -> None:
    path = dataset(tmp_path / "d", [table(REC, 0), table(REC, 1)], version="v2.1")
    assert_frames(read_recording(path, ROBOT, episode=1))
    assert_frames(read_recording(path / "data" / "chunk-000" / "episode_000001.parquet", ROBOT))
    alone = tmp_path / "alone.parquet"
    parquet.write_table(table(REC, 0), alone)
    rec = read_recording(alone, ROBOT)  # no metadata: no names, no frame rate
    close(rec.q, REC.q, rtol=1e-6)
    close(rec.t, REC.t, atol=1e-6)


def test_time_stamps_win_over_a_wrong_rate(tmp_path: Path) -> None:
    rec = read_recording(dataset(tmp_path / "d", [table(REC, 0)], fps=30), ROBOT)
    close(rec.t, REC.t, atol=1e-6)


def test_what_is_no_dataset(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(RecordingFileError, match=r"or of a LeRobot dataset \(no meta/info"):
        read_recording(tmp_path / "a")
    path = dataset(tmp_path / "b", [])
    with pytest.raises(RecordingFileError, match=r"has no data/\*/\*\.parquet"):
        read_recording(path)
    (path / "meta" / "info.json").write_text("{", "utf-8")
    with pytest.raises(RecordingFileError, match=r"info\.json: file cannot be read"):
        read_recording(path)
    bare = table(REC, 0).drop_columns(["timestamp"])
    with pytest.raises(RecordingFileError, match="has no timestamp"):
        read_recording(dataset(tmp_path / "c", [bare]))
    cut = dataset(tmp_path / "d", [table(REC, 0)]) / "data" / "chunk-000" / "file-000.parquet"
    cut.write_bytes(cut.read_bytes()[:400])
    with pytest.raises(RecordingFileError, match=r"file-000\.parquet: file cannot be read"):
        read_recording(tmp_path / "d")
