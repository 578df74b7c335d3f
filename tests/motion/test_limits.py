"""check_motion: each row by a motion that breaks it alone, its numbers by other ways, its table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from tests.motion.cases import END, FOUR, ROBOTS, START, THREE, generators, limited

from deltadyn.dynamics import MODELS, constraint_loads, inverse_dynamics
from deltadyn.kinematics import forward_kinematics, singularity, strut_angles
from deltadyn.motion import Limit, Motion, check_motion, gate_move, pick_and_place
from deltadyn.motion.limits import EXCEEDED, OK, UNNAMED
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Strut
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import Limits

OPEN3, OPEN4 = limited(THREE, workspace=None), limited(FOUR, workspace=None)
CENTRE3, CENTRE4 = [0.0, 0.0, -0.8], [0.0, 0.0, -0.6, 0.0]


def poses(robot: Robot, *points: npt.ArrayLike) -> Motion:
    """Stops at these points, 0.1 s apart: nothing but the poses can break a limit."""
    p = np.array(points, dtype=float)
    zero = np.zeros_like(p)
    t = 0.1 * np.arange(len(p))
    return Motion.from_platform(robot, t, p, zero, zero, unreachable="nan")


def quick(robot: Robot) -> Motion:
    """A brisk move that keeps all limits of the catalogue's robots."""
    return gate_move(robot, START[: robot.dof], END[: robot.dof], lift=0.012, duration=0.45)


class Breach(NamedTuple):
    """A robot and a motion that breaks one of its limits, and no other."""

    robot: Robot
    motion: Callable[[Robot], Motion]
    axis: str = ""
    worst: float | None = None
    allowed: float | None = None


BREACHES: dict[str, tuple[str, Breach]] = {
    "reach": ("reach", Breach(OPEN3, lambda r: poses(r, CENTRE3, [0, 0, -3]), "1")),
    "too near": ("reach", Breach(OPEN3, lambda r: poses(r, CENTRE3, [0, 0, -0.3]), "1")),
    "radius": (
        "workspace_radius",
        Breach(THREE, lambda r: poses(r, CENTRE3, [0.61, 0, -0.75]), "", 0.61, 0.6),
    ),
    "floor": (
        "workspace_z_min",
        Breach(THREE, lambda r: poses(r, CENTRE3, [0, 0, -0.89]), "", -0.89, -0.88),
    ),
    "ceiling": (
        "workspace_z_max",
        Breach(THREE, lambda r: poses(r, CENTRE3, [0, 0, -0.67]), "", -0.67, -0.68),
    ),
    "angle_min": (
        "angle_min",
        Breach(
            OPEN3,
            lambda r: poses(r, CENTRE3, forward_kinematics(r, [-0.82, 0.3, 0.3])),
            "1",
            -0.82,
            -math.radians(45),
        ),
    ),
    "angle_max": (
        "angle_max",
        Breach(
            OPEN3,
            lambda r: poses(r, CENTRE3, forward_kinematics(r, [0.5, 1.8, 0.5])),
            "2",
            1.8,
            math.radians(100),
        ),
    ),
    "psi": (
        "angle_max",
        Breach(FOUR, lambda r: poses(r, CENTRE4, [0, 0, -0.6, 6.5]), "psi", 6.5, 2 * math.pi),
    ),
    "ball joint": (
        "ball_joint_angle",
        Breach(OPEN3, lambda r: poses(r, CENTRE3, [0, 0.68, -0.8]), "1", None, math.pi / 4),
    ),
    "singularity": (
        "singularity_margin",
        Breach(OPEN3, lambda r: poses(r, CENTRE3, [0, 0, -1.264]), "1", None, math.radians(10)),
    ),
    "telescope too long": (
        "spindle_stroke",
        Breach(OPEN4, lambda r: poses(r, CENTRE4, [0, 0, -0.96, 0]), "", 1.01, 1.0),
    ),
    "telescope too short": (
        "spindle_stroke",
        Breach(OPEN4, lambda r: poses(r, CENTRE4, [0, 0, -0.44, 0]), "", 0.49, 0.5),
    ),
    "payload": (
        "payload",
        Breach(THREE.with_payload(4.5), lambda r: poses(r, CENTRE3, CENTRE3), "", 4.5, 4.0),
    ),
    "rate": ("rate", Breach(limited(THREE, rate=[9, 9, 1.0]), quick, "3", None, 1.0)),
    "rate of psi": (
        "rate",
        Breach(limited(FOUR, rate=[9, 9, 9, 4.0]), quick, "psi", None, 4.0),
    ),
    "acceleration": (
        "acceleration",
        Breach(limited(THREE, acceleration=[100, 20, 100]), quick, "2", None, 20.0),
    ),
    "platform speed": (
        "platform_speed",
        Breach(limited(THREE, platform_speed=1.0), quick, "", None, 1.0),
    ),
    "platform acceleration": (
        "platform_acceleration",
        Breach(limited(THREE, platform_acceleration=10.0), quick, "", None, 10.0),
    ),
    "torque": (
        "torque_peak",
        Breach(limited(THREE, torque_peak=[100, 100, 7.0]), quick, "3", None, 7.0),
    ),
    "heat": (
        "torque_rms",
        Breach(limited(THREE, torque_rms=[5.0, 50, 50]), quick, "1", None, 5.0),
    ),
    "strut": ("strut_force", Breach(limited(THREE, strut_force=25.0), quick, "2", None, 25.0)),
}


