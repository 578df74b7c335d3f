"""All joints of the exported MuJoCo model that belong to a robot's own coordinates."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from deltadyn.kinematics.spindle import spindle_motion
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import passive_rates, strut_angles, strut_rates
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Carriage
from deltadyn.simulation.plant.mjcf import platform_joints


def joint_values(
    robot: Robot, q: npt.ArrayLike, qd: npt.ArrayLike | None = None
) -> dict[str, tuple[float, float]]:
    """Value and rate of every joint of the model, by name, with all loops closed.

    q, qd (dof,) are the driven joints; at rest without qd. Units m, rad and their rates.
    """
    speed = np.zeros(robot.dof) if qd is None else np.asarray(qd, dtype=np.float64)
    state = State.from_joints(robot, np.asarray(q, dtype=np.float64)[None], speed[None])
    angles, rates = strut_angles(robot, state), strut_rates(robot, state)
    values = platform_joints(robot, state)
    for i in range(robot.legs):
        values[f"theta_{i + 1}"] = float(state.q[0, i]), float(state.qd[0, i])
        values[f"swing_{i + 1}"] = float(angles.elbow[0, i]), float(rates.elbow[0, i])
        values[f"sway_{i + 1}"] = float(angles.sway[0, i]), float(rates.sway[0, i])
        arm = robot.arms[i]
        if isinstance(arm, Carriage) and arm.counterweight > 0:
            values[f"counter_{i + 1}"] = -float(state.q[0, i]), -float(state.qd[0, i])
    return values if robot.spindle is None else values | _spindle(robot, state)


def _spindle(robot: Robot, state: State) -> dict[str, tuple[float, float]]:
    """Effector, the two angles of the lower universal joint and the telescope's length.

    With v along the rod, a and b the fork's axes: v = sin(cross) a + cos(cross) (sin(fork) z x a
    - cos(fork) z).
    """
    psi, rod = float(state.q[0, 3]), spindle_motion(robot, state.p)
    v = rod.direction[0]
    along = math.cos(psi) * v[0] + math.sin(psi) * v[1]
    across = math.cos(psi) * v[1] - math.sin(psi) * v[0]
    fork, cross = math.atan2(across, -v[2]), math.atan2(along, math.hypot(across, v[2]))
    fork_rate, cross_rate, slide_rate = (
        float(passive_rates(robot, state, name)[0, 0])
        for name in ("universal_fork", "universal_cross", "prismatic")
    )
    return {
        "psi": (psi, float(state.qd[0, 3])),
        "fork": (fork, fork_rate),
        "cross": (cross, cross_rate),
        "slide": (float(rod.length[0]), slide_rate),
    }
