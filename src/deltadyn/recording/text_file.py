"""Text files as a stream of UTF-8 lines, whatever they are packed or encoded in."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from deltadyn.recording.failures import RecordingFileError

CHUNK_BYTES = 4_000_000  # some 30,000 rows: large enough for the fast parser, small in memory
HEAD_BYTES = 262_144

_GZIP = b"\x1f\x8b"
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: they begin alike
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class TextFile:
    """A text file, read in pieces; `digest` is the SHA-256 of its bytes after a complete pass."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.digest: str | None = None
        self.share = 0.0  # of the file that was read
        self.packed = _start(path, 2) == _GZIP
        with self._open() as file:
            start = self._read(file, 4096)
        self.bom = next(((bom, name) for bom, name in _BOMS if start.startswith(bom)), None)
        if self.bom is None and b"\0" in start:
            raise self._binary(start)

    @property
    def encoding(self) -> str:
        """What the file is encoded in, as far as a byte order mark says it."""
        return self.bom[1] if self.bom else "utf-8"

    def head(self) -> tuple[str, bool]:
        """The first lines as text, and whether they are the whole file."""
        data = b""
        for piece in self.pieces(HEAD_BYTES):
            data += piece
            if len(data) >= HEAD_BYTES:
                cut = data.rfind(b"\n") + 1
                return decoded(data[:cut] if cut else data), False
        return decoded(data), True

    def pieces(self, size: int = CHUNK_BYTES) -> Iterator[bytes]:
        """The text in UTF-8 without byte order mark, some `size` bytes at a time."""
        checksum = hashlib.sha256()
        total = max(Path(self.path).stat().st_size, 1)
        with Path(self.path).open("rb") as raw:
            source: Any = _Hashed(raw, checksum)
            if self.packed:
                source = gzip.GzipFile(fileobj=source)
            decoder = None
            if self.bom is not None and self.bom[1] != "utf-8":
                decoder = codecs.getincrementaldecoder(self.bom[1])()
            first = True
            while piece := self._read(source, size):
                if decoder is not None:
                    piece = self._recoded(decoder, piece)
                elif first and self.bom is not None:
                    piece = piece[len(self.bom[0]) :]
                first = False
                self.share = raw.tell() / total
                yield piece
            if decoder is not None:
                self._recoded(decoder, b"", final=True)
        self.digest = checksum.hexdigest()

    def _open(self) -> IO[bytes]:
        if self.packed:
            return gzip.open(self.path, "rb")  # type: ignore[return-value]
        return Path(self.path).open("rb")

    def _read(self, file: IO[bytes], size: int) -> bytes:
        try:
            return file.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise RecordingFileError(
                "file",
                self.path,
                "a complete gzip file",
                path=self.path,
                problem=f"cannot be unpacked: {error}",
            ) from error

    def _recoded(
        self, decoder: codecs.IncrementalDecoder, piece: bytes, *, final: bool = False
    ) -> bytes:
        try:
            return decoder.decode(piece, final).encode("utf-8")
        except UnicodeDecodeError as error:
            raise RecordingFileError(
                "file",
                self.path,
                "a text in UTF-8 or UTF-16",
                path=self.path,
                problem=f"is not valid {self.encoding.upper()}: {error.reason}",
            ) from error

    def _binary(self, start: bytes) -> RecordingFileError:
        zeros = [start[index::2].count(0) for index in (0, 1)]
        wide = len(start) > 8 and max(zeros) > len(start) // 4 and min(zeros) == 0
        problem = "is text in UTF-16 without a byte order mark" if wide else "is not a text file"
        allowed = "CSV in UTF-8, TwinCAT, MATLAB, Parquet, ROS 2 bag, MCAP or TDMS"
        return RecordingFileError("file", self.path, allowed, path=self.path, problem=problem)


def decoded(data: bytes) -> str:
    """Text of bytes in UTF-8, or in the code page of Western Windows where it is not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


class _Hashed(io.RawIOBase):
    """A file whose bytes go into a checksum as they are read."""

    def __init__(self, file: IO[bytes], checksum: hashlib._Hash) -> None:
        self.file = file
        self.checksum = checksum

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self.checksum.update(data)
        return data

    def readable(self) -> bool:
        return True


def _start(path: str, size: int) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(size)
