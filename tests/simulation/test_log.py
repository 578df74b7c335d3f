"""Every switch does what it says, measured from the output of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.simulation.factory import Constant, as_was, excitation, fit, rms, standing

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.dynamics import exact_parameters
from deltadyn.simulation import PRESETS, Run, simulate
from deltadyn.simulation.plant.machine import axis_inertia, build_machine

ROBOT = dd.load_robot("sipro-d3-1200")
MOTION = excitation(ROBOT, 0.5)
REFERENCE = 100.0 * axis_inertia(ROBOT)  # N m; the robot file names no rotors


def bench(**switches: Any) -> Run:
    return simulate(ROBOT, MOTION, **switches)


def needed(run: Run) -> FloatArray:
    """What the machine's own model needs for what really happened."""
    return dd.inverse_dynamics(run.truth.robot, run.truth.motion())


def test_the_ideal_log_is_the_truth() -> None:
    run = bench()
    log, truth = run.recording, run.truth
    assert np.all(truth.written)
    np.testing.assert_array_equal(log.t, truth.t)
    np.testing.assert_array_equal(log.q, truth.q)
    np.testing.assert_array_equal(log.tau, truth.tau)
    np.testing.assert_array_equal(log.q_command, run.reference.q)
    assert truth.robot == ROBOT.with_friction(smoothing=0.02)
    assert np.abs(needed(run) - log.tau).max() < 1e-9


def test_encoder_quantisation() -> None:
    run = bench(encoder_counts=2.0**14)
    step = 2 * np.pi / 2**14
    counts = run.recording.q / step
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)
    error = run.recording.q - run.truth.q
    assert np.abs(error).max() <= step / 2 * (1 + 1e-9)
    assert np.std(error) == pytest.approx(step / np.sqrt(12), rel=0.05)


def test_the_loop_works_on_the_quantised_angle() -> None:
    """Half a count is enough for the feedback to act: its torque comes in steps."""
    coarse, exact = bench(encoder_counts=2.0**12), bench()
    assert np.abs(coarse.recording.tau - exact.recording.tau).max() > 1.0


def test_current_noise_and_resolution() -> None:
    run = bench(current_noise=0.02)
    error = run.recording.tau - run.truth.tau
    np.testing.assert_allclose(error.std(axis=0), 0.02 * REFERENCE, rtol=0.08)
    assert np.abs(error.mean(axis=0)).max() < 0.1
    run = bench(current_step=0.01)
    steps = run.recording.tau / (0.01 * REFERENCE)
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    error = run.recording.tau - run.truth.tau
    assert np.abs(error).max() <= 0.005 * REFERENCE[0] * (1 + 1e-9)


@pytest.mark.parametrize(("hold", "least"), [("linear", 1), ("step", 0)])
@pytest.mark.parametrize("delay", [0, 3])
def test_delay_in_ticks(hold: str, least: int, delay: int) -> None:
    """A ramp reaches the command one tick later, a step at once."""
    run = bench(delay=delay, hold=hold)
    command, tau = run.recording.tau_command, run.recording.tau
    assert command is not None
    late = delay + least
    np.testing.assert_array_equal(tau[late:], command[: len(tau) - late])
    if late:
        np.testing.assert_allclose(np.ptp(tau[:late], axis=0), 0.0)  # the holding torque


def test_jitter() -> None:
    run = bench(jitter=2e-5)
    moving = np.abs(run.truth.qd) > 0.5
    late = ((run.recording.q - run.truth.q) / run.truth.qd)[moving]
    assert np.std(late) == pytest.approx(2e-5, rel=0.08)
    np.testing.assert_array_equal(run.truth.q, bench().truth.q)  # the loop itself keeps time
    np.testing.assert_array_equal(run.recording.t, run.truth.t)  # and the stamps do not tell


def test_dropped_rows() -> None:
    run, whole = bench(dropped=0.1, current_noise=0.01), bench(current_noise=0.01)
    count, ticks = len(run.recording), len(run.truth.t)
    assert count == run.truth.written.sum()
    assert count == pytest.approx(0.9 * ticks, rel=0.03)
    assert np.diff(run.recording.t).max() >= 2 / 2000.0 - 1e-12
    kept = run.truth.written
    np.testing.assert_array_equal(run.recording.t, run.truth.t[kept])
    np.testing.assert_array_equal(run.recording.tau, whole.recording.tau[kept])


