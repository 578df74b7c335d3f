"""Controllers that ask a model at the measured state, and the model that they ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.simulation.factory import excitation, rms, standing, strokes

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base import exciting_states
from deltadyn.dynamics.models import MODELS
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.robot import Robot
from deltadyn.simulation import (
    PD,
    AugmentedPD,
    ComputedTorque,
    Controller,
    PDFeedforward,
    PDGravity,
    Run,
    simulate,
)
from deltadyn.simulation.controllers.state import SPECIAL_CASES, model_at_state
from deltadyn.simulation.plant.machine import PlantStoppedError

ROBOT = dd.load_robot("sipro-d3-1200")
SPINDLE = dd.load_robot("example-delta-4")
KINDS: tuple[Callable[..., Controller], ...] = (
    PD,
    PDGravity,
    PDFeedforward,
    AugmentedPD,
    ComputedTorque,
)
RUBBING: dict[str, Any] = {"viscous": 0.02, "coulomb": 0.06, "rotor_inertia": 1.0}


def tuples(*arrays: FloatArray) -> list[tuple[float, ...]]:
    return [tuple(x.tolist()) for x in arrays]


@pytest.mark.parametrize("robot", [ROBOT, SPINDLE], ids=["3", "4"])
@pytest.mark.parametrize("model", MODELS)
def test_a_model_at_one_state_is_the_model(robot: Robot, model: str) -> None:
    """Rounding apart, whether it is compiled or goes through NumPy."""
    state = exciting_states(robot, 3)
    at = model_at_state(robot, model)
    wanted = dd.inverse_dynamics(robot, state, model, friction=False)
    for k, tau in enumerate(wanted):
        q, qd, qdd = tuples(state.q[k], state.qd[k], state.qdd[k])
        np.testing.assert_allclose(at.inverse(q, qd, qdd), tau, atol=1e-10)
        np.testing.assert_allclose(at.augmented(q, qd, qd, qdd), tau, atol=1e-10)


@pytest.mark.parametrize("robot", [ROBOT, SPINDLE], ids=["3", "4"])
def test_the_augmented_torque_has_christoffels_matrix(robot: Robot) -> None:
    """C by central differences of M: with steps of 1e-5 rad good to 1e-8 of its size."""
    state = exciting_states(robot, 4)
    at, dof, h = model_at_state(robot, "exact"), robot.dof, 1e-5
    for k in range(len(state)):
        q, qd = state.q[k], state.qd[k]
        there, moving, still = (*tuples(q, qd), (0.0,) * dof)
        gravity: FloatArray = np.array(at.augmented(there, moving, still, still))
        units = tuples(*np.eye(dof))
        C = np.stack([at.augmented(there, moving, e, still) - gravity for e in units], axis=1)
        dM = np.stack([_mass(robot, q + h * e) - _mass(robot, q - h * e) for e in np.eye(dof)], -1)
        dM /= 2 * h  # (i, j, k) = dM_ij / dq_k
        symbols = (dM + np.swapaxes(dM, 1, 2) - np.transpose(dM, (2, 1, 0))) / 2
        size = np.abs(C).max()
        np.testing.assert_allclose(C, symbols @ qd, atol=1e-6 * size)
        skew = dM @ qd - 2 * C
        np.testing.assert_allclose(skew, -skew.T, atol=1e-6 * size)


def _mass(robot: Robot, q: FloatArray) -> FloatArray:
    return dd.equations_of_motion(robot, dd.State.from_joints(robot, q)).M


def test_models_that_are_compiled_and_those_that_are_not() -> None:
    """The table of special cases holds no model that is another."""
    assert set(MODELS) - set(SPECIAL_CASES) == {"rigid", "projected-rod"}


@pytest.mark.parametrize("kind", KINDS)
def test_energy_books_close(kind: Callable[..., Controller]) -> None:
    """Books are kept body by body, beside the mass matrix; the rest is integration."""
    machine = simulate(ROBOT, standing(ROBOT, 0.01), **RUBBING).truth.robot
    run = simulate(ROBOT, strokes(ROBOT)[1], kind(machine), **RUBBING)
    assert run.completed
    assert run.energy.drift < 1e-7
    assert run.energy.friction[-1] > 10.0  # J: there was something to lose


@pytest.mark.parametrize("kind", KINDS[2:])
@pytest.mark.parametrize("preset", ["ideal", "industrial"])
def test_the_right_model_beats_feedback_alone(kind: Callable[..., Controller], preset: str) -> None:
    motion = strokes(ROBOT)[0]
    machine = simulate(ROBOT, standing(ROBOT, 0.01), preset=preset).truth.robot
    gains = PD(ROBOT)
    own: dict[str, Any] = {"stiffness": gains.stiffness, "damping": gains.damping}
    law = kind(machine) if kind is ComputedTorque else kind(machine, **own)
    run, alone = (simulate(ROBOT, motion, c, preset=preset) for c in (law, gains))
    # Industrial: gears bend, motors ripple and the bus is late, which no rigid model knows.
    share = 1e-4 if preset == "ideal" else 0.1
    assert np.all(rms(run.tracking_error) < share * rms(alone.tracking_error))
    assert run.energy.drift < 1e-6


@pytest.mark.full
@pytest.mark.parametrize("model", ["half-half", "rigid"])
def test_a_model_of_ones_choice(model: str) -> None:
    """The rigid model is the exact one here, where struts are thin; half-half is not."""
    motion = excitation(ROBOT, 0.1)
    errors = [
        rms(simulate(ROBOT, motion, kind(ROBOT, model)).tracking_error)
        for kind in (PDFeedforward, AugmentedPD, ComputedTorque)
    ]
    exact = rms(simulate(ROBOT, motion, PDFeedforward(ROBOT)).tracking_error)
    for error in errors:
        if model == "rigid":
            np.testing.assert_allclose(error, exact, rtol=0.5)
        else:
            assert np.all(error > 100 * exact)


def test_gravity_keeps_an_arm_from_sagging() -> None:
    """At rest a spring alone hangs by torque over stiffness."""
    soft: dict[str, Any] = {"bandwidth": 3.0}
    sag = [
        simulate(ROBOT, standing(ROBOT, 0.6), kind(ROBOT, **soft)).tracking_error[-1]
        for kind in (PD, PDGravity)
    ]
    holding = dd.inverse_dynamics(ROBOT, dd.State.from_joints(ROBOT, [0.3] * 3))
    np.testing.assert_allclose(sag[0], holding / PD(ROBOT, **soft).stiffness, rtol=0.05)
    assert np.abs(sag[1]).max() < 1e-6


def pushed(controller: Controller, seconds: float = 0.1) -> Run:
    """A fast move at 10 kHz in which a force pulls at the platform for the first 15 ms."""
    move = strokes(ROBOT)[0]
    until = round(seconds * 2000) + 1
    cut = dd.Motion.from_joints(
        ROBOT, move.t[:until], move.q[:until], move.qd[:until], move.qdd[:until]
    )

    def pull(t: float) -> list[float]:
        return [60.0, -30.0, 80.0] if t < 0.015 else [0.0, 0.0, 0.0]

    run = simulate(ROBOT, cut, controller, rate=10_000.0, external_force=pull)
    assert run.energy.drift < 1e-7
    assert np.abs(run.energy.external).max() > 0.01  # J, that came from outside
    return run


def test_computed_torque_makes_every_axis_a_spring_mass_damper() -> None:
    """e = (e0 + (ed0 + w e0) t) exp(-w t) after the force has gone, whatever the robot does.

    The loop's dead time of 1 to 1.5 ticks is 1.5 % of 1/w.
    """
    run = pushed(ComputedTorque(ROBOT, bandwidth=20.0))
    start = int(np.searchsorted(run.truth.t, 0.016))
    e = run.tracking_error[start:]
    ed = (run.reference.qd - run.truth.qd)[start:]
    t, w = (run.truth.t[start:] - run.truth.t[start])[:, None], 2 * np.pi * 20.0
    wanted = (e[0] + (ed[0] + w * e[0]) * t) * np.exp(-w * t)
    assert np.abs(e[0]).min() > 5e-4  # rad: every axis was pushed
    assert np.abs(e - wanted).max() < 0.03 * np.abs(e[0]).max()


def test_augmented_pd_loses_its_error_as_its_damping_says() -> None:
    """V = ed' M ed / 2 + e' K e / 2 falls by the integral of ed' D ed: what the skew C is for."""
    law = AugmentedPD(ROBOT, bandwidth=10.0)
    run = pushed(law)
    start = int(np.searchsorted(run.truth.t, 0.016))
    e, ed = run.tracking_error, run.reference.qd - run.truth.qd
    M = dd.equations_of_motion(ROBOT, run.truth.motion()).M
    V = np.einsum("ni,nij,nj->n", ed, M, ed) / 2 + e**2 @ np.asarray(law.stiffness) / 2
    power = ed**2 @ np.asarray(law.damping)
    lost = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2)]) / 10_000.0
    balance = (V + lost)[start:]
    assert V[-1] < 0.02 * V[start]
    np.testing.assert_allclose(balance, balance[0], rtol=0.02)  # dead time as above


