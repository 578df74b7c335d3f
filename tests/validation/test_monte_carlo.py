"""Monte Carlo of a fit, on NumPy: torques are the fit's, errors those of the linear loop."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.dynamics.factory import rich_drives
from tests.identification.motions import swing
from tests.simulation.factory import excitation, strokes

import deltadyn as dd
from deltadyn.backends.components import packed_torque
from deltadyn.errors import InputError
from deltadyn.identification import Fit
from deltadyn.simulation import PD, PDFeedforward
from deltadyn.validation import monte_carlo, predicted_tracking
from deltadyn.validation.monte_carlo import draw_machines, torque_spread, tracking_spread

ROBOT = dd.load_robot("sipro-d3-1200").with_friction(viscous=0.5, coulomb=0.5, smoothing=0.3)
NUMPY: dict[str, Any] = {"backend": "numpy"}


@cache
def fit() -> Fit:
    run = dd.simulate(ROBOT, excitation(ROBOT, 2.5), preset="lab", seed=1)
    return dd.identify(ROBOT, run.recording)


def move() -> dd.Motion:
    return strokes(ROBOT)[0]


@pytest.mark.full
def test_torques_are_those_of_the_fit() -> None:
    certain = replace(fit(), uncertainty=replace(fit().uncertainty, known=0 * fit().covariance))
    torque = fit().torque(move())
    found = torque_spread(certain, move(), draws=2, **NUMPY)
    # the regressor's columns summed, and the model itself: roundings of some 1e2 N m
    np.testing.assert_allclose(found.mean, torque, atol=1e-10)
    assert found.std.max() < 1e-12
    doubtful = torque_spread(fit(), move(), draws=2000, level=0.9, **NUMPY)
    Y = fit().parametrisation.columns(fit().nominal, move())
    std = np.sqrt(np.einsum("nij,jk,nik->ni", Y, fit().covariance, Y))
    np.testing.assert_allclose(doubtful.std, std, rtol=0.1)  # 2000 draws: 1.6 % a deviation
    np.testing.assert_allclose(doubtful.high - doubtful.low, 2 * 1.645 * std, rtol=0.2)


@pytest.mark.full
def test_tracking_is_what_the_linear_loop_predicts() -> None:
    gains = PD(ROBOT)
    own = {"stiffness": gains.stiffness, "damping": gains.damping}
    quiet = replace(fit(), residual=np.zeros(3))
    linear = predicted_tracking(quiet, move(), samples=4000)
    controller = PDFeedforward(fit().robot, **own)
    found = tracking_spread(quiet, move(), controller, draws=40, rate=2000.0, **NUMPY)
    # 40 draws of errors that are mostly one number each: 11 % a deviation, three of them
    np.testing.assert_allclose(found.expected, linear.expected, rtol=0.35)
    assert found.lost == 0


def test_a_fit_brings_its_own_covariance() -> None:
    with pytest.raises(InputError, match=r"covariance and names .* None with a Fit"):
        torque_spread(fit(), move(), covariance=np.eye(2))


@pytest.mark.parametrize("smoothing", [None, 0.1])
def test_torques_are_those_of_every_machine_alone(smoothing: float | None) -> None:
    """The product over all machines, against the model of each, with friction of every kind."""
    robot = ROBOT.with_friction(
        viscous=0.5,
        coulomb=0.5,
        coulomb_negative=0.4,
        offset=0.1,
        load=0.05,
        stribeck=0.2,
        stribeck_velocity=0.3,
        smoothing=smoothing,
    )
    motion = strokes(robot)[0]
    reg = dd.regressor(robot, motion)
    own: dict[str, Any] = {"covariance": np.diag((0.1 * reg.parameters) ** 2), "draws": 50}
    machines = draw_machines(robot, names=reg.names, **own)
    tau = packed_torque(machines[:, None], motion.p, motion.pd, motion.pdd)
    found = torque_spread(robot, motion, level=0.8, **own, **NUMPY)
    scale = 1e-13 * np.abs(tau).max()
    np.testing.assert_allclose(found.mean, tau.mean(axis=0), rtol=0, atol=scale)
    np.testing.assert_allclose(found.std, tau.std(axis=0, ddof=1), rtol=0, atol=scale)
    low, high = np.quantile(tau, [0.1, 0.9], axis=0)
    np.testing.assert_allclose(found.low, low, rtol=0, atol=scale)
    np.testing.assert_allclose(found.high, high, rtol=0, atol=scale)


def test_blocks_of_draws_have_streams_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = draw_machines(fit(), draws=10, seed=4)
    monkeypatch.setattr(monte_carlo, "BLOCK", 10)
    more = draw_machines(fit(), draws=25, seed=4)
    np.testing.assert_allclose(more[:10], whole, rtol=1e-12)  # products of other shapes
    assert len(np.unique(more[:, np.ptp(more, axis=0) > 0], axis=0)) == 25
    np.testing.assert_array_equal(more, draw_machines(fit(), draws=25, seed=4))


@pytest.mark.parametrize("motor", [True, False])
def test_ripple_the_motors_loss_and_the_drives_scale_are_in_it(motor: bool) -> None:
    """Without doubt the torque is the robot's own; doubt in an amplitude moves its axis alone."""
    robot = rich_drives(dd.load_robot("sipro-d3-1200").with_friction(load=0.04), motor=motor)
    motion = swing(robot, 0.1)
    tau, names = dd.inverse_dynamics(robot, motion), ("ripple64.sin2", "Fv1")
    sure = torque_spread(robot, motion, draws=8, covariance=np.zeros((2, 2)), names=names)
    np.testing.assert_allclose(sure.mean, tau, rtol=0, atol=1e-12 * np.abs(tau).max())
    unsure = torque_spread(robot, motion, draws=400, covariance=np.diag([0.01, 0.0]), names=names)
    grown = robot.friction.motor_load[1] if robot.friction.motor_load is not None else 0.0
    wave = 0.9 * np.abs(np.sin(64 * motion.q[:, 1]))  # of the drive's scale
    assert unsure.std[:, 0].max() < 1e-15  # rounding
    np.testing.assert_allclose(unsure.std[:, 1], 0.1 * wave, rtol=0.15 + grown, atol=1e-3)
