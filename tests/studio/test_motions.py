"""Motions: scenarios, logs, the player's clock."""

import numpy as np
import pytest
from tests.studio.cases import simulated

import deltadyn as dd
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.studio.motion import (
    SCENARIOS,
    Player,
    log_track,
    motion_track,
    scenario_track,
)
from deltadyn.studio.robot import edited

ROBOT = dd.load_robot("example-delta")


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_scenarios_come_with_two_models(name: str) -> None:
    track = scenario_track(ROBOT, name, ROBOT)
    assert list(track.curves) == ["exact", "half-half"]
    expected = dd.inverse_dynamics(ROBOT, track.motion)
    np.testing.assert_allclose(track.curves["exact"], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(track.place(0.0), track.motion.p[0])
    np.testing.assert_array_equal(track.place(track.duration), track.motion.p[-1])


def test_unknown_motions_are_named() -> None:
    with pytest.raises(UnknownNameError, match="motion is 'waltz'"):
        scenario_track(ROBOT, "waltz")


def test_an_edited_robot_has_the_curve_from_before() -> None:
    changed = edited(ROBOT, {"payload": 1.0})
    track = scenario_track(changed, "gate", ROBOT)
    assert list(track.curves) == ["exact", "half-half", "before the changes"]
    short = edited(ROBOT, {"strut_length": 400.0, "arm_length": 150.0})
    told = motion_track(ROBOT, "gate", track.motion, short)
    assert told.notes[0].startswith("the robot before the changes cannot run it")


def test_a_log_has_measured_and_predicted_torque() -> None:
    log = simulated(1)
    track = log_track(ROBOT, log)
    assert list(track.curves) == ["measured", "robot file"]
    left = (track.curves["measured"] - track.curves["robot file"]).std(axis=0)
    assert (left > 0.05).all()  # the robot in the log is heavier than its file
    assert track.curves["measured"].shape == track.motion.q.shape
    inside = np.interp(track.motion.t, log.t, log.q[:, 0])
    np.testing.assert_allclose(track.motion.q[:, 0], inside, atol=1e-3)  # filtered angles


def test_the_player_keeps_time() -> None:
    now = [100.0]
    player = Player(2.0, speed=0.5, loop=False, clock=lambda: now[0])
    assert player.time() == 0.0
    player.play()
    now[0] += 1.0
    assert player.time() == pytest.approx(0.5)
    player.set_speed(2.0)
    now[0] += 0.25
    assert player.time() == pytest.approx(1.0)
    player.pause()
    now[0] += 10.0
    assert player.time() == pytest.approx(1.0)
    player.play()
    now[0] += 10.0
    assert player.time() == 2.0
    assert not player.playing
    player.play()  # again from the start
    assert player.time() == 0.0


def test_a_loop_starts_again_and_seeking_is_bounded() -> None:
    now = [0.0]
    player = Player(2.0, loop=True, clock=lambda: now[0])
    player.play()
    now[0] += 4.5
    assert player.time() == pytest.approx(0.5)
    player.seek(9.0)
    player.pause()
    assert player.time() <= 2.0
    with pytest.raises(InputError, match="speed is 0"):
        player.set_speed(0.0)
