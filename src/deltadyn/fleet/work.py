"""The work folder of a fleet: what was found of each log, kept so that a run can go on from it.

Every file is written whole and named by the fingerprint of all that it depends on: samples, robot,
options and program. So it is never out of date, and there is nothing to lock: two runs that write
the same file write the same content. A file that is damaged is made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from deltadyn import backends
from deltadyn.errors import FileError
from deltadyn.files import file_digest, write_whole
from deltadyn.history.results import code_fingerprint
from deltadyn.identification.information import Information, load_information
from deltadyn.robot import Robot
from deltadyn.robot.file import robot_text


@cache
def program() -> str:
    """The fingerprint of the program: its sources, and the kernels that run."""
    root = Path(backends.__file__).parent
    kernels = [file_digest(path) for path in sorted(root.glob("_kernels*.so"))]
    return " ".join([code_fingerprint(), backends.status(), *kernels])


def key_of(*parts: object) -> str:
    """A name for what depends on these and on the program; a robot counts by its file."""
    texts = [robot_text(part) if isinstance(part, Robot) else repr(part) for part in parts]
    return hashlib.sha256(json.dumps([program(), *texts]).encode()).hexdigest()[:40]


class WorkFolderError(FileError):
    """The work folder cannot be written: no log is at fault, and the run ends."""


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        allowed = f"a folder with room that can be written ({error.strerror or error})"
        raise WorkFolderError("work folder", str(path.parent), allowed, path=str(path)) from error


@dataclass(frozen=True)
class Work:
    """A work folder; `kind` is a folder in it, `key` the name of a file there."""

    folder: str

    def path(self, kind: str, key: str, ending: str) -> Path:
        """Where a file is."""
        return Path(self.folder) / kind / key[:2] / f"{key}{ending}"

    def keep(self, kind: str, key: str, record: Any) -> None:
        """Keep a record (JSON) with its checksum."""
        text = json.dumps(record, allow_nan=False)
        whole = json.dumps({"sha256": _digest(text), "record": record}, allow_nan=False)
        path = self.path(kind, key, ".json")
        with _writing(path):
            write_whole(path, whole)

    def recall(self, kind: str, key: str) -> Any:
        """The record; None where there is none. One that is damaged is a `FileError`."""
        path = self.path(kind, key, ".json")
        try:
            found = json.loads(path.read_text("utf-8"))
            if _digest(json.dumps(found["record"], allow_nan=False)) == found["sha256"]:
                return found["record"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            pass
        raise FileError("record", str(path), "as it was written; it is damaged", path=str(path))

    def keep_factor(self, key: str, number: int, information: Information) -> None:
        """Keep the factor of a chunk."""
        path = self.path("factors", key, f"-{number:04d}.npz")
        with _writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            information.save(path)

    def factor(self, key: str, number: int) -> Information | None:
        """The factor of a chunk; None where there is none. A damaged one is a `FileError`."""
        path = self.path("factors", key, f"-{number:04d}.npz")
        return load_information(path) if path.exists() else None

    def has_factor(self, key: str, number: int) -> bool:
        """Whether there is the factor of a chunk."""
        return self.path("factors", key, f"-{number:04d}.npz").exists()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def attempt(read: Any, told: list[str]) -> Iterator[Any]:
    """What `read()` gives; nothing where it is damaged, which is told."""
    try:
        found = read()
    except FileError as error:
        told.append(f"made again: {error}")
        return
    if found is not None:
        yield found
