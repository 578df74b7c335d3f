"""From an hour of data to a convex fit: time, memory, and what a plain approach takes.

Run: python -m benchmarks.identification [--seconds S] [--format csv] [--tries N] [--json]

The D3-1200 swings for an hour at 2 kHz, 7.2 million samples; torques are those of the exact model
with friction, with white noise on torques (1 N m) and on angles (1e-5 rad). Everything is made
chunk by chunk in a temporary folder, in two files: float64 numbers with rates and without noise on
angles, and a log with times, angles and torques alone (CSV with the digits of a controller, or
Parquet). Another such log is of a machine with terms beyond its robot file: 252 s of the industrial
bench with rigid gears, repeated with other noise. Each figure comes from a process of its own on
two cores, with its peak memory:

    rates at hand    dd.identify of recordings in chunks, read from the numbers: target 20 s
    from the file    dd.identify of the log, terms="file"; rates, bandwidth and band come from the
                     data: 6 s
    with terms       the same with terms="auto", which finds none: 20 s
    of a machine     the same of the machine's log, whose terms are found and fitted: 20 s
    convex           the solve alone, from the triangular factor of the hour (its samples are
                     those left in the band): 50 ms, median of 20
    plain            regressor of as many samples as fit into 1 GiB, stacked, numpy.linalg.lstsq
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import deltadyn as dd
from benchmarks.machine import machine_name, peak_memory
from deltadyn.arrays import FloatArray
from deltadyn.identification.fit import Fit
from deltadyn.identification.information import load_information
from deltadyn.identification.loading import Loaded
from deltadyn.identification.methods.base import axis_weights
from deltadyn.identification.methods.convex import solve_convex
from deltadyn.identification.parametrisation import parametrise
from deltadyn.identification.problem import Problem
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.recording import Recording
from deltadyn.recording.prepare.stream import Streamed
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Platform

RATE = 2000.0  # Hz
CHUNK = 200_000  # samples
PLAIN = 700_000  # samples whose stacked regressor, and lstsq's copy of it, fit into 1 GiB
WIDTH = 13  # numbers of a sample: t, q, tau, qd, qdd
FREQUENCIES = ((0.71, 1.13, 0.93), (1.87, 1.61, 2.09))  # Hz of x, y, z; no common period in an hour
TARGETS = {
    "rates at hand": 20.0,
    "from the file": 6.0,
    "with terms": 20.0,
    "of a machine": 20.0,
    "convex": 0.05,
}
REPEATS = 21  # of the machine's motion, before its log is repeated
MEMORY = 1024.0  # MiB


def machine() -> Robot:
    """The robot that moves: friction on every drive."""
    return dd.load_robot("sipro-d3-1200").with_friction(viscous=0.4, coulomb=1.2)


def nominal() -> Robot:
    """What is known before: another platform mass and another friction."""
    robot = machine()
    heavier = robot.replace(platform=Platform(robot.platform.mass * 1.3))
    return heavier.with_friction(viscous=0.1, coulomb=0.5)


def samples(robot: Robot, first: int, count: int) -> FloatArray:
    """Rows (count, 13) of t, q, tau, qd, qdd without noise on angles."""
    cylinder = working_cylinder(robot)
    height = (cylinder.z_max - cylinder.z_min) / 2
    size = np.array([cylinder.radius, cylinder.radius, height]) * np.array([0.6, 0.6, 0.8])
    t = np.arange(first, first + count) / RATE
    p, pd, pdd = (np.zeros((count, 3)) for _ in range(3))
    for share, hz in zip((0.35, 0.15), FREQUENCIES, strict=True):
        w, a = 2 * np.pi * np.array(hz), share * size
        angle = w * t[:, None]
        p += a * np.sin(angle)
        pd += a * w * np.cos(angle)
        pdd -= a * w**2 * np.sin(angle)
    p[:, 2] += (cylinder.z_min + cylinder.z_max) / 2
    motion = dd.Motion.from_platform(robot, t, p, pd, pdd)
    tau = dd.inverse_dynamics(robot, motion)
    tau = tau + np.random.default_rng(first).standard_normal(tau.shape)
    return np.column_stack([t, motion.q, tau, motion.qd, motion.qdd])


def make(folder: Path, count: int, kind: str) -> dict[str, Any]:
    """Write both files."""
    robot = machine()
    writer = ParquetLog(folder) if kind == "parquet" else CsvLog(folder)
    with (folder / "rates.bin").open("wb") as numbers:
        for first in range(0, count, CHUNK):
            rows = samples(robot, first, min(CHUNK, count - first))
            rows.tofile(numbers)
            noise = 1e-5 * np.random.default_rng([1, first]).standard_normal((len(rows), 3))
            rows[:, 1:4] += noise
            writer.add(rows[:, :7])
    writer.close()
    make_machine_log(folder, count, kind)
    return {"bytes": log_of(folder, kind).stat().st_size}


def make_machine_log(folder: Path, count: int, kind: str) -> None:
    """The log of a machine with terms: a periodic motion of the bench, tiled without a seam."""
    robot = dd.load_robot("sipro-d3-1200")
    period = dd.design_excitation(robot, 8.0, periods=4, starts=1, seed=0).motion
    repeats = range(REPEATS + 1)
    t = np.concatenate([period.t[:-1] + k * period.t[-1] for k in repeats])
    q, qd, qdd = (np.tile(a[:-1], (len(repeats), 1)) for a in (period.q, period.qd, period.qdd))
    run = dd.simulate(
        robot,
        dd.Motion.from_joints(robot, t, q, qd, qdd),
        dd.PDFeedforward(robot),
        preset="industrial",
        rate=RATE,
        seed=0,
        gear_frequency=None,
        jitter=0.0,
        dropped=0.0,
    )
    first = round(float(period.t[-1]) * RATE)  # the first period swings in
    log = run.recording.rows(first, first * (REPEATS + 1))
    level = np.sqrt(np.mean(log.tau**2, axis=0))
    place = folder / "machine"
    place.mkdir()
    writer = ParquetLog(place) if kind == "parquet" else CsvLog(place)
    for start in range(0, count, len(log)):
        rng = np.random.default_rng([2, start])
        tau = log.tau + 0.003 * level * rng.standard_normal(log.tau.shape)
        angles = log.q + 1e-7 * rng.standard_normal(log.q.shape)
        times = np.arange(start, start + len(log)) / RATE
        writer.add(np.column_stack([times, angles, tau])[: count - start])
    writer.close()


NAMES = ("t_s", "q1_rad", "q2_rad", "q3_rad", "tau1_Nm", "tau2_Nm", "tau3_Nm")


def log_of(folder: Path, kind: str) -> Path:
    """The file with positions alone."""
    return folder / f"log.{kind}"


class CsvLog:
    """A CSV file that grows; angles to 1e-7 rad, torques to 1e-3 N m."""

    def __init__(self, folder: Path) -> None:
        self.file = log_of(folder, "csv").open("w", encoding="ascii")
        self.file.write("# convention: deltadyn\n" + ",".join(NAMES) + "\n")

    def add(self, rows: FloatArray) -> None:
        """Append rows."""
        line = "%.4f,%.7f,%.7f,%.7f,%.3f,%.3f,%.3f\n"
        for start in range(0, len(rows), 20_000):
            part = rows[start : start + 20_000].tolist()
            self.file.write("".join([line % tuple(row) for row in part]))

    def close(self) -> None:
        """Finish the file."""
        self.file.close()


class ParquetLog:
    """A Parquet file that grows by row groups."""

    def __init__(self, folder: Path) -> None:
        import pyarrow
        import pyarrow.parquet

        self.arrow: Any = pyarrow
        fields = [(name, pyarrow.float64()) for name in NAMES]
        self.schema = pyarrow.schema(fields, metadata={"deltadyn.convention": "deltadyn"})
        path = str(log_of(folder, "parquet"))
        self.writer: Any = pyarrow.parquet.ParquetWriter(path, self.schema)

    def add(self, rows: FloatArray) -> None:
        """Append rows."""
        arrays = [self.arrow.array(np.ascontiguousarray(column)) for column in rows.T]
        self.writer.write_table(self.arrow.Table.from_arrays(arrays, schema=self.schema))

    def close(self) -> None:
        """Finish the file."""
        self.writer.close()


def chunks(folder: Path) -> Iterator[Recording]:
    """The samples with rates, as consecutive recordings."""
    with (folder / "rates.bin").open("rb") as file:
        while (rows := np.fromfile(file, count=CHUNK * WIDTH)).size:
            x = rows.reshape(-1, WIDTH)
            yield Recording(
                x[:, 0], x[:, 1:4], x[:, 4:7], qd=x[:, 7:10], qdd=x[:, 10:], name="hour"
            )


def from_rates(folder: Path, kind: str) -> dict[str, Any]:
    """The fit with rates at hand."""
    robot = nominal()
    fit, spent = timed(lambda: dd.identify(robot, Streamed(robot, lambda: chunks(folder))))
    return {**spent, **quality(fit)}


def from_file(folder: Path, kind: str) -> dict[str, Any]:
    """The fit of the log with positions alone, of the robot file's terms."""
    fit, spent = timed(lambda: dd.identify(nominal(), log_of(folder, kind), terms="file"))
    return {**spent, **quality(fit)}


