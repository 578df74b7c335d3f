"""What the columns of foreign files are taken for, and why: vendors, languages, units, clocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.recording.recordings import (
    DATA,
    NAMES,
    REC,
    Array,
    assert_recording,
    close,
    robot_of,
    write,
)

from deltadyn.errors import InputError
from deltadyn.recording import ColumnGuess, Recording, guess_columns, iter_recording, read_recording

ROBOT = robot_of("example-delta-4")  # with a gear
GEAR = np.asarray(ROBOT.drives.gear_ratio)


def shown(guess: ColumnGuess) -> dict[str, str]:
    """Every column: its channel and its unit, "?" where no unit was stated, the side."""
    out = {}
    for item in guess.columns:
        use = item.use
        if use is None:
            out[item.name] = "time" if item.is_time else "-"
            continue
        side = f" {use.side}" if use.side else ""
        out[item.name] = f"{use.target} {use.unit}{'?' if use.assumed else ''}{side}"
    return out


def file_of(path: Path, names: Sequence[str], **keywords: Any) -> Path:
    """Small numbers under these names, with times of a log first."""
    rows = np.random.default_rng(1).uniform(-0.4, 0.4, (40, len(names)))
    rows[:, 0] = np.arange(40) * 0.004
    return write(path, names, rows, separator=";", **keywords)


# Headers as the tools write them. A tuple is a name for each axis: # is its number.

VENDORS: dict[str, list[tuple[str, str]]] = {
    "TwinCAT symbols": [
        ("Time", "t s?"),
        ("MAIN.astAxis[#].NcToPlc.ActPos", "q# rad?"),
        ("MAIN.astAxis[#].NcToPlc.SetPos", "q#_command rad?"),
        ("MAIN.astAxis[#].NcToPlc.ActVelo", "qd# rad/s?"),
        ("MAIN.astAxis[#].NcToPlc.ActTorque", "tau# Nm?"),
        ("MAIN.astAxis[#].NcToPlc.PosDiff", "-"),
    ],
    "CODESYS SoftMotion": [
        ("Time", "t s?"),
        ("Device.Application.SM_Drive_#.fActPosition", "q# rad?"),
        ("Device.Application.SM_Drive_#.fSetPosition", "q#_command rad?"),
        ("Device.Application.SM_Drive_#.fActVelocity", "qd# rad/s?"),
        ("Device.Application.SM_Drive_#.fActTorque", "tau# Nm?"),
        ("Device.Application.SM_Drive_#.fActCurrent", "current# A?"),
    ],
    "B&R parameter identifiers": [
        ("Time [s]", "t s"),
        ("gAxis0#.PCTRL_S_ACT", "q# rad?"),
        ("gAxis0#.PCTRL_S_SET", "q#_command rad?"),
        ("gAxis0#.PCTRL_LAG_ERROR", "-"),
        ("gAxis0#.SCTRL_SPEED_ACT", "qd# rev/s"),
        ("gAxis0#.ICTRL_ISQ_ACT", "current# A"),
        ("gAxis0#.TORQUE_ACT", "tau# Nm"),
    ],
    "Siemens technology objects": [
        ("Time", "t s?"),
        ("PositioningAxis_#.ActualPosition", "q# rad?"),
        ("PositioningAxis_#.Position", "q#_command rad?"),  # the setpoint
        ("PositioningAxis_#.ActualVelocity", "qd# rad/s?"),
        ("PositioningAxis_#.StatusTorqueData.ActualTorque", "tau# Nm?"),
        ("PositioningAxis_#.StatusPositioning.FollowingError", "-"),
    ],
    "SINAMICS parameters": [
        ("Zeit [ms]", "t ms"),
        ("SERVO_0#.r2521[0]", "q# rad?"),
        ("SERVO_0#.r0063[0]", "qd# rpm"),
        ("SERVO_0#.r0080[0]", "tau# Nm"),
        ("SERVO_0#.r0078", "current# A"),
        ("SERVO_0#.r2563", "-"),
    ],
    "Rockwell axis tags": [
        ("Time", "t s?"),
        ("Axis_#.ActualPosition", "q# rad?"),
        ("Axis_#.CommandPosition", "q#_command rad?"),
        ("Axis_#.ActualVelocity", "qd# rad/s?"),
        ("Axis_#.TorqueFeedback", "tau# Nm?"),
        ("Axis_#.TorqueReference", "tau#_command Nm?"),
        ("Axis_#.PositionError", "-"),
    ],
    "KEBA": [
        ("Time [ms]", "t ms"),
        ("A#.ActPos [rad]", "q# rad"),
        ("A#.RefPos [rad]", "q#_command rad"),
        ("A#.nact [1/min]", "qd# rpm"),
        ("A#.isqact [A]", "current# A"),
        ("A#.mact [Nm]", "tau# Nm"),
    ],
    "Copley": [
        ("Time (ms)", "t ms"),
        ("Axis @ Actual Motor Position (rad)", "q# rad"),
        ("Axis @ Commanded Position (rad)", "q#_command rad"),
        ("Axis @ Actual Current (A)", "current# A"),
        ("Axis @ Following Error (counts)", "-"),
    ],
    "ROS, PlotJuggler": [
        ("__time", "t s?"),
        ("/joint_states/joint_#/position", "q# rad?"),
        ("/joint_states/joint_#/velocity", "qd# rad/s?"),
        ("/joint_states/joint_#/effort", "tau# Nm?"),
        ("/joint_states/header/seq", "-"),
    ],
    "ROS, from zero": [
        ("field.time", "t s?"),
        ("field.position0", "q1 rad?"),
        ("field.position1", "q2 rad?"),
        ("field.position2", "q3 rad?"),
        ("field.effort0", "tau1 Nm?"),
        ("field.effort1", "tau2 Nm?"),
        ("field.effort2", "tau3 Nm?"),
    ],
    "German": [
        ("Zeit [ms]", "t ms"),
        ("Achse#.ActPos [°]", "q# deg"),
        ("Lagesollwert Achse # [°]", "q#_command deg"),
        ("Drehzahlistwert # [U/min]", "qd# rpm"),
        ("Achse # Iststrom [A]", "current# A"),
        ("Momentenistwert Achse # [Nm]", "tau# Nm"),
        ("Schleppabstand Achse # [°]", "-"),
        ("Motortemperatur Achse # [°C]", "-"),
    ],
    "Italian": [
        ("Tempo [ms]", "t ms"),
        ("Asse # posizione reale [gradi]", "q# deg"),
        ("Asse # posizione comandata [gradi]", "q#_command deg"),
        ("Asse # velocità [giri/min]", "qd# rpm"),
        ("Asse # coppia motore [Nm]", "tau# Nm"),
        ("Asse # corrente [A]", "current# A"),
        ("Asse # errore di inseguimento [gradi]", "-"),
    ],
    "French": [
        ("Temps (s)", "t s"),
        ("Axe # position réelle [°]", "q# deg"),
        ("Axe # consigne de position [°]", "q#_command deg"),
        ("Axe # vitesse [tr/min]", "qd# rpm"),
        ("Axe # couple mesuré [N.m]", "tau# Nm"),
        ("Axe # courant [A]", "current# A"),
        ("Axe # erreur de poursuite [°]", "-"),
    ],
    "Spanish": [
        ("Tiempo [s]", "t s"),
        ("Eje # posición real [grados]", "q# deg"),
        ("Eje # consigna de posición [grados]", "q#_command deg"),
        ("Eje # velocidad [rpm]", "qd# rpm"),
        ("Eje # par motor [Nm]", "tau# Nm"),
        ("Eje # corriente [A]", "current# A"),
        ("Eje # error de seguimiento [grados]", "-"),
    ],
    "Chinese": [
        ("时间(ms)", "t ms"),
        ("轴#实际位置（度）", "q# deg"),
        ("轴#指令位置（度）", "q#_command deg"),
        ("轴#实际速度[r/min]", "qd# rpm"),
        ("轴#转矩[Nm]", "tau# Nm"),
        ("#轴电流(A)", "current# A"),
        ("轴#跟随误差（度）", "-"),
    ],
}


def numbered(columns: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Three columns where a name has # or, for letters, @."""
    out = {}
    for name, wanted in columns:
        for axis in (1, 2, 3) if "#" in name or "@" in name else (0,):
            key = name.replace("#", str(axis)).replace("@", "ABC"[axis - 1])
            out[key] = wanted.replace("#", str(axis))
    return out


