"""The result of reproducing a paper: tables beside the paper's, what was assumed, and checks."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import Any

from deltadyn.doors import write_page
from deltadyn.errors import InputError

WIDTH = 100  # characters of a line of text
Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Named columns and rows; units stand in the names of the columns or in the title.

    A number that is no whole one is shown with `digits` decimals; None is shown as a dash.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    digits: int = 2

    def __post_init__(self) -> None:
        for index, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InputError(
                    f"cells of table {self.title!r}",
                    len(row),
                    f"{len(self.columns)}, one per column",
                    where=f"row {index}",
                )

    def __str__(self) -> str:
        head, *body = self.texts()
        widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
        words = self.words()
        lines = [self.title]
        for cells in (head, *body):
            pairs = zip(cells, widths, words, strict=True)
            texts = [
                cell.ljust(width) if word else cell.rjust(width) for cell, width, word in pairs
            ]
            lines.append("  " + "  ".join(texts).rstrip())
        if self.note:
            lines.append(wrapped(self.note, indent="  "))
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; a number that is not finite becomes None."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [[plain(cell) for cell in row] for row in self.rows],
            "note": self.note,
        }

    def texts(self) -> list[list[str]]:
        """The names of the columns, then the rows, as they are shown."""
        rows = [[self._text(cell) for cell in row] for row in self.rows]
        return [list(self.columns), *rows]

    def _text(self, cell: Cell) -> str:
        if cell is None:
            return "-"
        if isinstance(cell, float):
            return f"{cell:.{self.digits}f}" if math.isfinite(cell) else str(cell)
        return str(cell)

    def words(self) -> list[bool]:
        """Which columns hold words and are aligned to the left."""
        return [
            any(isinstance(row[index], str) for row in self.rows)
            for index in range(len(self.columns))
        ]


def plain(value: Any) -> Any:
    """A value for JSON: NumPy numbers as Python's, None for a number that is not finite."""
    item = getattr(value, "item", None)
    value = item() if callable(item) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def wrapped(text: str, *, indent: str = "", bullet: str = "") -> str:
    """A paragraph in lines of at most 100 characters."""
    return fill(
        text, WIDTH, initial_indent=indent + bullet, subsequent_indent=indent + " " * len(bullet)
    )


@dataclass(frozen=True)
class Check:
    """One thing that the reproduction must meet: `value` against what is `allowed`."""

    what: str
    value: float
    allowed: str
    passed: bool
    unit: str = ""

    @classmethod
    def at_least(cls, what: str, value: float, bound: float, unit: str = "") -> Check:
        """A value that may not be below the bound; NaN does not pass."""
        return cls(what, float(value), f"at least {bound:g}", bool(value >= bound), unit)

    @classmethod
    def at_most(cls, what: str, value: float, bound: float, unit: str = "") -> Check:
        """A value that may not be above the bound; NaN does not pass."""
        return cls(what, float(value), f"at most {bound:g}", bool(value <= bound), unit)

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        verdict = "yes" if self.passed else "NO"
        return f"[{verdict}] {self.what}: {self.value:.4g}{unit}, {self.allowed}{unit}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "what": self.what,
            "value": plain(self.value),
            "allowed": self.allowed,
            "passed": self.passed,
            "unit": self.unit,
        }


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What a reproduction found: print it, take its `as_dict()`, or write its `page(path)`.

    `statements` are sentences: what was assumed, what the data cannot tell, what was noticed.
    """

    paper: str  # the key, e.g. "falezza2020"
    title: str
    tables: tuple[Table, ...]
    statements: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    data: Any = field(default=None, repr=False)  # what the figures of the page are drawn from

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        blocks = [f"{self.paper}: {self.title}", *map(str, self.tables)]
        if self.statements:
            blocks.append("\n".join(wrapped(text, bullet="- ") for text in self.statements))
        if self.checks:
            lines = [wrapped(str(check), indent="  ") for check in self.checks]
            blocks.append("\n".join(["Checks", *lines]))
        return "\n\n".join(blocks)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, for JSON."""
        return {
            "paper": self.paper,
            "title": self.title,
            "passed": self.passed,
            "checks": [check.as_dict() for check in self.checks],
            "tables": [table.as_dict() for table in self.tables],
            "statements": list(self.statements),
        }

    def page(self, path: str | os.PathLike[str]) -> Path:
        """Write one HTML page with tables, statements, checks and figures, to open offline."""
        return write_page("reproduction", self, path)