@pytest.mark.parametrize("kind", KINDS[1:])
def test_on_mujoco_alike(kind: Callable[..., Controller]) -> None:
    """Both plants give the same torques; MuJoCo's constraints give way by about 1e-5 rad."""
    motion = excitation(ROBOT, 0.1)
    ideal, other = (simulate(ROBOT, motion, kind(ROBOT), plant=p) for p in ("ideal", "mujoco"))
    assert other.completed
    size = np.abs(ideal.recording.tau).max()
    assert np.abs(ideal.recording.tau - other.recording.tau).max() < 0.01 * size
    assert np.abs(ideal.tracking_error - other.tracking_error).max() < 1e-4


@pytest.mark.parametrize("kind", KINDS[1:])
def test_on_the_4_dof_robot(kind: Callable[..., Controller]) -> None:
    run = simulate(SPINDLE, excitation(SPINDLE, 0.05), kind(SPINDLE))
    assert run.completed
    assert run.energy.drift < 1e-6
    if kind is not PDGravity:
        assert np.abs(run.tracking_error).max() < 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_limits_delay_and_noise(kind: Callable[..., Controller]) -> None:
    """Half of the peak torque, three ticks late, a coarse encoder: cut and said, never lost."""
    assert ROBOT.limits.torque_peak is not None
    run = simulate(
        ROBOT,
        strokes(ROBOT)[0],
        kind(ROBOT.with_payload(3.0)),
        payload=[(0.0, 3.0)],
        saturation=0.5,
        delay=3,
        encoder_counts=2.0**18,
        velocity_filter=200.0,
    )
    assert run.completed
    assert "the torque was at its limit" in run.status
    limit = 0.5 * np.asarray(ROBOT.limits.torque_peak)
    assert np.all(np.abs(run.truth.tau) <= limit)
    assert run.recording.tau_command is not None
    assert np.any(np.abs(run.recording.tau_command) > limit)


