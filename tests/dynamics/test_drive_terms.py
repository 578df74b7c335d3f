"""Terms of the drives that few robots have: each by hand, and everywhere the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import full_friction, make_robot, make_states, rich_drives

import deltadyn as dd
from deltadyn import backends
from deltadyn.backends import forward_dynamics as packed_forward
from deltadyn.backends import inverse_dynamics_joints, inverse_dynamics_platform, switched_off
from deltadyn.backends.components import packed_torque
from deltadyn.backends.packed import packed_parameters
from deltadyn.dynamics.motor import motor_output, motor_torque
from deltadyn.dynamics.regressor import torque_of
from deltadyn.errors import RobotError, RobotFileError
from deltadyn.kinematics import State
from deltadyn.robot import Robot, robot_from_text, robot_text
from deltadyn.robot.settings import Drives, Friction, Ripple, Sensors

CLOSE = 1e-12  # of the largest: some hundred roundings

each_dof = pytest.mark.parametrize("dof", [3, 4])
each_kind = pytest.mark.parametrize("kind", ["load", "motor", "sharp", "passive"])


def rich(dof: int, kind: str) -> Robot:
    """All terms of the drives; with which loss, direction and joints, says the kind."""
    joints = {} if kind == "passive" else {"passive": ()}
    friction = full_friction(dof, smoothing=None if kind == "sharp" else 0.05, **joints)
    return rich_drives(make_robot(dof, False, friction=friction), motor=kind != "load")


def close(found: Any, expected: Any) -> None:
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
@each_kind
def test_torque_is_regressor_times_parameters(dof: int, kind: str) -> None:
    robot = rich(dof, kind)
    state = make_states(robot, 50)
    reg = dd.regressor(robot, state)
    assert {f"Ft{dof}", f"ripple64.cos{dof}", "ripple2.5.sin1"} <= set(reg.names)
    assert ("mu_m1" in reg.names) == (kind != "load")
    tau = dd.inverse_dynamics(robot, state)
    close(torque_of(reg), tau)
    eom = dd.equations_of_motion(robot, state)
    true = np.einsum("nij,nj->ni", eom.M, state.qdd) + eom.c + eom.g + eom.f
    close(true * np.asarray(robot.sensors.torque_ratio), tau)
    bare = dd.regressor(robot, state, friction=False)
    close(torque_of(bare), dd.inverse_dynamics(robot, state, friction=False))


@each_dof
@pytest.mark.parametrize("model", ["rigid", "half-half"])
def test_every_model_has_them(dof: int, model: str) -> None:
    robot = rich(dof, "motor")
    state = make_states(robot, 20)
    close(torque_of(dd.regressor(robot, state, model)), dd.inverse_dynamics(robot, state, model))


@each_dof
@each_kind
def test_compiled_is_numpy(dof: int, kind: str) -> None:
    robot = rich(dof, kind)
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
@each_kind
def test_forward_is_the_inverse_of_inverse(dof: int, kind: str) -> None:
    robot = rich(dof, kind)
    state = make_states(robot, 50)
    tau = dd.inverse_dynamics(robot, state)
    found = dd.forward_dynamics(robot, state.q, state.qd, tau)
    np.testing.assert_allclose(found, state.qdd, rtol=0, atol=1e-9 * np.abs(state.qdd).max())


@each_dof
@each_kind
def test_packed_numbers_have_them(dof: int, kind: str) -> None:
    robot = rich(dof, kind).with_friction(passive=())
    state, par = make_states(robot, 50), packed_parameters(robot)
    tau = dd.inverse_dynamics(robot, state)
    close(inverse_dynamics_joints(par, state.q, state.qd, state.qdd), tau)
    close(inverse_dynamics_platform(par, state.p, state.pd, state.pdd), tau)
    close(
        inverse_dynamics_joints(par, state.q, state.qd, state.qdd, friction=False),
        dd.inverse_dynamics(robot, state, friction=False),
    )


@pytest.mark.skipif(not backends.available(), reason=f"no compiled kernels: {backends.status()}")
@each_dof
@each_kind
def test_forward_of_packed_numbers_has_them(dof: int, kind: str) -> None:
    """Forward dynamics of packed numbers has no other path than the kernels."""
    light = rich(dof, kind).with_friction(passive=(), load=None)
    state = make_states(light, 50)
    tau = dd.inverse_dynamics(light, state)
    found = packed_forward(packed_parameters(light), state.q, state.qd, tau)
    np.testing.assert_allclose(found, state.qdd, rtol=0, atol=1e-9 * np.abs(state.qdd).max())


def test_ripple_by_hand() -> None:
    drives = Drives(ripple=(Ripple(4.0, [1.0, 0.0, 2.0], [0.0, 3.0, 0.0]), Ripple(1.0, 0.0, 0.5)))
    robot = make_robot(3, True, friction=Friction(), drives=drives)
    q = np.array([0.1, 0.5, 0.7])
    f = dd.equations_of_motion(robot, State.from_joints(robot, q)).f
    close(f, [np.cos(0.4), 3 * np.sin(2.0), 2 * np.cos(2.8)] + 0.5 * np.sin(q))


def test_a_motor_that_loses_a_share_of_its_own_torque() -> None:
    """tau = u + mu |tau| s: where it drives it must give more, where it brakes less."""
    robot = make_robot(3, True, friction=Friction(motor_load=[0.1, 0.1, 0.0]))
    motion = ([0.4, 0.5, 0.6], [1.0, -1.0, 1.0], [0.0, 0.0, 0.0])
    state = State.from_joints(robot, *motion)
    u = dd.inverse_dynamics(robot, state, friction=False)
    tau = dd.inverse_dynamics(robot, state)
    assert (u < 0).all()  # gravity pulls down, the drives hold
    close(tau, u / [1.1, 0.9, 1.0])
    close(tau - np.array([0.1, 0.1, 0.0]) * np.abs(tau) * np.array(motion[1]), u)


def test_one_loss_of_the_two() -> None:
    with pytest.raises(RobotError, match=r"friction\.motor_load"):
        make_robot(3, True, friction=Friction(load=0.1, motor_load=0.1))


def test_bad_ripple_is_named() -> None:
    for wave, place in (
        (Ripple(0.0), r"drives\.ripple\[1\]\.order"),
        (Ripple(64.0), r"drives\.ripple\[1\]\.order"),
        (Ripple(3.0, [1.0, 2.0]), r"drives\.ripple\[1\]\.cos"),
        (Ripple(3.0, 0.0, [0.0, 0.0, float("nan")]), r"drives\.ripple\[1\]\.sin\[2\]"),
    ):
        with pytest.raises(RobotError, match=place):
            make_robot(3, True, drives=Drives(ripple=(Ripple(64.0), wave)))
    with pytest.raises(RobotError, match="at most 4 orders"):
        make_robot(3, True, drives=Drives(ripple=tuple(Ripple(k + 1.0) for k in range(5))))
    with pytest.raises(RobotError, match=r"sensors\.torque_ratio\[1\]"):
        make_robot(3, True, sensors=Sensors([1.0, 0.0, 1.0]))


@each_dof
@each_kind
def test_a_robot_file_keeps_them(dof: int, kind: str) -> None:
    robot = rich(dof, kind)
    text = robot_text(robot)
    assert robot_from_text(text) == robot
    assert "order: 64" in text


def test_files_name_the_place_of_bad_ripple() -> None:
    text = robot_text(rich(3, "load"))
    for old, new, place in (
        ("order: 64", "order: -1", r"drives\.ripple\[0\]\.order"),
        ("- order: 64\n", "- orders: 64\n", r"drives\.ripple\[0\]\.orders"),
        ("sin_Nm: [0.4,", "sin_Nm: [0.4, 1,", r"drives\.ripple\[0\]\.sin_Nm"),
    ):
        assert old in text
        with pytest.raises(RobotFileError, match=place):
            robot_from_text(text.replace(old, new))


@pytest.mark.full
@pytest.mark.parametrize(("dof", "kind"), [(3, "load"), (4, "motor"), (4, "sharp")])
def test_jax_is_numpy(dof: int, kind: str) -> None:
    pytest.importorskip("jax")
    from deltadyn.tracing import doubles, jax_numpy

    robot = rich(dof, kind).with_friction(passive=())
    state = make_states(robot, 20)
    tau, Y = dd.inverse_dynamics(robot, state), dd.regressor(robot, state).Y
    eom = dd.equations_of_motion(robot, state)
    with doubles():
        jnp = jax_numpy()
        traced = State.from_joints(robot, *(jnp.asarray(x) for x in (state.q, state.qd, state.qdd)))
        close(dd.inverse_dynamics(robot, traced), tau)
        close(
            dd.inverse_dynamics(robot, traced, friction=False),
            dd.inverse_dynamics(robot, state, friction=False),
        )
        close(dd.regressor(robot, traced).Y, Y)
        close(dd.equations_of_motion(robot, traced).f, eom.f)
        arrays = (jnp.asarray(x) for x in (state.q, state.qd, tau))
        qdd = np.asarray(dd.forward_dynamics(robot, *arrays))
        par = jnp.asarray(packed_parameters(robot))
        close(packed_torque(par, *(jnp.asarray(x) for x in (state.p, state.pd, state.pdd))), tau)
    np.testing.assert_allclose(qdd, state.qdd, rtol=0, atol=1e-9 * np.abs(state.qdd).max())


@pytest.mark.parametrize("turn", [-1.0, 1.0])
def test_loss_of_a_motor_of_one_number_and_of_a_complex_step(turn: float) -> None:
    """tau - share turn |tau| = needed: a line on each side of zero."""
    needed = np.array([-2.0, 3.0])
    slope = 1 / (1 - 0.1 * turn * np.sign(needed))
    found: Any = motor_torque(np, needed + 1e-30j, 0.1, turn)
    np.testing.assert_allclose(found.real, slope * needed, rtol=1e-15)
    np.testing.assert_allclose(found.imag / 1e-30, slope, rtol=1e-15)
    for k, value in enumerate(needed.tolist()):
        tau: Any = motor_torque(np, value, 0.1, turn)
        assert tau == pytest.approx(slope[k] * value, rel=1e-15)
        assert motor_output(np, tau, 0.1, turn) == pytest.approx(value, rel=1e-15)
