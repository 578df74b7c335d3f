"""Gains of a sampled drive: the predicted loop beside the simulated one, defaults and warnings."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.simulation.factory import standing

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, OscillationWarning
from deltadyn.motion import Motion
from deltadyn.robot import Robot
from deltadyn.robot.file import robot_names
from deltadyn.simulation import (
    PD,
    PRESETS,
    AugmentedPD,
    ComputedTorque,
    PDFeedforward,
    Preset,
    check_gains,
    simulate,
)
from deltadyn.simulation.controllers.gains import SampledLoop, groups, loop_check
from deltadyn.simulation.plant.machine import build_machine

ROBOT = dd.load_robot("sipro-d3-1200")
RATES = (500.0, 1000.0, 2000.0)


def stroke(robot: Robot) -> Motion:
    """A fast move of 0.3 s and 0.5 s of rest."""
    cycle = dd.motion.adept_cycle(robot, cycles_per_minute=100)
    half, step = len(cycle.t) // 2 + 1, cycle.t[1] - cycle.t[0]
    t = step * np.arange(half + round(0.5 / step))

    def held(x: FloatArray) -> FloatArray:
        return np.concatenate([x[:half], np.repeat(x[half - 1 : half], len(t) - half, axis=0)])

    return Motion.from_platform(robot, t, held(cycle.p), held(cycle.pd), held(cycle.pdd))


def swinging(robot: Robot, controller: Any, **settings: Any) -> float:
    """RMS rate of the motors about their mean in the last 0.25 s of rest, in rad/s."""
    motion = stroke(robot)
    run = simulate(robot, motion, controller, **settings)
    assert run.completed
    rates = run.truth.qd_motor[run.truth.t > motion.t[-1] - 0.25]
    return float(np.sqrt(np.mean(rates.var(axis=0))))


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(robot_names()))
@pytest.mark.parametrize("known", [False, True])
def test_default_gains_are_calm_at_any_rate(name: str, known: bool) -> None:
    """Of the robot file, and of the machine as it is: no limit cycle, and no warning."""
    robot = dd.load_robot(name)
    model = build_machine(robot, PRESETS["industrial"]).robot if known else robot
    slow = robot.linear or robot.legs != 3
    if slow and known:
        pytest.skip("plants on rails and of other platforms are slow to simulate")
    for rate in (1000.0,) if slow else RATES:
        rest = swinging(robot, PDFeedforward(model), preset="industrial", rate=rate)
        assert rest < 0.02, rate


@pytest.mark.parametrize("damping", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("preset", ["lab", "industrial"])
def test_an_identified_gear_makes_no_loop_limp_or_wild(preset: str, damping: float) -> None:
    """Its damping is hardly identified: with 0 to 3 times the true one gains stay in a band."""
    machine = build_machine(ROBOT, PRESETS[preset])
    assert machine.stiffness is not None
    assert machine.damping is not None
    drives = replace(
        machine.robot.drives,
        stiffness=float(machine.stiffness[0]),
        damping=damping * float(machine.damping[0]),
    )
    robot = machine.robot.replace(drives=drives.checked(3))
    for rate in (1000.0, 2000.0):
        known = PD(machine.robot).for_drive(rate, preset).damping[0]
        assert 0.4 * known < PD(robot).for_drive(rate, preset).damping[0] < 1.1 * known
        assert check_gains(ROBOT, PD(robot), rate, preset).calm


def test_gains_of_20_hz_swing_at_1_khz_and_say_so() -> None:
    given = PDFeedforward(ROBOT, bandwidth=20.0)
    with pytest.warns(OscillationWarning, match=r"swings at 8\d Hz.*spectral radius 1\.0\d+"):
        rest = swinging(ROBOT, given, preset="industrial", rate=1000.0)
    assert rest > 1.0
    assert swinging(ROBOT, given, preset="industrial") < 0.01  # and not at 2 kHz


@pytest.mark.parametrize("kind", [PD, AugmentedPD, ComputedTorque])
def test_every_controller_is_looked_at(kind: Any) -> None:
    with pytest.warns(OscillationWarning, match=f"gains of {kind.__name__} on sipro-d3-1200"):
        simulate(
            ROBOT, standing(ROBOT, 0.01), kind(ROBOT, bandwidth=20.0), preset="industrial", rate=1e3
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(ROBOT, standing(ROBOT, 0.01), kind(ROBOT), preset="industrial", rate=1e3)


@pytest.mark.parametrize("gear", [None, 80.0])
@pytest.mark.parametrize("share", [0.95, 1.05])
def test_an_error_grows_as_predicted(gear: float | None, share: float) -> None:
    """Just below and just above the limit, over 800 ticks, within a third.

    Without friction the plant is the linear one; a push of 10 ms sets it off.
    """
    preset = Preset(gear_frequency=gear, delay=2, velocity_filter=200.0, rotor_inertia=1.3)
    machine, pose = build_machine(ROBOT, preset), standing(ROBOT, 0.01).q[:1]
    limit = loop_check(machine, PD(ROBOT, bandwidth=10.0), pose, 1000.0).margin
    law = PDFeedforward(ROBOT, bandwidth=10.0 * share * limit)
    radius = loop_check(machine, law, pose, 1000.0).radius
    assert (radius > 1) == (share > 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OscillationWarning)
        run = simulate(
            ROBOT,
            standing(ROBOT, 1.2),
            law,
            preset=preset,
            rate=1000.0,
            external_force=lambda t: (t < 0.01) * np.array([0.05, 0.02, 0.03]),
        )
    size = np.abs(run.truth.qd_motor).max(axis=1)
    assert size[-200:].max() / size[200:400].max() == pytest.approx(radius**801, rel=0.35)


def test_what_was_given_stays() -> None:
    slow: dict[str, Any] = {"rate": 1000.0, "preset": "industrial"}
    given = PD(ROBOT, bandwidth=20.0)
    assert given.for_drive(**slow) is given
    default = PD(ROBOT)
    assert default.for_drive(2000.0, "industrial") == default
    tuned = default.for_drive(**slow)
    share = tuned.damping[0] / default.damping[0]
    assert 0.3 < share < 0.6
    np.testing.assert_allclose(tuned.stiffness, share**2 * np.array(default.stiffness))
    assert tuned.for_drive(500.0, "industrial") is tuned  # its gains are given now
    assert check_gains(ROBOT, default, **slow).calm
    assert check_gains(ROBOT, PD(ROBOT, stiffness=0.0), **slow).radius > 1  # undiminished damping


def test_a_late_drive_bears_less() -> None:
    shares = [
        PD(ROBOT).for_drive(1000.0, "industrial", delay=delay).damping[0] for delay in range(4)
    ]
    assert shares == sorted(shares, reverse=True)


def test_the_spindles_drive_keeps_its_gains() -> None:
    robot = dd.load_robot("example-delta-4")
    default, tuned = PD(robot), PD(robot).for_drive(1000.0, "industrial")
    assert tuned.damping[0] < 0.5 * default.damping[0]
    assert tuned.damping[3] == default.damping[3]


def test_the_loop_of_a_free_rotor_in_closed_form() -> None:
    """A rigid axis with damping alone and a step of torque: z^2 = z - D T / J at a late drive."""
    robot = dd.load_robot("telescopic-delta")
    machine = build_machine(robot, Preset(hold="step"))
    still = np.zeros((1, 4))
    still[0, :3] = 0.3
    loop = SampledLoop.of(machine, still, 1000.0, groups(robot)[1])
    M = dd.equations_of_motion(machine.robot, dd.State.from_joints(machine.robot, still)).M[0, 3, 3]
    fv = machine.robot.friction.viscous[3]
    assert fv == 0.0
    D = np.array([[0.3 * M * 1000.0]])  # b T = 0.3; the difference shows the mean of two rates
    # v_k+1 = v_k - 0.3 (v_k + v_k-1) / 2
    expected = np.abs(np.roots([1.0, -0.85, 0.15])).max()
    values = np.abs(np.linalg.eigvals(loop.tick(0 * D, D)[0]))
    values = np.sort(values)[::-1]
    assert values[0] == pytest.approx(1.0)  # the angle, which nothing holds
    assert values[1] == pytest.approx(expected)


def test_misuse_is_said() -> None:
    with pytest.raises(
        InputError, match="controller is 'str'; allowed: a controller with for_driv"
    ):
        check_gains(ROBOT, "PD")
    with pytest.raises(InputError, match="rate"):
        check_gains(ROBOT, PD(ROBOT), 0.0)
    assert "the loop is calm, up to" in str(check_gains(ROBOT, PD(ROBOT)))
