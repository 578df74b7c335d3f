"""Logs with pushes and loads for the exported force observers, and what Python's says on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from tests.exports.c_build import ROBOTS
from tests.machines import Touch, make_machine
from tests.payload.cases import coloured

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.exports.force import KINDS
from deltadyn.force import ForceObserver, Tare
from deltadyn.kinematics.struts import jacobian
from deltadyn.payload.bench import pick_plan
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

PUSH = (12.0, -30.0, 14.0)  # N


class Piece(NamedTuple):
    """Samples up to `stop`, with a payload and its deviation (kg) that are known.

    Behind them the alarm is forgotten. `stop` None is the end.
    """

    stop: int | None
    payload: float = 0.0
    std: float = 0.0


class Case(NamedTuple):
    """Samples (N, dof) in the robot's own signs."""

    robot: Robot
    tare: Tare
    q: FloatArray
    tau: FloatArray
    pieces: Sequence[Piece]


class Answer(NamedTuple):
    """Numbers (N, 4 dof + 3) and flags (N, 4), in the order of c_batch.c."""

    numbers: FloatArray
    flags: Any


@lru_cache(maxsize=1)
def touched() -> Case:
    """A machine of the independent plant that loses torque by its load: a push, a pull, a load."""
    machine = make_machine(dd.load_robot("sipro-d3-1200"), "load", 1.0, seed=7)
    fit = dd.identify(machine.robot, machine.record(3, 4.0), terms=("load",))
    tare = Tare.of(fit, machine.run_touched(20.0, Touch(), first=1).recording)
    force, pull, carried = np.zeros((2200, 3)), np.zeros((2200, 3)), np.zeros(2200)
    force[500:650] = np.clip(np.arange(150) / 20, 0, 1)[:, None] * np.array(PUSH)
    pull[1000:1150, 1] = 20.0
    carried[1500:] = 2.0
    log = machine.run_touched(2.2, Touch(force, pull, carried), first=2).recording
    pieces = (Piece(900), Piece(1400), Piece(1900), Piece(2000, 2.0, 0.05), Piece(None, 2.0, 0.05))
    return Case(fit.robot, tare, log.q, log.tau, pieces)


@lru_cache(maxsize=4)
def modelled(name: str) -> Case:
    """The model's torque of empty cycles with noise, a push, and a load that is known later."""
    robot = ROBOTS[name].with_payload(0.0, ROBOTS[name].payload.offset)
    motion = pick_plan(robot, 26, seed=3, rate=1000.0).empty.motion
    tau = dd.inverse_dynamics(robot, motion) + coloured(len(motion.t), robot.dof, 0.3, 5e-3, 4)
    tare = Tare.of(robot, Recording(t=motion.t, q=motion.q, tau=tau, name="empty", payload=None))
    cut = slice(0, 1300)
    q, own = motion.q[cut], tau[cut].copy()
    J = jacobian(robot, motion.p[cut])
    own[300:450] -= np.einsum("nij,i->nj", J[300:450, :3], np.array(PUSH) * 3)
    heavy = dd.inverse_dynamics(robot.with_payload(2.5, robot.payload.offset), motion)
    own[800:] += (heavy - dd.inverse_dynamics(robot, motion))[cut][800:]
    return Case(robot, tare, q, own, (Piece(700), Piece(1000), Piece(None, 2.5, 0.1)))


def delayed(case: Case, delay: float) -> Case:
    """The first samples, for an observer that thinks the torque to come later."""
    tare = replace(case.tare, options=replace(case.tare.options, delay=delay))
    return case._replace(tare=tare, q=case.q[:700], tau=case.tau[:700], pieces=(Piece(None),))


@lru_cache(maxsize=1)
def told_by_python() -> Answer:
    """What Python's observer says of the machine's log."""
    return in_python(touched())


def in_python(case: Case) -> Answer:
    """All samples through Python's observer."""
    observer, numbers, flags = ForceObserver(case.robot, case.tare), [], []
    start, dof, z = 0, case.robot.dof, _Statistic(observer)
    for piece in case.pieces:
        observer.carry(piece.payload, piece.std)
        for q, tau in zip(case.q[start : piece.stop], case.tau[start : piece.stop], strict=True):
            observer.update(q, tau)
            numbers.append(_numbers(observer, dof, z.last if observer.ready else 0.0))
            flags.append(_flags(observer))
        start = piece.stop or len(case.q)
        observer.acknowledge()
    return Answer(np.array(numbers), np.array(flags))


class _Statistic:
    """Looks at what the observer tells its watch: the statistic is no part of its answer."""

    def __init__(self, observer: ForceObserver) -> None:
        self.last, self._step = 0.0, observer._watch.step
        observer._watch.step = self  # type: ignore[method-assign, assignment]

    def __call__(self, t: float, row: Any, judged: Any, seen: Any) -> None:
        self.last = float(judged.z.max())
        self._step(t, row, judged, seen)


def _numbers(observer: ForceObserver, dof: int, z: float) -> list[float]:
    contact, age = observer.contact, 0.0
    alarm = np.zeros(2 * dof + 1)
    if contact is not None:
        age = observer._intake.t - contact.time
        alarm = np.concatenate([contact.force, contact.std, [contact.statistic]])
    return [*observer.force, *observer.std, *alarm[:-1], z, age, alarm[-1]]


def _flags(observer: ForceObserver) -> list[int]:
    contact = observer.contact
    kind, arm = 0, 0
    if contact is not None:
        kind = KINDS[contact.kind]
        arm = int(contact.where[4:]) if contact.where.startswith("arm ") else 0
    return [0, int(observer.ready), kind, arm]
