"""Scenarios: feasible on every catalogue robot, and shaped as their sources say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from tests.motion.cases import limited

from deltadyn.arrays import FloatArray
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.motion import (
    Motion,
    PlannedMotion,
    adept_cycle,
    check_motion,
    telescopic_gate,
    y1,
    y2,
    y3,
)
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot, robot_names
from deltadyn.robot.settings import Workspace

SCENARIOS: dict[str, Callable[..., PlannedMotion]] = {
    "adept_cycle": adept_cycle,
    "y1": y1,
    "y2": y2,
    "y3": y3,
    "telescopic_gate": telescopic_gate,
}
NAMES = robot_names()
D3 = load_robot("sipro-d3-1200")
IRB = load_robot("abb-irb360-6-1600")

every_robot = pytest.mark.parametrize("robot_name", NAMES)


@cache
def made(scenario: str, robot_name: str) -> PlannedMotion:
    """The scenario as a user gets it without a choice of time, at half the usual rate."""
    return SCENARIOS[scenario](load_robot(robot_name), rate=1000.0)


def accelerations(m: Motion) -> FloatArray:
    out: FloatArray = np.linalg.norm(m.pdd[:, :3], axis=1)
    return out


@pytest.mark.full
@every_robot
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_feasible_on_every_robot(scenario: str, robot_name: str) -> None:
    robot, m = load_robot(robot_name), made(scenario, robot_name)
    report = check_motion(robot, m)
    assert report.ok, str(report)
    assert m.p.shape[1] == robot.dof
    if scenario == "telescopic_gate":
        assert m.binding is None
        assert m.duration == 0.6
    else:
        assert m.binding is not None
        assert report[m.binding.name].use == pytest.approx(1.0, abs=0.005)


@every_robot
def test_every_robot_makes_the_cycles_it_is_sold_for(robot_name: str) -> None:
    """limits.cycles of the catalogue: Adept cycles per minute, without payload."""
    robot = load_robot(robot_name)
    cycles = robot.limits.cycles
    assert cycles is not None
    m = adept_cycle(robot, cycles_per_minute=cycles)
    assert m.duration == pytest.approx(60 / cycles, rel=1e-15)
    report = check_motion(robot, m)
    assert report.ok, str(report)


@every_robot
def test_adept_cycle_has_the_size_of_its_name(robot_name: str) -> None:
    m = made("adept_cycle", robot_name)
    robot = load_robot(robot_name)
    p = robot.in_space(m.p)
    width, height = np.ptp(p[:, 0]), np.ptp(p[:, 2])
    cylinder = robot.limits.workspace
    assert cylinder is not None
    room = min(1.0, 0.9 * 2 * cylinder.radius / 0.305)  # a small robot makes a smaller one
    assert width == pytest.approx(0.305 * room, rel=1e-5)
    assert height == pytest.approx(0.025 * room, rel=1e-5)
    assert np.ptp(p[:, 1]) == 0.0
    np.testing.assert_allclose(m.p[-1], m.p[0], rtol=0, atol=1e-12)
    turned = int(np.argmax(m.p[:, 0]))
    assert m.t[turned] == pytest.approx(m.duration / 2, abs=2e-3)


def test_adept_cycle_shrinks_on_a_small_robot() -> None:
    small = limited(D3, workspace=Workspace(0.1, -0.8, -0.75))
    m = adept_cycle(small)
    assert np.ptp(m.p[:, 0]) == pytest.approx(0.18, rel=1e-4)  # 0.9 of the diameter
    assert np.ptp(m.p[:, 2]) / np.ptp(m.p[:, 0]) == pytest.approx(25 / 305, rel=1e-4)
    assert check_motion(small, m).ok


def test_adept_cycle_turns_psi_and_back() -> None:
    m = made("adept_cycle", IRB.name)
    assert np.ptp(m.p[:, 3]) == pytest.approx(np.pi / 2, rel=1e-6)
    still = adept_cycle(IRB, turn=0.0)
    assert np.ptp(still.p[:, 3]) == 0.0
    assert still.duration < m.duration  # psi was what took the time


def test_y1_goes_between_two_belts() -> None:
    m = made("y1", D3.name)
    cylinder = working_cylinder(D3)
    stroke = 0.25 * (cylinder.z_max - cylinder.z_min)
    low = m.p[:, 2] < np.min(m.p[:, 2]) + 1e-9
    x = m.p[low, 0]
    assert set(np.round(x / cylinder.radius, 6)) == {-0.45, 0.45}
    visits = np.sum(np.diff(low.astype(int)) == 1)
    assert visits == 8  # four picks and four places
    np.testing.assert_allclose(m.p[-1], m.p[0], rtol=0, atol=1e-12)
    # slow strokes, quick ways across
    hover = np.min(m.p[:, 2]) + stroke
    down = m.p[:, 2] < hover - 1e-6
    assert accelerations(m)[down].max() < 0.5 * accelerations(m)[~down].max()


def test_y1_follows_its_seed() -> None:
    one, same, other = (y1(D3, seed=seed, duration=6.0, rate=500) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.p, same.p)
    assert np.max(np.abs(one.p - other.p)) > 0.01
    longer = y1(D3, picks=6, duration=9.0, rate=500)
    assert np.sum(np.diff((longer.p[:, 2] < longer.p[:, 2].min() + 1e-9).astype(int)) == 1) == 12


def test_y1_is_laid_out_as_asked() -> None:
    """Belts at another distance and depth, and the whole layout turned about z."""
    straight = y1(D3, belt=0.3, stroke=0.4, duration=6.0, rate=500)
    assert straight.p[0, :2] == pytest.approx([0.3 * 0.6, 0.0])  # of the radius
    assert np.ptp(straight.p[:, 2]) == pytest.approx((0.4 + 0.4 * 0.4) * 0.2, rel=1e-3)
    turned = y1(D3, belt=0.3, stroke=0.4, azimuth=0.7, duration=6.0, rate=500)
    c, s = np.cos(0.7), np.sin(0.7)
    right = straight.p @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    assert np.abs(turned.p - right).max() < 1e-12


def test_random_layouts_follow_their_seed_and_stay_where_they_belong() -> None:
    for make in (y2, y3):
        one, same, other, ours = (
            make(D3, seed=seed, duration=8.0, rate=500) for seed in (3, 3, 4, None)
        )
        assert np.array_equal(one.p, same.p)
        assert np.abs(one.p - other.p).max() > 0.01
        assert np.abs(one.p - ours.p).max() > 0.01
    radii = np.linalg.norm(y2(D3, seed=5, rate=500).p[:, :2], axis=1)
    assert 0.05 < radii.max() < 0.15  # the places lie within 0.1 m, a spline swings out
    stops = y3(D3, seed=5, rate=500)
    still = np.linalg.norm(stops.p[np.abs(stops.pd).max(axis=1) == 0][:, :2], axis=1)
    assert (np.isclose(still, 0.95 * 0.6) | np.isclose(still, 0.0)).all()


def test_y2_with_quicker_gates_lasts_shorter() -> None:
    assert y2(D3, ease=2.0, rate=500).duration < 0.9 * y2(D3, rate=500).duration


def test_y1_takes_objects_at_any_angle_and_places_them_straight() -> None:
    m = made("y1", IRB.name)
    low = m.p[:, 2] < np.min(m.p[:, 2]) + 1e-9
    place = low & (m.p[:, 0] > 0)
    np.testing.assert_allclose(m.p[place, 3], 0.0, atol=1e-12)
    pick = low & (m.p[:, 0] < 0)
    angles = set(np.round(m.p[pick, 3], 6))
    assert len(angles) == 4
    assert max(np.abs(list(angles))) <= np.pi / 2


def test_y2_is_near_the_centre_with_low_and_high_accelerations() -> None:
    """5 to 10 cm from the centre on the D3-1200, as the paper says of its places."""
    m = made("y2", D3.name)
    radius = np.hypot(m.p[:, 0], m.p[:, 1])
    assert 0.09 < radius.max() < 0.13  # a spline swings a little beyond its points
    first = m.t < 0.6 * m.duration
    quick = accelerations(m)[~first].max()
    slow = accelerations(m)[first].max()
    assert 5 < quick / slow < 20


def test_y3_stops_at_three_places_near_the_limits() -> None:
    m = made("y3", D3.name)
    cylinder = working_cylinder(D3)
    standing = np.linalg.norm(m.pd, axis=1) < 1e-9
    stops = np.unique(np.round(m.p[standing], 9), axis=0)
    radius = np.hypot(stops[:, 0], stops[:, 1]) / cylinder.radius
    assert sorted(np.round(radius, 6)) == [0.0, 0.95, 0.95, 0.95]  # the centre at both ends
    assert standing.sum() / 1000 == pytest.approx(6.0, abs=0.03)
    brief = y3(D3, dwell=0.5, rate=1000.0)
    assert m.duration - brief.duration == pytest.approx(4.5, abs=0.01)


def test_telescopic_gate_has_the_extents_of_the_figure() -> None:
    """[telescopic2022] figure 7: x from -0.2 to 0.2, z from -0.8 to -0.77 m in 0.6 s; the peaks of
    the curves read as about 1.5 m/s across, 0.5 m/s up and 10 to 15 m/s^2.
    """
    m = made("telescopic_gate", "telescopic-delta")
    assert m.duration == 0.6
    np.testing.assert_allclose(m.p[0], [-0.2, 0.0, -0.8, 0.0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(m.p[-1], [0.2, 0.0, -0.8, 0.0], rtol=0, atol=1e-12)
    assert np.max(m.p[:, 2]) == pytest.approx(-0.77, abs=1e-12)
    assert np.max(m.pd[:, 0]) == pytest.approx(1.5, rel=0.1)
    assert np.max(m.pd[:, 2]) == pytest.approx(0.5, rel=0.1)
    assert 9 < np.max(np.abs(m.pdd[:, 0])) < 15
    assert 9 < np.max(np.abs(m.pdd[:, 2])) < 15


@pytest.mark.full
def test_scenarios_find_a_workspace_where_the_robot_names_none() -> None:
    robot = limited(D3, workspace=None)
    cylinder = working_cylinder(robot)
    assert cylinder.radius > 0.4
    for scenario in ("adept_cycle", "y3"):
        assert check_motion(robot, SCENARIOS[scenario](robot, rate=500)).ok


@pytest.mark.parametrize("scenario", ["y1", "y2", "y3", "telescopic_gate"])
def test_a_duration_is_kept(scenario: str) -> None:
    m = SCENARIOS[scenario](D3, duration=9.5, rate=200)
    assert m.duration == 9.5
    assert m.binding is None


def robot_with_stiff_psi() -> Robot:
    return limited(IRB, angle_min=[-1.0, -1.0, -1.0, -0.2], angle_max=[2.0, 2.0, 2.0, 0.2])


def test_a_turn_can_be_chosen() -> None:
    m = y3(robot_with_stiff_psi(), turn=0.1, dwell=0.2)
    assert np.max(np.abs(m.p[:, 3])) == pytest.approx(0.1, rel=1e-12)
