"""What a reader does to a log on request: rows cut out by time, short holes filled.

Rows are cut first: what is wrong in them needs no repair. Everything that is done stands in the
provenance of the recording.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from deltadyn.arrays import BoolArray
from deltadyn.errors import InputError, RecordingFileError
from deltadyn.motion.arguments import is_real
from deltadyn.recording.checks import check_recording
from deltadyn.recording.recording import Recording
from deltadyn.recording.repair import REPAIRS, repair

if TYPE_CHECKING:
    from deltadyn.recording.read import ReadOptions

#: Short names of repairs, as the command line has them.
REPAIR_NAMES = {"nan": "not finite", **{name.replace(" ", "-"): name for name in REPAIRS}}
#: Repairs of a log that comes in pieces: the others need all of its rows at once.
REPAIRS_OF_PIECES = ("not finite", "gap")
CARRIED_ROWS = 50  # at most, from a piece to the next, for holes at its end


def repair_kinds(names: Iterable[str]) -> tuple[str, ...]:
    """The kinds of findings of some repairs, by their own or their short names."""
    given = (names,) if isinstance(names, str) else tuple(names)
    for name in given:
        if not isinstance(name, str) or REPAIR_NAMES.get(name, name) not in REPAIRS:
            raise InputError("repair", name, f"one of {', '.join(REPAIR_NAMES)}")
    return tuple(REPAIR_NAMES.get(name, name) for name in given)


def time_ranges(ranges: Any) -> tuple[tuple[float, float], ...]:
    """Ranges of time (s) as pairs, checked."""
    allowed = "pairs of times in s, the first before the second, as (3.2, 4.5)"
    try:
        pairs = [(low, high) for low, high in ranges]
    except (TypeError, ValueError):
        raise InputError("exclude", ranges, allowed) from None
    for pair in pairs:
        if not all(map(is_real, pair)) or not pair[0] < pair[1]:
            raise InputError("exclude", pair, allowed)
    return tuple((float(low), float(high)) for low, high in pairs)


def correct_recording(recording: Recording, options: ReadOptions) -> Recording:
    """A recording without the rows that are not wanted, and repaired where that is asked for."""
    cut = cut_times(recording, options)
    if not len(cut):
        raise _no_rows_left(recording, span(recording), options)
    if not options.repair:
        return cut
    return _repaired(cut, repair_kinds(options.repair))


def cut_times(recording: Recording, options: ReadOptions) -> Recording:
    """The rows with start <= t < stop outside of all excluded ranges [low, high)."""
    t = recording.t
    for low, high, keep in _wanted_ranges(options):
        with np.errstate(invalid="ignore"):
            inside: BoolArray = (t >= low) & (t < high)
        wanted = inside if keep else ~inside
        verb = "kept" if keep else "left out"
        edit = f"{verb}: t {_range_text(low, high)}, {int(inside.sum())} rows"
        recording, t = recording.take(np.flatnonzero(wanted), edit), t[wanted]
    return recording


def _wanted_ranges(options: ReadOptions) -> Iterator[tuple[float, float, bool]]:
    """Ranges of time, and whether their rows are kept or left out."""
    if options.start is not None or options.stop is not None:
        low = -math.inf if options.start is None else options.start
        yield low, math.inf if options.stop is None else options.stop, True
    for low, high in options.exclude:
        yield low, high, False


def _range_text(low: float, high: float) -> str:
    """A range of time in words."""
    ends = [f"from {low:g} s" * math.isfinite(low), f"to {high:g} s" * math.isfinite(high)]
    return " ".join(filter(None, ends))


def span(recording: Recording) -> tuple[float, float]:
    """The first and the last time of a recording in s."""
    known = recording.t[np.isfinite(recording.t)]
    return (float(known[0]), float(known[-1])) if len(known) else (math.nan, math.nan)


def _no_rows_left(
    recording: Recording, times: tuple[float, float], options: ReadOptions
) -> RecordingFileError:
    """The error for a log of which nothing is left."""
    ranges = [_range_text(low, high) for low, high, _ in _wanted_ranges(options)]
    return RecordingFileError.of_file(
        recording.provenance.file or recording.name,
        f"has no row in the times that are wanted ({', '.join(ranges)})",
        f"times of the log, {times[0]:g} to {times[1]:g} s",
    )


def correct_pieces(pieces: Iterator[Recording], options: ReadOptions) -> Iterator[Recording]:
    """The same for a log that comes in pieces; rows at the end of one wait for the next."""
    kinds = repair_kinds(options.repair)
    late = [kind for kind in kinds if kind not in REPAIRS_OF_PIECES]
    if late:
        allowed = f"{' or '.join(REPAIRS_OF_PIECES)} for a log that is read in pieces"
        raise InputError("repair", late[0], allowed)
    wanted = _cut_pieces(pieces, options) if options.cuts else pieces
    yield from _repaired_pieces(wanted, kinds) if kinds else wanted


def _cut_pieces(pieces: Iterator[Recording], options: ReadOptions) -> Iterator[Recording]:
    """The rows of every piece whose time is wanted; at least one row must be left."""
    count, piece, first = 0, None, math.nan
    for piece in pieces:
        cut = cut_times(piece, options)
        first = span(piece)[0] if math.isnan(first) else first
        count += len(cut)
        if len(cut):
            yield cut
    if not count and piece is not None:
        raise _no_rows_left(piece, (first, span(piece)[1]), options)


def _repaired_pieces(pieces: Iterator[Recording], kinds: tuple[str, ...]) -> Iterator[Recording]:
    """Every piece repaired up to its last finite row, with which the next one begins again."""
    waiting: Recording | None = None  # from the last finite row on, which was given out already
    for piece in pieces:
        part = piece if waiting is None else _appended(waiting, piece)
        stop = _last_finite(part)
        fixed = _repaired(_rows(part, 0, stop + 1), kinds)
        yield _rows(fixed, 0 if waiting is None else 1, len(fixed))
        waiting = _rows(part, stop, len(part))
    if waiting is not None and len(waiting) > 1:
        fixed = _repaired(waiting, kinds)
        yield _rows(fixed, 1, len(fixed))


def _repaired(recording: Recording, kinds: tuple[str, ...]) -> Recording:
    return repair(recording, check_recording(recording), kinds)


def _last_finite(recording: Recording) -> int:
    """The last finite row near the end: holes behind it are filled together with the next piece."""
    stop = len(recording)
    finite = np.ones(min(stop, CARRIED_ROWS), dtype=bool)
    for array in recording.channels().values():
        rows = array[stop - len(finite) :].reshape(len(finite), -1)
        finite &= np.isfinite(rows).all(axis=1)
    known = np.flatnonzero(finite)
    return stop - len(finite) + int(known[-1]) if known.size else stop - 1


def _rows(recording: Recording, start: int, stop: int) -> Recording:
    """Rows of a piece, without a word in its provenance."""
    values = {name: array[start:stop] for name, array in recording.channels().items()}
    return recording.replace(**values)


def _appended(first: Recording, second: Recording) -> Recording:
    """Two pieces of one log in one."""
    values = {
        name: np.concatenate([array, getattr(second, name)])
        for name, array in first.channels().items()
    }
    return second.replace(**values)
