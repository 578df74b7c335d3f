"""What touches the platform: forces that depend on where it is.

A force on the bench is a function of time, or an object with `force(t, p, pd)`: a wall, a hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import external_wrench
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.simulation.plant.numerics import Floats
from deltadyn.simulation.presets import setting, settings


@runtime_checkable
class Touch(Protocol):
    """Something that pushes by where the platform is."""

    def force(self, t: float, p: FloatArray, pd: FloatArray) -> Any:
        """Force in N (with the moment about z in N m on four axes) at the time t in s.

        p and pd (dof,) are place and velocity of the platform, in m and m/s [rad, rad/s].
        """


@dataclass(frozen=True)
class Wall:
    """A wall through `point` (m) that pushes along its `normal`, as a spring and a damper.

    F = (stiffness depth + damping depth') normal while the platform is behind it, never a pull.
    """

    point: Any  # (3,), m
    normal: Any  # (3,), any length
    stiffness: float  # N/m
    damping: float = 0.0  # N s/m

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", settings("point of the wall", self.point, 3))
        normal = settings("normal of the wall", self.normal, 3)
        length = setting("length of the wall's normal", math.hypot(*normal), low=0.0, strict=True)
        object.__setattr__(self, "normal", tuple(x / length for x in normal))
        setting("stiffness of the wall", self.stiffness, low=0.0, strict=True, unit="N/m")
        setting("damping of the wall", self.damping, low=0.0, unit="N s/m")

    def depth(self, p: FloatArray) -> FloatArray:
        """How far places p (..., dof) lie behind the wall, in m; below 0 in front of it."""
        found: FloatArray = (np.asarray(self.point) - _in_space(np.asarray(p))) @ self.normal
        return found

    def force(self, t: float, p: FloatArray, pd: FloatArray) -> FloatArray:
        """The push (3,) in N."""
        deep, deeper = float(self.depth(p)), -float(_in_space(np.asarray(pd)) @ self.normal)
        size = max(0.0, self.stiffness * deep + self.damping * deeper) if deep > 0 else 0.0
        return size * np.asarray(self.normal)


def _in_space(p: FloatArray) -> FloatArray:
    """x, y, z (..., 3) of a platform's coordinates (..., dof); in a plane they are x and z."""
    return np.insert(p, 1, 0.0, axis=-1) if p.shape[-1] == 2 else p[..., :3]


def touched(
    touch: Touch,
    robot: Robot,
    t: float,
    arms: tuple[Floats, Floats],
    dt: float,
    near: FloatArray,
) -> tuple[Floats, FloatArray]:
    """The wrench (dof,) of a tick of dt seconds, and the pose (dof,); `near` is a pose nearby.

    The wrench is that of the tick's middle, by the velocity of its begin: a force that is held for
    a tick comes half a tick late, and a late spring drives what it should stop.
    """
    state = State.from_joints(robot, *(np.array([x]) for x in arms), hint=near)
    middle = state.p[0] + dt / 2 * state.pd[0]
    given = touch.force(t, middle, state.pd[0])
    if robot.planar and np.shape(given) == (3,):
        given = np.asarray(given)[[0, 2]]  # what pushes across the plane is held by the rods
    return tuple(external_wrench(robot, given, 1)[0].tolist()), state.p[0]
