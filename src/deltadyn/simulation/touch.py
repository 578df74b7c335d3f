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
        """How far places p (..., 3 or 4) lie behind the wall, in m; below 0 in front of it."""
        found: FloatArray = (np.asarray(self.point) - np.asarray(p)[..., :3]) @ self.normal
        return found

    def force(self, t: float, p: FloatArray, pd: FloatArray) -> FloatArray:
        """The push (3,) in N."""
        deep, deeper = float(self.depth(p)), -float(np.asarray(pd)[:3] @ self.normal)
        size = max(0.0, self.stiffness * deep + self.damping * deeper) if deep > 0 else 0.0
        return size * np.asarray(self.normal)


def touched(touch: Touch, robot: Robot, t: float, arms: tuple[Floats, Floats], dt: float) -> Floats:
    """The wrench (dof,) of a tick of dt seconds: that of its middle, by the velocity of its begin.

    A force that is held for a tick comes half a tick late, and a late spring drives what it should
    stop.
    """
    state = State.from_joints(robot, *(np.array([x]) for x in arms))
    middle = state.p[0] + dt / 2 * state.pd[0]
    given = touch.force(t, middle, state.pd[0])
    return tuple(external_wrench(robot, given, 1)[0].tolist())
