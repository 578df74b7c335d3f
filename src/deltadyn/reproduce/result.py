"""The result of reproducing a paper: tables beside the paper's, what was assumed, and checks."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Formatter
from textwrap import fill
from typing import Any

import numpy as np
import yaml

from deltadyn.doors import write_page
from deltadyn.errors import InputError
from deltadyn.reproduce.claims import NEAR, Claim, Value, Verdict, compare_numbers, format_value

WIDTH = 100  # characters of a line of text
JOINTS = ("tau_1", "tau_2", "tau_3")
Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Named columns and rows; units stand in the names of the columns or in the title.

    A number that is no whole one is shown with `digits` decimals; None is shown as a dash.
    `beside` pairs a column of the paper with ours: our cells are graded near or far by `near`.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    digits: int = 2
    beside: tuple[tuple[str, str], ...] = ()
    near: float = NEAR

    def __post_init__(self) -> None:
        for index, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InputError(
                    f"cells of table {self.title!r}",
                    len(row),
                    f"{len(self.columns)}, one per column",
                    where=f"row {index}",
                )
        for name in (name for pair in self.beside for name in pair):
            if name not in self.columns:
                raise InputError(
                    f"column beside another in table {self.title!r}",
                    name,
                    ", ".join(self.columns),
                )

    def grades(self) -> dict[tuple[int, int], Verdict]:
        """Row and column of our cells beside the paper's: near, far, or not shown.

        A row in which the paper has no number is not graded.
        """
        out: dict[tuple[int, int], Verdict] = {}
        for theirs, own in ((self.columns.index(a), self.columns.index(b)) for a, b in self.beside):
            for index, row in enumerate(self.rows):
                paper, ours = row[theirs], row[own]
                if isinstance(paper, int | float) and not isinstance(ours, str):
                    out[index, own] = compare_numbers(paper, ours, self.near)
        return out

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
            "rows": plain(self.rows),
            "note": self.note,
            "digits": self.digits,
            "beside": [list(pair) for pair in self.beside],
            "near": self.near,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Table:
        """The table that `as_dict` wrote."""
        return cls(
            record["title"],
            tuple(record["columns"]),
            tuple(map(tuple, record["rows"])),
            record["note"],
            record["digits"],
            tuple(map(tuple, record["beside"])),
            record["near"],
        )

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
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    item = getattr(value, "item", None)
    value = item() if callable(item) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def wrapped(text: str, *, indent: str = "", bullet: str = "") -> str:
    """A paragraph in lines of at most 100 characters."""
    return fill(
        text, WIDTH, initial_indent=indent + bullet, subsequent_indent=indent + " " * len(bullet)
    )


#: What a value may be: the comparison with its bound, and in words.
BOUNDS: dict[str, tuple[Callable[[float, float], Any], str]] = {
    "at_least": (operator.ge, "at least {:g}"),
    "at_most": (operator.le, "at most {:g}"),
    "above": (operator.gt, "above {:g}"),
    "equal": (operator.eq, "{:g}, as in the paper"),
}


@dataclass(frozen=True)
class Check:
    """One thing that the reproduction must meet: `value` against what is `allowed`."""

    what: str
    value: float
    allowed: str
    passed: bool
    unit: str = ""

    @classmethod
    def of(cls, what: str, value: float, kind: str, bound: float, unit: str = "") -> Check:
        """A value against a bound of a kind of `BOUNDS`; NaN does not pass."""
        meets, words = BOUNDS[kind]
        return cls(what, float(value), words.format(bound), bool(meets(value, bound)), unit)

    @classmethod
    def at_least(cls, what: str, value: float, bound: float, unit: str = "") -> Check:
        """A value that may not be below the bound."""
        return cls.of(what, value, "at_least", bound, unit)

    @classmethod
    def at_most(cls, what: str, value: float, bound: float, unit: str = "") -> Check:
        """A value that may not be above the bound."""
        return cls.of(what, value, "at_most", bound, unit)

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        verdict = "yes" if self.passed else "NO"
        return f"[{verdict}] {self.what}: {self.value:.4g}{unit}, {self.allowed}{unit}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        out: dict[str, Any] = plain(asdict(self))
        return out


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What a reproduction found: print it, take its `as_dict()`, or write its `page(path)`.

    `claims` are the paper's, each beside ours; `statements` are sentences: what was assumed, what
    the data cannot identify, what was noticed.
    """

    paper: str  # the key, e.g. "falezza2020"
    title: str
    tables: tuple[Table, ...]
    statements: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    claims: tuple[Claim, ...] = ()
    seed: int | None = None
    data: Any = field(default=None, repr=False)  # what the figures of the page are drawn from

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        blocks = [f"{self.paper}: {self.title}"]
        if self.claims:
            lines = [wrapped(str(claim), bullet="- ") for claim in self.claims]
            blocks.append("\n".join(["What the paper says, and what we show", *lines]))
        blocks += map(str, self.tables)
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
            "seed": self.seed,
            "passed": self.passed,
            "claims": [claim.as_dict() for claim in self.claims],
            "checks": [check.as_dict() for check in self.checks],
            "tables": [table.as_dict() for table in self.tables],
            "statements": list(self.statements),
        }

    def page(self, path: str | os.PathLike[str]) -> Path:
        """Write one HTML page with tables, statements, checks and figures, to open offline."""
        return write_page("reproduction", self, path)


