"""A motion on which an exported payload estimator is tested on its target.

The robot swings to and fro between rests, a load is picked at a rest and released at a later one.
The target makes angles by a polynomial and torques by its own model; what Python's torque and
estimator say at the check points is what the target must say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import InputError, UnreachableError
from deltadyn.exports.common import middle_joints
from deltadyn.kinematics.state import State
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.robot import Robot

WAY, REST, FIRST, LAST = 0.3, 0.1, 0.12, 0.08  # s: of a move, a rest, those at begin and end
WAYS = 4  # moves; the third carries the load
MASS = 2.0  # kg
SWING = (1.0, -0.7, 0.5, 1.5)  # of an axis, times a size that can be reached
SIZES = (0.3, 0.15, 0.08, 0.04)  # rad; on rails as much of their `robot.radian`
STEADY = 40  # samples around a check point in which nothing is announced


@dataclass(frozen=True, eq=False)
class PayloadCheck:
    """At a sample: torque (dof,) in the controller's sign, mass, deviation, finished picks."""

    sample: int
    torque: FloatArray
    mass: float
    std: float
    loaded: bool
    picks: int


@dataclass(frozen=True, eq=False)
class PayloadTest:
    """A motion as the controller has it: `begin` and `swing` (dof,) in rad, samples of its parts.

    Move w begins at `begins[w]` and lasts `length` samples; angles go from begin to begin + swing
    in even moves and back in odd ones, as 10 u^3 - 15 u^4 + 6 u^5. The load (kg) is there for the
    samples from `pick` to `release`.
    """

    samples: int
    length: int
    begins: tuple[int, ...]
    pick: int
    release: int
    mass: float
    begin: FloatArray
    swing: FloatArray
    checks: tuple[PayloadCheck, ...]

    @property
    def scale(self) -> float:
        """The largest torque of the check points in N m, at least 1."""
        return max(1.0, *(float(np.abs(check.torque).max()) for check in self.checks))


def payload_test(robot: Robot, estimator: PayloadEstimator) -> PayloadTest:
    """The motion and its check points; the estimator is used and reset."""
    rate, sign = estimator.grid.rate, np.asarray(robot.controller.sign)
    length, rest = round(WAY * rate), round(REST * rate)
    first = round(FIRST * rate)
    begins = tuple(first + w * (length + rest) for w in range(WAYS))
    pick, release = begins[2] - rest // 2, begins[3] - rest // 2
    samples = begins[-1] + length + round(LAST * rate)
    own, swing = _place(robot)
    state = _motion(robot, samples, begins, length, own, swing, rate)
    payload = robot.payload
    inertia = payload.inertia_zz / payload.mass * MASS if payload.mass > 0 else 0.0
    empty = robot.with_payload(0.0, payload.offset)
    loaded = robot.with_payload(MASS, payload.offset, inertia)
    held = np.zeros((samples, 1), bool)
    held[pick:release] = True
    tau = np.where(held, inverse_dynamics(loaded, state), inverse_dynamics(empty, state))
    said = _said(estimator, state.q, tau, sign)
    places = (begins[2] - rest // 2 - 1, begins[3] - rest // 2 - 1, samples - 1)
    checks = tuple(_steady(said, place) for place in places)
    offset = np.asarray(robot.controller.offset)
    return PayloadTest(
        samples, length, begins, pick, release, MASS, sign * own + offset, sign * swing, checks
    )


def _place(robot: Robot) -> tuple[FloatArray, FloatArray]:
    """Own angles (dof,) at the begin and how far they swing, around the middle of the reach."""
    middle, radian = middle_joints(robot), np.asarray(robot.radian)
    for size in SIZES:
        swing = size * radian * np.array(SWING[: robot.dof])
        try:
            State.from_joints(robot, middle + np.linspace(-0.5, 0.5, 50)[:, None] * swing)
        except UnreachableError:
            continue
        return middle - 0.5 * swing, swing
    raise InputError("robot", robot.name, "one that can move by 2 degrees around its middle")


def _motion(
    robot: Robot,
    samples: int,
    begins: tuple[int, ...],
    length: int,
    begin: FloatArray,
    swing: FloatArray,
    rate: float,
) -> State:
    k = np.arange(samples)
    way = np.maximum(np.searchsorted(begins, k, side="right") - 1, 0)
    u = np.clip((k - np.array(begins)[way]) / length, 0.0, 1.0)
    pace = rate / length  # of u, per s
    rows = (
        u**3 * (10.0 - 15.0 * u + 6.0 * u * u),
        30.0 * u * u * (1.0 - u) ** 2 * pace,
        60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) * pace**2,
    )
    back = way % 2 == 1
    s, sd, sdd = (np.where(back, -x, x) for x in rows)
    s = np.where(back, 1.0 + s, s)
    q, qd, qdd = begin + s[:, None] * swing, sd[:, None] * swing, sdd[:, None] * swing
    return State.from_joints(robot, q, qd, qdd)


def _said(
    estimator: PayloadEstimator, q: FloatArray, tau: FloatArray, sign: FloatArray
) -> list[PayloadCheck]:
    """What Python's estimator says at every sample."""
    estimator.reset()
    found = []
    for k, (angles, torque) in enumerate(zip(q.tolist(), tau.tolist(), strict=True)):
        mass = estimator.update(angles, None, None, torque)
        found.append(
            PayloadCheck(k, sign * tau[k], mass, estimator.std, estimator.loaded, estimator.picked)
        )
    estimator.reset()
    return found


def _steady(said: list[PayloadCheck], place: int) -> PayloadCheck:
    """The check point at a sample, or before it where nothing is announced nearby."""
    for k in range(place, STEADY, -1):
        near = said[k - STEADY : k + STEADY + 1]
        same = all((x.loaded, x.picks) == (said[k].loaded, said[k].picks) for x in near)
        if same and np.isfinite(said[k].std):
            return said[k]
    raise InputError("estimator", "events at every sample", "an estimator of this robot")
