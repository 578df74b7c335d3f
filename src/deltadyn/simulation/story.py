"""The loop of plant and drive: tick by tick, or all ticks at once in compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.kernels.plant_layout import PLACES, STATE_PLACES
from deltadyn.robot import Robot
from deltadyn.simulation.compiled import (
    TROUBLES,
    CompiledPlant,
    fields_of,
    model_numbers,
    put,
)
from deltadyn.simulation.control_state import GravityLaw
from deltadyn.simulation.controllers import PDLaw
from deltadyn.simulation.drive import Drive
from deltadyn.simulation.linear import Floats
from deltadyn.simulation.plant import Plant, PlantStoppedError, Sample
from deltadyn.simulation.reference import Task

PIECE = 5000  # ticks of compiled code between two looks at the bar and at the keyboard


@dataclass(frozen=True, eq=False)
class Story:
    """What the loop has seen: arrays by field of `Sample`, commands (N, dof), how it ended."""

    samples: dict[str, FloatArray]
    commands: FloatArray
    trouble: str | None
    saturated: int  # ticks

    def __len__(self) -> int:
        return len(self.commands)


def follow(
    body: Plant,
    drive: Drive,
    task: Task,
    loads: dict[int, Robot],
    forces: FloatArray,
    report: Callable[[int], None],
) -> Story:
    """Tick by tick under external wrenches (N, dof), until the plant cannot go on."""
    law = drive.law
    if isinstance(body, CompiledPlant):
        if type(law) is PDLaw:
            return _follow_compiled(body, drive, law, (None, None), loads, forces, report)
        if type(law) is GravityLaw and law.parameters is not None:
            gravity = (np.ascontiguousarray(law.leads), model_numbers(law.parameters))
            return _follow_compiled(body, drive, law.feedback, gravity, loads, forces, report)
    samples: list[Sample] = []
    commands: list[Floats] = []
    trouble = None
    last, reference = len(forces) - 1, task.now.q[:, :3].tolist()
    for k, force in enumerate(map(tuple, forces.tolist())):
        if k in loads:
            body.carry(loads[k])
        try:
            _check_distance(reference[k], body.q_motor)
            torques = drive.tick(k, body.q_motor)
            if k < last:
                samples.append(body.advance(torques.start, torques.end, force))
            else:
                samples.append(body.sample(torques.start, force))
        except PlantStoppedError as stop:
            trouble = str(stop)
            break
        commands.append(torques.command)
        report(1)
    columns = [np.array(column) for column in zip(*samples, strict=True)]
    parts = dict(zip(Sample._fields, columns, strict=True)) if samples else {}
    return Story(parts, np.array(commands), trouble, drive.saturated)


def _follow_compiled(
    body: CompiledPlant,
    drive: Drive,
    law: PDLaw,
    gravity: tuple[FloatArray, FloatArray] | tuple[None, None],
    loads: dict[int, Robot],
    forces: FloatArray,
    report: Callable[[int], None],
) -> Story:
    """The same loop in compiled code, cut where the payload changes."""
    count, dof, numbers, state = len(forces), body.dof, body.numbers, body.state
    put(numbers, PLACES["rate"], drive.estimator.rate)
    put(numbers, PLACES["filter_gain"], drive.estimator.gain)
    put(numbers, PLACES["stiffness_gain"], law.stiffness)
    put(numbers, PLACES["damping_gain"], law.damping)
    put(state, STATE_PLACES["torque"], drive.torque)
    put(state, STATE_PLACES["holding"], drive.torque)
    put(state, STATE_PLACES["before"], drive.estimator.before)
    put(state, STATE_PLACES["seen"], drive.estimator.y)
    tables = [
        np.ascontiguousarray(table, dtype=np.float64)
        for table in (law.reference, law.rates, law.forward, forces)
    ]
    commands, samples = np.empty((count, dof)), np.empty((count, body.width))
    cuts = sorted({*range(0, count, PIECE), *(k for k in loads if k < count), count})
    done, trouble = 0, 0
    for first, end in pairwise(cuts):
        if first in loads:
            body.carry(loads[first])
        ticks, trouble = body.module.plant_follow(
            numbers, state, *tables, commands, samples, first, end, count - 1, *gravity
        )
        done += ticks
        report(ticks)
        if trouble:
            break
    saturated = int(state[STATE_PLACES["saturated"].start])
    parts = fields_of(samples[:done], dof)
    return Story(parts, commands[:done], TROUBLES.get(trouble), saturated)


def _check_distance(reference: list[float], q: Floats) -> None:
    """Stop where an arm is half a turn off: no loop brings it back, and no robot turns so far."""
    for axis, angle in enumerate(reference):
        if not abs(q[axis] - angle) < math.pi:
            raise PlantStoppedError(
                f"arm {axis + 1} is half a turn away from its reference, the controller has lost it"
            )
