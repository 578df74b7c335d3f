"""Look at a robot file and at logs before anything is fitted: a verdict, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.doors import write_page
from deltadyn.inspection.log import SCALES, LogCheck, check_log
from deltadyn.inspection.robot import RobotCheck, check_robot_file
from deltadyn.options import merged
from deltadyn.recording.checks.findings import Finding
from deltadyn.recording.read import ReadOptions
from deltadyn.recording.recording import Recording
from deltadyn.robot import Robot
from deltadyn.units import counted

Log = Recording | str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Check:
    """What was found before a fit; `ok` where nothing of severity "error" was.

    Logs are not looked at where the robot file has errors.
    """

    robot: RobotCheck
    logs: tuple[LogCheck, ...] = ()
    waiting: tuple[str, ...] = ()  # logs that were not looked at
    call: str = ""  # options of the command line that the next call needs too

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings: of the robot, then of each log."""
        return (*self.robot.findings, *(item for log in self.logs for item in log.findings))

    @property
    def grade(self) -> str:
        """ "good", "care" (there are warnings) or "bad" (there are errors)."""
        worst = {item.severity for item in self.findings}
        return "bad" if "error" in worst else "care" if "warning" in worst else "good"

    @property
    def ok(self) -> bool:
        """Whether nothing of severity "error" was found."""
        return self.grade != "bad"

    @property
    def verdict(self) -> str:
        """One sentence."""
        robot = self.robot
        errors = [item for item in robot.findings if item.severity == "error"]
        if robot.robot is None:
            return f"{robot.source} has {counted(len(errors), 'error')}."
        if errors:
            return f"{robot.source} is not to be used as it is: {errors[0].text}"
        for log in self.logs:
            if not log.ok:
                return _log_verdict(log)
        warnings = [item for item in self.findings if item.severity == "warning"]
        what = robot.source
        if self.logs:
            logs = self.logs[0].source if len(self.logs) == 1 else f"{len(self.logs)} logs"
            what = f"{robot.source} and {logs}"
        if warnings:
            return f"{what} can be used; look at {counted(len(warnings), 'warning')} first."
        return f"{what} can be used."

    @property
    def next(self) -> tuple[str, ...]:
        """What to do next, in the order of the steps."""
        return tuple(dict.fromkeys(self._steps()))

    def _steps(self) -> Iterator[str]:
        source = self.robot.source
        names = " ".join([source, *(log.source for log in self.logs), *self.waiting])
        names += f" {self.call}" if self.call else ""
        again = f"Then run `deltadyn check {names}` again."
        if self.robot.robot is None:
            yield "Correct the lines that are named."
            yield again
            return
        yield from (item.advice for item in self.robot.findings if item.severity == "error")
        for log in self.logs:
            yield from _log_steps(log, source)
        if not self.ok:
            asked = dict.fromkeys(name for log in self.logs for name in log.stand_in)
            names += "".join(f" --read {name}=VALUE" for name in asked)
            if any(log.changed and _columns(log) for log in self.logs):
                names += " --columns columns.yaml"
            yield f"Then run `deltadyn check {names}` again."
            return
        yield from (item.advice for item in self.findings if item.severity == "warning")
        bare = [log.source for log in self.logs if log.recording and not log.recording.has_torque]
        if bare:
            yield f"Log torques or currents too, which a fit needs: not in {', '.join(bare)}."
            return
        if self.logs:
            silent = [log.source for log in self.logs if not log.has_torque]
            if silent:
                yield f"Log torques or currents too: {', '.join(silent)} cannot be fitted without."
            else:
                yield f"Fit the robot: `deltadyn identify {names}`."
            return
        yield "Compare the numbers with what you know of the machine."
        yield (
            f"Record a log, e.g. of the motion of `deltadyn excite {source}`, and look at both "
            f"with `deltadyn check {source} LOG`."
        )

    @property
    def text(self) -> str:
        """Verdict, findings and numbers, then what to do next."""
        parts = [self.robot.text, *(log.text for log in self.logs)]
        parts += [f"log {name}: not looked at" for name in self.waiting]
        steps = [f"next: {text}" for text in self.next]
        return "\n\n".join([self.verdict, *parts, "\n".join(steps)])

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        record: dict[str, Any] = _plain(
            {
                "ok": self.ok,
                "grade": self.grade,
                "verdict": self.verdict,
                "next": self.next,
                "robot": self.robot.as_dict(),
                "logs": [log.as_dict() for log in self.logs],
            }
        )
        return record

    def page(self, path: str | PathLike[str]) -> Path:
        """Write one HTML file: verdict, numbers and a figure first, then every finding."""
        return write_page("check", self, path)


def check(
    robot: Robot | str | PathLike[str],
    logs: Log | Sequence[Log] = (),
    options: ReadOptions | None = None,
    **keywords: Any,
) -> Check:
    """Look at a robot, a catalogue name or a robot file, and at logs, before anything is fitted.

    A robot file with errors, or a log that cannot be read, is a result as any other. Logs are
    files or recordings; the fields of `ReadOptions` are `options`, or keywords.
    """
    reading = merged(ReadOptions, options, keywords)
    given = (logs,) if isinstance(logs, Recording | str | PathLike) else tuple(logs)
    looked = check_robot_file(robot)
    if looked.robot is None:
        names = [x.name if isinstance(x, Recording) else Path(x).name for x in given]
        return Check(looked, (), tuple(names))
    own = looked.robot
    return Check(looked, tuple(check_log(own, log, reading) for log in given))


def _log_verdict(log: LogCheck) -> str:
    """One sentence on a log with errors: its convention where that is all, else the first one."""
    found = log.conventions
    own = [item for item in log.findings if item.severity == "error"]
    if log.recording is None:
        return f"{log.source} cannot be read: {own[0].text}"
    if log.changed and found is not None and found.residual_after is not None:
        left = f"{100 * (found.residual_before or 0):.0f} % to {100 * found.residual_after:.2g} %"
        return (
            f"{log.source} counts otherwise than the robot file says ({', '.join(found.changed)}); "
            f"put right, what the model leaves of the torque falls from {left}."
        )
    return f"{log.source} is not to be used as it is: {own[0].text}"


def _log_steps(log: LogCheck, source: str) -> Iterator[str]:
    found = log.conventions
    for item in log.findings:
        if item.kind == "asked for":
            text = f"Take {item.channel} ({SCALES[str(item.channel)]}) from the motor's data sheet"
            about = "" if item.value is None else f"; the robot file's masses say {item.value:.2g}"
            yield f"{text}{about}."
    if found is not None and log.changed:
        yield f"Paste the `controller:` block that was found into {source}."
        if _columns(log):
            yield "Write the column map with `--write-columns columns.yaml`."
    elif found is not None and not found.settled:
        yield from (item["move"] for item in found.alternatives)
    if found is not None:
        yield from (item["move"] for item in found.uncertain_homing if item["seen"])
    told = set(() if found is None else found.changed) | {"asked for"}
    for item in log.findings:
        if item.severity == "error" and item.kind not in told:
            yield item.advice
    if log.ok and log.told is not None and log.told.missing:
        yield from (f"{text[0].upper()}{text[1:]}." for text in log.told.advice)


def _columns(log: LogCheck) -> bool:
    return log.conventions is not None and bool(log.conventions.columns)


def _plain(value: Any) -> Any:
    """A record for JSON, in which a number that is not finite is None."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
