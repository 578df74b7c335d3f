"""Loads of a motion: energies by other ways, peaks by direct computation, statics, words."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.sizing.cases import FOUR, RUBBING, THREE

import deltadyn as dd
from deltadyn.dynamics.energy import energy, power_balance
from deltadyn.dynamics.loads import constraint_loads
from deltadyn.motion import Motion, adept_cycle, check_motion
from deltadyn.sizing import drive_loads, motion_loads

ROBOTS = [THREE.with_payload(2.0), RUBBING, FOUR.with_payload(1.0)]


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
def test_energies_are_those_of_the_power_balance(robot: dd.Robot) -> None:
    motion = adept_cycle(robot)
    found = motion_loads(robot, motion)
    powers = power_balance(robot, motion)
    total = float(np.trapezoid(powers.drives, motion.t))
    assert found.drives.energy_net.sum() == pytest.approx(total, rel=1e-12)
    lost = float(np.trapezoid(powers.friction, motion.t))
    # a cycle ends as it began: what goes in is lost; trapezoids of 0.5 ms where friction turns over
    scale = found.drives.energy_drawn.sum()
    assert found.drives.energy_net.sum() == pytest.approx(lost, abs=1e-4 * scale)
    stored = np.ptp(energy(robot, motion).total)
    assert found.drives.energy_drawn.sum() > 0.9 * stored  # it had to be brought in


@pytest.mark.parametrize("robot", [THREE.with_payload(2.0), RUBBING], ids=lambda robot: robot.name)
def test_energy_is_the_work_of_a_simulated_run(robot: dd.Robot) -> None:
    """The books of the ideal plant integrate tau qd at every step, with their own mechanism."""
    motion = adept_cycle(robot, cycles_per_minute=90.0)
    run = dd.simulate(robot, motion, dd.PDFeedforward(robot), "ideal", "ideal", rate=2000.0)
    found = motion_loads(robot, run.truth.motion())
    work = float(run.energy.drives[-1])
    scale = float(found.drives.energy_drawn.sum())
    # the drive holds its torque for a tick of 0.5 ms, the motion's torque is that of the tick
    assert found.drives.energy_net.sum() == pytest.approx(work, abs=0.01 * scale)


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
@pytest.mark.parametrize("model", ["exact", "half-half"])
def test_peaks_and_rms_are_those_of_the_samples(robot: dd.Robot, model: str) -> None:
    motion = adept_cycle(robot, cycles_per_minute=100.0)
    found = motion_loads(robot, motion, model=model)
    tau = dd.inverse_dynamics(robot, motion, model)
    drives = found.drives
    np.testing.assert_array_equal(found.torque, tau)
    np.testing.assert_array_equal(drives.torque_peak, np.abs(tau).max(axis=0))
    np.testing.assert_array_equal(drives.speed_peak, np.abs(motion.qd).max(axis=0))
    # even samples: the mean of squares but for half a sample at the ends
    np.testing.assert_allclose(drives.torque_rms, np.sqrt(np.mean(tau**2, axis=0)), rtol=2e-3)
    np.testing.assert_allclose(drives.power_peak, (tau * motion.qd).max(axis=0))
    np.testing.assert_allclose(drives.power_returned, np.maximum(-(tau * motion.qd).min(axis=0), 0))
    report = check_motion(robot, motion, model=model)
    assert found.limits == report
    rms = report["torque_rms"]
    axis = robot.axis_names().index(rms.axis)
    assert drives.torque_rms[axis] == pytest.approx(rms.worst, rel=1e-12)


def test_areas_above_and_below_zero_have_their_closed_form() -> None:
    t = np.linspace(0.0, 2.0, 8)  # few samples, at none of which the power is zero
    power = 3.0 - 2.0 * t  # W: 2.25 J above zero, 0.25 J below
    found = drive_loads(t, power[:, None], np.ones((8, 1)))
    assert found.energy_drawn[0] == pytest.approx(2.25, rel=1e-14)
    assert found.energy_returned[0] == pytest.approx(0.25, rel=1e-13)
    s = np.linspace(0.0, 2 * np.pi, 20_001)
    wave = drive_loads(s, np.sin(s)[:, None], np.ones((len(s), 1)))
    assert wave.energy_drawn[0] == pytest.approx(2.0, rel=1e-7)  # trapezoids: (2 pi / 20000)^2 / 12
    assert wave.energy_returned[0] == pytest.approx(2.0, rel=1e-7)
    assert wave.torque_rms[0] == pytest.approx(math.sqrt(0.5), rel=1e-9)


def _standing(robot: dd.Robot, point: list[float]) -> Motion:
    """Half a second in one place."""
    t = np.array([0.0, 0.25, 0.5])
    zero = np.zeros((3, robot.dof))
    return Motion.from_platform(robot, t, zero + np.array(point), zero, zero)


def test_shoulders_of_a_standing_robot_carry_its_weight() -> None:
    robot = THREE.with_payload(3.0)
    found = motion_loads(robot, _standing(robot, [0.0, 0.0, -0.85]))
    mass = 3.0 + robot.platform.mass + robot.effector.mass
    for arm, strut in zip(robot.rotary_arms, robot.struts, strict=True):
        mass += arm.mass + arm.elbow_mass + strut.rods * strut.mass
    # in the middle all arms carry alike, without a force along their axes
    np.testing.assert_allclose(found.bearings.axial_peak, 0.0, atol=1e-9 * mass)
    forces = found.constraint.shoulder_force[0]
    assert forces[:, 2].sum() == pytest.approx(mass * robot.gravity, rel=1e-12)
    np.testing.assert_allclose(found.bearings.radial_peak, np.linalg.norm(forces, axis=1))
    np.testing.assert_allclose(found.bearings.radial_mean, found.bearings.radial_peak)
    assert found.drives.energy_drawn.sum() == 0.0
    assert found.mean_power == (0.0, 0.0)


def test_radial_and_axial_parts_make_the_whole_force() -> None:
    robot = FOUR.with_payload(1.0)
    found = motion_loads(robot, _standing(robot, [0.1, -0.05, -0.62, 0.3]))
    whole = np.linalg.norm(found.constraint.shoulder_force[0], axis=1)
    parts = np.hypot(found.bearings.radial_peak, found.bearings.axial_peak)
    np.testing.assert_allclose(parts, whole, rtol=1e-12)
    assert (found.bearings.axial_peak > 0.1).all()


def test_the_cubic_mean_lies_between_mean_and_peak() -> None:
    found = motion_loads(THREE, adept_cycle(THREE))
    size = np.linalg.norm(found.constraint.shoulder_force, axis=2)
    assert (found.bearings.radial_mean < found.bearings.radial_peak).all()
    assert (found.bearings.radial_mean > size.min(axis=0)).all()


def test_rods_and_ball_joints_are_those_of_the_constraint_loads() -> None:
    robot = FOUR.with_payload(1.5)
    motion = adept_cycle(robot)
    found = motion_loads(robot, motion)
    rods = constraint_loads(robot, motion).rods
    assert rods is not None
    struts = found.struts
    assert struts.preload == pytest.approx(rods.preload, rel=1e-12)
    largest = max(np.abs(struts.rod_max).max(), np.abs(struts.rod_min).max())
    assert largest == pytest.approx(rods.largest_force, rel=1e-12)
    assert largest == pytest.approx(found.limits["strut_force"].worst, rel=1e-12)
    assert struts.ball_elbow is not None
    # ball and spring: at least the rod's own end force less the spring, at most their sum
    own = np.linalg.norm(rods.elbow, axis=3).max(axis=0)
    assert struts.preload_elbow is not None
    assert (struts.ball_elbow <= own + struts.preload_elbow).all()
    assert (struts.ball_elbow >= struts.preload_elbow - own).all()
    narrow = motion_loads(robot, motion, cup_half_angle=math.radians(30))
    assert narrow.struts.preload is not None
    assert narrow.struts.preload > rods.preload


def test_a_robot_without_rod_spacing_says_so() -> None:
    robot = THREE.replace(geometry=replace(THREE.geometry, rod_spacing=None))
    found = motion_loads(robot, adept_cycle(robot))
    assert found.struts.preload is None
    assert found.struts.rod_max.shape == (3, 1)
    assert "preload: not known, because the robot names no geometry.rod_spacing" in found.text
    assert found.as_dict()["struts"]["preload_elbow_N"] is None


def test_a_motion_along_z_loads_the_arms_alike() -> None:
    t = np.linspace(0.0, 0.5, 501)
    z = -0.85 + 0.1 * np.sin(4 * np.pi * t)
    zero = np.zeros_like(t)
    motion = Motion.from_platform(THREE, t, np.stack([zero, zero, z], axis=1))
    found = motion_loads(THREE, motion, payload=2.0)
    assert found.robot.payload.mass == 2.0
    for value in (
        found.drives.torque_rms,
        found.drives.energy_returned,
        found.bearings.radial_peak,
        found.struts.rod_max[:, 0],
    ):
        np.testing.assert_allclose(value, value[0], rtol=1e-6)  # rates of a spline


def test_words_numbers_and_page(tmp_path: Path) -> None:
    found = motion_loads(FOUR, adept_cycle(FOUR, cycles_per_minute=100.0), payload=1.0)
    text = str(found)
    assert text.startswith("example-delta-4, payload 1 kg, motion of 0.6 s (100 a minute)")
    for words in (
        "torque, RMS",
        "energy returned",
        "shoulder, axial, peak",
        "rod 2, least tension",
    ):
        assert words in text
    assert "preload needed in cups of 45 deg" in text
    assert "spindle, largest joint force" in text
    assert "platform_acceleration" in text
    record = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert record["drives"]["torque_rms_Nm"] == found.drives.torque_rms.tolist()
    assert record["limits"]["rows"]["torque_rms"]["axis"] == "1"
    assert record["limits"]["ok"] is True
    page = found.page(tmp_path / "loads.html").read_text("utf-8")
    for words in ("Torque of the drives", "Preload needed", "torque, RMS", "plotly"):
        assert words in page
