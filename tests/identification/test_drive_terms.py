"""Fits find ripple and what few drives have, and write it into the robot."""

from dataclasses import replace

import numpy as np
import pytest
from tests.dynamics.factory import rich_drives
from tests.identification.motions import recording_of, swing

import deltadyn as dd
from deltadyn.backends import switched_off
from deltadyn.identification import identify
from deltadyn.identification.bodies.bodies import standard_parameters
from deltadyn.identification.bodies.realise import robot_from_standard
from deltadyn.identification.information import axis_rows
from deltadyn.identification.parametrisation import widest
from deltadyn.recording import Recording
from deltadyn.robot import Robot
from deltadyn.robot.settings import Ripple, Sensors

COS, SIN = (0.8, 0.5, -0.4), (0.3, -0.6, 0.2)  # N m


def with_ripple(robot: Robot, *waves: Ripple) -> Robot:
    return robot.replace(drives=replace(robot.drives, ripple=waves))


@pytest.fixture(scope="module")
def truth() -> Robot:
    robot = dd.load_robot("sipro-d3-1200").with_rotor_inertia(0.1)
    robot = robot.with_friction(viscous=0.5, coulomb=2.0, thinning=1.5, thinning_velocity=0.8)
    return with_ripple(robot, Ripple(64.0, COS, SIN)).replace(sensors=Sensors([1.02, 0.98, 1.0]))


@pytest.fixture(scope="module")
def nominal(truth: Robot) -> Robot:
    bare = truth.with_friction(viscous=0.2, coulomb=1.0, thinning=0.0)
    return with_ripple(bare, Ripple(64.0))


@pytest.fixture(scope="module")
def log(truth: Robot) -> Recording:
    return recording_of(truth, noise=0.05, seed=3)


@pytest.mark.parametrize("method", ["base", "convex"])
def test_ripple_and_thinning_are_found(
    truth: Robot, nominal: Robot, log: Recording, method: str
) -> None:
    fit = identify(nominal, log, method, rates="measured", band=None)
    assert {"ripple64.cos1", "ripple64.sin3", "Ft2"} <= set(fit.names)
    (wave,) = fit.robot.drives.ripple
    # 0.05 N m of noise on 4,000 samples: 2 mN m of an amplitude, five deviations allowed
    np.testing.assert_allclose(wave.cos, COS, rtol=0, atol=0.01)
    np.testing.assert_allclose(wave.sin, SIN, rtol=0, atol=0.01)
    thinning = np.array([fit.robot.friction.thinning, truth.friction.thinning], dtype=float)
    np.testing.assert_allclose(thinning[0], thinning[1], rtol=0.05)
    motion = swing(truth, seed=9)
    tau, found = (dd.inverse_dynamics(robot, motion) for robot in (truth, fit.robot))
    np.testing.assert_allclose(found, tau, rtol=0, atol=0.03)


def test_a_share_of_the_motors_torque_is_found(truth: Robot) -> None:
    machine = truth.with_friction(motor_load=[0.03, 0.05, 0.04])
    log = recording_of(machine, noise=0.02, seed=4)
    fit = identify(machine.with_friction(motor_load=0.02), log, "base", rates="measured", band=None)
    again = identify(fit.robot, log, "base", rates="measured", band=None)
    share = np.array(again.robot.friction.motor_load, dtype=float)
    np.testing.assert_allclose(share, np.array([0.03, 0.05, 0.04]), atol=2e-3)


def test_rows_of_an_axis_are_those_of_the_regressor(truth: Robot) -> None:
    four = rich_drives(dd.load_robot("example-delta-4").with_friction(passive=()), motor=False)
    for robot in (truth, four):
        robot = robot.with_friction(load=None)
        motion = swing(robot, 0.2)
        tau, Y = dd.inverse_dynamics(robot, motion), widest(robot, motion, "exact").Y
        found = axis_rows(robot, motion, tau, "exact")
        assert found is not None
        with switched_off():
            plain = axis_rows(robot, motion, tau, "exact")
        assert plain is not None
        for axis, (rows, places) in enumerate(zip(*found, strict=True)):
            both = np.column_stack([Y[:, axis], tau[:, axis]])
            np.testing.assert_allclose(rows.T, both[:, places], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(plain.rows[axis], rows, rtol=1e-12, atol=1e-12)
            assert not np.delete(both, places, axis=1).any()


def test_a_robot_has_the_values_of_standard_parameters(truth: Robot) -> None:
    names = standard_parameters(truth, True).names
    assert "ripple64.sin2" in names
    new = robot_from_standard(truth, {"ripple64.sin2": -7.0, "ripple64.cos1": 3.0, "Ft3": 0.5})
    assert new.drives.ripple == (Ripple(64.0, (3.0, *COS[1:]), (SIN[0], -7.0, SIN[2])),)
    assert new.friction.thinning == (1.5, 1.5, 0.5)
    assert robot_from_standard(truth, {}) == truth
