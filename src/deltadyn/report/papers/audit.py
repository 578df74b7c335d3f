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
from deltadyn.report.html import Section, figure_html, table_html, write_sections
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

HEAD = """\
# The audit

The equations of the five papers contain slips: signs, misplaced factors, missing terms. This page \
gives each as printed and as it is right, and its cost in torque, computed by the library. To \
make the page again:

```
python -m deltadyn.reproduce.audit docs/audit.md
```

`deltadyn reproduce audit --out audit.html` writes an offline page with the costs drawn; \
`deltadyn.reproduce.audit()` gives the same in Python (`print`, `as_dict()`).

- The first table of a paper compares its model **as printed** and **corrected** with the \
corrected and with the **exact** model. A slip's cost compares the corrected model that has this \
slip alone with the corrected model.
- Errors are in N m over the three arms and all samples of one gate move. A star marks equations \
that can be evaluated at a part of the samples only; the error is over these.
- Names in capitals are keys. Those of a torque equation are switches: the modules in \
`deltadyn.reproduce.audit` take a set of them.
- We worked from machine-read texts. Where a symbol cannot be read for sure, the item says so or \
is left out.
"""

INTRODUCTIONS = {
    "kim2022": """\
## kim2022

Eqs. 1-2 use Lagrange multipliers, eqs. 3-29 virtual work; both put half of each strut pair at its \
ends and hold with z down, not up as stated. Corrected, they are `"euler-lagrange"` and \
`"virtual-work"`; the strut length is our assumption, and friction has the sizes of eq. 36.
""",
    "falezza2020, falezza2022": """\
## falezza2020 and falezza2022

The simplified model (M_KH in 2020, M_s in 2022) has uniform arms and half of the struts' mass at \
each end; its matrices do not follow from the stated constraint. The complete model M_f of 2022 \
takes rods and a generic arm: its energies are differentiated here to rounding, and corrected it \
is `"exact"`.
""",
    "telescopic2022": """\
## telescopic2022

The paper maps the Lagrangian dynamics of a telescopic rod to the drives. `"projected-rod"` keeps \
its energy by projected angles and corrects the rest; the platform's mass is our assumption.
""",
    "gnad2024": """\
## gnad2024

The model is right: it is the library's `"rigid"`. The slips are in the printed map from the \
Cholesky factor and in the labels of a table, and one identified value is consistent but not \
plausible.
""",
}

LADDER = """\
## The ladder of models

Each model against the exact one, without friction, in N m over the three arms: on the \
pick-and-place move and at 5000 seeded random states (platform points uniform in the workspace \
cylinder, velocities in a ball of 3 m/s, accelerations in a ball of 60 m/s^2; psi over a turn, up \
to 20 rad/s and 200 rad/s^2). Models with the same figures share a row; `gray-box` has \
rho1 = rho2 = 1.
"""

COUNTS = """\
## Operations

Scalar operations of one evaluation, counted by running the library's functions on numbers that \
count. Operations between robot constants, additions of 0 and multiplications by 0 or 1 are free. \
"Shared" counts equal subexpressions once. The arms of sipro-d3-1200 are at 0, 120 and 240 degrees.
"""

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
    for paper in found.papers:
        yield _paper(paper)
    ladders = [block for robot in (three, four) for block in _ladder(robot)]
    yield [LADDER, *ladders]
    yield [COUNTS, counts_table(operation_counts(three, four))]


def _paper(paper: PaperAudit) -> list[Block]:
    scene = paper.scene
    setting = (
        f"`{scene.robot}`, {scene.move}: up to {number(scene.acceleration)} m/s^2, torque "
        f"{number(scene.torque_rms_Nm)} N m RMS, {number(scene.torque_peak_Nm)} N m peak.\n"
    )
    variants = _rows(
        ("model", "state", "RMS from corrected", "peak", "RMS from exact", "peak"),
        (
            (row.model, row.variant, *_cells(row.against_mended), *_cells(row.against_exact))
            for row in paper.variants
        ),
        words=2,
    )
    slips = _rows(
        ("slip", "where", "printed", "right", "RMS", "peak"),
        (
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
    parts: list[Block] = [INTRODUCTIONS[scene.paper], setting, variants]
    parts += ["What each slip costs alone:\n", slips]
    parts += ["Further slips, figures (printed / right) and how they were found:\n"]
    return [*parts, _figures(paper.items, scene.paper)]


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


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]], words: int) -> Rows:
    return Rows(head, tuple(rows), words)


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
    return f"### {robot.name}\n", _rows(("model", *head), rows, words=1)


def _ladder_cells(rms: float, peak: float | None, axes: Sequence[float]) -> tuple[str, ...]:
    return (number(rms), number(peak), *(number(value) for value in axes[3:]))


def counts_table(counts: Sequence[Count]) -> Rows:
    """Our counts, with [falezza2022] table 6 below them."""
    rows = [(c.name, c.inputs, c.written, str(c.shared.total)) for c in counts]
    rows += [(f"{name} in table 6", "falezza2022", TABLE_6[name], "") for name in TABLE_6]
    return _rows(
        ("computation", "from", "+, -", "x", "/", "sqrt, sin, cos", "total", "shared"),
        (
            (
                name,
                inputs,
                *(str(sum(getattr(count, kind) for kind in kinds)) for kinds in COLUMNS),
                number(count.total),
                shared,
            )
            for name, inputs, count, shared in rows
        ),
        words=2,
    )


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
    import plotly.graph_objects as go

    pairs = [(item.key, item.cost.rms_Nm) for item in paper.items if item.cost is not None]
    pairs = sorted((pair for pair in pairs if pair[1] > 1e-10), key=lambda pair: pair[1])
    figure = go.Figure(
        go.Bar(
            x=[cost for _, cost in pairs],
            y=[key for key, _ in pairs],
            orientation="h",
            marker_color="#1f5fa8",
        )
    )
    costs = [paper.scene.torque_rms_Nm, *(cost for _, cost in pairs)]
    figure.add_vline(x=paper.scene.torque_rms_Nm, line={"dash": "dash", "color": "#888888"})
    figure.update_layout(
        template="plotly_white",
        height=140 + 24 * len(pairs),
        margin={"t": 20, "l": 190},
        xaxis={
            "title": "N m RMS",
            "type": "log",
            "exponentformat": "power",
            "range": [math.log10(min(costs) / 1.5), math.log10(1.5 * max(costs))],
        },
        yaxis={"automargin": True},
    )
    return figure


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