class Paper:
    """A paper's numbers and the words of its reproduction, from the file papers/KEY.yaml.

    `numbers` holds the paper's own tables. All else are templates, in the order in which they are
    shown: `claims` with the reasons of what is far or not shown, `tables` with their columns and
    notes, `statements`, `checks` with their bounds, and `figures` with their captions. A template
    names what it shows, {radius:.2f}, and finds it among the values of a call and the `constants`.
    Several numbers are joined by commas; with "span" before the format they are shown from the
    least to the largest.
    """

    def __init__(self, key: str, **constants: Any) -> None:
        self.key, self.constants = key, constants
        self._words = words_of(key)
        self.numbers: Any = _fixed(self._words["numbers"])

    def text(self, template: str, /, **values: Any) -> str:
        """A template with its values."""
        return filled(template, {**self.constants, **values})

    def table(self, name: str, rows: Iterable[Iterable[Any]], /, **values: Any) -> Table:
        """The table of that name; arrays and tuples in a row are several cells."""
        words = self._words["tables"][name]
        return Table(
            self.text(words["title"], **values),
            tuple(self.text(column, **values) for column in words["columns"]),
            tuple(tuple(_cells(row)) for row in rows),
            self.text(words.get("note", ""), **values),
            words.get("digits", 2),
            tuple(
                (self.text(a, **values), self.text(b, **values)) for a, b in words.get("beside", ())
            ),
            words.get("near", NEAR),
        )

    def claim(
        self,
        name: str,
        /,
        paper: Value,
        ours: Value = None,
        holds: bool | None = None,
        **values: Any,
    ) -> Claim:
        """The claim of that name: the paper's value beside ours.

        `holds` decides a claim of words, such as an order; numbers are compared by the `near` of
        the file. Where it says `not_shown`, that is why the bench cannot show the claim.
        """
        words = self._words["claims"][name]
        verdict: Verdict
        if "not_shown" in words:
            verdict, reason = "not shown", words["not_shown"]
        else:
            if holds is None:
                verdict = compare_numbers(paper, ours, words.get("near", NEAR))
            else:
                verdict = "near" if holds else "far"
            reason = "" if verdict == "near" else words.get("far", "")
        digits = words.get("digits", 2)
        return Claim(
            self.text(words["place"], **values),
            self.text(words["what"], **values),
            format_value(paper, digits),
            format_value(ours, digits),
            verdict,
            self.text(reason, **values),
        )

    def statements(self, **values: Any) -> tuple[str, ...]:
        """All statements; one that is empty with these values is left out."""
        texts = (self.text(template, **values) for template in self._words["statements"])
        return tuple(text for text in texts if text)

    def checks(self, **values: float | Mapping[str, float]) -> tuple[Check, ...]:
        """The checks of these names; one of several values is made for each, {each} in words."""
        pairs = [
            (name, {"each": each}, value)
            for name, found in values.items()
            for each, value in (found.items() if isinstance(found, Mapping) else (("", found),))
        ]
        return tuple(self.check(name, value, **words) for name, words, value in pairs)

    def check(self, name: str, value: float, /, **values: Any) -> Check:
        """The check of that name; its bound is in the file, or among the constants."""
        words = self._words["checks"][name]
        (kind,) = BOUNDS.keys() & words
        bound = self.constants.get(words[kind], words[kind])
        what = self.text(words["what"], **values)
        return Check.of(what, value, kind, bound, words.get("unit", ""))

    def caption(self, name: str, /, **values: Any) -> tuple[str, str]:
        """Title and caption of a figure."""
        words = self._words["figures"][name]
        return tuple(self.text(words.get(part, ""), **values) for part in ("title", "caption"))  # type: ignore[return-value]

    def reproduction(
        self,
        tables: Iterable[Table],
        statements: tuple[str, ...],
        checks: tuple[Check, ...],
        data: Any,
        *,
        claims: Iterable[Claim] = (),
        seed: int | None = None,
    ) -> Reproduction:
        """The result under the paper's key and title."""
        return Reproduction(
            self.key,
            self._words["title"],
            tuple(tables),
            statements,
            checks,
            tuple(claims),
            seed,
            data,
        )


#: Ten times as fast where PyYAML has it: these files are read on import.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def words_of(key: str) -> Any:
    """What the file papers/KEY.yaml says; to be read only."""
    text = (files(__package__) / "papers" / f"{key}.yaml").read_text("utf-8")
    return yaml.load(text, LOADER)


def filled(template: str, values: Mapping[str, Any]) -> str:
    """A template with its values, as `Paper` describes it."""
    return _WORDS.vformat(template, (), values)


class _Words(Formatter):
    """Templates whose values may be several numbers."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if not isinstance(value, np.ndarray | list | tuple):
            return format(value, format_spec)
        if format_spec.startswith("span"):
            ends = (np.min(value), np.max(value))
            return " to ".join(format(end, format_spec.removeprefix("span")) for end in ends)
        return ", ".join(format(item, format_spec) for item in value)


_WORDS = _Words()


def _fixed(value: Any) -> Any:
    """Lists as tuples."""
    if isinstance(value, dict):
        return {key: _fixed(item) for key, item in value.items()}
    return tuple(map(_fixed, value)) if isinstance(value, list) else value


def _cells(row: Iterable[Any]) -> Iterator[Cell]:
    for item in row:
        plainly = item.tolist() if isinstance(item, np.ndarray | np.generic) else item
        if isinstance(plainly, list | tuple):
            yield from _cells(plainly)
        else:
            yield plainly


def by_joint(*parts: Any) -> list[tuple[Cell, ...]]:
    """A row per joint: the joint's number of every part; a text or None stands in all rows."""
    return [
        tuple(part if part is None or isinstance(part, str) else part[i] for part in parts)
        for i in range(len(JOINTS))
    ]
