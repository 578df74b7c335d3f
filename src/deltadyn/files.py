"""Files that are written whole or left as they were, whatever happens on the way.

One file is written under another name and renamed. Several files that belong together are all
written under other names first; then a journal names them, which is the moment from which the new
set counts; then they are renamed. A process that was killed in between leaves the journal, and
whoever writes or reads the set next finishes the work: a file whose content is still that of the
journal's moment gives way to the new one, another was written by somebody since and stays. No time
of a file decides. What was written before a journal is there belongs to nobody and is removed.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import json
import math
import os
import re
import shutil
import stat
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any

from deltadyn.errors import FileError, InputError
from deltadyn.systems import barred_by_windows, is_device, on_windows

fcntl: Any = None if on_windows() else import_module("fcntl")

JOURNAL = ".deltadyn-writing.json"
MOST_BYTES = 10_000_000  # of a journal
# A file that waits for its set: its name, and how far below the folder of the journal it lies. So
# nobody who writes a set in a folder takes parts of a set of the folder above for abandoned.
PART = re.compile(r"\.(.+)\.[0-9a-f]{32}\.([0-9]+)\.part")
MARK = ".used"  # the file that is locked while the scratch file beside it is written, on Windows
BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database that it writes
# What locking tells where another one locks; wine tells nothing.
HELD = (errno.EAGAIN, errno.EACCES, errno.EDEADLK, 0)
ENDINGS = (".yaml", ".yml", ".json", ".html")
WAIT, PAUSE = 30.0, 0.05  # s, for further folders of a set: two processes may wait for each other
OPEN = 2.0  # s that a rename waits on Windows for whoever has the file open, such as a scanner


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A new file beside `path` that takes its place when the block ends without an error.

    A link keeps pointing where it did, and a file that is there keeps its permissions. What is not
    a file, such as a pipe or a device, is written through. Inside of `file_set` the file takes its
    place when that block ends.
    """
    if _is_node(path):
        with Path(path).open("wb") as node:
            yield node
        return
    target = Path(os.path.realpath(path))
    writing = _SET.get()
    if writing is not None:
        with writing.part(target.parent, target) as file:
            yield file
        return
    settle(target.parent)  # a set that was killed must not come over this file later
    with _replacing_alone(target) as file:
        yield file


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file in one step, and the folder around it where it is missing; gives its path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as file:
        file.write(_bytes(content))
    return target


@contextmanager
def file_set() -> Iterator[None]:
    """What is written within the block takes its place at its end: of each folder all or nothing.

    A block within another belongs to that one. Files are not to be read back within the block.
    """
    if _SET.get() is not None:
        yield
        return
    with _Set() as writing:
        token = _SET.set(writing)
        try:
            yield
        finally:
            _SET.reset(token)
        writing.commit()


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

    def write(writing: _Set, root: Path, files: Files) -> tuple[Path, ...]:
        for name, content in files.items():
            target = Path(os.path.realpath(place / name))
            if not target.parent.is_dir():
                target.parent.mkdir(parents=True)
            if _is_node(target):
                allowed = "a file, no folder, pipe or device"
                raise InputError("file to write", str(place / name), allowed)
            with writing.part(root, target) as file:
                file.write(_bytes(content))
        return tuple(place / name for name in files)

    with file_set():
        writing = _SET.get()
        assert writing is not None  # of the block around
        yield partial(write, writing, writing.enter(place))


def settle(folder: str | os.PathLike[str]) -> None:
    """Finish what a killed process began to put in place in this folder; call before reading."""
    place = Path(folder)
    with contextlib.suppress(OSError):  # one that may not be written is read as it is
        if os.path.lexists(place / JOURNAL):
            with locked(place):
                _finish(place)


