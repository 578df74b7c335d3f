"""Readers of recordings: a file per format, each with a `Reader`, and its name here.

A reader knows the files of its format and gives the table of one of them: its columns and its
numbers in blocks; nothing is converted yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import RecordingFileError, UnknownNameError
from deltadyn.files import file_digest
from deltadyn.recording.columns import Column
from deltadyn.recording.readers.text import TextFile

if TYPE_CHECKING:
    from deltadyn.recording.read import ReadOptions  # it reads with these

#: blocks(rows, used): the used columns, at most so many rows at a time, each (len(used), n).
Blocks = Callable[[int, Sequence[int]], Iterator[FloatArray]]

#: excerpt(start, rows, used): so many rows (len(used), n) from a share of the file on, and what
#: share of it they take; None where rows in the middle cannot be read by themselves.
Excerpt = Callable[[float, int, Sequence[int]], tuple[FloatArray, float] | None]


@dataclass(frozen=True)
class Head:
    """The beginning of a file, by which its format is known, and how it is to be read.

    Of a folder there are no bytes.
    """

    path: str
    start: bytes
    options: ReadOptions

    @cached_property
    def text(self) -> str:
        """The first lines of a text file."""
        return TextFile(self.path).head()


MOST_COLUMNS = 4096


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file and its numbers, block by block.

    `labels` may hold name, robot, limbs, payload_kg and convention, as deltadyn's own files do.
    With `clocks` above 1 a row is not an instant: every clock has its own time column, and what is
    missing at the end of a column is NaN. `notes` and `checksum` (SHA-256 of the file; None: not
    taken yet) are complete when all blocks were taken. `excerpt` reads some rows in the middle.
    `start` is that of `Provenance`, known from the first block on.
    """

    path: str
    reader: str
    columns: tuple[Column, ...]
    blocks: Blocks
    clocks: int = 1
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: Callable[[], tuple[str, ...]] = tuple
    checksum: Callable[[], str | None] | None = None
    progress: Callable[[], float] = lambda: 1.0  # share of the file that was read
    excerpt: Excerpt | None = None
    start: Callable[[], str | None] = lambda: None

    def __post_init__(self) -> None:
        if len(self.columns) > MOST_COLUMNS:
            problem = f"has {len(self.columns)} columns"
            allowed = f"a log of at most {MOST_COLUMNS}: are its rows one line?"
            raise RecordingFileError.of_file(self.path, problem, allowed)


@dataclass(frozen=True)
class Reader:
    """One format: its name in `ReadOptions.format`, and two functions.

    `sniff` tells whether a file that begins so is of this format. `open` gives the table of a
    file; its rows are read when the blocks are taken.
    """

    name: str
    sniff: Callable[[Head], bool]
    open: Callable[[Head], Table]


def blocks_of(columns: Sequence[FloatArray]) -> Blocks:
    """Blocks of columns that are in memory; shorter ones end with NaN."""
    length = max((column.size for column in columns), default=0)

    def blocks(rows: int, used: Sequence[int]) -> Iterator[FloatArray]:
        for start in range(0, length, rows):
            stop = min(start + rows, length)
            block = np.full((len(used), stop - start), np.nan)
            for target, index in zip(block, used, strict=True):
                part = columns[index][start:stop]
                target[: part.size] = part
            yield block

    return blocks


def regrouped(blocks: Iterator[FloatArray], rows: int) -> Iterator[FloatArray]:
    """The same numbers in blocks of exactly `rows` rows; only the last may be shorter.

    The last one comes after the end of `blocks`, when all is known about the file.
    """
    waiting: list[FloatArray] = []
    count = 0
    for block in blocks:
        waiting.append(block)
        count += block.shape[1]
        while count > rows:
            joined = waiting[0] if len(waiting) == 1 else np.concatenate(waiting, axis=1)
            yield joined[:, :rows]
            waiting = [joined[:, rows:]]
            count -= rows
    if count:
        yield np.concatenate(waiting, axis=1)


@contextmanager
def damaged(
    path: str, allowed: str, kinds: tuple[type[Exception], ...] = (Exception,)
) -> Iterator[None]:
    """What a library raises for a damaged file, by default anything, as an error of the file."""
    try:
        yield
    except RecordingFileError:
        raise
    except kinds as error:
        raise RecordingFileError.of_file(path, unreadable(error), allowed) from error


def unreadable(error: Exception) -> str:
    """What a library says about a damaged file, as a problem of ours."""
    return f"cannot be read: {(str(error) or repr(error)).splitlines()[0]}"


#: Modules in the order in which a file is shown to them: CSV takes every text that no other knows.
READERS = ("tdms", "ros", "lerobot", "parquet", "matlab", "twincat", "csv")
FORMATS = READERS[::-1]
FOLDERS = ("ros", "lerobot")  # whose files may be in a folder

_START = 600  # bytes; the header of a MATLAB 7.3 file has 512
_ARCHIVES = ((b"PK\x03\x04", "zip"), (b"7z\xbc\xaf", "7z"), (b"Rar!", "rar"))


def open_table(path: str, options: ReadOptions) -> Table:
    """The table of a file in the format that is asked for, or that its content has."""
    wanted = options.format
    if wanted is not None and wanted not in FORMATS:
        raise UnknownNameError("format", wanted, FORMATS)
    head = _head(path, options)
    table = _reader(head, wanted).open(head)
    if table.checksum is None:
        digest = file_digest(path) if Path(path).is_file() else None  # a bag's folder has none
        table = replace(table, checksum=lambda: digest)
    return table


def _head(path: str, options: ReadOptions) -> Head:
    """The first bytes of a file; archives and what cannot be opened are refused."""
    file = Path(path)
    try:
        if file.is_dir():
            return Head(path, b"", options)
        with file.open("rb") as stream:
            start = stream.read(_START)
    except FileNotFoundError:
        raise _failure(path, "does not exist") from None
    except (OSError, ValueError) as error:
        raise _failure(path, unreadable(error)) from error
    for magic, name in _ARCHIVES:
        if start.startswith(magic):
            problem = f"is a {name} archive (or an Excel workbook): unpack it, or export it as CSV"
            raise _failure(path, problem)
    return Head(path, start, options)


def _reader(head: Head, wanted: str | None) -> Reader:
    folder = Path(head.path).is_dir()
    if folder:
        for reader in map(_named, FOLDERS):
            if reader.sniff(head):
                return reader
        problem = (
            "is a folder, and not that of a ROS 2 bag (no metadata.yaml) or of a LeRobot dataset "
            "(no meta/info.json)"
        )
        raise _failure(head.path, problem)
    if wanted is not None:
        return _named(wanted)
    if not head.start.strip():
        raise _failure(head.path, "is empty")
    return next(reader for reader in map(_named, READERS) if reader.sniff(head))


def _named(name: str) -> Reader:
    return cast("Reader", import_module(f"{__name__}.{name}").READER)


def _failure(path: str, problem: str) -> RecordingFileError:
    allowed = "a file in CSV, TwinCAT Scope, MATLAB, Parquet, LeRobot, ROS bag, MCAP or TDMS format"
    return RecordingFileError.of_file(path, problem, allowed)
