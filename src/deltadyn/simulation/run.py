"""A run: what is done to the robot from outside, and the log with the truth beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.dynamics.energy import energy
from deltadyn.dynamics.inverse import external_wrench
from deltadyn.errors import InputError, RobotError
from deltadyn.kinematics.state import State
from deltadyn.motion.motion import Motion
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Payload
from deltadyn.simulation.plant.machine import Machine, Work
from deltadyn.simulation.presets import setting
from deltadyn.simulation.touch import Touch
from deltadyn.units import together

ExternalForce = npt.ArrayLike | Callable[[float], npt.ArrayLike] | Touch
Events = dict[int, Payload]


def payload_events(robot: Robot, payload: Any, t: FloatArray) -> Events:
    """Ticks at which the payload changes: the first at or after each given time.

    `payload` holds pairs of a time (s) and a mass (kg), which sits where the robot's payload does,
    or a Payload.
    """
    if not isinstance(payload, Sequence) or isinstance(payload, str):
        raise InputError("payload", payload, "pairs (time in s, mass in kg or Payload)")
    events: Events = {}
    last = -np.inf
    for index, item in enumerate(payload):
        if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != 2:
            raise InputError(f"payload[{index}]", item, "a pair (time in s, mass in kg or Payload)")
        time = setting(f"payload[{index}] time", item[0], low=t[0], high=t[-1], unit="s")
        if time <= last:
            raise InputError(f"payload[{index}] time", time, f"above its predecessor, {last:g} s")
        last = time
        tick = int(np.searchsorted(t, time - 1e-9 * (t[1] - t[0])))
        events[tick] = _payload(robot, item[1], index)
    return events


def wrenches(robot: Robot, force: ExternalForce | None, t: FloatArray) -> FloatArray:
    """The external wrench (N, dof) at the ticks: constant, or a function held for a tick.

    That of a `Touch` is found in the run; it is 0 here.
    """
    if isinstance(force, Touch):
        return np.zeros((len(t), robot.dof))
    if not callable(force):
        return external_wrench(robot, _one(robot, force), len(t))
    return np.concatenate([external_wrench(robot, _one(robot, force(x)), 1) for x in t.tolist()])


def _one(robot: Robot, force: npt.ArrayLike | None) -> npt.ArrayLike | None:
    if force is not None and np.ndim(force) != 1:
        allowed = "(2,), x and z" if robot.planar else "(3,), or (4,) where the tool turns"
        raise InputError("shape of external_force", np.shape(force), allowed)
    return force


def _payload(robot: Robot, value: Any, index: int) -> Payload:
    if isinstance(value, Payload):
        return value
    try:
        return Payload(value, robot.payload.offset)
    except RobotError as error:
        raise InputError(f"payload[{index}] mass", error.value, error.allowed) from None


# What really happened in a run.


@dataclass(frozen=True, eq=False)
class Truth:
    """What really happened at the ticks t (N,), each other array (N, dof) unless said.

    q, qd, qdd are at the arms; the encoders sit at the motors, which are the same where the gears
    are rigid. `tau` is the torque in force at the tick, from the current; the motor gives
    tau + ripple. `friction` is that of the drives with the gears' loss, `passive_friction` what
    the joints without a drive ask of them. `force` is the external one on the platform, in N (N m
    about z), held for a tick. `robot` is the machine with its payload at the start;
    its friction is that at 25 degrees C.
    """

    robot: Robot
    t: FloatArray
    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    q_motor: FloatArray
    qd_motor: FloatArray
    p: FloatArray
    tau: FloatArray
    ripple: FloatArray
    friction: FloatArray
    passive_friction: FloatArray
    force: FloatArray
    temperature: FloatArray  # degrees C
    payload: FloatArray  # (N,), kg
    written: BoolArray  # (N,): the ticks that the recording has

    @property
    def gear_deflection(self) -> FloatArray:
        """How far the motors are ahead of the arms (N, dof), in rad."""
        return self.q_motor - self.q

    def motion(self) -> Motion:
        """The true motion of the arms, for the models."""
        return Motion.from_joints(self.robot, self.t, self.q, self.qd, self.qdd, hint=self.p)


# The energy books of a run: what went in, what was lost, what is stored.


@dataclass(frozen=True, eq=False)
class EnergyBooks:
    """Energies in J at the ticks, each (N,).

    Stored now: kinetic, potential, gear. Since the start: work of drives, ripple and external
    force, energy that payloads brought with them or took away, losses in friction and gear damping.
    Kinetic and potential energy are summed body by body, without the mass matrix that moved the
    plant.
    """

    kinetic: FloatArray
    potential: FloatArray
    gear: FloatArray
    drives: FloatArray
    ripple: FloatArray
    external: FloatArray
    payload: FloatArray
    friction: FloatArray
    damping: FloatArray

    @property
    def stored(self) -> FloatArray:
        """Kinetic, potential and gear energy (N,), in J."""
        return self.kinetic + self.potential + self.gear

    @property
    def error(self) -> FloatArray:
        """What the books miss (N,), in J: stored - start - inputs + losses."""
        given = self.drives + self.ripple + self.external + self.payload
        lost = self.friction + self.damping
        missing: FloatArray = self.stored - self.stored[0] - given + lost
        return missing

    @property
    def exchanged(self) -> float:
        """Energy that moved between the accounts, in J: half the sum of all ups and downs."""
        accounts = (getattr(self, item.name) for item in fields(self))
        return sum(float(np.abs(np.diff(account)).sum()) for account in accounts) / 2

    @property
    def drift(self) -> float:
        """Largest error of the books as a share of the exchanged energy."""
        largest = float(np.abs(self.error).max())
        return largest / self.exchanged if self.exchanged else largest


def keep_books(machine: Machine, truth: Truth, work: FloatArray, events: Events) -> EnergyBooks:
    """The books of a run; `work` (N, 5) is what the plant has integrated."""
    count = len(truth.t)
    kinetic, potential, payload = np.empty(count), np.empty(count), np.zeros(count)
    robot = machine.robot
    starts = [0, *sorted(tick for tick in events if tick < count)]
    for first, end in zip(starts, [*starts[1:], count], strict=True):
        part = slice(first, end)
        if first in events:
            before = float(np.sum(_stored(machine, robot, truth, slice(first, first + 1))))
            robot = robot.replace(payload=events[first])
        kinetic[part], potential[part] = _stored(machine, robot, truth, part)
        if first in events:
            payload[first:] += kinetic[first] + potential[first] - before
    gear = np.zeros(count)
    if machine.stiffness is not None:
        gear = truth.gear_deflection[:, : robot.legs] ** 2 @ machine.stiffness / 2
    integrated = dict(zip(Work._fields, work.T.copy(), strict=True))
    return EnergyBooks(
        kinetic=kinetic, potential=potential, gear=gear, payload=payload, **integrated
    )


def _stored(
    machine: Machine, robot: Robot, truth: Truth, part: slice
) -> tuple[FloatArray, FloatArray]:
    """Kinetic and potential energy; rotors turn with the motors."""
    rotor = np.asarray(robot.drives.output_inertia)
    bare = robot.with_rotor_inertia(np.zeros(robot.dof))
    state = State.from_joints(bare, truth.q[part], truth.qd[part], hint=truth.p[part])
    parts = energy(bare, state)
    return parts.kinetic + truth.qd_motor[part] ** 2 @ rotor / 2, parts.potential


@dataclass(frozen=True, eq=False)
class Run:
    """A simulated run: `recording` is what a drive would have logged, `truth` what was.

    A run that could not be finished is cut before the trouble; `completed` is then False and
    `status` says why.
    """

    recording: Recording
    truth: Truth
    reference: Motion  # the commanded motion at the ticks
    energy: EnergyBooks
    completed: bool
    status: str

    @property
    def tracking_error(self) -> FloatArray:
        """Reference minus true joint angles at the arms (N, dof), in rad."""
        return self.reference.q - self.truth.q

    @property
    def platform_error(self) -> FloatArray:
        """Reference minus true platform position (N, dof), in m [and rad]."""
        return self.reference.p - self.truth.p

    def __str__(self) -> str:
        rms = np.sqrt(np.mean(self.tracking_error**2, axis=0)) * 1e3
        errors = ", ".join(f"{value:.3g}" for value in rms)
        unit = together([f"m{unit}" for unit in self.truth.robot.axis_units("q")])
        return f"{self.recording.name}: {self.status}; tracking error {errors} {unit} RMS"
