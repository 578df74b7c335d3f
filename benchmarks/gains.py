"""Gains of the bench's drives: do default gains stay calm, and are warnings right?

    python -m benchmarks.gains      # all robots, rates, presets and bandwidths, a minute
    python -m benchmarks.gains --rates 1000 --robots sipro-d3-1200

A run makes an Adept cycle and then rests for 0.6 s. It swings if a motor's rate about its mean is
above 0.1 rad/s RMS in the last 0.3 s, or if the run breaks off.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import OscillationWarning
from deltadyn.robot.file import robot_names
from deltadyn.simulation import PDFeedforward, Run, simulate

REST = 0.6  # s behind the cycle
LOOK = 0.3  # s at the end
SWINGS = 0.1  # rad/s RMS
RATES = (500.0, 1000.0, 2000.0, 4000.0, 8000.0)
BANDWIDTHS = (3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 50.0, 80.0)  # Hz
PRESETS = ("lab", "industrial")


class Trial(NamedTuple):
    """A run: its rate at rest (rad/s RMS), its tracking error (mrad RMS), and whether it warned."""

    rest: float
    error: float
    warned: bool

    @property
    def swings(self) -> bool:
        """Whether it oscillates at rest."""
        return not self.rest < SWINGS


def cycle_and_rest(robot: dd.Robot) -> dd.Motion:
    """An Adept cycle at 100 a minute, then rest."""
    cycle = dd.motion.adept_cycle(robot, cycles_per_minute=100)
    step = cycle.t[1] - cycle.t[0]
    count = round(REST / step)

    def held(x: FloatArray) -> FloatArray:
        return np.concatenate([x, np.repeat(x[-1:], count, axis=0)])

    t = np.concatenate([cycle.t, cycle.t[-1] + step * np.arange(1, count + 1)])
    parts = (cycle.p, cycle.pd, cycle.pdd)  # the last two end at 0
    return dd.Motion.from_platform(robot, t, *map(held, parts))


def trial(
    robot: dd.Robot, motion: dd.Motion, controller: PDFeedforward, rate: float, preset: str
) -> Trial:
    """One run with its warning."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", OscillationWarning)
        run = simulate(robot, motion, controller, preset=preset, rate=rate)
    warned = any(issubclass(item.category, OscillationWarning) for item in told)
    moving = run.truth.t < motion.t[-1] - REST
    error = 1e3 * float(np.sqrt(np.mean(run.tracking_error[moving, :3] ** 2)))
    return Trial(at_rest(run, motion.t[-1]), error, warned)


def at_rest(run: Run, end: float) -> float:
    """RMS of the motors' rates about their mean at the end, in rad/s; infinite of a broken run."""
    rates = run.truth.qd_motor[run.truth.t > end - LOOK]
    return float(np.sqrt(np.mean(rates.var(axis=0)))) if run.completed else float("inf")


def machine_of(robot: dd.Robot, motion: dd.Motion, preset: str) -> dd.Robot:
    """The machine as if it had been identified perfectly."""
    return simulate(robot, motion, preset=preset, rate=RATES[-1]).truth.robot


def defaults(names: Sequence[str], rates: Sequence[float]) -> None:
    """A row per robot: rate at rest and tracking error of default gains."""
    print(
        "default gains: rad/s RMS at rest, mrad RMS on the way; robot file's, machine's own robot"
    )
    print(f"{'':30}" + "".join(f"{f'{rate:g} Hz':>28}" for rate in rates))
    calm = total = 0
    for preset in PRESETS:
        for name in names:
            robot = dd.load_robot(name)
            motion = cycle_and_rest(robot)
            row = ""
            for rate in rates:
                both = [
                    trial(robot, motion, PDFeedforward(model), rate, preset)
                    for model in (robot, machine_of(robot, motion, preset))
                ]
                calm += sum(not one.swings for one in both)
                total += len(both)
                row += "".join(f"{one.rest:8.3f}{one.error:6.1f}" for one in both)
            print(f"{preset:12}{name:18}{row}", flush=True)
    print(f"calm: {calm} of {total}")


def warned(names: Sequence[str], rates: Sequence[float]) -> None:
    """How many runs that swing were warned of, and how many calm ones."""
    print("\ngains of 3 to 80 Hz: warned of those that swing, of those that are calm")
    for preset in PRESETS:
        for rate in rates:
            trials = []
            for name in names:
                robot = dd.load_robot(name)
                motion = cycle_and_rest(robot)
                for hertz in BANDWIDTHS:
                    law = PDFeedforward(robot, bandwidth=hertz)
                    trials.append(trial(robot, motion, law, rate, preset))
            swing = [one.warned for one in trials if one.swings]
            still = [one.warned for one in trials if not one.swings]
            print(
                f"{preset:12}{rate:6g} Hz   {sum(swing):3d} of {len(swing):3d}"
                f"   {sum(still):3d} of {len(still):3d}",
                flush=True,
            )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", nargs="+", default=list(robot_names()))
    parser.add_argument("--rates", nargs="+", type=float, default=RATES)
    chosen = parser.parse_args(arguments)
    defaults(chosen.robots, chosen.rates)
    warned(chosen.robots, chosen.rates)


if __name__ == "__main__":
    main()
