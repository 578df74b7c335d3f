"""The demonstration: a catalogue robot's kinematics, the ladder of models, and a picture."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import MODELS, inverse_dynamics
from deltadyn.kinematics import forward_kinematics, inverse_kinematics
from deltadyn.motion import Motion
from deltadyn.report.picture import torque_page
from deltadyn.reproduce.ladder import Ladder, ladder, pick_and_place, random_states
from deltadyn.robot import Robot

POINTS = 10_000


@dataclass(frozen=True, eq=False)
class Demo:
    """What the demonstration found."""

    robot: Robot
    motion: Motion
    points: int
    round_trip: float  # m, the largest |FK(IK(p)) - p|
    ladder: Ladder
    torque_peak: FloatArray  # (dof,), N m, exact model on the move
    picture: Path


def run_demo(robot: Robot, out: str | os.PathLike[str], *, seed: int = 0) -> Demo:
    """Round trip of the kinematics, every model on one pick-and-place move, and the picture."""
    p = random_states(robot, POINTS, seed=seed).p
    back = forward_kinematics(robot, inverse_kinematics(robot, p))
    motion = pick_and_place(robot)
    torques = {name: inverse_dynamics(robot, motion, name) for name in MODELS}
    picture = torque_page(robot, motion, torques, Path(out) / "picture.html")
    return Demo(
        robot=robot,
        motion=motion,
        points=len(p),
        round_trip=float(np.abs(back - p).max()),
        ladder=ladder(robot, motion, name=f"pick-and-place move of {motion.duration:g} s"),
        torque_peak=np.abs(torques["exact"]).max(axis=0),
        picture=picture,
    )
