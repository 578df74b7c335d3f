"""Processes that write into a history at the same time, or are killed while they do."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any

from tests.history.samples import entry

from deltadyn.history import History, rows

#: One process imports deltadyn, the others are its copies.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])


def start(work: Callable[..., None], *arguments: Any) -> multiprocessing.context.ForkServerProcess:
    """A process that does this."""
    process = PROCESSES.Process(target=work, args=arguments)
    process.start()
    return process


def write(place: str, name: str, count: int) -> None:
    """Entries of one robot, and of one that all writers have in common."""
    for number in range(count):
        with History(place) as history:
            assert history.add(entry(number, name)).new
            history.add(entry(number, "shared"))


def die(place: str) -> None:
    """One entry, and the end in the middle of the next one's transaction."""
    history = History(place)
    history.add(entry(0))
    insert = rows._insert_parts

    def stop(*arguments: Any) -> None:
        insert(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    rows._insert_parts = stop  # type: ignore[assignment]
    history.add(entry(1))
