"""What the runs over many logs have in common: their options, their source, what is left out."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deltadyn.errors import InputError, RecordingFileError, UnknownNameError
from deltadyn.fleet.remote import Store
from deltadyn.fleet.schedule import Run, running
from deltadyn.fleet.sources import PERIODS, FleetLog, StoredLog, find_logs, period_of
from deltadyn.fleet.work import Work
from deltadyn.progress import Bar
from deltadyn.recording.read import ReadOptions
from deltadyn.units import counted

NO_DATE = "its path has no date such as 2026-05-03: name its place by a pattern, or take period all"


@dataclass(frozen=True, eq=False)
class RunOptions:
    """How many logs are gone through; every field may be left out."""

    #: Where serial and date are in a log's path, as "{serial}/{date}.csv"; left out, the first
    #: folder and the first date.
    pattern: str | None = None
    #: "day", "week", "month" or "all": what is put together into one fit.
    period: str = "all"
    #: Processes on this machine.
    workers: int = 1
    #: Address of a dask scheduler (tcp://...), whose workers are taken instead.
    scheduler: str | None = None
    #: Folder that keeps what was made of every log: a run that was stopped goes on from there.
    work: str | Path | None = None
    #: Stop at a log that cannot be read, instead of leaving it out.
    strict: bool = False
    #: How logs are read.
    read: ReadOptions | None = None
    #: Options of an object store, such as endpoint_url.
    storage: Mapping[str, Any] = field(default_factory=dict)
    #: Show how far it is.
    progress: bool = False

    def __post_init__(self) -> None:
        if self.period not in PERIODS:
            raise UnknownNameError("period", self.period, PERIODS)
        if self.scheduler is not None and self.work is None:
            allowed = "a folder that all workers of the cluster share"
            raise InputError("work", None, allowed)


@dataclass(frozen=True)
class LeftOut:
    """A log that was left out: the robot's serial number, its name in the source, and why."""

    serial: str
    log: str
    reason: str

    def __str__(self) -> str:
        return f"{self.serial}: {self.log} was left out: {self.reason}"


def left_out_text(items: Sequence[LeftOut]) -> str:
    """How many logs were left out, as the tail of a sentence; empty where none was."""
    return f"; {counted(len(items), 'log')} left out" if items else ""


@dataclass(eq=False)
class Session:
    """One run over the logs of a source: `logs` by robot in the order of their names.

    `left_out` grows on the way, and `notes` with what was made again.
    """

    options: RunOptions
    logs: dict[str, list[FleetLog]]
    others: tuple[str, ...]
    work: Work
    run: Run
    left_out: list[LeftOut] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def leave_out(self, serial: str, log: str, reason: str) -> None:
        """Name a log that is left out; with `strict` that is an error."""
        if self.options.strict:
            problem = f"was to be left out: {reason}"
            raise RecordingFileError.of_file(log, problem, "a log that can be used, without strict")
        self.left_out.append(LeftOut(serial, log, reason))

    def results(
        self, text: str, work: Any, tasks: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[int, Any]]:
        """Number and result of every task, as they come, with a bar."""
        with Bar(self.options.progress, text, len(tasks), "tasks") as bar:
            for number, result in self.run(work, tasks):
                bar.step(text)
                yield number, result

    def by_period(self, serial: str) -> dict[str, list[FleetLog]]:
        """The logs of a robot by the names of their periods, in order."""
        found: dict[str, list[FleetLog]] = {}
        for log in self.logs[serial]:
            period = period_of(log.day, self.options.period)
            if period is not None:
                found.setdefault(period, []).append(log)
        return dict(sorted(found.items()))


@contextmanager
def session(source: str | Path | Sequence[FleetLog], options: RunOptions) -> Iterator[Session]:
    """Find the logs, the work folder and the workers."""
    found = find_logs(
        source, pattern=options.pattern, options=options.read, storage=options.storage
    )
    _refuse_memory(found.logs, options)
    with ExitStack() as stack:
        folder = options.work
        if folder is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="deltadyn-work-"))
        Path(folder).mkdir(parents=True, exist_ok=True)
        run = stack.enter_context(running(options.workers, options.scheduler))
        work = Work(str(Path(folder).absolute()))
        made = Session(options, {}, found.others, work, run)
        for log in found.logs:
            if period_of(log.day, options.period) is None:
                made.leave_out(log.serial, log.name, NO_DATE)
            else:
                made.logs.setdefault(log.serial, []).append(log)
        if not made.logs:
            raise InputError("logs", made.left_out[0].log, f"at least one that fits: {NO_DATE}")
        yield made


def _refuse_memory(logs: Sequence[FleetLog], options: RunOptions) -> None:
    """What is in this process's memory is not in that of a worker."""
    for log in logs:
        store: Store | None = log.store if isinstance(log, StoredLog) else None
        if store is None or not store.local_to_process:
            continue
        if options.workers > 1 or options.scheduler is not None:
            raise InputError("workers", options.workers, f"1 for {store.url}, and no scheduler")
