"""The verdict of a fit on top of a page, and the section with all of its reasons."""

from __future__ import annotations

from deltadyn.identification.verdict import BAD, CARE, GOOD, TITLES, UNKNOWN, Verdict
from deltadyn.report.html import Columns, First, Section, items_html, list_html, table_of

__all__ = [
    "BAD",
    "CARE",
    "GOOD",
    "UNKNOWN",
    "Verdict",
    "first_screen",
    "verdict_section",
]

KINDS = {GOOD: "good", CARE: "care", BAD: "bad", UNKNOWN: "unknown"}


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


_ANSWERS: Columns = {
    "about": lambda answer: TITLES[answer.about],
    "answer": lambda answer: answer.grade,
    "on what": lambda answer: answer.sentence,
}


def verdict_section(verdict: Verdict) -> Section:
    """All reasons, and what else deserves a look."""
    blocks = (
        f"<p>This model is: <strong>{verdict.grade}</strong>.</p>{items_html(verdict.reasons)}",
        table_of(verdict.answers, _ANSWERS, "Three answers; the worst is the grade"),
        list_html("Also", verdict.notes, level=3),
    )
    return Section("reasons", "The verdict", blocks, verdict.as_dict())