@pytest.mark.parametrize("vendor", VENDORS)
def test_headers_of_vendors_and_languages(tmp_path: Path, vendor: str) -> None:
    wanted = numbered(VENDORS[vendor])
    path = file_of(tmp_path / "a.csv", list(wanted))
    guess = guess_columns(path, robot_of("sipro-d3-1200"), torque_constant=1.0)
    assert shown(guess) == wanted
    assert guess.ok, guess.problems
    assert all(item.why for item in guess.columns)


ELMO = [
    ("Time [s]", "t s"),
    ("Drive #: Position [cnt]", "q# counts"),
    ("Drive #: Position Command [cnt]", "q#_command counts"),
    ("Drive #: Velocity [cnt/sec]", "qd# counts/s"),
    ("Drive #: Active Current [A]", "current# A"),
    ("Drive #: Position Error [cnt]", "-"),
]


def test_elmo_counts_ask_for_the_resolution(tmp_path: Path) -> None:
    wanted = numbered(ELMO)
    path = file_of(tmp_path / "a.csv", list(wanted))
    robot = robot_of("sipro-d3-1200")
    guess = guess_columns(path, robot, torque_constant=1.0)
    assert shown(guess) == wanted
    (problem,) = guess.problems
    message = r"counts_per_turn is None; allowed: .*'Drive 1: Position \[cnt\]' is in counts"
    with pytest.raises(InputError, match=message):
        raise problem
    with pytest.raises(InputError, match=message):
        read_recording(path, robot, torque_constant=1.0)


