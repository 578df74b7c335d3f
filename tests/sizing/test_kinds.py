"""Loads, sizing and the fastest pace of planar robots and of those whose limbs carry psi."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.family.robots import OTHER_PLATFORMS, make, waves
from tests.reference.family import random_member, states
from tests.reference.family.convert import to_robot

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.dynamics import constraint_loads
from deltadyn.motion import adept_cycle, check_motion
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, ArticulatedPlatform, Carriage, HelicalPlatform
from deltadyn.robot.settings import PassiveFriction
from deltadyn.sizing import fastest, motion_loads, sizing_table

every = pytest.mark.parametrize("kind", OTHER_PLATFORMS)
ENGINES = ("planar rotary", "planar linear", "par4 k=2", "par4 rails k=2", "heli4 rotary")


def own_torque(robot: Robot, state: dd.State) -> FloatArray:
    """What arms or carriages ask of their drives alone (N, legs): bodies, rotors, weights."""
    out = np.empty((len(state), robot.legs))
    for i, frame in enumerate(robot.geometry.frames):
        arm: Any = robot.arms[i]
        rotor, qdd = robot.drives.output_inertia[i], state.qdd[:, i]
        if isinstance(arm, Carriage):
            lifted = robot.gravity * frame.z[2] * (arm.mass - arm.counterweight)
            out[:, i] = (arm.mass + arm.counterweight + rotor) * qdd + lifted
            continue
        assert isinstance(arm, Arm)
        l1 = robot.rotary.arm_length[i]
        theta = state.q[:, i]
        # along the arm and above it, in the limb's axes: x at theta = 0, -z at 90 degrees
        rise = np.cos(theta)[:, None] * -np.array(frame.z) - np.sin(theta)[:, None] * frame.x
        aside = np.cos(theta)[:, None] * np.array(frame.x) + np.sin(theta)[:, None] * -np.array(
            frame.z
        )
        along = arm.mass * arm.com + arm.elbow_mass * l1
        weight = along * rise[:, 2] + arm.mass * arm.com_offset * aside[:, 2]
        inertia = arm.inertia + arm.mass * (arm.com**2 + arm.com_offset**2)
        inertia += arm.elbow_mass * l1**2
        out[:, i] = (inertia + rotor) * qdd + robot.gravity * weight
    return out


@pytest.mark.parametrize("kind", ENGINES)
def test_forces_at_the_elbows_make_the_torques_of_an_engine(kind: str) -> None:
    """tau = (arm and rotor) + E'.f_E with the torque of a closed tree in MuJoCo."""
    member = random_member(kind, 0, equal=False)
    robot, elbows, _ = to_robot(member)
    given = states(member, 20, 7, "mujoco")
    state = dd.State.from_platform(robot, given.x, given.xd, given.xdd, elbows=elbows)
    loads = constraint_loads(robot, state)
    limbs = dd.kinematics.LimbGeometry.of(robot, state.p, state.cos_q, state.sin_q)
    pushed = np.einsum("nik,nik->ni", limbs.e1, loads.elbow)
    expected = given.tau - own_torque(robot, state)
    np.testing.assert_allclose(pushed, expected, atol=1e-9 * np.abs(given.tau).max())


