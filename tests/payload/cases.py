"""Robots and torques of known payloads, without a simulation: the model's torque and noise."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.payload.bench import PickPlan, pick_plan
from deltadyn.payload.bound import payload_column
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot

RATE = 2000.0  # Hz

D3 = (
    load_robot("sipro-d3-1200")
    .with_rotor_inertia(0.39)
    .with_friction(viscous=0.7, coulomb=2.0, smoothing=0.05)
)
FOUR = load_robot("example-delta-4").with_friction(
    viscous=[0.2, 0.2, 0.2, 0.01], coulomb=[0.5, 0.5, 0.5, 0.02], smoothing=0.05
)


class Case(NamedTuple):
    """A recording, the plan behind it and its payload (N,) in kg."""

    recording: Recording
    plan: PickPlan
    payload: FloatArray


def coloured(count: int, dof: int, deviation: float, correlation: float, seed: int) -> FloatArray:
    """Noise (count, dof) of a deviation (N m) and a correlation time (s), from its first sample."""
    from scipy.signal import lfilter

    rng = np.random.default_rng(seed)
    rho = np.exp(-1 / (RATE * correlation))
    white = rng.standard_normal((count + 400, dof)) * deviation * np.sqrt(1 - rho**2)
    noise: FloatArray = lfilter([1.0], [1.0, -rho], white, axis=0)[400:]
    return noise


def robot_of(four: bool = False, dry: bool = True) -> Robot:
    """One of the two robots, with or without Coulomb friction."""
    robot = FOUR if four else D3
    return robot if dry else robot.with_friction(coulomb=0.0)


@lru_cache(maxsize=8)
def case(
    cycles: int = 6,
    *,
    seed: int = 0,
    masses: tuple[float, float] = (0.3, 4.0),
    lost: float = 0.0,
    empty: bool = False,
    deviation: float = 0.3,
    four: bool = False,
    rates: bool = False,
    dry: bool = True,
) -> Case:
    """Picks of the D3-1200 (or of a 4-DOF robot): the model's torque with coloured noise on it."""
    robot = robot_of(four, dry)
    plan = pick_plan(robot, cycles, seed=seed, masses=masses, lost=lost)
    if empty:
        plan = plan.empty
    motion = plan.motion
    payload = np.zeros(len(motion.t))
    for time, mass in plan.payload:
        payload[round(time * RATE) :] = mass
    tau = inverse_dynamics(robot, motion) + payload[:, None] * payload_column(robot, motion)
    tau = tau + coloured(len(tau), robot.dof, deviation, 5e-3, seed + 1)
    extra: dict[str, Any] = {"qd": motion.qd, "qdd": motion.qdd} if rates else {}
    recording = Recording(t=motion.t, q=motion.q, tau=tau, name="case", payload=None, **extra)
    return Case(recording, plan, payload)
