"""`urdf`: the robot's open tree for ROS 2, with its loops cut at the struts' tips.

URDF is a tree of joints with one coordinate each. Arms with their struts hang on the base, the
platform on slides; frames `tip_i` and `socket_i` meet where a loop is closed. Joints count as the
robot's own: 0 is the robot's zero, not home.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.exports.common import (
    ExportFiles,
    filled,
    identifier,
    number,
    provenance,
    speech,
    stamp_fingerprint,
)
from deltadyn.exports.mjcf.tree import add
from deltadyn.exports.scenes.checks import check_masses, left_out
from deltadyn.exports.scenes.robot import rate_limit, reach, robot_scene
from deltadyn.exports.scenes.scene import Body, Frame, Joint, Scene, Shape, mesh_files
from deltadyn.exports.scenes.words import driven_table, loop_table, units_table
from deltadyn.robot import Robot

Element = ET.Element
WIDE = 100.0  # rad, of hinges without a limit: one coordinate each, where `continuous` may mean two
FAST = 1e3  # rad/s or m/s, for joints without a limit: URDF wants a number
STRONG = 1e6  # N m or N, likewise
WHAT = "URDF of a Delta robot, loops cut at the struts' tips"
UPDATE_RATE = 1000  # Hz of the example's controller manager


@dataclass(frozen=True)
class Options:
    """Options of target `urdf`."""

    package: str | None = None  # ROS package that holds the meshes; <robot>_description if None


def files(robot: Robot, options: Options | None = None) -> ExportFiles:
    """The description with its meshes, an example of controllers, and the README."""
    check_masses(robot, "urdf")
    chosen = Options() if options is None else options
    own = identifier(robot)
    package = _package(f"{own}_description" if chosen.package is None else chosen.package)
    scene = robot_scene(robot)
    lines = provenance(robot, WHAT)
    missing = [*left_out(robot), *_weightless(scene), *_sums(robot)]
    root = _tree(robot, scene, package)
    note = [*lines, *(f"not in the model: {item}" for item in missing)]
    root.insert(0, ET.Comment("\n" + "\n".join(note).replace("--", "- -") + "\n"))
    ET.indent(root)
    head = '<?xml version="1.0"?>\n'
    meshes = mesh_files(scene, f"{own}_meshes", [f"mesh of {lines[1]}"])
    return stamp_fingerprint(
        {
            "README-urdf.md": _readme(robot, scene, package, missing),
            f"{own}.urdf": head + ET.tostring(root, encoding="unicode") + "\n",
            f"{own}_controllers.yaml": _controllers(robot, scene),
            **meshes,
        },
        left_out(robot),
    )


def _package(name: object) -> str:
    """The name of a ROS package."""
    if not isinstance(name, str) or re.fullmatch("[a-z][a-z0-9_]*", name) is None:
        allowed = "a name of a ROS package: small letters, digits and underscores, a letter first"
        raise InputError("package", name, allowed)
    return name


def _tree(robot: Robot, scene: Scene, package: str) -> Element:
    own = identifier(robot)
    root = ET.Element("robot", name=own)
    for body in scene.bodies:
        link = add(root, "link", name=body.name)
        _inertial(link, body)
        for shape in body.shapes:
            _visual(link, shape, f"package://{package}/{own}_meshes")
    for joint in scene.joints:
        _joint(root, robot, scene, joint)
    for loop in scene.loops:
        for site, body_name, point in zip(loop.sites, loop.bodies, loop.points, strict=True):
            add(root, "link", name=site)
            item = add(root, "joint", name=f"{site}_frame", type="fixed")
            add(item, "parent", link=body_name)
            add(item, "child", link=site)
            add(item, "origin", xyz=point.tolist(), rpy="0 0 0")
    _ros2_control(root, robot, scene)
    return root


def _inertial(link: Element, body: Body) -> None:
    """Mass and inertia; a carrier between two joints and the fixed base have none."""
    own = body.inertial
    if own.mass <= 0:
        return
    item = add(link, "inertial")
    add(item, "origin", xyz=own.com.tolist(), rpy="0 0 0")
    add(item, "mass", value=own.mass)
    I = own.inertia
    add(item, "inertia", ixx=I[0, 0], ixy=I[0, 1], ixz=I[0, 2], iyy=I[1, 1], iyz=I[1, 2],
        izz=I[2, 2])  # fmt: skip


def _visual(link: Element, shape: Shape, meshes: str) -> None:
    """A shape; a capsule is drawn as its cylinder."""
    item = add(link, "visual", name=shape.name)
    _origin(item, shape.frame)
    geometry = add(item, "geometry")
    if shape.mesh is not None:
        add(geometry, "mesh", filename=f"{meshes}/{shape.name}.obj")
    elif shape.kind == "box":
        add(geometry, "box", size=[2 * part for part in shape.size])
    elif shape.kind == "sphere":
        add(geometry, "sphere", radius=shape.size[0])
    else:
        add(geometry, "cylinder", radius=shape.size[0], length=2 * shape.size[1])
    name = "colour_" + "_".join(f"{100 * part:.0f}" for part in shape.colour)
    add(add(item, "material", name=name), "color", rgba=[*shape.colour, 1.0])


def _origin(parent: Element, frame: Frame) -> None:
    add(parent, "origin", xyz=frame.t.tolist(), rpy=rpy(frame.R))


def rpy(R: FloatArray) -> tuple[float, float, float]:
    """Roll, pitch, yaw of R = Rz(yaw) Ry(pitch) Rx(roll), accurate at a pitch of 90° too.

    Roll is taken from Rz(-yaw) R: where pitch is 90° any yaw will do, with its own roll.
    """
    yaw = math.atan2(R[1, 0], R[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def _joint(root: Element, robot: Robot, scene: Scene, joint: Joint) -> None:
    kind, wide = ("revolute", WIDE) if joint.kind == "hinge" else ("prismatic", reach(robot))
    low, high = (-wide, wide) if joint.limits is None else joint.limits
    item = add(root, "joint", name=joint.name, type=kind)
    add(item, "parent", link=joint.parent)
    add(item, "child", link=joint.child)
    _origin(item, scene.at_zero(joint))
    add(item, "axis", xyz=joint.axis.tolist())
    rate, effort = rate_limit(robot, joint) or FAST, joint.effort or STRONG
    effort = effort if joint.driven else 0.0
    add(item, "limit", effort=effort, velocity=rate, lower=low, upper=high)
    if joint.viscous or joint.coulomb:
        add(item, "dynamics", damping=joint.viscous, friction=joint.coulomb)


def _ros2_control(root: Element, robot: Robot, scene: Scene) -> None:
    """The driven joints with effort commands; mock hardware until a driver takes its place."""
    system = add(root, "ros2_control", name=f"{identifier(robot)}_drives", type="system")
    add(add(system, "hardware"), "plugin").text = "mock_components/GenericSystem"
    for joint in scene.joints:
        if not joint.driven:
            continue
        item = add(system, "joint", name=joint.name)
        command = add(item, "command_interface", name="effort")
        if joint.effort is not None:
            add(command, "param", name="min").text = number(-joint.effort)
            add(command, "param", name="max").text = number(joint.effort)
        for name, start in (("position", joint.home), ("velocity", 0.0), ("effort", 0.0)):
            state = add(item, "state_interface", name=name)
            add(state, "param", name="initial_value").text = number(start)
        if joint.armature:
            add(item, "param", name="armature").text = number(joint.armature)


def _controllers(robot: Robot, scene: Scene) -> str:
    words = {
        "provenance": "\n".join(
            f"# {line}" for line in provenance(robot, "Example of controllers")
        ),
        "rate": UPDATE_RATE,
        "joints": "\n".join(f"      - {joint.name}" for joint in scene.joints if joint.driven),
    }
    return filled("urdf", "controllers.yaml", words)


def _weightless(scene: Scene) -> list[str]:
    """Rotors that URDF cannot say: a mass along a rail that has no weight."""
    return [
        f"the drive's inertia of {joint.name}, {joint.armature:.9g} kg along its rail (param "
        "'armature' of ros2_control): add it times the acceleration to the force, or as armature"
        for joint in scene.joints
        if joint.armature
    ]


def _sums(robot: Robot) -> list[str]:
    """Friction of a joint that is the sum of two."""
    swings = [item for item in robot.friction.passive if item.joint == "platform_swing"]
    return ["friction.passive of platform_swing (no joint of the tree is there)"] if swings else []


def _readme(robot: Robot, scene: Scene, package: str, missing: list[str]) -> str:
    words = {
        "robot": robot.name,
        "quoted": repr(robot.name),
        "own": identifier(robot),
        "package": package,
        "provenance": "\n".join(provenance(robot, WHAT)),
        "loops": loop_table(scene),
        "pairs": ", ".join(str(loop.sites) for loop in scene.loops),
        "driven": driven_table(robot, scene),
        "units": units_table(robot),
        "passive": ", ".join(f"`{joint.name}`" for joint in scene.joints if not joint.driven),
        "angles": speech(robot)["angles"],
        "armature": "".join(
            f"model.armature[model.joints[model.getJointId({joint.name!r})].idx_v] = "
            f"{joint.armature!r}\n"
            for joint in scene.joints
            if joint.armature
        ),
        "left_out": "".join(f"- Not in the model: {item}.\n" for item in missing),
    }
    return filled("urdf", "README.md", words)
