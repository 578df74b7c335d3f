"""A robot with another payload, as every question of sizing asks for."""

from __future__ import annotations

from deltadyn.dynamics.inverse import check_robot
from deltadyn.errors import InputError
from deltadyn.motion.arguments import is_real
from deltadyn.robot import Robot


def carrying(robot: Robot, payload: float | None) -> Robot:
    """The robot with a payload (kg) at its platform point; as it is with None."""
    check_robot(robot)
    if payload is None:
        return robot
    if not is_real(payload) or payload < 0:
        raise InputError("payload", payload, "a number of kg from 0, or None")
    return robot.with_payload(float(payload))
