"""Motions read back from the tables that are written for controllers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.errors import FileError
from deltadyn.motion import gate_move, read_motion
from deltadyn.robot.settings import Controller

ROBOT = dd.load_robot("example-delta").replace(
    controller=Controller(sign=(1, -1, 1), offset=(0.1, 0.0, -0.2))
)
MOVE = gate_move(ROBOT, [-0.1, 0.0, -0.6], [0.1, 0.05, -0.6], lift=0.03, duration=0.4)


def written(path: Path, names: list[str], columns: np.ndarray) -> Path:
    """A CSV file with 12 digits."""
    np.savetxt(path, columns, delimiter=",", header=",".join(names), comments="", fmt="%.12g")
    return path


def test_joint_angles_come_back_from_the_controllers_convention(tmp_path: Path) -> None:
    q = np.rad2deg(ROBOT.to_controller(MOVE.q))
    names = ["t_s", "q1_deg", "q2_deg", "q3_deg"]
    motion = read_motion(written(tmp_path / "m.csv", names, np.c_[MOVE.t, q]), ROBOT)
    np.testing.assert_allclose(motion.q, MOVE.q, atol=1e-9)  # 12 digits of degrees
    # rates from the spline: the quintic parts are met but for their knots and the digits
    assert np.abs(motion.qd - MOVE.qd).max() < 1e-3 * np.abs(MOVE.qd).max()


def test_rates_in_the_file_are_taken(tmp_path: Path) -> None:
    sign = np.asarray(ROBOT.controller.sign)
    columns = np.c_[MOVE.t, ROBOT.to_controller(MOVE.q), MOVE.qd * sign, MOVE.qdd * sign]
    names = ["t_s", "q1_rad", "q2_rad", "q3_rad"]
    names += [f"qd{i}_rad_s" for i in (1, 2, 3)] + [f"qdd{i}_rad_s2" for i in (1, 2, 3)]
    motion = read_motion(written(tmp_path / "m.csv", names, columns), ROBOT)
    np.testing.assert_allclose(motion.qdd, MOVE.qdd, atol=1e-8)


def test_platform_positions_in_millimetres(tmp_path: Path) -> None:
    names = ["t_s", "x_mm", "y_mm", "z_mm"]
    path = written(tmp_path / "m.csv", names, np.c_[MOVE.t, 1e3 * MOVE.p])
    np.testing.assert_allclose(read_motion(path, ROBOT).p, MOVE.p, atol=1e-11)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a CSV file with a header"),
        ("t_s,q1_rad,q2_rad,q3_rad\n", "rows .*is 0; allowed: at least one row"),
        ("q1_rad,q2_rad,q3_rad\n0,0,0\n", "t_s among them"),
        ("t_s,q1_rad,q2_rad\n0,0,0\n", "q3 among them"),
        ("t_s,a\n0,0\n", "positions x, y, z with their units"),
        ("t_s,q1_rad,q2_rad,q3_rad\n0,0,x,0\n", r"line 2: row is .*; allowed: finite numbers"),
        ("t_s,q1_rad,q2_rad,q3_rad\n0,0,0\n", r"line 2: cells is 3; allowed: 4, as the header has"),
    ],
)
def test_a_damaged_file_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "m.csv"
    path.write_text(text)
    with pytest.raises(FileError, match=message) as caught:
        read_motion(path, ROBOT)
    assert caught.value.path == str(path)
