"""The result of reproducing a paper: tables, what was assumed, checks, and a page of figures."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from deltadyn.report.html import figures_html, list_html, write_page
from deltadyn.reproduce.tables import Table, plain, wrapped


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


@dataclass(frozen=True)
class Figure:
    """A figure of the page: `draw()` makes the plotly figure when the page is written."""

    title: str
    draw: Callable[[], Any]
    caption: str = ""


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
    figures: tuple[Figure, ...] = ()

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
        figures = [(item.title, item.draw(), item.caption) for item in self.figures]
        lines = "".join(
            f"<li{'' if check.passed else ' class=no'}>{escape(str(check))}</li>"
            for check in self.checks
        )
        blocks = [
            *figures_html(figures),
            *(table.html() for table in self.tables),
            list_html("What was assumed and noticed", self.statements),
            f"<h2>Checks</h2><ul>{lines}</ul>" if lines else "",
        ]
        return write_page(path, f"{self.paper}: {self.title}", blocks)
