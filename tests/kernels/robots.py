"""A robot that the tests of the kernels need beside those of the dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.dynamics.factory import make_robot

from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot


def wide_robot(dof: int, count: int = 100) -> tuple[Robot, FloatArray]:
    """A robot whose struts cannot close the loop with arms straight out, and angles that do."""
    robot = make_robot(dof, True)
    wide = robot.replace(geometry=replace(robot.geometry, base_radius=(0.75,) * 3))
    q = np.random.default_rng(dof).uniform(1.7, 2.2, (count, dof))
    return wide, q
