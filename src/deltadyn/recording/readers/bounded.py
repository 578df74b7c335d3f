"""Files that give no more than they have: a library may believe a length that a file only claims.

`read(2**40)` makes room for as many bytes before it looks how many there are.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import IO, Any

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
