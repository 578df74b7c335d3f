"""One more column of a recording's file, such as the gripper's: a signal that no model knows."""

from __future__ import annotations

from os import PathLike, fspath

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray
from deltadyn.errors import InputError, RecordingFileError, UnknownNameError
from deltadyn.recording.columns import units_of
from deltadyn.recording.read import CHUNK_ROWS, ReadOptions, time_use, trimmed
from deltadyn.recording.readers import Table, open_table
from deltadyn.recording.recording import ColumnUse, Recording

SHOWN = 5  # values that an error names


def read_switch(
    path: str | PathLike[str],
    column: str,
    recording: Recording,
    options: ReadOptions | None = None,
) -> BoolArray:
    """A column of two values at the samples (N,) of the recording: True at the larger one.

    `recording` is what `read_recording` made of the same file with the same options. The signal
    holds its value from a row to the next, so it may have a clock of its own.
    """
    values = read_signal(path, column, recording, options)
    found = np.unique(values)
    if len(found) != 2:
        shown = ", ".join(f"{value:g}" for value in found[:SHOWN])
        raise RecordingFileError(
            "signal",
            shown + (", ..." if len(found) > SHOWN else ""),
            "two values, such as 0 and 1",
            path=fspath(path),
            column=column,
            problem=f"has {len(found)} value{'s' if len(found) != 1 else ''}: {shown}",
        )
    out: BoolArray = values == found[1]
    return out


def read_signal(
    path: str | PathLike[str],
    column: str,
    recording: Recording,
    options: ReadOptions | None = None,
) -> FloatArray:
    """A column's own numbers at the samples (N,) of the recording: the last one up to each."""
    table = open_table(fspath(path), options or ReadOptions())
    place = _place(table, column)
    time = _time(table, recording, table.columns[place].clock)
    used = sorted({place} if time is None else {place, time.index})
    blocks = table.blocks(CHUNK_ROWS, used)
    if time is not None:
        blocks = trimmed(blocks, used.index(time.index))
    whole = np.concatenate(list(blocks), axis=1)
    values = whole[used.index(place)]
    if time is None:
        if len(values) != len(recording):
            allowed = f"{len(recording)}, as many as the recording has"
            raise InputError(f"rows of column {column!r}", len(values), allowed)
        at = np.arange(len(values))
    else:
        stamps = _seconds(time, whole[used.index(time.index)])
        order = np.argsort(stamps, kind="stable")
        late = np.searchsorted(stamps[order], recording.t, side="right") - 1
        at = order[np.maximum(late, 0)]
    taken: FloatArray = values[at]
    bad = np.flatnonzero(~np.isfinite(taken))
    if bad.size:
        raise RecordingFileError(
            "signal",
            float(taken[bad[0]]),
            "a number in every row",
            path=fspath(path),
            column=column,
            problem=f"has no number at t = {recording.t[bad[0]]:g} s",
        )
    return taken


def _place(table: Table, column: str) -> int:
    """The index of a column by its name, or by its second name."""
    for index, item in enumerate(table.columns):
        if column in (item.name, item.alias):
            return index
    raise UnknownNameError("column", column, [item.name for item in table.columns])


def _time(table: Table, recording: Recording, clock: int) -> ColumnUse | None:
    """The time column that goes with a clock; None where the file has none."""
    if any(column.is_time for column in table.columns):
        return time_use(table.columns, clock)
    return next((use for use in recording.provenance.columns if use.quantity == "t"), None)


def _seconds(use: ColumnUse, raw: FloatArray) -> FloatArray:
    unit = units_of("t", None).unit(use.unit)
    values = use.sign * use.scale * raw + use.offset
    if unit is None:
        raise InputError("unit of t", use.unit, "a unit of time")
    return unit.to_si(values)
