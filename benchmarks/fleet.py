"""Many robots: time per million samples, workers, robots, memory, and what a plant of them needs.

Run: python -m benchmarks.fleet --robots 1000 --samples 1e9 --workers 1,2 [--json FILE]

Each robot has friction of its own. Its samples are made when they are read: a periodic motion, the
torque of the exact model, and noise. The fit path is all that a real log takes but for reading its
file: checks, rates, band, factors on disk, merging, and a fit per robot. The time to make samples
is measured by itself and taken off. Runs of fewer robots have as many samples of each.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import deltadyn as dd
from benchmarks.machine import machine, machine_name, peak_memory
from deltadyn.arrays import FloatArray
from deltadyn.files import write_whole
from deltadyn.fleet import FleetLog, identify_fleet
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.recording.prepare.stream import Streamed
from deltadyn.recording.recording import Recording

RATE = 2000.0  # Hz
PERIOD = 10.0  # s of the motion, after which it is repeated
PIECE = 10 * int(PERIOD * RATE)  # samples that are made at once
NOISE = 0.3  # N m
BAND = 40.0  # Hz: the same for all, as docs/fleet.md says
CELLS = 100_000  # robots of the paper calculation
CHANNELS = 7  # t, three angles, three torques
DAY = 86_400.0  # s


def nominal() -> dd.Robot:
    """The robot whose type all are of."""
    return dd.load_robot("sipro-d3-1200").with_friction(viscous=1.0, coulomb=3.0)


@lru_cache(maxsize=1)
def motion() -> dd.Motion:
    """One period: sines of whole numbers of turns on every coordinate."""
    robot = nominal()
    t = np.arange(int(PERIOD * RATE)) / RATE
    cylinder = working_cylinder(robot)
    radius, low, high = cylinder.radius, cylinder.z_min, cylinder.z_max
    size = np.array([0.25 * radius, 0.25 * radius, 0.15 * (high - low)])
    centre = np.array([0.0, 0.0, (low + high) / 2])
    p, pd, pdd = (np.zeros((len(t), 3)) for _ in range(3))
    rng = np.random.default_rng(0)
    for turns in ((7, 9, 11), (17, 19, 13)):
        w, phase = 2 * np.pi * np.array(turns) / PERIOD, rng.uniform(0, 2 * np.pi, 3)
        angle = w * t[:, None] + phase
        p += size * np.sin(angle)
        pd += size * w * np.cos(angle)
        pdd -= size * w**2 * np.sin(angle)
    return dd.Motion.from_platform(robot, t, centre + p, pd, pdd)


def own_robot(seed: int) -> dd.Robot:
    """A robot of the type with friction of its own."""
    rng = np.random.default_rng(seed)
    viscous, coulomb = rng.uniform(0.8, 1.2, 3), rng.uniform(2.5, 3.5, 3)
    return nominal().with_friction(viscous=tuple(viscous), coulomb=tuple(coulomb))


@dataclass(frozen=True)
class SimulatedLog:
    """A log of `samples` samples that are made when they are read, with rates or without."""

    serial: str
    samples: int
    seed: int = 0
    rates: bool = True
    day: date | None = None

    @property
    def name(self) -> str:
        return f"{self.serial}/{self.day or 'log'}"

    def fingerprint(self) -> str:
        return repr(self)

    @contextmanager
    def opened(self, robot: dd.Robot) -> Iterator[Streamed]:
        yield Streamed(robot, self.pieces)

    def pieces(self) -> Iterator[Recording]:
        """The samples, piece by piece."""
        one = motion()
        torque = dd.inverse_dynamics(own_robot(self.seed), one)
        several = PIECE // len(one.t)
        q, qd, qdd, tau = (np.tile(x, (several, 1)) for x in (one.q, one.qd, one.qdd, torque))
        t = np.arange(PIECE) / RATE
        rng = np.random.default_rng(self.seed)
        for first in range(0, self.samples, PIECE):
            count = min(PIECE, self.samples - first)
            noise: FloatArray = rng.standard_normal((count, 3), dtype=np.float32).astype(float)
            yield Recording(
                first / RATE + t[:count],
                q[:count],
                tau[:count] + NOISE * noise,
                name=self.serial,
                qd=qd[:count] if self.rates else None,
                qdd=qdd[:count] if self.rates else None,
            )


def logs_of(robots: int, samples: int, rates: bool) -> list[FleetLog]:
    """A log per robot."""
    return [SimulatedLog(f"D3-{n:06d}", samples, n, rates) for n in range(robots)]


def processor_seconds() -> float:
    """Of this process and of its children that ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(own.ru_utime + own.ru_stime for own in used)


