"""Times that a shared machine disturbs little: the best of several runs, and the cores it had."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

THREADS = "OMP_NUM_THREADS"
SPAN = 0.1  # s: a run of a fraction of a millisecond finds a quiet moment in it


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
