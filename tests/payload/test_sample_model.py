"""One sample in straight-line Python against the arrays of the exact model."""

from __future__ import annotations

import numpy as np
import pytest
from tests.dynamics.factory import rich_drives
from tests.payload.cases import D3, FOUR

from deltadyn.dynamics.base import exciting_states
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.errors import InputError
from deltadyn.payload.front_end import FrontEnd, Grid, SampleModel
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import PassiveFriction

RICH = {
    "stribeck": 1.0,
    "stribeck_velocity": 0.3,
    "offset": 0.4,
    "coulomb_negative": 1.5,
    "smoothing": 0.05,
}
ROBOTS = [
    D3,
    D3.with_friction(**RICH),
    D3.with_friction(load=0.02),
    FOUR,
    FOUR.with_payload(0.4, (0.03, -0.02, 0.0), 1e-3).with_friction(**RICH),
    load_robot("abb-irb360-6-1600"),
    D3.with_friction(passive=[PassiveFriction("elbow_swing", 0.02, 0.05)], load=0.02),
    rich_drives(D3.with_friction(**RICH), motor=False),
    rich_drives(FOUR.with_friction(**RICH), motor=False),
    rich_drives(D3.with_friction(**RICH)),
]
MOTOR = [robot for robot in ROBOTS if robot.friction.motor_load is not None]


def answers(robot: Robot, count: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Torque, column and speed of random states by the sample model."""
    model, state = SampleModel.of(robot), exciting_states(robot, count)
    smoothing = robot.friction.smoothing
    s = np.sign(state.qd) if smoothing is None else np.tanh(state.qd / smoothing)
    rows = zip(*(x.tolist() for x in (state.q, state.qd, state.qdd, s)), strict=True)
    found = [model.at(*row) for row in rows]
    torque, column = (np.array([getattr(x, n) for x in found]) for n in ("torque", "column"))
    return torque, column, np.array([x.speed2 for x in found])


@pytest.mark.parametrize("robot", ROBOTS)
def test_torque_and_speed_are_those_of_the_arrays(robot: Robot) -> None:
    state = exciting_states(robot, 60)
    torque, _, speed2 = answers(robot)
    # 1e-11: the same formulas in another order
    np.testing.assert_allclose(torque, inverse_dynamics(robot, state), rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(speed2, (state.pd[:, :3] ** 2).sum(1), rtol=1e-9)


@pytest.mark.parametrize("robot", [r for r in ROBOTS if r.friction.load is None and r not in MOTOR])
def test_the_column_is_what_a_kilogram_adds(robot: Robot) -> None:
    state, offset = exciting_states(robot, 60), robot.payload.offset
    inertia, mass = robot.payload.inertia_zz, robot.payload.mass
    heavier = robot.with_payload(mass + 1.0, offset, inertia)
    expected = inverse_dynamics(heavier, state) - inverse_dynamics(robot, state)
    np.testing.assert_allclose(answers(robot)[1], expected, rtol=1e-9, atol=1e-9)


def test_a_lossy_gear_loses_a_share_of_the_payload_too() -> None:
    lossy, plain = D3.with_friction(load=0.02), D3
    state = exciting_states(lossy, 60)
    load = inverse_dynamics(lossy, state, friction=False) - 0.39 * state.qdd
    share = 0.02 * np.tanh(state.qd / 0.05) * np.sign(load)
    expected = answers(plain)[1] * (1 + share)
    np.testing.assert_allclose(answers(lossy)[1], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("robot", MOTOR)
def test_a_motor_that_loses_a_share_of_its_torque(robot: Robot) -> None:
    """The column is the slope at the robot's own payload: a gram more, without a change of sign."""
    state, offset = exciting_states(robot, 60), robot.payload.offset
    heavier = robot.with_payload(robot.payload.mass + 1e-3, offset, robot.payload.inertia_zz)
    slope = (inverse_dynamics(heavier, state) - inverse_dynamics(robot, state)) / 1e-3
    np.testing.assert_allclose(answers(robot)[1], slope, rtol=1e-7, atol=1e-7)
    with pytest.raises(InputError, match="form"):
        FrontEnd(robot, Grid.of(1000.0, "momentum"))


@pytest.mark.parametrize("robot", [D3, FOUR, ROBOTS[4], ROBOTS[7], ROBOTS[8]])
def test_momentum_form_has_the_same_torque(robot: Robot) -> None:
    """tau = torque + d/dt momentum along q(t), by central differences over +- 0.1 ms."""
    model, state, h = SampleModel.of(robot), exciting_states(robot, 20), 1e-4
    q, qd, qdd = state.q, state.qd, state.qdd
    assert robot.friction.smoothing is not None
    s = np.tanh(qd / robot.friction.smoothing)
    for k in range(20):

        def at(time: float, k: int = k) -> tuple[np.ndarray, np.ndarray]:
            # qdd is constant over the short time, so both sides are exact at its middle
            angle = q[k] + time * qd[k] + time**2 / 2 * qdd[k]
            found = model.momentum_at(angle.tolist(), (qd[k] + time * qdd[k]).tolist(), s[k])
            return np.array(found.momentum), np.array(found.momentum_column)

        rest = model.momentum_at(q[k].tolist(), qd[k].tolist(), s[k])
        full = model.at(q[k].tolist(), qd[k].tolist(), qdd[k].tolist(), s[k])
        pairs = zip(at(-2 * h), at(-h), at(h), at(2 * h), strict=True)
        rates = [(a - 8 * b + 8 * c - d) / (12 * h) for a, b, c, d in pairs]
        # 1e-6: fourth-order differences of momenta that change by some 1e-3 of themselves
        np.testing.assert_allclose(rest.torque + rates[0], full.torque, rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(rest.column + rates[1], full.column, rtol=1e-6, atol=1e-5)


def test_a_loop_that_does_not_close_raises() -> None:
    with pytest.raises((ValueError, ZeroDivisionError)):
        SampleModel.of(D3).at([3.1, -0.2, -0.2], [0.0] * 3, [0.0] * 3, [0.0] * 3)