def made(samples: int, rates: bool) -> float:
    """Seconds of the processor to make the samples of a log, and to look at each once."""
    start = time.process_time()
    with SimulatedLog("D3", samples, 0, rates).opened(nominal()) as streamed:
        for _ in streamed.pieces():
            pass
    return time.process_time() - start


@dataclass(frozen=True)
class Figures:
    """One run: robots, samples in all, workers, seconds, those of the processor, factors' bytes."""

    robots: int
    samples: int
    workers: int
    seconds: float
    processor_seconds: float
    factor_bytes: int

    @property
    def per_million(self) -> float:
        """Seconds of the clock per million samples."""
        return 1e6 * self.seconds / self.samples

    @property
    def work_per_million(self) -> float:
        """Seconds of the processor per million samples, in all processes."""
        return 1e6 * self.processor_seconds / self.samples


def timed(robots: int, samples: int, workers: int, rates: bool, band: Any) -> Figures:
    """Fit robots of `samples` samples each."""
    with TemporaryDirectory(prefix="deltadyn-benchmark-") as work:
        start, used = time.perf_counter(), processor_seconds()
        found = identify_fleet(
            nominal(), logs_of(robots, samples, rates), work=work, workers=workers, band=band
        )
        seconds, used = time.perf_counter() - start, processor_seconds() - used
        size = sum(path.stat().st_size for path in Path(work).rglob("*.npz"))
    check(found, samples)
    return Figures(robots, robots * samples, workers, seconds, used, size)


def check(found: Any, samples: int) -> None:
    """Fits that are wrong must not be fast: friction within six deviations of the truth."""
    assert not found.left_out, found.left_out[0]
    for seed, fit in enumerate(found.fits):
        truth = own_robot(seed).friction.coulomb
        for axis in range(3):
            name = f"Fc{axis + 1}"
            value, std = (fit.record[key][name] for key in ("values", "std"))
            assert abs(value - truth[axis]) < 6 * std + 1e-3 * samples**-0.5, (fit.serial, name)


def alone(samples: int, rates: bool) -> tuple[int, int]:
    """Peak of memory and bytes of factors of a process of its own that fits one long log."""
    call = [sys.executable, "-m", "benchmarks.fleet", "--alone", str(samples)]
    call += [] if rates else ["--no-rates"]
    told = subprocess.run(call, check=True, capture_output=True, text=True).stdout.split()
    return int(told[0]), int(told[1])


def needs(path_s: float, factor_bytes: float) -> dict[str, float]:
    """What `CELLS` robots at `RATE` need, by seconds per million samples and bytes per day."""
    rate = CELLS * RATE
    return {
        "samples_per_s": rate,
        "cores": rate * path_s / 1e6,
        "factors_GB_per_day": CELLS * factor_bytes / 1e9,
        "logs_Gbit_per_s": 8 * 8 * CHANNELS * rate / 1e9,
        "factors_Mbit_per_s": 8 * CELLS * factor_bytes / DAY / 1e6,
    }


def main() -> None:
    options = arguments()
    if options.alone:
        run = timed(1, int(options.alone), 1, options.rates, BAND)
        print(peak_memory(), run.factor_bytes)
        return
    robots, each = options.robots, int(options.samples) // options.robots
    band = "auto" if options.band == "auto" else float(options.band)
    print(f"{machine_name()}, load {machine()['load_1_minute']:.1f}")
    counts = [n for n in (10, 100, 1000, 10_000) if n < robots] + [robots]
    if options.only:
        counts = [robots]
    making = min(made(each, options.rates) for _ in range(3)) / each * 1e6
    print(
        f"{each:,} samples per robot; {making:.3f} s of the processor to make a million of them\n"
    )
    head = f"{'robots':>8}{'samples':>16}{'workers':>9}{'s':>9}{'s / 1e6':>10}"
    print(f"{head}{'processor s / 1e6':>20}{'of them fit path':>18}")
    found: list[Figures] = []
    for workers in options.workers:
        for count in counts if workers == options.workers[0] else [robots]:
            run = timed(count, each, workers, options.rates, band)
            found.append(run)
            text = f"{count:>8}{run.samples:>16,}{workers:>9}{run.seconds:>9.1f}"
            text += f"{run.per_million:>10.3f}{run.work_per_million:>20.3f}"
            print(f"{text}{run.work_per_million - making:>18.3f}", flush=True)
    record = summary(found, making, options)
    if options.json:
        write_whole(options.json, json.dumps({"machine": machine(), **record}, indent=2) + "\n")


