"""States that the accuracy of the MuJoCo model is told for, and check points among them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.exports.common import template
from deltadyn.exports.mjcf.pose import home_angles, joint_values
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.motion import Motion
from deltadyn.robot import Robot
from deltadyn.simulation.plant.mjcf import driven_joints

RATE = 3.0  # rad/s, where the robot file has no limit
ACCELERATION = 100.0  # rad/s^2, likewise
NEAR_HOME = 0.3  # rad around home, where there is no workspace
TURN = 0.8  # rad of a tool whose platform turns it
SPINDLE_TURN = 3.0  # rad of a tool on a spindle
POINTS = 5  # check points
STEP = 3e-4  # s, of differences
TORQUE_CLOSE = 1e-7  # of the largest torque: differences give the joints' accelerations to 1e-9


def rates_of(robot: Robot) -> FloatArray:
    """The largest rates (dof,) of states, in rad/s or m/s."""
    most = RATE * np.asarray(robot.radian)
    return most if robot.limits.rate is None else np.minimum(robot.limits.rate, most)


def accelerations_of(robot: Robot) -> FloatArray:
    """The largest accelerations (dof,) of states, in rad/s^2 or m/s^2."""
    return np.asarray(robot.limits.acceleration or ACCELERATION * np.asarray(robot.radian))


def states_in_words(robot: Robot) -> str:
    """Which states `random_states` draws from."""
    space = robot.limits.workspace
    widest = SPINDLE_TURN if robot.spindle is not None else TURN
    if space is None:
        way = ", ".join(f"{NEAR_HOME * x:.3g}" for x in robot.radian)
        where = f"joints within {way} (rad or m) of home: the robot file has no workspace"
    else:
        where = f"platform within {space.radius:g} m of the axis, z from {space.z_min:g} to "
        where += f"{space.z_max:g} m" + (f", psi within {widest:g} rad" if robot.turns else "")
    rates, most = (
        ", ".join(f"{x:.3g}" for x in f(robot).tolist()) for f in (rates_of, accelerations_of)
    )
    return (
        f"{where}; rates of the axes within {rates} (rad/s or m/s); accelerations within {most} "
        "(rad/s^2 or m/s^2); torques are those of the model for them"
    )


def random_states(robot: Robot, count: int, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """q, qd, qdd (count, dof) within the workspace and the limits."""
    rng, dof = np.random.default_rng(seed), robot.dof
    radian, space = np.asarray(robot.radian), robot.limits.workspace
    scales = rates_of(robot), accelerations_of(robot)
    qd, qdd = (rng.uniform(-1, 1, (count, dof)) * scale for scale in scales)
    if space is None:
        away = rng.uniform(-NEAR_HOME, NEAR_HOME, (count, dof)) * radian
        return home_angles(robot) + away, qd, qdd
    found = np.empty((0, dof))
    while len(found) < count:
        radius, turn = space.radius * np.sqrt(rng.uniform(size=count)), rng.uniform(0, 6.28, count)
        widest = SPINDLE_TURN if robot.spindle is not None else TURN
        parts = {
            "x": radius * np.cos(turn),
            "y": radius * np.sin(turn),
            "z": rng.uniform(space.z_min, space.z_max, count),
            "psi": rng.uniform(-widest, widest, count),
        }
        p = np.stack([parts[name] for name in robot.coordinates], axis=-1)
        q = inverse_kinematics(robot, p, unreachable="nan")
        kept = q[np.isfinite(q).all(axis=1)]
        if not len(kept):
            raise InputError("limits.workspace", str(space), "one that the robot reaches")
        found = np.concatenate([found, kept])
    return found[:count], qd, qdd


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
