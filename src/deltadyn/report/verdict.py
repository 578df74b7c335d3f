"""The verdict on top of a page."""

from __future__ import annotations

from deltadyn.identification.verdict import BAD, CARE, GOOD, UNKNOWN, Verdict
from deltadyn.report.html import verdict_html

__all__ = ["BAD", "CARE", "GOOD", "UNKNOWN", "Verdict", "verdict_block"]

KINDS = {GOOD: "good", CARE: "care", BAD: "bad", UNKNOWN: "unknown"}


def verdict_block(verdict: Verdict) -> str:
    """The box on top of a page: colour and word both say the grade."""
    head = f"Verdict: {verdict.grade}"
    return verdict_html(KINDS[verdict.grade], head, verdict.reasons, verdict.notes)
