"""A progress bar on the standard error, where it is wanted."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Bar:
    """How much of what is known so far is done, in a `with` block; silent unless `show`.

    `text` stands before the bar and `unit` behind the amounts, of which `total` may be unknown.
    """

    def __init__(
        self, show: bool, text: str, total: float | None = None, unit: str = "steps"
    ) -> None:
        self._progress: Any = None
        self._total = total
        if not show:
            return
        from rich.console import Console  # imported where a bar is drawn
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[amount]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self._unit = unit
        self._task = self._progress.add_task(text, total=total, amount="")

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

    def expect(self, more: float) -> None:
        """So much more is to come."""
        self._total = (self._total or 0) + more
        self._show(total=self._total)

    def step(self, text: str | None = None, amount: float = 1) -> None:
        """So much more is done; `text` takes the place of the one before."""
        self._show(advance=amount, **({} if text is None else {"description": text}))

    def _show(self, **changes: Any) -> None:
        if self._progress is None:
            return
        self._progress.update(self._task, **changes)
        done = f"{self._progress.tasks[0].completed:.0f}"
        known = "" if self._total is None else f" of {self._total:.0f}"
        self._progress.update(self._task, amount=f"{done}{known} {self._unit}")
