"""Text files: a stream of lines, and two parsers of them, a careful and a fast one."""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.errors import RecordingFileError
from deltadyn.recording.columns import Column, quietly_recognised
from deltadyn.recording.readers.bounded import BoundedGzip

# Text files as a stream of UTF-8 lines, whatever they are packed or encoded in.


CHUNK_BYTES = 4_000_000  # some 30,000 rows: large enough for the fast parser, small in memory
HEAD_BYTES = 262_144

_GZIP = b"\x1f\x8b"
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: they begin alike
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class TextFile:
    """A text file, read in pieces; `digest` is the SHA-256 of its bytes after a complete pass."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.digest: str | None = None
        self.share = 0.0  # of the file that was read
        with Path(path).open("rb") as raw:
            self.packed = raw.read(2) == _GZIP
            raw.seek(0)
            start = self._read(self._unpacked(raw), 4096)
        self.bom = next(((bom, name) for bom, name in _BOMS if start.startswith(bom)), None)
        if self.bom is None and b"\0" in start:
            raise self._binary(start)

    @property
    def encoding(self) -> str:
        """What the file is encoded in, as far as a byte order mark says it."""
        return self.bom[1] if self.bom else "utf-8"

    def head(self) -> str:
        """The first lines as text."""
        data = b""
        for piece in self.pieces(HEAD_BYTES):
            data += piece
            if len(data) >= HEAD_BYTES:
                cut = data.rfind(b"\n") + 1
                return decoded(data[:cut] if cut else data)
        return decoded(data)

    def pieces(self, size: int = CHUNK_BYTES) -> Iterator[bytes]:
        """The text in UTF-8 without byte order mark, some `size` bytes at a time."""
        checksum = hashlib.sha256()
        total = max(Path(self.path).stat().st_size, 1)
        with Path(self.path).open("rb") as raw:
            source = self._unpacked(_Hashed(raw, checksum))
            decoder = None
            if self.bom is not None and self.bom[1] != "utf-8":
                decoder = codecs.getincrementaldecoder(self.bom[1])()
            first = True
            while piece := self._read(source, size):
                if decoder is not None:
                    piece = self._recoded(decoder, piece)
                elif first and self.bom is not None:
                    piece = piece[len(self.bom[0]) :]
                first = False
                self.share = raw.tell() / total
                yield piece
            if decoder is not None:
                self._recoded(decoder, b"", final=True)
        self.digest = checksum.hexdigest()

    def lines(self, start: float, count: int) -> tuple[bytes, float] | None:
        """Whole lines from a share of the file on, and what share of it they take.

        None where the bytes of a line depend on those before it: packed files and UTF-16.
        """
        if self.packed or self.encoding != "utf-8":
            return None
        size = max(Path(self.path).stat().st_size, 1)
        with Path(self.path).open("rb") as raw:
            raw.seek(int(start * size))
            raw.readline()  # the rest of a line
            text = b"".join(islice(raw, count))
        return (text, len(text) / size) if text.endswith(b"\n") else None

    def _unpacked(self, raw: Any) -> Any:
        return BoundedGzip(raw, self.path) if self.packed else raw

    def _read(self, file: IO[bytes], size: int) -> bytes:
        try:
            return file.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            problem = f"cannot be unpacked: {error}"
            raise RecordingFileError.of_file(self.path, problem, "a complete gzip file") from error

    def _recoded(
        self, decoder: codecs.IncrementalDecoder, piece: bytes, *, final: bool = False
    ) -> bytes:
        try:
            return decoder.decode(piece, final).encode("utf-8")
        except UnicodeDecodeError as error:
            problem = f"is not valid {self.encoding.upper()}: {error.reason}"
            allowed = "a text in UTF-8 or UTF-16"
            raise RecordingFileError.of_file(self.path, problem, allowed) from error

    def _binary(self, start: bytes) -> RecordingFileError:
        zeros = [start[index::2].count(0) for index in (0, 1)]
        wide = len(start) > 8 and max(zeros) > len(start) // 4 and min(zeros) == 0
        problem = "is text in UTF-16 without a byte order mark" if wide else "is not a text file"
        allowed = "CSV in UTF-8, TwinCAT, MATLAB, Parquet, ROS 2 bag, MCAP or TDMS"
        return RecordingFileError.of_file(self.path, problem, allowed)


def decoded(data: bytes) -> str:
    """Text of bytes in UTF-8, or in the code page of Western Windows where it is not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


