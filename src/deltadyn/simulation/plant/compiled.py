"""The ideal plant in compiled code: the machine's numbers and state as arrays, and its ticks.

The same steps as `ideal` in the same order; results differ by rounding alone.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.backends import layout
from deltadyn.backends.limbs import ROTARY
from deltadyn.backends.packed import packed_parameters
from deltadyn.backends.plant_layout import (
    JOINTS,
    MACHINE_COUNT,
    PLACES,
    ROBOT_COUNT,
    STATE_COUNT,
    STATE_PLACES,
)
from deltadyn.dynamics.parameters import ExactParameters
from deltadyn.kinematics.actuation import actuation
from deltadyn.robot import Robot
from deltadyn.simulation.controllers.state import NO_STATE
from deltadyn.simulation.drive.drivetrain import Gears, bearing
from deltadyn.simulation.plant.ideal import Start, substeps
from deltadyn.simulation.plant.machine import Machine, PlantStoppedError, Sample
from deltadyn.simulation.plant.numerics import Floats

WORKS = 5
TROUBLES = {
    1: "the struts do not meet, or lie in one plane",
    2: "the motion grew without bound",
    3: "arm 1 is half a turn away from its reference, the controller has lost it",
    4: "arm 2 is half a turn away from its reference, the controller has lost it",
    5: "arm 3 is half a turn away from its reference, the controller has lost it",
    6: NO_STATE,
}


def compiled(robot: Robot) -> bool:
    """Whether the compiled plant knows robots of this kind: three standard arms."""
    return robot.legs == 3 and actuation(robot) == ROTARY


def robot_numbers(robot: Robot, smoothing: float, motors: int = 0) -> FloatArray:
    """The numbers of a robot, behind whose first `motors` drives there are elastic gears.

    `smoothing` (rad/s) is that of the friction's tanh where the robot names none.
    """
    numbers = np.zeros(ROBOT_COUNT)
    numbers[: layout.COUNT] = packed_parameters(bearing(robot, motors))
    rotor = layout.PLACES["rotor"].start
    numbers[rotor : rotor + robot.dof] = robot.drives.output_inertia
    numbers[layout.PLACES["smoothing"]] = robot.friction.smoothing or smoothing
    for item in robot.friction.passive:
        joint = JOINTS.index(item.joint)
        numbers[PLACES["passive_viscous"].start + joint] = item.viscous
        numbers[PLACES["passive_coulomb"].start + joint] = item.coulomb
    return numbers


def model_numbers(par: ExactParameters) -> FloatArray:
    """The numbers of a model without friction that is the exact one with these parameters."""
    numbers = np.zeros(layout.COUNT)
    limbs = [value for limb in par.limbs for value in limb]  # type: ignore[attr-defined]
    numbers[: len(limbs)] = limbs
    for name in ("gravity", "M_P", "m_x", "A", "G", "G_s"):
        put(numbers, layout.PLACES[name], getattr(par, name))
    if par.spindle is not None:
        spindle = [getattr(par.spindle, item.name) for item in fields(par.spindle)]
        put(numbers, layout.PLACES["spindle"], spindle)
    return numbers


def machine_numbers(machine: Machine, robot: Robot, dt: float) -> FloatArray:
    """The numbers of a machine that carries what `robot` carries, in ticks of dt seconds."""
    preset, gears = machine.preset, Gears.of(machine)
    motors, dof = len(gears.stiffness), robot.dof
    numbers = np.zeros(MACHINE_COUNT)
    numbers[:ROBOT_COUNT] = robot_numbers(robot, preset.smoothing, motors)
    limit = np.full(dof, np.inf)
    peak = machine.robot.limits.torque_peak
    if preset.saturation is not None and peak is not None:
        limit = preset.saturation * np.asarray(peak)
    counts = preset.encoder_counts
    entries: dict[str, Any] = {
        "dof": dof,
        "motors": motors,
        "stiffness": gears.stiffness,
        "damping": gears.damping,
        "ripple": machine.ripple,
        "ripple_waves": preset.ripple_waves,
        "temperature": preset.temperature,
        "viscous_drift": preset.viscous_drift,
        "coulomb_drift": preset.coulomb_drift,
        "heating": preset.heating,
        "heating_step": -math.expm1(-dt / preset.heating_time),
        "dt": dt,
        "substeps": substeps(machine, dt),
        "ramp": float(preset.hold == "linear"),
        "delay": preset.delay,
        "limit": limit,
        "encoder_step": 0.0 if counts is None else 2 * math.pi / counts,
    }
    for name, value in entries.items():
        put(numbers, PLACES[name], value)
    return numbers


# The compiled plant keeps nothing itself: all that it knows lies in four flat arrays of doubles,
# whose places `backends.plant_layout` names and the generated C holds as an enumeration. With n
# axes and m motors behind elastic gears (0 or 3):
#
#     numbers   the robot (mechanism, drives' friction, passive joints), then the machine: gears,
#               ripple, temperature, drive; written once, the robot's part again with every payload
#     state     y = (q: n, qd: n, q_motor: m, qd_motor: m, work: 5), packed without gaps, so that y
#               has 2 (n + m) + 5 entries; then temperatures, torque in force, the drive's memory
#     torques   torque at the begin (n) and at the end (n) of the tick, external wrench (n)
#     row       what a tick tells: the fields of `Sample` in their order, n each, the work (5) last


class CompiledPlant:
    """The ideal plant of `ideal.IdealPlant`, with its state in an array of the compiled code."""

    def __init__(self, machine: Machine, start: Start, dt: float, module: Any) -> None:
        self.machine, self.dof, self.dt = machine, machine.robot.dof, dt
        self.module = module
        self.numbers = machine_numbers(machine, machine.robot, dt)
        self.motors = int(self.numbers[PLACES["motors"].start])
        self.state = np.zeros(STATE_COUNT)
        swung = (*start.q_motor[: self.motors], *start.qd[: self.motors])
        put(self.state, STATE_PLACES["y"], (*start.q, *start.qd, *swung))
        put(self.state, STATE_PLACES["temperature"], [machine.preset.temperature] * self.dof)
        self.row = np.empty(self.width)
        self.torques = np.empty(3 * self.dof)

    @property
    def width(self) -> int:
        """Numbers in a sample."""
        return (len(Sample._fields) - 1) * self.dof + WORKS

    @property
    def q_motor(self) -> Floats:
        """The angles that the encoders see."""
        n, m = self.dof, self.motors
        if not m:
            return tuple(self.state[:n].tolist())
        return tuple(self.state[2 * n : 2 * n + m].tolist() + self.state[m:n].tolist())

    @property
    def arms(self) -> tuple[Floats, Floats]:
        """Angles and rates at the arms."""
        q, qd = self.state[: self.dof], self.state[self.dof : 2 * self.dof]
        return tuple(q.tolist()), tuple(qd.tolist())

    def carry(self, robot: Robot) -> None:
        """Go on with this robot: another payload."""
        self.numbers[:ROBOT_COUNT] = robot_numbers(
            robot, self.machine.preset.smoothing, self.motors
        )

    def sample(self, torque: Floats, wrench: Floats) -> Sample:
        """The state now, under this torque."""
        return self._tick(torque, torque, wrench, False)

    def advance(self, start: Floats, end: Floats, wrench: Floats) -> Sample:
        """Go one tick further; the state at its beginning."""
        return self._tick(start, end, wrench, True)

    def _tick(self, start: Floats, end: Floats, wrench: Floats, moves: bool) -> Sample:
        self.torques[:] = (*start, *end, *wrench)
        trouble = self.module.plant_tick(self.numbers, self.state, self.torques, self.row, moves)
        if trouble:
            raise PlantStoppedError(TROUBLES[trouble])
        row, n = tuple(self.row.tolist()), self.dof
        work = len(row) - WORKS
        return Sample._make([*[row[k : k + n] for k in range(0, work, n)], row[work:]])


def fields_of(samples: FloatArray, dof: int) -> dict[str, FloatArray]:
    """The fields of `Sample` as arrays, which are parts of a table of rows."""
    *names, last = Sample._fields
    parts = {name: samples[:, k * dof : (k + 1) * dof] for k, name in enumerate(names)}
    parts[last] = samples[:, len(names) * dof :]
    return parts


def put(array: FloatArray, place: slice, value: Any) -> None:
    """Write one or more numbers to the beginning of their place."""
    values = np.atleast_1d(np.asarray(value, dtype=np.float64))
    array[place.start : place.start + len(values)] = values
