"""Parts of a log that comes in pieces: the same as those of the log in one piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from deltadyn.identification.data import SHORTEST, Cutting, Prepared, stretches
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot


class Window:
    """The rows that are read and still needed, as they are cut into parts."""

    def __init__(self, robot: Robot, cutting: Cutting) -> None:
        self._robot = robot
        self._cutting = cutting
        self._rows: Recording | None = None
        self._waiting: list[Recording] = []  # pieces that make no part yet
        self._stop = 0  # of all rows, with those that wait
        self._start = 0  # of the stretch, or of as much of it as is still here
        self._low = 0  # of the next part
        self._fresh = True  # no part of this stretch was cut

    def add(self, piece: Recording) -> Iterator[Callable[[], Prepared]]:
        """The parts that are complete with one more piece."""
        self._waiting.append(piece)
        self._stop += len(piece)
        if self._stop - self._low >= self._cutting.reach:
            yield from self._parts(last=False)

    def finish(self) -> Iterator[Callable[[], Prepared]]:
        """The parts that the end of the log completes."""
        yield from self._parts(last=True)

    def _parts(self, last: bool) -> Iterator[Callable[[], Prepared]]:
        rows, cutting = self._moved(), self._cutting
        for _, stop in stretches(rows.t, cutting.step):
            if stop <= self._low:
                continue
            ends = last or stop < len(rows)  # whether the stretch ends here
            if ends and self._fresh and stop - self._start < SHORTEST:
                self._next_stretch(stop)
                continue
            while self._low < stop and (ends or len(rows) - self._low >= cutting.reach):
                high = cutting.end(self._low, stop)
                part = (self._low, high)
                yield partial(cutting.part, self._robot, rows, part, (self._start, stop))
                self._fresh = False
                self._low = stop if high == stop else high - cutting.shared
            if ends:
                self._next_stretch(stop)

    def _next_stretch(self, start: int) -> None:
        self._start = self._low = start
        self._fresh = True

    def _moved(self) -> Recording:
        """The rows with the pieces that waited, without those that no part needs any more."""
        pieces = [*([] if self._rows is None else [self._rows]), *self._waiting]
        first = max(self._start, self._low - self._cutting.settle)
        self._start = max(self._start - first, 0)
        self._low -= first
        self._stop -= first
        self._waiting = []
        if len(pieces) == 1 and not first:
            self._rows = pieces[0]
        else:
            values: dict[str, Any] = {
                name: np.concatenate([getattr(piece, name) for piece in pieces])[first:]
                for name in pieces[0].channels()
            }
            self._rows = pieces[0].replace(**values)
        return self._rows
