"""A campaign: damaged inputs through one lasting worker, which is replaced where one ends it.

The worker is a fork with a limit of memory and of processor time an input. It says the number of
the input before it reads it, so that the one which ended it is known, and can be made again from
seed and number.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine import peak_memory
from tests.parsers.parsers import PARSERS, Parser

from deltadyn.errors import DeltadynError
from deltadyn.recording.readers import apart
from deltadyn.recording.readers.apart import program

MEMORY = 2 * 2**30  # bytes of address space
SECONDS = 5.0  # of processor time for an input
PATIENCE = 60.0  # s in which an input must end, however busy the machine is
MOST = 20  # failures after which a campaign ends

#: What no input may bring a parser to do; imports and compiled code are the library's own.
FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "subprocess.Popen",
    "pty.spawn",
    "pickle.find_class",
    "sqlite3.enable_load_extension",
    "sqlite3.load_extension",
    "socket.connect",
    "ctypes.dlopen",
    "webbrowser.open",
)


@dataclass
class Result:
    """What a campaign found; `failures` are sentences with seed and number."""

    parser: str
    seed: int
    cases: int = 0
    read: int = 0
    ended: int = 0  # that ended the worker where a library is apart from deltadyn otherwise
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0  # of processor time
    memory: int = 0  # bytes at most, of the worker

    @property
    def row(self) -> str:
        """A line of a table."""
        return (
            f"| {self.parser} | {self.cases} | {self.read} | {self.ended} | {len(self.failures)} "
            f"| {self.seconds:.1f} | {self.memory / 2**20:.0f} |"
        )


HEAD = (
    "| parser | inputs | read all the same | ended a reader apart | failures | s | MiB at most |\n"
    "|---|---:|---:|---:|---:|---:|---:|"
)


#: Parsers whose library reads in a process apart.
APART = ("MAT 5", "MAT 7.3")


def campaign(
    name: str,
    cases: int,
    seed: int,
    save: Path | None = None,
    first: int = 0,
    *,
    inline: bool = False,
) -> Result:
    """Read `cases` damaged inputs; the files of those that fail are saved in a folder.

    With `inline` the worker itself reads what is read apart otherwise, which takes less time: then
    an input may end it.
    """
    result = Result(name, seed)
    may_end = inline and name in APART
    began = _processor()
    with tempfile.TemporaryDirectory(dir=_quick_folder()) as place:
        goods = Path(place, "goods")
        goods.mkdir()
        parser = PARSERS[name](goods)
        number, last = first, first + cases
        while number < last and len(result.failures) < MOST:
            number = _worker(parser, result, number, last, Path(place, "work"), save, may_end)
    result.seconds = _processor() - began
    return result


def _processor() -> float:
    """Processor time in s of this process and of its workers."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in used)


def _quick_folder() -> str | None:
    """Memory where the system has such a folder: inputs are written by the thousand."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _worker(
    parser: Parser,
    result: Result,
    first: int,
    last: int,
    folder: Path,
    save: Path | None,
    may_end: bool,
) -> int:
    """Run one worker until it ends, and give the number of the input to go on with."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        _work(parser, result.seed, first, last, folder, writable, may_end)
    os.close(writable)
    number, problem, read = first, "the process ended", 0
    for line in _lines(readable):
        if line is None:
            problem = f"no end in {PATIENCE:g} s"
            os.kill(child, signal.SIGKILL)
            break
        told = json.loads(line)
        number = told["number"]
        read = told.get("read", read)
        if "problem" in told:
            result.failures.append(_failure(parser, result, number, told["problem"], save))
        result.memory = max(result.memory, told.get("memory", 0))
    result.read += read
    if result.memory > MEMORY:
        result.failures.append(f"{result.parser}: {result.memory} bytes in memory")
    os.close(readable)
    _, status = os.waitpid(child, 0)
    result.cases += min(number, last - 1) + 1 - first
    if number >= last:
        return last
    if os.WIFSIGNALED(status) and problem == "the process ended":
        ended = signal.Signals(os.WTERMSIG(status)).name
        problem = f"more than {SECONDS:g} s" if ended == "SIGPROF" else f"{problem} ({ended})"
    if may_end and problem.startswith("the process ended ("):
        result.ended += 1
    else:
        result.failures.append(_failure(parser, result, number, problem, save))
    return number + 1


def _lines(readable: int) -> Iterator[bytes | None]:
    """Lines of a pipe to its end; None where none comes in time."""
    waiting = b""
    while select.select([readable], [], [], PATIENCE)[0]:
        got = os.read(readable, 65536)
        if not got:
            return
        *whole, waiting = (waiting + got).split(b"\n")
        yield from whole
    yield None


def _failure(parser: Parser, result: Result, number: int, problem: str, save: Path | None) -> str:
    text = f"{result.parser}, seed {result.seed}, number {number}: {problem}"
    if save is not None:
        place = save / result.parser.replace(" ", "-") / f"{result.seed}-{number}"
        write(parser.damaged(result.seed, number), place)
        text += f"; saved in {place}"
    return text


def _inline(request: dict[str, Any]) -> tuple[bytes, str]:
    """What the program would answer that reads apart."""
    module = f"{apart.__name__}.{request['kind']}"
    return program.read({**request, "kind": module})


def write(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files of an input, and nothing else, into a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _work(
    parser: Parser, seed: int, first: int, last: int, folder: Path, out: int, inline: bool
) -> None:
    """The worker: never returns."""
    try:
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        warnings.simplefilter("ignore")
        if inline:
            apart._ask = _inline
        for good in parser.goods[:4]:  # which also loads the libraries
            shutil.rmtree(folder, ignore_errors=True)
            write(good, folder)
            parser.read(folder)
        guard = Guard()
        read = 0
        for number in range(first, last):
            files = parser.damaged(seed, number)
            shutil.rmtree(folder, ignore_errors=True)
            write(files, folder)
            os.write(out, b'{"number": %d, "read": %d}\n' % (number, read))
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            problem = ""
            try:
                with guard.watching():
                    parser.read(folder)
                read += 1
            except DeltadynError as error:
                problem = _memory(error)
            except BaseException as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                problem = (
                    f"{type(error).__name__}: {str(error)[:200]} "
                    f"({Path(place.filename).name}:{place.lineno})"
                )
            signal.setitimer(signal.ITIMER_PROF, 0)
            problem = problem or guard.told
            if problem:
                os.write(out, json.dumps({"number": number, "problem": problem}).encode() + b"\n")
        memory = peak_memory()
        told = {"number": last, "read": read, "memory": memory}
        os.write(out, json.dumps(told).encode() + b"\n")
    except BaseException as error:
        text = f"before the first input: {type(error).__name__}: {error}"
        os.write(out, json.dumps({"number": last, "problem": text}).encode() + b"\n")
    finally:
        os._exit(0)


def _memory(error: BaseException) -> str:
    """Whether memory ran out behind an error of our own: then the limit saved us, not the check."""
    known: BaseException | None = error
    while known is not None:
        if isinstance(known, MemoryError):
            return f"needs more than {MEMORY} bytes: {error}"
        known = known.__cause__ or known.__context__
    return ""


class Guard:
    """Notes what an input brings the interpreter to do (audit events of Python)."""

    def __init__(self) -> None:
        self.told = ""
        self.active = False
        sys.addaudithook(self._heard)

    @contextmanager
    def watching(self) -> Iterator[None]:
        self.told, self.active = "", True
        try:
            yield
        finally:
            self.active = False

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.active and event in FORBIDDEN:
            self.told = f"runs something: {event} {arguments!r}"[:300]
