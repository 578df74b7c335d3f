"""Robots whose every number is their own, and how the tests call their function blocks."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from tests.dynamics.factory import full_friction, make_robot

from deltadyn.arrays import FloatArray
from deltadyn.exports.structured_text import Options, files
from deltadyn.robot import Robot
from deltadyn.robot.settings import Controller, Friction

AXES = ("X", "Y", "Z", "Psi")
CONVENTION = ((1.0, -1.0, 1.0, -1.0), (0.1, -0.2, 0.0, 0.4))  # sign, offset


def own_robot(dof: int, friction: Friction | None = None) -> Robot:
    """A robot with unequal limbs, all terms of friction and a controller of its own."""
    sign, offset = (values[:dof] for values in CONVENTION)
    friction = full_friction(dof, passive=(), smoothing=0.05) if friction is None else friction
    return make_robot(dof, False, friction=friction, controller=Controller(sign, offset))


@lru_cache(maxsize=16)
def own_text(robot: Robot, rate: float = 2000.0) -> str:
    """The plain text of a robot's blocks, which are named FB_Own_..."""
    return files(robot, Options(name="Own", rate=rate))["Own.st"]


def controller_angles(robot: Robot, q: FloatArray) -> FloatArray:
    """Angles as the controller counts them."""
    angles: FloatArray = np.asarray(robot.controller.sign) * q + np.asarray(robot.controller.offset)
    return angles


def numbered(name: str, values: FloatArray) -> dict[str, float]:
    """Inputs name1, name2, ... of a block."""
    return {f"{name}{k}": value for k, value in enumerate(values.tolist(), start=1)}


def lettered(prefix: str, values: FloatArray) -> dict[str, float]:
    """Inputs X, Y, Z, Psi of a block, with a prefix."""
    return {f"{prefix}{name}": v for name, v in zip(AXES, values.tolist(), strict=False)}
