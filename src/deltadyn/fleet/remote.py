"""Logs in an object store, by fsspec: they are listed, and brought to this machine one by one.

A worker has at most one object on its disk. It is removed when its samples were read, also where
that failed; what a killed worker left is removed by the next one on that machine.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from deltadyn.errors import DeltadynError, FileError, RecordingFileError, extra_module
from deltadyn.files import liveness_mark, remove_abandoned_mark
from deltadyn.systems import is_url

BUFFER = 8 * 2**20  # bytes that are brought at once
SCRATCH = "deltadyn-fleet-"  # folders of objects
MARK = ".used"  # a locked file beside each of them
SPARE = 256 * 2**20  # bytes of the disk that stay free


def is_remote(place: str) -> bool:
    """Whether a source is a URL."""
    return is_url(place)


@dataclass(frozen=True)
class Store:
    """Objects below a URL, with the options of their file system."""

    url: str
    options: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, url: str, options: Mapping[str, object]) -> Store:
        """The store of a URL; the library that it takes is loaded."""
        store = cls(url, tuple(sorted(options.items())))
        store._system()
        return store

    @property
    def local_to_process(self) -> bool:
        """Whether another process sees nothing of it."""
        return self.url.startswith("memory://")

    def _system(self) -> tuple[Any, str]:
        """The file system and the path within it."""
        scheme = self.url.partition("://")[0]
        core = extra_module("fsspec.core", f"{scheme}://", "cloud")
        try:
            system, path = core.url_to_fs(self.url, **dict(self.options))
        except ImportError as error:
            extra_module("s3fs" if scheme == "s3" else scheme, f"{scheme}://", "cloud")
            raise self._failed(error) from error
        except Exception as error:  # of the library: an unknown scheme, wrong options
            raise self._failed(error) from error
        return system, str(path)

    def listed(self) -> tuple[str, list[tuple[str, str, str, int]]]:
        """The name of the folder, and every object below: name in it, path, mark, bytes.

        The mark changes with the content; it is "" where the store tells of none.
        """
        system, root = self._system()
        first = min((root.find(mark) for mark in "*?[" if mark in root), default=None)
        try:
            system.invalidate_cache()
            found = (system.find if first is None else system.glob)(root, detail=True)
            if not found and first is None and not system.exists(root):
                raise FileNotFoundError("there is no such bucket or prefix")
        except Exception as error:  # of the library, of the network, of the service
            raise self._failed(error) from error
        base = root if first is None else root[:first].rpartition("/")[0]
        items = []
        for path, info in found.items():
            if info.get("type") == "file":
                name = path.removeprefix(base).lstrip("/") or PurePosixPath(path).name
                items.append((name, path, _mark(info), int(info.get("size") or 0)))
        return PurePosixPath(base).name, items

    @contextmanager
    def brought(self, path: str, size: int) -> Iterator[str]:
        """A file on this machine with the content of an object, until the block ends."""
        system, _ = self._system()
        with _scratch_folder() as folder:
            free = shutil.disk_usage(folder).free
            if size + SPARE > free:
                allowed = f"at most {max(free - SPARE, 0)} bytes: so much of {folder} is free"
                raise FileError("size of the log (bytes)", size, allowed, path=path)
            target = Path(folder) / PurePosixPath(path).name
            try:
                with system.open(path, "rb") as remote, target.open("wb") as file:
                    shutil.copyfileobj(remote, file, BUFFER)
            except Exception as error:  # of the library, of the network, of the service
                problem = f"cannot be brought here: {_told(error)}"
                raise RecordingFileError.of_file(path, problem, "an object to read") from error
            if target.stat().st_size != size:
                problem = f"has {target.stat().st_size} bytes here and {size} in the store"
                raise RecordingFileError.of_file(path, problem, "an object that does not change")
            yield str(target)

    def _failed(self, error: BaseException) -> DeltadynError:
        allowed = (
            "a bucket and prefix that exist, with credentials in the environment or in the "
            "store's own files, and options of the store by --storage"
        )
        return FileError("source", self.url, f"{allowed} ({_told(error)})", path=self.url)


@contextmanager
def _scratch_folder() -> Iterator[str]:
    """A folder for an object; those that killed processes left are removed before.

    The temporary folder may be shared with other containers: a lock says who lives there.
    """
    root = Path(tempfile.gettempdir())
    _remove_abandoned(root)
    folder = root / f"{SCRATCH}{uuid.uuid4().hex}"
    with liveness_mark(folder.with_suffix(MARK)):
        folder.mkdir(mode=0o700)
        try:
            yield str(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(root: Path) -> None:
    """Remove folders of objects, and marks, of processes that are no more."""
    for folder in root.glob(f"{SCRATCH}{'[0-9a-f]' * 32}"):
        if remove_abandoned_mark(folder.with_suffix(MARK)):
            shutil.rmtree(folder, ignore_errors=True)
    for mark in root.glob(f"{SCRATCH}{'[0-9a-f]' * 32}{MARK}"):
        remove_abandoned_mark(mark)


def _told(error: BaseException) -> str:
    """An error of a library in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _mark(info: Mapping[str, Any]) -> str:
    """What the store says of an object's content; "" where it has nothing but times."""
    for name in ("ETag", "etag", "md5Hash", "VersionId"):
        if info.get(name):
            return str(info[name]).strip('"')
    return ""
