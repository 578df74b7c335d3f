"""The page of the audit: every slip, the ladder of models and the operation counts.

One list of blocks gives both forms: Markdown for the documentation, HTML to open offline.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from deltadyn.files import write_whole
from deltadyn.report.html import Section, asset, figure_html, table_html, write_sections
from deltadyn.report.plots import LEFT, colour, draw_bars, finished, panels
from deltadyn.reproduce.audit.operations import TABLE_6, Count, operation_counts
from deltadyn.reproduce.audit.records import (
    Audit,
    AuditItem,
    Cost,
    Figure,
    PaperAudit,
    number,
    phrase,
)
from deltadyn.reproduce.ladder import ladder, pick_and_place, random_states
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot

#: Introductions of the page and of its sections, in their order.
HEAD, *SECTIONS = re.split(r"\n(?=## )", asset("papers/audit.md"))

#: Kinds of operations that share a column.
COLUMNS = (("add", "sub"), ("mul",), ("div",), ("sqrt", "sin", "cos"))


@dataclass(frozen=True)
class Rows:
    """A table; columns after the first `words` hold numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int

    @property
    def markdown(self) -> str:
        """Lines with bars, numbers aligned to the right."""
        rule = "|" + "---|" * self.words + "---:|" * (len(self.head) - self.words)
        lines = ["| " + " | ".join(self.head) + " |", rule]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join(lines) + "\n"

    @property
    def html(self) -> str:
        """A table that scrolls by itself where it is wide."""
        text = table_html(self.head, [[cell.replace("`", "") for cell in row] for row in self.rows])
        return f"<div class=table>{text}</div>"


#: Text in Markdown that begins with its heading, or a table.
Block = str | Rows


def audit_text(found: Audit) -> str:
    """The whole page in Markdown."""
    blocks = [HEAD, *(block for part in _parts(found) for block in part)]
    return "\n".join(block if isinstance(block, str) else block.markdown for block in blocks)


def write_audit(found: Audit, path: str | os.PathLike[str]) -> Path:
    """Write the page: Markdown where the path ends in .md, else HTML with the costs drawn."""
    if Path(path).suffix == ".md":
        return write_whole(path, audit_text(found))
    sections = []
    for part, paper in zip(_parts(found), (*found.papers, None, None), strict=True):
        text = str(part[0])
        title, _, rest = text.removeprefix("## ").partition("\n")
        blocks = [_html(rest)] if paper is None else [_html(rest), _cost_html(paper)]
        blocks += [_html(block) if isinstance(block, str) else block.html for block in part[1:]]
        sections.append(Section(re.sub("[^a-z0-9]+", "-", title.lower()), title, tuple(blocks)))
    title, _, lead = HEAD.removeprefix("# ").partition("\n")
    subtitle = "The equations of five papers: as printed, corrected, exact"
    return write_sections(path, title, subtitle, [_html(lead)], sections)


def _parts(found: Audit) -> Iterator[list[Block]]:
    """One list of blocks per section: the papers, the ladder, the operations."""
    three, four = load_robot("sipro-d3-1200"), load_robot("telescopic-delta")
    blocks = [_paper(paper) for paper in found.papers]
    blocks.append([block for robot in (three, four) for block in _ladder(robot)])
    blocks.append([counts_table(operation_counts(three, four))])
    for introduction, part in zip(SECTIONS, blocks, strict=True):
        yield [introduction, *part]


def _paper(paper: PaperAudit) -> list[Block]:
    scene = paper.scene
    setting = (
        f"`{scene.robot}`, {scene.move}: up to {number(scene.acceleration)} m/s^2, torque "
        f"{number(scene.torque_rms_Nm)} N m RMS, {number(scene.torque_peak_Nm)} N m peak.\n"
    )
    variants = Rows(
        ("model", "state", "RMS from corrected", "peak", "RMS from exact", "peak"),
        tuple(
            (row.model, row.variant, *_cells(row.against_mended), *_cells(row.against_exact))
            for row in paper.variants
        ),
        words=2,
    )
    slips = Rows(
        ("slip", "where", "printed", "right", "RMS", "peak"),
        tuple(
            (
                f"`{item.key}`",
                _where(item, scene.paper),
                phrase(item.printed),
                phrase(item.right),
                *_cells(item.cost),
            )
            for item in paper.items
            if item.cost is not None
        ),
        words=4,
    )
    return [
        setting,
        variants,
        "What each slip costs alone:\n",
        slips,
        "Further slips, figures (printed / right) and how they were found:\n",
        _figures(paper.items, scene.paper),
    ]


def _figures(items: Iterable[AuditItem], paper: str) -> str:
    """A line per slip without a torque, with figures, or not found by the slip alone."""
    lines = []
    for item in items:
        parts = list(_figure_texts(item.figures))
        if not item.how.endswith("with this slip alone"):
            parts.append(item.how)
        if item.cost is None:
            words = f"printed: {phrase(item.printed)}; right: {phrase(item.right)}"
            rest = "; ".join(parts)
            rest = rest[:1].upper() + rest[1:]
            lines.append(f"- `{item.key}` ({_where(item, paper)}): {words}. {rest}.")
        elif parts:
            lines.append(f"- `{item.key}`: {'; '.join(parts)}.")
    return "\n".join(lines) + "\n"


