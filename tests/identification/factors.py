"""Triangular factors of simulated data, for the tests of consistent estimation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base import exact_base_map, exciting_states
from deltadyn.dynamics.regressor import Regressor
from deltadyn.identification.bodies.bodies import Bodies
from deltadyn.identification.bodies.body import Hull
from deltadyn.robot import Robot

ROBOTS_3 = ("sipro-d3-1200", "nt-robot")
ROBOTS_4 = ("example-delta-4", "telescopic-delta", "abb-irb360-6-1600")
NOISE = np.array([1.0, 1.0, 1.0, 0.02])  # N m


class Problem(NamedTuple):
    """A factor of [Y tau], the map to its parameters, the bodies, and where it comes from."""

    robot: Robot
    bodies: Bodies
    factor: FloatArray
    K: FloatArray
    regressor: Regressor


def problem(
    robot: Robot | str,
    family: str = "exact",
    *,
    tied: bool = True,
    noise: float = 1.0,
    seed: int = 0,
    hull: Hull | bool = True,
    states: int = 400,
) -> Problem:
    """Data of the robot's own parameters with noise (in units of NOISE), as a factor."""
    robot = dd.load_robot(robot) if isinstance(robot, str) else robot
    bodies = Bodies.of(robot, None, family, tied=tied, hull=hull)
    state = exciting_states(robot, states, seed)
    model = "exact" if family == "exact" else "rigid"
    found = dd.regressor(robot, state, model, tied=tied)
    tau = found.Y @ found.parameters
    tau = tau + noise * NOISE[: robot.dof] * np.random.default_rng(seed).normal(size=tau.shape)
    weights = 1 / np.tile(NOISE[: robot.dof], states)
    rows = np.column_stack([found.stacked(), tau.reshape(-1)]) * weights[:, None]
    factor = np.linalg.qr(rows, mode="r")
    K = np.eye(len(bodies.names))
    if family == "exact":
        K = exact_base_map(robot, found.names, bodies.names, tied)
    return Problem(robot, bodies, np.asarray(factor, dtype=np.float64), K, found)


def random_variables(bodies: Bodies, seed: int) -> FloatArray:
    """Free variables (k,) of consistent bodies about the interior ones."""
    rng = np.random.default_rng(seed)
    spread = 0.1 * bodies.interior + 0.03 * bodies.scale
    return bodies.inward(bodies.interior + spread * rng.normal(size=bodies.scale.size))[0]
