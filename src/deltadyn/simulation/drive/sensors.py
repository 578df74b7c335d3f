"""What the log shows of the truth: read late, quantised, noisy, with rows missing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.simulation.plant.machine import Machine


class Log(NamedTuple):
    """Measured angles and torques (N, dof) of all ticks, and which ticks were written (N,)."""

    q: FloatArray
    tau: FloatArray
    written: BoolArray


def read_log(
    machine: Machine,
    rate: float,
    q: FloatArray,
    qd: FloatArray,
    tau: FloatArray,
    seed: int,
) -> Log:
    """The log of true motor angles, rates and torques (N, dof) at the ticks.

    Every imperfection draws from its own stream of random numbers, so that switching one on leaves
    the others as they are.
    """
    preset, count = machine.preset, len(q)
    clock, current, loss = (np.random.default_rng([seed, stream]) for stream in range(3))
    late = preset.jitter * clock.standard_normal(count)
    angle = q + qd * late[:, None]
    torque = tau + np.gradient(tau, 1 / rate, axis=0) * late[:, None] if preset.jitter else tau
    torque = torque + preset.current_noise * machine.reference_torque * current.standard_normal(
        tau.shape
    )
    if preset.current_step:
        torque = rounded(torque, preset.current_step * machine.reference_torque)
    written = np.asarray(loss.random(count) >= preset.dropped)
    return Log(encoder_reading(angle, preset.encoder_counts), torque, written)


def encoder_reading(q: FloatArray, counts: float | None) -> FloatArray:
    """Angles at the nearest count of an encoder with so many counts per turn, in rad."""
    return q if counts is None else rounded(q, 2 * np.pi / counts)


def rounded(value: FloatArray, step: FloatArray | float) -> FloatArray:
    """The nearest multiple of the step."""
    nearest: FloatArray = np.round(value / step) * step
    return nearest
