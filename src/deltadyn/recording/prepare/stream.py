"""Logs that do not fit into memory: a file, or consecutive chunks, read piece by piece.

The first samples of a log are kept. They tell what a fit must know before it starts: the sample
time, the bandwidth of the rates, the band, and whether signs and units are right.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from os import PathLike, fspath
from pathlib import Path
from threading import Condition, Thread
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.errors import InputError
from deltadyn.files import file_digest as file_digest
from deltadyn.options import merged, names_of
from deltadyn.recording.prepare.data import (
    CHUNK,
    SHORTEST,
    Cutting,
    Prepared,
    Rates,
    Window,
    check_axes,
    check_usable,
    check_values,
)
from deltadyn.recording.read import (
    CHUNK_ROWS,
    ReadOptions,
    iter_recording,
    recording_excerpts,
)
from deltadyn.recording.recording import DataSource, Recording, concatenate
from deltadyn.robot import Robot

HEAD = 400_000  # samples that are kept: some minutes
AHEAD = 192 * 2**20  # bytes that are read while the samples before them are worked on
MAX_EDITS = 100  # sentences about what was cut out and repaired that are kept of a long log
NEEDED = ("q", "tau", "qd", "qdd", "temperature")  # channels that a fit reads, beside t

FilePath = str | PathLike[str]
Chunks = Iterable[Recording] | Callable[[], Iterable[Recording]]


class Streamed:
    """One log that is read piece by piece: `source` is a file, or chunks that follow each other.

    Chunks come as an iterable of recordings, or as a function that gives one. What can be iterated
    once is read once: methods that read the samples again refuse it. `options`, or its fields as
    keywords, and `rows` are those of `iter_recording`; of these, chunks may have a `name` and a
    `payload` (kg) alone.
    """

    def __init__(
        self,
        robot: Robot,
        source: FilePath | Chunks,
        options: ReadOptions | None = None,
        *,
        rows: int = CHUNK_ROWS,
        **keywords: Any,
    ) -> None:
        reading = merged(ReadOptions, options, keywords)
        self.robot = robot
        self._reading = reading
        self._file: str | None = None
        self._once = False
        self._live: Iterator[Recording] | None = None
        self._changes: dict[str, Any] = {}
        if isinstance(source, str | PathLike):
            self._file = fspath(source)
            self._open: Callable[[], Iterable[Recording]] = partial(
                iter_recording, source, robot, reading, rows=rows
            )
        else:
            _check_for_chunks(reading, rows)
            self._open = _opener(source)
            self._once = isinstance(source, Iterator)
            given = {"name": reading.name, "payload": reading.payload}
            self._changes = {key: value for key, value in given.items() if value is not None}
        self._seen: DataSource | None = None
        self._live = self._pass()
        self._first, self._complete = _taken(self._live, HEAD)
        self.name, self.payload = self._first.name, self._first.payload

    @cached_property
    def head(self) -> Recording:
        """The first samples, `HEAD` of a longer log however it is cut."""
        return self._first if self._complete else self._first.rows(0, HEAD)

    @property
    def whole(self) -> Recording | None:
        """The log itself where its head is all of it."""
        return self.head if self._complete else None

    @property
    def again(self) -> bool:
        """Whether it can be read more than once."""
        return self._complete or not self._once

    @property
    def source(self) -> DataSource:
        """Where it came from; `sha256` is that of the file, or of the rows of t, q and tau."""
        if self._seen is None:
            for _ in self.pieces():
                pass
        assert self._seen is not None
        return self._seen

    def pieces(self) -> Iterator[Recording]:
        """The log from its start, with the channels that a fit reads, checked."""
        live, self._live = self._live, None
        if live is None and not self._complete:
            yield from self._again()
            return
        yield self._first
        if live is not None:
            yield from live

    def excerpts(self, count: int, rows: int) -> tuple[list[Recording], float] | None:
        """At most `count` pieces of `rows` samples, spread over the log, and their share of it.

        Of a text file nothing else is read; other logs are read once. None where a log can be read
        only once, or comes in shorter chunks.
        """
        own = self._text_excerpts(count, rows)
        if own is not None or self._complete or self._once:
            return own
        kept: list[Recording] = []
        step, total = 1, 0
        for number, piece in enumerate(self.pieces()):
            if not number and len(piece) < rows:
                return None
            total += len(piece)
            if number % step == 0 and len(piece) >= rows:
                first = (len(piece) - rows) // 2
                # indices copy the rows: a slice would keep the whole piece in memory
                kept.append(piece.take(np.arange(first, first + rows), "an excerpt"))
                if len(kept) > 2 * count:
                    kept, step = kept[::2], 2 * step
        places = np.unique(np.linspace(0, len(kept) - 1, count).round().astype(int))
        found = [kept[place] for place in places.tolist()]
        return found, sum(map(len, found)) / total

    def _text_excerpts(self, count: int, rows: int) -> tuple[list[Recording], float] | None:
        """Those of a text file; None where it has to be read from its start."""
        if self._file is None or self._complete or not Path(self._file).is_file():
            return None
        given = recording_excerpts(self._file, self.robot, self._reading, count=count, rows=rows)
        if given is None:
            return None
        found = [self._with_channels(item, self.name) for item in given[0]]
        found = [item.replace(payload=self.payload) for item in found]
        try:
            for item in found:
                check_values(item)
        except InputError:
            return None
        return found, given[1]

    def parts(
        self,
        *,
        rates: Rates = "auto",
        bandwidth: npt.ArrayLike | None = None,
        size: int = CHUNK,
        overlap: float = 0.0,
        shortest: int = SHORTEST,
        robot: Robot | None = None,
    ) -> Iterator[Callable[[], Prepared]]:
        """As `deferred_parts` of the whole log; the bandwidth is that of the head."""
        robot = robot or self.robot
        check_usable(robot, self.head)
        cutting = Cutting.of(robot, self.head, rates, bandwidth, size, overlap, shortest)
        window = Window(robot, cutting)
        for piece in self.pieces():
            yield from window.add(piece)
        yield from window.finish()

    def _again(self) -> Iterator[Recording]:
        """One more pass; of an iterator that is used up, the head alone before it is refused."""
        again = self._pass()
        try:
            first = next(again, None)
        except _UsedUpError:
            yield self._first
            raise InputError(
                f"chunks of {self.name!r}",
                "read already",
                "a list, a file, or a function that gives them anew: the samples are read again",
            ) from None
        if first is not None:
            yield first
            yield from again

    def _pass(self) -> Iterator[Recording]:
        """Checked pieces in order; those of a long file are read ahead."""
        pieces = self._checked_pieces()
        return pieces if self._file is None else read_ahead(pieces, HEAD, AHEAD)

    def _checked_pieces(self) -> Iterator[Recording]:
        """Checked pieces in order; after the last one it is known what the log was."""
        first: Recording | None = None
        count, end, sha = 0, None, None
        edits: dict[str, None] = {}  # in order, each once
        rows = None if self._file is not None and Path(self._file).is_file() else hashlib.sha256()
        for item in self._open():
            if not isinstance(item, Recording):
                raise InputError("chunks", type(item).__name__, "recordings")
            sha = item.provenance.sha256
            if len(edits) < MAX_EDITS:
                edits |= dict.fromkeys((*item.provenance.edits, *item.provenance.repairs))
            if not len(item):
                continue
            piece = self._checked(item, first, count, end)
            first = piece.rows(0, 1) if first is None else first
            count, end = count + len(piece), float(piece.t[-1])
            if rows is not None:
                rows.update(row_bytes(piece))
            yield piece
        if first is None or end is None:
            return
        if rows is not None:
            sha = rows.hexdigest()
        elif sha is None:  # a text file whose last piece came before its end
            sha = file_digest(str(self._file))
        file = self._file or first.provenance.file
        duration = end - float(first.t[0])
        self._seen = DataSource(
            first.name, file, sha, count, duration, first.payload, tuple(edits)[:MAX_EDITS]
        )

    def _checked(
        self, item: Recording, first: Recording | None, count: int, end: float | None
    ) -> Recording:
        """A piece with the channels of a fit; it must go on where the one before ended."""
        piece = self._with_channels(item, item.name if first is None else first.name)
        check_axes(self.robot, piece)
        check_values(piece, count, end)
        if first is not None:
            where = f"{piece.name!r}, row {count}"
            have, want = (sorted(record.channels()) for record in (piece, first))
            if have != want:
                raise InputError("channels", have, f"{want}, as before", where=where)
            if piece.payload != first.payload:
                allowed = f"{first.payload}, as before: a recording has one payload"
                raise InputError("payload", piece.payload, allowed, where=where)
        return piece

    def _with_channels(self, item: Recording, name: str) -> Recording:
        """A piece with the channels of a fit alone."""
        values: dict[str, Any] = {channel: getattr(item, channel) for channel in NEEDED}
        return Recording(
            item.t,
            **values,
            name=name,
            payload=item.payload,
            robot=item.robot,
            linear=item.linear,
            legs=item.legs,
            provenance=item.provenance,
        ).replace(**self._changes)


def read_ahead(pieces: Iterator[Recording], after: int, most: int) -> Iterator[Recording]:
    """The same pieces; once there were `after` samples, a thread reads up to `most` bytes ahead.

    What the reading raises comes in its place.
    """
    count = 0
    for piece in pieces:
        count += len(piece)
        if count >= after:
            waiting = _Waiting(most)
            Thread(target=waiting.fill, args=(pieces,), daemon=True).start()
            try:
                yield piece
                yield from waiting.taken()
            finally:
                waiting.stop()
            return
        yield piece


class _Waiting:
    """Pieces on their way from the thread that reads them to the one that needs them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = Condition()
        self._pieces: deque[Recording] = deque()
        self._bytes = 0
        self._done = False  # nothing more will come
        self._unwanted = False  # nothing more is asked for
        self._failed: BaseException | None = None

    def fill(self, pieces: Iterator[Recording]) -> None:
        """Read until the end, an error or `stop`."""
        try:
            for piece in pieces:
                with self._changed:
                    self._pieces.append(piece)
                    self._bytes += _bytes_of(piece)
                    self._changed.notify_all()
                    self._changed.wait_for(lambda: self._bytes < self._most or self._unwanted)
                    if self._unwanted:
                        return
        except BaseException as error:
            self._failed = error
        finally:
            with self._changed:
                self._done = True
                self._changed.notify_all()

    def taken(self) -> Iterator[Recording]:
        """The pieces, each as soon as it is there."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pieces or self._done)
                if not self._pieces:
                    break
                piece = self._pieces.popleft()
                self._bytes -= _bytes_of(piece)
                self._changed.notify_all()
            yield piece
        if self._failed is not None:
            raise self._failed

    def stop(self) -> None:
        """Let the thread end."""
        with self._changed:
            self._unwanted = True
            self._changed.notify_all()


def _bytes_of(piece: Recording) -> int:
    return sum(array.nbytes for array in piece.channels().values())


def _check_for_chunks(options: ReadOptions, rows: int) -> None:
    """Refuse options that tell how a file is read."""
    usual = ReadOptions()
    names = [key for key in names_of(ReadOptions) if key not in ("name", "payload")]
    changed = [key for key in names if getattr(options, key) is not getattr(usual, key)]
    changed += ["rows"] if rows != CHUNK_ROWS else []
    if changed:
        raise InputError("options", sorted(changed), "none: chunks are recordings already")


class _UsedUpError(Exception):
    """An iterator was to be read once more."""


def _opener(source: Any) -> Callable[[], Iterable[Recording]]:
    """A function that starts at the first chunk, as often as the source allows."""
    if callable(source):
        opened: Callable[[], Iterable[Recording]] = source
        return opened
    if isinstance(source, Recording):
        return lambda: iter((source,))
    try:
        iterator = iter(source)
    except TypeError:
        allowed = "a path, recordings, or a function that gives recordings"
        raise InputError("source", type(source).__name__, allowed) from None
    if iterator is not source:
        return lambda: iter(source)
    unused: list[Iterable[Recording]] = [iterator]

    def once() -> Iterable[Recording]:
        if not unused:
            raise _UsedUpError
        return unused.pop()

    return once


def _taken(pieces: Iterator[Recording], least: int) -> tuple[Recording, bool]:
    """The first pieces with at least so many samples in one, and whether that is all."""
    found: list[Recording] = []
    count = 0
    for piece in pieces:
        found.append(piece)
        count += len(piece)
        if count >= least:
            break
    else:
        if not found:
            raise InputError("chunks", 0, "at least one recording with samples")
        return _in_one(found), True
    return _in_one(found), False


def _in_one(pieces: list[Recording]) -> Recording:
    if len(pieces) == 1:
        return pieces[0]
    return concatenate(pieces).replace(provenance=pieces[0].provenance)


def row_bytes(recording: Recording) -> memoryview:
    """The rows of t, q and tau: they can be put into a checksum chunk by chunk."""
    return np.column_stack([recording.t, recording.q, recording.tau]).data
