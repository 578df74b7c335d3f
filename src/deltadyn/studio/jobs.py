"""One long piece of work at a time, in a thread, with progress and a way out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from deltadyn.errors import DeltadynError

Tell = Callable[[float, str], None]  # share done from 0 to 1, what is being done


class BusyError(DeltadynError):
    """Work was asked for while other work is under way."""


class CancelledError(DeltadynError):
    """The work was cancelled."""


class Job:
    """A function `work(tell)` in a thread; exactly one of the two callbacks hears how it ended.

    `cancel` lets the caller go at once: what the thread still finds is dropped, and the thread
    ends when it tells its next step.
    """

    def __init__(
        self,
        work: Callable[[Tell], Any],
        *,
        tell: Tell,
        done: Callable[[Any], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._work, self._tell, self._done, self._failed = work, tell, done, failed
        self._cancelled = threading.Event()
        self._ended = threading.Event()
        self._once = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True, name="deltadyn-job")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether somebody still waits for it."""
        return self._thread.is_alive() and not self._ended.is_set()

    def cancel(self) -> None:
        """Let go; `failed` hears a CancelledError unless the work has ended."""
        self._cancelled.set()
        self._end(lambda: self._failed(CancelledError("cancelled")))

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended."""
        self._thread.join(timeout)

    def _run(self) -> None:
        try:
            found = self._work(self._hear)
        except BaseException as error:  # a thread must report whatever ends it
            reason = error
            self._end(lambda: self._failed(reason))
        else:
            self._end(lambda: self._done(found))

    def _hear(self, share: float, text: str) -> None:
        if self._cancelled.is_set():
            raise CancelledError("cancelled")
        self._tell(share, text)

    def _end(self, report: Callable[[], None]) -> None:
        with self._once:
            if self._ended.is_set():
                return
            self._ended.set()
        report()
