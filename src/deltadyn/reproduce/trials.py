"""Trials on the virtual bench, shared by the reproductions: recordings and their torque errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.motion import LimitError, Motion, spline_move
from deltadyn.progress import Bar
from deltadyn.recording.prepare.data import Prepared, prepare
from deltadyn.reproduce.result import JOINTS, Cell, by_joint, filled, words_of
from deltadyn.robot import Robot
from deltadyn.simulation import Run, simulate

ROBOT = "sipro-d3-1200"
PRESET = "industrial"
RATE = 2000.0  # Hz, as the papers sample
BAND = 30.0  # Hz, of fits and tables: the gears resonate at 80 to 100 Hz

#: Statements that papers share.
WORDS = {name: filled(text, {"BAND": BAND}) for name, text in words_of("bench").items()}


@dataclass(frozen=True, eq=False)
class Trial:
    """A recorded run made ready: rates by the Kalman smoother, band limited to 30 Hz."""

    name: str
    prepared: Prepared
    run: Run


@dataclass(frozen=True, eq=False)
class Errors:
    """Mean and standard deviation (dof,) in N m of a torque error: in the band, and of all."""

    mean: FloatArray
    std: FloatArray
    mean_all: FloatArray
    std_all: FloatArray


def trial(robot: Robot, name: str, motion: Motion, seed: int, **options: Any) -> Trial:
    """Run a motion on the bench; `options` go to `simulate`."""
    run = simulate(robot, motion, preset=PRESET, rate=RATE, seed=seed, **options)
    if not run.completed:
        raise InputError(f"run {name!r}", run.status, "a motion that the bench completes")
    return Trial(name, prepare(robot, run.recording, band=BAND, rates="kalman"), run)


def trials(robot: Robot, plans: Sequence[tuple[str, Motion, int]], progress: bool) -> list[Trial]:
    """The trials of several motions by name, with their seeds and a bar where it is wanted."""
    done = []
    with Bar(progress, "bench", len(plans)) as bar:
        for name, motion, seed in plans:
            done.append(trial(robot, name, motion, seed))
            bar.step()
    return done


def random_spline(
    robot: Robot,
    rng: np.random.Generator,
    places: int,
    radii: tuple[float, float],
    height: float,
    *,
    shrink: float,
    anywhere: bool = False,
    **options: Any,
) -> Motion:
    """A spline through random places of the workspace, each far from the one before.

    `radii` and `height` are shares of the workspace; it begins at an azimuth of 0 to pi, or
    `anywhere`. Where the curve leaves the workspace between its places it is made smaller by
    `shrink` until it stays inside. `options` go to `spline_move`.
    """
    cylinder = working_cylinder(robot)
    azimuth = np.cumsum(rng.uniform(0.5, 1.0, places) * np.pi)
    if anywhere:
        azimuth += rng.uniform(0, 2 * np.pi)
    radius = cylinder.radius * rng.uniform(*radii, places)
    z = height * (cylinder.z_max - cylinder.z_min) * rng.uniform(-1, 1, places)
    points = np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth), z], axis=1)
    middle = np.array([0.0, 0.0, (cylinder.z_min + cylinder.z_max) / 2])
    while True:
        try:
            return spline_move(robot, points + middle, **options)
        except LimitError:
            points = shrink * points


def errors(prepared: Prepared, tau: FloatArray) -> Errors:
    """Measured minus computed torque `tau` (N, dof), as e(k) in [falezza2020] section 6."""
    every = prepared.tau - tau
    band = prepared.limited(every)
    return Errors(*(np.asarray(f(axis=0)) for e in (band, every) for f in (e.mean, e.std)))


def error_rows(found: Mapping[str, Errors], paper: Mapping[str, Any]) -> list[tuple[Cell, ...]]:
    """Rows of a table: model, joint, mean and deviation of the paper's error beside ours."""
    rows = []
    for name, own in found.items():
        mean, std = paper.get(name, (None, None))
        rows += by_joint(name, JOINTS, mean, own.mean, std, own.std, own.mean_all, own.std_all)
    return rows


def whole_number(name: str, value: object, low: int) -> int:
    """A count or a seed."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise InputError(name, value, f"a whole number, at least {low}")
    return value
