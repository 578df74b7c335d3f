"""What a reader is: it knows the files of its format and gives the table of one of them.

A table has the columns of a file and its numbers in blocks; nothing is converted yet. A reader of
another format is one more file beside these, with a `Reader`, and one row in `readers.READERS`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.recording.columns import SIDES, Column, ColumnMap
from deltadyn.recording.readers.text import TextFile

CONVENTIONS = ("controller", "deltadyn")
BAD_ROWS = ("raise", "skip")
DECIMALS = (".", ",")

#: blocks(rows, used): the used columns, at most so many rows at a time, each (len(used), n).
Blocks = Callable[[int, Sequence[int]], Iterator[FloatArray]]


@dataclass(frozen=True, eq=False)
class ReadOptions:
    """How `read_recording` reads a file; every field may be left out."""

    #: Name of a column in the file to "q1_deg" or to {quantity, axis, unit, scale, sign, offset,
    #: side, torque_constant}, as a dictionary or the path of a YAML file; None leaves one out.
    columns: ColumnMap | None = None
    #: "csv", "twincat", "matlab", "parquet", "ros" or "tdms"; left out, the content says it.
    format: str | None = None
    #: Of the recording; left out, the file's own name.
    name: str | None = None
    #: kg that were carried, where the file does not say it.
    payload: float | None = None
    #: N m/A at the motor side, one for all axes or one each, for files with currents alone.
    torque_constant: npt.ArrayLike | None = None
    #: N m, one for all axes or one each, for torques in percent.
    rated_torque: npt.ArrayLike | None = None
    #: "output", or "motor": torques are multiplied by the gear ratio.
    torque_side: str = "output"
    #: Of angles and torques: "controller" or "deltadyn"; left out, what the file says, else
    #: "controller".
    convention: str | None = None
    #: s between rows, for a file without a time column.
    sample_time: float | None = None
    #: Between the cells of a text file; "" means blanks. Left out, it is found.
    separator: str | None = None
    #: "." or "," in a text file; left out, it is found.
    decimal: str | None = None
    #: Of a ROS bag with several topics of joint states.
    topic: str | None = None
    #: Whether channels of other clocks are interpolated at the times of q1.
    interpolate: bool = False
    #: "raise", or "skip": rows that cannot be read are left out and listed.
    bad_rows: str = "raise"

    def __post_init__(self) -> None:
        if self.torque_side not in SIDES:
            raise UnknownNameError("torque_side", self.torque_side, SIDES)
        if self.convention is not None and self.convention not in CONVENTIONS:
            raise UnknownNameError("convention", self.convention, CONVENTIONS)
        if self.bad_rows not in BAD_ROWS:
            raise UnknownNameError("bad_rows", self.bad_rows, BAD_ROWS)
        if self.decimal is not None and self.decimal not in DECIMALS:
            raise UnknownNameError("decimal", self.decimal, DECIMALS)
        if self.sample_time is not None and not self.sample_time > 0:
            raise InputError("sample_time", self.sample_time, "above 0 s")

    @property
    def skip(self) -> bool:
        """Whether rows that cannot be read are left out."""
        return self.bad_rows == "skip"


@dataclass(frozen=True)
class Head:
    """The beginning of a file, by which its format is known; of a folder there are no bytes."""

    path: str
    start: bytes

    @cached_property
    def text(self) -> str:
        """The first lines of a text file."""
        return TextFile(self.path).head()


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file and its numbers, block by block.

    `labels` may hold name, robot, payload_kg and convention, as deltadyn's own files do. With
    `clocks` above 1 a row is not an instant: every clock has its own time column, and what is
    missing at the end of a column is NaN. `notes` and `checksum` (SHA-256 of the file; None: not
    taken yet) are complete when all blocks were taken.
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


@dataclass(frozen=True)
class Reader:
    """One format: its name in `ReadOptions.format`, and two functions.

    `sniff` tells whether a file that begins so is of this format. `open` gives the table of a
    file; its rows are read when the blocks are taken.
    """

    name: str
    sniff: Callable[[Head], bool]
    open: Callable[[Head, ReadOptions], Table]


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


def file_digest(path: str | PathLike[str]) -> str:
    """SHA-256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unreadable(error: Exception) -> str:
    """What a library says about a damaged file, as a problem of ours."""
    return f"cannot be read: {(str(error) or repr(error)).splitlines()[0]}"
