"""How many operations a torque takes, from x, xd, xdd with inverse kinematics."""

from __future__ import annotations

import numpy as np
import pytest
from tests.family.random_robots import make_robot, points
from tests.family.robots import make
from tests.reference.family import random_member
from tests.reference.family.convert import to_robot

import deltadyn as dd
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.reproduce.audit.operations import Tape, exact_from_platform
from deltadyn.robot import Robot

#: Where two quotients had one divisor there are a division and two products now: +1, and faster.
MOST = {"standard": 383, "inclined": 429, "vertical": 180, "rails": 260, "level": 240}
#: Other platforms: those of `robots.make`, and random members with numbers of their own per limb.
MOST_OTHERS = {
    "planar": 185,
    "planar_rails": 110,
    "beam": 80,
    "par4": 730,
    "par4_rails": 405,
    "heli4": 543,
    "heli4_rails": 310,
}
MOST_RANDOM = {
    "planar rotary": 185,
    "planar linear": 110,
    "par4 k=2": 730,
    "par4 inclined k=3": 730,
    "par4 rails k=2": 525,
    "heli4 rotary": 600,
    "heli4 rails": 450,
}


DIVISIONS = 3  # per limb: each costs as much as ten products


@pytest.mark.parametrize("kind", MOST)
def test_operations_with_shared_subexpressions(kind: str) -> None:
    """Limbs stand at any azimuth and have their own numbers."""
    robot = make_robot(kind, 3)
    place = tuple(map(float, points(robot, 1, 5)[0]))
    state = (place, (0.9, -0.4, 0.3), (11.0, 7.0, -5.0))
    tape = Tape(shared=True)
    torque = exact_from_platform(tape, robot, state)
    counted = tape.operations()
    assert counted.total <= MOST[kind]
    assert counted.sqrt == 3
    assert counted.div <= DIVISIONS * 3
    assert counted.sin == counted.cos == 0
    expected = dd.inverse_dynamics(robot, dd.State.from_platform(robot, *state))
    np.testing.assert_allclose([tape.value(x) for x in torque], expected, rtol=1e-11)


@pytest.mark.parametrize("kind", [*MOST_OTHERS, *MOST_RANDOM])
def test_operations_of_other_platforms(kind: str) -> None:
    """Rails of `par4_rails` are vertical; those of the random member have any direction."""
    other = kind in MOST_OTHERS
    robot: Robot = make(kind) if other else to_robot(random_member(kind, 3)).robot
    n = robot.dof
    aside = (0.02, 0.01) if n == 2 else (0.02, 0.013, 0.017, 0.1)
    place = tuple(map(float, home_pose(robot) + np.array(aside)))
    state = (place, (0.9, -0.4, 0.3, 1.1)[:n], (11.0, 7.0, -5.0, 13.0)[:n])
    tape = Tape(shared=True)
    torque = exact_from_platform(tape, robot, state)
    counted = tape.operations()
    assert counted.total <= (MOST_OTHERS if other else MOST_RANDOM)[kind]
    assert counted.sqrt == robot.legs
    assert counted.div <= DIVISIONS * robot.legs
    reached = dd.State.from_platform(robot, *state)
    expected = dd.inverse_dynamics(robot, reached, friction=False)
    np.testing.assert_allclose([tape.value(x) for x in torque], expected, rtol=1e-11)
