"""Tables of a reproduction: the paper's figures beside ours, as text, as HTML, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import Any

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
        head, *body = self._texts()
        widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
        words = self._words()
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

    def html(self) -> str:
        """The table as a piece of a page."""
        head, *body = self._texts()
        words = self._words()
        lines = [f"<h3>{escape(self.title)}</h3>", "<table>"]
        for tag, cells in (("th", head), *(("td", row) for row in body)):
            texts = "".join(
                f"<{tag}{'' if word else ' class=n'}>{escape(cell)}</{tag}>"
                for cell, word in zip(cells, words, strict=True)
            )
            lines.append(f"<tr>{texts}</tr>")
        lines.append("</table>")
        if self.note:
            lines.append(f"<p class=note>{escape(self.note)}</p>")
        return "\n".join(lines)

    def _texts(self) -> list[list[str]]:
        rows = [[self._text(cell) for cell in row] for row in self.rows]
        return [list(self.columns), *rows]

    def _text(self, cell: Cell) -> str:
        if cell is None:
            return "-"
        if isinstance(cell, float):
            return f"{cell:.{self.digits}f}" if math.isfinite(cell) else str(cell)
        return str(cell)

    def _words(self) -> list[bool]:
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
