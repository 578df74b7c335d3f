"""Arrays of files whose libraries a damaged file may end, read in a process apart.

SciPy and HDF5 believe what a file says about itself: one wrong byte can end the process, a small
file can ask for all memory. So a program of its own, `program.py`, reads such files. It lasts, and
forks for every file: the fork has limits of memory and time, and what ends it ends nothing else.
Windows has no forks: a program reads one file there, and is ended when its time is over; memory
has no limit. A format is a module beside this one, with `arrays(path)` that yields names with
arrays or texts.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Timer
from typing import Any

import numpy as np

from deltadyn.errors import RecordingFileError
from deltadyn.recording.readers.bounded import unpacked_limit

LEAST_MEMORY = 2**31  # bytes of the process that reads
LEAST_SECONDS, BYTES_PER_SECOND = 60.0, 1e6
STARTS_IN = 120.0  # s for a program with its libraries, where it reads without a fork
_LENGTH = 4  # bytes that say how many follow
_free: list[subprocess.Popen[bytes]] = []  # programs that wait for a file


def read_apart(kind: str, path: str, allowed: str) -> Iterator[tuple[str, Any]]:
    """Names with arrays or texts of a file, as the module `kind` yields them."""
    size = os.path.getsize(path)
    memory = max(LEAST_MEMORY, 10 * size)
    seconds = LEAST_SECONDS + size / BYTES_PER_SECOND
    limits = {"memory": memory, "seconds": seconds, "bytes": unpacked_limit(path)}
    content, problem = _ask({"kind": kind, "path": os.path.abspath(path), **limits})
    if problem:
        if "MemoryError" in problem:
            problem = f"its content needs more than {memory / 2**30:.1f} GiB"
        raise RecordingFileError.of_file(path, f"cannot be read: {problem}", allowed)
    stream = io.BytesIO(content)
    while stream.tell() < len(content):
        name, value = (np.load(stream, allow_pickle=False) for _ in range(2))
        yield str(name), str(value) if value.dtype.kind == "U" else value


def _ask(request: dict[str, Any]) -> tuple[bytes, str]:
    """What a program answers: the bytes of the arrays, and why there are none."""
    program = _free.pop() if _free else _started()
    to, answers = program.stdin, program.stdout
    assert to is not None
    assert answers is not None
    late, count = Event(), 0

    def end() -> None:
        late.set()
        program.kill()

    clock = Timer(STARTS_IN + request["seconds"], end)
    if not hasattr(os, "fork"):
        clock.start()
    try:
        to.write(json.dumps(request).encode() + b"\n")
        to.flush()
        parts = []
        while part := _frame(answers):
            parts.append(part)
            count += len(part)
            if count > request["bytes"]:
                raise EOFError  # the program is ended; what came is more than may be
        problem = _frame(answers).decode(errors="replace")
    except (OSError, EOFError):
        program.kill()
        program.wait()
        answers.close()
        with suppress(OSError):  # what was not sent is lost
            to.close()
        if count > request["bytes"]:
            return b"", f"its content is more than {request['bytes'] / 1e6:,.0f} MB"
        return b"", "it does not end" if late.is_set() else "its reader broke off"
    finally:
        clock.cancel()
    if hasattr(os, "fork"):
        _free.append(program)
    else:
        program.wait()
    return b"".join(parts), problem


def _frame(answers: Any) -> bytes:
    """Bytes with their length before them."""
    length = answers.read(_LENGTH)
    if len(length) < _LENGTH:
        raise EOFError
    size = int.from_bytes(length, "little")
    content: bytes = answers.read(size)
    if len(content) < size:
        raise EOFError
    return content


def _started() -> subprocess.Popen[bytes]:
    command = [sys.executable, str(Path(__file__).with_name("program.py"))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )


@atexit.register
def _end() -> None:
    """End the programs: each ends when nobody writes to it any more."""
    while _free:
        program = _free.pop()
        if program.stdin is not None:
            program.stdin.close()
        program.wait()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free.clear)  # a fork has programs of its own
