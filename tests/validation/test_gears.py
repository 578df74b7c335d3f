"""Prediction from a log of a robot with elastic gears: wound up by the torque of the log."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.identification import Fit
from deltadyn.recording.prepare.data import prepare
from deltadyn.recording.prepare.gears import behind_gears
from deltadyn.robot.settings import Ripple
from deltadyn.simulation.run import Run
from deltadyn.validation import validate

STIFFNESS, DAMPING = 4e4, 8.0  # N m/rad, N m s/rad: arms on them swing at 40 to 60 Hz
RATIO = (1.02, 0.99, 0.99)
LOSSES = ("load", "motor_load")


def machine(stiffness: float | None = STIFFNESS, loss: str = "load") -> dd.Robot:
    """A robot with rotors, ripple, gear losses and reported torques of its own."""
    robot = dd.load_robot("sipro-d3-1200")
    drives = replace(
        robot.drives,
        rotor_inertia=0.4,
        rotor_side="output_side",
        stiffness=stiffness,
        damping=None if stiffness is None else DAMPING,
        ripple=(Ripple(64.0, (1.0, 0.5, -1.0), (0.0, 1.0, 1.0)),),
    )
    sensors = replace(robot.sensors, torque_ratio=RATIO)
    changed = robot.replace(drives=drives, sensors=sensors)
    return changed.with_friction(smoothing=0.02, **{loss: 0.03})


@cache
def bench(loss: str = "load", payload: float = 0.0) -> Run:
    robot = machine(loss=loss)
    motion = dd.motion.y1(robot, rate=1000.0)
    carried = [(0.0, payload)] if payload else []
    return dd.simulate(robot, motion, rate=1000.0, payload=carried, current_noise=0.005, seed=3)


def rms(x: FloatArray) -> float:
    return float(np.sqrt(np.mean(x**2)))


def test_the_arms_stand_behind_the_motors() -> None:
    run, robot = bench(), machine()
    part = prepare(robot, run.recording, band=None)
    seen, inner = behind_gears(robot, part), slice(100, -100)  # without the filter's ends
    truth = np.column_stack([np.interp(part.t, run.truth.t, q) for q in run.truth.q.T])
    wound = (part.state.q - truth)[inner]
    assert rms(wound) > 3e-4
    assert rms((seen.state.q - truth)[inner]) < 0.05 * rms(wound)


def test_rigid_gears_change_nothing() -> None:
    robot = machine(None)
    part = prepare(robot, bench().recording, band=None)
    assert behind_gears(robot, part) is part


@pytest.mark.full
@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_left_is_the_noise(loss: str) -> None:
    """With rigid gears the residual is larger, most of all where axes turn back; they are named."""
    log = bench(loss).recording
    found = validate(machine(loss=loss), log)
    assert found.band == 28.0
    # noise of 0.5 % at 1 kHz is 0.27 % in the band, with jitter; where axes turn back, the largest
    # torques of this motion, nothing is graded: the same noise is 0.37 % of the others
    assert found.rms.max() < 0.09
    assert found.relative_rms < 0.0045
    assert not found.diagnosis.causes
    rigid = validate(machine(None, loss), log)
    assert rigid.relative_rms > 2 * found.relative_rms
    assert rigid.rest_rms.min() > 5 * found.rest_rms.max()
    assert rigid.diagnosis.cause == "elastic"


@pytest.mark.full
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_another_stiffness_is_named(factor: float) -> None:
    """The missing compliance has its sign, and its size to first order."""
    found = validate(machine(factor * STIFFNESS), bench().recording).diagnosis
    assert found.cause == "stiffness"
    missing = found.causes[0].value("compliance")
    np.testing.assert_allclose(missing, 1 / STIFFNESS - 1 / (factor * STIFFNESS), rtol=0.3)


def test_a_payload_is_carried_by_the_arms() -> None:
    log = bench(payload=2.0).recording
    assert log.payload == 2.0
    assert validate(machine(), log).relative_rms < 0.004


def test_a_short_log_and_its_ends() -> None:
    """Wind-up needs a filter's length of samples; near the ends of a log it stays as it was."""
    log, robot = bench().recording, machine()
    short = prepare(robot, log.rows(1000, 1050), band=None)
    assert behind_gears(robot, short) is short
    part = prepare(robot, log.rows(1000, 1400), band=None)
    seen = behind_gears(robot, part)
    torque = dd.inverse_dynamics(robot, seen.state) + (part.tau - seen.tau)
    rigid = dd.inverse_dynamics(robot, part.state)
    assert rms(torque - part.tau) < 1.1 * rms(rigid - part.tau)


@cache
def fit() -> Fit:
    robot = dd.load_robot("nt-robot")
    logs = [
        dd.simulate(robot, getattr(dd.motion, name)(robot), preset="industrial", seed=n).recording
        for n, name in enumerate(("y2", "y1"))
    ]
    return dd.identify(robot, logs)


@cache
def unseen() -> dd.Recording:
    robot = dd.load_robot("nt-robot")
    return dd.simulate(robot, dd.motion.y1(robot), preset="industrial", seed=77).recording


@pytest.mark.full
def test_a_fit_along_a_log() -> None:
    """Gears that wind up are in the torque of a recording, and not in that of a state."""
    assert fit().robot.drives.stiffness is not None
    log = unseen()
    part = prepare(fit().nominal, log, band=28.0)
    moving = np.abs(part.limited(part.state.qd)) > 0.3
    level = rms(part.limited(part.tau))
    torque, half = fit().predict(log)
    np.testing.assert_array_equal(torque, fit().torque(log))
    left = part.limited(log.tau - torque)
    assert rms(left[moving]) < 0.01 * level
    assert rms(part.limited(log.tau - fit().torque(part.state))[moving]) > 0.03 * level
    inside = np.abs(left) <= part.limited(half)
    assert inside[moving].mean() > 0.85


@pytest.mark.full
def test_a_fit_is_validated_behind_its_gears() -> None:
    found = validate(fit(), unseen())
    assert "elastic" not in [cause.name for cause in found.diagnosis.causes]
    high = found.segment("high speed")
    assert high is not None
    level = np.sqrt(np.mean(found.measured**2, axis=0))
    assert np.all(high.metrics.rms < 0.01 * level)


def test_a_band_is_calibrated_behind_the_gears() -> None:
    half = fit().calibrated(unseen()).predict(unseen())[1]
    level = np.sqrt(np.mean(unseen().tau ** 2, axis=0))
    assert np.all(half.mean(axis=0) < 0.03 * level)