# Values.


def test_counts_at_the_motor(tmp_path: Path) -> None:
    rec = slow(ROBOT.name)
    counts = np.round(rec.q * GEAR / (2 * math.pi) * 2**20)
    names = ["t_s", *(f"Position {i} [inc]" for i in range(1, 5)), *TORQUES]
    path = write(tmp_path / "a.csv", names, np.column_stack([rec.t, counts, rec.tau]))
    back = read_recording(path, ROBOT, counts_per_turn=2**20)
    close(back.q, rec.q, atol=1e-5)
    guess = guess_columns(path, ROBOT, counts_per_turn=2**20)
    assert "at the motor" in guess.columns[1].why[-1]
    (tmp_path / "columns.yaml").write_text(guess.yaml(), "utf-8")
    close(read_recording(path, ROBOT, columns=tmp_path / "columns.yaml").q, back.q, rtol=1e-14)


TORQUES = [f"tau{i}_Nm" for i in range(1, 5)]


def slow(name: str) -> Recording:
    """A log in which every arm turns by more than 30 degrees."""
    t: Array = np.arange(400, dtype=np.float64) * 0.01
    phase = np.arange(ROBOT.dof)
    q = 0.4 + 0.4 * np.sin(2 * t[:, None] + phase)
    tau: Array = 3 * np.cos(2 * t[:, None] + phase)
    return Recording(t, q, tau, name=name)


@pytest.mark.parametrize(
    ("unit", "side", "factor", "wanted"),
    [
        ("", None, 1.0, "rad?"),
        ("", None, 180 / math.pi, "deg?"),
        ("", "motor", 180 / math.pi, "deg? motor"),
        (" [deg]", None, 180 / math.pi, "deg"),
        (" [deg]", "motor", 180 / math.pi, "deg motor"),
        (" [rev]", "motor", 1 / (2 * math.pi), "rev motor"),
    ],
)
def test_the_range_of_the_angles_tells_unit_and_side(
    tmp_path: Path, unit: str, side: str | None, factor: float, wanted: str
) -> None:
    rec = slow(ROBOT.name)
    gear = GEAR if side else 1.0
    names = ["t_s", *(f"Axis {i} ActPos{unit}" for i in range(1, 5)), *TORQUES]
    path = write(
        tmp_path / "a.csv", names, np.column_stack([rec.t, rec.q * gear * factor, rec.tau])
    )
    guess = guess_columns(path, ROBOT)
    found = shown(guess)
    assert [found[name] for name in names[1:5]] == [f"q{i} {wanted}" for i in range(1, 5)]
    close(read_recording(path, ROBOT).q, rec.q, rtol=1e-12)
    pieces = list(iter_recording(path, ROBOT, rows=100))
    close(np.concatenate([piece.q for piece in pieces]), rec.q, rtol=1e-12)


