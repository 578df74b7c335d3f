"""Trials on the virtual bench, shared by the reproductions: recordings and their torque errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.motion import Motion
from deltadyn.progress import Bar
from deltadyn.recording.prepare.data import Prepared, prepare
from deltadyn.reproduce.result import JOINTS, Cell, by_joint
from deltadyn.robot import Robot
from deltadyn.simulation import Run, simulate

ROBOT = "sipro-d3-1200"
PRESET = "industrial"
RATE = 2000.0  # Hz, as the papers sample
BAND = 30.0  # Hz, of fits and tables: the gears resonate at 80 to 100 Hz

#: Statements that papers share.
WORDS = {
    "BAND_WORDS": f"Errors are compared below {BAND:g} Hz: measured and computed torque pass the "
    "same linear-phase filter, because the gears of the bench resonate between 80 and 100 Hz and "
    "no rigid model can follow them there. The columns 'all' hold the errors of the samples as "
    "recorded, at 2 kHz.",
    "BENCH": "The bench stands in for the D3-1200: the exact model, elastic gears, Stribeck and "
    "load-dependent friction that differs between drives and warms up, ripple, delay, encoder and "
    "current noise. The masses and lengths are the paper's. Rotor inertia and friction of the real "
    "robot are not published, so those of the bench are ours. Its mechanism is the exact model "
    "itself: the bench cannot show how well that model fits a real robot.",
    "CALIBRATION": "The rotors and the friction of the bench were set so that M_KH, which is M_s, "
    "errs by 20 to 24 N m on fast motion as in falezza2020: the size of its error, and how much of "
    "it rotors and friction make, are no findings.",
}


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
