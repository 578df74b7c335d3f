"""Robots and paths that the tests of sizing share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from deltadyn.motion import Motion
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import Limits

THREE = load_robot("sipro-d3-1200")
RUBBING = load_robot("example-delta")  # with viscous and Coulomb friction
FOUR = load_robot("example-delta-4")


def with_limits(robot: Robot, **changes: Any) -> Robot:
    """The same robot with other limits."""
    return robot.replace(limits=replace(robot.limits, **changes))


def only(robot: Robot, **kept: Any) -> Robot:
    """The same robot with these limits on its pace and no other."""
    return robot.replace(limits=Limits(workspace=robot.limits.workspace, **kept))


def straight(robot: Robot, length: float) -> Motion:
    """A straight way of a length (m) through the middle of the workspace of THREE, slowly."""
    from deltadyn.motion.planned import Leg, Plan, line, planned
    from deltadyn.motion.profiles import PROFILES

    a = np.array([-length / 2, 0.02, -0.85, 0.0])[: robot.dof]
    b = np.array([length / 2, 0.02, -0.85, 0.0])[: robot.dof]
    return planned(robot, Plan((Leg(line(a, b, PROFILES["quintic"])),)), 1.0, 1000.0, 1.0)


def arc(robot: Robot, radius: float, angle: float) -> Motion:
    """An arc of a circle about the z axis at a constant pace, which does not matter."""
    t = np.linspace(0.0, 1.0, 801)
    phi = angle * t
    c, s, zero = np.cos(phi), np.sin(phi), np.zeros_like(phi)
    p = np.stack([radius * c, radius * s, zero - 0.85], axis=1)
    pd = radius * angle * np.stack([-s, c, zero], axis=1)
    pdd = -radius * angle**2 * np.stack([c, s, zero], axis=1)
    return Motion.from_platform(robot, t, p, pd, pdd)


def reversed_way(robot: Robot, motion: Motion) -> Motion:
    """The same way back."""
    back = slice(None, None, -1)
    return Motion.from_platform(robot, motion.t, motion.p[back], -motion.pd[back], motion.pdd[back])