class _Hashed(io.RawIOBase):
    """A file whose bytes go into a checksum as they are read."""

    def __init__(self, file: IO[bytes], checksum: hashlib._Hash) -> None:
        self.file = file
        self.checksum = checksum

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self.checksum.update(data)
        return data

    def readable(self) -> bool:
        return True


# Lines of a text file to numbers, cell by cell: what is not a number is named with its place.


COMMENTS = ("#", "%", "//")
_MISSING = frozenset(["", "nan", "-nan", "na", "n/a", "#n/a", "null", "none", "nan(ind)", "?"])
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?|[+-]?(inf|infinity)", re.IGNORECASE)
_TRUTH = {"true": 1.0, "false": 0.0}
_CLOCK = re.compile(
    r"(?:(?P<date>\d{4}-\d\d?-\d\d?|\d\d?\.\d\d?\.\d{4}|\d{4}/\d\d?/\d\d?)[T ]\s*)?"
    r"(?P<hour>\d\d?):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,:](?P<part>\d{1,9}))?Z?"
)
MOST_TICKS = 19  # digits: a time of 100 ns ticks has 18
_SHOWN = 40  # characters of a cell in a message


@dataclass(frozen=True)
class Dialect:
    """How the lines of a text file are to be read; an empty separator means blanks."""

    path: str
    columns: tuple[Column, ...]
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
        self.start: str | None = None  # its date and time, where it has a date

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
        if len(cells) != len(self.dialect.columns):
            cells = self._completed(cells, number, last)
        values = []
        for index in self.used:
            value = self._value(cells[index], index)
            if value is None:
                raise self._bad_cell(cells[index], index, number, last)
            values.append(value)
        return values

    def _completed(self, cells: list[str], number: int, last: bool) -> list[str]:
        wanted = len(self.dialect.columns)
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
            value = float(text.replace("d", "e").replace("D", "e"))
            return None if _overflows(value, text) else value
        if text.lower() in _MISSING:
            return float("nan")
        return _TRUTH.get(text.lower())

    def _seconds(self, text: str) -> float | None:
        stamp = nanoseconds(text)
        ticks = self.dialect.ticks and text.isdecimal() and len(text) <= MOST_TICKS
        if ticks:
            stamp = int(text) * 100
        if stamp is None:
            return float("nan") if text.lower() in _MISSING else None
        if self.origin is None:
            self.origin = stamp
            self.start = date_time(stamp - FILETIME, True) if ticks else _dated(text, stamp)
        return (stamp - self.origin) / 1e9

    def _bad_cell(self, cell: str, index: int, number: int, last: bool) -> RecordingFileError:
        text = cell.strip()
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
        problem, allowed = f"is {shown!r}", "a number, or an empty cell where it is missing"
        other = "," if self.dialect.decimal == "." else "."
        if _NUMBER.fullmatch(text.replace(other, ".")) and other in text:
            problem += f", with the decimal mark {other!r}"
            allowed = f"numbers with the decimal mark {self.dialect.decimal!r} throughout"
        elif _NUMBER.fullmatch(text.replace(",", ".")):
            allowed = "a number of at most 1.8e308"
        elif last:
            problem += " in a line that is cut off: the file is truncated"
        column = self.dialect.columns[index]
        use = quietly_recognised(column, index)
        return RecordingFileError(
            "cell" if use is None else use.target,
            shown,
            allowed,
            path=self.dialect.path,
            line=number,
            column=column.name,
            problem=problem,
        )


