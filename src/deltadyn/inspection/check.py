"""Look at a robot file and at logs before anything is fitted: a verdict, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from deltadyn.doors import write_page
from deltadyn.inspection.robot import RobotCheck, check_robot_file
from deltadyn.recording.checks.findings import Finding
from deltadyn.robot import Robot

GRADES = ("good", "care", "bad")


@dataclass(frozen=True, eq=False)
class Check:
    """What was found before a fit; `ok` where nothing of severity "error" was."""

    robot: RobotCheck

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings."""
        return self.robot.findings

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
        errors = [item for item in self.findings if item.severity == "error"]
        warnings = [item for item in self.findings if item.severity == "warning"]
        if robot.robot is None:
            return f"{robot.source} has {_count(len(errors), 'error')}."
        if errors:
            return f"{robot.source} is not to be used as it is: {errors[0].text}"
        if warnings:
            return f"{robot.source} can be used; look at {_count(len(warnings), 'warning')} first."
        return f"{robot.source} can be used."

    @property
    def next(self) -> tuple[str, ...]:
        """What to do next, in the order of the steps."""
        source = self.robot.source
        again = f"Then run `deltadyn check {source}` again."
        if self.robot.robot is None:
            return ("Correct the lines that are named.", again)
        if not self.ok:
            return (*dict.fromkeys(item.advice for item in self._of("error")), again)
        looked = tuple(dict.fromkeys(item.advice for item in self._of("warning")))
        return (
            *looked,
            "Compare the numbers with what you know of the machine.",
            f"Record a log, e.g. of the motion of `deltadyn excite {source}`, and look at both "
            f"with `deltadyn check {source} LOG`.",
        )

    def _of(self, severity: str) -> list[Finding]:
        return [item for item in self.findings if item.severity == severity]

    @property
    def text(self) -> str:
        """Verdict, findings and numbers, then what to do next."""
        steps = [f"next: {text}" for text in self.next]
        return "\n".join([self.verdict, "", self.robot.text, "", *steps])

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        return {
            "ok": self.ok,
            "grade": self.grade,
            "verdict": self.verdict,
            "next": list(self.next),
            "robot": self.robot.as_dict(),
        }

    def page(self, path: str | PathLike[str]) -> Path:
        """Write one HTML file: verdict, numbers and a figure first, then every finding."""
        return write_page("check", self, path)


def check(robot: Robot | str | PathLike[str]) -> Check:
    """Look at a robot, a catalogue name or a robot file before anything is fitted.

    A robot file with errors is a result as any other; all of them are told.
    """
    return Check(check_robot_file(robot))


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
