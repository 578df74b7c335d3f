"""Docstrings are plain text: names in backticks, formulas indented, bars and stars as typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

QUOTED = re.compile(r"(`+[^`]+`+)")


def escaped(line: str) -> str:
    """A line of text as reStructuredText that shows it as it was typed."""
    parts = QUOTED.split(line)
    shown = []
    for part in parts:
        if part.startswith("`"):
            shown.append(f"``{part.strip('`')}``")
        else:
            shown.append(re.sub(r"([\\*|]|_(?=\W|$))", r"\\\1", part))
    return "".join(shown)


def converted(lines: Iterable[str]) -> Iterator[str]:
    """Text is escaped, and what is indented behind an empty line becomes a literal block."""
    literal, empty = False, True
    for line in lines:
        indented = line.startswith(" ")
        if line.strip() and not indented:
            literal = False
        elif indented and empty and not literal:
            literal = True
            yield from ("::", "")
        empty = not line.strip()
        item = re.match(r"\s*([-*]|:\w+.*?:|\.\.) ", line)  # lists, fields and directives stay
        yield line if literal or empty or item else escaped(line)


def rewrite(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Called by autodoc for every docstring."""
    lines[:] = converted(list(lines))


def setup(app: Any) -> dict[str, Any]:
    """Listen to autodoc."""
    app.connect("autodoc-process-docstring", rewrite)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
