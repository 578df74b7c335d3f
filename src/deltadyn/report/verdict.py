"""The verdict of a fit on top of a page, and the section with all of its reasons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deltadyn.identification.verdict import BAD, CARE, GOOD, UNKNOWN, Evidence, Verdict
from deltadyn.report.html import First, Section, items_html, list_html
from deltadyn.validation.result import Validation

__all__ = [
    "BAD",
    "CARE",
    "GOOD",
    "UNKNOWN",
    "Verdict",
    "first_screen",
    "verdict_section",
    "with_validation",
]

KINDS = {GOOD: "good", CARE: "care", BAD: "bad", UNKNOWN: "unknown"}


def with_validation(
    own: Evidence, found: Validation, against_file: float | None = None
) -> Evidence:
    """The evidence with what a validation shows."""
    size = found.measured.std(axis=0)
    left = np.divide(found.rms, size, out=np.full(len(size), np.nan), where=size > 0)
    cause = found.diagnosis.of(found.diagnosis.cause or "")
    white = zip(own.axes, found.diagnosis.whiteness.white, strict=True)
    return replace(
        own,
        left=tuple(left.tolist()),
        rms=tuple(found.rms.tolist()),
        against_file=against_file,
        cause=None if cause is None else cause.name,
        cause_sentence="" if cause is None else cause.sentence,
        missing=found.diagnosis.missing,
        not_white=tuple(name for name, yes in white if not yes),
    )


def first_screen(verdict: Verdict, numbers: list[tuple[str, str]], figure: str) -> First:
    """The first screen of a report: the first reason is the sentence, others are in the section."""
    sentence, *others = verdict.reasons
    if others:
        more = "one more reason" if len(others) == 1 else f"{len(others)} more reasons"
        sentence += f" ({more} under The verdict.)"
    return First(
        kind=KINDS[verdict.grade],
        head=f"Verdict: {verdict.grade}",
        sentence=sentence,
        numbers=numbers,
        figure=figure,
        steps=verdict.steps,
    )


def verdict_section(verdict: Verdict) -> Section:
    """All reasons, and what else deserves a look."""
    blocks = (
        f"<p>This model is: <strong>{verdict.grade}</strong>.</p>{items_html(verdict.reasons)}",
        list_html("Also", verdict.notes, level=3),
    )
    return Section("reasons", "The verdict", blocks, verdict.as_dict())
