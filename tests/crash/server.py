"""The process that runs the cases: it loads the commands once and forks for each case.

It runs with the shim loaded before libc. Every line that it reads is a case as JSON: its name, the
folder that is watched, and the pipes over which the shim takes orders.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import pkgutil
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

import deltadyn
from deltadyn.cli import main as command_line

#: What commands load when they run.
LOADED = tuple(
    f"deltadyn.{name}"
    for name in ("commands", "exports", "report", "inspection", "simulation", "identification")
)


def main() -> None:
    for name in LOADED:
        for part in pkgutil.iter_modules(importlib.import_module(name).__path__, f"{name}."):
            importlib.import_module(part.name)
    from tests.crash.cases import CALLS

    print("ready", flush=True)
    for line in sys.stdin:
        if os.fork() == 0:
            _run(json.loads(line), CALLS)
        while _reaped():
            pass


def _reaped() -> bool:
    """Take the status of a case that has ended."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _run(case: dict[str, Any], calls: dict[str, Callable[[str], None]]) -> NoReturn:
    os.setpgid(0, 0)
    os.chdir(case["cwd"])
    orders = os.open(case["orders"], os.O_RDONLY)
    answers = os.open(case["answers"], os.O_WRONLY)
    log = os.open(case["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    output = os.open(case["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, to in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(number, to)
    os.environ.pop("LD_PRELOAD", None)  # a compiler that a command starts is not watched
    signal.signal(signal.SIGINT, signal.default_int_handler)
    watch = ctypes.CDLL(None).crash_watch
    watch(os.fsencode(case["folder"]), orders, answers, log)
    status = 70
    try:
        if case["call"] is None:
            command_line(case["arguments"], prog_name="deltadyn")
            status = 0
        else:
            calls[case["call"]](*case["arguments"])
            status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except (deltadyn.errors.DeltadynError, OSError) as error:  # of a call of the library
        print(f"deltadyn: {error}", flush=True)
        status = 2
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
