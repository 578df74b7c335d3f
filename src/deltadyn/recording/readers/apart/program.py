"""Read files one after the other, each in a fork, and write their arrays to standard output.

It is run by its path as a program of its own, and imports nothing of deltadyn. A request is a line
of JSON; the answer is the arrays in NumPy's own format in parts, each behind its length in 4
bytes, an empty part, and in words why there are none, which is empty where there are.
"""

from __future__ import annotations

import gc
import io
import json
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

with suppress(ImportError):  # Windows has no such limits
    import resource

HERE = os.path.dirname(os.path.abspath(__file__))
if HERE not in sys.path:  # PYTHONSAFEPATH and embedded interpreters leave a program's folder out
    sys.path.insert(0, HERE)
PART = 1 << 20  # bytes


def main() -> None:
    """Answer until nobody asks."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        import_module(request["kind"])  # with its library, once for all forks
        gc.freeze()  # what is there stays shared with them
        if not hasattr(os, "fork"):
            content, problem = read(request)
            _answer(content)
            _end(problem)
            return
        _end(_forked(request))


def _forked(request: dict[str, Any]) -> str:
    """Read in a fork and pass on what it reads; the problem in words."""
    arrays, words = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        _limit(request)
        content, problem = read(request)
        os.write(words[1], problem.encode()[:2000])
        with open(arrays[1], "wb") as out:
            out.write(content)
        os._exit(bool(problem))
    os.close(arrays[1])
    os.close(words[1])
    while part := os.read(arrays[0], PART):
        _answer(part)
    problem = os.read(words[0], 2000).decode(errors="replace")
    os.close(arrays[0])
    os.close(words[0])
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        late = os.WTERMSIG(status) == signal.SIGALRM
        return "it does not end" if late else "its reader broke off"
    return problem


def _limit(request: dict[str, Any]) -> None:
    """Limits of this process; more time ends it."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    memory = request["memory"] if hard == resource.RLIM_INFINITY else min(request["memory"], hard)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_REAL, request["seconds"])


def read(request: dict[str, Any]) -> tuple[bytes, str]:
    """Names and arrays one after the other, or the problem in words."""
    try:
        out = io.BytesIO()
        for name, value in import_module(request["kind"]).arrays(request["path"]):
            np.save(out, np.array(name), allow_pickle=False)
            np.save(out, np.array(value), allow_pickle=False)
        return out.getvalue(), ""
    except BaseException as error:
        first = (str(error) or repr(error)).splitlines()[0]
        return b"", f"{type(error).__name__}: {first}"[:500]


def _answer(part: bytes) -> None:
    sys.stdout.buffer.write(len(part).to_bytes(4, "little") + part)
    sys.stdout.buffer.flush()


def _end(problem: str) -> None:
    _answer(b"")
    _answer(problem.encode())


if __name__ == "__main__":
    main()
