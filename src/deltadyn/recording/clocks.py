"""Files in which channels have their own time columns: one clock for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.recording.columns import Assignment, Column, units_of
from deltadyn.recording.failures import RecordingFileError
from deltadyn.recording.recording import ColumnUse
from deltadyn.recording.table import Table

TOLERANCE = 1e-3  # of a time step, below which two clocks are the same


def time_use(columns: Sequence[Column], clock: int) -> ColumnUse:
    """The use of a clock's time column."""
    for index, column in enumerate(columns):
        if column.is_time and column.clock == clock:
            unit = units_of("t", None).unit(column.unit or "s")
            return ColumnUse(column.name, index, "t", None, "s" if unit is None else unit.name)
    raise LookupError(clock)


def clocks_used(table: Table, columns: Assignment) -> list[int]:
    """The clocks of the columns in use, that of q1 first."""
    ordered = sorted(columns.uses, key=lambda use: (use.quantity != "q", use.axis or 0))
    return list(dict.fromkeys(table.columns[use.index].clock for use in ordered))


def one_clock(
    table: Table, columns: Assignment, *, interpolate: bool
) -> tuple[dict[int, FloatArray], list[str]]:
    """All used columns on the clock of q1, by their index, and what was done.

    Clocks that are the same are merged. Others are refused, or with `interpolate` their channels
    are taken linearly at the times of q1's clock, as far as all clocks reach.
    """
    clocks = clocks_used(table, columns)
    times = {clock: time_use(table.columns, clock) for clock in clocks}
    used = sorted({use.index for use in (*columns.uses, *times.values())})
    whole = np.concatenate(list(table.blocks(1_000_000, used)), axis=1)
    raw = dict(zip(used, whole, strict=True))
    stamps = {clock: _finite(raw[use.index]) for clock, use in times.items()}
    for clock, stamp in stamps.items():
        if not len(stamp):
            raise _failure(table, clocks, stamps, f"clock {clock + 1} has no times")
    base = stamps[clocks[0]]
    out = {times[clocks[0]].index: base}
    different = [clock for clock in clocks if not _same(base, stamps[clock])]
    if different and not interpolate:
        raise _failure(table, clocks, stamps, _described(table, columns, stamps))
    low, high = (max(s[0] for s in stamps.values()), min(s[-1] for s in stamps.values()))
    inside = (base >= low) & (base <= high) if different else np.ones(len(base), dtype=bool)
    for use in columns.uses:
        clock = table.columns[use.index].clock
        stamp = stamps[clock]
        values = raw[use.index][: len(stamp)]
        if clock in different:
            values = np.interp(base, stamp, values)
        out[use.index] = values[inside]
    out[times[clocks[0]].index] = base[inside]
    return out, _notes(table, columns, different, int((~inside).sum()))


def without_tail(block: FloatArray, time_row: int) -> FloatArray:
    """The rows up to the last time: a shorter group of channels ends with empty cells."""
    empty = np.isnan(block).all(axis=0)
    if not np.isnan(block[time_row, -1]) or not empty.any():
        return block
    filled = np.flatnonzero(~empty)
    return block[:, : int(filled[-1]) + 1 if filled.size else 0]


def trimmed(blocks: Iterator[FloatArray], time_row: int) -> Iterator[FloatArray]:
    """Blocks without the empty rows at the end."""
    for block in blocks:
        kept = without_tail(block, time_row)
        if kept.shape[1]:
            yield kept


def _finite(times: FloatArray) -> FloatArray:
    """The times up to the last that is a number."""
    known = np.flatnonzero(~np.isnan(times))
    return times[: known[-1] + 1] if known.size else times[:0]


def _same(one: FloatArray, two: FloatArray) -> bool:
    if one is two:
        return True
    if one.size != two.size:
        return False
    step = float(np.median(np.diff(one))) if one.size > 1 else 0.0
    return bool(np.abs(one - two).max(initial=0.0) <= TOLERANCE * abs(step))


def _described(table: Table, columns: Assignment, stamps: dict[int, FloatArray]) -> str:
    """Which channels each clock has, for a message."""
    texts = []
    for clock, stamp in stamps.items():
        names = [u.target for u in columns.uses if table.columns[u.index].clock == clock]
        step = f"{np.median(np.diff(stamp)):g}" if stamp.size > 1 else "?"
        unit = time_use(table.columns, clock).unit
        texts.append(f"{', '.join(names)}: {stamp.size} samples, every {step} {unit}")
    return f"has channels on different clocks ({'; '.join(texts)})"


def _notes(table: Table, columns: Assignment, different: list[int], cut: int) -> list[str]:
    names = [use.target for use in columns.uses if table.columns[use.index].clock in different]
    if not names:
        return []
    end = f"; {cut} rows outside all clocks left out" if cut else ""
    return [f"{', '.join(names)} interpolated linearly at the times of q1{end}"]


def _failure(
    table: Table, clocks: list[int], stamps: dict[int, FloatArray], problem: str
) -> RecordingFileError:
    return RecordingFileError(
        "time",
        [stamps[clock].size for clock in clocks],
        "one clock for all channels, or interpolate=True",
        path=table.path,
        problem=problem,
    )
