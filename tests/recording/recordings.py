"""Clean recordings of catalogue robots for tests to damage, and text files of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import deltadyn as dd
from deltadyn.recording import Recording

RATE = 1000.0
ROBOTS = ("sipro-d3-1200", "example-delta-4", "nt-robot", "usach-delta")


@cache
def robot_of(name: str) -> dd.Robot:
    return dd.load_robot(name)


@cache
def motion_of(name: str, duration: float = 4.0, rate: float = RATE) -> dd.Motion:
    """A sum of sines in the middle of the workspace, with the rates of an everyday task."""
    robot = robot_of(name)
    space = robot.limits.workspace
    assert space is not None
    t = np.arange(round(duration * rate)) / rate
    size = 0.35 * space.radius
    middle, height = (space.z_min + space.z_max) / 2, 0.3 * (space.z_max - space.z_min)
    waves = ((0.7, 1.9, 0.0), (0.9, 2.3, 1.0), (1.1, 1.7, 2.0))
    p = np.empty((len(t), robot.dof))
    for axis, (slow, fast, phase) in enumerate(waves):
        wave = 0.7 * np.sin(2 * np.pi * slow * t + phase) + 0.3 * np.sin(2 * np.pi * fast * t)
        p[:, axis] = middle + height * wave if axis == 2 else size * wave
    if robot.dof == 4:
        p[:, 3] = 0.8 * np.sin(2 * np.pi * 0.6 * t)
    return dd.Motion.from_platform(robot, t, p)


@cache
def clean(name: str = "sipro-d3-1200", *, noise: bool = True, payload: float = 0.0) -> Recording:
    """What a good log of that motion looks like: torques of the exact model, encoder and noise."""
    robot = robot_of(name).with_payload(payload)
    motion = motion_of(name)
    rng = np.random.default_rng(7)
    tau = dd.inverse_dynamics(robot, motion)
    q, qd = motion.q.copy(), motion.qd.copy()
    if noise:
        tau = tau + 0.01 * tau.std(axis=0) * rng.standard_normal(tau.shape)
        q = np.round(q / 1e-6) * 1e-6  # an encoder with some 20 bits a turn
        qd = qd + 1e-3 * rng.standard_normal(qd.shape)
    return Recording(motion.t, q, tau, qd=qd, p=motion.p, name=name, robot=robot.name)


Array = npt.NDArray[np.float64]
NAMES = ["t_s", "q1_rad", "q2_rad", "q3_rad", "tau1_Nm", "tau2_Nm", "tau3_Nm"]
REC = clean().rows(0, 60).replace(qd=None, p=None)
REC4 = clean("example-delta-4").rows(0, 60).replace(qd=None, p=None)
DATA: Array = np.column_stack([REC.t, REC.q, REC.tau])


def write(
    path: Path,
    names: Sequence[str] = NAMES,
    data: Array = DATA,
    *,
    separator: str = ",",
    decimal: str = ".",
    before: str = "",
    encoding: str = "utf-8",
) -> Path:
    """A text file of these columns with all digits."""
    rows = [separator.join(repr(float(x)).replace(".", decimal) for x in row) for row in data]
    text = before + "\n".join([separator.join(names), *rows]) + "\n"
    path.write_bytes(text.encode(encoding))
    return path


def close(actual: Any, wanted: Any, **tolerance: Any) -> None:
    np.testing.assert_allclose(actual, wanted, **tolerance)


def assert_recording(rec: Recording, wanted: Recording = REC, **tolerance: float) -> None:
    """The same times, angles and torques; without a tolerance digit by digit."""
    for name in ("t", "q", "tau"):
        options: dict[str, Any] = tolerance or {"rtol": 0.0}
        close(getattr(rec, name), getattr(wanted, name), err_msg=name, **options)
