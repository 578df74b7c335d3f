"""The ideal plant: against an integrator that is not ours, and by its energy books."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.dynamics.factory import full_friction, make_robot
from tests.simulation.factory import Constant, excitation, standing, strokes

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import OscillationWarning
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Geometry, Payload, Strut
from deltadyn.simulation import PD, PRESETS, simulate

# Over 10 s; the integrator's own error is far below (see the test of its order).
DRIFT = 1e-6


def smooth(robot: Robot) -> Robot:
    """Friction in every joint, smooth enough for an integrator of high order: no |load|."""
    friction = full_friction(robot.dof, smoothing=1.0, load=None)
    return robot.replace(friction=replace(friction, coulomb=0.1, coulomb_negative=None))


def let_go(robot: Robot, rate: float, duration: float = 0.1) -> FloatArray:
    """Final q and qd of a robot whose drives give half of its holding torque, from rest."""
    motion = standing(robot, duration)
    torque = 0.5 * dd.inverse_dynamics(robot, motion)[0]
    run = simulate(robot, motion, Constant(tuple(torque.tolist())), rate=rate, hold="step")
    assert run.completed
    return np.concatenate([run.truth.q[-1], run.truth.qd[-1]])


def let_go_by_scipy(robot: Robot, duration: float = 0.1) -> FloatArray:
    n, motion = robot.dof, standing(robot, duration)
    torque = 0.5 * dd.inverse_dynamics(robot, motion)[0]

    def slope(t: float, y: FloatArray) -> FloatArray:
        return np.concatenate([y[n:], dd.forward_dynamics(robot, y[:n], y[n:], torque)])

    start = np.concatenate([motion.q[0], np.zeros(n)])
    y: FloatArray = solve_ivp(
        slope, (0.0, duration), start, method="DOP853", rtol=1e-12, atol=1e-13
    ).y[:, -1]
    return y


@pytest.mark.parametrize("dof", [3, 4])
def test_a_falling_robot(dof: int) -> None:
    robot = smooth(make_robot(dof, False))
    expected = let_go_by_scipy(robot)
    assert np.abs(expected[robot.dof :]).max() > 0.3  # rad/s: it does fall
    np.testing.assert_allclose(let_go(robot, 2000.0), expected, atol=1e-9)


def test_the_integrator_is_of_order_four() -> None:
    """Halving the step divides the error by 2^4; the steps are ticks, with one step each."""
    robot = smooth(make_robot(3, False))
    exact = let_go_by_scipy(robot)
    errors = [np.abs(let_go(robot, rate) - exact).max() for rate in (50.0, 100.0, 200.0, 400.0)]
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 4.0, atol=0.1)


def test_energy_books_over_ten_seconds() -> None:
    """Smooth Coulomb friction, the drive at 500 Hz: fewer ticks and a harder task."""
    robot = dd.load_robot("sipro-d3-1200").with_friction(viscous=1.0, coulomb=4.0, smoothing=0.5)
    run = simulate(robot, excitation(robot, 10.0, rate=500.0), rate=500.0)
    books = run.energy
    assert run.truth.t[-1] == 10.0
    assert books.friction[-1] > 0.3 * books.exchanged  # the friction counts
    assert books.drift < DRIFT


def test_energy_books_without_friction() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    run = simulate(robot, excitation(robot, 10.0, rate=500.0), rate=500.0)
    assert not run.energy.friction.any()
    assert run.energy.exchanged > 100.0  # J
    assert run.energy.drift < DRIFT


@pytest.mark.parametrize("dof", [3, 4])
def test_energy_books_with_everything(dof: int) -> None:
    """Elastic gears, ripple, losses, passive joints, a force, payloads that come and go."""
    robot = dd.load_robot("example-delta" if dof == 3 else "example-delta-4")
    robot = robot.with_friction(smoothing=1.0)
    run = simulate(
        robot,
        excitation(robot, 0.5),
        preset="industrial",
        payload=[(0.1, 1.5), (0.3, 0.0)],
        external_force=lambda t: [20.0 * np.sin(20 * t), 5.0, -10.0],
    )
    books = run.energy
    for account in (books.gear, books.ripple, books.external, books.payload):
        assert np.abs(account).max() > 1e-4 * books.exchanged
    assert books.damping[-1] > 0
    assert books.drift < 1e-5  # the external force is held for a tick, the gears' loss has a kink
    assert replace(books, friction=1.01 * books.friction).drift > 1e-3  # and it could fail


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_robot_at_rest_stays_at_rest(name: str) -> None:
    """It begins with the holding torque, gears wound up; nothing moves until the loop is closed."""
    robot = dd.load_robot("sipro-d3-1200").with_payload(2.0)
    switches: dict[str, Any] = {} if name == "ideal" else {"ripple": 0.0, "encoder_counts": None}
    run = simulate(robot, standing(robot, 0.05), preset=name, **switches)
    assert np.abs(run.truth.qdd[0]).max() < 1e-9
    assert np.abs(run.truth.q_motor[0] - run.reference.q[0]).max() < 1e-12
    if name == "ideal":
        assert np.abs(run.tracking_error).max() < 1e-12
        holding = dd.inverse_dynamics(robot, run.reference)
        np.testing.assert_allclose(run.recording.tau, holding, atol=1e-9)
    else:
        assert run.truth.gear_deflection[0, 0] < 0  # the arms hang, the motors hold them up
        assert np.abs(run.tracking_error).max() < 0.02


def test_a_run_begins_on_a_moving_reference() -> None:
    robot = dd.load_robot("example-delta-4")
    run = simulate(robot, excitation(robot, 0.02))
    assert np.abs(run.reference.qdd[0]).min() > 1.0
    np.testing.assert_allclose(run.truth.qdd[0], run.reference.qdd[0], rtol=1e-9)


def test_payload_events() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    pick = Payload(2.0, (0.0, 0.0, -0.1))
    run = simulate(robot, strokes(robot)[0], payload=[(0.0, 0.5), (0.2, pick), (0.40001, 0.0)])
    truth = run.truth
    assert truth.robot.payload.mass == 0.5
    np.testing.assert_array_equal(np.unique(truth.payload), [0.0, 0.5, 2.0])
    assert truth.payload[399] == 0.5
    assert truth.payload[400] == 2.0
    assert truth.payload[800] == 2.0  # the first tick at or after the event is the next one
    assert truth.payload[801] == 0.0
    assert run.recording.payload is None  # a log has one payload or none
    for mass in (0.5, 2.0, 0.0):
        now = truth.payload == mass
        model = dd.inverse_dynamics(robot.with_payload(mass), truth.motion())
        assert np.abs(truth.tau - model)[now].max() < 1e-9
        assert np.abs(truth.tau - model)[~now].max() > 1.0


def test_external_force() -> None:
    """At rest, against a force, the drives give J^T F less."""
    robot = dd.load_robot("example-delta-4")
    force, gains = np.array([15.0, -10.0, -25.0, 0.1]), (2000.0, 2000.0, 2000.0, 100.0)
    run = simulate(robot, standing(robot, 0.3), PD(robot, stiffness=gains), external_force=force)
    end = dd.State.from_joints(robot, run.truth.q[-1])
    expected = dd.inverse_dynamics(robot, end, external_force=force, friction=False)
    np.testing.assert_allclose(run.truth.tau[-1], expected, atol=2.0)  # what friction may hold
    pushed = simulate(robot, standing(robot, 0.05), external_force=force)
    assert np.abs(pushed.truth.qdd[0]).max() < 1e-9  # the holding torque knows the force


def test_a_run_that_leaves_the_workspace_stops() -> None:
    robot = dd.load_robot("example-delta")
    short = robot.replace(
        geometry=Geometry(0.35, 0.05, 0.3, 0.5), struts=(Strut.uniform(0.12, 0.5),) * 3
    )
    run = simulate(short, standing(short, 1.0, angle=0.9), Constant((-20.0, -20.0, -20.0)))
    assert not run.completed
    assert run.status.startswith("stopped after t = 0.")
    assert "the struts do not meet, or lie in one plane" in run.status
    assert len(run.recording) == len(run.truth.t) == len(run.reference.q) < 1000
    assert run.tracking_error.shape == run.truth.q.shape


def test_an_unstable_loop_stops() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    with pytest.warns(OscillationWarning, match=r"spectral radius \d\.\d+ at 250 Hz"):
        run = simulate(robot, excitation(robot, 2.0), PD(robot, bandwidth=200.0), rate=250.0)
    assert not run.completed
    assert "is half a turn away from its reference, the controller has lost it" in run.status
