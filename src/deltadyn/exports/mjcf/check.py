"""How far the exported MuJoCo model's acceleration is from the model it was made from."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import InputError, extra_module
from deltadyn.exports.mjcf.pose import home_angles, joint_values
from deltadyn.exports.mjcf.tree import model_tree
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.motion import Motion
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction
from deltadyn.simulation.plant.mjcf import DRIVEN

RATE = 3.0  # rad/s, where the robot file has no limit
ACCELERATION = 100.0  # rad/s^2, likewise
NEAR_HOME = 0.3  # rad around home, where there is no workspace


@dataclass(frozen=True)
class AccelerationError:
    """|qdd of MuJoCo - qdd| / |qdd| over random states, without friction."""

    states: int
    largest: float
    median: float
    reference: str  # the model's name


def reference_model(robot: Robot) -> str:
    """The model whose bodies the export has: 'rigid' where a body has ten parameters."""
    tens = [strut.ten for strut in robot.struts]
    if robot.spindle is not None:
        tens += [robot.spindle.upper.ten, robot.spindle.lower.ten]
    return "exact" if all(ten is None for ten in tens) else "rigid"


def acceleration_error(
    robot: Robot, timestep: float, states: int = 200, seed: int = 1
) -> AccelerationError:
    """Ask MuJoCo for the acceleration of random states, rates and torques; needs mujoco."""
    engine = extra_module("mujoco", "the check of an exported MuJoCo model", "mujoco")
    bare = robot.replace(friction=Friction())
    root = model_tree(bare, timestep)
    model: Any = engine.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"))
    q, qd, qdd = _random_states(bare, states, seed)
    name = reference_model(robot)
    motion = Motion.from_joints(bare, np.arange(states, dtype=float), q, qd, qdd)
    tau = inverse_dynamics(bare, motion, model=name)
    got = np.array(
        [_acceleration(engine, model, bare, *row) for row in zip(q, qd, tau, strict=True)]
    )
    error = np.linalg.norm(got - qdd, axis=1) / np.linalg.norm(qdd, axis=1)
    return AccelerationError(states, float(error.max()), float(np.median(error)), name)


def _acceleration(
    engine: ModuleType, model: Any, robot: Robot, q: FloatArray, qd: FloatArray, tau: FloatArray
) -> FloatArray:
    data: Any = engine.MjData(model)
    values = joint_values(robot, q, qd)
    for i in range(model.njnt):  # turns and slides: one coordinate and one rate per joint
        data.qpos[i], data.qvel[i] = values[model.joint(i).name]
    driven = [model.joint(name).id for name in DRIVEN[: robot.dof]]
    data.qfrc_applied[driven] = tau
    engine.mj_forward(model, data)
    return np.array(data.qacc[driven])


def _random_states(
    robot: Robot, count: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """q, qd, qdd (count, dof) within the workspace and the limits."""
    rng, dof, limits = np.random.default_rng(seed), robot.dof, robot.limits
    rate = RATE if limits.rate is None else np.minimum(limits.rate, RATE)
    most = ACCELERATION if limits.acceleration is None else np.asarray(limits.acceleration)
    qd, qdd = (rng.uniform(-1, 1, (count, dof)) * scale for scale in (rate, most))
    space = limits.workspace
    if space is None:
        return home_angles(robot) + rng.uniform(-NEAR_HOME, NEAR_HOME, (count, dof)), qd, qdd
    found = np.empty((0, dof))
    while len(found) < count:
        radius, turn = space.radius * np.sqrt(rng.uniform(size=count)), rng.uniform(0, 6.28, count)
        p = np.stack(
            [
                radius * np.cos(turn),
                radius * np.sin(turn),
                rng.uniform(space.z_min, space.z_max, count),
                rng.uniform(-3, 3, count),
            ],
            axis=-1,
        )
        q = inverse_kinematics(robot, p[:, :dof], unreachable="nan")
        kept = q[np.isfinite(q).all(axis=1)]
        if not len(kept):
            raise InputError("limits.workspace", str(space), "one that the robot reaches")
        found = np.concatenate([found, kept])
    return found[:count], qd, qdd
