"""`sdf`: the robot with closed loops for Gazebo, in SDFormat 1.9.

SDFormat takes any number of joints between links, so no loop is cut and no body is made up. A strut
has a universal joint at either end: its axes are the motor's direction, fixed in the arm (and in
the platform), and the strut's own sway axis. Three such limbs keep the platform from turning, as
the real pairs of rods do. The telescope's top is a ball joint. Bodies are written at home; Gazebo
counts joints from there.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.exports.common import (
    ExportFiles,
    comment_text,
    filled,
    identifier,
    number,
    provenance,
    stamp_fingerprint,
)
from deltadyn.exports.mjcf.tree import add, text
from deltadyn.exports.scenes.checks import check_masses, left_out
from deltadyn.exports.scenes.robot import rate_limit, robot_scene
from deltadyn.exports.scenes.scene import Body, Frame, Joint, Scene, Shape, mesh_files, quaternion
from deltadyn.exports.scenes.words import driven_table, units_table
from deltadyn.robot import Robot

Element = ET.Element
VERSION = "1.9"
WHAT = "SDFormat model of a Delta robot with closed loops"
STEP = 1e-3  # s, of the world
BASE_MASS = 10.0  # kg: it is fixed to the world


@dataclass(frozen=True)
class Options:
    """Options of target `sdf`: there are none."""


def files(robot: Robot, options: Options | None = None) -> ExportFiles:
    """The model, the same in a world with the robot's gravity, meshes and the README."""
    check_masses(robot, "sdf")
    own, scene = identifier(robot), robot_scene(robot)
    lines, missing = provenance(robot, WHAT), [*left_out(robot), *_platform_friction(robot)]
    model = _model(robot, scene)
    note = [*lines, *(f"not in the model: {item}" for item in missing)]
    return stamp_fingerprint(
        {
            "README-sdf.md": _readme(robot, scene, missing),
            "model.config": _config(robot),
            f"{own}.sdf": _document(note, deepcopy(model)),
            f"{own}_world.sdf": _document(note, _world(robot, model)),
            **mesh_files(scene, f"{own}_meshes", [f"mesh of {lines[1]}"]),
        },
        left_out(robot),
    )


def _document(note: list[str], content: Element) -> str:
    root = ET.Element("sdf", version=VERSION)
    root.append(ET.Comment("\n" + "\n".join(note).replace("--", "- -") + "\n"))
    root.append(content)
    ET.indent(root)
    return '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _model(robot: Robot, scene: Scene) -> Element:
    """Links at home, then joints: drives, elbows, tips, and the chain of the spindle."""
    own = identifier(robot)
    model = ET.Element("model", name=own)
    for body in scene.bodies:
        if "carrier" not in body.name:
            _link(model, body, f"{own}_meshes")
    _fix(model, "base_fixed", "world", "base")
    by_name = {joint.name: joint for joint in scene.joints}
    for i in range(1, robot.legs + 1):
        drive, swing, sway = (by_name[f"{name}_{i}"] for name in ("theta", "swing", "sway"))
        _single(model, robot, scene, drive)
        _elbow(model, swing, sway)
        _tip(model, scene, i, swing, sway)
        if drive.armature:
            _weightless(model, scene.body(drive.child), drive.armature, i)
    if robot.spindle is not None:
        _single(model, robot, scene, by_name["psi"])
        fork, cross = by_name["fork"], by_name["cross"]
        item = _joint(model, "telescope_joint", "universal", fork.parent, cross.child)
        _axis(item, "axis", fork.axis, fork)
        _axis(item, "axis2", cross.axis, cross)
        _single(model, robot, scene, by_name["slide"])
        top = scene.loops[-1]
        item = _joint(model, "telescope_top", "ball", "base", top.bodies[0])
        _pose(item, Frame(np.eye(3), top.points[0]))
    for joint in scene.joints:
        if joint.driven:
            _force_input(model, joint)
    return model


