"""The exported URDF, read by Pinocchio, against this project's model."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from tests.exports.scene_cases import KINDS, robot_of
from tests.family.robots import waves

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.exports import urdf
from deltadyn.exports.mjcf.pose import joint_values
from deltadyn.simulation.plant.mjcf import driven_joints

pin = pytest.importorskip("pinocchio")


@lru_cache(maxsize=8)
def written(kind: str) -> dict[str, str]:
    return urdf.files(robot_of(kind))


def document(kind: str) -> str:
    return next(text for name, text in written(kind).items() if name.endswith(".urdf"))


def read(kind: str) -> Any:
    """Pinocchio's model of the URDF, with the armatures of its ros2_control element."""
    text = document(kind)
    model = pin.buildModelFromXML(text)
    armature = np.zeros(model.nv)
    for joint in ElementTree.fromstring(text).iterfind("ros2_control/joint"):
        for item in joint.findall("param"):
            assert item.get("name") == "armature"
            place = model.joints[model.getJointId(joint.get("name"))].idx_v
            armature[place] = float(item.text or "nan")
    model.armature = armature
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_pinocchio_reads_a_model_with_the_torque_of_ours(kind: str) -> None:
    robot = robot_of(kind)
    model = read(kind)
    driven = tuple(int(model.joints[model.getJointId(n)].idx_v) for n in driven_joints(robot))
    builder = import_module("deltadyn.exports.pinocchio")
    delta = builder.PinocchioDelta(robot, model, None, driven)
    data, motion = model.createData(), waves(robot, 1.0, rate=10.0)
    name = "rigid" if kind == "abb-irb360-6-1600" else "exact"  # whose rods have ten parameters
    tau = dd.inverse_dynamics(robot, motion, model=name)
    for q, qd, qdd, wanted in zip(motion.q, motion.qd, motion.qdd, tau, strict=True):
        x, v, a = delta.configuration(q), delta.velocity(q, qd), delta.acceleration(q, qd, qdd)
        pin.framesForwardKinematics(model, data, x)
        for loop in builder._loops(robot):
            one, two = (data.oMf[model.getFrameId(site)].translation for site in loop)
            np.testing.assert_allclose(one, two, atol=1e-12)
        found = delta.projection(q).T @ pin.rnea(model, data, x, v, a)
        # 1e-9 kg m^2 along thin rods, which the model takes as 0: 6e-10 measured
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(tau).max())


def test_the_drives_and_their_example_of_controllers() -> None:
    robot = robot_of("example-delta-4")
    root = ElementTree.fromstring(document("example-delta-4"))
    drives = {item.get("name", ""): item for item in root.iterfind("ros2_control/joint")}
    assert set(drives) == set(driven_joints(robot))
    home = joint_values(robot, dd.inverse_kinematics(robot, [0.0, 0.0, -0.9, 0.0]))
    assert set(home) == {item.get("name") for item in root.iterfind("joint[axis]")}
    for item in drives.values():
        assert [part.get("name") for part in item.findall("command_interface")] == ["effort"]
        states = [part.get("name") for part in item.findall("state_interface")]
        assert states == ["position", "velocity", "effort"]
    limits = {item.get("name"): item.find("limit") for item in root.iterfind("joint[axis]")}
    for axis, name in enumerate(driven_joints(robot)):
        own = limits[name]
        assert own is not None
        assert float(own.get("effort", "")) == robot.limits.torque_peak[axis]  # type: ignore[index]
        assert float(own.get("lower", "")) == robot.limits.angle_min[axis]  # type: ignore[index]
    example = yaml.safe_load(written("example-delta-4")["example_delta_4_controllers.yaml"])
    controller = example["torque_controller"]["ros__parameters"]
    assert sorted(controller["joints"]) == sorted(drives)
    assert controller["interface_name"] == "effort"
    kinds = example["controller_manager"]["ros__parameters"]
    assert kinds["torque_controller"]["type"].startswith("forward_command_controller/")


def test_no_joint_mimics_and_the_readme_names_every_cut(tmp_path: Path) -> None:
    made = dd.export(robot_of("rails"), "urdf", tmp_path, package="cell")
    text = made.files[0].read_text("utf-8")
    for pair in ("`strut_1` | `tip_1` | `platform` | `socket_1`", "`tip_3`"):
        assert pair in text
    assert "the drive's inertia of theta_2" in text  # a mass along a rail without weight
    document = next(path for path in made.files if path.suffix == ".urdf").read_text("utf-8")
    assert "<mimic" not in document
    for name in re.findall(r"package://cell/(\S+?)\"", document):
        assert (tmp_path / name).is_file()
    pairs = re.search(r"^loops = (.*)$", text, re.M)
    assert pairs is not None
    assert eval(pairs[1]) == [(f"tip_{i}", f"socket_{i}") for i in (1, 2, 3)]


@pytest.mark.parametrize("angles", [(0.3, 0.4, -2.0), (1.0, np.pi / 2, 0.2), (0.0, -np.pi / 2, 1)])
def test_roll_pitch_yaw_give_the_rotation_also_where_pitch_is_a_right_angle(
    angles: tuple[float, float, float],
) -> None:
    R = pin.rpy.rpyToMatrix(*angles)
    np.testing.assert_allclose(pin.rpy.rpyToMatrix(*urdf.rpy(R)), R, atol=1e-15)


@pytest.mark.parametrize("target", ["urdf", "sdf", "usd"])
def test_gears_and_screws_are_refused_by_name(target: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"target '{target}' is 'articulated with arms'; allowed"):
        dd.export(robot_of("par4"), target, tmp_path)


@pytest.mark.parametrize("name", ["", "My Cell", "1cell", 'a"/><x', 3])
def test_names_that_are_no_ros_packages_are_refused(name: object) -> None:
    with pytest.raises(InputError, match=r"package is .*; allowed: a name of a ROS package"):
        urdf.files(robot_of("sipro-d3-1200"), urdf.Options(package=name))  # type: ignore[arg-type]
