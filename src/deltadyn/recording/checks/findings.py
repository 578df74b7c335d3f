"""Findings: what is wrong with a recording, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import BoolArray

Ranges = tuple[tuple[int, int], ...]

SEVERITIES = ("error", "warning", "info")
MOST_RANGES = 1000  # kept in a finding; its count tells of all
GAP = 1.5  # time steps: from here on a sample is missing

#: Every kind of finding, in the order in which they are looked for.
KINDS = (
    "not finite",
    "duplicate time",
    "decreasing time",
    "gap",
    "jitter",
    "time unit",
    "low rate",
    "too short",
    "encoder wrap",
    "jump",
    "frozen",
    "saturated",
    "same as command",
    "rate unit",
    "angle unit",
    "open loop",
    "limits",
    "pose",
    "swapped axes",
    "angle sign",
    "torque sign",
    "torque unit",
    "homing",
)


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


def located(ranges: npt.NDArray[np.intp], finding: Finding) -> Finding:
    """A finding about these ranges of rows (k, 2), at most `MOST_RANGES` of them."""
    rows = tuple((int(start), int(stop)) for start, stop in ranges[:MOST_RANGES])
    return replace(finding, rows=rows, count=len(ranges))


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