def _figure_texts(figures: Sequence[Figure]) -> Iterator[str]:
    """Name, printed / right and unit; a smallest and a largest figure become a range.

    An error, which is right at 0, and a figure of one side alone are given without the other.
    """
    by_name = {fig.name: fig for fig in figures}
    for fig in figures:
        name, _, kind = fig.name.rpartition(", ")
        low, high = (by_name.get(f"{name}, {end}") for end in ("smallest", "largest"))
        if low is None or high is None or kind not in ("smallest", "largest"):
            yield _figure_text(
                fig.name, (fig.printed, fig.right), (fig.printed, fig.right), fig.unit
            )
        elif fig is low:
            yield _figure_text(name, (low.printed, low.right), (high.printed, high.right), fig.unit)


Pair = tuple[float | None, float | None]


def _figure_text(name: str, low: Pair, high: Pair, unit: str) -> str:
    sides = [_range(*side) for side in zip(low, high, strict=True)]
    if low[1] in (0, None):
        sides.pop()
    if low[0] is None:
        sides.pop(0)
    return f"{name}: {' / '.join(sides)} {unit}".rstrip()


def _range(low: float | None, high: float | None) -> str:
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def _where(item: AuditItem, paper: str) -> str:
    """The equation, with the paper's key where the section is about more than one."""
    return item.equation if item.paper == paper else f"{item.paper}: {item.equation}"


def _cells(cost: Cost | None) -> tuple[str, str]:
    if cost is None:
        return "-", "-"
    star = "*" if cost.share < 1 else ""
    return number(cost.rms_Nm) + star, number(cost.peak_Nm) + star


def _ladder(robot: Robot) -> tuple[Block, Block]:
    """A robot's ladder on the move and at random states; models with equal figures share a row."""
    ladders = (ladder(robot, pick_and_place(robot)), ladder(robot, random_states(robot)))
    spindle = ("axis 4",) if robot.dof == 4 else ()
    head = ("move, RMS", "peak", *spindle, "random, RMS", "peak", *spindle)
    torque = [_ladder_cells(item.torque_rms_arms, None, item.torque_rms) for item in ladders]
    models: dict[tuple[str, ...], list[str]] = {}
    for rungs in zip(*(item.rungs for item in ladders), strict=True):
        cells = [_ladder_cells(rung.rms_arms, rung.peak_arms, rung.rms) for rung in rungs]
        models.setdefault((*cells[0], *cells[1]), []).append(f"`{rungs[0].model}`")
    rows = [("RMS torque", *torque[0], *torque[1])]
    rows += [(", ".join(names), *cells) for cells, names in models.items()]
    return f"### {robot.name}\n", Rows(("model", *head), tuple(rows), words=1)


def _ladder_cells(rms: float, peak: float | None, axes: Sequence[float]) -> tuple[str, ...]:
    return (number(rms), number(peak), *(number(value) for value in axes[3:]))


def counts_table(counts: Sequence[Count]) -> Rows:
    """Our counts, with [falezza2022] table 6 below them."""
    counted = [(c.name, c.inputs, c.written, str(c.shared.total)) for c in counts]
    counted += [(f"{name} in table 6", "falezza2022", TABLE_6[name], "") for name in TABLE_6]
    rows = []
    for name, inputs, count, shared in counted:
        kinds = [str(sum(getattr(count, kind) for kind in column)) for column in COLUMNS]
        rows.append((name, inputs, *kinds, number(count.total), shared))
    head = ("computation", "from", "+, -", "x", "/", "sqrt, sin, cos", "total", "shared")
    return Rows(head, tuple(rows), words=2)


def _cost_html(paper: PaperAudit) -> str:
    """The costs of a paper's slips as bars."""
    return figure_html(
        "What each slip costs alone",
        cost_figure(paper),
        "RMS error of torque on the move, against the corrected model, on a logarithmic axis. The "
        "dashed line is the RMS torque itself. A slip without a bar has no torque of its own.",
    )


def cost_figure(paper: PaperAudit) -> Any:
    """Bars of the RMS cost per slip, beside the RMS torque of the move."""
    pairs = [(item.key, item.cost.rms_Nm) for item in paper.items if item.cost is not None]
    pairs = sorted((pair for pair in pairs if pair[1] > 1e-10), key=lambda pair: -pair[1])
    keys, costs = zip(*pairs, strict=True)
    whole = paper.scene.torque_rms_Nm
    figure = panels()
    draw_bars(figure, keys, costs, colour(0), flat=True)
    figure.add_vline(x=whole, line={"dash": "dash", "color": LEFT})
    ends = [math.log10(min(*costs, whole) / 1.5), math.log10(1.5 * max(*costs, whole))]
    figure.update_xaxes(type="log", exponentformat="power", range=ends)
    return finished(figure, 140 + 24 * len(pairs), legend=False, x="N m RMS", left=190)


def _html(text: str) -> str:
    """The little Markdown of this page as HTML: headings, paragraphs, lists, code, emphasis."""
    out = []
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.startswith("```"):
            out.append(f"<pre>{escape(block.strip('`').strip())}</pre>")
        elif block.startswith("### "):
            out.append(f"<h3>{escape(block[4:])}</h3>")
        elif block.startswith("- "):
            items = "".join(f"<li>{_inline(line)}</li>" for line in block[2:].split("\n- "))
            out.append(f"<ul>{items}</ul>")
        elif block:
            out.append(f"<p>{_inline(block)}</p>")
    return "\n".join(out)


def _inline(text: str) -> str:
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
