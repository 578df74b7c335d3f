"""The robots of the papers and the move on which their models are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import inverse_dynamics
from deltadyn.motion import Motion
from deltadyn.reproduce.audit.records import ARMS, Scene
from deltadyn.reproduce.ladder import pick_and_place
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot


@dataclass(frozen=True)
class Stage:
    """A paper's robot in motion, with the exact model's torque (N, dof) without friction."""

    scene: Scene
    robot: Robot
    motion: Motion
    exact: FloatArray


def stage(paper: str, name: str, *, width: float = 0.3, duration: float = 0.3) -> Stage:
    """The catalogue's robot of that name on a pick-and-place move of `width` m in `duration` s."""
    robot = load_robot(name)
    motion = pick_and_place(robot, width=width, duration=duration)
    exact = inverse_dynamics(robot, motion, "exact", friction=False)
    arms = exact[:, ARMS]
    scene = Scene(
        paper=paper,
        robot=name,
        move=f"a gate move of {width:g} m in {duration:g} s",
        acceleration=float(np.linalg.norm(motion.pdd[:, :3], axis=1).max()),
        torque_rms_Nm=float(np.sqrt(np.mean(arms**2))),
        torque_peak_Nm=float(np.abs(arms).max()),
    )
    return Stage(scene, robot, motion, exact)
