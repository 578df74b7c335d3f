"""Random states in a robot's workspace, for which the accuracy of an export is stated."""

from __future__ import annotations

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.exports.common import home_angles
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.robot import Robot

RATE = 3.0  # rad/s, where the robot file has no limit
ACCELERATION = 100.0  # rad/s^2, likewise
NEAR_HOME = 0.3  # rad around home, where there is no workspace
TURN = 0.8  # rad of a tool whose platform turns it
SPINDLE_TURN = 3.0  # rad of a tool on a spindle


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