def test_saturation() -> None:
    free, limited = bench(), bench(saturation=0.1)
    assert np.abs(free.truth.tau).max() > 20.0
    assert np.abs(limited.truth.tau).max() == pytest.approx(18.0)  # of 180 N m
    assert "the torque was at its limit in" in limited.status
    assert "limit" not in free.status
    assert rms(limited.tracking_error).max() > 10 * rms(free.tracking_error).max()
    nameless = ROBOT.replace(limits=dd.robot.settings.Limits())
    run = simulate(nameless, MOTION, saturation=0.1)
    assert "no saturation: the robot names no peak torque" in run.recording.provenance.notes


def test_torque_ripple() -> None:
    """Its period and size, from what the log needs beyond the model."""
    run = bench(ripple=0.05, ripple_waves=40.0)
    extra = needed(run) - run.recording.tau
    np.testing.assert_allclose(extra, run.truth.ripple, atol=1e-8)
    q = run.truth.q_motor[:, 0]
    candidates = np.arange(10.0, 100.0)
    power = [
        np.hypot(extra[:, 0] @ np.sin(waves * q), extra[:, 0] @ np.cos(waves * q))
        for waves in candidates
    ]
    assert candidates[int(np.argmax(power))] == 40.0
    np.testing.assert_allclose(np.abs(extra).max(axis=0), 0.05 * REFERENCE, rtol=0.01)


def test_rotors_are_added_where_the_robot_names_none() -> None:
    truth = bench(rotor_inertia=1.5).truth.robot
    np.testing.assert_allclose(truth.drives.output_inertia, 1.5 * axis_inertia(ROBOT))
    named = ROBOT.with_rotor_inertia(0.1)
    run = simulate(named, MOTION, rotor_inertia=1.5)
    assert run.truth.robot.drives.output_inertia == (0.1, 0.1, 0.1)


def test_unequal_arms_are_found_by_a_fit_per_arm() -> None:
    run = bench(arm_scale=(1.1, 1.0, 0.9), strut_scale=(1.0, 1.05, 1.0))
    motion, tau = as_was(ROBOT, run)
    assert rms(fit(ROBOT, motion, tau, tied=True)[0]).max() > 0.05
    assert rms(fit(ROBOT, motion, tau, tied=False)[0]).max() < 1e-8
    regressor = dd.regressor(ROBOT, motion, tied=False, friction=False)
    found = np.linalg.lstsq(regressor.stacked(), tau.reshape(-1), rcond=None)[0]
    truth = exact_parameters(run.truth.robot)
    for i in range(3):
        assert found[regressor.names.index(f"A{i + 1}")] == pytest.approx(truth.A[i], rel=1e-6)
        assert found[regressor.names.index(f"G{i + 1}")] == pytest.approx(truth.G[i], rel=1e-6)
    arms, nominal = run.truth.robot.arms, ROBOT.arms[0]
    assert [arm.mass / nominal.mass for arm in arms] == pytest.approx([1.1, 1.0, 0.9])
    assert run.truth.robot.struts[1].mass == pytest.approx(1.05 * ROBOT.struts[1].mass)


def test_friction_levels() -> None:
    run = bench(viscous=0.02, coulomb=0.06, friction_scale=(1.2, 1.0, 0.8))
    scale = np.array([1.2, 1.0, 0.8]) * REFERENCE
    expected = scale * (0.02 * run.truth.qd + 0.06 * np.tanh(run.truth.qd / 0.02))
    np.testing.assert_allclose(run.truth.friction, expected, atol=1e-10)
    assert np.abs(needed(run) - run.recording.tau).max() < 1e-8
    own = ROBOT.with_friction(coulomb=2.0, viscous=0.5)
    kept = simulate(own, MOTION, viscous=0.02, coulomb=0.06).truth.robot.friction
    assert kept.coulomb == (2.0, 2.0, 2.0)
    assert kept.viscous == (0.5, 0.5, 0.5)


def test_stribeck_and_load_friction() -> None:
    run = bench(coulomb=0.06, stribeck=0.5, stribeck_velocity=0.4, load=0.05)
    truth = run.truth
    s, level = np.tanh(truth.qd / 0.02), 0.06 * REFERENCE
    dry = level * s * (1 + 0.5 * np.exp(-((truth.qd / 0.4) ** 2)))
    load = truth.tau - truth.friction  # no rotors: all of it passes the gear
    np.testing.assert_allclose(truth.friction, dry + 0.05 * np.abs(load) * s, atol=1e-8)
    assert np.abs(needed(run) - run.recording.tau).max() < 1e-8


