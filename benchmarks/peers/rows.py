"""The table of the benchmark: rows, targets, what was met, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from deltadyn.errors import InputError

Sense = Literal["at least", "below"]
Quantity = Literal["ratio", "rate", "seconds", "error"]
UNITS: dict[Quantity, str] = {"ratio": "times", "rate": "/s", "seconds": "s", "error": "times"}


@dataclass(frozen=True)
class Target:
    """What a row must reach.

    A ratio to ours, samples per second, seconds per sample, or our error over the peer's.
    """

    sense: Sense
    limit: float
    quantity: Quantity

    def __post_init__(self) -> None:
        if not self.limit > 0:
            raise InputError("limit of a target", self.limit, "above 0")

    def met(self, value: float) -> bool:
        """Whether this value reaches the target; NaN does not."""
        return value >= self.limit if self.sense == "at least" else value < self.limit

    def __str__(self) -> str:
        if self.quantity == "ratio":
            return f"{self.sense} {self.limit:g} x"
        if self.quantity == "rate":
            return f"{self.sense} {self.limit / 1e6:g} M/s"
        if self.quantity == "error":
            return f"error {self.sense} {self.limit:g} x"
        return f"{self.sense} {_time(self.limit)}"


@dataclass(frozen=True)
class Row:
    """One line: a way to a result, and its time per sample in s.

    `ratio` is its time over that of ours in the same run; `seconds` is None where nothing was
    measured, and `note` says why. `measured` is False for a reference figure. A simulator has the
    error of its acceleration as a share of the exact one, and ours that error over the peer's.
    """

    group: str
    what: str
    seconds: float | None
    ratio: float | None = None
    target: Target | None = None
    cores: float | None = None
    note: str = ""
    measured: bool = True
    error: float | None = None
    error_ratio: float | None = None

    def __post_init__(self) -> None:
        if self.seconds is None and not self.note:
            raise InputError("note of a row", self.note, f"why {self.what!r} was not measured")

    @property
    def rate(self) -> float | None:
        """Samples per second."""
        return None if self.seconds is None else 1 / self.seconds

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without a target or without its value."""
        if self.target is None:
            return None
        values = {
            "ratio": self.ratio,
            "rate": self.rate,
            "seconds": self.seconds,
            "error": self.error_ratio,
        }
        value = values[self.target.quantity]
        return None if value is None else self.target.met(value)

    @property
    def verdict(self) -> str:
        """met, NOT met, not measured, or nothing where the row has no target."""
        if self.target is None:
            return ""
        return {True: "met", False: "NOT met", None: "not measured"}[self.met]

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON; times in ns."""
        target = None
        if self.target is not None:
            goal = self.target
            target = {
                "sense": goal.sense,
                "limit": goal.limit,
                "quantity": goal.quantity,
                "unit": UNITS[goal.quantity],
                "met": self.met,
            }
        return {
            "group": self.group,
            "what": self.what,
            "ns_per_sample": None if self.seconds is None else 1e9 * self.seconds,
            "samples_per_s": self.rate,
            "ratio_to_ours": self.ratio,
            "cores": self.cores,
            "acceleration_error": self.error,
            "error_ratio": self.error_ratio,
            "target": target,
            "measured": self.measured and self.seconds is not None,
            "note": self.note,
        }


@dataclass(frozen=True)
class Benchmark:
    """All rows of one run, and the machine, versions and programs that it ran with."""

    rows: tuple[Row, ...]
    machine: Mapping[str, Any] = field(default_factory=dict)

    @property
    def with_target(self) -> tuple[Row, ...]:
        """The rows that have a target."""
        return tuple(row for row in self.rows if row.target is not None)

    @property
    def passed(self) -> bool:
        """Whether no target was missed; one that could not be measured is none missed."""
        return all(row.met is not False for row in self.with_target)

    def as_dict(self) -> dict[str, Any]:
        """Everything for JSON."""
        return {
            "machine": dict(self.machine),
            "rows": [row.as_dict() for row in self.rows],
            "targets": self._counts(),
            "passed": self.passed,
        }

    def __str__(self) -> str:
        lines = [f"machine: {self.machine['name']}"] if "name" in self.machine else []
        width = max([len(row.what) for row in self.rows], default=0)
        head = f"{'time':>11}{'per second':>12}{'x ours':>9}{'cores':>7}{'error':>9}"
        group = None
        for row in self.rows:
            if row.group != group:
                group = row.group
                lines += ["", group, f"  {'':<{width}}{head}  target"]
            lines.append(_line(row, width))
        notes = dict.fromkeys(f"  {row.what}: {row.note}" for row in self.rows if row.note)
        lines += ["", "notes", *notes] if notes else []
        counts = self._counts()
        lines += ["", ", ".join(f"{count} {word}" for word, count in counts.items() if count)]
        lines[-1] = f"targets: {lines[-1] or 'none'}"
        return "\n".join(lines)

    def _counts(self) -> dict[str, int]:
        verdicts = [row.verdict for row in self.with_target]
        return {word: verdicts.count(word) for word in ("met", "NOT met", "not measured")}


def _line(row: Row, width: int) -> str:
    time = "-" if row.seconds is None else _time(row.seconds)
    rate = "-" if row.rate is None else _count(row.rate)
    ratio = "" if row.ratio is None else _ratio(row.ratio)
    cores = "" if row.cores is None else f"{row.cores:.2f}"
    mark = "*" if row.note else " "
    error = "" if row.error is None else f"{row.error:.1e}"
    numbers = f"{time:>11}{rate:>12}{ratio:>9}{cores:>7}{error:>9}"
    target = "" if row.target is None else f"  {row.target}: {row.verdict}"
    return f" {mark}{row.what:<{width}}{numbers}{target}".rstrip()


def _ratio(ratio: float) -> str:
    return f"{ratio:.3g}" if ratio < 1000 else f"{ratio:,.0f}"


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _count(rate: float) -> str:
    for unit, size in ((" G", 1e9), (" M", 1e6), (" k", 1e3)):
        if rate >= size:
            return f"{rate / size:.3g}{unit}"
    return f"{rate:.3g}"


def not_measured(
    group: str, what: Iterable[str], reason: str, target: Target | None = None
) -> list[Row]:
    """Rows that say why there is no figure; the target belongs to the first."""
    return [
        Row(group, name, None, note=f"not measured: {reason}", target=target if k == 0 else None)
        for k, name in enumerate(what)
    ]
