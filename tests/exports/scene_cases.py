"""Robots of every kind that other simulators take, without friction."""

from __future__ import annotations

from functools import lru_cache

from tests.family.robots import make, waves

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction

CATALOGUE = ("sipro-d3-1200", "abb-irb360-6-1600", "example-delta-4")
#: Arms and rails of every direction, with a spindle; carriages with counterweights among them.
SPATIAL = (*CATALOGUE, "inclined", "rails", "level", "vertical_spindle")
KINDS = (*SPATIAL, "planar", "planar_rails")


@lru_cache(maxsize=16)
def robot_of(kind: str) -> Robot:
    """A robot of the catalogue or of the family with a payload off its axis."""
    robot = dd.load_robot(kind) if kind in CATALOGUE else make(kind)
    return robot.with_payload(0.7, (0.02, -0.01, -0.05), 1e-3).replace(friction=Friction())


@lru_cache(maxsize=16)
def states_of(kind: str) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """q, qd, qdd and the model's torques (n, dof) of states."""
    robot = robot_of(kind)
    motion = waves(robot, 1.0, rate=10.0)
    name = "rigid" if kind == "abb-irb360-6-1600" else "exact"  # whose rods have ten parameters
    tau = dd.inverse_dynamics(robot, motion, model=name)
    rows = [7]
    return motion.q[rows], motion.qd[rows], motion.qdd[rows], tau[rows]
