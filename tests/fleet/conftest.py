"""Logs of two robots over two days, in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.identification.motions import swing

import deltadyn as dd
from deltadyn.recording import Recording

ROBOT = dd.load_robot("sipro-d3-1200").with_friction(viscous=1.0, coulomb=3.0)
PARTS: dict[str, Any] = {"part": 1000, "band": 40.0}  # samples, Hz: short logs in many parts


def log_of(robot: dd.Robot, seed: int, seconds: float = 24.0, rates: bool = True) -> Recording:
    """A log of the exact model with noise of 0.3 N m."""
    motion = swing(robot, seconds=seconds, seed=seed)
    noise = 0.3 * np.random.default_rng(seed).standard_normal(motion.q.shape)
    tau = dd.inverse_dynamics(robot, motion) + noise
    qd, qdd = (motion.qd, motion.qdd) if rates else (None, None)
    return Recording(motion.t, motion.q, tau, name=f"log {seed}", qd=qd, qdd=qdd)


@pytest.fixture(scope="session")
def robot() -> dd.Robot:
    return ROBOT


@pytest.fixture(scope="session")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SERIAL/DATE.csv of two robots and two days; axis 2 of the second one is worn."""
    folder = tmp_path_factory.mktemp("plant")
    for number, serial in enumerate(("D3-007", "D3-008")):
        own = ROBOT.with_friction(coulomb=(3.0, 3.0 + number, 3.0))
        for day in (3, 4):
            (folder / serial).mkdir(exist_ok=True)
            log = log_of(own, seed=10 * number + day)
            dd.write_recording(log, folder / serial / f"2026-05-{day:02d}.csv")
    return folder
