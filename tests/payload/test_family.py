"""Payloads of every kind of robot: rates and torques count by the size of its axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from tests.family.robots import make, waves

from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.payload import NoiseModel, PayloadEstimator, find_picks
from deltadyn.payload.noise import reference_torque
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

RATE = 500.0
KINDS = ("vertical", "planar", "par4", "heli4_rails")
FROM, TO, MASS = 0.9, 2.3, 0.5  # s, s, kg


class Case(NamedTuple):
    """A robot with the noise of its empty run, and a run with a load for a while."""

    robot: Robot
    noise: NoiseModel
    loaded: Recording


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest) -> Case:
    robot = make(request.param)
    motion = waves(robot, 3.0, RATE, 0.5)
    tau = inverse_dynamics(robot, motion)
    carried = (motion.t >= FROM) & (motion.t < TO)
    full = np.where(carried[:, None], inverse_dynamics(robot.with_payload(MASS), motion), tau)
    size = 0.003 * np.sqrt(np.mean(tau**2, axis=0))
    rng = np.random.default_rng(1)
    logs = [
        Recording(
            motion.t,
            motion.q,
            torque + size * rng.normal(size=tau.shape),
            robot=robot.name,
            linear=robot.linear,
            legs=robot.legs,
        )
        for torque in (tau, full)
    ]
    return Case(robot, NoiseModel.of(robot, logs[0]), logs[1])


@pytest.mark.full
@pytest.mark.parametrize("estimator", ["bank", "least-squares"])
@pytest.mark.parametrize("known", [True, False])
def test_live_mass(case: Case, estimator: str, known: bool) -> None:
    """With the noise of an empty run, and with what is assumed without one."""
    noise = case.noise if known else None
    found = PayloadEstimator(case.robot, noise=noise, rate=RATE, estimator=estimator)
    log, last = case.loaded, round((TO - 0.1) * RATE)
    for q, tau in zip(log.q[:last].tolist(), log.tau[:last].tolist(), strict=True):
        found.update(q, None, None, tau)
    assert found.mass == pytest.approx(MASS, abs=max(0.03, 3 * found.std))
    assert found.std < (0.05 if known else 0.12)
    for q, tau in zip(log.q[last:].tolist(), log.tau[last:].tolist(), strict=True):
        found.update(q, None, None, tau)
    assert not found.loaded


def test_picks_of_a_log(case: Case) -> None:
    found = find_picks(case.robot, case.loaded, noise=case.noise)
    heaviest = max(found.picks, key=lambda pick: pick.mass)
    assert heaviest.mass == pytest.approx(MASS, abs=0.03)
    assert heaviest.end == pytest.approx(TO, abs=0.08)
    assert heaviest.start > FROM - 0.08  # no rest tells when a load came


def test_what_is_assumed_does_not_depend_on_the_unit_of_an_axis() -> None:
    """A rad of an arm is its size in m on rails: rates at rest, and the torque of 100 rad/s^2."""
    robot = make("vertical")
    noise = NoiseModel.assumed(robot, rate=RATE)
    arms = NoiseModel.assumed(make("inclined"), rate=RATE)
    assert noise.rest == pytest.approx(robot.radian[0] * arms.rest)
    assert noise.reversal == pytest.approx(robot.radian[0] * arms.reversal)
    inertia = reference_torque(robot) / (100.0 * robot.radian[0])
    assert 0.5 < inertia.max() < 3.0  # kg: a carriage, its rotor and a share of the platform
