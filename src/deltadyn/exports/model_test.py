"""Check points of an exported model: motions and payloads with what Python says of them.

A target runs its own kinematics and torques at these points on the machine that it was made for,
and compares. So it finds an import, a compiler or a number of bits that spoils numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import InputError, UnreachableError
from deltadyn.exports.common import middle
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot

#: Places, velocities, accelerations in (x, y, z, psi) and payloads, times the sizes below.
PLACES = (
    (0.0, 0.0, 0.0, 0.0),
    (1.0, 0.1, -0.3, 0.5),
    (-0.6, 0.8, 0.2, -0.7),
    (-0.5, -0.9, 0.1, 0.3),
    (0.3, 0.5, -0.8, -1.0),
)
VELOCITIES = (
    (0.0, 0.0, 0.0, 0.0),
    (-1.0, 0.4, 0.6, 1.0),
    (0.3, 1.0, -0.5, -0.8),
    (0.8, -0.6, 0.9, 0.4),
    (-0.4, -0.7, -1.0, -0.3),
)
ACCELERATIONS = (
    (0.0, 0.0, 0.0, 0.0),
    (0.5, -1.0, 0.7, -0.6),
    (-0.9, -0.2, 0.4, 1.0),
    (0.2, 0.6, -1.0, 0.5),
    (1.0, -0.4, -0.3, -0.9),
)
MASSES = (0.0, 0.0, 1.0, 3.0, 0.5)  # kg
INERTIAS = (0.0, 0.0, 0.002, 0.004, 0.0)  # kg m^2, of robots that turn their payload
#: Other places of the payloads than the robot file's, m in the frame that turns by psi.
LOAD_PLACES = ((0.0, 0.0), (0.03, 0.02), (0.0, 0.0), (0.05, -0.03), (-0.04, 0.06))
SIZES = (0.6, 0.45, 0.3, 0.2, 0.1, 0.05)  # of `geometry.size`, and rad: the largest in reach
VELOCITY, ACCELERATION = 4.0, 80.0  # of `geometry.size` per s and s^2, and rad
FASTEST = 4.0  # times the platform's velocity: a joint that is faster is near a singular pose
FAR = 5.0  # of the lengths of a limb: out of reach


@dataclass(frozen=True, eq=False)
class ModelCheck:
    """A motion and its torque (dof,).

    p, pd, pdd are the platform's; q, qd, qdd and torque are the controller's, with its signs and
    offsets. `mass` (kg) sits at the payload's offset of the robot file, `inertia` (kg m^2) is about
    its own vertical axis. `load_torque` (dof,) is that of the same payload at `place` (x, y) in m.
    """

    p: FloatArray
    pd: FloatArray
    pdd: FloatArray
    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    mass: float
    inertia: float
    torque: FloatArray
    place: tuple[float, float]
    load_torque: FloatArray


@dataclass(frozen=True, eq=False)
class ModelTest:
    """Check points in reach, and a point (dof,) out of reach, None where everything is in reach."""

    checks: tuple[ModelCheck, ...]
    far: FloatArray | None

    @property
    def torque_scale(self) -> float:
        """The largest torque of the check points in N m or N, at least 1."""
        return max(1.0, *(float(np.abs((*c.torque, *c.load_torque)).max()) for c in self.checks))

    @property
    def pose_scale(self) -> float:
        """The largest coordinate of platform and joints in m and rad, at least 1."""
        return max(1.0, *(float(np.abs((*c.p, *c.q)).max()) for c in self.checks))


def model_test(robot: Robot) -> ModelTest:
    """The check points of a robot; the same robot has the same ones."""
    states = zip(PLACES, VELOCITIES, ACCELERATIONS, strict=True)
    loads = zip(MASSES, INERTIAS, LOAD_PLACES, strict=True)
    rows = zip(states, loads, strict=True)
    checks = (_check(robot, _state(robot, *state), *load) for state, load in rows)
    return ModelTest(tuple(checks), _far(robot))


Row = tuple[float, float, float, float]


def _check(
    robot: Robot, state: State, mass: float, inertia: float, place: tuple[float, float]
) -> ModelCheck:
    own = inertia if robot.turns else 0.0
    there, other = robot.payload.offset, (*place, robot.payload.offset[2])
    sign, offset = np.asarray(robot.controller.sign), np.asarray(robot.controller.offset)
    torque, load_torque = (
        np.ravel(sign * inverse_dynamics(robot.with_payload(mass, at, own), state))
        for at in (there, other)
    )
    return ModelCheck(
        np.ravel(state.p),
        np.ravel(state.pd),
        np.ravel(state.pdd),
        np.ravel(sign * state.q + offset),
        np.ravel(sign * state.qd),
        np.ravel(sign * state.qdd),
        mass,
        own,
        torque,
        place,
        load_torque,
    )


def _state(robot: Robot, place: Row, pd: Row, pdd: Row) -> State:
    """The motion at the farthest of the sizes that is in reach, away from singular poses."""
    unit = np.array([1.0 if n == "psi" else robot.geometry.size for n in robot.coordinates])
    for size in SIZES:
        p = np.round(middle(robot) + size * unit * _own(robot, place), 6)
        rates = np.round(VELOCITY * unit * _own(robot, pd), 6)
        bends = np.round(ACCELERATION * unit * _own(robot, pdd), 6)
        try:
            state = State.from_platform(robot, p, rates, bends)
        except UnreachableError:
            continue
        if (np.abs(state.qd) <= FASTEST * VELOCITY * np.asarray(robot.radian)).all():
            return state
    raise InputError("robot", robot.name, "one that can move by 5 % of its size around its middle")


def _own(robot: Robot, row: Row) -> FloatArray:
    """The numbers of a row that the robot has coordinates for."""
    named = dict(zip(("x", "y", "z", "psi"), row, strict=True))
    return np.array([named[name] for name in robot.coordinates])


def _far(robot: Robot) -> FloatArray | None:
    """A point beside, below or above the robot that no limb reaches."""
    length = FAR * (robot.geometry.size + max(robot.geometry.strut_length))
    for name in ("x", "y", "z"):
        if name not in robot.coordinates:
            continue
        point = np.asarray(middle(robot), float)
        point[robot.coordinates.index(name)] -= round(length, 3)
        if np.isnan(inverse_kinematics(robot, point, unreachable="nan")).any():
            return point
    return None
