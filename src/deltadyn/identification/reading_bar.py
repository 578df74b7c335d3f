"""A bar on the standard error that shows how far a log was read, where it is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
