"""Logs with loads for the exported bank of hypotheses, and what Python's says on them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from tests.exports.c_build import ROBOTS
from tests.machines import Touch, make_machine
from tests.payload.cases import coloured

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.payload.bench import pick_plan
from deltadyn.payload.bound import payload_column
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.robot import Robot

EVENTS = {None: 0, "pick": 1, "release": 2, "lost grip": 3}
ENDS = {"pick": 1, "release": 2, "lost grip": 3, "reset": 4}


class Case(NamedTuple):
    """Samples (N, dof) in the robot's own signs, and the gripper's signal (N,)."""

    robot: Robot
    estimator: PayloadEstimator
    q: FloatArray
    tau: FloatArray
    holding: Any


class Told(NamedTuple):
    """What Python's estimator said at every sample.

    `last` (N, 3) is mass, deviation and length of the last pick as it was known then.
    """

    mass: FloatArray
    std: FloatArray
    event: Any
    loaded: Any
    finished: Any
    last: FloatArray
    picks: list[Any]


@lru_cache(maxsize=1)
def machine_log() -> Case:
    """A machine of the independent plant, identified and tared: four loads, one of them lost."""
    machine = make_machine(dd.load_robot("sipro-d3-1200"), "load", 1.0, seed=7)
    fit = dd.identify(machine.robot, machine.record(3, 4.0), terms=("load",))
    empty = machine.run_touched(12.0, Touch(), first=1)
    estimator = PayloadEstimator.from_fit(fit, empty.recording)
    plain = machine.run_touched(7.0, Touch(), first=3)
    speed = np.linalg.norm(np.gradient(plain.truth.platform, 1e-3, axis=0), axis=1)
    rests = np.flatnonzero(np.diff((speed < 0.01).astype(int)) == 1) + 30
    carried = np.zeros(len(speed))
    for k, mass in enumerate((0.5, 2.0, 1.0, 3.0)):
        begin = rests[2 + 3 * k]
        end = rests[3 + 3 * k] if k != 2 else (begin + rests[3 + 3 * k]) // 2
        carried[begin:end] = mass
    log = machine.run_touched(7.0, Touch(carried=carried), first=3).recording
    return Case(fit.robot, estimator, log.q, log.tau, (carried > 0).astype(int))


@lru_cache(maxsize=4)
def modelled(name: str) -> Case:
    """The model's torque of picks with noise; deviations are assumed."""
    robot = ROBOTS[name].with_payload(0.0, ROBOTS[name].payload.offset)
    motion_of = pick_plan(robot, 5, seed=1, masses=(0.8, 4.0), lost=0.4, rate=1000.0)
    motion, payload = motion_of.motion, np.zeros(len(motion_of.motion.t))
    for time, mass in motion_of.payload:
        payload[round(time * 1000.0) :] = mass
    tau = dd.inverse_dynamics(robot, motion) + payload[:, None] * payload_column(robot, motion)
    tau = tau + coloured(len(tau), robot.dof, 0.05, 5e-3, 2)
    estimator = PayloadEstimator(robot, rate=1000.0)
    return Case(robot, estimator, motion.q, tau, (payload > 0).astype(int))


def with_signal(case: Case, what: str) -> Case:
    """The case with a gripper's signal that is "late" (40 ms), "early" (20 ms), or has strays."""
    step = {"late": 40, "early": -20}.get(what, 10)
    signal = np.roll(case.holding, step)
    if what == "stray":
        rng = np.random.default_rng(4)
        for at in rng.integers(0, len(signal), len(signal) // 500):
            signal[at : at + 25] = 1 - signal[at : at + 25]
    return case._replace(holding=signal)


def lost_and_put(case: Case, holding: bool) -> Told:
    """All samples through Python's estimator."""
    estimator = case.estimator
    estimator.reset()
    rows: list[tuple[Any, ...]] = []
    count = 0
    for k, (q, tau) in enumerate(zip(case.q, case.tau, strict=True)):
        signal = bool(case.holding[k]) if holding else None
        mass = estimator.update(q, None, None, tau, holding=signal)
        last = estimator.picks[-1] if estimator.picks else None
        told = (0.0, 0.0, 0.0) if last is None else (last.mass, last.std, last.end - last.start)
        event = EVENTS[estimator.event]
        rows.append((mass, estimator.std, event, estimator.loaded, estimator.picked > count, told))
        count = estimator.picked
    columns: list[Any] = [np.array(x) for x in zip(*rows, strict=True)]
    mass_, std, events, loaded, finished, last_ = columns
    return Told(mass_, std, events, loaded, finished, last_, list(estimator.picks))
