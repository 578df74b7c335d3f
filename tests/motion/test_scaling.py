"""The shortest duration: it touches the binding limit, exceeds none, and says which it is."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from tests.motion.cases import (
    END,
    FOUR,
    GENERATORS,
    POINTS,
    ROBOTS,
    START,
    THREE,
    generators,
    limited,
)

from deltadyn.errors import InputError
from deltadyn.motion import (
    PROFILES,
    FourierSeries,
    Limit,
    LimitError,
    Motion,
    PlannedMotion,
    adept_cycle,
    check_motion,
    fourier_motion,
    gate_move,
    pick_and_place,
    spindle_turn,
    spline_move,
    stretch,
    with_turn,
    y3,
)
from deltadyn.robot import Robot
from deltadyn.robot.settings import Limits, Workspace

TOUCH = 0.995  # the share of the binding limit that a scaled motion takes at least
A3, B3 = START[:3], END[:3]


def assert_touches(robot: Robot, motion: PlannedMotion, share: float = 1.0) -> Limit:
    """The binding limit is taken, no other is exceeded, and the motion says so."""
    report = check_motion(robot, motion, share=share)
    assert report.ok, str(report)
    binding = motion.binding
    assert binding is not None
    assert binding.use is not None
    assert TOUCH <= binding.use <= 1 + 1e-9
    now = report[binding.name]
    assert now.use == pytest.approx(binding.use, rel=2e-3)
    assert now.axis == binding.axis
    return binding


@pytest.mark.parametrize(("dof", "name"), GENERATORS)
def test_every_generator_finds_its_shortest_duration(dof: int, name: str) -> None:
    robot, make = ROBOTS[dof], generators(dof)[name].make
    m = make(duration=None)
    binding = assert_touches(robot, m)
    # a motion that is 1 % shorter breaks the same limit
    again = check_motion(robot, make(duration=0.99 * m.duration))
    assert again[binding.name].exceeded


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_shares_of_the_limits(profile: str, share: float) -> None:
    m = pick_and_place(FOUR, START, END, lift=0.02, profile=profile, share=share)
    assert_touches(FOUR, m, share)
    whole = check_motion(FOUR, m)
    assert max(whole[x].use or 0 for x in ("rate", "acceleration", "torque_peak")) < share + 1e-9


#: One limit of each kind, so low that it must bind, and its name.
TIGHT = {
    "rate": {"rate": 2.0},
    "acceleration": {"acceleration": 20.0},
    "platform_speed": {"platform_speed": 0.5},
    "platform_acceleration": {"platform_acceleration": 4.0},
    "torque_peak": {"torque_peak": 14.0},
    "torque_rms": {"torque_rms": 10.5},
    "strut_force": {"strut_force": 30.0},
}


@pytest.mark.parametrize("name", TIGHT)
def test_every_limit_of_the_pace_can_bind(name: str) -> None:
    robot = limited(THREE, **TIGHT[name])
    m = gate_move(robot, A3, B3, lift=0.012, duration=None)
    assert assert_touches(robot, m).name == name


def test_rates_and_accelerations_bind_exactly() -> None:
    """They scale as 1/T and 1/T^2, so the duration follows from any other one."""
    plain = check_motion(THREE, gate_move(THREE, A3, B3, lift=0.012, duration=0.4))
    slow = limited(THREE, platform_speed=0.5)
    m = gate_move(slow, A3, B3, lift=0.012, duration=None)
    assert m.duration == pytest.approx(0.4 * plain["platform_speed"].worst / 0.5, rel=3e-4)
    soft = limited(THREE, platform_acceleration=4.0)
    m = gate_move(soft, A3, B3, lift=0.012, duration=None)
    expected = 0.4 * math.sqrt(plain["platform_acceleration"].worst / 4.0)
    assert m.duration == pytest.approx(expected, rel=3e-4)


def test_a_robot_with_torque_limits_alone() -> None:
    robot = THREE.replace(limits=Limits(torque_peak=40.0))
    m = gate_move(robot, A3, B3, lift=0.05, duration=None)
    assert assert_touches(robot, m).name == "torque_peak"


def test_payload_makes_a_move_longer() -> None:
    light, heavy = (THREE.with_payload(mass) for mass in (0.0, 4.0))
    moves = [adept_cycle(robot) for robot in (light, heavy)]
    assert moves[0].duration < moves[1].duration
    assert assert_touches(heavy, moves[1]).name == "torque_rms"


def test_holds_keep_their_seconds() -> None:
    """The stops of two seconds stay; what moves gets faster, and the rest cools the drives."""
    m = y3(THREE, dwell=2.0)
    standing = np.linalg.norm(m.pd, axis=1) < 1e-9
    assert np.sum(standing) / 2000 == pytest.approx(6.0, abs=0.02)
    robot = limited(THREE, torque_rms=13.0)
    assert assert_touches(robot, y3(robot, dwell=0.0)).name == "torque_rms"
    short, long = y3(robot, dwell=0.0), y3(robot, dwell=0.5)
    assert long.duration - 1.5 < short.duration


def test_a_coarse_rate_does_not_hide_a_peak() -> None:
    """The search looks between the samples that the caller asked for."""
    fine = gate_move(THREE, A3, B3, lift=0.012, duration=None)
    coarse = gate_move(THREE, A3, B3, lift=0.012, duration=None, rate=30.0)
    assert len(coarse) < 12
    assert coarse.duration == pytest.approx(fine.duration, rel=1e-3)


def test_stretch_finds_the_shortest_time_of_any_motion() -> None:
    plain = gate_move(FOUR, START, END, lift=0.012, duration=1.0)
    both = with_turn(FOUR, plain, 3.0, begin=0.3, end=0.6)
    m = stretch(FOUR, both)
    assert_touches(FOUR, m)
    np.testing.assert_array_equal(m.p, both.p)
    assert len(m) == len(both)
    assert m.duration > stretch(FOUR, plain).duration
    half = stretch(FOUR, both, share=0.5)
    assert_touches(FOUR, half, 0.5)


def test_stretch_of_a_fourier_series() -> None:
    series = FourierSeries(
        0.4,
        np.array([0.0, 0.0, -0.78]),
        np.array([[0.05, 0.02], [0.04, -0.02], [0.02, 0.01]]),
        np.array([[0.01, 0.02], [0.02, 0.01], [0.01, 0.02]]),
    )
    m = stretch(THREE, fourier_motion(THREE, series))
    assert_touches(THREE, m)


def test_a_given_time_is_not_checked_against_limits() -> None:
    """Limits are for `check_motion`; the generator does what it is told."""
    m = gate_move(THREE, A3, B3, lift=0.012, duration=0.1)
    assert not check_motion(THREE, m).ok


# What no duration can do.


def test_a_way_out_of_the_workspace_is_named_with_place_and_amount() -> None:
    with pytest.raises(LimitError) as caught:
        pick_and_place(THREE, [0.0, 0.0, -0.8], [0.63, 0.0, -0.8])
    error = caught.value
    assert error.limit.name == "workspace_radius"
    assert error.limit.margin == pytest.approx(-0.03, abs=1e-9)
    assert error.position is not None
    assert error.position[:2] == pytest.approx((0.63, 0.0), abs=1e-12)
    assert str(error) == (
        f"workspace_radius at platform position [0.63, 0, {error.position[2]:.4g}] is 0.63 m; "
        "allowed: 0.6 m, 0.03 m beyond (robot 'sipro-d3-1200'); no duration changes that"
    )
    back = pickle.loads(pickle.dumps(error))
    assert str(back) == str(error)
    assert back.limit == error.limit


def test_too_heavy_a_payload() -> None:
    with pytest.raises(LimitError, match=r"payload is 5 kg; allowed: 4 kg, 1 kg beyond \(robot"):
        gate_move(THREE.with_payload(5.0), A3, B3, lift=0.012, duration=None)


def test_too_weak_drives_at_rest() -> None:
    robot = limited(THREE, torque_peak=2.0)
    message = r"torque_peak of axis \d at platform position .* N m beyond .* however slow"
    with pytest.raises(LimitError, match=message) as caught:
        gate_move(robot, A3, B3, lift=0.012, duration=None)
    assert caught.value.limit.allowed == 2.0
    robot = limited(THREE, torque_rms=2.0)
    with pytest.raises(LimitError, match=r"torque_rms of axis \d is .*; allowed: 2 N m") as caught:
        gate_move(robot, A3, B3, lift=0.012, duration=None)
    assert caught.value.position is None  # it has no single place


def test_psi_beyond_its_range() -> None:
    with pytest.raises(LimitError, match=r"angle_max of axis psi .*; allowed: 6.28319 rad, 0.2168"):
        spindle_turn(FOUR, [0.0, 0.0, -0.6, 0.0], 6.5)


def test_a_robot_without_limits_has_no_shortest_duration() -> None:
    free = THREE.replace(limits=Limits())
    with pytest.raises(InputError, match="duration is None; allowed: a number of s: robot"):
        gate_move(free, A3, B3, lift=0.012, duration=None)
    with pytest.raises(InputError, match="names no limit that bounds the pace"):
        stretch(free, gate_move(THREE, A3, B3, lift=0.012))


def test_a_pose_between_the_samples_of_the_search_is_seen() -> None:
    """The caller's finer samples pass the limit by nanometres, those of the search do not."""
    points = np.array([A3, [0.03, 0.25, -0.69], B3])
    m = spline_move(THREE, points, duration=1.0, rate=100_000.0)
    at_search = spline_move(THREE, points, duration=1.0, rate=240.0)
    radius = float(np.max(np.hypot(*m.p[:, :2].T)))
    coarse = float(np.max(np.hypot(*at_search.p[:, :2].T)))
    assert coarse < radius - 1e-8
    robot = limited(THREE, workspace=Workspace((radius + coarse) / 2, -0.88, -0.68))
    with pytest.raises(LimitError, match="workspace_radius"):
        spline_move(robot, points, rate=40_000.0)


def test_a_spline_that_overshoots_the_workspace() -> None:
    points = POINTS[:, :3].copy()
    points[2] = [0.59, 0.0, -0.69]
    points[3] = [0.58, -0.1, -0.69]
    with pytest.raises(LimitError, match="workspace_radius at platform position"):
        spline_move(THREE, points)
    assert isinstance(spline_move(THREE, points, duration=2.0), Motion)
