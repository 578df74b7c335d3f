"""Runs of the virtual bench that the tests of validation share, each simulated once."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from tests.simulation.factory import excitation

import deltadyn as dd
from deltadyn.recording import Recording
from deltadyn.robot import Robot
from deltadyn.simulation import Run

RATE = 1000.0
NOISE = 0.002  # of the reference torque: 0.06 N m on the D3-1200


@cache
def robot() -> Robot:
    """The D3-1200; its file names no friction."""
    return dd.load_robot("sipro-d3-1200")


@cache
def run_of(seed: int = 3, payload: float = 0.0, **switches: Any) -> Run:
    """Two seconds of an ideal machine with these switches."""
    values = {"current_noise": NOISE, **switches}
    motion = excitation(robot(), 2.0, rate=RATE, seed=seed)
    load = [(0.0, payload)] if payload else []
    return dd.simulate(robot(), motion, rate=RATE, seed=seed, payload=load, **values)


def log(seed: int = 3, payload: float = 0.0, **switches: Any) -> Recording:
    """The recording of `run_of`."""
    return run_of(seed, payload, **switches).recording


def with_rest(recording: Recording, seconds: float) -> Recording:
    """The recording with its first pose held before it, and the torque of that sample."""
    count = round(seconds * RATE)
    t = np.concatenate([np.arange(count) / RATE, recording.t - recording.t[0] + seconds])
    q, tau = (
        np.concatenate([np.repeat(channel[:1], count, axis=0), channel])
        for channel in (recording.q, recording.tau)
    )
    return Recording(t, q, tau, name="with rest")
