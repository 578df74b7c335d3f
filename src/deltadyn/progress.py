"""A progress bar on the standard error, where it is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any


class Bar:
    """Searches done of those known so far, and the best objective; silent unless `show`."""

    def __init__(self, show: bool, name: str) -> None:
        self._progress: Any = None
        self._best = float("inf")
        self._total = 0
        if show:
            from rich.console import Console  # imported where a bar is drawn
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed}/{task.total} searches"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
            )
            self._name = f"excitation of {name}"
            self._task = self._progress.add_task(self._name, total=None)

    def __enter__(self) -> Bar:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def expect(self, count: int) -> None:
        """So many more searches are to come."""
        self._total += count
        if self._progress is not None:
            self._progress.update(self._task, total=self._total)

    def step(self, value: float) -> None:
        """One more is done, with this objective."""
        self._best = min(self._best, value)
        if self._progress is not None:
            text = f"{self._name}, best {self._best:.3f}"
            self._progress.update(self._task, advance=1, description=text)


# A bar on the standard error that shows how far a log was read, where it is wanted.


Tell = Callable[[str, float], None]


@contextmanager
def reading_bar(show: bool, total: float | None) -> Iterator[Tell]:
    """A function that takes a log's name and how many more seconds of it are done, of `total`."""
    if not show:
        yield lambda name, seconds: None
        return
    from rich.console import Console  # imported where a bar is drawn
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    amount = "{task.completed:.0f} s" + ("" if total is None else " of {task.total:.0f} s")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(amount),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("reading", total=total)
        yield lambda name, seconds: bar.update(task, advance=seconds, description=f"reading {name}")
