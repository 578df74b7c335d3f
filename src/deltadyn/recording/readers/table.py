"""A table: what a reader gives, before anything is converted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.recording.columns import Column

#: blocks(rows, used): the used columns, at most so many rows at a time, each (len(used), n).
Blocks = Callable[[int, Sequence[int]], Iterator[FloatArray]]


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file and its numbers, block by block.

    `labels` may hold name, robot, payload_kg and convention, as deltadyn's own files do. With
    `clocks` above 1 a row is not an instant: every clock has its own time column, and what is
    missing at the end of a column is NaN. `notes` and `checksum` (SHA-256 of the file) are
    complete when all blocks were taken.
    """

    path: str
    reader: str
    columns: tuple[Column, ...]
    blocks: Blocks
    clocks: int = 1
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: Callable[[], tuple[str, ...]] = tuple
    checksum: Callable[[], str | None] = lambda: None
    progress: Callable[[], float] = lambda: 1.0  # share of the file that was read


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
    """The same numbers in blocks of exactly `rows` rows; only the last may be shorter."""
    waiting: list[FloatArray] = []
    count = 0
    for block in blocks:
        waiting.append(block)
        count += block.shape[1]
        while count >= rows:
            joined = waiting[0] if len(waiting) == 1 else np.concatenate(waiting, axis=1)
            yield joined[:, :rows]
            waiting = [joined[:, rows:]]
            count -= rows
    if count:
        yield np.concatenate(waiting, axis=1)


class Growing:
    """Channels that grow piece by piece, in arrays that are large enough from the start.

    The room is estimated from the share of the file that was read. What is not written to needs
    no memory, so the peak is hardly more than the arrays themselves.
    """

    def __init__(self) -> None:
        self.count = 0
        self._room = 0
        self._arrays: dict[str, FloatArray] = {}

    def add(self, channels: Mapping[str, FloatArray], progress: float) -> None:
        """Append one piece of every channel."""
        stop = self.count + len(channels["t"])
        if stop > self._room:
            estimate = math.ceil(1.25 * stop / min(max(progress, 1e-4), 1.0))
            self._room = max(estimate, self._room * 3 // 2)
            for name, piece in channels.items():
                grown = np.empty((self._room, *piece.shape[1:]))
                if self.count:
                    grown[: self.count] = self._arrays[name][: self.count]
                self._arrays[name] = grown
        for name, piece in channels.items():
            self._arrays[name][self.count : stop] = piece
        self.count = stop

    def channels(self) -> dict[str, FloatArray]:
        """All that was appended."""
        return {name: array[: self.count] for name, array in self._arrays.items()}