def _overflows(value: float, text: str) -> bool:
    """Whether a number is too large for a double; one that is written as inf is not."""
    return math.isinf(value) and text[-1].isdigit()


def split_line(line: str, separator: str) -> list[str]:
    """The cells of a line; quotes are understood, blanks count as one separator."""
    line = line.rstrip("\r\n")
    if not separator:
        return line.split()
    if '"' in line:
        with suppress(csv.Error):  # a carriage return, or a quote that is not closed for long
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


FILETIME = 11_644_473_600_000_000_000  # ns from 1601 to 1970


def date_time(stamp: int, utc: bool) -> str | None:
    """An ISO text of ns since 1970; None beyond the calendar."""
    try:
        found = datetime(1970, 1, 1) + timedelta(microseconds=stamp // 1000)
    except OverflowError:
        return None
    return found.isoformat() + ("+00:00" if utc else "")


def _dated(text: str, stamp: int) -> str | None:
    """The date and time of a stamp; None where it is a time of day."""
    match = _CLOCK.fullmatch(text)
    if match is None or not match["date"]:
        return None
    return date_time(stamp, text.endswith("Z"))


# Lines of plain numbers to an array at more than a million rows a second, where the compiled parser
# (`backends.loader.parse_lines`) is not in use.
#
# The numbers are read by scipy's Matrix Market reader, which is compiled, exact and uses all cores;
# but it stops at the first character that does not belong to a number. So every character is looked
# at before: what is not certainly a rectangle of plain numbers is left to the careful parser.
#
# A cell is a number if it reads  [sign] digits [. digits] [e [sign] digits].  No automaton has to
# run over the text for that. Every byte gets a kind, 0 to 7, by one table; digits are dropped, and
# what is left are marks: points, signs, exponents, separators, line ends. In a number it depends on
# two neighbouring marks alone whether they may follow each other, and on whether digits stand
# between them. So each pair of neighbours becomes one code,
#
#     code = 64 [side by side] + 8 kind before + kind after,    0 <= code < 128
#
# and a table of 128 truth values says which codes are forbidden: "1.2.3" has a point after a point,
# "1-2" a sign apart from what is before it, "," "," two separators side by side. A sign behind an
# exponent has a kind of its own, because after it other marks may follow than after a sign in
# front. All of it is array arithmetic on the marks, two or three a number. At last separators and
# line ends must come as a rectangle: `count` cells in every line.


_DIGIT, _POINT, _SIGN, _EXPONENT, _NEXT, _END, _OTHER, _POWER_SIGN = range(8)


def parse_plain(text: bytes, separator: bytes, count: int, used: list[int]) -> FloatArray | None:
    """The used columns (len(used), n) of lines with `count` cells each; None where in doubt.

    `text` ends with a line feed; the decimal mark is a point.
    """
    if not text:
        return np.empty((len(used), 0))
    text = _without_blanks(text, separator)
    if len(used) < count:
        chosen = _chosen_cells(text, separator, count, used)
        if chosen is None:
            return None
        text = chosen
    rows = _plain_rows(text, separator, len(used))
    if rows is None:
        return None
    from scipy.io import mmread  # takes longer than the rest of the import

    head = b"%%%%MatrixMarket matrix array real general\n%d %d\n" % (len(used), rows)
    try:
        found = mmread(io.BytesIO(head + text.replace(separator, b"\n")))
    except ValueError:  # a lone point, for instance
        return None
    block = np.asarray(found, dtype=np.float64)
    return block if np.isfinite(block).all() else None  # digits may say more than a double holds


def _without_blanks(text: bytes, separator: bytes) -> bytes:
    """Blanks beside separators and at the ends of lines taken out; one within a cell stays."""
    if separator == b" " or b" " not in text:
        return text
    for mark in (separator, b"\n"):
        while b" " + mark in text:
            text = text.replace(b" " + mark, mark)
        while mark + b" " in text:
            text = text.replace(mark + b" ", mark)
    return text.lstrip(b" ")


def _plain_rows(text: bytes, separator: bytes, count: int) -> int | None:
    """The number of lines, if every line has `count` cells and every cell is a plain number."""
    kinds = np.frombuffer((b"\n" + text).translate(_kinds(separator)), np.uint8)
    at = np.flatnonzero(kinds != 0)  # everything but digits; on truth values it is fast
    kind = kinds[at]
    power = (kind[1:] == _SIGN) & (kind[:-1] == _EXPONENT)
    if power.any():
        kind[1:][power] = _POWER_SIGN
    pair = kind[:-1] * np.uint8(8)
    pair += kind[1:]
    pair += (np.diff(at) == 1).view(np.uint8) * np.uint8(64)
    if _forbidden()[pair].any():
        return None
    marks = kind[1:][(kind[1:] == _NEXT) | (kind[1:] == _END)]
    return len(marks) // count if _rectangle(marks, count) else None


def _rectangle(marks: npt.NDArray[np.uint8], count: int) -> bool:
    """Whether separators and line ends come as lines of `count` cells."""
    if marks.size % count:
        return False
    lines = marks.reshape(-1, count)
    return bool((lines[:, -1] == _END).all() and (lines[:, :-1] == _NEXT).all())


def _chosen_cells(text: bytes, separator: bytes, count: int, used: list[int]) -> bytes | None:
    """The same lines with the used cells alone; None where the lines are no rectangle."""
    raw = np.frombuffer(text, np.uint8)
    marks = np.flatnonzero((raw == separator[0]) | (raw == 10))
    is_end = raw[marks] == 10
    if not _rectangle(np.where(is_end, np.uint8(_END), np.uint8(_NEXT)), count) or b'"' in text:
        return None
    ends = marks.reshape(-1, count)
    starts = np.empty_like(ends)
    starts.flat[0] = 0
    starts.flat[1:] = ends.flat[:-1] + 1
    if np.isin(raw[starts[:, 0]], np.frombuffer(b"#%/", np.uint8)).any():  # a comment, perhaps
        return None
    step = np.zeros(raw.size + 1, np.int8)
    step[starts[:, used].ravel()] += 1
    step[ends[:, used].ravel() + 1] -= 1  # the mark after a cell goes with it
    raw = raw.copy()
    raw[ends[:, used[:-1]]] = separator[0]
    raw[ends[:, used[-1]]] = 10
    return bytes(raw[np.cumsum(step[:-1], dtype=np.int8) == 1])


@cache
def _kinds(separator: bytes) -> bytes:
    """The kind of every byte; 0 is a digit, so that digits drop out."""
    table = bytearray([_OTHER]) * 256
    for letters, kind in (
        (b"0123456789", _DIGIT),
        (b".", _POINT),
        (b"+-", _SIGN),
        (b"eE", _EXPONENT),
        (b"\n", _END),
        (separator, _NEXT),
    ):
        for letter in letters:
            table[letter] = kind
    return bytes(table)


@cache
def _forbidden() -> BoolArray:
    """Which marks may not follow each other, apart (0..63) and side by side (64..127).

    Digits stand between two marks that are apart. Allowed is:
    [sign] digits [. digits] [e [sign] digits].
    """
    allowed = np.zeros((2, 8, 8), dtype=bool)
    apart, beside, both = 0, 1, slice(None)
    stops = [_NEXT, _END]
    for stop in stops:
        allowed[beside, stop, _SIGN] = True
    for before in (*stops, _SIGN):
        allowed[both, before, _POINT] = True
        allowed[apart, before, _EXPONENT] = True
        allowed[apart, before, stops] = True
    allowed[both, _POINT, _EXPONENT] = True
    allowed[both, _POINT, stops] = True
    allowed[beside, _EXPONENT, _POWER_SIGN] = True
    allowed[apart, _EXPONENT, stops] = True
    allowed[apart, _POWER_SIGN, stops] = True
    return ~allowed.ravel()
