"""What is checked, and what is found: what is wrong with a recording, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray
from deltadyn.recording.conventions.find import of_stretch
from deltadyn.recording.conventions.result import Conventions
from deltadyn.recording.recording import Recording
from deltadyn.recording.stretch import Stretch, smooth_stretch
from deltadyn.robot import Robot

Ranges = tuple[tuple[int, int], ...]

SEVERITIES = ("error", "warning", "info")
MOST_RANGES = 1000  # kept in a finding; its count tells of all
LOWEST_RATE = 100.0  # Hz; the dynamics of a Delta robot reach some tens of hertz
LEAST_SAMPLES = 200
LEAST_DURATION = 1.0  # s

#: Every kind of finding in the order in which they are looked for: severity, and what to do.
KINDS = {
    "not finite": (
        "error",
        "Cut these rows out, or interpolate short stretches with repair(kinds=['not finite']).",
    ),
    "duplicate time": (
        "error",
        "Look for restarts or merged files; repair(kinds=['duplicate time']) would drop repeated "
        "rows.",
    ),
    "decreasing time": (
        "error",
        "Look for restarts or merged files; repair(kinds=['decreasing time']) would sort the rows.",
    ),
    "gap": (
        "warning",
        "Split the recording there; repair(kinds=['gap']) interpolates gaps of a few samples.",
    ),
    "jitter": (
        "warning",
        "Log with the drive's own clock; derivatives of positions suffer from it.",
    ),
    "time unit": ("error", "Name the unit in the header (t_ms) or in a column map."),
    "low rate": (
        "warning",
        f"Log with at least {LOWEST_RATE:g} Hz, better 1 kHz: accelerations are lost below.",
    ),
    "too short": (
        "warning",
        f"Record at least {LEAST_SAMPLES} samples and {LEAST_DURATION:g} s; identification needs "
        "about 10 s.",
    ),
    "encoder wrap": ("error", "repair(kinds=['encoder wrap']) undoes it."),
    "jump": (
        "error",
        "Split the recording there: the axis was homed again, or samples are missing.",
    ),
    "frozen": (
        "error",
        "Check the cable or the mapping of the variable; leave these rows out.",
    ),
    "saturated": (
        "warning",
        "Leave these rows out, or record a slower motion: the true torque is not known there.",
    ),
    "same as command": (
        "warning",
        "Log the actual value of the drive: a command holds no information on the robot.",
    ),
    "rate unit": ("error", "Name the units of time and rate in the header or in a column map."),
    "angle unit": (
        "error",
        "Name the unit in the header (q1_deg) or in a column map; for angles of the motor "
        "`side: motor`.",
    ),
    "open loop": (
        "error",
        "Check unit, sign, offset and order of the angles, and the robot's lengths.",
    ),
    "limits": (
        "warning",
        "Check unit, sign and offset of the angle, or the limits in the robot file.",
    ),
    "pose": (
        "warning",
        "Check the unit and origin of the pose, the homing of the axes and the robot's lengths.",
    ),
    "swapped axes": (
        "error",
        "Correct the axes of the angle or of the torque columns in a column map.",
    ),
    "angle sign": (
        "error",
        "Correct the sign in a column map, or in the controller section of the robot file.",
    ),
    "torque sign": (
        "error",
        "Set sign: -1 in a column map, or in the controller section of the robot file where the "
        "angle is turned too.",
    ),
    "torque unit": (
        "error",
        "Name the unit in the header (tau1_mNm), or give unit, scale or side in a column map.",
    ),
    "homing": (
        "info",
        "Home the axes, with the arms at known angles; or correct the offsets in the controller "
        "section of the robot file. Torques see an angle to 0.2 to 0.5 deg at best and take wrong "
        "lengths for offsets: this is no calibration; measured positions are (deltadyn calibrate).",
    ),
    "convention": (
        "warning",
        "Check unit, side, sign, order and offset of the columns against the machine.",
    ),
}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: a sentence, and another on what to do.

    `severity` is "error" (not usable as it is), "warning" (results suffer) or "info" (a hint).
    `rows` are ranges start <= row < stop, at most a thousand of `count`; `value` is the number
    that the finding is about, such as the period of a wrap.
    """

    kind: str
    severity: str
    channel: str | None
    text: str
    advice: str
    rows: Ranges = ()
    count: int = 0
    value: float | None = None

    def __str__(self) -> str:
        place = f" {self.channel}" if self.channel else ""
        return f"{self.severity}: {self.kind}{place}: {self.text} {self.advice}"


