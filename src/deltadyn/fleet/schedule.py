"""Tasks in this process, in processes of this machine by joblib, or on a cluster by dask.

A task is a call of a function of a module with arguments that can be pickled. Results come as they
are ready. A worker that dies takes its tasks with it: they are done again, each alone, so that the
one that kills its worker is known; it is given up after `TRIES` deaths.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from deltadyn.errors import InputError, extra_module

TRIES = 3
AHEAD = 2  # tasks that wait for each worker
ANSWERS_IN = 20.0  # s in which a scheduler answers
#: A worker has a core: the libraries below must not start threads of their own.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Died:
    """Instead of a result: the worker of a task died each time."""

    times: int = TRIES

    def __str__(self) -> str:
        return f"its worker died {self.times} times (out of memory, or killed)"


Task = tuple[Any, ...]
Run = Callable[[Callable[..., Any], Sequence[Task]], Iterator[tuple[int, Any]]]


@contextmanager
def running(workers: int, scheduler: str | None) -> Iterator[Run]:
    """A function that runs tasks and gives the number of each with its result, or `Died`."""
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError("workers", workers, "a whole number of at least 1")
    if scheduler is not None:
        with _cluster(scheduler) as run:
            yield run
    elif workers == 1:
        yield _here
    else:
        pool = _Pool(workers)
        try:
            yield pool.run
        finally:
            pool.close()


def _here(work: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[tuple[int, Any]]:
    for number, task in enumerate(tasks):
        yield number, work(*task)


class _Pool:
    """Processes of this machine."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._executor: Any = None

    def run(self, work: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[tuple[int, Any]]:
        """Results as they are ready."""
        waiting, suspects = deque(range(len(tasks))), deque[int]()
        deaths = dict.fromkeys(waiting, 0)
        active: dict[Future[Any], int] = {}
        while waiting or suspects or active:
            while waiting and len(active) < AHEAD * self._workers:
                self._submit(active, waiting.popleft(), work, tasks, self._workers)
            if not active:
                self._submit(active, suspects.popleft(), work, tasks, 1)
            ready, _ = wait(active, return_when=FIRST_COMPLETED)
            broken: list[int] = []
            for future in ready:
                number = active.pop(future)
                try:
                    yield number, future.result()
                except BrokenExecutor as error:
                    if not _is_death(error):
                        raise
                    broken.append(number)
            if not broken:
                continue
            broken += active.values()  # one process that dies breaks them all
            alone = len(broken) == 1
            active = {}
            self.close()
            for number in sorted(broken):
                deaths[number] += 1
                if alone and deaths[number] >= TRIES:
                    yield number, Died()
                else:
                    suspects.append(number)

    def _submit(
        self,
        active: dict[Future[Any], int],
        number: int,
        work: Callable[..., Any],
        tasks: Sequence[Task],
        processes: int,
    ) -> None:
        if self._executor is None:
            from joblib.externals.loky import ProcessPoolExecutor

            self._executor = ProcessPoolExecutor(processes, env=ONE_THREAD)
        try:
            active[self._executor.submit(work, *tasks[number])] = number
        except BrokenExecutor as error:  # it broke since the last result
            future: Future[Any] = Future()
            future.set_exception(error)
            active[future] = number

    def close(self) -> None:
        """End the processes."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
            self._executor = None


def _is_death(error: BaseException) -> bool:
    """Whether a worker died; else a task could not travel to it, and never will."""
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    return isinstance(error, TerminatedWorkerError)


@contextmanager
def _cluster(address: str) -> Iterator[Run]:
    """Workers of a dask scheduler; dask itself does the tasks of a dead worker again."""
    distributed: Any = extra_module("distributed", "a dask cluster", "cluster")
    try:
        client = distributed.Client(address, timeout=ANSWERS_IN, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        allowed = f"the address of a dask scheduler that answers, as tcp://host:8786 ({error})"
        raise InputError("scheduler", address, allowed) from error

    def run(work: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[tuple[int, Any]]:
        waiting = deque(range(len(tasks)))
        active: dict[Any, int] = {}
        ready = distributed.as_completed(loop=client.loop)
        while waiting or active:
            most = AHEAD * max(1, _threads(client))
            while waiting and len(active) < most:
                number = waiting.popleft()
                future = client.submit(work, *tasks[number], pure=False)
                active[future] = number
                ready.add(future)
            future = next(ready)
            number = active.pop(future)
            try:
                yield number, future.result()
            except distributed.KilledWorker:
                yield number, Died(_allowed_failures() + 1)

    try:
        _wait_for_workers(client, address)
        yield run
    finally:
        client.close()


def _threads(client: Any) -> int:
    return sum(client.nthreads().values())


def _allowed_failures() -> int:
    import dask

    return int(dask.config.get("distributed.scheduler.allowed-failures", TRIES))


def _wait_for_workers(client: Any, address: str) -> None:
    """A cluster without workers would wait for ever without a word."""
    end = time.monotonic() + ANSWERS_IN
    while not _threads(client):
        if time.monotonic() > end:
            raise InputError("scheduler", address, "a dask scheduler with at least one worker")
        time.sleep(0.1)
