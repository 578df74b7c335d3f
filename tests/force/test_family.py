"""Forces on platforms in a plane and of two halves."""

from __future__ import annotations

import numpy as np
import pytest
from tests.family.robots import make, waves

from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.force import Tare, find_contacts
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot

RATE = 500.0


def log(robot: Robot, seconds: float, seed: int, push: list[float] | None = None) -> Recording:
    """A motion, pushed from 1 s to 1.6 s, with noise of 0.3 % on its torque."""
    motion = waves(robot, seconds, RATE, 0.5)
    force = np.zeros((len(motion.t), robot.dof))
    if push is not None:
        force[(motion.t > 1.0) & (motion.t < 1.6)] = push
    tau = inverse_dynamics(robot, motion, external_force=force)
    noise = np.random.default_rng(seed).normal(size=tau.shape)
    tau = tau + 0.003 * np.sqrt(np.mean(tau**2, axis=0)) * noise
    kind = {"robot": robot.name, "linear": robot.linear, "legs": robot.legs}
    return Recording(motion.t, motion.q, tau, **kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "push"),
    [("planar", [25.0, 20.0]), ("par4_rails", [25.0, 0.0, 20.0, 0.3]), ("heli4", [0, 25.0, 0, 0])],
)
def test_a_push_is_seen_as_what_it_is(kind: str, push: list[float]) -> None:
    """Force in the platform's coordinates, the moment about z behind it; within 4 deviations."""
    robot = make(kind)
    found = find_contacts(robot, log(robot, 2.0, 1, push), Tare.of(robot, log(robot, 16.5, 0)))
    first = found.contacts[0]
    assert first.time == pytest.approx(1.0, abs=0.03)
    inside = (found.t > 1.2) & (found.t < 1.5)
    force, std = found.force[inside].mean(axis=0), found.std[inside].mean(axis=0)
    assert np.abs(force - push).max() < 2.0
    assert np.all(np.abs(force - push) < 4 * std)
    assert ("x, z" if robot.planar else "x, y, z") in found.table
    assert not any(item.time < 0.99 for item in found.contacts)