@every
def test_forces_balance_on_struts_and_platform(kind: str) -> None:
    """Newton of each strut, and of all that hangs on the struts, with a force from outside."""
    robot = make(kind)
    motion = waves(robot, 0.4, rate=100.0)
    force = np.arange(1.0, robot.dof + 1)
    if robot.turns:
        force[3] = 0.0
    loads = constraint_loads(robot, motion, external_force=force)
    up = np.array([0.0, 0.0, robot.gravity])
    limbs = dd.kinematics.LimbGeometry.of(robot, motion.p, motion.cos_q, motion.sin_q)
    legs = robot.legs
    Edd = limbs.e1 * motion.qdd[:, :legs, None] + limbs.e2 * motion.qd[:, :legs, None] ** 2
    lead, attached = outer_bodies(robot, motion)
    mass = np.array([[strut.rods * strut.mass] for strut in robot.struts])
    f = np.array([[strut.com_fraction] for strut in robot.struts])
    strut = mass * ((1 - f) * Edd + f * attached + up)
    scale = np.abs(strut).max()
    np.testing.assert_allclose(loads.elbow + loads.platform, strut, atol=1e-12 * scale)
    total = loads.platform.sum(axis=1) + lead
    outside = robot.in_space(np.broadcast_to(force, motion.p.shape))
    np.testing.assert_allclose(total, outside, atol=1e-10 * np.abs(loads.platform).max())
    along = np.einsum("nik,nik->ni", loads.platform, limbs.s)
    along /= np.asarray(robot.geometry.strut_length)
    np.testing.assert_allclose(loads.axial_platform, along, atol=1e-10 * np.abs(along).max())
    assert (loads.axial_max >= loads.axial_platform - 1e-9).all()
    screwed = isinstance(robot.platform, HelicalPlatform)
    assert (loads.couple is not None) == (loads.shoulder_moment is not None) == screwed
    assert loads.rods is None  # the robots do not say how far apart the rods are