@pytest.mark.parametrize("factor", [180 / math.pi, GEAR])
def test_what_the_range_leaves_open_is_said(tmp_path: Path, factor: Any) -> None:
    rec = slow(ROBOT.name)
    names = ["t_s", *(f"Axis {i} ActPos" for i in range(1, 5)), *TORQUES]
    logged = rec.q * factor  # 16 rad of the motor could be 16 degrees
    path = write(tmp_path / "a.csv", names, np.column_stack([rec.t, logged, rec.tau]))
    guess = guess_columns(path, ROBOT)
    assert shown(guess)["Axis 1 ActPos"] == "q1 deg?"
    assert "may be deg or rad at the motor; deg is taken" in guess.columns[1].why[-1]
    close(read_recording(path, ROBOT).q, np.radians(logged), rtol=1e-12)
    assert "can only be deg" in guess_columns(path).columns[1].why[-1]  # no gear is known


def test_a_long_rest_does_not_hide_the_side(tmp_path: Path) -> None:
    t = np.arange(40_000) / 1e3
    moving = np.maximum(t - 30.0, 0.0)[:, None]
    q = 0.4 + 0.4 * np.sin(2 * moving + np.zeros(4))
    names = ["t_s", *(f"q{i}_deg" for i in range(1, 5))]
    path = tmp_path / "a.csv"
    data = np.column_stack([t, np.degrees(q) * GEAR])
    np.savetxt(path, data, "%.6g", delimiter=",", header=",".join(names), comments="")
    close(read_recording(path, ROBOT).q, q, atol=1e-4)


def test_rates_without_a_unit_are_in_that_of_the_angles(tmp_path: Path) -> None:
    names = ["t_s", *(f"Achse{i}.ActPos [°]" for i in (1, 2, 3)), *NAMES[4:]]
    names += [f"Achse{i}.ActVelo" for i in (1, 2, 3)]
    data = np.column_stack([REC.t, np.degrees(REC.q), REC.tau, np.degrees(REC.q)])
    rec = read_recording(write(tmp_path / "a.csv", names, data))
    assert rec.qd is not None
    close(rec.qd, REC.q, rtol=1e-12)


def test_rates_and_commands_follow_the_angles(tmp_path: Path) -> None:
    rec = slow(ROBOT.name)
    motor = np.degrees(rec.q) * GEAR
    names = ["t_s", *(f"ActPos{i}" for i in range(1, 5)), *(f"SetPos{i}" for i in range(1, 5))]
    names += [*(f"ActVelo{i}" for i in range(1, 5)), *TORQUES]
    data = np.column_stack([rec.t, motor, motor, 0.5 * motor, rec.tau])
    back = read_recording(write(tmp_path / "a.csv", names, data), ROBOT)
    assert back.q_command is not None
    assert back.qd is not None
    close(back.q_command, rec.q, rtol=1e-12)
    close(back.qd, 0.5 * rec.q, rtol=1e-12)


def test_the_side_of_the_angles_as_an_option(tmp_path: Path) -> None:
    rec = slow(ROBOT.name)
    names = ["t_s", *(f"q{i}_deg" for i in range(1, 5)), *TORQUES]
    path = write(tmp_path / "a.csv", names, np.column_stack([rec.t, np.degrees(rec.q), rec.tau]))
    close(read_recording(path, ROBOT, angle_side="motor").q, rec.q / GEAR, rtol=1e-12)
    with pytest.raises(InputError, match="angle_side is 'gear'; allowed: one of 'output', 'motor'"):
        read_recording(path, ROBOT, angle_side="gear")


