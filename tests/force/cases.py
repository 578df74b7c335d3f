"""An empty run and pushes of a known force, without a simulation: the model's torque and noise."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from tests.payload.cases import case, robot_of

from deltadyn.arrays import FloatArray
from deltadyn.force import Tare
from deltadyn.kinematics.forward import forward_kinematics
from deltadyn.kinematics.struts import jacobian
from deltadyn.recording.recording import Recording

FORCE = (0.0, 40.0, -15.0)  # N
BEGIN, END = 2000, 2800  # samples between which the push lasts


@lru_cache(maxsize=2)
def tare_of(four: bool = False) -> Tare:
    """The tare of 28 empty cycles."""
    return Tare.of(robot_of(four), empty(28, seed=3, four=four))


def empty(cycles: int, *, seed: int = 0, four: bool = False) -> Recording:
    """Empty cycles with noise that hides most of the small torque of a fourth axis."""
    deviation = 0.3  # N m
    return case(cycles, seed=seed, empty=True, four=four, deviation=deviation).recording


def pushed(force: tuple[float, ...] = FORCE, *, four: bool = False) -> Recording:
    """Three empty cycles with a push on the platform: tau = ID - J^T F."""
    robot, log = robot_of(four), empty(3, four=four)
    F = np.zeros((len(log), robot.dof))
    F[BEGIN:END, : len(force)] = force
    J = jacobian(robot, forward_kinematics(robot, log.q))
    tau: FloatArray = log.tau - np.einsum("nij,ni->nj", J, F)
    return log.replace(tau=tau)
