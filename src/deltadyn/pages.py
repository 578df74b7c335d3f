"""One-file HTML pages that open offline: style, tables, figures, and writing them at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

STYLE = """\
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 1300px; margin: 2em auto;
  padding: 0 1em; }
table { border-collapse: collapse; margin: 0.4em 0 0.6em; font-variant-numeric: tabular-nums; }
th, td { padding: 0.15em 0.9em 0.15em 0; border-bottom: 1px solid #ddd; text-align: left; }
.n { text-align: right; }
.note, figcaption { color: #555; max-width: 60em; }
.no { color: #b00020; font-weight: bold; }
pre { background: #f5f6f8; padding: 1em; white-space: pre-wrap; line-height: 1.35; }
figure { margin: 1.5em 0; }"""


def write_page(path: str | os.PathLike[str], title: str, blocks: Iterable[str]) -> Path:
    """Write a page of HTML blocks under a heading; a page is there as a whole or not at all."""
    heading = escape(title)
    text = "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f"<title>{heading}</title><style>{STYLE}</style></head><body>",
            f"<h1>{heading}</h1>",
            *blocks,
            "</body></html>\n",
        ]
    )
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(target.name + ".part")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(target)
    return target


def figures_html(figures: Sequence[tuple[str, Any, str]]) -> list[str]:
    """Plotly figures with title and caption; the first carries plotly's own script for all."""
    out = []
    for index, (title, figure, caption) in enumerate(figures):
        drawn = figure.to_html(full_html=False, include_plotlyjs=index == 0)
        below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        out.append(f"<figure><h2>{escape(title)}</h2>{drawn}{below}</figure>")
    return out


def table_html(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells that read as numbers are set to the right."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>"
        + "".join(f"<td{' class=n' if _numeric(c) else ''}>{escape(c)}</td>" for c in row)
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def list_html(title: str, texts: Sequence[str]) -> str:
    """A heading with sentences below it; nothing where there are none."""
    if not texts:
        return ""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<h2>{escape(title)}</h2><ul>{items}</ul>"


def _numeric(text: str) -> bool:
    return bool(text) and set(text) <= set("+-0123456789.e% ")
