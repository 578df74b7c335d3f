"""Robots with ripple, a loss of the motor and drives in a scale of their own, on the bench."""

from __future__ import annotations

import numpy as np
import pytest
from tests.dynamics.factory import rich_drives
from tests.simulation.factory import strokes

import deltadyn as dd
from deltadyn import backends as kernels
from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot
from deltadyn.robot.settings import Sensors
from deltadyn.simulation import PDFeedforward, Run, rollout, simulate
from deltadyn.simulation.plant.machine import home_angles

SAME = 1e-9  # the compiled plant rounds in another order

each_dof = pytest.mark.parametrize("dof", [3, 4])


def machine(dof: int, *, motor: bool = True) -> Robot:
    """A catalogue robot with all terms of the drives, small enough for it."""
    name = "sipro-d3-1200" if dof == 3 else "example-delta-4"
    robot = dd.load_robot(name).with_friction(
        viscous=0.2, coulomb=0.3, thinning=0.4, thinning_velocity=0.7, smoothing=0.1, passive=()
    )
    return rich_drives(robot.with_rotor_inertia(0.05), motor=motor)


@each_dof
@pytest.mark.parametrize("preset", ["ideal", "industrial"])
def test_the_compiled_plant_is_the_one_in_python(dof: int, preset: str) -> None:
    robot = machine(dof)
    motion = strokes(robot)[0]
    fast = simulate(robot, motion, preset=preset, rate=1000.0)
    with kernels.switched_off():
        slow = simulate(robot, motion, preset=preset, rate=1000.0)
    for name in ("q", "qd", "tau", "ripple", "friction"):
        a, b = getattr(fast.truth, name), getattr(slow.truth, name)
        np.testing.assert_allclose(a, b, rtol=0, atol=SAME * max(1.0, np.abs(b).max()))
    np.testing.assert_allclose(fast.recording.tau, slow.recording.tau, rtol=0, atol=1e-6)


@each_dof
@pytest.mark.parametrize("motor", [True, False])
def test_the_plant_obeys_the_model(dof: int, motor: bool) -> None:
    """What the log reports makes the accelerations of the plant."""
    robot = machine(dof, motor=motor)
    run = simulate(robot, strokes(robot)[0], rate=1000.0)
    truth, log = run.truth, run.recording
    ratio = np.asarray(robot.sensors.torque_ratio)
    np.testing.assert_allclose(log.tau, truth.tau * ratio, rtol=1e-12)
    qdd = dd.forward_dynamics(robot, truth.q, truth.qd, log.tau)
    np.testing.assert_allclose(truth.qdd, qdd, rtol=0, atol=1e-8 * np.abs(qdd).max())
    assert run.completed
    assert np.abs(truth.ripple).max() > 0.1


@each_dof
def test_feedforward_of_the_own_model_follows_well(dof: int) -> None:
    """The drives' own terms in the feedforward take most of the tracking error away."""
    robot = machine(dof)
    motion = strokes(robot)[0]
    known = simulate(robot, motion, PDFeedforward(robot), rate=2000.0)
    bare = robot.with_friction(motor_load=None).replace(sensors=Sensors())
    unknown = simulate(robot, motion, PDFeedforward(bare), rate=2000.0)

    def rms(run: Run) -> FloatArray:
        return np.sqrt(np.mean((run.truth.q - run.reference.q)[:, :3] ** 2, axis=0))

    assert (rms(known) < 0.5 * rms(unknown)).all()


@each_dof
@pytest.mark.parametrize("motor", [True, False])
def test_rollouts_agree(dof: int, motor: bool) -> None:
    robot = machine(dof, motor=motor)
    rng = np.random.default_rng(1)
    q = home_angles(robot) + 0.05 * rng.standard_normal((3, dof))
    qd = rng.standard_normal((3, dof))
    torque = np.tile(np.linspace(0.5, 2.0, dof), (20, 1))
    fast = rollout(robot, q, qd, torque, dt=5e-4, substeps=2)
    with kernels.switched_off():
        slow = rollout(robot, q, qd, torque, dt=5e-4, substeps=2)
    np.testing.assert_allclose(fast.q, slow.q, rtol=0, atol=SAME)
    np.testing.assert_allclose(fast.qd, slow.qd, rtol=0, atol=SAME)
    short = rollout(robot, q, qd, torque[:1], dt=1e-6, substeps=1)
    rate = (short.qd - qd) / 1e-6
    qdd = dd.forward_dynamics(robot, q, qd, np.broadcast_to(torque[0], q.shape))
    np.testing.assert_allclose(rate, qdd, rtol=0, atol=1e-3 * np.abs(qdd).max())
