"""The force observer for other languages: its numbers, and a motion on which it is tested there.

The motion is made of polynomials, so that a controller can run it without a log: empty, pushed,
empty again, loaded. What Python's observer says at the check points is what the target must say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import InputError, UnreachableError
from deltadyn.exports.common import middle_joints
from deltadyn.force.contact import CONTACT, PICK, UNSURE
from deltadyn.force.numbers import ForceNumbers
from deltadyn.force.observer import ForceObserver
from deltadyn.force.rows import per_load
from deltadyn.force.tare import Tare
from deltadyn.kinematics.state import State
from deltadyn.kinematics.struts import jacobian
from deltadyn.robot import Robot

DEGREE = 5
#: The motion q = middle + size (linear u + bend u^2): no axis turns around for u in -1 to 1.
LINEAR, BEND = (1.0, -0.7, 0.5, 2.0), (0.15, 0.2, -0.1, 0.3)
SIZES = (0.12, 0.06, 0.03, 0.015)  # rad; on rails as much of their `robot.radian`
WAY = (0.5, -0.6, 0.62)  # of the push: up and aside, as no load pulls
CLEAR = 3.0  # times the limit: how clearly push and load show
STEADY = 4  # samples around a check point in which the alarm stays as it is
KINDS = {None: 0, UNSURE: 1, CONTACT: 2, PICK: 3}


@dataclass(frozen=True, eq=False)
class Check:
    """What the observer says at a sample: force and deviation (dof,), alarm, and arm or 0."""

    sample: int
    force: FloatArray
    std: FloatArray
    contact: int
    arm: int


@dataclass(frozen=True, eq=False)
class SelfTest:
    """A motion as the controller has it, and what the observer says on it.

    `angles` (dof, 6) and `torques` (4, dof, 6) are coefficients of polynomials in u, which goes
    from -1 to 1 over the samples; the torques are those of the four parts that `begins` (4,) has.
    The alarm is acknowledged where the last part begins, and no payload is known.
    """

    samples: int
    angles: FloatArray
    begins: tuple[int, ...]
    torques: FloatArray
    checks: tuple[Check, ...]

    @property
    def scale(self) -> float:
        """The largest force or deviation of the check points in N, at least 1."""
        sizes = [np.abs([check.force, check.std]).max() for check in self.checks]
        return max(1.0, *(float(size) for size in sizes))


@dataclass(frozen=True, eq=False)
class ForceExport:
    """What an export of the observer needs."""

    numbers: ForceNumbers
    test: SelfTest


def force_export(robot: Robot, tare: Any) -> ForceExport | None:
    """The observer of a robot and a tare; None without a tare."""
    if tare is None:
        return None
    if not isinstance(tare, Tare):
        raise InputError("tare", type(tare).__name__, "a Tare, the empty run of this robot")
    if robot.linear and robot.spindle is not None:
        allowed = "none on rails with a spindle, whose axes count in m and in rad"
        raise InputError("tare of an export", robot.name, allowed)
    numbers = ForceNumbers.of(robot, tare)
    if not min(numbers.noise) > 0:
        allowed = f"above 0 {robot.axis_unit('tau')} on every axis"
        raise InputError("deviation of the tare", min(numbers.noise), allowed)
    return ForceExport(numbers, self_test(robot, tare, numbers))


def self_test(robot: Robot, tare: Tare, numbers: ForceNumbers) -> SelfTest:
    """The motion and its check points."""
    beat = max(1, round(numbers.rate / tare.options.bandwidth))
    push = numbers.settle + numbers.angles + beat
    pause = push + numbers.look + 3 * beat
    load = pause + 8 * beat
    samples = load + numbers.look + 3 * beat
    own = robot.with_payload(0.0, robot.payload.offset)
    angles = _angles(own, 2 * numbers.rate / (samples - 1))
    begins = (0, push, pause, load)
    torques = _torques(own, tare, numbers, angles, 2 * numbers.rate / (samples - 1))
    sign, offset = (np.asarray(x) for x in (robot.controller.sign, robot.controller.offset))
    angles, torques = sign[:, None] * angles, sign[:, None] * torques
    angles[:, 0] += offset
    said = _said(own, tare, samples, begins, angles, torques)
    places = (push - 1, push + beat, pause - 1, load - 1, load + beat, samples - 1)
    checks = tuple(_steady(said, place) for place in places)
    return SelfTest(samples, angles, begins, torques, checks)


def _angles(robot: Robot, pace: float) -> FloatArray:
    """Coefficients (dof, DEGREE + 1) of own angles around the middle of the reach."""
    dof, middle, radian = robot.dof, middle_joints(robot), np.asarray(robot.radian)
    for size in SIZES:
        found = np.zeros((dof, DEGREE + 1))
        found[:, 0] = middle
        found[:, 1] = size * radian * np.array(LINEAR[:dof])
        found[:, 2] = size * radian * np.array(BEND[:dof])
        try:
            _motion(robot, found, np.linspace(-1, 1, 50), pace)
        except UnreachableError:
            continue
        return found
    raise InputError("robot", robot.name, "one that can move by 1 degree around its middle")


def _motion(robot: Robot, angles: FloatArray, u: FloatArray, pace: float) -> State:
    """The motion at places u (N,), which change by `pace` in a second."""
    rows = [np.polynomial.Polynomial(row) for row in angles]
    q, qd, qdd = (np.stack([row.deriv(k)(u) * pace**k for row in rows], axis=1) for k in range(3))
    return State.from_joints(robot, q, qd, qdd)


def _torques(
    robot: Robot, tare: Tare, numbers: ForceNumbers, angles: FloatArray, pace: float
) -> FloatArray:
    """Own torques of the four parts, (4, dof, DEGREE + 1)."""
    u = np.linspace(-1, 1, 200)
    state = _motion(robot, angles, u, pace)
    J, own = jacobian(robot, state.p), inverse_dynamics(robot, state)
    # ID - tau is g Z x there, with ID in Z: the residual behind the slow states is 0
    x, turn = tare.axes.states, np.tanh(state.qd * numbers.over_smooth)
    g = per_load(robot, state.qd, state.qdd, own)
    known = np.stack([state.qd, turn, np.ones_like(turn), own], axis=-1)
    empty = own - g * np.einsum("nij,ij->ni", known, x)
    may = np.max(np.sum((known * tare.axes.spread) ** 2, axis=-1), axis=0)
    std = np.sqrt(tare.axes.noise**2 + tare.axes.rest_noise**2 + may)
    needed = CLEAR * (numbers.limit * std + tare.axes.held)

    def clear(column: FloatArray) -> FloatArray:
        """The column (N, dof) so large that its clearest axis passes the limit."""
        size = np.min(np.abs(column), axis=0)
        at = np.argmin(needed / np.maximum(size, 1e-9))
        found: FloatArray = column * (needed[at] / max(size[at], 1e-9))
        return found

    pushed = np.einsum("nij,i->nj", J[:, :3], np.array(WAY))
    heavier = robot.with_payload(1.0, robot.payload.offset)
    weight = inverse_dynamics(heavier, state) - own
    parts = (empty, empty - clear(pushed), empty, empty + clear(weight))
    fits = [np.polynomial.polynomial.polyfit(u, part, DEGREE).T for part in parts]
    return np.array(fits)


def _said(
    robot: Robot,
    tare: Tare,
    samples: int,
    begins: tuple[int, ...],
    angles: FloatArray,
    torques: FloatArray,
) -> list[Check]:
    """What Python's observer says at every sample of the motion."""
    sign, offset = (np.asarray(x) for x in (robot.controller.sign, robot.controller.offset))
    observer, found = ForceObserver(robot, tare), []
    for k in range(samples):
        u = 2.0 * k / (samples - 1) - 1.0
        part = sum(k >= begin for begin in begins) - 1
        if k == begins[-1]:
            observer.acknowledge()
        q, tau = (np.polynomial.polynomial.polyval(u, x.T) for x in (angles, torques[part]))
        observer.update(sign * (q - offset), sign * tau)
        contact = observer.contact
        kind = KINDS[None if contact is None else contact.kind]
        where = contact.where if contact is not None else "platform"
        arm = int(where.removeprefix("arm ")) if where.startswith("arm ") else 0
        found.append(Check(k, observer.force, observer.std, kind, arm))
    return found


def _steady(said: list[Check], place: int) -> Check:
    """The check point at a sample, or shortly before it where the alarm does not change nearby."""
    for k in range(place, STEADY, -1):
        near = said[k - STEADY : k + STEADY + 1]
        if all((x.contact, x.arm) == (said[k].contact, said[k].arm) for x in near):
            return said[k]
    raise InputError("tare", "an alarm that changes at every sample", "the tare of this robot")
