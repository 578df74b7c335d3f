"""Claims of a paper beside what the bench shows: near, far, or not shown, with the reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError

Verdict = Literal["near", "far", "not shown"]
VERDICTS: tuple[Verdict, ...] = ("near", "far", "not shown")
#: Numbers agree where they differ by at most this share of the paper's.
NEAR = 0.25

Value = str | float | Sequence[float] | FloatArray | None


@dataclass(frozen=True)
class Claim:
    """What a paper says at a `place`, its value beside ours, and the verdict.

    A claim that is far or not shown has a `reason`: one sentence with the number that proves it.
    """

    place: str
    what: str
    paper: str
    ours: str
    verdict: Verdict
    reason: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InputError("verdict of a claim", self.verdict, ", ".join(VERDICTS))
        if self.verdict != "near" and not self.reason:
            raise InputError(
                f"reason of the claim {self.what!r}", self.reason, f"why it is {self.verdict}"
            )

    def __str__(self) -> str:
        beside = f" paper {self.paper}, ours {self.ours}" if self.ours else f" paper {self.paper}"
        reason = f". {self.reason}" if self.reason else ""
        return f"[{self.verdict}] {self.place}, {self.what}:{beside}{reason}"

    def as_dict(self) -> dict[str, str]:
        """Plain data for JSON."""
        return {name: str(getattr(self, name)) for name in CLAIM_FIELDS}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Claim:
        """The claim that `as_dict` wrote."""
        return cls(**{name: record[name] for name in CLAIM_FIELDS})


CLAIM_FIELDS = ("place", "what", "paper", "ours", "verdict", "reason")


def compare_numbers(paper: Value, ours: Value, near: float = NEAR) -> Verdict:
    """Near where every number of ours differs by at most `near` of the paper's.

    A number that is missing or not finite on our side is not shown; texts cannot be compared.
    """
    if ours is None:
        return "not shown"
    theirs, own = (np.asarray(value, dtype=float) for value in (paper, ours))
    if theirs.shape != own.shape:
        raise InputError("numbers of a claim", own.shape, f"as many as the paper's, {theirs.shape}")
    if not np.isfinite(own).all():
        return "not shown"
    return "near" if bool(np.all(np.abs(own - theirs) <= near * np.abs(theirs))) else "far"


def format_value(value: Value, digits: int) -> str:
    """Numbers as text, joined by commas; a text as it is."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    numbers = np.atleast_1d(np.asarray(value, dtype=float))
    return ", ".join(f"{item:.{digits}f}" if math.isfinite(item) else "-" for item in numbers)
