"""Readers of recordings: a file per format, and a row here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from deltadyn.errors import RecordingFileError, UnknownNameError
from deltadyn.recording.readers import csv, matlab, parquet, ros, tdms, twincat
from deltadyn.recording.readers.reader import (
    Head,
    Reader,
    ReadOptions,
    Table,
    file_digest,
    unreadable,
)

#: In the order in which a file is shown to them: CSV takes every text that no other knows.
READERS = (
    tdms.READER,
    ros.READER,
    parquet.READER,
    matlab.READER,
    twincat.READER,
    csv.READER,
)
FORMATS = tuple(reader.name for reader in reversed(READERS))

_START = 600  # bytes; the header of a MATLAB 7.3 file has 512
_ARCHIVES = ((b"PK\x03\x04", "zip"), (b"7z\xbc\xaf", "7z"), (b"Rar!", "rar"))


def open_table(path: str, options: ReadOptions) -> Table:
    """The table of a file in the format that is asked for, or that its content has."""
    wanted = options.format
    if wanted is not None and wanted not in FORMATS:
        raise UnknownNameError("format", wanted, FORMATS)
    head = _head(path)
    table = _reader(head, wanted).open(head, options)
    if table.checksum is None:
        digest = file_digest(path) if Path(path).is_file() else None  # a bag's folder has none
        table = replace(table, checksum=lambda: digest)
    return table


def _head(path: str) -> Head:
    """The first bytes of a file; archives and what cannot be opened are refused."""
    file = Path(path)
    try:
        if file.is_dir():
            return Head(path, b"")
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
    return Head(path, start)


def _reader(head: Head, wanted: str | None) -> Reader:
    if not Path(head.path).is_dir():
        if wanted is not None:
            return next(reader for reader in READERS if reader.name == wanted)
        if not head.start.strip():
            raise _failure(head.path, "is empty")
    elif not ros.READER.sniff(head):
        problem = "is a folder, and not that of a ROS 2 bag (no metadata.yaml)"
        raise _failure(head.path, problem)
    return next(reader for reader in READERS if reader.sniff(head))


def _failure(path: str, problem: str) -> RecordingFileError:
    allowed = "a file in CSV, TwinCAT Scope, MATLAB, Parquet, ROS bag, MCAP or TDMS format"
    return RecordingFileError.of_file(path, problem, allowed)
