"""Every reader on files that the tests write: formats, units, column maps, conventions."""

from __future__ import annotations

import dataclasses
import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.recording.recordings import (
    DATA,
    NAMES,
    REC,
    REC4,
    assert_recording,
    close,
    robot_of,
    write,
)

from deltadyn.errors import InputError, UnknownNameError
from deltadyn.recording import ReadOptions, RecordingFileError, iter_recording, read_recording
from deltadyn.recording.columns import Column, recognised
from deltadyn.robot import Robot

# Headers.

HEADERS = {
    "t_s": "t s",
    "t_ms": "t ms",
    "Time [us]": "t us",
    "time": "t s?",
    "Zeit / ms": "t ms",
    "timestamp (s)": "t s",
    "q1_rad": "q1 rad",
    "q1 [deg]": "q1 deg",
    "q1": "q1 rad?",
    "theta1_deg": "q1 deg",
    "θ2 [°]": "q2 deg",
    "q_deg[3]": "q3 deg",
    "psi_rad": "q4 rad",
    "q4_rad": "q4 rad",
    "psi [deg]": "q4 deg",
    "ActPos 2 (deg)": "q2 deg",
    "Axis 1.ActPos [rev]": "q1 rev",
    "MAIN.fbRobot.stAxis1.ActPos": "q1 rad?",
    "joint_2.position": "q2 rad?",
    "joint_2/effort": "tau2 Nm?",
    "tau1_Nm": "tau1 Nm",
    "tau1_mNm": "tau1 mNm",
    "Torque 1 (Nm)": "tau1 Nm",
    "Torque 3 [N·m]": "tau3 Nm",
    "Torque 3 [N m]": "tau3 Nm",
    "Drehmoment 2 [Ncm]": "tau2 Ncm",
    "Axis1.ActTorque [%]": "tau1 percent",
    "torque_2 [‰]": "tau2 permille",
    "tau_psi_Nm": "tau4 Nm",
    "i1_A": "current1 A",
    "Current 2 [mA]": "current2 mA",
    "q1_command_rad": "q1_command rad",
    "q_cmd1 [deg]": "q1_command deg",
    "SetPos 3 [deg]": "q3_command deg",
    "tau1_command_Nm": "tau1_command Nm",
    "TorqueSetpoint 2 [Nm]": "tau2_command Nm",
    "qd1_rad_s": "qd1 rad/s",
    "Velocity 2 [deg/s]": "qd2 deg/s",
    "ActVelo1 (°/s)": "qd1 deg/s",
    "Speed 3 [1/min]": "qd3 rpm",
    "qdd2_rad_s2": "qdd2 rad/s^2",
    "acceleration_1 [deg/s²]": "qdd1 deg/s^2",
    "x_m": "x m",
    "TCP y [mm]": "y mm",
    "z_mm": "z mm",
    "platform_psi_deg": "platform_psi deg",
    "payload_kg": "payload kg",
    "temperature_degC": "temperature degC",
    "Temp [K]": "temperature K",
}
UNKNOWN = (
    "q5_rad",
    "q1_error_rad",
    "following error 1",
    "torque limit 1",
    "tau1_filtered",
    "status",
    "",
    "q",
    "tau",
    "time 1",
    "velocity command 1",
    "q1_rad_s",
    "temperature 2",
    "xyz",
    "index",
)


@pytest.mark.parametrize("header", HEADERS)
def test_headers_are_understood(header: str) -> None:
    use = recognised(Column(header), 0, "file")
    assert use is not None
    assert f"{use.target} {use.unit}{'?' if use.assumed else ''}" == HEADERS[header]


@pytest.mark.parametrize("header", UNKNOWN)
def test_headers_that_say_something_else_are_left_alone(header: str) -> None:
    assert recognised(Column(header), 0, "file") is None


# CSV.


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " ", "    "])
def test_separators(tmp_path: Path, separator: str) -> None:
    assert_recording(read_recording(write(tmp_path / "a.csv", separator=separator)))


@pytest.mark.parametrize("separator", [";", "\t", "|", "  "])
def test_decimal_comma(tmp_path: Path, separator: str) -> None:
    path = write(tmp_path / "a.csv", separator=separator, decimal=",")
    rec = read_recording(path)
    assert_recording(rec)
    assert "decimal mark ','" in rec.provenance.notes[0]


