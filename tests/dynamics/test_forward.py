"""Forward dynamics: the inverse of inverse dynamics, with all that a robot can have."""

from __future__ import annotations

import numpy as np
import pytest
from tests.dynamics.factory import (
    KIND_NAMES,
    KINDS,
    MODELS,
    any_shape,
    full_friction,
    make_robot,
    make_states,
    relative,
)

import deltadyn.dynamics.forward as forward
from deltadyn.dynamics import forward_dynamics, inverse_dynamics
from deltadyn.errors import DeltadynError
from deltadyn.kinematics import State
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction

# Relative, per axis: M with a condition number of up to 300 (psi beside arms) turns 1e-15 of the
# torques into 1e-13 of the accelerations.
ROUND_TRIP = 1e-11

each_model = pytest.mark.parametrize("model", MODELS)


@pytest.fixture(params=KINDS, ids=KIND_NAMES)
def robot(request: pytest.FixtureRequest) -> Robot:
    return make_robot(*request.param)


@each_model
def test_round_trip(robot: Robot, model: str) -> None:
    state = make_states(robot, 200)
    tau = inverse_dynamics(robot, state, model)
    qdd = forward_dynamics(robot, state.q, state.qd, tau, model=model)
    assert relative(qdd, state.qdd) < ROUND_TRIP


@each_model
@pytest.mark.parametrize("smoothing", [None, 0.3])
def test_round_trip_with_all_friction_force_and_payload(
    robot: Robot, model: str, smoothing: float | None
) -> None:
    """Gear losses, passive joints, a moving wrench on the platform, another payload."""
    friction = full_friction(robot.dof, smoothing=smoothing)
    robot = robot.replace(friction=friction).with_payload(2.5, (0.02, 0.03, 0.0), 0.004)
    state = make_states(robot, 200)
    wrench = np.random.default_rng(1).uniform(-40.0, 40.0, (200, robot.dof))
    tau = inverse_dynamics(robot, state, model, external_force=wrench)
    qdd = forward_dynamics(robot, state.q, state.qd, tau, model=model, external_force=wrench)
    assert relative(qdd, state.qdd) < ROUND_TRIP
    unpushed = forward_dynamics(robot, state.q, state.qd, tau, model=model)
    assert relative(unpushed, state.qdd) > 1e-2
    bare = inverse_dynamics(robot, state, model, friction=False)
    qdd = forward_dynamics(robot, state.q, state.qd, bare, model=model, friction=False)
    assert relative(qdd, state.qdd) < ROUND_TRIP
    with_friction = forward_dynamics(robot, state.q, state.qd, bare, model=model)
    assert relative(with_friction, state.qdd) > 1e-3


def test_round_trip_with_bodies_of_any_shape(robot: Robot) -> None:
    robot = any_shape(robot).replace(friction=full_friction(robot.dof))
    state = make_states(robot, 200)
    tau = inverse_dynamics(robot, state, "rigid")
    qdd = forward_dynamics(robot, state.q, state.qd, tau, model="rigid")
    assert relative(qdd, state.qdd) < ROUND_TRIP


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("rotor", [0.0, 0.01, 1.0])
def test_gear_losses_of_any_torque(robot: Robot, share: float, rotor: float) -> None:
    """From torques back to torques: the loads' signs are not known beforehand.

    A heavy rotor turns the load's sign against the torque's; without one they agree.
    """
    robot = robot.with_rotor_inertia(rotor).replace(friction=Friction(0.2, 0.3, load=share))
    state = make_states(robot, 300)
    tau = np.random.default_rng(2).uniform(-80.0, 80.0, state.q.shape)
    qdd = forward_dynamics(robot, state.q, state.qd, tau)
    moved = State.from_joints(robot, state.q, state.qd, qdd)
    assert relative(inverse_dynamics(robot, moved), tau) < ROUND_TRIP
    friction_less = inverse_dynamics(robot, moved, friction=False)
    load = friction_less - np.array(robot.drives.output_inertia) * qdd
    rest = tau - 0.2 * state.qd - 0.3 * np.sign(state.qd)
    turned = np.count_nonzero(np.sign(load[:, :3]) != np.sign(rest[:, :3]))
    assert (turned == 0) if rotor == 0.0 else (turned > 0)


