"""Terms of the drives that few robots have: each by hand, and everywhere the same."""

from __future__ import annotations

import numpy as np
import pytest
from tests.dynamics.factory import full_friction, make_robot, make_states

import deltadyn as dd
from deltadyn.backends import forward_dynamics as packed_forward
from deltadyn.backends import inverse_dynamics_joints, inverse_dynamics_platform, switched_off
from deltadyn.backends.packed import packed_parameters
from deltadyn.dynamics.regressor import torque_of
from deltadyn.errors import RobotError
from deltadyn.kinematics import State
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction

CLOSE = 1e-12  # of the largest: some hundred roundings

each_dof = pytest.mark.parametrize("dof", [3, 4])


def rich(dof: int) -> Robot:
    """All terms of the drives; no friction in passive joints."""
    return make_robot(dof, False, friction=full_friction(dof, passive=(), smoothing=0.05))


def close(found: object, expected: object) -> None:
    scale = float(np.abs(np.asarray(expected)).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE * scale)


def test_thinning_by_hand() -> None:
    robot = make_robot(3, True, friction=Friction(thinning=[1.0, 2.0, 3.0], thinning_velocity=0.5))
    state = State.from_joints(robot, np.full((2, 3), 0.5), [[0.5, -1.0, 0.0], [100.0, 0.25, -0.5]])
    f = dd.equations_of_motion(robot, state).f
    one, two, half = np.tanh([1.0, 2.0, 0.5])
    close(f, [[one, -2 * two, 0.0], [1.0, 2 * half, -3 * one]])


def test_thinning_wants_its_velocity() -> None:
    with pytest.raises(RobotError, match=r"friction\.thinning_velocity"):
        make_robot(3, True, friction=Friction(thinning=1.0))
    with pytest.raises(RobotError, match=r"friction\.thinning "):
        make_robot(3, True, friction=Friction(thinning_velocity=1.0))


@each_dof
def test_torque_is_regressor_times_parameters(dof: int) -> None:
    robot = rich(dof)
    state = make_states(robot, 50)
    reg = dd.regressor(robot, state)
    assert f"Ft{dof}" in reg.names
    tau = dd.inverse_dynamics(robot, state)
    close(torque_of(reg), tau)
    eom = dd.equations_of_motion(robot, state)
    close(np.einsum("nij,nj->ni", eom.M, state.qdd) + eom.c + eom.g + eom.f, tau)


@each_dof
@pytest.mark.parametrize("model", ["rigid", "half-half"])
def test_every_model_has_them(dof: int, model: str) -> None:
    robot = rich(dof)
    state = make_states(robot, 20)
    close(torque_of(dd.regressor(robot, state, model)), dd.inverse_dynamics(robot, state, model))


@each_dof
def test_compiled_is_numpy(dof: int) -> None:
    robot = rich(dof)
    state = make_states(robot, 50)
    tau, Y = dd.inverse_dynamics(robot, state), dd.regressor(robot, state).Y
    qdd = dd.forward_dynamics(robot, state.q, state.qd, tau)
    with switched_off():
        plain = make_states(robot, 50)
        close(tau, dd.inverse_dynamics(robot, plain))
        close(Y, dd.regressor(robot, plain).Y)
        close(qdd, dd.forward_dynamics(robot, state.q, state.qd, tau))
    one = State.from_joints(robot, state.q[0], state.qd[0], state.qdd[0])
    close(dd.inverse_dynamics(robot, one), tau[0])
    close(dd.regressor(robot, one).Y, Y[0])


@each_dof
def test_forward_is_the_inverse_of_inverse(dof: int) -> None:
    robot = rich(dof)
    state = make_states(robot, 50)
    tau = dd.inverse_dynamics(robot, state)
    found = dd.forward_dynamics(robot, state.q, state.qd, tau)
    np.testing.assert_allclose(found, state.qdd, rtol=0, atol=1e-9 * np.abs(state.qdd).max())


@each_dof
def test_packed_numbers_have_them(dof: int) -> None:
    robot = rich(dof)
    state, par = make_states(robot, 50), packed_parameters(robot)
    tau = dd.inverse_dynamics(robot, state)
    close(inverse_dynamics_joints(par, state.q, state.qd, state.qdd), tau)
    close(inverse_dynamics_platform(par, state.p, state.pd, state.pdd), tau)
    light = robot.with_friction(load=None)
    tau = dd.inverse_dynamics(light, state)
    found = packed_forward(packed_parameters(light), state.q, state.qd, tau)
    np.testing.assert_allclose(found, state.qdd, rtol=0, atol=1e-9 * np.abs(state.qdd).max())
