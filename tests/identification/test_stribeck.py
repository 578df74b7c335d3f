"""Stribeck friction: the search finds the velocities of a machine that has it."""

import numpy as np
import pytest
from tests.identification.motions import recording_of

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.identification import identify
from deltadyn.identification.loading import Loaded
from deltadyn.identification.methods.stribeck import FIRST, settle_stribeck
from deltadyn.identification.options import Preparation
from deltadyn.recording import Recording
from deltadyn.robot import Robot

VELOCITY = (0.25, 0.4, 0.3)  # rad/s
LEVEL = (1.5, 1.0, 1.2)  # N m


@pytest.fixture(scope="module")
def truth() -> Robot:
    robot = dd.load_robot("sipro-d3-1200")
    return robot.with_friction(viscous=0.5, coulomb=2.0, stribeck=LEVEL, stribeck_velocity=VELOCITY)


@pytest.fixture(scope="module")
def nominal(truth: Robot) -> Robot:
    return truth.with_friction(viscous=0.1, coulomb=0.5, stribeck=None, stribeck_velocity=None)


@pytest.fixture(scope="module")
def log(truth: Robot) -> Recording:
    return recording_of(truth, noise=0.02, seed=6)


def test_velocities_and_levels_are_found(truth: Robot, nominal: Robot, log: Recording) -> None:
    fit = identify(nominal, log, rates="measured", band=None, stribeck=True)
    friction = fit.robot.friction
    # a hundredth of the torque as noise on 4,000 samples: a few per cent of the shape
    assert friction.stribeck_velocity is not None
    assert friction.stribeck is not None
    np.testing.assert_allclose(np.array(friction.stribeck_velocity), np.array(VELOCITY), rtol=0.05)
    np.testing.assert_allclose(np.array(friction.stribeck), np.array(LEVEL), rtol=0.05)
    np.testing.assert_allclose(friction.coulomb, truth.friction.coulomb, rtol=0.03)
    assert "Stribeck velocities" in fit.status
    plain = identify(nominal, log, rates="measured", band=None)
    assert (fit.residual < 0.3 * plain.residual).all()


def test_a_machine_without_it_gets_none(nominal: Robot) -> None:
    log = recording_of(nominal, noise=0.02, seed=7)
    loaded = Loaded(nominal, log, Preparation(None, "measured"))
    found = settle_stribeck(loaded, "exact", True)
    highest = np.abs(np.asarray(log.qd)).max(axis=0)
    np.testing.assert_allclose(found.velocity, FIRST * highest)  # none is better: it stays
    assert found.rounds == 1
    assert "settled in 1 rounds" in found.status
    fit = identify(nominal, log, rates="measured", band=None, stribeck=True, unidentifiable="hold")
    assert fit.robot.friction.stribeck is not None
    assert np.max(fit.robot.friction.stribeck) < 0.02  # N m: nothing beside 0.5 N m of Coulomb


def test_information_has_no_samples_to_search(nominal: Robot, log: Recording) -> None:
    information = Loaded(nominal, log, Preparation(None, "measured")).information("exact")
    with pytest.raises(InputError, match=r"stribeck is True; allowed: False: information has no"):
        identify(nominal, information, stribeck=True)
