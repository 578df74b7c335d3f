"""One-file HTML pages that open offline: numbers, tables, figures, sections, and writing them."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from deltadyn.files import write_whole
from deltadyn.units import percent as percent  # for all pages

Columns = Mapping[str, Callable[[Any], str]]  # of a table: the name, and what it shows of an item
MISSED = "missed"  # a cell that is marked in red
LONG = 30  # rows of a table that may break between two sheets of paper


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a page: its anchor, heading and HTML blocks, and its numbers for JSON."""

    key: str
    title: str
    blocks: tuple[str, ...]
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def html(self) -> str:
        """The heading with its anchor, then the blocks."""
        head = f'<section id="{self.key}"><h2>{escape(self.title)}</h2>'
        return "\n".join([head, *(block for block in self.blocks if block), "</section>"])


def write_page(path: str | os.PathLike[str], title: str, blocks: Iterable[str]) -> Path:
    """Write a page of HTML blocks under a heading; a page is there as a whole or not at all."""
    body = [f"<h1>{escape(title)}</h1>", *blocks]
    return write_whole(path, _document(title, [], body))


def write_sections(
    path: str | os.PathLike[str],
    title: str,
    subtitle: str,
    lead: Sequence[str],
    sections: Sequence[Section],
) -> Path:
    """Write a page of sections with contents at the side; `lead` comes before the contents.

    A single section has no contents. The page carries plotly's script once, for figures of
    `figure_html`.
    """
    from plotly.offline import get_plotlyjs  # a second of import

    items = "".join(f'<li><a href="#{s.key}">{escape(s.title)}</a></li>' for s in sections)
    contents = (
        f'<nav id="contents" aria-label="Contents"><strong>Contents</strong><ol>{items}</ol></nav>'
    )
    way = ' <a class=screen-only href="#contents">Contents</a>' if len(sections) > 1 else ""
    body = [
        f"<header><h1>{escape(title)}</h1><p class=note>{escape(subtitle)}{way}</p></header>",
        *lead,
        f"<div class=layout>{contents}<main>" if len(sections) > 1 else "<div><main>",
        *(section.html for section in sections),
        "</main></div>",
    ]
    return write_whole(path, _document(title, [get_plotlyjs(), asset("print.js")], body))


def write_numbers(page: Path, record: Mapping[str, Any]) -> Path:
    """Write the numbers of a page as JSON beside it; NaN and infinity become null."""
    text = json.dumps(plain(record), indent=1, allow_nan=False)
    return write_whole(page.with_suffix(".json"), text + "\n")


def page_path(path: str | os.PathLike[str]) -> Path:
    """The path of a page with numbers beside it: with .html where it has another ending."""
    given = Path(path)
    return given if given.suffix == ".html" else given.with_name(given.name + ".html")


def asset(name: str) -> str:
    """The text of a style or script that stands beside this file."""
    return (files("deltadyn.report") / name).read_text("utf-8")


# plotly draws the name of a figure's place at random; the same results are to give the same page
_PLACE = re.compile(r'id="([0-9a-f-]{36})" class="plotly-graph-div"')


def _numbered(body: str) -> str:
    """A page whose figures have numbers as names."""
    for number, place in enumerate(dict.fromkeys(_PLACE.findall(body)), 1):
        body = body.replace(place, f"figure-{number}")
    return body


def _document(title: str, scripts: Sequence[str], body: Sequence[str]) -> str:
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{asset('page.css')}</style>",
            *(f"<script>{script}</script>" for script in scripts),
            "</head><body>",
            _numbered("\n".join(body)),
            "</body></html>\n",
        ]
    )


def figures_html(figures: Sequence[tuple[str, Any, str]]) -> list[str]:
    """Plotly figures with title and caption; the first carries plotly's own script for all."""
    out = []
    for index, (title, figure, caption) in enumerate(figures):
        drawn = figure.to_html(full_html=False, include_plotlyjs=index == 0)
        below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        out.append(f"<figure><h2>{escape(title)}</h2>{drawn}{below}</figure>")
    return out


BAR = 72  # pixels beside a figure for its tool bar