def with_terms(folder: Path, kind: str) -> dict[str, Any]:
    """The same, and whether the machine has more terms."""
    fit, spent = timed(lambda: dd.identify(nominal(), log_of(folder, kind)))
    return {**spent, **quality(fit)}


def of_machine(folder: Path, kind: str) -> dict[str, Any]:
    """The fit of a machine that has more terms; its true parameters are not those of `machine`."""
    log = log_of(folder / "machine", kind)
    fit, spent = timed(lambda: dd.identify(nominal(), log, unidentifiable="hold"))
    found = quality(fit)
    return {**spent, **{key: found[key] for key in ("samples", "band", "terms", "converged")}}


def convex(folder: Path, kind: str) -> dict[str, Any]:
    """The solve from the factor of the hour; and a fit from the saved information."""
    robot = nominal()
    path = folder / "information.npz"
    if not path.exists():
        Loaded(robot, Streamed(robot, lambda: chunks(folder))).information("exact").save(path)
    information = load_information(path)
    par = parametrise(robot, "exact")
    problem = Problem(robot, par, information, axis_weights(information, par))
    factor = problem.factor()
    bodies, K = problem.bodies()
    solve_convex(factor, K, bodies)  # loads the solver
    several = [timed(lambda: solve_convex(factor, K, bodies))[1] for _ in range(20)]
    whole = timed(lambda: dd.identify(robot, information))[1]
    return {
        "wall": float(np.median([item["wall"] for item in several])),
        "cpu": float(np.median([item["cpu"] for item in several])),
        "samples": information.samples,
        "whole_fit": whole["wall"],
        "memory": peak(),
    }


