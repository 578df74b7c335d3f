"""Files that are written whole or left as they were, whatever happens on the way."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A new file beside `path` that takes its place when the block ends without an error.

    A link keeps pointing where it did, and a file that is there keeps its permissions.
    """
    target = Path(os.path.realpath(path))
    scratch = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        with scratch.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, scratch)
        scratch.replace(target)
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink()


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file in one step, and the folder around it where it is missing; gives its path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
    return target


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
