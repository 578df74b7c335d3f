"""From a long CSV to a fit with fixed terms: processor time of every stage, and the peak memory.

Run: python -m benchmarks.long_log [--hours 1] [--tries 3] [--file LOG] [--kernels off] [--json OUT]

The log is that of `benchmarks.identification`: the D3-1200 at 2 kHz, times, angles and torques with
the digits of a controller. Each try is a process of its own on two cores. Stages are processor
times of the threads that work on them, each without the stages inside it; with what is left they
are the whole processor time, which other work on the machine disturbs less than the wall time.
The targets are 6 s for an hour on two cores with nothing beside it, and 1 GiB for any length.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import deltadyn as dd
from benchmarks.identification import CHUNK, RATE, CsvLog, log_of, machine, nominal, samples, timed
from benchmarks.machine import machine_name
from deltadyn.backends import SWITCH

TARGET = 6.0  # s for an hour
MEMORY = 1024.0  # MiB

#: Stage, module, and the function that does it; a name with a point is that of a method.
STAGES = (
    ("bytes and SHA-256", "deltadyn.recording.readers.text", "_Hashed.read"),
    ("numbers of the text", "deltadyn.recording.readers.csv", "_fast"),
    ("units and convention", "deltadyn.recording.read", "Conversion.channels"),
    ("checks of values", "deltadyn.recording.prepare.stream", "check_values"),
    ("checks of the head", "deltadyn.identification.loading", "refuse_spoiled"),
    ("bandwidth of rates", "deltadyn.recording.prepare.data", "_found_bandwidth"),
    ("band", "deltadyn.identification.loading", "choose_band"),
    ("parts put together", "deltadyn.recording.prepare.data", "Window._moved"),
    ("rates", "deltadyn.recording.prepare.data", "differentiate"),
    ("poses", "deltadyn.recording.prepare.data", "State.from_joints"),
    ("rows of the regressor", "deltadyn.identification.information", "axis_rows"),
    ("filter", "deltadyn.identification.information", "decimated"),
    ("factors", "deltadyn.identification.information", "triangle"),
    ("fit", "deltadyn.identification.identify", "_Work.fit"),
)


class Stages:
    """Processor time in s of functions, by stage, without that of stages inside them."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self._lock = threading.Lock()
        self._inner = threading.local()

    def watch(self, stage: str, module: str, name: str) -> None:
        """Count the calls of one function from now on."""
        owner: Any = import_module(module)
        *outer, last = name.split(".")
        for part in outer:
            owner = getattr(owner, part)
        setattr(owner, last, self._counted(stage, getattr(owner, last)))

    def _counted(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            open_stages: list[float] = self._inner.__dict__.setdefault("open", [])
            open_stages.append(0.0)
            began = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                took = time.thread_time() - began
                own = took - open_stages.pop()
                if open_stages:
                    open_stages[-1] += took
                with self._lock:
                    self.spent[stage] += own

        return counted


def write(path: Path, hours: float) -> None:
    """The log, chunk by chunk."""
    robot, count = machine(), int(hours * 3600 * RATE)
    writer = CsvLog(path.parent)
    for first in range(0, count, CHUNK):
        rows = samples(robot, first, min(CHUNK, count - first))
        rows[:, 1:4] += 1e-5 * np.random.default_rng([1, first]).standard_normal((len(rows), 3))
        writer.add(rows[:, :7])
    writer.close()


def measure(path: Path) -> dict[str, Any]:
    """One fit in this process."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    stages, robot = Stages(), nominal()
    import_module("deltadyn.identification.identify")
    for stage in STAGES:
        stages.watch(*stage)
    fit, spent = timed(lambda: dd.identify(robot, path, terms="file"))
    return {
        **spent,
        "load": os.getloadavg()[0],
        "samples": fit.data[0].samples,
        "stages": dict(stages.spent),
        "parameters": fit.values.tolist(),
    }


def child(path: Path, kernels: str) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.long_log", "--child", "--file", str(path)]
    environment = {**os.environ, SWITCH: kernels}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    record: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return record


def show(rows: list[dict[str, Any]], size: int) -> None:
    """Stages of the try with the least processor time, and all tries."""
    best = min(rows, key=lambda row: float(row["cpu"]))
    print(f"machine: {machine_name()}; log: {size / 1e6:.0f} MB, {best['samples']} samples")
    left = best["cpu"] - sum(best["stages"].values())
    table = {**best["stages"], "all else, with imports": left}
    for stage, took in sorted(table.items(), key=lambda item: -item[1]):
        print(f"{stage:<24}{took:>8.2f} s{100 * took / best['cpu']:>7.1f} %")
    for row in rows:
        print(
            f"wall {row['wall']:.2f} s, processor {row['cpu']:.2f} s, {row['memory']:.0f} MiB, "
            f"load {row['load']:.1f}"
        )
    print(stated(rows)["figure"])


def stated(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figure in words, and whether both targets are reached; below an hour it has an hour's."""
    hours = rows[0]["samples"] / RATE / 3600
    wall, memory = (
        min(float(row["wall"]) for row in rows),
        max(float(row["memory"]) for row in rows),
    )
    target = TARGET * max(hours, 1.0)
    figure = f"{hours:g} h in {wall:.2f} s (target {target:g} s), {memory:.0f} of {MEMORY:.0f} MiB"
    return {"figure": figure, "reached": wall <= target and memory <= MEMORY}


def main() -> None:
    """Print the table, and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=1.0, help="length of the log")
    parser.add_argument("--tries", type=int, default=1, help="runs, each in its own process")
    parser.add_argument("--file", type=Path, help="a log that is there; default: it is written")
    parser.add_argument("--kernels", choices=("on", "off"), default="on", help="compiled or NumPy")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures there, too")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(measure(asked.file)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = asked.file or log_of(Path(folder), "csv")
        if asked.file is None:
            write(path, asked.hours)
        rows = [child(path, asked.kernels) for _ in range(asked.tries)]
        size = path.stat().st_size
    show(rows, size)
    if asked.json:
        record = {**stated(rows), "machine": machine_name(), "bytes": size, "rows": rows}
        asked.json.write_text(json.dumps(record, indent=2), "utf-8")


if __name__ == "__main__":
    main()
