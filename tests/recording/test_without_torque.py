"""Logs without torques: what they tell, and what refuses them by name."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.recording.recordings import NAMES, REC, clean, close, robot_of, write

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.fleet import fleet
from deltadyn.payload import find_picks
from deltadyn.recording import (
    Recording,
    average_periods,
    check_recording,
    concatenate,
    estimate_delay,
    find_moves,
    find_period,
    guess_columns,
    iter_recording,
    read_recording,
    repair,
)

ROBOT = robot_of("sipro-d3-1200")
FULL = clean()
BARE = FULL.replace(tau=None, name="bare")


def test_a_file_without_torques_is_read(tmp_path: Path) -> None:
    names = [*NAMES[:4], *(f"q{i}_command_rad" for i in (1, 2, 3)), "Foo 1"]
    data = np.column_stack([REC.t, REC.q, REC.q + 0.01, REC.t])
    path = write(tmp_path / "log.csv", names, data)
    rec = read_recording(path, ROBOT)
    assert not rec.has_torque
    assert rec.q_command is not None
    close(rec.q, REC.q)
    close(rec.q_command, REC.q + 0.01)
    assert "tau: not in the file" in rec.provenance.notes
    assert not guess_columns(path, ROBOT).has_torque
    assert [len(piece) for piece in iter_recording(path, ROBOT, rows=25)] == [25, 25, 10]
    message = r"tau at recording 'log' is None; allowed: a log with torques.*not used: 'Foo 1'"
    with pytest.raises(InputError, match=message):
        _ = rec.tau


def test_torques_of_some_axes_are_still_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", NAMES[:6], np.column_stack([REC.t, REC.q, REC.tau[:, :2]]))
    with pytest.raises(InputError, match="tau3 has no column"):
        read_recording(path)


def test_saved_and_read_again(tmp_path: Path) -> None:
    BARE.save(tmp_path / "a.csv")
    back = read_recording(tmp_path / "a.csv", ROBOT)
    assert not back.has_torque
    np.testing.assert_array_equal(back.q, BARE.q)
    assert not pickle.loads(pickle.dumps(back)).has_torque


def test_cut_joined_changed() -> None:
    first, second = BARE.rows(0, 1000), BARE.between(1.0, 4.0)
    assert sorted(BARE.channels()) == ["p", "q", "qd", "t"]
    joined = concatenate([first, second])
    assert not joined.has_torque
    close(joined.q, BARE.q)
    assert joined.replace(tau=FULL.tau).has_torque
    with pytest.raises(InputError, match="channels at recording 1"):
        concatenate([FULL.rows(0, 1000), second])
    assert "tau" not in BARE.summary()


def test_checks_without_torques() -> None:
    findings = check_recording(BARE, ROBOT)
    assert [item.kind for item in findings] == [item.kind for item in check_recording(FULL, ROBOT)]
    assert "signs and units by torques: there are none" in findings.skipped
    turned = BARE.replace(q=BARE.q - 1.2, p=None, qd=None)
    kinds = {item.kind for item in check_recording(turned, ROBOT)}
    assert kinds & {"limits", "open loop"}
    moved = BARE.replace(q=BARE.q + 0.05, qd=None)
    assert "pose" in {item.kind for item in check_recording(moved, ROBOT)}
    copied = BARE.replace(q_command=BARE.q)
    assert "same as command" in {item.kind for item in check_recording(copied, ROBOT)}
    holes = BARE.replace(q=np.where(np.arange(len(BARE))[:, None] == 7, np.nan, BARE.q))
    again = repair(holes, check_recording(holes, ROBOT), kinds=["not finite"])
    close(again.q, BARE.q, atol=1e-3)


def test_angles_of_the_motor_name_the_gear() -> None:
    robot = robot_of("example-delta-4")
    rec = clean("example-delta-4").replace(tau=None, p=None, qd=None)
    gear = np.asarray(robot.drives.gear_ratio)
    (found,) = (
        item
        for item in check_recording(rec.replace(q=rec.q * gear), robot)
        if item.kind == "angle unit"
    )
    assert f"degrees taken as radians, or angles of the motor before the gear of {gear[0]:g}?" in (
        found.text
    )
    assert "side: motor" in found.advice
    plain = check_recording(BARE.replace(q=np.degrees(BARE.q), p=None, qd=None), ROBOT)
    text = next(item.text for item in plain if item.kind == "angle unit")
    assert "degrees taken as radians" in text
    assert ("gear" in text) == (max(ROBOT.drives.gear_ratio) > 1)


def test_the_check_of_a_log_without_torques() -> None:
    check = dd.check(ROBOT, BARE)
    assert "Log torques or currents too, which a fit needs: not in bare." in str(check)
    (log,) = check.logs
    assert log.untold == "it has no torques"
    assert all(axis.torque is None for axis in log.motion)


def test_lag_of_the_feedback_behind_the_command() -> None:
    late = np.column_stack([np.interp(BARE.t - 0.006, BARE.t, q) for q in BARE.q.T])
    rec = Recording(BARE.t, late, q_command=BARE.q).between(0.1, 4.0)
    assert rec.q_command is not None
    delay = estimate_delay(rec.t, rec.q, rec.q_command)
    assert delay.seconds == pytest.approx(0.006, abs=1e-4)


def test_moves_and_periods() -> None:
    t = np.arange(4000, dtype=np.float64) / 1e3
    q = 0.5 + 0.2 * np.sin(2 * np.pi * t)[:, None] * [1.0, 0.8, 0.6]
    rec = Recording(t, q)
    assert find_period(rec).seconds == pytest.approx(1.0, rel=1e-6)
    assert average_periods(rec).x.shape == (1000, 3)
    assert len(find_moves(BARE)) == len(find_moves(FULL))


CALLS: dict[str, Callable[[], object]] = {
    "identify": lambda: dd.identify(ROBOT, BARE),
    "identify, of two": lambda: dd.identify(ROBOT, [FULL, BARE]),
    "validate": lambda: dd.validate(ROBOT, BARE),
    "payload": lambda: find_picks(ROBOT, BARE),
    "fleet": lambda: fleet(ROBOT, {"a": [FULL], "b": [BARE]}),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_needs_torques_names_the_log(name: str) -> None:
    with pytest.raises(
        InputError, match="tau at recording 'bare' is None; allowed: a log with tor"
    ):
        CALLS[name]()