@pytest.mark.parametrize("name", BREACHES)
def test_each_limit_is_broken_by_itself(name: str) -> None:
    limit_name, breach = BREACHES[name]
    motion = breach.motion(breach.robot)
    report = check_motion(breach.robot, motion)
    assert [limit.name for limit in report.exceeded] == [limit_name], str(report)
    (limit,) = report.exceeded
    assert not report.ok
    assert limit is report.binding
    assert limit.status == EXCEEDED
    assert limit.use is not None
    assert limit.margin is not None
    assert limit.use > 1
    assert limit.margin < 0
    assert limit.axis == breach.axis
    if breach.worst is not None:
        assert limit.worst == pytest.approx(breach.worst, rel=1e-9)
        assert breach.allowed is not None
        assert abs(limit.margin) == pytest.approx(abs(breach.worst - breach.allowed), rel=1e-6)
    if breach.allowed is not None:
        assert limit.allowed == pytest.approx(breach.allowed, rel=1e-12)
    if motion.duration == pytest.approx(0.1):
        expected = None if limit_name == "payload" else 0.1
        assert limit.time == expected
    assert f"1 limit is exceeded: {limit_name}" in str(report)


def test_every_row_is_covered() -> None:
    names = {limit.name for limit in check_motion(FOUR, quick(FOUR)).limits}
    assert names == {limit_name for limit_name, _ in BREACHES.values()}


@pytest.mark.parametrize("dof", [3, 4])
def test_a_good_motion_keeps_all(dof: int) -> None:
    robot = ROBOTS[dof]
    report = check_motion(robot, quick(robot))
    assert report.ok
    assert report.exceeded == ()
    assert {limit.status for limit in report.limits} == {OK}
    assert report.binding == max(report.limits, key=lambda limit: limit.use or 0)
    for limit in report.limits:
        assert limit.margin is not None
        assert limit.margin >= 0


# The numbers, each by another way.


