"""The machine that a figure belongs to, and times that other work on it disturbs little."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from deltadyn.backends import status
from deltadyn.backends import threads as usable_threads

PACKAGES = ("deltadyn", "numpy", "mujoco", "pin")
THREADS = "OMP_NUM_THREADS"
SPAN = 0.1  # s: a run of a fraction of a millisecond finds a quiet moment in it


def processor() -> str:
    """The processor's name, as the system gives it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine_name() -> str:
    """Processor, cores and Python, as one line."""
    return f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def machine() -> dict[str, Any]:
    """What a figure depends on: processor, cores, load and versions."""
    return {
        "name": machine_name(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "usable_threads": usable_threads(),
        "system": f"{platform.system()} {platform.release()}",
        "load_1_minute": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "kernels": status(),
    }


class Best(NamedTuple):
    """Seconds of the shortest run, and processor time over time in it."""

    seconds: float
    cores: float


def timed(work: Callable[[], object]) -> float:
    """Seconds of one run."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best(work: Callable[[], object], repeats: int) -> Best:
    """The shortest of several runs; short ones are repeated until some time has passed."""
    found, began, runs = Best(float("inf"), 0.0), time.perf_counter(), 0
    while runs < repeats or time.perf_counter() - began < SPAN:
        runs += 1
        used = time.process_time()
        seconds = timed(work)
        if seconds < found.seconds:
            found = Best(seconds, (time.process_time() - used) / seconds)
    return found


def processor_time(work: Callable[[], object], repeats: int) -> float:
    """Seconds of the processor in the run of several that took least of them."""
    found = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        found = min(found, time.process_time() - start)
    return found


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let the kernels use at most this many threads inside the block."""
    before = os.environ.get(THREADS)
    os.environ[THREADS] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ[THREADS]
        else:
            os.environ[THREADS] = before


def peak_memory() -> int:
    """The largest memory of this process so far in bytes; Linux.

    The `ru_maxrss` of a program is that of the process which started it, where that was larger.
    """
    status = Path("/proc/self/status").read_text("ascii")
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
