"""Text exports of TwinCAT Scope: a header block, channel properties, then rows.

Every group of channels has its own time column: milliseconds since the start of the export, or
100 ns ticks since 1601 ("full timestamp"). Groups of other rates are shorter and leave cells empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deltadyn.errors import RecordingFileError
from deltadyn.recording.columns import Column
from deltadyn.recording.readers import Head, Reader, Table
from deltadyn.recording.readers.csv import SAMPLE, decimal_mark, text_table
from deltadyn.recording.readers.text import Dialect, is_number, split_line

_SEPARATORS = "\t;,|: "
_KEYS = ("Data-Type", "SampleTime[ms]", "VariableSize", "SymbolBased", "Port", "Name")
_MARKS = ("SymbolName", "SampleTime", "Starttime of export", "SymbolComment", "Data-Type")
_FILETIME_DIGITS = 16  # relative times in ms are shorter


@dataclass(frozen=True)
class Header:
    """The channel properties: rows of cells by their key, and where the data begin."""

    rows: dict[str, list[str]]
    general: dict[str, list[str]]
    separator: str
    first_line: int
    sample: tuple[str, ...]


def is_twincat(text: str) -> bool:
    """Whether the head of a text file is that of a TwinCAT Scope export."""
    lines = text.split("\n")[:60]
    first = next((line for line in lines if line.strip()), "")
    if not first.startswith("Name") or first[4:5] not in tuple(_SEPARATORS):
        return False
    return any(line.startswith(_MARKS) for line in lines)


def open_twincat(head: Head) -> Table:
    """The table of a TwinCAT Scope export; every group of channels is a clock."""
    path = head.path
    header = _header(head.text, path)
    key = next((word for word in _KEYS if word in header.rows), "Name")
    names = header.rows["Name"]
    marks = header.rows[key]
    if len(names) != len(marks):
        raise _unreadable(path, "has channel names that hold the separator")
    columns = _columns(header, marks, key)
    cells = [len(split_line(line, header.separator)) for line in header.sample]
    if max(cells) < len(names):
        raise _unreadable(path, f"has {max(cells)} cells a row for {len(names)} header cells")
    first = split_line(header.sample[0], header.separator)
    times = [index for index, column in enumerate(columns) if column.is_time]
    ticks = len(first) > times[-1] and all(
        len(first[index].strip()) >= _FILETIME_DIGITS for index in times
    )
    if ticks:
        columns = tuple(replace(c, unit="s") if c.is_time else c for c in columns)
    dialect = Dialect(
        path,
        columns,
        separator=header.separator,
        decimal=head.options.decimal or decimal_mark(header.sample, header.separator),
        stamps=tuple(times) if ticks else (),
        ticks=ticks,
        short_lines=True,
        skip=head.options.skip,
        end_mark="EOF",
    )
    notes = (*_general_notes(header, ticks), *_scale_notes(header, columns))
    clocks = columns[-1].clock + 1
    return text_table(dialect, header.first_line, notes, reader="twincat", clocks=clocks)


def _header(text: str, path: str) -> Header:
    lines = [line.rstrip("\r") for line in text.split("\n")]
    first = next(line for line in lines if line.strip())
    separator = first[4]
    general: dict[str, list[str]] = {}
    rows: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            if "Name" in rows and not (set(rows) <= {"Name", "File"}):
                continue
            general, rows = {**general, **rows}, {}
            continue
        cells = split_line(line, separator)
        if is_number(cells[0]) or not cells[0].strip():
            if "Name" not in rows:  # a header of names alone, with no blank line before it
                rows = general
            sample = tuple(item for item in lines[number - 1 :] if item.strip())[:SAMPLE]
            return Header(rows, general, separator, number, sample)
        rows[cells[0]] = [cell.strip() for cell in cells]
    raise RecordingFileError.of_file(
        path, "has no rows of data", "a TwinCAT Scope export with rows"
    )


def _columns(header: Header, marks: Sequence[str], key: str) -> tuple[Column, ...]:
    """Time columns where the key is repeated, channels elsewhere."""
    names = header.rows["Name"]
    symbols = header.rows.get("SymbolName", [])
    units = header.rows.get("Unit", [])
    columns: list[Column] = []
    clock = -1
    for index, mark in enumerate(marks):
        if mark == key:
            clock += 1
            columns.append(Column(f"time {clock + 1}", "ms", clock, True))
            continue
        unit = units[index].partition("(")[0].strip() if index < len(units) else ""
        symbol = symbols[index] if index < len(symbols) else ""
        columns.append(Column(names[index], unit or None, clock, False, symbol))
    return tuple(columns)


def _general_notes(header: Header, ticks: bool) -> list[str]:
    start = header.general.get("Starttime of export", header.rows.get("Starttime of export"))
    notes = [f"export began at {' '.join(start[2:])}"] if start and len(start) > 2 else []
    if ticks:
        notes.append("full time stamps converted to seconds since the first row")
    return notes


def _scale_notes(header: Header, columns: Sequence[Column]) -> list[str]:
    """Scalings that the header names: the export may hold them or not, so nothing is applied."""
    notes = []
    for key, neutral in (("ScaleFactor", "1"), ("Unit ScaleFactor", "1"), ("Unit Offset", "0")):
        for cell, column in zip(header.rows.get(key, []), columns, strict=False):
            if not column.is_time and cell not in (neutral, ""):
                notes.append(f"{column.name!r} has {key} {cell} in the header; not applied")
    return notes


def _unreadable(path: str, problem: str) -> RecordingFileError:
    allowed = (
        "an export with tabs or semicolons and with time columns (Timelines: 'All' or "
        "'For each sampletime')"
    )
    return RecordingFileError.of_file(path, problem, allowed)


READER = Reader("twincat", lambda head: is_twincat(head.text), open_twincat)
