"""A log: what was found in it, its identification in a thread, and the files to take away."""

from __future__ import annotations

import io
import re
import tempfile
import threading
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltadyn.errors import DeltadynError, UnknownNameError
from deltadyn.exports.export import TARGETS, export
from deltadyn.identification.methods.registry import METHODS
from deltadyn.recording.checks import check_recording
from deltadyn.recording.checks.findings import Findings
from deltadyn.recording.recording import Recording
from deltadyn.report.study import Study, study
from deltadyn.robot import Robot
from deltadyn.robot.write import robot_text

#: Methods that take one log; "two-step" needs another log without the rod.
STUDIO_METHODS = tuple(name for name in ("convex", *METHODS) if name != "two-step")
STUDIO_METHODS = tuple(dict.fromkeys(STUDIO_METHODS))
ZIP_TIME = (2020, 1, 1, 0, 0, 0)  # the same files make the same archive


@dataclass(frozen=True, eq=False)
class CheckedLog:
    """A recording and what its checks found."""

    recording: Recording
    findings: Findings

    @property
    def summary(self) -> str:
        """One line: name, samples, seconds, rate, payload."""
        log = self.recording
        rate = (len(log) - 1) / log.duration if log.duration > 0 else 0.0
        carried = "payload not given" if log.payload is None else f"payload {log.payload:g} kg"
        return f"{log.name}: {len(log)} samples, {log.duration:.2f} s at {rate:.4g} Hz, {carried}"


def checked(recording: Recording, robot: Robot) -> CheckedLog:
    """The recording with its checks."""
    return CheckedLog(recording, check_recording(recording, robot))


def finding_rows(log: CheckedLog) -> list[tuple[str, ...]]:
    """Rows severity, where, sentence with advice; what could not be checked comes last."""
    rows: list[tuple[str, ...]] = [
        (item.severity, f"{item.kind} {item.channel or ''}".strip(), f"{item.text} {item.advice}")
        for item in log.findings
    ]
    rows += [("info", "not checked", text) for text in log.findings.skipped]
    return rows


def identify_log(
    robot: Robot,
    log: Recording,
    held_out: Recording | None,
    method: str,
    others: Sequence[str],
    tell: Tell,
) -> Study:
    """Identify by `method`, with `others` beside it, and judge on the held-out log.

    What the data cannot tell stays at the robot's value, and the verdict says so.
    """
    names = list(dict.fromkeys([method, *others]))
    for name in names:
        if name not in STUDIO_METHODS:
            raise UnknownNameError("method", name, STUDIO_METHODS)
    steps = len(names) + 2
    done = iter(range(1, steps))

    def hear(text: str) -> None:
        tell(next(done, steps - 1) / steps, text)

    tell(0.0, "prepare the log")
    found = study(
        robot,
        [log],
        held_out=None if held_out is None else [held_out],
        methods=names,
        tell=hear,
    )
    tell(1.0, "done")
    return found


def report_files(found: Study, name: str = "report") -> tuple[bytes, bytes]:
    """The report's page and its numbers (JSON)."""
    with tempfile.TemporaryDirectory(prefix="deltadyn-") as folder:
        page = found.report(Path(folder) / f"{name}.html")
        return page.read_bytes(), page.with_suffix(".json").read_bytes()


def robot_bytes(robot: Robot) -> bytes:
    """The robot file."""
    return robot_text(robot).encode()


@dataclass(frozen=True)
class Archive:
    """A zip of exports; `written` names the targets in it, `refused` says why others are not."""

    content: bytes
    written: tuple[str, ...]
    refused: tuple[str, ...]


def export_archive(robot: Robot, targets: Sequence[str] = tuple(TARGETS)) -> Archive:
    """The robot file and the exports of all targets that can hold the robot, as a zip."""
    written, refused = [], []
    buffer = io.BytesIO()
    with (
        tempfile.TemporaryDirectory(prefix="deltadyn-") as folder,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        _add(archive, "robot.yaml", robot_bytes(robot))
        for target in targets:
            try:
                result = export(robot, target, Path(folder) / target)
            except DeltadynError as error:
                refused.append(f"{target}: {error}")
                continue
            written.append(target)
            for path in result.files:
                inside = f"{target}/{path.relative_to(result.folder).as_posix()}"
                _add(archive, inside, path.read_bytes())
        if refused:
            _add(archive, "NOT-EXPORTED.txt", ("\n".join(refused) + "\n").encode())
    return Archive(buffer.getvalue(), tuple(written), tuple(refused))


def file_stem(robot: Robot) -> str:
    """The robot's name as the start of a file name."""
    return re.sub(r"[^\w-]+", "-", robot.name).strip("-") or "robot"


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, ZIP_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, content)


# One long piece of work at a time, in a thread, with progress and a way out.

Tell = Callable[[float, str], None]  # share done from 0 to 1, what is being done


class BusyError(DeltadynError):
    """Work was asked for while other work is under way."""


class CancelledError(DeltadynError):
    """The work was cancelled."""


class Job:
    """A function `work(tell)` in a thread; exactly one of the two callbacks hears how it ended.

    `cancel` lets the caller go at once: what the thread still finds is dropped, and the thread
    ends when it tells its next step.
    """

    def __init__(
        self,
        work: Callable[[Tell], Any],
        *,
        tell: Tell,
        done: Callable[[Any], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._work, self._tell, self._done, self._failed = work, tell, done, failed
        self._cancelled = threading.Event()
        self._ended = threading.Event()
        self._once = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True, name="deltadyn-job")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether somebody still waits for it."""
        return self._thread.is_alive() and not self._ended.is_set()

    def cancel(self) -> None:
        """Let go; `failed` hears a CancelledError unless the work has ended."""
        self._cancelled.set()
        self._end(lambda: self._failed(CancelledError("cancelled")))

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended."""
        self._thread.join(timeout)

    def _run(self) -> None:
        try:
            found = self._work(self._hear)
        except BaseException as error:  # a thread must report whatever ends it
            reason = error
            self._end(lambda: self._failed(reason))
        else:
            self._end(lambda: self._done(found))

    def _hear(self, share: float, text: str) -> None:
        if self._cancelled.is_set():
            raise CancelledError("cancelled")
        self._tell(share, text)

    def _end(self, report: Callable[[], None]) -> None:
        with self._once:
            if self._ended.is_set():
                return
            self._ended.set()
        report()