@contextmanager
def locked(folder: Path, longest: float | None = None) -> Iterator[None]:
    """Let one process at a time write a set of files into a folder; it ends with the process.

    One that waits longer than `longest`, in s, gets a `TimeoutError`.
    """
    if fcntl is not None:
        number = os.open(folder, os.O_RDONLY)
        try:
            _lock(number, folder, longest)
            yield
        finally:
            os.close(number)
        return
    # a folder cannot be locked there: a file of its own, outside of it
    name = hashlib.sha256(os.path.normcase(os.path.realpath(folder)).encode()).hexdigest()[:32]
    mark = Path(tempfile.gettempdir()) / f"deltadyn-{name}.lock"
    # opening is refused for the moment in which another one removes it
    with ExitStack() as at_end, _take(partial(mark.open, "a+b"), folder, WAIT) as file:
        _take(partial(_lock_now, file), folder, math.inf if longest is None else longest)
        at_end.callback(_remove_lock, mark)  # when the file is closed
        try:
            yield
        finally:
            _unlock(file)


def _remove_lock(mark: Path) -> None:
    """Windows refuses while another one waits with it open: that one removes it."""
    with contextlib.suppress(OSError):
        mark.unlink()


@contextmanager
def liveness_mark(mark: Path) -> Iterator[None]:
    """A new file that is locked while the block runs, so that others see that somebody lives.

    A number of a process says less: a process of another container, or after a restart, has it too.
    """
    while True:
        file = mark.open("x+b")
        _take(partial(_lock_now, file), mark, WAIT)
        if os.fstat(file.fileno()).st_nlink or on_windows():
            break
        file.close()  # somebody took it for abandoned before it was locked
    try:
        yield
    finally:
        _unlock(file)
        file.close()
        with contextlib.suppress(OSError):
            mark.unlink()


def remove_abandoned_mark(mark: Path) -> bool:
    """Remove the mark of a process that is no more; False where somebody lives, or may live."""
    try:
        file = mark.open("r+b")
    except FileNotFoundError:
        return True
    except OSError:  # another user's
        return False
    with file:
        try:
            _lock_now(file)
        except OSError:
            return False
        if not on_windows():
            mark.unlink(missing_ok=True)  # before the lock ends: its maker may wait for it
        _unlock(file)
    with contextlib.suppress(OSError):  # Windows refuses while it is open
        mark.unlink()
    return True


def _lock_now(file: IO[bytes]) -> None:
    """Lock an open file, or raise an `OSError` where another one holds it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    windows: Any = import_module("msvcrt")
    file.seek(0)
    windows.locking(file.fileno(), windows.LK_NBLCK, 1)


def _unlock(file: IO[bytes]) -> None:
    """Give up the lock of a file on Windows; elsewhere it ends when the file is closed."""
    if fcntl is None:
        windows: Any = import_module("msvcrt")
        file.seek(0)
        windows.locking(file.fileno(), windows.LK_UNLCK, 1)


def _lock(number: int, folder: Path, longest: float | None) -> None:
    if longest is None:
        fcntl.flock(number, fcntl.LOCK_EX)
    else:
        _take(partial(fcntl.flock, number, fcntl.LOCK_EX | fcntl.LOCK_NB), folder, longest)


def _take(take: Callable[[], Any], folder: Path, longest: float) -> Any:
    """Call `take` until it raises no error of a lock that another one holds, at most so many s.

    Gives what it returned.
    """
    until = time.monotonic() + longest
    while True:
        try:
            return take()
        except OSError as error:
            if error.errno not in HELD:
                raise
        if time.monotonic() > until:
            raise TimeoutError(
                f"{folder}: another process writes there for more than {longest:g} s"
            )
        time.sleep(PAUSE)


def with_ending(path: str | os.PathLike[str], ending: str) -> Path:
    """The path with this ending instead of one of `ENDINGS`, else behind all of its name.

    "mine" and "mine.json" become "mine.yaml", and "mine.v2" becomes "mine.v2.yaml".
    """
    own = Path(path)
    if own.suffix.lower() in ENDINGS and own.stem:
        return own.with_suffix(ending)
    return own.with_name(own.name + ending)


def file_name(what: str, name: str) -> str:
    """A name that is to become a file's; refuses one that leads elsewhere, or that Windows bars."""
    if not name or name in (".", "..") or re.search(r"[/\\\0]", name):
        raise InputError(what, name, "a name for a file, without / and \\")
    if on_windows() and barred_by_windows(name):
        allowed = 'a name for a file of Windows: without <>:"|?*, no point or blank at its end'
        raise InputError(what, name, f"{allowed}, not that of a device such as NUL or COM1")
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
    if on_windows() and is_device(path):
        if PureWindowsPath(path).name.lower() != "nul":
            allowed = "another name: Windows keeps this one for a device"
            raise InputError("file to write", os.fspath(path), allowed)
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def _replacing_alone(target: Path) -> Iterator[IO[bytes]]:
    _sweep(target)
    with _scratch(target) as (scratch, file):
        try:
            with file:
                yield file
                _keep(file, target)
                if not on_windows():
                    scratch.replace(target)  # before the lock ends: nobody takes it for abandoned
            if on_windows():
                _put(scratch, target)
        finally:
            with contextlib.suppress(OSError):
                scratch.unlink()


