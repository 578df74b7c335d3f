"""The regression of kim2022 eqs. 37-40, and why estimators on it do worse."""

from __future__ import annotations

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.reproduce import random_states
from deltadyn.reproduce.audit.kim2022 import ARM_COLUMNS
from deltadyn.reproduce.kim2022 import kim_columns, multipliers, why_handicapped
from deltadyn.robot import Robot


@pytest.fixture(scope="module")
def robot() -> Robot:
    return dd.load_robot("nt-robot")


def test_the_columns_stand_where_eq_40_has_them(robot: Robot) -> None:
    state = random_states(robot, 4)
    columns = kim_columns(robot, state)
    assert columns.Y.shape == (4, 3, 14)
    assert columns.names[:2] == ("theta1", "theta2")
    assert len(columns.names) == len(columns.units) == len(columns.values) == 14
    used = columns.Y[0] != 0
    assert np.flatnonzero(used[0]).tolist() == [0, 1, 2, 3, 4, 5]
    assert np.flatnonzero(used[1]).tolist() == [0, 4, 6, 7, 8, 9]
    assert np.flatnonzero(used[2]).tolist() == [0, 4, 10, 11, 12, 13]
    x, _, z = state.p[0]
    assert columns.Y[0, 0, :4:3] == pytest.approx([state.qdd[0, 0], -z * state.cos_q[0, 0]])
    assert columns.Y[0, 2, 10] == pytest.approx(-x * state.sin_q[0, 2])


def test_with_multipliers_that_vary_the_columns_are_the_euler_lagrange_model(robot: Robot) -> None:
    state = random_states(robot, 300)
    columns, varying = kim_columns(robot, state), multipliers(robot, state)
    values = np.tile(columns.values, (300, 1))
    for arm, where in enumerate(ARM_COLUMNS):
        values[:, list(where)] *= (varying[:, arm] / varying[:, arm].mean())[:, None]
    torque = np.einsum("nik,nk->ni", columns.Y, values)
    expected = dd.inverse_dynamics(robot, state, model="euler-lagrange", friction=False)
    assert torque == pytest.approx(expected, abs=1e-10)  # rounding of torques of 100 N m


def test_a_resting_robot_in_one_pose_has_constant_multipliers(robot: Robot) -> None:
    state = dd.Motion.from_platform(robot, np.linspace(0, 1, 8), np.tile([0.1, 0.05, -0.7], (8, 1)))
    columns = kim_columns(robot, state)
    expected = dd.inverse_dynamics(robot, state, model="euler-lagrange", friction=False)
    assert columns.Y @ columns.values == pytest.approx(expected, abs=1e-10)


def test_recursive_least_squares_is_handicapped_by_the_columns(robot: Robot) -> None:
    state = random_states(robot, 600, seed=4)
    torque = dd.inverse_dynamics(robot, state, friction=False)
    torque = torque + 2.0 * state.qd + 6.0 * np.sign(state.qd)
    torque += np.random.default_rng(0).normal(size=torque.shape)
    facts = why_handicapped(robot, state, torque)
    # 28 against 1.3 N m in a trial at these accelerations: a factor of 5 leaves room
    assert facts.printed > 5 * facts.ours
    assert facts.ours < 3.0
    for low, high in facts.multipliers:
        assert high - low > 50.0  # N: far from constant
    rubbing = 2 * state.qd + 6 * np.sign(state.qd)
    assert facts.friction == pytest.approx(np.sqrt(np.mean(rubbing**2)), rel=0.1)
    assert "14 columns of eqs. 37-38" in str(facts)
    assert f"{facts.printed:.3g} N m" in str(facts)


def test_a_robot_with_a_spindle_is_refused() -> None:
    robot = dd.load_robot("example-delta-4")
    with pytest.raises(InputError, match=r"robot.dof is 4; allowed: 3"):
        kim_columns(robot, random_states(robot, 3))


def test_torque_of_another_length_is_refused(robot: Robot) -> None:
    with pytest.raises(InputError, match=r"rows of tau is 2; allowed: 3"):
        why_handicapped(robot, random_states(robot, 3), np.zeros((2, 3)))
