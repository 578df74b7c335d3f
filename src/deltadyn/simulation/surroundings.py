"""What a run does to the robot from outside: payloads that come and go, forces on the platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import external_wrench
from deltadyn.errors import InputError, RobotError
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Payload
from deltadyn.simulation.presets import setting

ExternalForce = npt.ArrayLike | Callable[[float], npt.ArrayLike]
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
    """The external wrench (N, dof) at the ticks: constant, or a function held for a tick."""
    if not callable(force):
        return external_wrench(robot, _one(force), len(t))
    return np.concatenate([external_wrench(robot, _one(force(x)), 1) for x in t.tolist()])


def _one(force: npt.ArrayLike | None) -> npt.ArrayLike | None:
    if force is not None and np.ndim(force) != 1:
        raise InputError("shape of external_force", np.shape(force), "(3,), or (4,) with a spindle")
    return force


def _payload(robot: Robot, value: Any, index: int) -> Payload:
    if isinstance(value, Payload):
        return value
    try:
        return Payload(value, robot.payload.offset)
    except RobotError as error:
        raise InputError(f"payload[{index}] mass", error.value, error.allowed) from None
