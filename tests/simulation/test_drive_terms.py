"""Robots with ripple, a loss of the motor and drives in a scale of their own, on the bench."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import rich_drives
from tests.simulation.factory import strokes

import deltadyn as dd
from deltadyn import backends as kernels
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, RobotError
from deltadyn.kinematics import State
from deltadyn.robot import Robot, robot_from_text, robot_text
from deltadyn.robot.settings import Sensors
from deltadyn.simulation import (
    AugmentedPD,
    ComputedTorque,
    PDFeedforward,
    PDGravity,
    Run,
    rollout,
    simulate,
)
from deltadyn.simulation.plant.machine import build_machine, home_angles
from deltadyn.simulation.presets import preset_by_name

SAME = 1e-9  # the compiled plant rounds in another order

each_dof = pytest.mark.parametrize("dof", [3, 4])


def machine(dof: int, *, motor: bool = True) -> Robot:
    """A catalogue robot with all terms of the drives, small enough for it."""
    name = "sipro-d3-1200" if dof == 3 else "example-delta-4"
    robot = dd.load_robot(name).with_friction(
        viscous=0.2, coulomb=0.3, thinning=0.4, thinning_velocity=0.7, smoothing=0.1, passive=()
    )
    return rich_drives(robot.with_rotor_inertia(0.05), motor=motor)


@pytest.mark.full
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
        error = run.truth.q - run.reference.q
        return np.asarray(np.sqrt(np.mean(error[:, :3] ** 2, axis=0)))

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


def test_the_robots_own_gears_swing_in_the_place_of_the_presets() -> None:
    robot = dd.load_robot("sipro-d3-1200").with_rotor_inertia(0.4)
    drives = replace(robot.drives, stiffness=[2e4, 3e4, 4e4], damping=[10.0, 20.0, 30.0])
    elastic = robot.replace(drives=drives)
    machine = build_machine(elastic, preset_by_name("industrial"))
    assert machine.stiffness is not None
    assert machine.damping is not None
    assert machine.stiffness.tolist() == [2e4, 3e4, 4e4]
    assert machine.damping.tolist() == [10.0, 20.0, 30.0]
    run = simulate(elastic, strokes(elastic)[0], rate=2000.0)
    twist = run.truth.q_motor - run.truth.q
    assert 1e-4 < np.abs(twist).max() < 1e-2
    load = machine.stiffness * twist + machine.damping * (run.truth.qd_motor - run.truth.qd)
    rigid = dd.inverse_dynamics(elastic, swung(run), friction=False) - 0.4 * run.truth.qdd
    np.testing.assert_allclose(load, rigid, rtol=0, atol=1e-6 * np.abs(rigid).max())
    with pytest.raises(InputError, match=r"drives\.rotor_inertia"):
        simulate(elastic.with_rotor_inertia(0.0), strokes(elastic)[0])
    no_damping = elastic.replace(drives=replace(drives, damping=None))
    assert build_machine(no_damping, preset_by_name("ideal")).damping is not None
    with pytest.raises(RobotError, match=r"drives\.stiffness"):
        robot.replace(drives=replace(robot.drives, damping=1.0))
    assert robot_from_text(robot_text(elastic)) == elastic


def swung(run: Run) -> State:
    truth = run.truth
    return State.from_joints(truth.robot, truth.q, truth.qd, truth.qdd)


@pytest.mark.full
@each_dof
@pytest.mark.parametrize("law", [PDGravity, ComputedTorque, AugmentedPD])
def test_laws_at_the_measured_state_speak_the_drives_scale(dof: int, law: Any) -> None:
    """The law of a robot with drives in a scale of their own: what it asks holds the robot."""
    robot = machine(dof)
    plain = robot.replace(sensors=Sensors())
    motion = strokes(robot)[0]
    with kernels.switched_off():
        slow = simulate(robot, motion, law(robot), rate=1000.0)
    fast = simulate(robot, motion, law(robot), rate=1000.0)
    np.testing.assert_allclose(fast.truth.q, slow.truth.q, rtol=0, atol=1e-7)
    gains = {"stiffness": 1e-9, "damping": 1e-9} if law is PDGravity else {}
    if gains:  # gravity alone, at the first tick: the scale times the true torque
        first = [simulate(r, motion, law(r, **gains), rate=1000.0) for r in (robot, plain)]
        command = [np.asarray(run.recording.tau_command)[0] for run in first]
        ratio = np.asarray(robot.sensors.torque_ratio)
        np.testing.assert_allclose(command[0], ratio * command[1], rtol=0, atol=1e-6)