@pytest.mark.parametrize("name", ["sipro-d3-1200", "abb-irb360-6-1600", "autonox-rl5-1450"])
def test_the_numbers_are_those_of_the_library(name: str) -> None:
    robot = load_robot(name).with_payload(1.5)
    a, b = (np.array([x, y, -0.87, psi]) for x, y, psi in ((-0.3, 0.1, 0.2), (0.25, 0.2, 1.4)))
    m = pick_and_place(robot, a[: robot.dof], b[: robot.dof], lift=0.02, duration=0.8)
    report = check_motion(robot, m)
    tau = inverse_dynamics(robot, m)
    limits = robot.limits
    assert limits.torque_peak is not None
    assert limits.torque_rms is not None
    share = np.abs(tau) / np.asarray(limits.torque_peak)
    row, axis = np.unravel_index(int(share.argmax()), share.shape)
    peak = report["torque_peak"]
    assert peak.worst == pytest.approx(abs(tau[row, axis]), rel=1e-12)
    assert (peak.time, peak.axis) == (m.t[row], robot.axis_names()[axis])
    # the samples are even, and the ends count half: a difference of 1 in 1600
    rms = np.sqrt(np.mean(tau**2, axis=0)) / np.asarray(limits.torque_rms)
    assert report["torque_rms"].use == pytest.approx(rms.max(), rel=1e-3)
    assert report["torque_rms"].axis == robot.axis_names()[int(rms.argmax())]
    loads = constraint_loads(robot, m)
    assert loads.rods is not None
    assert report["strut_force"].worst == pytest.approx(loads.rods.largest_force, rel=1e-12)
    single = singularity(robot, m)
    assert report["singularity_margin"].worst == pytest.approx(single.margin.min(), rel=1e-12)
    angles = strut_angles(robot, m)
    assert report["ball_joint_angle"].worst == pytest.approx(angles.ball_joint.max(), rel=1e-12)
    assert report["ball_joint_angle"].margin == pytest.approx(angles.margin.min(), rel=1e-9)
    assert report["platform_speed"].worst == pytest.approx(
        np.linalg.norm(m.pd[:, :3], axis=1).max(), rel=1e-12
    )