def plain(folder: Path, kind: str) -> dict[str, Any]:
    """The regressor of all samples at once, and least squares."""
    rows = np.fromfile(folder / "rates.bin", count=PLAIN * WIDTH).reshape(-1, WIDTH)

    def solve() -> FloatArray:
        robot = nominal()
        t, q, tau, qd, qdd = np.split(rows, (1, 4, 7, 10), axis=1)
        motion = dd.Motion.from_joints(robot, t[:, 0], q, qd, qdd)
        stacked = dd.regressor(robot, motion).stacked()
        return np.asarray(
            np.linalg.lstsq(stacked, tau.reshape(-1), rcond=None)[0], dtype=np.float64
        )

    _, spent = timed(solve)
    return {**spent, "samples": len(rows)}


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What the work gives, and its wall and processor time in s with the peak memory in MiB."""
    began, before = time.perf_counter(), processor()
    result = work()
    spent = {"wall": time.perf_counter() - began, "cpu": processor() - before, "memory": peak()}
    return result, spent


def processor() -> float:
    """User and system time of this process in s."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak() -> float:
    """The largest memory of this process so far, in MiB."""
    return peak_memory() / 2**20


def quality(fit: Fit) -> dict[str, Any]:
    """Samples, band, and how far the parameters are from those of the machine."""
    par = parametrise(machine(), "exact", tied=fit.parametrisation.tied)
    truth = dict(zip(par.names, par.prior, strict=True))
    off = np.array([fit[name] / truth[name] - 1 for name in fit.names if name in truth])
    return {
        "samples": sum(source.samples for source in fit.data),
        "band": fit.band,
        "terms": None if fit.terms is None else fit.terms.titles,
        "worst_percent": float(100 * np.abs(off).max()),
        "converged": fit.converged,
    }