def summary(found: Sequence[Figures], making: float, options: argparse.Namespace) -> dict[str, Any]:
    """Print what the runs say together; the same as a record."""
    first = [run for run in found if run.workers == options.workers[0]]
    most = first[-1]
    record: dict[str, Any] = {
        "rates": options.rates,
        "making_s_per_million": making,
        "runs": [{**vars(run), "s_per_million": run.per_million} for run in found],
    }
    print()
    if len(first) > 1:
        record["linearity"] = most.work_per_million / first[0].work_per_million
        told = f"processor time per sample, {most.robots} over {first[0].robots} robots"
        print(f"{told}: {record['linearity']:.3f} (1 +- 0.1)")
    for run in found:
        if run.workers != most.workers and run.robots == most.robots:
            ratio = most.seconds / run.seconds
            record[f"speed_up_{run.workers}"] = ratio
            print(f"{run.workers} workers over {most.workers}: {ratio:.2f} times (2: at least 1.8)")
    daily = most.factor_bytes / most.samples * RATE * DAY
    for hours in options.hours:
        size, factors = alone(int(hours * 3600 * RATE), options.rates)
        daily = factors / hours * 24
        record[f"peak_bytes_{hours:g}_h"] = size
        told = f"peak memory of a worker, a log of {hours:g} h: {size / 2**20:.0f} MiB"
        print(f"{told} (at most 1024); factors {factors / 1e6:.1f} MB")
    record["plant"] = plant = needs(most.work_per_million - making, daily)
    print(
        f"\n{CELLS:,} robots at {RATE:.0f} Hz are {plant['samples_per_s']:.3g} samples a second. "
        "By the figures above they need\n"
        f"  {plant['cores']:.0f} such cores all day for factors and fits, without reading files\n"
        f"  {plant['factors_GB_per_day']:.0f} GB of factors a day\n"
        f"  {plant['logs_Gbit_per_s']:.0f} Gbit/s where samples travel, {CHANNELS} doubles each, "
        f"or {plant['factors_Mbit_per_s']:.0f} Mbit/s where factors do"
    )
    record |= verdict(record, most)
    return record


def verdict(record: dict[str, Any], most: Figures) -> dict[str, Any]:
    """The figures in a sentence, and whether all that was promised is reached."""
    peaks = [value for name, value in record.items() if name.startswith("peak_bytes")]
    told = [f"{most.work_per_million:.2f} s a million samples"]
    reached = []
    if "linearity" in record:
        told.append(f"linear to {100 * abs(record['linearity'] - 1):.0f} %")
        reached.append(abs(record["linearity"] - 1) <= 0.1)
    if "speed_up_2" in record:
        told.append(f"2 workers {record['speed_up_2']:.2f} times")
        reached.append(record["speed_up_2"] >= 1.8)
    if peaks:
        told.append(f"{max(peaks) / 2**20:.0f} MiB a worker")
        reached.append(max(peaks) < 2**30)
    return {"figure": ", ".join(told), "reached": bool(reached) and all(reached)}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--robots", type=int, default=1000)
    parser.add_argument("--samples", type=float, default=1e9, help="of all robots together")
    parser.add_argument("--workers", type=_counts, default=[1, 2], help="as 1,2")
    parser.add_argument("--band", default=str(BAND), help="Hz, or auto: one per robot is found")
    parser.add_argument("--hours", type=_hours, default=[1.0, 4.0], help="of long logs, as 1,4")
    parser.add_argument("--no-rates", dest="rates", action="store_false", help="angles alone")
    parser.add_argument("--only", action="store_true", help="no runs with fewer robots")
    parser.add_argument("--json", default=None, help="file for the figures")
    parser.add_argument("--alone", type=float, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def _counts(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _hours(text: str) -> list[float]:
    return [float(part) for part in text.split(",") if part]


if __name__ == "__main__":
    from benchmarks.fleet import main as run  # logs travel to processes that know this module

    run()
