"""Files that give no more than they have, and unpack to no more than memory has room for.

A library may believe a length that a file only claims: `read(2**40)` makes room for as many bytes
before it looks how many there are. And a small packed file may hold any number of equal values.
"""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

from deltadyn.errors import RecordingFileError

MIN_UNPACKED_BYTES = 2**31  # that every packed file may become, as that of a reader apart
MAX_UNPACKING_RATIO = 50  # of larger files; logs are packed to a third to a twentieth
BYTES_PER_TEXT_BYTE = 4  # of numbers in memory: "1," is 2 bytes of text and 8 of a double
_LIMIT: ContextVar[int | None] = ContextVar("deltadyn unpacked bytes", default=None)
SMALL = 1 << 16  # bytes that are asked for without a look at what is left


class BoundedFile(io.BufferedReader):
    """A file opened for reading."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(io.FileIO(os.fspath(path)))
        self.bytes = os.fstat(self.fileno()).st_size

    def read(self, size: int | None = -1, /) -> bytes:
        """At most what is left."""
        if size is not None and size > SMALL:
            size = min(size, max(self.bytes - self.tell(), 0))
        return super().read(size)


class BoundedPath(type(Path())):  # type: ignore[misc]  # the class of this system's paths
    """A path whose files are bounded."""

    __slots__ = ()

    def open(self, mode: str = "r", *arguments: Any, **options: Any) -> IO[Any]:
        """As `Path.open`; bytes are read from a `BoundedFile`."""
        if mode == "rb" and not arguments and not options:
            return BoundedFile(self)
        opened: IO[Any] = super().open(mode, *arguments, **options)
        return opened


@contextmanager
def unpacking_at_most(limit: int) -> Iterator[None]:
    """Let no file that is read in the block unpack to more than `limit` bytes."""
    before = _LIMIT.set(limit)
    try:
        yield
    finally:
        _LIMIT.reset(before)


def unpacked_limit(path: str | os.PathLike[str]) -> int:
    """Bytes that the content of a file may unpack to."""
    limit = _LIMIT.get()
    if limit is not None:
        return limit
    size = os.path.getsize(path) if os.path.isfile(path) else 0
    return max(MIN_UNPACKED_BYTES, MAX_UNPACKING_RATIO * size)


def refuse_unpacked(path: str | os.PathLike[str], count: int) -> None:
    """Raise where a file has unpacked, or says it unpacks, to more bytes than it may."""
    limit = unpacked_limit(path)
    if count > limit:
        problem = f"unpacks to more than {limit / 1e6:,.0f} MB"
        allowed = "at most as much; cut it into several files"
        raise RecordingFileError.of_file(os.fspath(path), problem, allowed)


def refuse_many_values(path: str | os.PathLike[str], values: int) -> None:
    """Raise where an upload becomes more numbers than text of its limit could hold."""
    if _LIMIT.get() is not None:
        refuse_unpacked(path, 8 * values // BYTES_PER_TEXT_BYTE)


class BoundedGzip(gzip.GzipFile):
    """The unpacked content of a file in gzip; it ends by an error where that is too much."""

    def __init__(self, raw: Any, path: str) -> None:
        super().__init__(fileobj=raw, mode="rb")
        self.path, self.count = path, 0

    def read(self, size: int | None = -1) -> bytes:
        """At most `size` bytes."""
        data = super().read(size)
        self.count += len(data)
        refuse_unpacked(self.path, self.count)
        return data
