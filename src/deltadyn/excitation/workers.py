"""Searches in worker processes.

Each worker is a fresh interpreter that reads tasks from a pipe. It does not import the caller's
script, so that a script without a main guard works; it uses one thread of linear algebra, so that
results do not depend on the number of workers; and it keeps freed memory, because giving pages back
between operations costs more than the operations.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Any

import deltadyn.excitation
from deltadyn.errors import DeltadynError
from deltadyn.excitation.search import Found, Task, run_task

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_KEPT = str(1 << 28)  # bytes: glibc keeps this much freed memory
_HEAP = str(1 << 24)  # bytes: arrays up to this size come from the kept memory
_CODE = "from deltadyn.excitation.workers import serve; serve()"


class WorkerError(DeltadynError):
    """A worker process ended before its answer; `returncode` is its exit status."""

    def __init__(self, returncode: int | None) -> None:
        self.returncode = returncode
        super().__init__(
            f"a worker process of the search ended with exit status {returncode}; "
            "its own message stands above"
        )


class Workers:
    """A pool of worker processes, to be used in a `with` block."""

    def __init__(self, jobs: int) -> None:
        self._processes = [_start() for _ in range(jobs)]
        self._free: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for process in self._processes:
            self._free.put(process)
        self._threads = ThreadPoolExecutor(jobs)

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._processes:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def run(self, tasks: Sequence[Task]) -> Iterator[Found]:
        """Results as they come, in an order that depends on the machine; none of skipped tasks."""
        futures = [self._threads.submit(self._ask, task) for task in tasks]
        for future in as_completed(futures):
            found = future.result()
            if found is not None:
                yield found

    def _ask(self, task: Task) -> Found | None:
        if time.time() >= task.deadline and not task.needed:
            return None
        process = self._free.get()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(task, process.stdin)
            process.stdin.flush()
            answer: Found | Exception = pickle.load(process.stdout)
        except (EOFError, OSError) as error:
            raise WorkerError(process.wait()) from error
        finally:  # also a dead one, or those who wait for it would wait for ever
            self._free.put(process)
        if isinstance(answer, Exception):
            raise answer
        return answer


def serve() -> None:
    """Answer tasks from the standard input until it ends; what tasks print goes to stderr."""
    answers: IO[bytes] = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            task: Any = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer: Found | Exception = run_task(task)
        except Exception as error:
            answer = error
        pickle.dump(answer, answers)
        answers.flush()


def default_jobs() -> int:
    """The processors that this process may use, at most 16: there are not many more searches."""
    if hasattr(os, "sched_getaffinity"):
        return min(max(len(os.sched_getaffinity(0)), 1), 16)
    return min(os.cpu_count() or 1, 16)


def _start() -> subprocess.Popen[bytes]:
    source = str(Path(deltadyn.excitation.__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": path, **dict.fromkeys(_THREADS, "1")}
    env |= {"MALLOC_TRIM_THRESHOLD_": _KEPT, "MALLOC_MMAP_THRESHOLD_": _HEAP}
    command = [sys.executable, "-P", "-c", _CODE]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
