"""Files that are written whole or left as they were, whatever happens on the way.

One file is written under another name and renamed. Several files that belong together are all
written under other names first; then a journal names them, which is the moment from which the new
set counts; then they are renamed. A process that was killed in between leaves the journal, and
whoever writes or reads the set next finishes the work. What was written before a journal is there
belongs to nobody and is removed.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from deltadyn.errors import InputError

fcntl: Any = import_module("fcntl") if os.name == "posix" else None

JOURNAL = ".deltadyn-writing.json"
PART = re.compile(r"\..+\.[0-9a-f]{32}\.part")
ENDINGS = (".yaml", ".yml", ".json", ".html")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A new file beside `path` that takes its place when the block ends without an error.

    A link keeps pointing where it did, and a file that is there keeps its permissions. What is not
    a file, such as a pipe or a device, is written through.
    """
    if _is_node(path):
        with Path(path).open("wb") as node:
            yield node
        return
    target = Path(os.path.realpath(path))
    _sweep(target)
    scratch, file = _scratch(target)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, scratch)
            if fcntl is not None:
                scratch.replace(target)  # before the lock ends: nobody takes it for abandoned
        if fcntl is None:
            scratch.replace(target)
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink()


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file in one step, and the folder around it where it is missing; gives its path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as file:
        file.write(_bytes(content))
    return target


Files = Mapping[str, str | bytes]


def write_together(folder: str | os.PathLike[str], files: Files) -> tuple[Path, ...]:
    """Write files of one folder, by names within it, of which a crash leaves all or none new."""
    with folder_writer(folder) as write:
        return write(files)


@contextmanager
def folder_writer(folder: str | os.PathLike[str]) -> Iterator[Callable[[Files], tuple[Path, ...]]]:
    """`write_together` for one who looks at the folder first: nobody else writes a set there."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    with locked(place):
        _finish(place)
        yield partial(_write_set, place)


def settle(folder: str | os.PathLike[str]) -> None:
    """Finish what a killed process began to put in place in this folder; call before reading."""
    place = Path(folder)
    with contextlib.suppress(OSError):  # one that may not be written is read as it is
        if (place / JOURNAL).exists():
            with locked(place):
                _finish(place)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time write a set of files into a folder; it ends with the process."""
    if fcntl is not None:
        number = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
            yield
        finally:
            os.close(number)
        return
    windows: Any = import_module("msvcrt")
    # a folder cannot be locked there: a file of its own, outside of it
    name = hashlib.sha256(os.path.realpath(folder).encode()).hexdigest()[:32]
    with (Path(tempfile.gettempdir()) / f"deltadyn-{name}.lock").open("a+b") as file:
        windows.locking(file.fileno(), windows.LK_LOCK, 1)
        try:
            yield
        finally:
            file.seek(0)
            windows.locking(file.fileno(), windows.LK_UNLCK, 1)


def with_ending(path: str | os.PathLike[str], ending: str) -> Path:
    """The path with this ending instead of one of `ENDINGS`, else behind all of its name.

    "mine" and "mine.json" become "mine.yaml", and "mine.v2" becomes "mine.v2.yaml".
    """
    own = Path(path)
    if own.suffix.lower() in ENDINGS and own.stem:
        return own.with_suffix(ending)
    return own.with_name(own.name + ending)


def file_name(what: str, name: str) -> str:
    """A name that is to become a file's; refuses one that leads elsewhere."""
    if not name or name in (".", "..") or re.search(r"[/\\\0]", name):
        raise InputError(what, name, "a name for a file, without / and \\")
    return name


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8") if isinstance(content, str) else content


# One file.


def _is_node(path: str | os.PathLike[str]) -> bool:
    """Whether there is something that is neither a file nor a folder: a pipe, a device."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _scratch(target: Path) -> tuple[Path, IO[bytes]]:
    """A new file beside the target, locked while it is written."""
    while True:
        scratch = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
        file = scratch.open("xb")
        if fcntl is None:
            return scratch, file
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return scratch, file
        file.close()  # somebody took it for abandoned before it was locked


def _sweep(target: Path) -> None:
    """Remove what killed processes left of this target: nobody holds a lock on it."""
    for old in target.parent.glob(f".{glob.escape(target.name)}.{'[0-9a-f]' * 32}.tmp"):
        with contextlib.suppress(OSError):
            if fcntl is not None:
                with old.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    old.unlink()
            else:
                old.unlink()  # refused while it is open


# A set of files; the folder is locked.


def _write_set(place: Path, files: Files) -> tuple[Path, ...]:
    _remove_parts({(place / name).parent for name in files})
    moves: list[tuple[str, str]] = []
    try:
        for name, content in files.items():
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_dir():
                raise IsADirectoryError(21, "Is a directory", str(target))
            part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
            moves.append((part.relative_to(place).as_posix(), name))
            with part.open("xb") as file:
                file.write(_bytes(content))
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, part)
        write_whole(place / JOURNAL, json.dumps(moves))
    except BaseException:
        for part_name, _ in moves:
            with contextlib.suppress(OSError):
                (place / part_name).unlink()
        raise
    _finish(place)
    return tuple(place / name for name in files)


def _finish(place: Path) -> None:
    """Put in place what a journal names."""
    journal = place / JOURNAL
    if journal.exists():
        for part, name in json.loads(journal.read_text("utf-8")):
            if (place / part).exists():
                (place / part).replace(place / name)
        journal.unlink()
    _sweep(journal)


def _remove_parts(folders: Iterable[Path]) -> None:
    """Remove what a killed process wrote and no journal ever named."""
    for folder in folders:
        for part in folder.glob(".*.part"):
            if PART.fullmatch(part.name):
                with contextlib.suppress(OSError):
                    part.unlink()
