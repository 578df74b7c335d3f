"""Trials on the virtual bench, shared by the reproductions: recordings and their torque errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.motion import Motion
from deltadyn.recording.prepare.data import Prepared, prepare
from deltadyn.robot import Robot
from deltadyn.simulation import Run, simulate

ROBOT = "sipro-d3-1200"
PRESET = "industrial"
RATE = 2000.0  # Hz, as the papers sample
BAND = 30.0  # Hz, of fits and tables: the gears resonate at 80 to 100 Hz
JOINTS = ("tau_1", "tau_2", "tau_3")

BAND_STATEMENT = (
    f"Errors are compared below {BAND:g} Hz: measured and computed torque pass the same "
    "linear-phase filter, because the gears of the bench resonate between 80 and 100 Hz and no "
    "rigid model can follow them there. The columns 'all' hold the errors of the samples as "
    "recorded, at 2 kHz."
)
BENCH_STATEMENT = (
    "The bench stands in for the D3-1200: the exact model, elastic gears, Stribeck and "
    "load-dependent friction that differs between drives and warms up, ripple, delay, encoder and "
    "current noise. The masses and lengths are the paper's. Rotor inertia and friction of the real "
    "robot are not published, so those of the bench are ours. Its mechanism is the exact model "
    "itself: the bench cannot show how well that model fits a real robot."
)
CALIBRATION_STATEMENT = (
    "The rotors and the friction of the bench were set so that M_KH, which is M_s, errs by 20 to "
    "24 N m on fast motion as in falezza2020: the size of its error, and how much of it rotors and "
    "friction make, are no findings."
)

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Trial:
    """A recorded run made ready: rates by the Kalman smoother, band limited to 30 Hz."""

    name: str
    prepared: Prepared
    run: Run


@dataclass(frozen=True)
class Errors:
    """Mean and standard deviation (N m) per joint of a torque error: in the band, and of all."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    mean_all: tuple[float, ...]
    std_all: tuple[float, ...]


def trial(robot: Robot, name: str, motion: Motion, seed: int, **options: Any) -> Trial:
    """Run a motion on the bench; `options` go to `simulate`."""
    run = simulate(robot, motion, preset=PRESET, rate=RATE, seed=seed, **options)
    if not run.completed:
        raise InputError(f"run {name!r}", run.status, "a motion that the bench completes")
    return Trial(name, prepare(robot, run.recording, band=BAND, rates="kalman"), run)


def errors(prepared: Prepared, tau: FloatArray) -> Errors:
    """Measured minus computed torque `tau` (N, dof), as e(k) in [falezza2020] section 6."""
    every = prepared.tau - tau
    band = prepared.limited(every)
    pairs = [f(axis=0).tolist() for e in (band, every) for f in (e.mean, e.std)]
    mean, std, mean_all, std_all = (tuple(float(value) for value in pair) for pair in pairs)
    return Errors(mean, std, mean_all, std_all)


def whole_number(name: str, value: object, low: int) -> int:
    """A count or a seed."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise InputError(name, value, f"a whole number, at least {low}")
    return value


@contextmanager
def progress_bar(items: Iterable[T], wanted: bool, count: int) -> Iterator[Iterable[T]]:
    """The items, with a bar that counts them where it is wanted."""
    if not wanted:
        yield items
        return
    import click  # only for the bar

    with click.progressbar(items, length=count, label="bench") as bar:
        yield bar
