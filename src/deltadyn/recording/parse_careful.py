"""Lines of a text file to numbers, cell by cell: what is not a number is named with its place."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.recording.failures import RecordingFileError

COMMENTS = ("#", "%", "//")
_MISSING = frozenset(["", "nan", "-nan", "na", "n/a", "#n/a", "null", "none", "nan(ind)", "?"])
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?|[+-]?(inf|infinity)", re.IGNORECASE)
_TRUTH = {"true": 1.0, "false": 0.0}
_CLOCK = re.compile(
    r"(?:(?P<date>\d{4}-\d\d?-\d\d?|\d\d?\.\d\d?\.\d{4}|\d{4}/\d\d?/\d\d?)[T ]\s*)?"
    r"(?P<hour>\d\d?):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,:](?P<part>\d{1,9}))?Z?"
)
_SHOWN = 40  # characters of a cell in a message


@dataclass(frozen=True)
class Dialect:
    """How the lines of a text file are to be read; an empty separator means blanks."""

    path: str
    names: tuple[str, ...]  # of the columns in the file
    channels: dict[int, str] = field(default_factory=dict)  # what the used columns are
    separator: str = ","
    decimal: str = "."
    stamps: tuple[int, ...] = ()  # columns that hold dates or times of day
    ticks: bool = False  # the stamps are whole numbers of 100 ns instead
    short_lines: bool = False  # missing cells at the end of a line are NaN
    skip: bool = False  # leave bad lines out instead of raising
    end_mark: str | None = None


class CarefulParser:
    """Parses lines in order; remembers the first time stamp and the lines that it left out."""

    def __init__(self, dialect: Dialect, used: Sequence[int]) -> None:
        self.dialect = dialect
        self.used = list(used)
        self.skipped: list[tuple[int, str]] = []
        self.origin: int | None = None  # ns, of the first time stamp

    def parse(self, lines: Iterable[str], first_line: int, *, cut: bool = False) -> FloatArray:
        """(len(used), n) of the lines; `cut` says that the last of them has no line end."""
        rows: list[list[float]] = []
        listed = list(lines)
        for number, line in enumerate(listed, first_line):
            text = line.strip()
            if not text or text.startswith(COMMENTS) or text == self.dialect.end_mark:
                continue
            last = cut and number == first_line + len(listed) - 1
            try:
                rows.append(self._row(line, number, last))
            except RecordingFileError as error:
                if not self.dialect.skip:
                    raise
                self.skipped.append((number, error.problem))
        block = np.empty((len(self.used), len(rows)))
        if rows:
            block[:] = np.array(rows).T
        return block

    def _row(self, line: str, number: int, last: bool) -> list[float]:
        cells = split_line(line, self.dialect.separator)
        wanted = len(self.dialect.names)
        if len(cells) != wanted:
            cells = self._completed(cells, number, last)
        values = []
        for index in self.used:
            value = self._value(cells[index], index)
            if value is None:
                raise self._bad_cell(cells[index], index, number, last)
            values.append(value)
        return values

    def _completed(self, cells: list[str], number: int, last: bool) -> list[str]:
        wanted = len(self.dialect.names)
        if self.dialect.short_lines and len(cells) < wanted:
            return cells + [""] * (wanted - len(cells))
        if len(cells) == wanted + 1 and not cells[-1].strip():
            return cells[:wanted]
        problem = f"has {len(cells)} cells"
        if last and len(cells) < wanted:
            problem = f"is cut off after {len(cells)} of {wanted} cells: the file is truncated"
        elif self.dialect.separator == "," and len(cells) > wanted:
            problem += " (with a decimal comma the separator must be another)"
        raise RecordingFileError(
            "row",
            len(cells),
            f"{wanted} cells, as the header has",
            path=self.dialect.path,
            line=number,
            problem=problem,
        )

    def _value(self, cell: str, index: int) -> float | None:
        """The number in a cell; None where there is none."""
        text = cell.strip().strip('"').strip()
        if index in self.dialect.stamps:
            return self._seconds(text)
        if self.dialect.decimal == ",":
            if "." in text:
                return None
            text = text.replace(",", ".")
        if _NUMBER.fullmatch(text):
            return float(text.replace("d", "e").replace("D", "e"))
        if text.lower() in _MISSING:
            return float("nan")
        return _TRUTH.get(text.lower())

    def _seconds(self, text: str) -> float | None:
        stamp = nanoseconds(text)
        if self.dialect.ticks and text.isdigit():
            stamp = int(text) * 100
        if stamp is None:
            return float("nan") if text.lower() in _MISSING else None
        if self.origin is None:
            self.origin = stamp
        return (stamp - self.origin) / 1e9

    def _bad_cell(self, cell: str, index: int, number: int, last: bool) -> RecordingFileError:
        text = cell.strip()
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
        problem, allowed = f"is {shown!r}", "a number, or an empty cell where it is missing"
        other = "," if self.dialect.decimal == "." else "."
        if _NUMBER.fullmatch(text.replace(other, ".")) and other in text:
            problem += f", with the decimal mark {other!r}"
            allowed = f"numbers with the decimal mark {self.dialect.decimal!r} throughout"
        elif last:
            problem += " in a line that is cut off: the file is truncated"
        return RecordingFileError(
            self.dialect.channels.get(index, "cell"),
            shown,
            allowed,
            path=self.dialect.path,
            line=number,
            column=self.dialect.names[index],
            problem=problem,
        )


def split_line(line: str, separator: str) -> list[str]:
    """The cells of a line; quotes are understood, blanks count as one separator."""
    line = line.rstrip("\r\n")
    if not separator:
        return line.split()
    if '"' in line:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=True))
    return line.split(separator)


def is_number(cell: str) -> bool:
    """Whether a cell is a number with a decimal point or comma."""
    return _NUMBER.fullmatch(cell.strip().strip('"').replace(",", ".")) is not None


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.strip().strip('"').lower() in _MISSING


def nanoseconds(text: str) -> int | None:
    """A date and time, or a time of day, in ns; None where the text is neither."""
    match = _CLOCK.fullmatch(text.strip().strip('"'))
    if match is None:
        return None
    part = (match["part"] or "").ljust(9, "0")
    clock = (int(match["hour"]) * 60 + int(match["minute"])) * 60 + int(match["second"])
    days = 0
    if match["date"]:
        pieces = re.split(r"[-./]", match["date"])
        year, month, day = pieces if len(pieces[0]) == 4 else reversed(pieces)
        try:
            date = np.datetime64(f"{int(year):04d}-{int(month):02d}-{int(day):02d}", "D")
        except ValueError:
            return None
        days = int(date.astype(np.int64))
    return (days * 86_400 + clock) * 1_000_000_000 + int(part)
