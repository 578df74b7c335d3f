"""The exported SDFormat model, read by itself, against this project's model."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.exports.loose_bodies import Array, Mechanism, Part, Tie, tie
from tests.exports.scene_cases import SPATIAL, robot_of, states_of

import deltadyn as dd
from deltadyn.exports import sdf
from deltadyn.exports.common import home_angles
from deltadyn.kinematics.struts import skeleton
from deltadyn.robot.settings import Friction, PassiveFriction
from deltadyn.simulation.plant.mjcf import driven_joints

Element = ElementTree.Element
KINDS = {"revolute": "hinge", "prismatic": "slide"}


@lru_cache(maxsize=8)
def written(kind: str) -> dict[str, str]:
    return sdf.files(robot_of(kind))


def model_of(kind: str) -> Element:
    text = next(t for n, t in written(kind).items() if n.endswith(".sdf") and "world" not in n)
    found = ElementTree.fromstring(text).find("model")
    assert found is not None
    return found


def numbers(item: Element) -> Array:
    return np.array([float(x) for x in (item.text or "").split()])


def pose(item: Element) -> tuple[Array, Array]:
    found = item.find("pose")
    if found is None:
        return np.eye(3), np.zeros(3)
    values = numbers(found)
    if found.get("rotation_format") == "quat_xyzw":
        return Rotation.from_quat(values[3:]).as_matrix(), values[:3]
    assert not values[3:].any()
    return np.eye(3), values[:3]


def part(link: Element) -> Part:
    inertial = link.find("inertial")
    assert inertial is not None
    I = {item.tag: float(item.text or "nan") for item in inertial.iterfind("inertia/*")}
    inertia = np.array(
        [
            [I["ixx"], I["ixy"], I["ixz"]],
            [I["ixy"], I["iyy"], I["iyz"]],
            [I["ixz"], I["iyz"], I["izz"]],
        ]
    )
    moments = np.linalg.eigvalsh(inertia)
    assert moments[0] > 0
    assert moments[2] <= moments[:2].sum() * (1 + 1e-9)
    weight = link.findtext("gravity", "true") == "true"
    return Part(
        *pose(link), float(inertial.findtext("mass", "nan")), pose(inertial)[1], inertia, weight
    )


def read(kind: str) -> Mechanism:
    """Bodies and joints; a joint's frame and axes are those of its child."""
    model, robot = model_of(kind), robot_of(kind)
    parts = {link.get("name", ""): part(link) for link in model.findall("link")}
    ties: list[Tie] = []
    for joint in model.findall("joint"):
        parent, child = joint.findtext("parent", ""), joint.findtext("child", "")
        parent = "" if parent == "world" else parent
        turn, place = pose(joint)
        at = parts[child].R @ place + parts[child].p
        above = at if not parent else parts[parent].R.T @ (at - parts[parent].p)
        tags = ("axis/xyz", "axis2/xyz")
        axes = [numbers(item) for tag in tags for item in joint.iterfind(tag)]
        ways = [parts[child].R @ turn @ axis for axis in axes]
        form = KINDS.get(joint.get("type", ""), joint.get("type", ""))
        ties.append(tie(joint.get("name", ""), form, parts, parent, child, (above, place), ways))
    return Mechanism(parts, ties, driven_joints(robot), home_angles(robot).tolist(), robot.gravity)


@pytest.mark.parametrize("kind", SPATIAL)
def test_bodies_and_joints_have_the_torque_of_the_model(kind: str) -> None:
    robot, mechanism = robot_of(kind), read(kind)
    q, qd, qdd, tau = states_of(kind)
    for row in range(len(q)):
        found = mechanism.torque(q[row], qd[row], qdd[row])
        # 1e-9 kg m^2 along thin rods, and differences: 3e-10 measured
        np.testing.assert_allclose(found, tau[row], rtol=0, atol=1e-9 * np.abs(tau).max())
        assert mechanism.largest_gap() < 1e-11
        place, point = mechanism.pose["platform"], dd.forward_kinematics(robot, q[row])
        np.testing.assert_allclose(place[1], point[:3], atol=1e-10)
        np.testing.assert_allclose(place[0], np.eye(3), atol=1e-10)  # held by the limbs alone


@pytest.mark.parametrize("kind", SPATIAL)
def test_joints_are_where_the_kinematics_has_them_at_home(kind: str) -> None:
    robot, mechanism = robot_of(kind), read(kind)
    bones = skeleton(robot, dd.forward_kinematics(robot, home_angles(robot)))
    ties = {item.name: item for item in mechanism.ties}
    for i in range(3):
        elbow, tip = ties[f"elbow_{i + 1}"], ties[f"tip_{i + 1}"]
        for joint, place in ((elbow, bones.elbows[i]), (tip, bones.joints[i])):
            found = mechanism.place(joint.child, joint.at_child)
            np.testing.assert_allclose(found, place, atol=1e-12)
        along = np.array([robot.geometry.strut_length[i], 0.0, 0.0])
        np.testing.assert_allclose(tip.at_parent, along, atol=1e-12)


def test_limits_count_from_home_and_drives_take_forces() -> None:
    robot, model = robot_of("example-delta-4"), model_of("example-delta-4")
    homes = home_angles(robot)
    for axis, name in enumerate(driven_joints(robot)):
        joint = next(item for item in model.findall("joint") if item.get("name") == name)
        limit = joint.find("axis/limit")
        assert limit is not None
        low = float(limit.findtext("lower", "nan")) + homes[axis]
        assert low == pytest.approx(robot.limits.angle_min[axis], abs=1e-15)  # type: ignore[index]
        assert float(limit.findtext("effort", "nan")) == robot.limits.torque_peak[axis]  # type: ignore[index]
    told = [item.findtext("joint_name", "") for item in model.findall("plugin")]
    assert sorted(told) == sorted(driven_joints(robot))


def test_friction_stands_at_the_joints_and_what_is_left_out_is_named(tmp_path: Path) -> None:
    passive = (
        PassiveFriction("elbow_swing", 0.05, 0.1),
        PassiveFriction("platform_swing", 0.03, 0.2),
    )
    friction = Friction(0.5, 1.5, stribeck=0.2, stribeck_velocity=0.1, passive=passive)
    robot = dd.load_robot("sipro-d3-1200").replace(friction=friction)
    made = dd.export(robot, "sdf", tmp_path)
    text = made.files[0].read_text("utf-8")
    assert "friction.stribeck" in text
    assert "platform_swing" in text
    root = ElementTree.parse(tmp_path / "sipro_d3_1200.sdf").getroot()
    joints = {item.get("name"): item for item in root.iter("joint")}
    for name, viscous, coulomb in (("theta_1", 0.5, 1.5), ("elbow_2", 0.05, 0.1)):
        dynamics = joints[name].find("axis/dynamics")
        assert dynamics is not None
        assert float(dynamics.findtext("damping", "nan")) == viscous
        assert float(dynamics.findtext("friction", "nan")) == coulomb
    world = ElementTree.parse(tmp_path / "sipro_d3_1200_world.sdf").getroot().find("world")
    assert world is not None
    assert world.findtext("gravity") == f"0.0 0.0 {-robot.gravity!r}"
    for uri in world.iter("uri"):
        assert (tmp_path / (uri.text or "")).is_file()