@dataclass(frozen=True)
class Findings(Sequence[Finding]):
    """All findings about a recording; `skipped` says which checks could not be made, and why."""

    recording: str
    found: tuple[Finding, ...] = ()
    skipped: tuple[str, ...] = ()
    conventions: Conventions | None = None  # with a robot, where it was looked for

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, index: int) -> Finding:  # type: ignore[override]
        return self.found[index]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.found)

    @property
    def ok(self) -> bool:
        """Whether nothing of severity "error" was found."""
        return not any(item.severity == "error" for item in self.found)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that were found, each once."""
        return tuple(dict.fromkeys(item.kind for item in self.found))

    @property
    def sentences(self) -> tuple[str, ...]:
        """Errors and warnings in words, with the name of the recording."""
        told = (item for item in self.found if item.severity != "info")
        return tuple(f"{self.recording}: {item.text} {item.advice}" for item in told)

    def of(self, kind: str) -> tuple[Finding, ...]:
        """The findings of one kind."""
        return tuple(item for item in self.found if item.kind == kind)

    def __str__(self) -> str:
        count = {name: sum(f.severity == name for f in self.found) for name in SEVERITIES}
        told = ", ".join(f"{number} {name}" for name, number in count.items() if number)
        lines = [f"{self.recording}: {told or 'nothing found'}"]
        lines += [str(item) for item in self.found]
        lines += [f"not checked: {text}" for text in self.skipped]
        return "\n".join(lines)


def ranges_where(mask: BoolArray) -> npt.NDArray[np.intp]:
    """(k, 2): start and stop of every run of True."""
    padded = np.concatenate([[False], mask, [False]])
    edges = np.flatnonzero(padded[1:] != padded[:-1])
    return edges.reshape(-1, 2)


def short_runs(mask: BoolArray, most: int) -> BoolArray:
    """The runs of True of at most `most` samples that have neighbours on both sides."""
    out = np.zeros_like(mask)
    for start, stop in ranges_where(mask):
        if stop - start <= most and start > 0 and stop < len(mask):
            out[start:stop] = True
    return out


def finding(
    kind: str,
    channel: str | None,
    text: str,
    ranges: npt.NDArray[np.intp] | None = None,
    *,
    value: float | None = None,
    severity: str | None = None,
) -> Finding:
    """A finding with the severity and the advice of its kind.

    `text` is a sentence; where the finding has ranges of rows (k, 2), its end names them, and at
    most `MOST_RANGES` are kept.
    """
    usual, advice = KINDS[kind]
    places = np.empty((0, 2), np.intp) if ranges is None else ranges
    if ranges is not None:
        text += f", {rows_text(ranges)}."
    rows = tuple((int(start), int(stop)) for start, stop in places[:MOST_RANGES])
    return Finding(kind, severity or usual, channel, text, advice, rows, len(places), value)


def rows_text(ranges: npt.NDArray[np.intp]) -> str:
    """Ranges of rows (k, 2) for a sentence: "row 12", "rows 12 to 18 and 3 more places"."""
    if not len(ranges):
        return "no rows"
    start, stop = ranges[0]
    text = f"row {start}" if stop - start == 1 else f"rows {start} to {stop - 1}"
    others = len(ranges) - 1
    if others > 0:
        text += f" and {others} more place{'s' if others > 1 else ''}"
    return text


# What is checked: a recording, its robot, and stretches on which models can be evaluated.


@dataclass(eq=False)
class Subject:
    """A recording with its robot, and what the checks before have found."""

    recording: Recording
    robot: Robot | None
    found: list[Finding] = field(default_factory=list)

    def has(self, *kinds: str) -> bool:
        """Whether something of these kinds was found."""
        return any(item.kind in kinds for item in self.found)

    @property
    def machine(self) -> Robot:
        """The robot, for checks that are made with one only."""
        if self.robot is None:
            raise LookupError("robot")
        return self.robot

    @cached_property
    def stretch(self) -> Stretch | None:
        """Smooth samples with rates; None where no piece of the recording is long enough."""
        return smooth_stretch(self.recording)

    @property
    def smooth(self) -> Stretch:
        """The stretch, for checks that are made with one only."""
        if self.stretch is None:
            raise LookupError("stretch")
        return self.stretch

    @cached_property
    def conventions(self) -> Conventions | None:
        """The recording's convention; None without a robot or where it was not looked for."""
        if self.robot is None or not self.recording.has_torque:
            return None
        return of_stretch(self.robot, self.recording, self.stretch)