@pytest.mark.parametrize(("factor", "unit"), [(1.0, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns")])
def test_the_step_of_the_time_tells_its_unit(tmp_path: Path, factor: float, unit: str) -> None:
    data = np.column_stack([REC.t * factor, REC.q, REC.tau])
    path = write(tmp_path / "a.csv", ["time", *NAMES[1:]], data)
    close(read_recording(path).t, REC.t, rtol=1e-12, atol=1e-15)
    use = guess_columns(path).columns[0].use
    assert use is not None
    assert use.unit == unit


def test_whole_torques_are_per_mille_of_the_rated_one(tmp_path: Path) -> None:
    permille = np.round(REC.tau / 30 * 1000)
    names = [*NAMES[:4], *(f"Torque actual value {i}" for i in (1, 2, 3))]
    path = write(tmp_path / "a.csv", names, np.column_stack([REC.t, REC.q, permille]))
    with pytest.raises(
        InputError, match="rated_torque is None; allowed: N m, since column 'Torque"
    ):
        read_recording(path)
    close(read_recording(path, rated_torque=30).tau, REC.tau, atol=0.016)
    text = guess_columns(path, rated_torque=30).yaml()
    (tmp_path / "columns.yaml").write_text(text, "utf-8")
    close(read_recording(path, columns=tmp_path / "columns.yaml").tau, REC.tau, atol=0.016)


def test_shares_of_a_rated_current(tmp_path: Path) -> None:
    robot = robot_of("sipro-d3-1200")
    gear = np.asarray(robot.drives.gear_ratio)
    names = [*NAMES[:4], *(f"Current actual value {i} [‰]" for i in (1, 2, 3))]
    data = np.column_stack([REC.t, REC.q, REC.tau / gear / 1.5 / 8.0 * 1000])
    path = write(tmp_path / "a.csv", names, data)
    with pytest.raises(InputError, match=r"rated_current is None; allowed: A, since column"):
        read_recording(path, robot, torque_constant=1.5)
    rec = read_recording(path, robot, torque_constant=1.5, rated_current=8.0)
    close(rec.tau, REC.tau, rtol=1e-12)
    text = guess_columns(path, robot, torque_constant=1.5, rated_current=8.0).yaml()
    (tmp_path / "columns.yaml").write_text(text, "utf-8")
    close(read_recording(path, robot, columns=tmp_path / "columns.yaml").tau, REC.tau, rtol=1e-12)


def test_a_german_log_of_motors_in_one_call(tmp_path: Path) -> None:
    """Degrees of the motors, currents, milliseconds, decimal commas, cp1252, dropped rows."""
    rec = slow(ROBOT.name)
    names = ["Zeit [ms]", *(f"Achse{i}.ActPos [°]" for i in range(1, 5))]
    names += [*(f"Achse{i}.Iststrom [A]" for i in range(1, 5)), "Achse1.Schleppabstand [°]"]
    motor = np.degrees(rec.q) * GEAR
    data = np.column_stack([1e3 * rec.t, motor, rec.tau / GEAR / 0.8, rec.t])
    kept = np.delete(np.arange(len(rec)), np.arange(20, 400, 20))
    path = write(
        tmp_path / "a.csv", names, data[kept], separator=";", decimal=",", encoding="cp1252"
    )
    back = read_recording(path, ROBOT, torque_constant=0.8)
    close(back.t, rec.t[kept], rtol=1e-12)
    close(back.q, rec.q[kept], rtol=1e-12)
    close(back.tau, rec.tau[kept], rtol=1e-12)
    assert back.provenance.ignored == ("Achse1.Schleppabstand [°]",)


# Clocks.


@pytest.mark.parametrize("order", ["pairs", "first"])
@pytest.mark.parametrize("shift", [0.0, 0.0004])
def test_a_time_column_for_each_axis(tmp_path: Path, order: str, shift: float) -> None:
    t = REC.t[:, None] + shift * np.arange(3)
    # lines, so that linear interpolation is exact
    q, tau = 0.3 + t * [1.0, -2.0, 0.5], 2.0 + t * [10.0, 5.0, -3.0]
    if order == "pairs":
        names = [text for i in (1, 2, 3) for text in (f"t{i} [ms]", f"q{i}_rad", f"tau{i}_Nm")]
        data = np.column_stack([x for i in range(3) for x in (1e3 * t[:, i], q[:, i], tau[:, i])])
    else:
        names = [*(f"time_{i} [ms]" for i in (1, 2, 3)), *NAMES[1:]]
        data = np.column_stack([1e3 * t, q, tau])
    path = write(tmp_path / "a.csv", names, data)
    if shift:
        message = (
            "q1, tau1: 60 samples, every 1 ms; q2, tau2: .*one clock for all channels, or inter"
        )
        with pytest.raises(InputError, match=message):
            read_recording(path)
    rec = read_recording(path, interpolate=bool(shift))
    close(rec.q, 0.3 + rec.t[:, None] * [1.0, -2.0, 0.5], rtol=1e-12)
    close(rec.tau, 2.0 + rec.t[:, None] * [10.0, 5.0, -3.0], rtol=1e-12)
    assert len(rec) >= len(REC) - 1
    assert [item.is_time for item in guess_columns(path).columns].count(True) == 3


def test_a_time_column_before_each_channel(tmp_path: Path) -> None:
    names = [text for name in NAMES[1:] for text in ("Time", name)]
    data = np.column_stack([x for column in DATA.T[1:] for x in (1e3 * DATA[:, 0], column)])
    path = write(tmp_path / "a.csv", names, data, separator=";")
    assert_recording(read_recording(path), rtol=1e-12, atol=1e-15)
    guess = guess_columns(path)
    assert shown(guess)["Time"] == "time"
    assert "can only be ms" in guess.columns[0].why[-1]


# The map.


def test_the_guess_as_a_column_map(tmp_path: Path) -> None:
    names = ["Zeit [ms]", *(f"Achse{i}.ActPos [°]" for i in (1, 2, 3)), "Status: on"]
    names += [f"Achse{i}.Moment [Ncm]" for i in (1, 2, 3)]
    data = np.column_stack([1e3 * REC.t, np.degrees(REC.q), REC.t, 100 * REC.tau])
    path = write(tmp_path / "a.csv", names, data, separator=";", decimal=",", encoding="cp1252")
    robot = robot_of("sipro-d3-1200")
    guess = guess_columns(path, robot)
    text = guess.yaml()
    assert '"Achse1.ActPos [°]": {quantity: q, axis: 1, unit: "deg"}' in text
    (tmp_path / "columns.yaml").write_text(text, "utf-8")
    plain = read_recording(path, robot)
    again = read_recording(path, robot, columns=tmp_path / "columns.yaml")
    for name in ("t", "q", "tau"):
        np.testing.assert_array_equal(getattr(again, name), getattr(plain, name))
    assert [item.name for item in guess.unused] == ["Status: on"]
    assert "Achse1.ActPos [°]" in str(guess)


def test_columns_with_one_name_are_mapped_by_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ["t_s", "Position", "Position", "Position", *NAMES[4:]])
    guess = guess_columns(path)
    assert not guess.ok
    assert "q1, q2, q3 have no column" in str(guess.problems[0])
    assert guess.columns[1].why[-1] == "angle without the number of its axis"
    assert "\n  2: null" in guess.yaml()


def test_all_problems_at_once(tmp_path: Path) -> None:
    names = ["t_s", "q1 [furlong]", *NAMES[2:4], "theta2", *(f"Torque {i} [%]" for i in (1, 2, 3))]
    data = np.column_stack([DATA[:, :4], DATA[:, 3:]])
    problems = [
        str(error) for error in guess_columns(write(tmp_path / "a.csv", names, data)).problems
    ]
    assert len(problems) == 4
    for text in (
        "'furlong'",
        "q2 could be 'q2_rad' or 'theta2'",
        "q1 has no column",
        "rated_torque",
    ):
        assert any(text in problem for problem in problems), text


def test_a_header_behind_a_comment_sign(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ["# t_s", *NAMES[1:]])
    assert_recording(read_recording(path))
    path = write(
        tmp_path / "b.csv",
        [
            "%time",
            *(f"field.position{i}" for i in range(3)),
            *(f"field.effort{i}" for i in range(3)),
        ],
        np.column_stack([1e9 * REC.t, REC.q, REC.tau]),
    )
    assert_recording(read_recording(path), rtol=1e-12, atol=1e-15)


def test_a_row_of_units_with_some_that_are_not_ours(tmp_path: Path) -> None:
    names = ["Zeit", "Winkel 1", "Winkel 2", "Winkel 3", "Moment 1", "Moment 2", "Moment 3", "Uzk"]
    data = np.column_stack([1e3 * REC.t, np.degrees(REC.q), REC.tau, REC.t])
    path = write(tmp_path / "a.csv", names, data, separator=";")
    lines = path.read_text("utf-8").splitlines()
    lines.insert(1, "[ms];[Grad];[Grad];[Grad];[Nm];[Nm];[Nm];[V]")
    path.write_text("\n".join(lines) + "\n", "utf-8")
    assert_recording(read_recording(path), rtol=1e-14, atol=1e-15)
    assert guess_columns(path).columns[1].why[-1] == "unit 'Grad' beside the name"


def test_a_numbered_axis_zero_beside_the_robots_axes(tmp_path: Path) -> None:
    data: Array = np.column_stack([DATA[:, 0], DATA[:, :4], DATA[:, 4:]])
    names = ["t_s", *(f"Axis{i}.ActPos" for i in range(4)), *NAMES[4:]]
    rec = read_recording(write(tmp_path / "a.csv", names, data), robot_of("sipro-d3-1200"))
    close(rec.q, DATA[:, 1:4])
    assert rec.provenance.ignored == ("Axis0.ActPos",)