STEPS = {
    "rates at hand": from_rates,
    "from the file": from_file,
    "with terms": with_terms,
    "of a machine": of_machine,
    "convex": convex,
    "plain": plain,
}


def child(step: str, folder: Path, count: int, kind: str) -> dict[str, Any]:
    """One step in a process of its own, on two cores."""
    command = [sys.executable, "-m", "benchmarks.identification", "--step", step]
    command += ["--folder", str(folder), "--samples", str(count), "--format", kind]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    record: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return record


def run_step(step: str, folder: Path, count: int, kind: str) -> None:
    """What a child does: it prints one line of JSON."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    result = make(folder, count, kind) if step == "make" else STEPS[step](folder, kind)
    print(json.dumps(result))


def measure(count: int, kind: str, tries: int) -> list[dict[str, Any]]:
    """All steps, each a few times; the rows of the table."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = child("make", folder, count, kind)["bytes"]
        for step in STEPS:
            for _ in range(tries):
                load = os.getloadavg()[0]
                record = child(step, folder, count, kind)
                rows.append({"step": step, "load": load, **record})
    rows[0]["log_bytes"] = size
    return rows


def show(rows: list[dict[str, Any]], kind: str) -> None:
    """The table, and a sentence on each target."""
    print(f"machine: {machine_name()}; log: {kind}, {rows[0]['log_bytes'] / 1e6:.0f} MB")
    print(
        f"{'step':<15}{'samples':>9}{'wall s':>9}{'cpu s':>9}{'samples/s':>12}{'MiB':>7}{'load':>6}"
        "  band Hz, worst parameter, terms"
    )
    for x in rows:
        note = f"whole fit {x['whole_fit']:.2f} s" if "whole_fit" in x else ""
        if "band" in x:
            note = "none" if x["band"] is None else f"{x['band']:.1f}"
            note += f", {x['worst_percent']:.3f} %" if "worst_percent" in x else ""
            note += f", {' '.join(x['terms']) or 'no term'}" if x["terms"] is not None else ""
        speed = "" if x["step"] == "convex" else f"{x['samples'] / x['wall']:.3g}"
        print(
            f"{x['step']:<15}{x['samples']:>9}{x['wall']:>9.3f}{x['cpu']:>9.3f}"
            f"{speed:>12}{x['memory']:>7.0f}{x['load']:>6.1f}  {note}"
        )
    best = {
        step: min((x for x in rows if x["step"] == step), key=lambda x: float(x["wall"]))
        for step in STEPS
    }
    for step, target in TARGETS.items():
        took, memory = best[step]["wall"], best[step]["memory"]
        print(f"{step}: {took:.3g} s, target {target:g} s; {memory:.0f} MiB, target {MEMORY:.0f}")
    ours, other = (
        min(x["cpu"] / x["samples"] for x in rows if x["step"] == step)
        for step in ("rates at hand", "plain")
    )
    print(
        f"plain least squares: {1e6 * other:.2f} us of processor time a sample, "
        f"{other / ours:.1f} times those of the fit with rates at hand"
    )


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600.0, help="length of the log")
    parser.add_argument("--format", choices=("csv", "parquet"), default="csv", help="of the log")
    parser.add_argument("--tries", type=int, default=1, help="runs of every step")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    for name in ("--step", "--folder", "--samples"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        folder = Path(arguments.folder)
        run_step(arguments.step, folder, int(arguments.samples), arguments.format)
        return
    rows = measure(int(arguments.seconds * RATE), arguments.format, arguments.tries)
    if arguments.json:
        print(json.dumps({"machine": machine_name(), "rows": rows}, indent=2))
    else:
        show(rows, arguments.format)


if __name__ == "__main__":
    main()