def outer_bodies(robot: Robot, motion: dd.Motion) -> tuple[FloatArray, FloatArray]:
    """m (a + g) of all on the platform but the struts (N, 3), and accelerations (N, legs, 3) of
    the attachments.
    """
    up = np.array([0.0, 0.0, robot.gravity])
    point = robot.in_space(motion.pdd) + up
    platform, effector = robot.platform, robot.effector
    if robot.planar:
        own = (robot.platform.mass + effector.mass) * point
        return own, np.repeat(point[:, None] - up, 2, axis=1)
    psi, psid, psidd = (x[:, 3, None] for x in (motion.p, motion.pd, motion.pdd))
    flat = np.hstack([np.cos(psi), np.sin(psi), 0 * psi]) * effector.com[0]
    ahead = np.hstack([-np.sin(psi), np.cos(psi), 0 * psi]) * effector.com[0]
    own = effector.mass * (point + psidd * ahead - psid**2 * flat)
    if isinstance(platform, HelicalPlatform):
        apart = [sigma * psidd * np.array([0.0, 0.0, 1.0]) for sigma in platform.sigma]
    else:
        assert isinstance(platform, ArticulatedPlatform)
        k = platform.ratio
        phi = psi / k + platform.phi0
        n, across = (
            np.hstack([c, s, 0 * phi])
            for c, s in ((np.cos(phi), np.sin(phi)), (-np.sin(phi), np.cos(phi)))
        )
        bend = across * psidd / k - n * (psid / k) ** 2
        apart = [sigma * bend for sigma in platform.sigma]
        own = own + platform.bar_mass * point  # the tool in the middle of the bars
    halves = [point + part for part in apart]
    own = own + sum(m * a for m, a in zip(platform.half_mass, halves, strict=True))
    return own, np.stack([halves[i // 2] - up for i in range(4)], axis=1)


@pytest.mark.parametrize("kind", ["par4", "heli4_rails"])
def test_what_joins_the_halves(kind: str) -> None:
    """Bars and tool push on both halves as much as they need themselves."""
    robot = make(kind)
    motion = waves(robot, 0.3, rate=100.0)
    found = constraint_loads(robot, motion)
    assert found.halves is not None
    bodies = outer_bodies(robot, motion)
    platform = robot.platform
    assert isinstance(platform, ArticulatedPlatform | HelicalPlatform)
    up = np.array([0.0, 0.0, robot.gravity])
    halves = sum(m * (bodies[1][:, 2 * h] + up) for h, m in enumerate(platform.half_mass))
    rest = bodies[0] - halves
    np.testing.assert_allclose(found.halves.sum(axis=1), -rest, atol=1e-9 * np.abs(rest).max())


@pytest.mark.parametrize("kind", ["planar", "par4", "heli4"])
def test_friction_of_passive_joints(kind: str) -> None:
    """It takes as much power from the drives as its joints turn into heat, and loads the struts."""
    joints = ("elbow_swing", "platform_swing", "platform_sway")
    robot = make(kind).with_friction(passive=[PassiveFriction(j, 0.1, 0.2) for j in joints])
    motion = waves(robot, 0.3, rate=100.0)
    balance = dd.dynamics.power_balance(robot, motion)
    scale = np.abs(balance.drives).max()
    np.testing.assert_allclose(balance.residual, 0.0, atol=1e-10 * scale)
    loads = constraint_loads(robot, motion)
    limbs = dd.kinematics.LimbGeometry.of(robot, motion.p, motion.cos_q, motion.sin_q)
    pushed = np.einsum("nik,nik->ni", limbs.e1, loads.elbow)
    rates = dd.kinematics.passive_rates(robot, motion, "elbow_swing")
    rubbed = 0.1 * rates + 0.2 * np.tanh(rates / 0.02)  # the arm holds the elbow's joint
    drives = dd.inverse_dynamics(robot.with_friction(viscous=0.0, coulomb=0.0), motion)
    expected = drives - own_torque(robot, motion) + rubbed
    np.testing.assert_allclose(pushed, expected, atol=1e-9 * np.abs(drives).max())


@pytest.mark.full
@every
def test_the_fastest_pace_is_faster(kind: str) -> None:
    robot = make(kind)
    even = adept_cycle(robot, rate=500.0)
    found = fastest(robot, even, rate=500.0)
    assert found.duration < 0.95 * even.duration
    assert check_motion(robot, found).ok
    assert found.binding is not None
    assert found.binding.use == pytest.approx(1.0, abs=0.02)


@every
def test_loads_in_words_and_numbers(kind: str) -> None:
    robot = make(kind)
    motion = adept_cycle(robot, rate=250.0)
    found = motion_loads(robot, motion)
    text, record = found.text, json.loads(json.dumps(found.as_dict()))
    assert f"arm {robot.legs}" in text
    assert f"arm {robot.legs + 1}" not in text
    screwed = isinstance(robot.platform, HelicalPlatform)
    assert ("tilting" in text) == screwed
    assert (record["bearings"]["moment_peak_Nm"] is not None) == screwed
    unit = "N" if robot.linear else "Nm"
    assert len(record["drives"][f"torque_peak_{unit}"]) == robot.dof
    assert ("half 1" in text) == robot.turns
    motors = found.motors
    assert motors is not None
    # 20 turns of a motor per turn of an arm; 1 / 0.02 rad per m on a pulley of 20 mm
    turns = 50.0 if robot.linear else 20.0
    np.testing.assert_allclose(motors.torque_peak, found.drives.torque_peak / turns)
    np.testing.assert_allclose(motors.speed_peak, found.drives.speed_peak * turns)
    power = motors.torque_peak * motors.speed_peak
    assert (found.drives.power_peak <= power * (1 + 1e-12)).all()
    assert record["motors"]["torque_peak_Nm"] == pytest.approx(motors.torque_peak.tolist())


def test_a_screw_turns_force_into_torque() -> None:
    robot = make("planar_rails")
    screw = robot.replace(drives=replace(robot.drives, pulley_radius=None, lead=0.02))
    found = motion_loads(screw, adept_cycle(screw, rate=250.0))
    assert found.motors is not None
    np.testing.assert_allclose(
        found.motors.torque_rms, found.drives.torque_rms * 0.02 / (2 * math.pi)
    )


@pytest.mark.full
def test_a_table_of_cases() -> None:
    for kind in ("planar", "heli4_rails"):
        robot = make(kind)
        table = sizing_table(robot, [0.0, 0.5], [60.0, 100.0], rate=250.0)
        assert table.feasible.shape == (2, 2)
        assert "of the arms" not in table.text
        assert table.case(0.5, 60.0).loads.drives.torque_peak.shape == (robot.dof,)