def _link(model: Element, body: Body, meshes: str) -> None:
    link = add(model, "link", name=body.name)
    _pose(link, body.world)
    item, own = add(link, "inertial"), body.inertial
    fixed = body.name == "base"
    mass = BASE_MASS if fixed else own.mass
    inertia = np.eye(3) if fixed else own.inertia
    add(item, "pose").text = text([*own.com.tolist(), 0.0, 0.0, 0.0])
    add(item, "mass").text = number(mass)
    _inertia(item, inertia)
    for shape in body.shapes:
        _visual(link, shape, meshes)


def _inertia(parent: Element, I: FloatArray) -> None:
    item = add(parent, "inertia")
    for name, i, j in (
        ("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2)
    ):  # fmt: skip
        add(item, name).text = number(I[i, j])


def _pose(parent: Element, frame: Frame) -> None:
    """A pose with a quaternion, which keeps all digits of a rotation."""
    w, x, y, z = quaternion(frame.R)
    item = add(parent, "pose", rotation_format="quat_xyzw")
    item.text = text([*frame.t.tolist(), x, y, z, w])


def _visual(link: Element, shape: Shape, meshes: str) -> None:
    item = add(link, "visual", name=shape.name)
    _pose(item, shape.frame)
    geometry = add(item, "geometry")
    if shape.mesh is not None:
        mesh = add(geometry, "mesh")
        add(mesh, "uri").text = f"{meshes}/{shape.name}.obj"
    elif shape.kind == "box":
        add(add(geometry, "box"), "size").text = text([2 * part for part in shape.size])
    elif shape.kind == "sphere":
        add(add(geometry, "sphere"), "radius").text = number(shape.size[0])
    else:
        round_ = add(geometry, shape.kind)  # a capsule's length is without its ends, as ours
        add(round_, "radius").text = number(shape.size[0])
        add(round_, "length").text = number(2 * shape.size[1])
    material = add(item, "material")
    for name in ("ambient", "diffuse"):
        add(material, name).text = text([*shape.colour, 1.0])


def _joint(model: Element, name: str, kind: str, parent: str, child: str) -> Element:
    item = add(model, "joint", name=name, type=kind)
    add(item, "parent").text = parent
    add(item, "child").text = child
    return item


def _fix(model: Element, name: str, parent: str, child: str) -> None:
    _joint(model, name, "fixed", parent, child)


def _axis(item: Element, tag: str, way: FloatArray, joint: Joint) -> Element:
    """An axis in the joint's frame, which is that of the child, with its friction."""
    axis = add(item, tag)
    add(axis, "xyz").text = text(way.tolist())
    if joint.viscous or joint.coulomb:
        dynamics = add(axis, "dynamics")
        add(dynamics, "damping").text = number(joint.viscous)
        add(dynamics, "friction").text = number(joint.coulomb)
    return axis


def _single(model: Element, robot: Robot, scene: Scene, joint: Joint) -> None:
    """A turn or slide; limits count from home, where Gazebo has 0."""
    kind = "revolute" if joint.kind == "hinge" else "prismatic"
    item = _joint(model, joint.name, kind, joint.parent, joint.child)
    axis = _axis(item, "axis", joint.axis, joint)
    rate = rate_limit(robot, joint)
    if joint.limits is None and joint.effort is None and rate is None:
        return
    limit = add(axis, "limit")
    if joint.limits is not None:
        low, high = joint.limits
        add(limit, "lower").text = number(low - joint.home)
        add(limit, "upper").text = number(high - joint.home)
    if joint.effort is not None:
        add(limit, "effort").text = number(joint.effort)
    if rate is not None:
        add(limit, "velocity").text = number(rate)


def _elbow(model: Element, swing: Joint, sway: Joint) -> None:
    """The strut on its arm; the first axis is fixed in the arm, the second in the strut."""
    item = _joint(
        model, sway.child.replace("strut", "elbow"), "universal", swing.parent, sway.child
    )
    _axis(item, "axis", swing.axis, swing)
    _axis(item, "axis2", sway.axis, sway)


def _tip(model: Element, scene: Scene, i: int, swing: Joint, sway: Joint) -> None:
    """The strut on the platform, with parallel axes the other way round."""
    loop = scene.loops[i - 1]
    strut, platform = (scene.body(name) for name in loop.bodies)
    item = _joint(model, f"tip_{i}", "universal", strut.name, platform.name)
    _pose(item, Frame(np.eye(3), loop.points[1]))
    back = platform.world.R.T @ strut.world.R
    for tag, way in (("axis", sway.axis), ("axis2", swing.axis)):
        add(add(item, tag), "xyz").text = text((back @ way).tolist())


def _weightless(model: Element, carriage: Body, mass: float, i: int) -> None:
    """The drive's inertia along a rail, which has no weight."""
    link = add(model, "link", name=f"drive_{i}")
    _pose(link, carriage.world)
    add(link, "gravity").text = "false"
    item = add(link, "inertial")
    add(item, "mass").text = number(mass)
    _inertia(item, mass * 1e-4 * np.eye(3))  # it never turns
    _fix(model, f"drive_{i}_fixed", carriage.name, f"drive_{i}")


def _force_input(model: Element, joint: Joint) -> None:
    """Gazebo's system that takes a drive's torque or force from a topic."""
    plugin = add(model, "plugin", filename="gz-sim-apply-joint-force-system",
                 name="gz::sim::systems::ApplyJointForce")  # fmt: skip
    add(plugin, "joint_name").text = joint.name


def _platform_friction(robot: Robot) -> list[str]:
    swings = [item for item in robot.friction.passive if item.joint == "platform_swing"]
    if not swings:
        return []
    return ["friction.passive of platform_swing (write it at the second axis of tip_1 ...)"]


def _world(robot: Robot, model: Element) -> Element:
    """A world with the robot's own gravity."""
    world = ET.Element("world", name=f"{identifier(robot)}_world")
    physics = add(world, "physics", name="small_steps", type="ignored")
    add(physics, "max_step_size").text = number(STEP)
    add(physics, "real_time_factor").text = "1.0"
    add(world, "gravity").text = text((0.0, 0.0, -robot.gravity))
    light = add(world, "light", name="sun", type="directional")
    add(light, "pose").text = "0 0 10 0 0 0"
    add(light, "diffuse").text = "0.8 0.8 0.8 1"
    add(light, "direction").text = "-0.5 0.1 -0.9"
    world.append(model)
    return world


def _config(robot: Robot) -> str:
    """What Gazebo's model paths look for."""
    root, own = ET.Element("model"), identifier(robot)
    add(root, "name").text = own
    add(root, "version").text = "1.0"
    add(root, "sdf", version=VERSION).text = f"{own}.sdf"
    add(root, "description").text = comment_text(f"{robot.name}: {WHAT}")
    ET.indent(root)
    return '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _readme(robot: Robot, scene: Scene, missing: list[str]) -> str:
    rails = any(joint.armature for joint in scene.joints)
    words = {
        "robot": robot.name,
        "own": identifier(robot),
        "version": VERSION,
        "provenance": "\n".join(provenance(robot, WHAT)),
        "units": units_table(robot),
        "driven": driven_table(robot, scene),
        "gravity": f"{robot.gravity:g}",
        "rotors": RAIL_ROTORS if rails else ARM_ROTORS,
        "telescope": "" if robot.spindle is None else TELESCOPE,
        "left_out": "".join(f"- Not in the model: {item}.\n" for item in missing),
    }
    return filled("sdf", "README.md", words)


ARM_ROTORS = "Rotors are part of the arms (and of the effector)."
RAIL_ROTORS = "Inertia of the drives along the rails is a link without weight on each carriage."
TELESCOPE = """\
| `psi`, `telescope_joint` | effector on the platform, lower universal joint of the telescope |
| `slide`, `telescope_top` | the telescope, a ball joint at its top |
"""