def test_gear_losses_that_do_not_settle_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """One round is too few for a row whose load turns against its torque; the row is named."""
    robot = make_robot(3, True).with_rotor_inertia(1.0).with_friction(load=0.5)
    state = make_states(robot, 300)
    tau = np.random.default_rng(2).uniform(-80.0, 80.0, state.q.shape)
    qdd = forward_dynamics(robot, state.q, state.qd, tau)
    moved = State.from_joints(robot, state.q, state.qd, qdd)
    load = inverse_dynamics(robot, moved, friction=False) - qdd
    easy = np.all(np.sign(load) == np.sign(tau), axis=1)
    monkeypatch.setattr(forward, "GEAR_ROUNDS", 1)
    kept = forward_dynamics(robot, state.q[easy], state.qd[easy], tau[easy])
    assert relative(kept, qdd[easy]) < ROUND_TRIP
    rows = np.flatnonzero(easy)[:2].tolist() + np.flatnonzero(~easy)[:1].tolist()
    with pytest.raises(DeltadynError, match=r"friction\.load: .* at row 2 after 1 rounds"):
        forward_dynamics(robot, state.q[rows], state.qd[rows], tau[rows])


def test_no_torque_lets_the_robot_fall(robot: Robot) -> None:
    """At rest and without torques M qdd = -g: the first motion gives away potential energy."""
    state = make_states(robot, 50)
    qdd = forward_dynamics(robot, state.q, np.zeros(robot.dof), np.zeros(robot.dof))
    rest = State.from_joints(robot, state.q)
    gravity = inverse_dynamics(robot, rest)
    assert np.all(np.sum(qdd * gravity, axis=1) < 0)
    falling = State.from_joints(robot, state.q, None, qdd)
    assert np.all(falling.pdd[:, 2] < 0)
    assert np.max(np.abs(inverse_dynamics(robot, falling))) < ROUND_TRIP * np.max(np.abs(gravity))


def test_coulomb_friction_is_zero_at_rest() -> None:
    """What the docstring says: sticking is for a simulator to decide."""
    smooth = make_robot(3, True)
    rough = smooth.with_friction(coulomb=5.0)
    q, tau = make_states(smooth, 10).q, np.full(3, 2.0)
    resting = forward_dynamics(rough, q, np.zeros(3), tau)
    assert np.array_equal(resting, forward_dynamics(smooth, q, np.zeros(3), tau))
    moving = forward_dynamics(rough, q, np.full(3, 1e-6), tau)
    assert np.min(np.abs(moving - resting)) > 1.0


@each_model
def test_one_sample_and_repeated_partners(robot: Robot, model: str) -> None:
    robot = robot.replace(friction=full_friction(robot.dof))
    state = make_states(robot, 4)
    tau = np.full(robot.dof, 3.0)
    many = forward_dynamics(robot, state.q, state.qd, tau, model=model)
    one = forward_dynamics(robot, state.q[2], state.qd[2], tau, model=model)
    assert many.shape == (4, robot.dof)
    assert one.shape == (robot.dof,)
    assert relative(one, many[2]) < ROUND_TRIP


@pytest.mark.parametrize("model", ["exact", "rigid"])
def test_a_heavier_payload_is_slower(robot: Robot, model: str) -> None:
    """The kinetic energy that a unit of torque makes, tau M^-1 tau, falls with the payload."""
    state = make_states(robot, 50)
    tau = np.random.default_rng(4).uniform(-1.0, 1.0, state.q.shape)
    flexibility = []
    for mass in (0.5, 1.0, 2.0):
        loaded = robot.with_payload(mass, robot.payload.offset)
        zero = np.zeros(robot.dof)
        gain = forward_dynamics(loaded, state.q, zero, tau, model=model)
        gain -= forward_dynamics(loaded, state.q, zero, zero, model=model)
        flexibility.append(np.sum(gain * tau, axis=1))
    assert np.all(flexibility[0] > flexibility[1])
    assert np.all(flexibility[1] > flexibility[2])
    assert np.all(flexibility[2] > 0)
