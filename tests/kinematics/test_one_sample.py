"""One sample goes a short way: the same numbers, checks and messages as a batch of one."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.dynamics.factory import full_friction, make_robot, make_states

import deltadyn as dd
from deltadyn.backends import available, status, switched_off
from deltadyn.errors import InputError, UnreachableError
from deltadyn.kinematics.state import FIELDS
from deltadyn.robot import Robot

ROBOTS = [
    make_robot(dof, False, friction=full_friction(dof, passive=(), load=None)) for dof in (3, 4)
]
by_robot = pytest.mark.parametrize("robot", ROBOTS, ids=["3", "4"])
needs_kernels = pytest.mark.skipif(not available(), reason=f"no compiled kernels: {status()}")
ROUNDING = 1e-13  # of the largest entry: the same closed forms compiled once more


def close(found: np.ndarray, known: np.ndarray) -> None:
    assert found.shape == known.shape
    np.testing.assert_allclose(found, known, rtol=0, atol=ROUNDING * np.abs(known).max())


@by_robot
def test_states_are_those_of_a_batch(robot: Robot) -> None:
    many = make_states(robot, 5)
    for k in range(5):
        ways = (
            dd.State.from_platform(robot, many.p[k], many.pd[k], many.pdd[k]),
            dd.State.from_joints(robot, many.q[k], many.qd[k], many.qdd[k]),
        )
        for one in ways:
            assert one.single
            assert len(one) == 1
            for name in (*FIELDS, "q"):
                close(getattr(one, name), getattr(many, name)[k : k + 1])


@by_robot
def test_results_are_those_of_a_batch(robot: Robot) -> None:
    many = make_states(robot, 3)
    one = dd.State.from_platform(robot, many.p[0], many.pd[0], many.pdd[0])
    close(dd.inverse_kinematics(robot, many.p[0]), dd.inverse_kinematics(robot, many.p)[0])
    close(dd.forward_kinematics(robot, many.q[0]), dd.forward_kinematics(robot, many.q)[0])
    for friction in (True, False):
        tau = dd.inverse_dynamics(robot, many, friction=friction)
        close(dd.inverse_dynamics(robot, one, friction=friction), tau[0])
        qdd = dd.forward_dynamics(robot, many.q, many.qd, tau, friction=friction)
        found = dd.forward_dynamics(robot, many.q[0], many.qd[0], tau[0], friction=friction)
        close(found, qdd[0])
        Y = dd.regressor(robot, many, friction=friction)
        close(dd.regressor(robot, one, friction=friction).Y, Y.Y[0])


@by_robot
def test_a_state_without_its_arrays_is_a_state(robot: Robot) -> None:
    many = make_states(robot, 1)
    motion = (many.p[0].copy(), many.pd[0].copy(), many.pdd[0].copy())
    one = dd.State.from_platform(robot, *motion)
    motion[0][:] = 0.0  # a state does not change with the caller's array
    close(one.p, many.p)
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        close(other.qdd, many.qdd)
    close(replace(one, pdd=0 * one.pdd).pd, many.pd)
    with pytest.raises(AttributeError, match="no attribute 'speed'"):
        _ = one.speed


@by_robot
def test_at_rest_where_no_rates_are_given(robot: Robot) -> None:
    many = make_states(robot, 1)
    one = dd.State.from_platform(robot, many.p[0])
    assert not one.qd.any()
    assert not one.pdd.any()


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_kernels), False])
def test_what_is_wrong_is_said_as_ever(compiled: bool) -> None:
    robot = ROBOTS[0]
    state = make_states(robot, 1)
    p, q = state.p[0], state.q[0]

    def refused() -> None:
        with pytest.raises(UnreachableError, match="too short or too long"):
            dd.State.from_platform(robot, p + 9.0)
        with pytest.raises(UnreachableError, match="too short or too long"):
            dd.inverse_kinematics(robot, p + 9.0)
        assert np.isnan(dd.inverse_kinematics(robot, p + 9.0, unreachable="nan")).all()
        with pytest.raises(InputError, match="p at row 0, axis 1 is nan"):
            dd.inverse_kinematics(robot, np.array([0.0, np.nan, -0.8]))
        with pytest.raises(InputError, match="shape of q"):
            dd.forward_kinematics(robot, np.append(q, 0.0))
        with pytest.raises(InputError, match=r"rows of pd|shape of pd"):
            dd.State.from_platform(robot, p, np.zeros(4))
        with pytest.raises(InputError, match="qd at row 0, axis 2 is inf"):
            dd.forward_dynamics(robot, q, np.array([0.0, 0.0, np.inf]), np.zeros(3))
        with pytest.raises(InputError, match="unreachable"):
            dd.inverse_kinematics(robot, p, unreachable="never")  # type: ignore[arg-type]

    if compiled:
        refused()
    else:
        with switched_off():
            refused()


def test_a_state_of_another_robot_is_refused() -> None:
    one = dd.State.from_platform(ROBOTS[0], make_states(ROBOTS[0], 1).p[0])
    with pytest.raises(InputError, match="coordinates of the motion"):
        dd.inverse_dynamics(ROBOTS[1], one)
