"""Column maps: what the columns of foreign files are, and maps that are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.recording.recordings import DATA, NAMES, REC, REC4, assert_recording, robot_of, write

from deltadyn.errors import InputError
from deltadyn.recording import RecordingFileError, read_recording

FOREIGN = ["Clock", "Enc A", "Enc B", "Enc C", "Load A", "Load B", "Load C"]


def test_a_column_map_of_names(tmp_path: Path) -> None:
    data = np.column_stack([1e3 * REC.t, np.degrees(REC.q), REC.tau])
    path = write(tmp_path / "a.csv", FOREIGN, data)
    names = ["t_ms", "q1_deg", "q2 [deg]", "theta3_deg", "tau1_Nm", "tau2_Nm", "tau3_Nm"]
    columns = dict(zip(FOREIGN, names, strict=True))
    rec = read_recording(path, columns=columns)
    assert_recording(rec, rtol=1e-13, atol=1e-15)
    assert rec.provenance.columns[1].name == "Enc A"
    assert rec.provenance.columns[1].target == "q1"


def test_a_column_map_in_yaml_with_scale_sign_offset_and_side(tmp_path: Path) -> None:
    robot = robot_of("example-delta-4")
    counts = 2.0**20 / 360  # counts of the encoder per degree, 20 turns of the motor per turn
    motor = np.degrees(REC4.q) * robot.drives.gear_ratio
    raw = -(motor - 12.5) * counts
    data = np.column_stack([REC4.t, raw, -REC4.tau / robot.drives.gear_ratio])
    names = ["clock", "A", "B", "C", "D", "MA", "MB", "MC", "MD"]
    path = write(tmp_path / "a.csv", names, data)
    lines = ["columns:", "  clock: {quantity: t}"]
    for axis, letter in enumerate("ABCD", 1):
        lines.append(
            f"  {letter}: {{quantity: q, axis: {axis}, unit: deg, scale: {360 / 2**20!r}, "
            "sign: -1, offset: 12.5, side: motor}"
        )
        lines.append(f"  M{letter}: {{quantity: tau{axis}, unit: Nm, sign: -1, side: motor}}")
    (tmp_path / "map.yaml").write_text("\n".join(lines))
    rec = read_recording(path, robot, columns=tmp_path / "map.yaml")
    assert_recording(rec, REC4, rtol=1e-9, atol=1e-9)
    assert "q1: -1 * 0.000343323 * raw +12.5 deg, deg to rad, motor side to output side" in (
        rec.provenance.notes
    )


def test_numbers_that_yaml_takes_for_texts(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text("t_s: {quantity: t, scale: 1e-3}\n")
    rec = read_recording(write(tmp_path / "a.csv"), columns=tmp_path / "map.yaml")
    np.testing.assert_array_equal(rec.t, 1e-3 * REC.t)


def test_a_map_may_leave_columns_out_and_choose_between_two(tmp_path: Path) -> None:
    names = ["t_s", "q1_rad", "theta1_rad", *NAMES[2:], "x_m", "y_m", "z_m"]
    data = np.column_stack([DATA[:, 0], DATA[:, 1], 5 + DATA[:, 1], DATA[:, 2:], DATA[:, :3]])
    path = write(tmp_path / "a.csv", names, data)
    with pytest.raises(
        RecordingFileError,
        match=r"q1 could be 'q1_rad' or 'theta1_rad' \(columns 2 and 3\)",
    ):
        read_recording(path)
    assert_recording(read_recording(path, columns={"theta1_rad": None}))
    rec = read_recording(path, columns={"q1_rad": "q1_rad", "z_m": None})
    assert_recording(rec)
    assert rec.p is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"nope": "q1_rad"},
            r"names the column 'nope', which the file does",
        ),
        ({"q1_radd": "q1_rad"}, r"did you mean 'q1_rad'\?"),
        (
            {"q1_rad": "zzz"},
            r"column map entry 'q1_rad' is 'zzz'; allowed: a name such",
        ),
        ({"q1_rad": 3}, r"column map entry 'q1_rad' is 3; allowed: a name"),
        (
            {"q1_rad": {"quantity": "q"}},
            r"axis of column map entry 'q1_rad' is None; allowed",
        ),
        ({"q1_rad": {"quantity": "q", "axis": 7}}, r"axis of column map entry 'q1_rad' is 7"),
        ({"q1_rad": {"quantity": "mass"}}, r"quantity of column map entry 'q1_rad' is 'mass'"),
        (
            {"q1_rad": {"quantity": "q1", "unit": "furlong"}},
            r"unit of q1 is 'furlong'; allowed",
        ),
        (
            {"q1_rad": {"quantity": "q1", "sign": 2}},
            r"sign of column map .* is 2; allowed: 1",
        ),
        (
            {"q1_rad": {"quantity": "q1", "scale": 0}},
            r"scale of column map .* is 0; allowed",
        ),
        (
            {"q1_rad": {"quantity": "q1", "scale": "x"}},
            r"scale of .* is 'x'; allowed: a finite",
        ),
        (
            {"q1_rad": {"quantity": "q1", "side": "top"}},
            r"side of .* is 'top'; allowed: one",
        ),
        ({"q1_rad": {"quantity": "q1", "units": "deg"}}, r"key of column map entry .* is 'units'"),
        (
            {"q1_rad": {"quantity": "t", "axis": 1}},
            r"axis of column map .* is 1; allowed: none",
        ),
        ({0: "q1_rad"}, r"column map is 0; allowed: a column number from 1 to 7"),
        ({"q1_rad": "q1_rad", "q2_rad": "q1_rad"}, r"allowed: every channel once; column 'q1_rad'"),
        (3, r"columns is 3; allowed: a dictionary or the path of a YAML file"),
        ("absent.yaml", r"absent.yaml: column map cannot be read: No such file"),
    ],
)
def test_a_bad_column_map_is_refused(tmp_path: Path, columns: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_recording(write(tmp_path / "a.csv"), columns=columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: [", "column map is not YAML"), ("- q1", "column map holds list"), ("", "is empty")],
)
def test_a_bad_map_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "map.yaml").write_text(text)
    with pytest.raises(RecordingFileError, match=message):
        read_recording(write(tmp_path / "a.csv"), columns=tmp_path / "map.yaml")