def _keep(file: IO[bytes], target: Path) -> None:
    """Bring a new file to the disk, with the permissions of the one whose place it takes."""
    file.flush()
    os.fsync(file.fileno())
    if target.exists() and not on_windows():  # there they are one mark: not to be written
        shutil.copymode(target, file.name)


def _put(scratch: Path, target: Path) -> None:
    """Rename over what is there. Windows refuses while somebody has that open; it mostly ends soon.

    Elsewhere an open file is no obstacle, and an error is raised at once.
    """
    until = time.monotonic() + (OPEN if on_windows() else 0.0)
    while True:
        try:
            scratch.replace(target)
            return
        except PermissionError:
            if time.monotonic() >= until:
                raise
        time.sleep(PAUSE)


@contextmanager
def _scratch(target: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """A new file beside the target, which others see to be in use.

    Where an open file can be renamed it is locked itself, elsewhere a mark beside it is.
    """
    while True:
        scratch = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
        if on_windows():
            with liveness_mark(scratch.with_suffix(MARK)):
                yield scratch, scratch.open("xb")
            return
        file = scratch.open("xb")
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            yield scratch, file
            return
        file.close()  # somebody took it for abandoned before it was locked


def _sweep(target: Path) -> None:
    """Remove what killed processes left of this target: nobody holds a lock on it."""
    name = f".{glob.escape(target.name)}.{'[0-9a-f]' * 32}"
    for old in target.parent.glob(f"{name}.tmp"):
        with contextlib.suppress(OSError):
            if not on_windows():
                with old.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    old.unlink()
            elif remove_abandoned_mark(old.with_suffix(MARK)):
                old.unlink()
            else:
                continue
            for ending in BESIDE:
                old.with_name(old.name + ending).unlink(missing_ok=True)
    if on_windows():
        for mark in target.parent.glob(f"{name}{MARK}"):
            remove_abandoned_mark(mark)


# A set of files.


class _Set:
    """Files that wait for their places, by the folder that gets their journal, which is locked."""

    def __init__(self) -> None:
        self._locks = ExitStack()
        self._moves: dict[Path, list[tuple[str, str]]] = {}
        self._swept: set[tuple[Path, Path]] = set()

    def __enter__(self) -> _Set:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what did not get a place."""
        with self._locks:
            for root, moves in self._moves.items():
                for part, _name in moves:
                    with contextlib.suppress(OSError):
                        (root / part).unlink()

    def enter(self, folder: Path) -> Path:
        """Lock a folder until the set ends, and finish what was begun there; its real path."""
        root = Path(os.path.realpath(folder))
        if root not in self._moves:
            self._locks.enter_context(locked(root, WAIT if self._moves else None))
            self._moves[root] = []
            _finish(root)
        return root

    @contextmanager
    def part(self, folder: Path, target: Path) -> Iterator[IO[bytes]]:
        """The file that waits for the place `target`, in or below the folder of its journal."""
        inside = target.is_relative_to(folder)  # else a link leads elsewhere
        root = self.enter(folder if inside else target.parent)
        if target.is_dir():
            raise IsADirectoryError(21, "Is a directory", str(target))
        name = target.relative_to(root)
        depth = len(name.parts) - 1
        if (root, target.parent) not in self._swept:
            self._swept.add((root, target.parent))
            _remove_parts(target.parent, depth)
        part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.{depth}.part")
        self._moves[root].append((part.relative_to(root).as_posix(), name.as_posix()))
        with part.open("xb") as file:
            yield file
            _keep(file, target)

    def commit(self) -> None:
        """Write the journals, then put the files in place; one file alone needs no journal."""
        told: list[Path] = []
        moves = [(root, *move) for root, own in self._moves.items() for move in own]
        if len(moves) == 1:
            ((root, part, name),) = moves
            _put(root / part, root / name)
            return
        try:
            for root, own in self._moves.items():
                if own:
                    told.append(root / JOURNAL)
                    rows = [(part, name, _digest_there(root / name)) for part, name in own]
                    with _replacing_alone(told[-1]) as file:
                        file.write(json.dumps(rows).encode())
        except BaseException:
            for journal in told:
                journal.unlink(missing_ok=True)
            raise
        self._moves.clear()  # from here on the new files count
        for root, part, name in moves:
            _put(root / part, root / name)
        for journal in told:
            journal.unlink()


_SET: ContextVar[_Set | None] = ContextVar("the set that is written", default=None)


def _finish(place: Path) -> None:
    """Put in place what the journal of a killed process names.

    A file of another content than at the journal's moment was written since, and stays.
    """
    journal = place / JOURNAL
    if os.path.lexists(journal):
        for part, target, before in _moves(journal):
            if not os.path.lexists(part):
                continue  # it was put in place already
            if _digest_there(target) == before:
                _put(part, target)
            else:
                part.unlink()
        journal.unlink()
    _sweep(journal)


def _digest_there(target: Path) -> str | None:
    """SHA-256 of the file at a path; None where there is none, words where it cannot be read."""
    if not os.path.lexists(target):
        return None
    if not target.is_file():  # a pipe would be waited for
        return "no file"
    try:
        return file_digest(target)
    except PermissionError:
        return "not readable"


def _moves(journal: Path) -> list[tuple[Path, Path, str | None]]:
    """Parts and targets of a journal, and the digests of what stood at these when it was written.

    Only what a set writes is taken, in or below its folder.

    A folder may come from anybody, and a journal in it must not move files of its reader.
    """
    error = FileError(
        "journal of files that are being written",
        str(journal),
        "as deltadyn writes it; remove it",
        path=str(journal),
    )
    if not stat.S_ISREG(journal.lstat().st_mode) or journal.stat().st_size > MOST_BYTES:
        raise error
    try:
        rows = json.loads(journal.read_text("utf-8"))
        moves = [(PurePosixPath(part), PurePosixPath(name), old) for part, name, old in rows]
    except (ValueError, TypeError, RecursionError):
        raise error from None
    place = Path(os.path.realpath(journal.parent))
    for part, name, old in moves:
        found = PART.fullmatch(part.name)
        own = found is not None and (found[1], int(found[2])) == (name.name, len(name.parts) - 1)
        below = ".." not in name.parts and not name.is_absolute() and part.parent == name.parent
        below &= not (on_windows() and re.search(r"[\\:]", str(name)))  # leads elsewhere there
        real = Path(os.path.realpath(place / name.parent))
        below &= real.is_relative_to(place) and not (place / part).is_symlink()
        if not (own and below and isinstance(old, str | None)):
            raise error
    return [(place / part, place / name, old) for part, name, old in moves]


def _remove_parts(folder: Path, depth: int) -> None:
    """Remove what a killed process wrote and no journal ever named."""
    for part in folder.glob(f".*.{depth}.part"):
        if PART.fullmatch(part.name):
            with contextlib.suppress(OSError):
                part.unlink()
