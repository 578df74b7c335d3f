"""The fastest pace: closed forms, a search by brute force, toppra, symmetry, limits."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from scipy.integrate import quad
from tests.sizing.cases import FOUR, RUBBING, THREE, arc, only, reversed_way, straight, with_limits

import deltadyn as dd
from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.motion import Motion, adept_cycle, check_motion, pick_and_place, stretch
from deltadyn.robot import Robot
from deltadyn.sizing import FastMotion, fastest
from deltadyn.sizing.pace import fastest_part
from deltadyn.sizing.path import Stretch, way_of

# the sampled motion may ask for some 1e-5 of even slowing down (TOLERANCE of `fastest`)
TIME = 1e-4


def test_a_straight_way_takes_the_time_of_constant_acceleration() -> None:
    robot = only(THREE, platform_acceleration=40.0)
    found = fastest(robot, straight(robot, 0.4))
    assert found.duration == pytest.approx(2 * np.sqrt(0.4 / 40.0), rel=TIME)
    assert found.binding is not None
    assert found.binding.name == "platform_acceleration"


def test_a_limit_on_the_speed_makes_it_a_trapezoid() -> None:
    robot = only(THREE, platform_acceleration=40.0, platform_speed=2.0)
    found = fastest(robot, straight(robot, 0.4))
    assert found.duration == pytest.approx(0.4 / 2.0 + 2.0 / 40.0, rel=TIME)


def test_an_arc_follows_the_circle_of_its_accelerations() -> None:
    """u^2 + (x / R)^2 = A^2 with 2 u = dx/ds has x = A R sin(2 s / R) from rest."""
    R, angle, A = 0.25, 1.2, 40.0
    robot = only(THREE, platform_acceleration=A)
    found = fastest(robot, arc(robot, R, angle))
    half = R * angle / 2  # below pi R / 4, where the whole acceleration is used up inward
    exact = 2 * quad(lambda s: 1 / np.sqrt(A * R * np.sin(2 * s / R)), 0.0, half)[0]
    # limits at both ends of every interval make the pace a little slow, in proportion to 1/samples
    assert exact < found.duration < exact * (1 + 3e-4)
    half_as_fine = fastest(robot, arc(robot, R, angle), samples=400)
    assert half_as_fine.duration - exact == pytest.approx(2 * (found.duration - exact), rel=0.1)


def test_a_turn_of_psi_alone_is_a_double_integrator() -> None:
    robot = only(
        FOUR.with_friction(viscous=0.0, coulomb=0.0, passive=()), torque_peak=[90] * 3 + [2.0]
    )
    turn = 2.0
    move = dd.motion.spindle_turn(robot, [0.0, 0.0, -0.6, 0.0], turn, duration=1.0)
    accelerated = dd.State.from_platform(robot, [0.0, 0, -0.6, 0], None, [0.0, 0, 0, 1.0])
    inertia = dd.inverse_dynamics(robot, accelerated)[3]
    found = fastest(robot, move)
    assert found.duration == pytest.approx(2 * np.sqrt(turn * inertia / 2.0), rel=TIME)


@pytest.mark.parametrize("name", ["abb-irb360-6-1600", "telescopic-delta", "usach-delta"])
def test_adept_cycles_keep_all_limits_and_use_one_everywhere(name: str) -> None:
    robot = with_limits(dd.load_robot(name), torque_rms=None)
    even = adept_cycle(robot)
    found = fastest(robot, even)
    assert check_motion(robot, found).ok
    assert found.duration < even.duration
    _check_active(found, 1e-3)


def test_torques_with_every_kind_of_friction_are_used_to_the_limit() -> None:
    robot = RUBBING.with_friction(
        viscous=1.5, coulomb=2.0, coulomb_negative=2.5, stribeck=0.8, stribeck_velocity=0.5,
        offset=0.3, load=0.08, passive=(),
    )  # fmt: skip
    robot = with_limits(robot, torque_peak=22.0, torque_rms=None, platform_acceleration=None)
    found = fastest(robot, adept_cycle(robot))
    assert check_motion(robot, found).ok
    names = {row.name for pace in found.law.paces for row in pace.active}
    assert "torque_peak" in names
    _check_active(found, 1e-3)


def test_viscous_friction_that_sets_the_speed() -> None:
    """psi against 1 N m s/rad and 2 N m with 5 N m: it cannot turn faster than 3 rad/s."""
    robot = only(
        FOUR.with_friction(viscous=[0, 0, 0, 1.0], coulomb=[0, 0, 0, 2.0], passive=()),
        torque_peak=[90.0] * 3 + [5.0],
    )
    move = dd.motion.spindle_turn(robot, [0.0, 0.0, -0.6, 0.0], 2.0, duration=2.0)
    found = fastest(robot, move)
    assert check_motion(robot, found).ok
    assert np.abs(found.pd[:, 3]).max() == pytest.approx(3.0, rel=1e-3)
    _check_active(found, 1e-3)


def _check_active(found: FastMotion, tolerance: float) -> None:
    """Every interval uses a limit, but for those in which the pace switches.

    There the acceleration lies between the two that the limits allow on both sides: a switch
    between two nodes has one such interval, and one more at each stop.
    """
    for pace in found.law.paces:
        loose = np.flatnonzero(pace.use < 1 - tolerance)
        jumps = np.abs(np.diff(pace.sdd)) > 0.05 * np.abs(pace.sdd).max()
        near = np.zeros(len(pace.use), dtype=bool)
        near[:-1] |= jumps
        near[1:] |= jumps
        assert near[loose].all(), (loose, pace.use[loose])
        assert len(loose) <= 0.01 * len(pace.use)
        assert pace.use.max() <= 1 + 1e-7  # rounding of the sets


def test_no_pace_found_by_brute_force_is_faster() -> None:
    """The least time over all paces of a lattice, each step judged by the model itself."""
    robot = with_limits(RUBBING.with_friction(viscous=1.5), torque_peak=25.0, torque_rms=None)
    robot = with_limits(robot, platform_acceleration=None, strut_force=None)
    part = way_of(robot, adept_cycle(robot), 24).stretches[0]
    pace = fastest_part(robot, part, 1.0)
    lattice = np.linspace(0.0, 1.0, 121)[:, None] * (1.02 * np.sqrt(pace.x.max()))
    brute = _brute_force(robot, part, lattice[:, 0])
    assert pace.times.sum() <= brute
    # a lattice of 1 % of the largest speed loses some percent
    assert pace.times.sum() >= 0.95 * brute


def _brute_force(robot: Robot, part: Stretch, levels: FloatArray) -> float:
    """Shortest time by dynamic programming over speeds at the nodes, with limits at both ends."""
    least = np.full(len(levels), np.inf)
    least[0] = 0.0
    v, w = (grid.ravel() for grid in np.meshgrid(levels, levels, indexing="ij"))
    for i, step in enumerate(np.diff(part.s)):
        u = (w**2 - v**2) / (2 * step)
        good = v + w > 0
        for node, speed in ((i, v), (i + 1, w)):
            good &= _keeps(robot, part, node, np.maximum(speed, 1e-6), u)
        with np.errstate(divide="ignore"):
            time = np.where(good, 2 * step / (v + w), np.inf).reshape(len(levels), -1)
        least = (least[:, None] + time).min(axis=0)
    return float(least[0])


def _keeps(robot: Robot, part: Stretch, node: int, sd: FloatArray, sdd: FloatArray) -> BoolArray:
    """Whether a node is passed within the limits at sd and sdd (N,)."""
    p, dp, ddp = (np.tile(x[node], (len(sd), 1)) for x in (part.p, part.dp, part.ddp))
    state = dd.State.from_platform(
        robot, p, dp * sd[:, None], dp * sdd[:, None] + ddp * sd[:, None] ** 2
    )
    limits = robot.limits
    pairs = (
        (dd.inverse_dynamics(robot, state), limits.torque_peak),
        (state.qd, limits.rate),
        (state.qdd, limits.acceleration),
        (np.linalg.norm(state.pd[:, :3], axis=1)[:, None], limits.platform_speed),
    )
    kept = [(np.abs(x) <= np.asarray(most)).all(axis=1) for x, most in pairs]
    good: BoolArray = np.logical_and.reduce(kept)
    return good


@pytest.mark.parametrize("profile", ["quintic", "trapezoid", "s-curve", "modified-sine"])
def test_no_profile_stretched_evenly_is_faster(profile: str) -> None:
    robot = with_limits(THREE.with_payload(2.0), torque_rms=None)
    ends = [-0.2, 0.05, -0.87], [0.18, -0.08, -0.86]
    even = pick_and_place(robot, *ends, lift=0.06, profile=profile)
    found = fastest(robot, even)
    assert found.duration < even.duration
    # the same path whatever its pace was before
    again = fastest(robot, stretch(robot, even, duration=2.0))
    assert found.duration == pytest.approx(again.duration, rel=2e-4)


@pytest.mark.full
def test_reversing_a_path_changes_nothing_but_friction() -> None:
    """tau(q, -qd, qdd) = tau(q, qd, qdd) without friction, with gravity or without."""
    robot = with_limits(THREE, torque_peak=40.0, torque_rms=None, platform_acceleration=None)
    way = pick_and_place(robot, [-0.2, 0.05, -0.87], [0.18, -0.08, -0.8], lift=0.04, duration=1.0)
    for gravity in (0.0, 9.81):
        floating = robot.replace(gravity=gravity)
        there, back = (fastest(floating, x) for x in (way, reversed_way(floating, way)))
        # both are slowed down to TIME by what their samples show between the nodes
        assert there.duration == pytest.approx(back.duration, rel=2 * TIME)
    rough = robot.with_friction(coulomb=[8.0, 4.0, 2.0])
    there, back = (fastest(rough, x) for x in (way, reversed_way(rough, way)))
    assert there.duration != pytest.approx(back.duration, rel=10 * TIME)


@pytest.mark.full
@pytest.mark.parametrize(("cone", "tolerance"), [(False, 1e-5), (True, 4e-4)])
def test_toppra_finds_the_same_time(cone: bool, tolerance: float) -> None:
    """With facets instead of the cone toppra may go 3e-4 beyond the limit."""
    pytest.importorskip("toppra")
    benchmark = import_module("benchmarks.time_optimal")  # which imports toppra
    case = benchmark.prepared("example-delta-4", 200, cone)
    theirs = case.toppra().compute_parameterization(0, 0)[1]
    ours = benchmark.duration(case.stretch.s, case.ours())
    assert ours == pytest.approx(benchmark.duration(case.stretch.s, theirs), rel=tolerance)


def test_rates_belong_to_the_positions() -> None:
    robot = with_limits(FOUR, torque_rms=None)
    found = fastest(robot, adept_cycle(robot), rate=20_000.0)
    h = found.t[1] - found.t[0]
    middle = (found.p[2:] - found.p[:-2]) / (2 * h)
    worst = np.abs(middle - found.pd[1:-1]).max(axis=0)
    # at a jump of the acceleration a central difference is off by its size times h / 4
    assert (worst <= 0.6 * h * np.abs(found.pdd).max(axis=0)).all()
    slope = (found.pd[2:] - found.pd[:-2]) / (2 * h)
    off = np.abs(slope - found.pdd[1:-1]).max(axis=1) > 0.02 * np.abs(found.pdd).max()
    assert off.mean() < 0.02  # switches and stops alone


@pytest.mark.full
def test_the_path_stays_and_holds_keep_their_seconds() -> None:
    robot = with_limits(THREE, torque_rms=None)
    ends = [-0.2, 0.05, -0.87], [0.18, -0.08, -0.86]
    even = pick_and_place(robot, *ends, lift=0.06, back=True, dwell=(0.1, 0.2))
    found = fastest(robot, even)
    assert len(found.law.paces) == 2
    standing = (found.pd == 0).all(axis=1)
    assert standing.mean() * found.duration == pytest.approx(0.3, abs=0.003)  # samples at the edges
    gap = np.linalg.norm(found.p[:, None] - even.p[None], axis=2).min(axis=1)
    assert gap.max() < 2e-3  # half the way between two samples of `even`


def test_a_turning_point_between_two_samples_is_a_stop() -> None:
    robot = with_limits(THREE, torque_rms=None)
    even = adept_cycle(robot, cycles_per_minute=60.0, rate=999.0)
    assert (len(even) - 1) % 2 == 1
    found = fastest(robot, even)
    whole = fastest(robot, adept_cycle(robot, cycles_per_minute=60.0))
    assert [len(x.law.paces) for x in (found, whole)] == [2, 2]
    assert found.duration == pytest.approx(whole.duration, rel=1e-3)


def test_points_are_passed_without_a_stop() -> None:
    robot = with_limits(THREE, torque_rms=None)
    points = np.array([[-0.2, 0, -0.85], [-0.1, 0.1, -0.8], [0.1, 0.05, -0.82], [0.2, -0.1, -0.88]])
    found = fastest(robot, points)
    assert len(found.law.paces) == 1
    assert check_motion(robot, found).ok
    for point in points:
        assert np.linalg.norm(found.p - point, axis=1).min() < 2e-3  # 2 kHz at 4 m/s
    assert found.duration < dd.motion.spline_move(robot, points).duration


@pytest.mark.full
def test_payload_limits_and_share_slow_the_pace_down() -> None:
    robot = with_limits(THREE, torque_rms=None, torque_peak=60.0)
    way = adept_cycle(robot)
    free = fastest(robot, way).duration
    assert fastest(robot, way, payload=3.0).duration > free
    assert fastest(robot, way, share=0.5).duration > free
    tight = with_limits(robot, torque_peak=30.0).limits
    assert fastest(robot, way, limits=tight).duration > free


def test_more_nodes_change_little() -> None:
    robot = with_limits(THREE, torque_rms=None)
    way = adept_cycle(robot)
    coarse, fine, finer = (fastest(robot, way, samples=n).duration for n in (400, 800, 1600))
    assert fine == pytest.approx(finer, rel=1e-3)
    assert fine - finer == pytest.approx((coarse - fine) / 2, rel=0.3)  # of first order


@pytest.mark.full
def test_sharp_bends_have_nodes_enough() -> None:
    """A bend of 4 mm in a way of 2 m: what its samples take beyond the limits stays small."""
    robot = dd.load_robot("abb-irb360-6-1600").with_payload(6.0)
    robot = with_limits(robot, torque_rms=None)
    even = dd.motion.y2(robot)
    found = fastest(robot, even)
    sharpest = max(np.linalg.norm(part.ddp[:, :3], axis=1)[20:-20].max() for part in _parts(found))
    assert sharpest > 200.0  # 1/m
    assert found.law.slower < 1.01
    assert found.duration < 0.6 * even.duration


def _parts(found: FastMotion) -> tuple[Stretch, ...]:
    return found.law.way.stretches


def test_a_strut_force_may_bind() -> None:
    robot = with_limits(THREE.with_payload(4.0), strut_force=90.0, torque_rms=None)
    found = fastest(robot, adept_cycle(robot))
    assert found.binding is not None
    assert found.binding.name == "strut_force"
    assert check_motion(robot, found).ok
    # the largest force lies inside a rod, the rows look at its ends
    assert found.law.slower < 1.01


def _way(robot: Robot) -> Motion:
    return adept_cycle(robot, cycles_per_minute=60.0)


def test_the_motion_is_planned_and_says_its_cycles() -> None:
    found = fastest(with_limits(THREE, torque_rms=None), _way(THREE))
    assert isinstance(found, dd.motion.PlannedMotion)
    assert found.cycles_per_minute == pytest.approx(60 / found.duration)
    assert not found.thermal
