"""Recordings of robots on rails: places in m and forces in N, by the names of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.family.robots import make

from deltadyn.errors import InputError, RecordingFileError
from deltadyn.recording import concatenate, guess_columns, read_recording
from deltadyn.recording.read import ReadOptions
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot, load_robot, robot_from_text

TEXT = """\
deltadyn: 1
name: rails
actuation: linear
geometry: {base_radius_mm: 200, platform_radius_mm: 40, strut_length_mm: 350}
carriage: {mass_kg: 0.6}
strut: {mass_g: 40, uniform: true}
platform: {mass_kg: 0.4}
drives: {gear_ratio: 2, pulley_radius_mm: 12}
controller: {sign: -1, offset_mm: 500}
"""
SPINDLE = """\
spindle:
  upper: {mass_kg: 0.2, length_mm: 300, uniform: true}
  lower: {mass_kg: 0.2, length_mm: 300, uniform: true}
"""


@pytest.fixture(scope="module")
def rails() -> Robot:
    return robot_from_text(TEXT)


@pytest.fixture(scope="module")
def four() -> Robot:
    return robot_from_text(TEXT + SPINDLE)


def table(path: Path, header: str, rows: Sequence[Sequence[float]]) -> Path:
    lines = [header, *(",".join(map(repr, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def log(path: Path, q: str, tau: str, dof: int = 3) -> Path:
    """Two rows: 0.1 k of a place and 10 k of a force, k from 1 along the axes."""
    names = [text.format(k) for text in (q, tau) for k in range(1, dof + 1)]
    values = [0.1 * k for k in range(1, dof + 1)] + [10.0 * k for k in range(1, dof + 1)]
    return table(path, ",".join(["t_s", *names]), [[0.001 * row, *values] for row in range(2)])


@pytest.mark.parametrize("dof", [3, 4])
@pytest.mark.parametrize("named", [True, False])
def test_a_saved_recording_comes_back_equal(
    dof: int, named: bool, rails: Robot, four: Robot, tmp_path: Path
) -> None:
    robot = rails if dof == 3 else four
    t = 1e-3 * np.arange(9.0)
    q, tau = np.random.default_rng(3).uniform(-1, 1, (2, 9, dof))
    made = Recording(t, q, tau, qd=2 * q, qdd=3 * q, tau_command=tau + 1, linear=True)
    made.save(tmp_path / "log.csv")
    header = (tmp_path / "log.csv").read_text("utf-8").splitlines()[2].split(",")
    assert {"q1_m", "tau3_N", "qd2_m_s", "qdd2_m_s2", "tau1_command_N"} <= set(header)
    assert ("psi_rad" in header and "tau4_Nm" in header) == (dof == 4)
    again = read_recording(tmp_path / "log.csv", robot if named else None)
    assert again.linear
    for name, values in made.channels().items():
        assert np.array_equal(values, again.channels()[name])
    assert "tau2            N " in again.summary()
    assert "qd1             m/s " in again.summary()


@pytest.mark.parametrize("kind", ["planar", "planar_rails", "par4", "par4_rails"])
@pytest.mark.parametrize("named", [True, False])
def test_a_saved_recording_of_other_platforms_comes_back(
    kind: str, named: bool, tmp_path: Path
) -> None:
    """Axis 4 of a Par4 is a limb: a carriage on rails; in a plane the pose is x and z."""
    robot = make(kind)
    t, dof = 1e-3 * np.arange(9.0), robot.dof
    q, tau, p = np.random.default_rng(3).uniform(-1, 1, (3, 9, dof))
    made = Recording(t, q, tau, qd=2 * q, p=p, linear=robot.linear, legs=robot.legs)
    made.save(tmp_path / "log.csv")
    header = (tmp_path / "log.csv").read_text("utf-8").splitlines()[3].split(",")
    unit, force = ("m", "N") if robot.linear else ("rad", "Nm")
    assert {f"q{dof}_{unit}", f"tau{dof}_{force}", "x_m", "z_m"} <= set(header)
    assert ("y_m" in header) == (dof == 4)
    again = read_recording(tmp_path / "log.csv", robot if named else None)
    assert (again.linear, again.legs) == (robot.linear, robot.legs)
    assert set(again.channels()) == set(made.channels())
    for name, values in made.channels().items():
        assert np.array_equal(values, again.channels()[name])


def test_axis_four_of_four_limbs(tmp_path: Path) -> None:
    """Without our own label the robot tells, or the unit of axis 4."""
    path = log(tmp_path / "log.csv", "q{}_mm", "tau{}_N", 4)
    for robot in (make("par4_rails"), None):
        read = read_recording(path, robot)
        assert read.legs == 4
        assert read.q[0] == pytest.approx([1e-4, 2e-4, 3e-4, 4e-4])
    with pytest.raises(RecordingFileError, match=r"'mm'; allowed: rad, .*axis 4 of robot .* turns"):
        read_recording(path, make("vertical_spindle"))


@pytest.mark.parametrize(
    ("q", "tau"),
    [
        ("carriage {} position [mm]", "carriage {} force [N]"),
        ("Schlitten {} Position [mm]", "Kraft Achse {} [N]"),
        ("tower {} pos (mm)", "force{}_N"),
    ],
)
def test_words_for_carriages_and_forces(q: str, tau: str, tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", q, tau, 4)
    read = read_recording(path, make("par4_rails"))
    assert read.q[0] == pytest.approx([1e-4, 2e-4, 3e-4, 4e-4])
    assert read.tau[0] == pytest.approx([10, 20, 30, 40])


def test_a_force_beside_arms_is_no_torque(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", "q{}_deg", "force{}_N")
    read = read_recording(path, load_robot("example-delta"))
    assert not read.has_torque
    assert read.provenance.ignored == ("force1_N", "force2_N", "force3_N")


def test_two_axes_without_a_robot(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", "q{}_deg", "tau{}_Nm", 2)
    assert read_recording(path).dof == 2
    with pytest.raises(RecordingFileError, match="q3, tau3 have no column"):
        read_recording(path, load_robot("example-delta"))
    lame = table(tmp_path / "lame.csv", "t_s,q1_rad,q2_rad,tau1_Nm,tau2_Nm,tau3_Nm", [[0.0] * 6])
    with pytest.raises(RecordingFileError, match="q3 has no column"):
        read_recording(lame)


def test_units_and_the_controllers_convention(rails: Robot, tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", "q{}_mm", "tau{}_kN")
    read = read_recording(path, rails)
    assert read.q[0] == pytest.approx([0.4999, 0.4998, 0.4997])
    assert read.tau[0] == pytest.approx([-1e4, -2e4, -3e4])
    assert read.provenance.notes[-1].endswith("offset (0.5, 0.5, 0.5) m")


def test_axis_four_turns(four: Robot, tmp_path: Path) -> None:
    header = "t_s,q1_mm,q2_mm,q3_mm,psi_deg,tau1_N,tau2_N,tau3_N,tau4_Nm"
    path = table(tmp_path / "log.csv", header, [[0.0, 1, 2, 3, 90, 4, 5, 6, 7]] * 2)
    read = read_recording(path, four, convention="deltadyn")
    assert read.q[0] == pytest.approx([0.001, 0.002, 0.003, np.pi / 2])
    assert read.tau[0] == pytest.approx([4, 5, 6, 7])


def test_angles_and_torques_of_the_motors(rails: Robot, tmp_path: Path) -> None:
    """q = motor angle r / i, force = motor torque i / r."""
    path = log(tmp_path / "log.csv", "q{}_rad", "tau{}_Nm")
    options = ReadOptions(angle_side="motor", torque_side="motor", convention="deltadyn")
    read = read_recording(path, rails, options)
    assert read.linear
    assert read.q[0] == pytest.approx(np.array([0.1, 0.2, 0.3]) * 0.012 / 2)
    assert read.tau[0] == pytest.approx(np.array([10, 20, 30]) * 2 / 0.012)
    plain = robot_from_text(TEXT.replace(", pulley_radius_mm: 12", ""))
    with pytest.raises(InputError, match=r"one with drives\.lead or drives\.pulley_radius"):
        read_recording(path, plain, options)


def test_currents(rails: Robot, tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", "q{}_m", "i{}_A")
    read = read_recording(path, rails, torque_constant=0.1, convention="deltadyn")
    assert read.tau[0] == pytest.approx(np.array([1, 2, 3]) * 2 / 0.012)


def test_shares_of_a_rated_force(rails: Robot, tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", "q{} [mm]", "torque{} [%]")
    with pytest.raises(InputError, match=r"allowed: N, since column 'torque1 \[%\]'"):
        read_recording(path, rails)
    read = read_recording(path, rails, rated_torque=50, convention="deltadyn")
    assert read.tau[0] == pytest.approx([5, 10, 15])


def test_values_without_units(rails: Robot, tmp_path: Path) -> None:
    read = read_recording(log(tmp_path / "log.csv", "q{}", "tau{}"), rails, convention="deltadyn")
    assert read.q[0] == pytest.approx([0.1, 0.2, 0.3])
    rows = [[0.001 * k, 100.0 + k, 200, 300, 1, 2, 3, 5, 5, 5] for k in range(5)]
    path = table(tmp_path / "mm.csv", "t,q1,q2,q3,tau1,tau2,tau3,qd1,qd2,qd3", rows)
    read = read_recording(path, rails, convention="deltadyn")
    assert read.q[0] == pytest.approx([0.1, 0.2, 0.3])
    assert read.qd is not None
    assert read.qd[0] == pytest.approx([0.005] * 3)
    assert "values up to 300 can only be mm" in str(guess_columns(path, rails))


@pytest.mark.parametrize(
    ("q", "tau", "quantity", "message"),
    [
        (
            "q{}_rad",
            "tau{}_N",
            "q1",
            "'rad'; allowed: m, mm, cm, um; axis 1 of robot 'rails' slide",
        ),
        ("q{} [deg]", "tau{}_N", "q1", "'deg'; allowed: m, mm, cm, um"),
        ("q{}_m", "tau{}_Nm", "tau1", "'Nm'; allowed: N, mN, kN, percent, permille; axis 1"),
        ("q{}_counts", "tau{}_N", "q1", "'counts'; allowed: m, mm"),
    ],
)
def test_units_of_arms_are_refused(
    q: str, tau: str, quantity: str, message: str, rails: Robot, tmp_path: Path
) -> None:
    path = log(tmp_path / "log.csv", q, tau)
    with pytest.raises(RecordingFileError, match=message) as caught:
        read_recording(path, rails)
    assert caught.value.quantity == f"unit of {quantity}"
    assert str(caught.value.column) in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("q", "tau", "message"),
    [
        ("q{}_m", "tau{}_Nm", r"'m'; allowed: rad, .*; axis 1 of robot 'example-delta' turns"),
        ("q{}_mm", "tau{}_N", r"'mm'; allowed: rad, .*; axis 1 of robot 'example-delta' turns"),
        ("q{}_rad", "tau{}_N", r"'N'; allowed: Nm, .*; axis 1 of robot 'example-delta' turns"),
    ],
)
def test_units_of_carriages_are_refused(q: str, tau: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingFileError, match=message):
        read_recording(log(tmp_path / "log.csv", q, tau), load_robot("example-delta"))


def test_a_column_of_the_other_kind_beside_the_right_one_is_left(tmp_path: Path) -> None:
    header = "t_s,q1_deg,q2_deg,q3_deg,tau1_Nm,tau2_Nm,tau3_Nm,position1_mm"
    path = table(tmp_path / "log.csv", header, [[0.0, 1, 2, 3, 4, 5, 6, 7], [0.001] + [1.0] * 7])
    read = read_recording(path, load_robot("example-delta"))
    assert not read.linear
    assert np.degrees(read.q[0]) == pytest.approx([1, 2, 3])


def test_the_motor_of_a_carriage_has_no_place(rails: Robot, tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", "q{}_mm", "tau{}_N")
    with pytest.raises(RecordingFileError, match=r"'mm'; allowed: rad, .*; the motor of a car"):
        read_recording(path, rails, angle_side="motor")


def test_a_column_map(rails: Robot, tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", "a{}", "f{}")
    names = {f"a{k}": f"q{k}_mm" for k in (1, 2, 3)}
    forces = {f"f{k}": {"quantity": "tau", "axis": k, "unit": "N"} for k in (1, 2, 3)}
    read = read_recording(path, rails, columns={**names, **forces}, convention="deltadyn")
    assert read.q[0] == pytest.approx([1e-4, 2e-4, 3e-4])
    assert guess_columns(path, rails, columns={**names, **forces}).ok
    wrong = {**names, **forces, "a3": {"quantity": "q", "axis": 3, "unit": "deg"}}
    with pytest.raises(RecordingFileError, match="unit of q3 is 'deg'; allowed: m, mm"):
        read_recording(path, rails, columns=wrong)


def test_recordings_of_both_kinds_do_not_join() -> None:
    t, q = np.arange(3.0), np.zeros((3, 3))
    with pytest.raises(InputError, match="linear at recording 1 is True; allowed: False"):
        concatenate([Recording(t, q, q), Recording(t + 3, q, q, linear=True)])
