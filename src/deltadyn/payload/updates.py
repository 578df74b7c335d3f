"""What a live estimator tells: events, readings, notices, and the counts behind them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from deltadyn.payload.events import Pick

#: Kinds of notices and the field of `Counts` that counts them.
KINDS = {
    "malformed": "malformed",  # no batch
    "duplicate": "duplicates",  # came twice
    "late": "late",  # not after the samples before
    "refused": "refused",  # of another robot or rate, or values that the estimator cannot use
    "gap": "gaps",  # samples or batches missing
    "restart": "restarts",  # the sender began anew
}


@dataclass(frozen=True)
class Connection:
    """A change of the connection: `detail` is the address, or why it was lost."""

    up: bool
    detail: str
    attempt: int = 0  # to connect since the last message


@dataclass(frozen=True)
class Event:
    """A pick, a release or a lost grip, known at `t` (s); mass and deviation in kg.

    After a release or a lost grip they are those of the finished `pick`.
    """

    t: float
    event: str
    mass: float
    std: float
    pick: Pick | None = None

    def __str__(self) -> str:
        text = f"{self.t:12.4f} s  {self.event:<9}  {_mass(self.mass, self.std)}"
        if self.pick is None:
            return text
        return f"{text}, held {self.pick.end - self.pick.start:.3f} s"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; None for a deviation that is not known yet."""
        record = {"type": "event", "t": self.t, "event": self.event}
        pick = None if self.pick is None else {**vars(self.pick), "latency": self.pick.latency}
        return {**record, "mass": self.mass, "std": _finite(self.std), "pick": pick}


@dataclass(frozen=True)
class Reading:
    """The estimate at a time: t in s, mass and standard deviation in kg, the estimator's status."""

    t: float
    mass: float
    std: float
    status: str

    def __str__(self) -> str:
        return f"{self.t:12.4f} s  {'reading':<9}  {_mass(self.mass, self.std)}, {self.status}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; None for a deviation that is not known yet."""
        return {"type": "reading", **vars(self), "std": _finite(self.std)}


@dataclass(frozen=True)
class Notice:
    """Something about the stream: a kind, a sentence, and how many there were of the kind."""

    kind: str
    text: str
    count: int

    def __str__(self) -> str:
        return f"{self.kind} ({self.count}): {self.text}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"type": "notice", **vars(self)}


Update = Event | Reading | Notice


@dataclass
class Counts:
    """What came over a stream; `missing` batches by their numbers, all others as `KINDS` says."""

    messages: int = 0
    samples: int = 0  # used
    malformed: int = 0
    duplicates: int = 0
    late: int = 0
    refused: int = 0
    refused_samples: int = 0
    gaps: int = 0
    missing: int = 0
    restarts: int = 0
    reconnects: int = 0
    events: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str) -> int:
        """Count a notice of this kind and give the new count."""
        name = KINDS[kind]
        setattr(self, name, getattr(self, name) + 1)
        return int(getattr(self, name))

    def __str__(self) -> str:
        events = ", ".join(f"{n} x {name}" for name, n in self.events.items()) or "none"
        return (
            f"{self.samples} samples in {self.messages} messages; events: {events}\n"
            f"malformed {self.malformed}, refused {self.refused}, duplicates {self.duplicates}, "
            f"late {self.late}, gaps {self.gaps} ({self.missing} batches missing), "
            f"restarts of the sender {self.restarts}, reconnects {self.reconnects}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"type": "summary", **asdict(self)}


def _mass(mass: float, std: float) -> str:
    return f"{mass:6.3f} kg +- {std:.3f}" if math.isfinite(std) else f"{mass:6.3f} kg, not sure yet"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
