"""The drive: reads the encoders, runs the controller, delays, limits and holds its torque.

Its sensors are here too: that of the current, and what the log shows of the truth.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.errors import InputError
from deltadyn.simulation.controllers.feedforward import Law, TorqueLaw
from deltadyn.simulation.drive.reference import Task, VelocityEstimator
from deltadyn.simulation.plant.machine import Machine
from deltadyn.simulation.plant.numerics import Floats


class Torques(NamedTuple):
    """What was commanded at a tick, in the drive's own scale, and the true torque at the beginning
    and at the end of it (dof,)."""

    command: Floats
    start: Floats
    end: Floats


class Drive:
    """State of the drive between ticks; at first it gives the torque that holds the robot."""

    def __init__(
        self, machine: Machine, task: Task, law: Law, holding: Floats, seed: int = 0
    ) -> None:
        preset = machine.preset
        self.law, self.ramps = law, preset.hold == "linear"
        self.tell = law.measured if isinstance(law, TorqueLaw) else None
        self.sensor = CurrentSensor(machine, seed)
        counts = machine.encoder_step
        self.step: Floats | None = None if counts is None else tuple(counts.tolist())
        self.estimator = VelocityEstimator(
            task.rate, preset.velocity_filter, task.now.q[0], task.now.qd[0]
        )
        peak = machine.robot.limits.torque_peak
        self.limit: Floats | None = None
        if preset.saturation is not None and peak is not None:
            self.limit = tuple(preset.saturation * value for value in peak)
        self.half_turn = math.pi * machine.robot.radian[0]
        self.ratio: Floats = tuple(machine.robot.sensors.torque_ratio)
        scaled = tuple([a * b for a, b in zip(self.ratio, holding, strict=True)])
        self.torque = self._limited(scaled)  # in the drive's own scale
        self.queue = deque([self.torque] * preset.delay)
        self.saturated = 0  # ticks at which a limit cut the torque

    def tick(self, k: int, q_motor: Floats) -> Torques:
        """Measure, command, and say what the motors do until the next tick."""
        q = q_motor
        if self.step is not None:
            q = tuple([round(x / step) * step for x, step in zip(q, self.step, strict=True)])
        if self.tell is not None:
            self.tell(self.sensor.read(self.torque))
        command = self.law(k, q, self.estimator.update(q))
        command = _checked(command, len(q)) if k == 0 else tuple(command)
        self.queue.append(command)
        wanted = self.queue.popleft()
        end = self._limited(wanted)
        self.saturated += end != wanted
        start = self.torque if self.ramps else end
        self.torque = end
        return Torques(command, self._true(start), self._true(end))

    def _true(self, torque: Floats) -> Floats:
        """The true torque of one in the drive's scale."""
        return tuple([a / b for a, b in zip(torque, self.ratio, strict=True)])

    def _limited(self, torque: Floats) -> Floats:
        if self.limit is None:
            return torque
        return tuple([max(-a, min(a, x)) for a, x in zip(self.limit, torque, strict=True)])


class CurrentSensor:
    """The torque that a law is told: with the noise of the log's rows, and its resolution."""

    def __init__(self, machine: Machine, seed: int) -> None:
        preset, reference = machine.preset, machine.reference_torque
        self.noise = preset.current_noise * reference if preset.current_noise else None
        self.step = preset.current_step * reference if preset.current_step else None
        self.random = np.random.default_rng([seed, 1])  # the stream of the log's current noise

    def read(self, torque: Floats) -> Floats:
        """The reading (dof,) of a torque, in N m."""
        if self.noise is None and self.step is None:
            return torque
        value = np.array(torque)
        if self.noise is not None:
            value += self.noise * self.random.standard_normal(len(torque))
        if self.step is not None:
            value = np.round(value / self.step) * self.step
        return tuple(value.tolist())


def _checked(command: object, dof: int) -> Floats:
    """A controller of one's own may answer anything; say so at the first tick."""
    try:
        values = tuple(float(x) for x in command)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        values = ()
    if len(values) != dof or not all(map(math.isfinite, values)):
        raise InputError("torque of the controller", command, f"{dof} finite numbers")
    return values


# What the log shows of the truth: read late, quantised, noisy, with rows missing.


class Log(NamedTuple):
    """Measured angles and torques (N, dof) of all ticks, and which ticks were written (N,)."""

    q: FloatArray
    tau: FloatArray
    written: BoolArray


def read_log(
    machine: Machine,
    rate: float,
    q: FloatArray,
    qd: FloatArray,
    tau: FloatArray,
    seed: int,
) -> Log:
    """The log of true motor angles, rates and torques (N, dof) at the ticks.

    Every imperfection draws from its own stream of random numbers, so that switching one on leaves
    the others as they are.
    """
    preset, count = machine.preset, len(q)
    clock, current, loss = (np.random.default_rng([seed, stream]) for stream in range(3))
    late = preset.jitter * clock.standard_normal(count)
    angle = q + qd * late[:, None]
    tau = tau * np.asarray(machine.robot.sensors.torque_ratio)
    torque = tau + np.gradient(tau, 1 / rate, axis=0) * late[:, None] if preset.jitter else tau
    torque = torque + preset.current_noise * machine.reference_torque * current.standard_normal(
        tau.shape
    )
    if preset.current_step:
        torque = rounded(torque, preset.current_step * machine.reference_torque)
    written = np.asarray(loss.random(count) >= preset.dropped)
    step = machine.encoder_step
    return Log(angle if step is None else rounded(angle, step), torque, written)


def rounded(value: FloatArray, step: FloatArray | float) -> FloatArray:
    """The nearest multiple of the step."""
    nearest: FloatArray = np.round(value / step) * step
    return nearest
