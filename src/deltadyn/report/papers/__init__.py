"""Pages of the reproductions: a paper's figures, tables, statements and checks in one HTML file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from deltadyn.pages import figures_html, list_html, write_page
from deltadyn.reproduce.result import Reproduction, Table


@dataclass(frozen=True)
class Figure:
    """A figure of the page: `draw()` makes the plotly figure when the page is written."""

    title: str
    draw: Callable[[], Any]
    caption: str = ""


def figures_of(result: Reproduction) -> tuple[Figure, ...]:
    """The figures of a reproduction, by the module here that has its paper's name."""
    if result.data is None:
        return ()
    module = import_module(f"{__name__}.{result.paper}")
    drawn: tuple[Figure, ...] = module.figures(result.data)
    return drawn


def write_reproduction(result: Reproduction, path: str | os.PathLike[str]) -> Path:
    """Write one HTML page with figures, tables, statements and checks, to open offline."""
    figures = [(item.title, item.draw(), item.caption) for item in figures_of(result)]
    lines = "".join(
        f"<li{'' if check.passed else ' class=no'}>{escape(str(check))}</li>"
        for check in result.checks
    )
    blocks = [
        *figures_html(figures),
        *(table_block(table) for table in result.tables),
        list_html("What was assumed and noticed", result.statements),
        f"<h2>Checks</h2><ul>{lines}</ul>" if lines else "",
    ]
    return write_page(path, f"{result.paper}: {result.title}", blocks)


def table_block(table: Table) -> str:
    """A table as a piece of a page; columns of numbers are set to the right."""
    head, *body = table.texts()
    words = table.words()
    lines = [f"<h3>{escape(table.title)}</h3>", "<table>"]
    for tag, cells in (("th", head), *(("td", row) for row in body)):
        texts = "".join(
            f"<{tag}{'' if word else ' class=n'}>{escape(cell)}</{tag}>"
            for cell, word in zip(cells, words, strict=True)
        )
        lines.append(f"<tr>{texts}</tr>")
    lines.append("</table>")
    if table.note:
        lines.append(f"<p class=note>{escape(table.note)}</p>")
    return "\n".join(lines)
