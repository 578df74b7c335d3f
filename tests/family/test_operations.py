"""How many operations a torque takes, from x, xd, xdd with inverse kinematics."""

from __future__ import annotations

import numpy as np
import pytest
from tests.family.random_robots import make_robot, points

import deltadyn as dd
from deltadyn.reproduce.audit.operations import Tape, exact_from_platform

MOST = {"standard": 380, "inclined": 429, "vertical": 180, "rails": 260, "level": 240}


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
    assert counted.sin == counted.cos == 0
    expected = dd.inverse_dynamics(robot, dd.State.from_platform(robot, *state))
    np.testing.assert_allclose([tape.value(x) for x in torque], expected, rtol=1e-11)
