"""The fastest pace where RMS torque binds: a closed form, other profiles, and the limits."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sizing.cases import FOUR, RUBBING, THREE, only, with_limits

import deltadyn as dd
from deltadyn.motion import adept_cycle, check_motion, pick_and_place
from deltadyn.sizing import fastest


@pytest.mark.full
def test_a_turn_of_psi_alone_has_the_parabola_of_least_heat() -> None:
    """The least RMS of the acceleration over a turn L in T is sqrt(12) L / T^2, with a parabola."""
    bare = FOUR.with_friction(viscous=0.0, coulomb=0.0, passive=())
    limit = 0.5
    robot = only(bare, torque_peak=[90.0] * 3 + [50.0], torque_rms=[90.0] * 3 + [limit])
    turn = 2.0
    move = dd.motion.spindle_turn(robot, [0.0, 0, -0.6, 0], turn, duration=1.0)
    accelerated = dd.State.from_platform(robot, [0.0, 0, -0.6, 0], None, [0.0, 0, 0, 1.0])
    inertia = dd.inverse_dynamics(robot, accelerated)[3]
    found = fastest(robot, move)
    assert found.thermal
    exact = np.sqrt(np.sqrt(12) * turn * inertia / limit)
    # 120 intervals; the torque is sampled at 2 kHz
    assert found.duration == pytest.approx(exact, rel=2e-4)
    speed = found.pd[:, 3] / found.pd[:, 3].max()
    u = found.t / found.duration
    assert np.abs(speed - 4 * u * (1 - u)).max() < 1e-3  # the same intervals


@pytest.mark.full
@pytest.mark.parametrize(("robot", "payload"), [(THREE, 4.0), (RUBBING, 2.0)])
def test_all_limits_are_kept_and_the_heat_is_used(robot: dd.Robot, payload: float) -> None:
    loaded = robot.with_payload(payload)
    even = adept_cycle(loaded)
    found = fastest(robot, even, payload=payload)
    report = check_motion(loaded, found)
    assert report.ok
    assert found.thermal
    assert found.binding is not None
    assert found.binding.name == "torque_rms"
    assert report["torque_rms"].use == pytest.approx(1.0, abs=5e-3)  # of a secant, then a stretch
    assert found.duration < 0.97 * even.duration
    assert found.law.slower < 1.002
    # slowing down the pace without a limit on RMS torque is no substitute
    cool = with_limits(loaded, torque_rms=None)
    free = fastest(cool, even)
    use = check_motion(loaded, free)["torque_rms"].use
    assert use is not None
    assert use > 1.3


@pytest.mark.full
@pytest.mark.parametrize("profile", ["quintic", "trapezoid", "s-curve", "modified-sine"])
def test_no_profile_is_faster(profile: str) -> None:
    robot = with_limits(THREE.with_payload(4.0), torque_rms=30.0)
    ends = [-0.2, 0.05, -0.87], [0.18, -0.08, -0.86]
    even = pick_and_place(robot, *ends, lift=0.06, profile=profile)
    assert even.binding is not None
    assert even.binding.name == "torque_rms"
    assert fastest(robot, even).duration < even.duration


@pytest.mark.full
def test_holds_cool_the_drives() -> None:
    robot = with_limits(THREE.with_payload(4.0), torque_rms=30.0)
    ends = [-0.2, 0.05, -0.87], [0.18, -0.08, -0.86]
    busy = fastest(robot, pick_and_place(robot, *ends, lift=0.06))
    resting = fastest(robot, pick_and_place(robot, *ends, lift=0.06, dwell=(0.1, 0.1)))
    assert resting.law.moving < 0.97 * busy.law.moving
    assert check_motion(robot, resting).ok
    assert resting.duration - resting.law.moving == pytest.approx(0.2, abs=0.002)
