"""Runs of a command that are killed, stopped or refused by the disk at a chosen write."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import IO

REPOSITORY = Path(__file__).resolve().parents[2]
SHIM = Path(__file__).with_name("shim.c")
TEMPORARY = re.compile(
    r"\..+\.[0-9a-f]{32}\.(tmp(-wal|-shm|-journal)?|[0-9]+\.part)|\.deltadyn-writing\.json"
)
LONGEST = 120.0  # s, until an answer


class Action(IntEnum):
    """What happens at the chosen call; as in shim.c."""

    COUNT = 0
    KILL = 1
    STOP = 2
    FAIL_ONCE = 3
    FAIL_ROOM = 4  # every call from there on that asks for room
    FAIL_ALL = 5  # every call from there on


@dataclass(frozen=True)
class Outcome:
    """How a run ended: its exit status or signal, the calls that it made, what it printed."""

    status: int  # -9 where it was killed
    count: int
    text: str
    calls: tuple[str, ...]


@dataclass(frozen=True)
class State:
    """Files of a folder by name, and which of them are temporaries."""

    files: dict[str, bytes]
    temporaries: tuple[str, ...]


def state_of(folder: Path) -> State:
    """What a folder holds."""
    files, temporaries = {}, []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if TEMPORARY.fullmatch(path.name):
            temporaries.append(name)
        elif path.suffix == ".db":
            files[name] = _rows(path)
        elif path.is_file() and not SQLITE.search(name):
            files[name] = path.read_bytes()
    return State(files, tuple(temporaries))


SQLITE = re.compile(r"\.db-(wal|shm|journal)$")  # of a database, beside it


class Rows(bytes):
    """The rows of a database as SQL; `file` is a file that holds them."""

    file: bytes


def _rows(path: Path) -> bytes:
    """The rows of a database as anybody finds them who opens it; what is none, as it is."""
    with tempfile.TemporaryDirectory() as folder:
        for part in path.parent.glob(f"{path.name}*"):
            shutil.copy(part, folder)
        base = sqlite3.connect(Path(folder) / path.name)
        try:
            assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",), path
            found = Rows("\n".join(base.iterdump()).encode())
        except sqlite3.DatabaseError:
            return path.read_bytes()
        finally:
            base.close()
        found.file = (Path(folder) / path.name).read_bytes()
        return found


def built_shim(folder: Path) -> Path:
    """Compile the shim."""
    out = folder / "shim.so"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, str(SHIM), "-o", str(out), "-ldl"], check=True)
    return out


class Server:
    """The process with all of deltadyn loaded; `session` begins a case in a fork of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        temporary = folder / "tmp"
        temporary.mkdir()
        environment = {
            **os.environ,
            "LD_PRELOAD": str(built_shim(folder)),
            "TMPDIR": str(temporary),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)]),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=REPOSITORY,
        )
        assert _pipe(self._process.stdout).readline() == b"ready\n"

    @contextmanager
    def session(
        self, arguments: Sequence[str], folder: Path, cwd: Path, call: str | None = None
    ) -> Iterator[Session]:
        """A command, or a call of `cases.CALLS`, at its first look into the watched folder."""
        self._number += 1
        own = self._folder / f"session-{self._number}"
        own.mkdir()
        names = {name: str(own / name) for name in ("orders", "answers", "log", "output")}
        for name in ("orders", "answers"):
            os.mkfifo(names[name])
        case = {"arguments": list(arguments), "call": call, "folder": str(folder), "cwd": str(cwd)}
        feed = _pipe(self._process.stdin)
        feed.write(json.dumps({**case, **names}).encode() + b"\n")
        feed.flush()
        with open(names["orders"], "wb", buffering=0) as orders:
            answers = os.open(names["answers"], os.O_RDONLY)
            try:
                yield Session(orders, answers, Path(names["log"]), Path(names["output"]))
            finally:
                os.close(answers)
        shutil.rmtree(own)

    def close(self) -> None:
        """End the process."""
        _pipe(self._process.stdin).close()
        self._process.wait()
        _pipe(self._process.stdout).close()


@dataclass(frozen=True)
class Session:
    """A command whose computation is done; every run goes on from there."""

    _orders: IO[bytes]
    _answers: int
    _log: Path
    _output: Path

    def run(self, action: Action = Action.COUNT, point: int = 0, error: int = 0) -> Outcome:
        """One run to its end."""
        self.begin(action, point, error)
        found = self.wait()
        assert found is not None
        return found

    def begin(self, action: Action = Action.COUNT, point: int = 0, error: int = 0) -> None:
        """Let a run begin."""
        for file in (self._log, self._output):
            with contextlib.suppress(FileNotFoundError):
                os.truncate(file, 0)
        self._orders.write(struct.pack("iii", action, point, error))

    def wait(self, longest: float = LONGEST) -> Outcome | None:
        """The end of a run, or None where it has not ended in time; raises where it stopped."""
        ready, _, _ = select.select([self._answers], [], [], longest)
        if not ready:
            return None
        answer = os.read(self._answers, 12)
        text = self._output.read_text("utf-8", "replace") if self._output.exists() else ""
        if len(answer) < 12:
            raise AssertionError(f"the command never looked into its folder:\n{text}")
        pid, status, count = struct.unpack("iii", answer)
        if os.WIFSTOPPED(status):
            raise StoppedError(pid)
        calls = tuple(self._log.read_text("utf-8", "replace").splitlines())
        return Outcome(os.waitstatus_to_exitcode(status), count, text, calls)


class StoppedError(Exception):
    """A run that stands still at its point; `go` lets it go on."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        super().__init__(f"process {pid} has stopped")

    def go(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)


def _pipe(found: IO[bytes] | None) -> IO[bytes]:
    assert found is not None
    return found