def test_aligned_columns_with_blanks_in_the_names(tmp_path: Path) -> None:
    names = ["t [s]", "Pos 1 (rad)", "Pos 2 (rad)", "Pos 3 (rad)"]
    names += [f"Torque {i} (Nm)" for i in (1, 2, 3)]
    lines = ["   ".join(f"{name:>24}" for name in names)]
    lines += ["   ".join(f"{float(x)!r:>24}" for x in row) for row in DATA]
    path = tmp_path / "a.txt"
    path.write_text("\n".join(lines) + "\n")
    assert_recording(read_recording(path))


def test_comments_blank_lines_and_a_title(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", before="# made by a logger\nRun 12 of Tuesday\n\n% more\n")
    text = path.read_text().splitlines()
    text.insert(8, "# in the middle")
    text.insert(20, "")
    path.write_text("\n".join(text))  # no line end after the last row
    rec = read_recording(path)
    assert_recording(rec)
    assert any("line 2 before the header left out" in note for note in rec.provenance.notes)


def test_a_row_of_units_below_the_names(tmp_path: Path) -> None:
    names = ["Zeit", "Winkel 1", "Winkel 2", "Winkel 3", "Moment 1", "Moment 2", "Moment 3"]
    data = np.column_stack([1e3 * REC.t, np.degrees(REC.q), 100 * REC.tau])
    path = write(tmp_path / "a.csv", names, data, separator=";", decimal=",")
    lines = path.read_text().splitlines()
    lines.insert(1, "[ms];[°];[°];[°];[Ncm];[Ncm];[Ncm]")
    path.write_text("\n".join(lines) + "\n")
    assert_recording(read_recording(path), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    names = ["t_s", "q1 [°]", "q2 [°]", "q3 [°]", *NAMES[4:]]
    data = np.column_stack([REC.t, np.degrees(REC.q), REC.tau])
    path = write(tmp_path / "a.csv", names, data, encoding=encoding)
    assert_recording(read_recording(path), rtol=1e-14, atol=1e-15)


def test_windows_line_ends_and_quotes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [f'"{name}"' for name in NAMES])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert_recording(read_recording(path))
    lines = path.read_text().splitlines()
    quoted = [",".join(f'"{cell}"' for cell in line.split(",")) for line in lines[1:]]
    path.write_text("\n".join([lines[0], *quoted]) + "\n")
    assert_recording(read_recording(path))


def test_gzip(tmp_path: Path) -> None:
    plain = write(tmp_path / "a.csv")
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    rec = read_recording(packed)
    assert_recording(rec)
    assert rec.provenance.sha256 is not None
    assert rec.provenance.sha256 != read_recording(plain).provenance.sha256


def test_units_are_converted(tmp_path: Path) -> None:
    names = ["t_ms", "q1_deg", "q2 [mrad]", "q3 [rev]", "tau1_mNm", "tau2_Ncm", "tau3 [kNm]"]
    scale = [1e3, 180 / math.pi, 1e3, 1 / (2 * math.pi), 1e3, 1e2, 1e-3]
    path = write(tmp_path / "a.csv", names, DATA * scale)
    rec = read_recording(path)
    assert_recording(rec, rtol=1e-13, atol=1e-16)
    notes = rec.provenance.notes
    assert "q1: deg to rad" in notes
    assert "t: ms to s" in notes


def test_milliseconds_give_the_nearest_float(tmp_path: Path) -> None:
    data = DATA.copy()
    data[:, 0] = np.arange(len(data))
    rec = read_recording(write(tmp_path / "a.csv", ["t_ms", *NAMES[1:]], data))
    assert rec.t.tolist() == [k / 1000 for k in range(len(data))]


def test_optional_channels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    extra = {
        "qd{}_deg_s": 180 / math.pi,
        "qdd{}_rad_s2": 1.0,
        "q{}_command_rad": 1.0,
        "tau{}_command_Nm": 1.0,
        "current{}_mA": 1e3,
    }
    names, data = list(NAMES), [DATA]
    values = {}
    for name, scale in extra.items():
        values[name] = rng.standard_normal((len(REC), 3))
        names += [name.format(axis) for axis in (1, 2, 3)]
        data.append(values[name] * scale)
    names += ["x_mm", "y_mm", "z_mm", "Temp [K]", "payload_kg", "status word"]
    pose = rng.standard_normal((len(REC), 3))
    data += [1e3 * pose, np.full((len(REC), 1), 300.15), np.full((len(REC), 1), 2.5)]
    data.append(np.full((len(REC), 1), 4711.0))
    rec = read_recording(write(tmp_path / "a.csv", names, np.column_stack(data)))
    fields = ("qd", "qdd", "q_command", "tau_command", "current")
    for field, wanted in zip(fields, values.values(), strict=True):
        close(getattr(rec, field), wanted, rtol=1e-14)
    close(rec.p, pose, rtol=1e-14)
    close(rec.temperature, 27.0)
    assert rec.payload == 2.5
    assert rec.provenance.ignored == ("status word",)


def test_a_quantity_with_a_missing_axis_is_left_out_and_listed(tmp_path: Path) -> None:
    names = [*NAMES, "qd1_rad_s", "qd2_rad_s"]
    rec = read_recording(write(tmp_path / "a.csv", names, np.column_stack([DATA, DATA[:, :2]])))
    assert rec.qd is None
    assert rec.provenance.ignored == ("qd1_rad_s", "qd2_rad_s")


def test_text_in_columns_that_are_not_used(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv")
    lines = path.read_text().splitlines()
    lines = [f"{lines[0]},mode", *(f"{line},state {k}" for k, line in enumerate(lines[1:]))]
    path.write_text("\n".join(lines) + "\n")
    assert_recording(read_recording(path))


def test_a_separator_at_the_end_of_every_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", separator=";")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *(f"{line};" for line in lines[1:])]) + "\n")
    assert_recording(read_recording(path))
    path.write_text("\n".join(f"{line};" for line in lines) + "\n")
    assert_recording(read_recording(path))


@pytest.mark.parametrize(
    "stamp",
    ["2024-05-01T12:00:0{}.{:03d}", "2024-05-01 12:00:0{}.{:03d}", "01.05.2024 12:00:0{},{:03d}"],
)
def test_time_stamps(tmp_path: Path, stamp: str) -> None:
    path = write(tmp_path / "a.csv", ["time", *NAMES[1:]], separator=";")
    lines = path.read_text().splitlines()
    rows = [line.split(";", 1)[1] for line in lines[1:]]
    stamped = [f"{stamp.format(*divmod(950 + k, 1000))};{row}" for k, row in enumerate(rows)]
    path.write_text("\n".join([lines[0], *stamped]) + "\n")
    rec = read_recording(path)
    assert_recording(rec, rtol=1e-13, atol=1e-15)
    assert "time stamps converted to seconds since the first row" in rec.provenance.notes
    assert rec.provenance.start == "2024-05-01T12:00:00.950000"


def test_numbers_with_a_sign_and_missing_cells(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv")
    lines = path.read_text().splitlines()
    lines[3] = "+0.002,+1.0,NaN,,1e-3,-2D+1,null"
    path.write_text("\n".join(lines) + "\n")
    rec = read_recording(path)
    np.testing.assert_array_equal(rec.q[2], [1.0, np.nan, np.nan])
    np.testing.assert_array_equal(rec.tau[2], [1e-3, -20.0, np.nan])
    assert np.isfinite(np.delete(rec.tau, 2, axis=0)).all()


def test_a_file_without_a_header_needs_a_map_by_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv")
    path.write_text("\n".join(path.read_text().splitlines()[1:]))
    with pytest.raises(RecordingFileError, match=r"t, q1, q2, q3, tau1.* have no column; found"):
        read_recording(path)
    rec = read_recording(path, columns=dict(enumerate(NAMES, 1)))
    assert_recording(rec)


def test_a_file_without_time_needs_a_sample_time(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", NAMES[1:], DATA[:, 1:])
    with pytest.raises(RecordingFileError, match="t has no column; found: 'q1_rad'"):
        read_recording(path)
    assert_recording(read_recording(path, sample_time=1e-3), rtol=1e-14, atol=1e-16)
    parts = list(iter_recording(path, sample_time=1e-3, rows=25))
    close(np.concatenate([part.t for part in parts]), REC.t, atol=1e-16)


def test_name_and_payload_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "run7.csv")
    assert read_recording(path).name == "run7"
    rec = read_recording(path, name="warm", payload=2.0)
    assert (rec.name, rec.payload) == ("warm", 2.0)


def test_four_axes(tmp_path: Path) -> None:
    names = ["t_s", "q1_rad", "q2_rad", "q3_rad", "psi_rad", *(f"tau{i}_Nm" for i in (1, 2, 3, 4))]
    path = write(tmp_path / "a.csv", names, np.column_stack([REC4.t, REC4.q, REC4.tau]))
    assert_recording(read_recording(path), REC4)
    assert_recording(read_recording(path, robot_of("example-delta-4")), REC4)
    three = read_recording(path, robot_of("sipro-d3-1200"))
    assert three.dof == 3
    assert three.provenance.ignored == ("psi_rad", "tau4_Nm")


def test_a_pose_without_its_angle_takes_psi_from_the_axis(tmp_path: Path) -> None:
    names = ["t_s", "q1_rad", "q2_rad", "q3_rad", "psi_rad", *(f"tau{i}_Nm" for i in (1, 2, 3, 4))]
    data = np.column_stack([REC4.t, REC4.q, REC4.tau, REC4.q[:, :3]])
    rec = read_recording(write(tmp_path / "a.csv", [*names, "x_m", "y_m", "z_m"], data))
    assert rec.p is not None
    np.testing.assert_array_equal(rec.p[:, 3], REC4.q[:, 3])
    assert "platform_psi: taken from q4" in rec.provenance.notes


# The robot: its controller, its gears.


def turned_robot() -> Robot:
    robot = robot_of("sipro-d3-1200")
    controller = dataclasses.replace(robot.controller, sign=(-1, 1, -1), offset=(0.1, -0.2, 1.5))
    drives = dataclasses.replace(robot.drives, gear_ratio=(20.0, 25.0, 30.0))
    return robot.replace(controller=controller, drives=drives)


def test_the_controllers_convention(tmp_path: Path) -> None:
    robot = turned_robot()
    sign = np.asarray(robot.controller.sign)
    names = [*NAMES, "qd1_rad_s", "qd2_rad_s", "qd3_rad_s"]
    names += [f"q{i}_command_rad" for i in (1, 2, 3)]
    own = robot.to_controller(REC.q)
    data = np.column_stack([REC.t, own, REC.tau * sign, REC.q * sign, own])
    path = write(tmp_path / "a.csv", names, data)
    rec = read_recording(path, robot)
    assert_recording(rec, rtol=1e-12, atol=1e-14)
    close(rec.qd, REC.q, rtol=1e-14)
    close(rec.q_command, REC.q, rtol=1e-12, atol=1e-14)
    assert rec.robot == "sipro-d3-1200"
    assert any("controller's angles and torques" in note for note in rec.provenance.notes)
    np.testing.assert_array_equal(read_recording(path).q, own)  # no robot: as it is
    np.testing.assert_array_equal(read_recording(path, robot, convention="deltadyn").q, own)


def test_torques_from_currents(tmp_path: Path) -> None:
    robot = turned_robot()
    gear, sign = np.asarray(robot.drives.gear_ratio), np.asarray(robot.controller.sign)
    constant = np.array([0.5, 0.6, 0.7])
    current = REC.tau / (gear * constant * sign)
    data = np.column_stack([REC.t, robot.to_controller(REC.q), current])
    path = write(tmp_path / "a.csv", [*NAMES[:4], "i1_A", "i2_A", "i3_A"], data)
    rec = read_recording(path, robot, torque_constant=constant)
    assert_recording(rec, rtol=1e-12, atol=1e-14)
    assert rec.current is not None
    np.testing.assert_array_equal(rec.current, current)
    mapped = {
        f"i{axis}_A": {"quantity": "current", "axis": axis, "torque_constant": float(kt)}
        for axis, kt in enumerate(constant, 1)
    }
    assert_recording(read_recording(path, robot, columns=mapped), rtol=1e-12, atol=1e-14)
    with pytest.raises(InputError, match="torque_constant is None; allowed: N m/A at the motor"):
        read_recording(path, robot)
    with pytest.raises(InputError, match="robot is None; allowed: a robot, whose gear ratio"):
        read_recording(path, torque_constant=0.5)


def test_torques_win_over_currents(tmp_path: Path) -> None:
    data = np.column_stack([DATA, REC.tau])
    path = write(tmp_path / "a.csv", [*NAMES, "i1_A", "i2_A", "i3_A"], data)
    rec = read_recording(path)
    assert_recording(rec)
    assert rec.current is not None


def test_torques_of_the_motor_and_in_percent_of_the_rated_torque(tmp_path: Path) -> None:
    robot = turned_robot()
    gear, sign = np.asarray(robot.drives.gear_ratio), np.asarray(robot.controller.sign)
    q = robot.to_controller(REC.q)
    motor = REC.tau * sign / gear
    path = write(tmp_path / "a.csv", NAMES, np.column_stack([REC.t, q, motor]))
    rec = read_recording(path, robot, torque_side="motor")
    assert_recording(rec, rtol=1e-12, atol=1e-14)
    assert "tau1: motor side to output side" in rec.provenance.notes
    names = [*NAMES[:4], "Torque 1 [%]", "Torque 2 [%]", "Torque 3 [‰]"]
    share = motor / 2.5 * [100, 100, 1000]
    path = write(tmp_path / "b.csv", names, np.column_stack([REC.t, q, share]))
    rec = read_recording(path, robot, torque_side="motor", rated_torque=2.5)
    assert_recording(rec, rtol=1e-12, atol=1e-14)
    with pytest.raises(InputError, match="rated_torque is None; allowed: N m, since column"):
        read_recording(path, robot)
    with pytest.raises(InputError, match="robot is None; allowed: a robot, whose gear ratio"):
        read_recording(path, torque_side="motor", rated_torque=2.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xls"}, r"format is 'xls'; allowed: one of 'csv', 'twincat'"),
        ({"torque_side": "left"}, r"torque_side is 'left'; allowed: one of 'output', 'motor'"),
        ({"convention": "ours"}, r"convention is 'ours'; allowed: one of 'controller'"),
        ({"bad_rows": "drop"}, r"bad_rows is 'drop'; allowed: one of 'raise', 'skip'"),
        ({"sample_time": 0.0}, r"sample_time is 0; allowed: above 0 s"),
        ({"decimal": "'"}, r"decimal is \"'\"; allowed: one of '\.', ','"),
        ({"robot": "sipro-d3-1200"}, r"robot is 'str'; allowed: a Robot, as load_robot gives it"),
        ({"rated_torque": [1.0, 2.0]}, r"rated_torque is \[1, 2\]; allowed: one number or 3"),
    ],
)
def test_a_bad_option_is_refused(tmp_path: Path, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_recording(write(tmp_path / "a.csv"), **options)
    with pytest.raises(InputError, match="rows is 0; allowed: a whole number of at least 1"):
        iter_recording(write(tmp_path / "a.csv"), rows=0)
    with pytest.raises(InputError, match="path is 7; allowed: the path of a recording"):
        read_recording(7)  # type: ignore[arg-type]


def test_options_are_an_object_or_keywords(tmp_path: Path) -> None:
    """With a keyword beside the object, the keyword counts."""
    path = write(tmp_path / "a.csv")
    options = ReadOptions(name="mine", payload=1.5)
    first, second = read_recording(path, None, options), read_recording(path, name="mine")
    assert (first.name, first.payload) == ("mine", 1.5)
    assert (second.name, second.payload) == ("mine", None)
    assert read_recording(path, options=options, name="other").name == "other"
    (piece,) = iter_recording(path, None, options, rows=10**6)
    assert (piece.name, piece.payload) == ("mine", 1.5)
    with pytest.raises(UnknownNameError, match=r"option is 'seperator'; allowed: one of 'columns'"):
        read_recording(path, seperator=";")
    with pytest.raises(InputError, match=r"options is 'dict'; allowed: ReadOptions"):
        read_recording(path, None, {"name": "mine"})  # type: ignore[arg-type]


def test_a_separator_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", separator="~")
    assert_recording(read_recording(path, separator="~"))


# Chunks.


@pytest.mark.parametrize("rows", [1, 7, 60, 1000])
def test_chunks_are_the_whole(tmp_path: Path, rows: int) -> None:
    path = write(tmp_path / "a.csv")
    parts = list(iter_recording(path, rows=rows))
    assert [len(part) for part in parts[:-1]] == [rows] * (len(parts) - 1)
    assert [part.provenance.first_row for part in parts] == list(range(0, 60, rows))
    np.testing.assert_array_equal(np.concatenate([part.q for part in parts]), REC.q)
    np.testing.assert_array_equal(np.concatenate([part.t for part in parts]), REC.t)


def test_a_payload_that_changes_is_refused(tmp_path: Path) -> None:
    data = np.column_stack([DATA, np.where(np.arange(60) < 40, 0.0, 1.5)])
    path = write(tmp_path / "a.csv", [*NAMES, "payload_kg"], data)
    with pytest.raises(
        RecordingFileError, match=r"payload changes from 0 to 1\.5 kg at data row 40; allowed: one"
    ):
        read_recording(path)
    assert read_recording(path, columns={"payload_kg": None}).payload is None
