"""The drive: reads the encoders, runs the controller, delays, limits and holds its torque."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

from deltadyn.errors import InputError
from deltadyn.simulation.controllers import Law
from deltadyn.simulation.linear import Floats
from deltadyn.simulation.machine import Machine
from deltadyn.simulation.reference import Task, VelocityEstimator


class Torques(NamedTuple):
    """What was commanded at a tick, and the torque at the beginning and at the end of it (dof,)."""

    command: Floats
    start: Floats
    end: Floats


class Drive:
    """State of the drive between ticks; at first it gives the torque that holds the robot."""

    def __init__(self, machine: Machine, task: Task, law: Law, holding: Floats) -> None:
        preset = machine.preset
        self.law, self.ramps = law, preset.hold == "linear"
        self.step = None if preset.encoder_counts is None else 2 * math.pi / preset.encoder_counts
        self.estimator = VelocityEstimator(
            task.rate, preset.velocity_filter, task.now.q[0], task.now.qd[0]
        )
        peak = machine.robot.limits.torque_peak
        self.limit: Floats | None = None
        if preset.saturation is not None and peak is not None:
            self.limit = tuple(preset.saturation * value for value in peak)
        self.torque = self._limited(holding)
        self.queue = deque([self.torque] * preset.delay)
        self.saturated = 0  # ticks at which a limit cut the torque

    def tick(self, k: int, q_motor: Floats) -> Torques:
        """Measure, command, and say what the motors do until the next tick."""
        q = q_motor
        if self.step is not None:
            q = tuple([round(angle / self.step) * self.step for angle in q])
        command = self.law(k, q, self.estimator.update(q))
        command = _checked(command, len(q)) if k == 0 else tuple(command)
        self.queue.append(command)
        wanted = self.queue.popleft()
        end = self._limited(wanted)
        self.saturated += end != wanted
        start = self.torque if self.ramps else end
        self.torque = end
        return Torques(command, start, end)

    def _limited(self, torque: Floats) -> Floats:
        if self.limit is None:
            return torque
        return tuple([max(-a, min(a, x)) for a, x in zip(self.limit, torque, strict=True)])


def _checked(command: object, dof: int) -> Floats:
    """A controller of one's own may answer anything; say so at the first tick."""
    try:
        values = tuple(float(x) for x in command)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        values = ()
    if len(values) != dof or not all(map(math.isfinite, values)):
        raise InputError("torque of the controller", command, f"{dof} finite numbers")
    return values
