"""Robots with geometric errors in MuJoCo: real rod pairs, a platform that is free to turn."""

from typing import Any

import numpy as np
from tests.reference.engines.spec import EngineBody
from tests.reference.family.closure import close
from tests.reference.family.members import Arm, Member, Rail, Rod, Strut, Translation
from tests.reference.family.mujoco_tree import mujoco_tree
from tests.reference.family.tree import build_tree, point_mass, starting_points

from deltadyn.robot import Robot

from .machines import Array, about

LIGHT = EngineBody(0.1, np.zeros(3), 1e-4 * np.eye(3))
WIDE = 0.08  # m between the rods of a pair


def member(robot: Robot, errors: dict[str, Array]) -> Member:
    """The robot with errors (3,) by kind; homing offsets and gains are the drives' own."""
    g: Any = robot.geometry
    limbs: list[Arm | Rail] = []
    struts, held = [], []
    for i in range(3):

        def err(kind: str, i: int = i) -> float:
            return float(errors.get(kind, np.zeros(3))[i])

        base = about(2, g.azimuth[i])
        held.append(base @ np.array([g.platform_radius[i], 0.0, 0.0]))
        place = (
            (g.rail_tangential[i], g.rail_height[i])
            if robot.linear
            else (g.shoulder_tangential[i], g.shoulder_height[i])
        )
        start = base @ (
            np.array([g.base_radius[i], *place])
            + np.array([err("radius"), err("tangential"), err("height")])
        )
        if robot.linear:
            turn = about(1, g.rail_pitch[i] + err("pitch")) @ about(0, g.rail_roll[i] + err("roll"))
            limbs.append(Rail(start, base @ turn @ np.array([0.0, 0.0, 1.0]), 0.3, 0.0, 0.0))
            pair = WIDE * base @ np.array([0.0, 1.0, 0.0])
        else:
            turn = about(2, g.axis_yaw[i] + err("yaw")) @ about(0, g.axis_roll[i] + err("roll"))
            e1, e2 = (base @ turn @ np.array(v) for v in ([1.0, 0, 0], [0, 0, -1.0]))
            limbs.append(Arm(start, e1, e2, g.arm_length[i] + err("arm"), LIGHT, 0.0))
            pair = WIDE * np.cross(e1, e2)
        length = g.strut_length[i] + err("strut")
        struts.append(Strut(length, Rod(0.1, length / 2, 0.1 * length**2 / 12), 2, pair))
    platform = Translation(LIGHT, np.array(held))
    kind = "linear" if robot.linear else "rotary"
    return Member(kind, 9.81, tuple(limbs), tuple(struts), platform, point_mass(0.0))


def engine_points(robot: Robot, errors: dict[str, Array], q: Array, near: Array) -> Array:
    """Platform points (N, 3) at the drives' q (N, 3), from poses near to them (N, 3)."""
    zero = np.zeros(3)
    driven = (1 + errors.get("gain", zero)) * q[:, :3]
    if not robot.linear:
        driven = driven + errors.get("offset", zero)
    engine = mujoco_tree(build_tree(member(robot, errors)))
    start = starting_points(engine.tree, near, driven)
    closed = close(engine, start)
    pose = engine.tree.closing.index(engine.tree.pose)
    found: Array = closed.frames.position[:, pose]
    return found
