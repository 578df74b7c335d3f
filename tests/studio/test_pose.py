"""Poses: both ways, unreachable targets, what holds the robot there."""

import math

import numpy as np
import pytest
from tests.family.robots import OTHER_PLATFORMS, make

import deltadyn as dd
from deltadyn.dynamics import energy
from deltadyn.kinematics import State
from deltadyn.studio.drawing import home
from deltadyn.studio.plots import track_channels
from deltadyn.studio.pose import (
    OutOfReachError,
    axis_rows,
    pose_at,
    pose_of_joints,
    pose_rows,
    strut_rows,
)
from deltadyn.studio.robot import differences, edited, entries
from deltadyn.studio.session import Session


def test_a_pose_of_joints_is_the_pose_of_the_platform() -> None:
    robot = dd.load_robot("example-delta-4")
    pose = pose_at(robot, [0.1, -0.05, -0.6, 0.7])
    np.testing.assert_allclose(pose_of_joints(robot, pose.q).p, pose.p, atol=1e-12)


@pytest.mark.parametrize("name", ["sipro-d3-1200", "abb-irb360-6-1600"])
def test_the_holding_torque_is_the_slope_of_the_potential(name: str) -> None:
    robot = dd.load_robot(name)
    p = home(robot)
    p[0] += 0.1
    pose, step = pose_at(robot, p), 1e-5
    for k in range(3):
        values = []
        for sign in (-1, 1):
            q = pose.q.copy()
            q[k] += sign * step
            state = State.from_joints(robot, q[None])
            values.append(float(np.asarray(energy(robot, state).potential).ravel()[0]))
        # central differences of a smooth function: step^2, and 1e-15 * 100 J / step
        assert (values[1] - values[0]) / (2 * step) == pytest.approx(pose.torque[k], abs=1e-6)


def test_struts_carry_the_weight_below_them() -> None:
    robot = dd.load_robot("example-delta")
    heavy = robot.with_payload(2.0)
    p = home(robot)
    light, loaded = pose_at(robot, p), pose_at(heavy, p)
    # on the axis three equal pairs carry the payload: tension grows by m g / (3 cos)
    q = light.q[0]
    drop = -p[2] - robot.rotary.arm_length[0] * math.sin(q)
    cosine = drop / robot.geometry.strut_length[0]
    grown = (2.0 - robot.payload.mass) * robot.gravity / (3 * cosine)
    np.testing.assert_allclose(loaded.tension - light.tension, grown, rtol=1e-9)


@pytest.mark.parametrize(
    ("p", "reason"),
    [
        ([0.0, 0.0, -2.0], "a limb is too short or too long"),
        ([0.0, 0.0, 0.5], "it lies beyond a singular pose"),
        ([math.nan, 0.0, -0.6], "it is not a finite position"),
    ],
)
def test_targets_out_of_reach_say_why(p: list[float], reason: str) -> None:
    robot = dd.load_robot("example-delta")
    with pytest.raises(OutOfReachError, match=reason) as caught:
        pose_at(robot, p)
    assert "the robot stays where it was" in str(caught.value)


def test_angles_whose_struts_cannot_meet_say_so() -> None:
    robot = edited(dd.load_robot("example-delta"), {"strut_length": 250.0})
    with pytest.raises(OutOfReachError, match=r"theta 1 = 10 deg.*the struts cannot meet"):
        pose_of_joints(robot, np.radians([10.0, 10.0, 10.0]))


def test_limits_are_shown_and_not_kept() -> None:
    robot = dd.load_robot("example-delta")
    assert robot.limits.workspace is not None
    beyond = pose_at(robot, [robot.limits.workspace.radius + 0.02, 0.0, -0.6])
    rows = dict(pose_rows(beyond))
    assert rows["working cylinder"] == "20 mm outside"
    assert rows["platform"].startswith("370.0, 0.0, -600.0")
    middle = pose_at(robot, home(robot))
    assert dict(pose_rows(middle))["limits"] == "all kept"
    assert dict(pose_rows(middle))["working cylinder"] == "100 mm inside"


def test_tables_have_a_row_per_axis_and_strut() -> None:
    robot = dd.load_robot("example-delta-4")
    pose = pose_at(robot, home(robot))
    rows = axis_rows(pose)
    assert [row[0] for row in rows] == ["1", "2", "3", "psi"]
    assert rows[0][1] == f"{math.degrees(pose.q[0]):.2f}"
    assert rows[0][4] == f"{pose.torque[0]:.3f}"
    assert len(strut_rows(pose)) == 3
    free = robot.replace(limits=type(robot.limits)(workspace=robot.limits.workspace))
    assert [row[2] for row in axis_rows(pose_at(free, home(free)))] == ["-"] * 4


@pytest.mark.parametrize("kind", OTHER_PLATFORMS)
def test_poses_of_every_kind_go_both_ways(kind: str) -> None:
    robot = make(kind)
    session = Session(robot)
    start = session.pose
    assert len(axis_rows(start)) == robot.dof
    assert len(strut_rows(start)) == robot.legs == len(start.tension)
    moved = session.turn_joint(0, float(start.q[0]) + 0.02)
    np.testing.assert_allclose(moved.q - start.q, [0.02] + [0.0] * (robot.dof - 1), atol=1e-9)
    target = robot.in_space(moved.p) + np.array([0.01, 0.02, 0.01])
    dragged = session.drag(target)
    if robot.planar:
        target[1] = 0.0
    np.testing.assert_allclose(robot.in_space(dragged.p), target, atol=1e-12)
    if robot.turns:
        assert dragged.p[3] == moved.p[3]
        assert dict(pose_rows(dragged))["psi"].endswith(" deg")
        turned = session.move_axis(3, 0.5)
        assert turned.p[3] == 0.5
    far = 1 if kind == "beam" else 0  # z off a beam; x off all others
    with pytest.raises(OutOfReachError, match=r" m.* cannot be reached"):
        session.move_axis(far, 5.0)
    assert "working area" in dict(pose_rows(start)) or not robot.planar


@pytest.mark.parametrize("kind", OTHER_PLATFORMS)
def test_motions_of_every_kind_have_channels_in_their_units(kind: str) -> None:
    robot = make(kind)
    track = Session(robot).play("gate")
    assert list(track.curves) == ["exact"]
    units = {each.group: each.unit for each in track_channels(track, robot)}
    assert units["torque"] == ("N" if robot.linear else "N m")
    assert ("place" in units) == robot.linear
    assert units["rate"] == ("mm/s" if robot.linear else "deg/s")
    keys = {each.key for each in track_channels(track, robot)}
    assert {f"platform/{name}" for name in robot.coordinates} <= keys


@pytest.mark.parametrize("kind", OTHER_PLATFORMS)
def test_numbers_of_every_kind_are_edited(kind: str) -> None:
    robot = make(kind)
    for key, entry in entries(robot).items():
        shown = entry.shown(robot)
        assert shown is not None
        changed = edited(robot, {key: 1.01 * shown}) if shown else robot
        if shown:
            assert entry.label in [row[0] for row in differences(robot, changed)]
            assert entries(changed)[key].shown(changed) == pytest.approx(1.01 * shown)