def test_robots_own_friction_terms_are_kept() -> None:
    friction = {"coulomb": 2.0, "coulomb_negative": 1.0, "stribeck": 0.5, "stribeck_velocity": 0.1}
    robot = ROBOT.with_friction(**friction, load=0.02, offset=0.3, smoothing=0.1)
    made = build_machine(robot, PRESETS["industrial"]).robot.friction
    scale = np.array([1.1, 0.85, 1.05])
    assert made.coulomb_negative == pytest.approx(scale)
    assert made.stribeck == pytest.approx(0.5 * scale)
    assert made.stribeck_velocity == (0.1, 0.1, 0.1)
    assert made.load == (0.02, 0.02, 0.02)
    assert made.offset == (0.3, 0.3, 0.3)
    assert made.smoothing == 0.1


def test_temperature_drift() -> None:
    """Friction of a warm robot, and the warming itself."""
    drift: dict[str, Any] = {"viscous_drift": 0.02, "coulomb_drift": 0.01}
    warm = bench(viscous=0.02, coulomb=0.06, temperature=45.0, **drift)
    fv, fc = 0.02 * REFERENCE * np.exp(-0.4), 0.06 * REFERENCE * np.exp(-0.2)
    qd = warm.truth.qd
    np.testing.assert_allclose(warm.truth.friction, fv * qd + fc * np.tanh(qd / 0.02), atol=1e-10)
    assert warm.recording.temperature is None  # nothing heats up, nothing is logged
    run = bench(viscous=0.02, coulomb=0.06, heating=5.0, heating_time=0.2, **drift)
    final = 25.0 + 5.0 * run.truth.friction * qd  # where each instant's loss alone would lead
    assert run.truth.temperature[0] == pytest.approx(25.0)
    assert np.all(run.truth.temperature[-1] > 30.0)
    assert np.all(run.truth.temperature <= final.max(axis=0))
    assert run.recording.temperature is not None
    np.testing.assert_allclose(run.recording.temperature, run.truth.temperature.mean(axis=1))
    cold = bench(viscous=0.02, coulomb=0.06)
    assert run.energy.friction[-1] < cold.energy.friction[-1]


def test_elastic_gears() -> None:
    """The gears pass on exactly what the arms need."""
    switches: dict[str, Any] = {"rotor_inertia": 1.0, "gear_frequency": 60.0}
    run = bench(**switches)
    truth = run.truth
    machine = build_machine(ROBOT, PRESETS["ideal"].with_switches(**switches))
    assert machine.stiffness is not None
    assert machine.damping is not None
    inertia = axis_inertia(ROBOT)
    np.testing.assert_allclose(machine.stiffness, (2 * np.pi * 60) ** 2 * inertia / 2)
    passed = machine.stiffness * truth.gear_deflection
    passed = passed + machine.damping * (truth.qd_motor - truth.qd)
    arms = ROBOT.with_rotor_inertia(0.0)
    np.testing.assert_allclose(passed, dd.inverse_dynamics(arms, truth.motion()), atol=1e-8)
    np.testing.assert_array_equal(run.recording.q, truth.q_motor)  # the encoder sits at the motor


def test_the_ring_of_an_elastic_gear() -> None:
    """Let go from its holding torque, every vibration of the free machine is a mode of M, J, K."""
    switches: dict[str, Any] = {"rotor_inertia": 1.0, "gear_frequency": 60.0, "gear_damping": 0.0}
    machine = build_machine(ROBOT, PRESETS["ideal"].with_switches(**switches))
    assert machine.stiffness is not None
    motion = standing(ROBOT, 0.1)
    run = simulate(ROBOT, motion, Constant((0.0, 0.0, 0.0)), hold="step", **switches)
    M = dd.equations_of_motion(ROBOT, dd.State.from_joints(ROBOT, run.truth.q[0])).M
    rotor = np.diag(1 / np.asarray(machine.robot.drives.output_inertia))
    # equal torques swing the arms alike: the mode (1, 1, 1)
    square = ((np.linalg.inv(M) + rotor) * machine.stiffness) @ np.ones(3)
    twist = run.truth.gear_deflection[:, 0] - run.truth.gear_deflection[:, 0].mean()
    crossings = np.flatnonzero(np.diff(np.sign(twist)))
    half_period = np.diff(crossings).mean() / 2000.0
    assert np.pi / half_period == pytest.approx(np.sqrt(square[0]), rel=0.02)


def test_light_rotors_have_no_gear() -> None:
    robot = ROBOT.with_rotor_inertia(0.01)
    run = simulate(robot, standing(robot, 0.01), preset="industrial")
    assert not run.truth.gear_deflection.any()


def test_the_drive_of_the_spindle_is_rigid() -> None:
    robot = dd.load_robot("example-delta-4")
    run = simulate(robot, excitation(robot, 0.05), preset="industrial")
    assert np.abs(run.truth.gear_deflection[:, :3]).min(axis=0).max() > 0
    assert not run.truth.gear_deflection[:, 3].any()
