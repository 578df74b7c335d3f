"""Check points of the MuJoCo model, and the script that compares it with them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.exports.common import template
from deltadyn.exports.mjcf.pose import joint_values
from deltadyn.exports.states import random_states
from deltadyn.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation.plant.mjcf import driven_joints

POINTS = 5  # check points
STEP = 3e-4  # s, of differences
TORQUE_CLOSE = 1e-7  # of the largest torque: differences give the joints' accelerations to 1e-9


def check_points(robot: Robot, model: str, acceleration_close: float) -> dict[str, Any]:
    """States of all joints with the torques of a model, for a robot without friction.

    Tolerances are shares of the largest torque, and of the length of the acceleration.
    """
    q, qd, qdd = random_states(robot, POINTS, seed=2)
    motion = Motion.from_joints(robot, np.arange(POINTS, dtype=float), q, qd, qdd)
    tau = inverse_dynamics(robot, motion, model=model)
    driven = driven_joints(robot)
    points = []
    for row in range(POINTS):
        values = joint_values(robot, q[row], qd[row])
        accelerations = _accelerations(robot, q[row], qd[row], qdd[row])
        joints = {name: [*values[name], accelerations[name]] for name in values}
        points.append(
            {"joints": joints, "torque": dict(zip(driven, tau[row].tolist(), strict=True))}
        )
    return {
        "robot": robot.name,
        "model": model,
        "friction": "none",
        "torque_tolerance": TORQUE_CLOSE,
        "acceleration_tolerance": acceleration_close,
        "points": points,
    }


def _accelerations(
    robot: Robot, q: FloatArray, qd: FloatArray, qdd: FloatArray
) -> dict[str, float]:
    """Accelerations of all joints: differences of fourth order of their rates along a motion."""
    total: dict[str, float] = {}
    for k, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
        t = k * STEP
        values = joint_values(robot, q + t * qd + t**2 / 2 * qdd, qd + t * qdd)
        for name, (_, rate) in values.items():
            total[name] = total.get(name, 0.0) + weight * rate / (12 * STEP)
    exact = dict(zip(driven_joints(robot), qdd.tolist(), strict=True))
    return total | exact


def check_files(own: str, points: dict[str, Any]) -> dict[str, str]:
    """The check points, and the script that holds the model against them."""
    script = template("mjcf", "self_test.txt").replace("@own@", own)
    return {
        f"{own}_check_points.json": json.dumps(points, indent=1) + "\n",
        f"{own}_self_test.py": script,
    }