def test_pairs_without_a_spacing_share_their_force() -> None:
    m = quick(THREE)
    loads = constraint_loads(THREE, m)
    pair = max(np.abs(loads.axial_max).max(), np.abs(loads.axial_min).max())
    g = THREE.rotary
    unknown = THREE.replace(
        geometry=type(g)(g.base_radius, g.platform_radius, g.arm_length, g.strut_length, g.azimuth)
    )
    assert check_motion(unknown, m)["strut_force"].worst == pytest.approx(pair / 2, rel=1e-12)
    rods = [Strut(2 * s.mass, s.com_fraction, 2 * s.inertia, rods=1) for s in THREE.struts]
    alone = THREE.replace(struts=(rods[0], rods[1], rods[2]))
    assert check_motion(alone, m)["strut_force"].worst == pytest.approx(pair, rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_the_model_decides_the_torque(model: str) -> None:
    m = quick(THREE)
    report = check_motion(THREE, m, model=model)
    expected = np.abs(inverse_dynamics(THREE, m, model)).max()
    assert report["torque_peak"].worst == pytest.approx(expected, rel=1e-12)
    assert report.model == model


@pytest.mark.parametrize("up", [-80.0, 150.0])
def test_a_force_on_the_platform_loads_drives_and_struts(up: float) -> None:
    """Downwards the rods are in tension, upwards in compression."""
    m = quick(THREE)
    plain, loaded = check_motion(THREE, m), check_motion(THREE, m, external_force=[0, 0, up])
    tau = inverse_dynamics(THREE, m, external_force=[0, 0, up])
    assert loaded["torque_peak"].worst == pytest.approx(np.abs(tau).max(), rel=1e-12)
    assert loaded["strut_force"].worst > plain["strut_force"].worst + 5
    rods = constraint_loads(THREE, m, external_force=[0, 0, up]).rods
    assert rods is not None
    assert loaded["strut_force"].worst == pytest.approx(rods.largest_force, rel=1e-12)
    tension, compression = np.max(rods.axial_max), -np.min(rods.axial_min)
    assert (tension > compression) == (up < 0)


def test_shares_scale_the_limits_of_the_pace_only() -> None:
    m = quick(FOUR)
    whole, half = check_motion(FOUR, m), check_motion(FOUR, m, share=0.5)
    paced = {"rate", "acceleration", "platform_speed", "platform_acceleration"}
    paced |= {"torque_peak", "torque_rms", "strut_force"}
    for one, two in zip(whole.limits, half.limits, strict=True):
        factor = 0.5 if one.name in paced else 1.0
        assert one.allowed is not None
        assert two.allowed == pytest.approx(factor * one.allowed, rel=1e-15)


def test_a_limit_that_is_touched_is_kept() -> None:
    """The last digits of a sum do not break a limit."""
    on_the_rim = [0.6 * math.cos(1.0), 0.6 * math.sin(1.0), -0.68]
    report = check_motion(THREE, poses(THREE, CENTRE3, on_the_rim))
    assert report.ok
    assert report["workspace_radius"].use == pytest.approx(1.0, abs=1e-9)
    assert report["workspace_z_max"].use == pytest.approx(1.0, abs=1e-9)


def test_the_margin_of_a_range_counts_from_its_middle() -> None:
    robot = limited(THREE, angle_min=-1.0, angle_max=[2.0, 3.0, 3.0])
    m = poses(limited(robot, workspace=None), forward_kinematics(robot, [0.2, 0.2, 0.2]))
    report = check_motion(robot, m)
    assert report["angle_max"].use == 0.0  # below the middle, 0.5 and 1.0 rad
    assert report["angle_min"].use == pytest.approx((1.0 - 0.2) / 2.0, rel=1e-9)


# What is not known.


def test_a_robot_that_names_no_limits() -> None:
    free = THREE.replace(limits=Limits())
    report = check_motion(free, quick(THREE))
    named = {"reach", "singularity_margin"}  # from geometry and from the call
    for limit in report.limits:
        known = limit.name in named
        assert limit.known is known
        assert limit.status == (OK if known else UNNAMED)
        assert math.isfinite(limit.worst)
        assert (limit.allowed is None) is not known
    assert report.ok
    assert report["rate"].worst == check_motion(THREE, quick(THREE))["rate"].worst
    assert "unknown: the robot names no limit" in str(report)


def test_only_one_side_of_a_range() -> None:
    robot = limited(OPEN3, angle_min=None)
    m = poses(robot, CENTRE3, forward_kinematics(robot, [-0.82, 0.3, 0.3]))
    report = check_motion(robot, m)
    assert report["angle_min"].status == UNNAMED
    assert report["angle_min"].worst == pytest.approx(-0.82)
    assert report["angle_max"].status == OK
    use = report["angle_max"].use
    assert use is not None
    assert 0 <= use < 1


def test_rows_out_of_reach_leave_the_others() -> None:
    m = poses(OPEN3, CENTRE3, [0, 0, -3], [0.3, 0, -0.8])
    report = check_motion(OPEN3, m)
    rest = check_motion(OPEN3, poses(OPEN3, CENTRE3, [0.3, 0, -0.8]))
    for name in ("angle_max", "ball_joint_angle", "torque_peak", "strut_force"):
        assert report[name].worst == pytest.approx(rest[name].worst, rel=1e-12)
    reach = report["reach"]
    # the strut would have to bridge from the arm's end to the point
    assert reach.worst == pytest.approx(math.hypot(3.0, 0.15) - 0.375, rel=1e-12)
    assert reach.margin == pytest.approx(0.9 - reach.worst, rel=1e-12)


def test_too_near_is_out_of_reach_too() -> None:
    """On the axis the strut has room up to the far side of the elbow's circle."""
    limit = check_motion(OPEN3, poses(OPEN3, CENTRE3, [0, 0, -0.3]))["reach"]
    assert limit.worst == 0.9
    assert limit.allowed == pytest.approx(math.hypot(0.3, 0.15) + 0.375, rel=1e-12)
    assert limit.margin == pytest.approx(math.hypot(0.3, 0.15) + 0.375 - 0.9, rel=1e-9)


def test_no_row_in_reach() -> None:
    report = check_motion(OPEN3, poses(OPEN3, [0, 0, -3], [0, 0, -4]))
    assert report.exceeded[0].name == "reach"
    for name in ("rate", "torque_peak", "torque_rms", "strut_force", "singularity_margin"):
        assert report[name].status == "unknown: no sample has a value"
        assert report[name].use is None
    assert "no sample has a value" in str(report)


def test_a_motion_through_a_singular_pose_has_no_margin() -> None:
    """Between two samples the struts pass through one plane: elbows below, then above."""
    below = Motion.from_joints(OPEN3, [0.0], np.full((1, 3), 0.4), *np.zeros((2, 1, 3)))
    above = Motion.from_joints(
        OPEN3, [0.0], np.full((1, 3), 0.4), *np.zeros((2, 1, 3)), platform="above"
    )
    names = ("p", "pd", "pdd", "cos_q", "sin_q", "qd", "qdd")
    fields: dict[str, Any] = {
        name: np.concatenate([getattr(below, name), getattr(above, name)]) for name in names
    }
    both = Motion(t=np.array([0.0, 0.1]), **fields)
    assert check_motion(OPEN3, below)["singularity_margin"].worst > 0.3
    limit = check_motion(OPEN3, both)["singularity_margin"]
    assert limit.worst == 0.0
    assert limit.exceeded
    assert check_motion(OPEN3, both, singularity_margin=0.0)["singularity_margin"].exceeded


# The report.


def test_the_table_names_units_and_values() -> None:
    report = check_motion(THREE, quick(THREE))
    title, head, *rows = str(report).splitlines()
    assert title.startswith("sipro-d3-1200, 901 samples in 0.45 s, model 'exact': every known")
    assert title.endswith(report.summary)
    columns = ["limit", "worst", "allowed", "unit", "margin", "used", "at", "axis", "status"]
    assert head.split() == columns
    assert len(rows) == len(report.limits) == 16
    for row, limit in zip(rows, report.limits, strict=True):
        assert row.startswith(limit.name)
        assert limit.unit in row
        assert row.endswith("ok")
    assert len(str(check_motion(FOUR, quick(FOUR))).splitlines()) == 19


def test_a_limit_in_one_sentence() -> None:
    limit = Limit("rate", 12.5, 10.0, "rad/s", -2.5, 1.25, 0.125, "2", EXCEEDED)
    expected = "rate of axis 2 at 0.125 s is 12.5 rad/s; allowed: 10 rad/s, 2.5 rad/s beyond"
    assert str(limit) == expected
    unknown = Limit("rate", 12.5, None, "rad/s", None, None, 0.125, "2", UNNAMED)
    assert str(unknown) == "rate of axis 2 at 0.125 s is 12.5 rad/s; " + UNNAMED


def test_the_share_stands_in_the_title() -> None:
    report = check_motion(THREE, quick(THREE), share=0.8)
    assert "80 % of the limits that time sets" in str(report)


@pytest.mark.parametrize("dof", [3, 4])
def test_20000_samples_are_checked_like_their_halves(dof: int) -> None:
    """The worst of a long motion is the worst of its halves; `benchmarks.time_optimal` times it."""
    robot = ROBOTS[dof]
    m = generators(dof)["gate_move"].make(duration=10.0)
    assert len(m) == 20_001
    whole = check_motion(robot, m)
    parts = [
        check_motion(
            robot, Motion.from_platform(robot, m.t[rows], m.p[rows], m.pd[rows], m.pdd[rows])
        )
        for rows in (slice(None, 10_001), slice(10_000, None))
    ]
    for limit in whole.limits:
        if limit.use is not None and limit.name != "torque_rms":  # a mean over the whole
            worst = max(part[limit.name].use or 0.0 for part in parts)
            assert limit.use == pytest.approx(worst, rel=1e-12), limit.name
