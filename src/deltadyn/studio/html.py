"""Pieces of the page: every text is escaped, because names and cells come from uploaded files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from deltadyn.report.verdict import BAD, CARE, GOOD, Verdict
from deltadyn.studio.volumes import Key

#: Text and ground of a box; the contrast is above 4.5 : 1.
BOXES = {
    "error": ("#8f1d1d", "#fdecec"),
    "warning": ("#7a4b00", "#fff4dd"),
    "info": ("#1f3f66", "#eaf2fb"),
    "good": ("#1d5c2a", "#e9f6ec"),
}
_NUMBER = re.compile(r"[+-]?\d[\d.e+-]*( %)?|-")
_CELL = "padding:1px 6px;border-bottom:1px solid #e3e6ea;vertical-align:top;"


def message_box(kind: str, text: str) -> str:
    """A box with a text; nothing for an empty one."""
    if not text:
        return ""
    ink, ground = BOXES[kind]
    return (
        f'<div role="status" style="margin:4px 8px 8px;padding:6px 10px;'
        f"border-left:4px solid {ink};"
        f'color:{ink};background:{ground};font-size:0.85em;overflow-wrap:anywhere">'
        f"{escape(text)}</div>"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> str:
    """A table; numbers stand to the right, but in the first column."""
    above = "".join(
        f'<th scope="col" style="{_CELL}text-align:left">{escape(x)}</th>' for x in head
    )
    body = "".join(
        f"<tr>{''.join(_cell(text, k == 0) for k, text in enumerate(row))}</tr>" for row in rows
    )
    name = f'<caption style="text-align:left;font-weight:600">{escape(title)}</caption>'
    return (
        '<div style="margin:4px 8px;overflow-x:auto"><table style="border-collapse:collapse;'
        f'font-size:0.8em;width:100%">{name if title else ""}<thead><tr>{above}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def paragraph(text: str) -> str:
    """A small paragraph."""
    return f'<p style="margin:4px 8px;font-size:0.85em;overflow-wrap:anywhere">{escape(text)}</p>'


def preformatted(text: str) -> str:
    """A text in columns."""
    return (
        '<pre style="margin:4px 8px;font-size:0.68em;overflow-x:auto;line-height:1.35">'
        f"{escape(text)}</pre>"
    )


def legend(keys: Iterable[Key], title: str) -> str:
    """Colours and what they mean."""
    items = "".join(
        '<li style="list-style:none"><span style="display:inline-block;width:1.2em;height:0.9em;'
        f'margin-right:0.5em;vertical-align:middle;background:rgb{key.colour}"></span>'
        f"{escape(key.label)}</li>"
        for key in keys
    )
    return (
        f'<div style="margin:4px 8px;font-size:0.8em"><b>{escape(title)}</b>'
        f'<ul style="margin:2px 0;padding:0">{items}</ul></div>'
    )


def verdict_box(verdict: Verdict) -> str:
    """The verdict: word and colour say the grade."""
    kind = {GOOD: "good", CARE: "warning", BAD: "error"}.get(verdict.grade, "info")
    ink, ground = BOXES[kind]
    reasons = "".join(f"<li>{escape(text)}</li>" for text in verdict.reasons)
    notes = "".join(f"<li>{escape(text)}</li>" for text in verdict.notes)
    return (
        f'<div role="status" style="margin:4px 8px;padding:6px 10px;border-left:4px solid {ink};'
        f'background:{ground};font-size:0.85em"><b style="color:{ink}">Verdict: '
        f"{escape(verdict.grade)}</b><ul>{reasons}{notes}</ul></div>"
    )


def _cell(text: str, first: bool) -> str:
    side = "right" if not first and _NUMBER.fullmatch(text) else "left"
    return f'<td style="{_CELL}text-align:{side}">{escape(text)}</td>'
