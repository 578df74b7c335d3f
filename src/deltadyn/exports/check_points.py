"""The check points of a model as arrays, with payloads as functions of C take them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.exports.model_test import ModelCheck, model_test
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot


@dataclass(frozen=True, eq=False)
class CheckPoints:
    """Platform and joint motion (N, dof) as the controller has them, payloads and torques.

    `load` (N, 4) is mass, inertia, x and y; `tau` (N, dof) is that of the mass alone, which hangs
    where the robot file's payload does and whose inertia grows with it as the file's does;
    `tau_load` is that of all four. `far` (dof,) is out of reach, None where everything is in it.
    """

    p: FloatArray
    pd: FloatArray
    pdd: FloatArray
    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    load: FloatArray
    tau: FloatArray
    tau_load: FloatArray
    far: FloatArray | None

    def __len__(self) -> int:
        return len(self.p)


def check_points(robot: Robot) -> CheckPoints:
    """The states of a robot's self-test."""
    test = model_test(robot)
    rows = {
        name: np.array([getattr(check, name) for check in test.checks])
        for name in ("p", "pd", "pdd", "q", "qd", "qdd")
    }
    own = robot.payload
    per_kg = own.inertia_zz / own.mass if own.mass > 0 else 0.0
    held = [robot.with_payload(c.mass, own.offset, per_kg * c.mass) for c in test.checks]
    return CheckPoints(
        **rows,
        load=np.array([(c.mass, c.inertia, *c.place) for c in test.checks]),
        tau=np.array([_torque(*pair) for pair in zip(held, test.checks, strict=True)]),
        tau_load=np.array([c.load_torque for c in test.checks]),
        far=test.far,
    )


def _torque(robot: Robot, check: ModelCheck) -> FloatArray:
    """In the controller's sign."""
    state = State.from_platform(robot, check.p, check.pd, check.pdd)
    tau = np.ravel(inverse_dynamics(robot, state))
    return np.asarray(robot.controller.sign) * tau