def figure_html(
    title: str,
    figure: Any,
    caption: str,
    *,
    div_id: str | None = None,
    controls: str = "",
    still: str = "",
) -> str:
    """A plotly figure for `write_sections`, with HTML `controls` below it.

    `still` is an SVG that takes the place of both on paper.
    """
    # The tool bar has a margin of its own: it covers neither legend nor curves.
    bar = {"orientation": "v", "bgcolor": "rgba(255, 255, 255, 0)"}
    figure.update_layout(modebar=bar, margin_r=max(figure.layout.margin.r or 0, BAR))
    config = {
        "responsive": True,
        "displaylogo": False,
        "showTips": False,  # the caption says it
        "modeBarButtonsToRemove": ["sendChartToCloud"],  # pages send nothing anywhere
    }
    drawn = figure.to_html(
        full_html=False, include_plotlyjs=False, config=config, div_id=div_id, auto_play=False
    )
    drawn += controls
    if still:
        drawn = f"<div class=screen-only>{drawn}</div><div class=print-only>{still}</div>"
    text = escape(title)
    return (
        f'<figure aria-label="{text}"><h3>{text}</h3>{drawn}'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


# Numbers on their way into JSON and into cells of tables.


def plain(value: Any) -> Any:
    """Numbers, texts, lists and dictionaries only; NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, int | np.integer):
        return int(value)
    return value if value is None or isinstance(value, str) else str(value)


def cell(value: float | None, digits: int = 3) -> str:
    """A number for a table; "-" where there is none."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:.{digits}g}"


def cells(values: Iterable[float], digits: int = 3) -> list[str]:
    """Numbers for a table."""
    return [cell(value, digits) for value in values]


# Pieces of a page: every text is escaped.


def table_html(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    classes: Mapping[tuple[int, int], str] = MappingProxyType({}),
) -> str:
    """A table; cells that read as numbers are set to the right.

    `classes` gives cells, by row and column, a class of page.css.
    """
    cells = [list(row) for row in rows]
    head = "".join(
        f"<th scope=col{' class=n' if _all_numbers(cells, place) else ''}>{escape(name)}</th>"
        for place, name in enumerate(columns)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{_kind(c, classes.get((index, place), ''))}>{escape(c)}</td>"
            for place, c in enumerate(row)
        )
        + "</tr>"
        for index, row in enumerate(cells)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def wide_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str = "", long: bool = False
) -> str:
    """A table that scrolls by itself where it is wider than the page; a `long` one may break."""
    unbroken = [re.sub(r"\([^)]*\)", lambda m: m[0].replace(" ", "\u00a0"), c) for c in columns]
    kind = " class=long" if long else ""
    named = f' aria-label="{escape(caption)}"' if caption else ""
    text = table_html(unbroken, rows).replace("<table>", f"<table{kind}{named}>", 1)
    above = f'<p class="note caption">{escape(caption)}</p>' if caption else ""
    return f"<div class=tabled>{above}<div class=table>{text}</div></div>"


def table_of(items: Iterable[Any], columns: Columns, caption: str) -> str:
    """A row per item; a column's name goes with what it shows of an item."""
    rows = [[_shown(name, show(item)) for name, show in columns.items()] for item in items]
    return wide_table(list(columns), rows, caption=caption, long=len(rows) > LONG)


def _shown(column: str, text: str) -> str:
    """A cell; units are not broken between two lines."""
    return text.replace(" ", "\u00a0") if column == "unit" else text


def list_html(title: str, texts: Sequence[str], *, level: int = 2) -> str:
    """A heading with sentences below it; nothing where there are none."""
    if not texts:
        return ""
    return f"<h{level}>{escape(title)}</h{level}>{items_html(texts)}"


def verdict_html(kind: str, head: str, sentence: str = "") -> str:
    """The box on top of a page: good, care, bad or unknown by its colour, and in words."""
    mark = {"good": "✓", "care": "!", "bad": "✗", "unknown": "?"}[kind]
    return (
        f'<div class="verdict {kind}" id="verdict"><h2><span aria-hidden=true>{mark}</span> '
        f"{escape(head)}</h2>{paragraphs(sentence)}</div>"
    )


@dataclass(frozen=True, eq=False)
class First:
    """The first screen of a page, which is enough for most readers.

    A verdict (`kind` is good, care, bad or unknown) in a sentence, three numbers with what they
    are, one figure as `figure_html` gives it, and what to do next.
    """

    kind: str
    head: str
    sentence: str
    numbers: Sequence[tuple[str, str]]
    figure: str = ""
    steps: Sequence[str] = ()

    @property
    def html(self) -> str:
        """Box, numbers beside the figure, steps."""
        told = "".join(
            f"<div><dt>{escape(what)}</dt><dd>{escape(value)}</dd></div>"
            for value, what in self.numbers
        )
        side = f"<dl class=numbers>{told}</dl>" if told else ""
        if self.steps:
            side += f"<div class=next><h3>What to do next</h3>{items_html(self.steps, 'ol')}</div>"
        return (
            f"{verdict_html(self.kind, self.head, self.sentence)}"
            f"<div class=first><div>{side}</div><div>{self.figure}</div></div>"
        )


def items_html(texts: Sequence[str], tag: str = "ul") -> str:
    """Sentences as a list, with numbers where the tag is "ol"; nothing where there are none."""
    items = "".join(f"<li>{inline(text)}</li>" for text in texts)
    return f"<{tag}>{items}</{tag}>" if items else ""


def text_section(text: str) -> Section:
    """The last section of a page: what the result prints."""
    return Section("text", "All numbers as text", (f"<pre>{escape(text)}</pre>",))


def paragraphs(text: str) -> str:
    """Lines of text as paragraphs."""
    return "".join(f"<p>{inline(line)}</p>" for line in text.splitlines() if line.strip())


def inline(text: str) -> str:
    """A sentence, escaped; what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def is_number(text: str) -> bool:
    """Whether a cell of a table reads as a number; a version does not."""
    version = text.count(".") > 1 and " " not in text
    return bool(text) and set(text) <= set("+-±0123456789.e% ") and not version


def _kind(text: str, given: str = "") -> str:
    """The classes of a cell: by its text, and as given."""
    by_text = "no" if text == MISSED else "n" if is_number(text) else ""
    both = " ".join(filter(None, (by_text, given)))
    return f' class="{both}"' if " " in both else f" class={both}" if both else ""


def _all_numbers(rows: Sequence[Sequence[str]], place: int) -> bool:
    cells = [row[place] for row in rows if place < len(row)]
    return bool(cells) and all(is_number(cell) or cell in ("", "-") for cell in cells)
