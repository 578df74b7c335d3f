"""The scene of a robot as other simulators than MuJoCo take it, and what it leaves out.

They know no rotor beside a joint, no coordinate that follows another one, and some of them check
inertias. So what is fixed in MuJoCo by its own means is said here with bodies, exactly:

- A rotor on a turning drive is part of the body that it turns. An arm turns about its motor's axis
  and nothing else, the tool about the vertical: inertia about that axis is all that counts.
- A counterweight moves the opposite way of its carriage: the carriage is lighter by it, and the
  inertia along the rail larger by twice that (see `exports/pinocchio.py`).
- Bodies that never turn (platform, carriages) have an inertia of their size in place of none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.exports.mjcf.tree import add_look, model_tree
from deltadyn.exports.scenes.scene import (
    Body,
    Inertial,
    Joint,
    Scene,
    Shape,
    between,
    read_scene,
)
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Carriage
from deltadyn.simulation.plant.mjcf import TILT_INERTIA, platform_masses

STEP = 1e-3  # s: of MuJoCo alone, no scene has it
THICK = 0.009  # radius of a rod that is drawn, of its length
CARBON = (0.10, 0.10, 0.11)  # its colour
FIRM = 0.1  # radius of gyration of bodies that never turn, of the robot's size


def robot_scene(robot: Robot) -> Scene:
    """Bodies, joints, loops and shapes of a robot; each drive has its rotor within."""
    root = model_tree(_without_counterweights(robot), STEP)
    add_look(root, robot)
    scene = read_scene(root)
    belts = {
        f"theta_{i + 1}": 2 * arm.counterweight
        for i, arm in enumerate(robot.arms)
        if isinstance(arm, Carriage)
    }
    joints = tuple(
        replace(joint, armature=joint.armature + belts.get(joint.name, 0.0))
        for joint in scene.joints
    )
    rotors = {joint.child: joint.armature for joint in joints if joint.kind == "hinge"}
    bodies = [_own_mass(robot, body) for body in scene.bodies]
    bodies = [_with_rotor(body, rotors.get(body.name, 0.0)) for body in bodies]
    tips = {loop.bodies[0]: loop.points[0] for loop in scene.loops}
    bodies = [_with_rod(body, tips.get(body.name)) for body in bodies]
    rigid = tuple(_firm(robot, body) for body in bodies)
    held = tuple(
        replace(joint, armature=0.0) if joint.kind == "hinge" else joint for joint in joints
    )
    return replace(scene, bodies=rigid, joints=held)


def _without_counterweights(robot: Robot) -> Robot:
    arms: list[Any] = []
    for i, arm in enumerate(robot.arms):
        if isinstance(arm, Carriage) and arm.counterweight > 0:
            if arm.counterweight >= arm.mass:
                allowed = "below the mass of its carriage, for a tree of bodies"
                raise InputError(f"arms[{i}].counterweight", arm.counterweight, allowed)
            arms.append(Carriage(arm.mass - arm.counterweight))
        else:
            arms.append(arm)
    return robot.replace(arms=tuple(arms))


def _own_mass(robot: Robot, body: Body) -> Body:
    """Give the platform its whole mass, of which MuJoCo's effector has a share."""
    tool = robot.effector.mass + robot.payload.mass
    if robot.spindle is None or tool <= 0 or body.name not in ("platform", "effector"):
        return body
    share = platform_masses(robot)[1]
    if body.name == "platform":
        part = Inertial(share, np.zeros(3), np.zeros((3, 3)))
        return replace(body, inertial=body.inertial + part)
    point = np.array([0.0, 0.0, -robot.spindle.lower_joint_z])
    rest = body.inertial + Inertial(-share, point, np.zeros((3, 3)))
    about = float(rest.inertia[2, 2])
    tilt = max(about, TILT_INERTIA)  # the tool stays upright
    return replace(body, inertial=replace(rest, inertia=np.diag([tilt, tilt, about])))


def _with_rotor(body: Body, rotor: float) -> Body:
    """Add a rotor's inertia; about axes that the body cannot turn about it does not count."""
    own = body.inertial
    return replace(body, inertial=replace(own, inertia=own.inertia + rotor * np.eye(3)))


def _with_rod(body: Body, tip: FloatArray | None) -> Body:
    """Draw a strut as one rod on its middle line: the two rods of a pair turn with the elbow."""
    if tip is None or not body.name.startswith("strut_"):
        return body
    frame, length = between(np.zeros(3), tip)
    size, name = (THICK * length, length / 2), body.name.replace("strut", "rod")
    rod = Shape(name, "cylinder", frame, size, CARBON)
    return replace(body, shapes=(*body.shapes, rod))


def _firm(robot: Robot, body: Body) -> Body:
    carriage = robot.linear and body.name.startswith("arm_") and "carrier" not in body.name
    if not (carriage or body.name == "platform"):
        return body
    spread = body.inertial.mass * (FIRM * robot.geometry.size) ** 2 * np.eye(3)
    return replace(body, inertial=replace(body.inertial, inertia=spread))


def rate_limit(robot: Robot, joint: Joint) -> float | None:
    """The largest rate of a driven joint, in rad/s or m/s, where the robot file has it."""
    if not joint.driven or robot.limits.rate is None:
        return None
    axis = robot.legs if joint.name == "psi" else int(joint.name.rsplit("_", 1)[1]) - 1
    return float(robot.limits.rate[axis])


def reach(robot: Robot) -> float:
    """A distance from the origin that no point of the robot leaves, in m."""
    g = robot.geometry
    spindle = 0.0 if robot.spindle is None else abs(robot.spindle.upper_joint_z)
    return float(2 * (max(g.base_radius) + g.size + max(g.strut_length) + spindle))
