"""The check points that exported models carry."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exports.st_cases import own_robot
from tests.family.robots import make

import deltadyn as dd
from deltadyn.exports.model_test import model_test

KINDS = ("inclined", "vertical", "level", "vertical_spindle", "planar", "beam", "par4", "heli4")


@pytest.mark.parametrize("kind", ["3-dof", "4-dof", *KINDS])
def test_check_points_are_pythons_answers(kind: str) -> None:
    """Kinematics both ways, torque with its payload, signs and offsets of the controller."""
    robot = own_robot(int(kind[0])) if kind[1:] == "-dof" else make(kind)
    test = model_test(robot)
    sign, offset = np.asarray(robot.controller.sign), np.asarray(robot.controller.offset)
    for check in test.checks:
        q = sign * (check.q - offset)
        np.testing.assert_allclose(dd.inverse_kinematics(robot, check.p), q, atol=1e-12)
        state = dd.State.from_platform(robot, check.p, check.pd, check.pdd)
        np.testing.assert_allclose(np.ravel(sign * state.qdd), check.qdd, rtol=1e-12)
        heavy = robot.with_payload(check.mass, robot.payload.offset, check.inertia)
        torque = np.ravel(sign * dd.inverse_dynamics(heavy, state))
        np.testing.assert_array_equal(torque, check.torque)
        moved = robot.with_payload(check.mass, (*check.place, 0.0), check.inertia)
        torque = np.ravel(sign * dd.inverse_dynamics(moved, state))
        np.testing.assert_allclose(torque, check.load_torque, rtol=0, atol=1e-12)
    moving = [check for check in test.checks if check.qd.any()]
    assert len(moving) == len(test.checks) - 1
    assert all(abs(check.qd).min() > 1e-3 for check in moving)  # friction has a sign
    assert len({check.mass for check in test.checks}) == 4
    assert test.far is not None
    assert np.isnan(dd.inverse_kinematics(robot, test.far, unreachable="nan")).any()