def test_gains_of_computed_torque() -> None:
    law = ComputedTorque(ROBOT, bandwidth=10.0)
    np.testing.assert_allclose(law.rate_gain, 40 * np.pi)
    np.testing.assert_allclose(law.position_gain, (20 * np.pi) ** 2)
    own = ComputedTorque(SPINDLE, "half-half", position_gain=[1, 2, 3, 4], rate_gain=5.0)
    assert own.position_gain == (1.0, 2.0, 3.0, 4.0)
    assert own.rate_gain == (5.0,) * 4
    assert own == replace(own)
    geared = ROBOT.with_rotor_inertia(0.05)  # a light rotor: less than 20 Hz, as PD has it
    pd, computed = PD(geared), ComputedTorque(geared)
    np.testing.assert_allclose(
        np.divide(pd.stiffness, pd.damping), np.divide(computed.position_gain, computed.rate_gain)
    )


def test_misuse_is_said() -> None:
    for kind in KINDS[1:]:
        with pytest.raises(InputError, match="robot is 'str'; allowed: a Robot"):
            kind("sipro-d3-1200")
        with pytest.raises(UnknownNameError, match="half-hlf"):
            kind(ROBOT, "half-hlf")
        with pytest.raises(InputError, match="axes of the controller's robot is 4"):
            simulate(ROBOT, standing(ROBOT, 0.01), kind(SPINDLE))
    with pytest.raises(InputError, match="rate_gain"):
        ComputedTorque(ROBOT, rate_gain=-1.0)
    with pytest.raises(InputError, match="bandwidth"):
        ComputedTorque(ROBOT, bandwidth=0.0)


@pytest.mark.parametrize("model", ["exact", "rigid"])
def test_where_the_model_has_no_state(model: str) -> None:
    at = model_at_state(ROBOT, model)
    still = (0.0,) * 3
    with pytest.raises(PlantStoppedError, match="the controller's model has no state there"):
        at.inverse((3.0, 0.0, 0.0), still, still)
    with pytest.raises(PlantStoppedError, match="the controller's model has no state there"):
        at.augmented((3.0, 0.0, 0.0), still, still, still)
