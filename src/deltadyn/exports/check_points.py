"""States with Python's answers, on which an exported model is tested on its target.

The states are spread around the middle of the reach, the first at rest, the others in motion, each
with a payload of its own; what the package says of them is what the target must say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import InputError, UnreachableError
from deltadyn.exports.common import middle_joints
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot

#: Directions of q, qd, qdd from the middle, for up to four axes; the first state rests there.
PLACES = (
    (0.0, 0.0, 0.0, 0.0),
    (1.0, -0.6, 0.3, 0.8),
    (-0.7, 0.9, 0.4, -1.0),
    (0.5, 0.6, -1.0, 0.4),
    (-0.8, -0.3, 0.7, 1.0),
    (0.3, 1.0, -0.5, -0.6),
)
RATES = (
    (0.0, 0.0, 0.0, 0.0),
    (0.7, 1.0, -0.4, 0.9),
    (-1.0, 0.3, 0.8, 0.6),
    (0.4, -0.9, 1.0, -1.0),
    (1.0, 0.5, -0.7, -0.4),
    (-0.6, -1.0, 0.2, 0.8),
)
SIZES = (0.5, 0.35, 0.2, 0.1, 0.05)  # rad of a place; on rails as much of `robot.radian`
WAY = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)  # of the way from the middle to a place, and beyond it
AT = 4
NOTHING = 1e-20  # in any unit
SPEED, BEND = 4.0, 60.0  # rad/s, rad/s^2
#: Payloads: kg, kg m^2, and m in the tool's frame.
LOADS = (
    (0.0, 0.0, 0.0, 0.0),
    (1.0, 0.004, 0.0, 0.0),
    (2.0, 0.0, 0.05, -0.03),
    (0.5, 0.05, 0.0, 0.0),
    (1.5, 0.01, -0.04, 0.06),
    (3.0, 0.02, 0.02, 0.02),
)


@dataclass(frozen=True, eq=False)
class CheckPoints:
    """Platform and joint motion (N, dof) as the controller has them, payloads and torques.

    `load` (N, 4) is mass, inertia, x and y; `tau` (N, dof) is that of the mass alone, which hangs
    where the robot file's payload does and whose inertia grows with it as the file's does;
    `tau_load` is that of all four.
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

    def __len__(self) -> int:
        return len(self.p)


def check_points(robot: Robot) -> CheckPoints:
    """The states of a robot's self-test."""
    n, middle = robot.dof, middle_joints(robot)
    states = [
        _state(robot, middle, np.array(place[:n]), np.array(rate[:n]))
        for place, rate in zip(PLACES, RATES, strict=True)
    ]
    sign, offset = np.asarray(robot.controller.sign), np.asarray(robot.controller.offset)
    held = [_held(robot, load[0]) for load in LOADS]
    loaded = [robot.with_payload(mass, (x, y, 0.0), inertia) for mass, inertia, x, y in LOADS]
    rows = {
        name: _rounded([getattr(state, name)[AT] for state in states])
        for name in ("p", "pd", "pdd", "q", "qd", "qdd")
    }
    return CheckPoints(
        p=rows["p"],
        pd=rows["pd"],
        pdd=rows["pdd"],
        q=sign * rows["q"] + offset,
        qd=sign * rows["qd"],
        qdd=sign * rows["qdd"],
        load=np.array(LOADS),
        tau=sign * _torques(held, states),
        tau_load=sign * _torques(loaded, states),
    )


def _state(robot: Robot, middle: FloatArray, place: FloatArray, rate: FloatArray) -> State:
    """Rows on the way from the middle through a place and beyond; row AT is the place.

    It lies as far from the middle as this robot reaches. A platform of halves is followed there.
    """
    radian = np.asarray(robot.radian)
    qd = np.tile(SPEED * radian * rate, (len(WAY), 1))
    qdd = np.tile(BEND * radian * np.roll(rate, 1), (len(WAY), 1))
    for size in SIZES:
        q = middle + np.array(WAY)[:, None] * size * radian * place
        try:
            return State.from_joints(robot, q, qd, qdd)
        except UnreachableError:
            continue
    raise InputError("robot", robot.name, "one that can move by 3 degrees around its middle")


def _held(robot: Robot, mass: float) -> Robot:
    """The robot with a mass where its file's payload hangs."""
    own = robot.payload
    inertia = own.inertia_zz / own.mass * mass if own.mass > 0 else 0.0
    return robot.with_payload(mass, own.offset, inertia)


def _torques(robots: list[Robot], states: list[State]) -> FloatArray:
    """(N, dof): a robot for every state."""
    pairs = zip(robots, states, strict=True)
    rows: Any = [inverse_dynamics(robot, state)[AT] for robot, state in pairs]
    return _rounded(rows)


def _rounded(rows: Any) -> FloatArray:
    """Numbers (N, dof) without the rounding of a zero, which single precision cannot hold."""
    numbers = np.array(rows)
    return np.where(np.abs(numbers) < NOTHING, 0.0, numbers)
