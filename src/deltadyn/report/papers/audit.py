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
from deltadyn.reproduce.audit.operations import KINDS, TABLE_6, Count, operation_counts
from deltadyn.reproduce.audit.records import Audit, AuditItem, Cost, PaperAudit, number, phrase
from deltadyn.reproduce.ladder import Ladder, ladder, pick_and_place, random_states
from deltadyn.robot.file import load_robot

HEAD = """\
# The audit

deltadyn makes five papers real. Their equations contain slips: signs, misplaced factors, missing \
terms. This page shows each of them as it is printed and as it is right, and what it costs in \
torque. The numbers are computed by the library. To make the page again:

```
python -m deltadyn.reproduce.audit docs/audit.md
```

`deltadyn reproduce audit --out audit.html` writes it to open offline, with the costs drawn. In \
Python, `deltadyn.reproduce.audit()` gives the same as a value: print it, or take its `as_dict()`.

How to read the tables:

- A paper's model exists in several states of repair: **as printed**, in part mended, **mended**, \
and beside them the **exact** model of the same robot.
- A slip's cost compares the mended model that has this slip alone with the mended model. The last \
two columns compare it with the exact model.
- Errors are over the three arms and all samples of one pick-and-place move, in N m. A star marks \
equations that can be evaluated at a part of the samples only; the error is over these.
- The names in capitals are the items' keys. Those of a torque equation are switches: the modules \
in `deltadyn.reproduce.audit` take a set of them.
- The texts that we worked from are machine-read. Where a symbol cannot be read for sure, the item \
says so or is left out.
"""

INTRODUCTIONS = {
    "kim2022": """\
## kim2022

The paper has two models of one robot. Eqs. 1-2 use Lagrange multipliers and the manufacturer's \
data, eqs. 3-29 use virtual work and eleven parameters that a swarm identifies. Both put half of \
each strut pair at its ends. Both state that z points up and then let gravity act along +z; they \
hold with z down. Friction enters the torque with a minus, which lets a fit return a friction that \
drives the robot. The library's models `"euler-lagrange"` and `"virtual-work"` are the mended \
ones. The length of the struts is not in the paper: ours is an assumption.
""",
    "falezza2020, falezza2022": """\
## falezza2020 and falezza2022

Both papers build on one simplified model, M_KH in 2020 and M_s in 2022: uniform arms, half of the \
struts' mass at each end. Its matrices do not follow from the constraint that the papers state. \
The complete model M_f of 2022 takes rods and a generic arm. Its energies are differentiated here \
to rounding, so that the long printed derivatives need not be transcribed. As printed it cannot be \
evaluated on the whole move, because the arc cosine of one passive angle gets arguments beyond 1. \
With every slip mended, M_f is the exact model: the library's `"exact"`.
""",
    "telescopic2022": """\
## telescopic2022

The paper adds a telescopic rod to a Delta robot and maps the rod's own Lagrangian dynamics to the \
drives. The library's `"projected-rod"` keeps the paper's energy by projected angles, which is its \
idea, with the rest mended; `"exact"` needs no such angles. The mass of the platform is not in the \
paper: ours is an assumption.
""",
    "gnad2024": """\
## gnad2024

The paper's model is right: every body has ten inertial parameters and the torque is linear in \
them. This is the library's `"rigid"`. What slips is the printed map from the Cholesky factor and \
the labels of a table, and one identified value is consistent by the criterion without being \
plausible.
""",
}

LADDER = """\
## The ladder of models

Each model of the library against the exact one, without friction, on the pick-and-place move and \
at 5000 seeded random states: platform points uniform in the workspace cylinder of the robot file, \
velocities uniform in a ball of 3 m/s, accelerations uniform in a ball of 60 m/s^2 (on the 4-DOF \
robot psi over a turn, up to 20 rad/s and 200 rad/s^2). Figures are in N m; "arms" takes the three \
arms together. With rho1 = rho2 = 1 `gray-box` is `half-half`, and so is `projected-rod` on a \
robot without a spindle.
"""

COUNTS = """\
## Operations

Scalar operations of one evaluation, counted by running the library's own functions on numbers \
that count. Robot constants are known numbers, so operations between them are free, and so are \
additions of 0 and multiplications by 0 or 1. "Total" counts the code as it is written, "shared" \
counts equal subexpressions once. The arms of sipro-d3-1200 stand at 0, 120 and 240 degrees. \
Below are the counts that falezza2022 gives for its own code.
"""


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
    subtitle = "The equations of five papers: as printed, mended, exact"
    return write_sections(path, title, subtitle, [_html(lead)], sections)


def _parts(found: Audit) -> Iterator[list[Block]]:
    """One list of blocks per section: the papers, the ladder, the operations."""
    three, four = load_robot("sipro-d3-1200"), load_robot("telescopic-delta")
    for paper in found.papers:
        yield _paper(paper)
    ladders = [
        ladder(robot, motion, name=name)
        for robot in (three, four)
        for name, motion in (
            ("pick-and-place move", pick_and_place(robot)),
            ("random states", random_states(robot)),
        )
    ]
    yield [LADDER, *(block for item in ladders for block in _ladder(item))]
    yield [COUNTS, counts_table(operation_counts(three, four))]


def _paper(paper: PaperAudit) -> list[Block]:
    scene = paper.scene
    setting = (
        f"The robot is `{scene.robot}` on {scene.move}, with up to {number(scene.acceleration)} "
        f"m/s^2 and a torque of {number(scene.torque_rms_Nm)} N m RMS and "
        f"{number(scene.torque_peak_Nm)} N m at its peak.\n"
    )
    variants = _rows(
        ("model", "state", "RMS from mended", "peak", "RMS from exact", "peak"),
        (
            (row.model, row.variant, *_cells(row.against_mended), *_cells(row.against_exact))
            for row in paper.variants
        ),
        words=2,
    )
    slips = _rows(
        ("slip", "where", "printed", "right", "RMS", "peak", "RMS from exact", "peak"),
        (
            (
                f"`{item.key}`",
                _where(item, scene.paper),
                phrase(item.printed),
                phrase(item.right),
                *_cells(item.cost),
                *_cells(item.against_exact),
            )
            for item in paper.items
            if item.cost is not None
        ),
        words=4,
    )
    parts: list[Block] = [INTRODUCTIONS[scene.paper], setting, variants]
    parts += ["What each slip costs alone:\n", slips]
    others = [item for item in paper.items if item.cost is None]
    if others:
        parts += ["What has no torque of its own:\n", _other_slips(others, scene.paper)]
    parts += ["Figures that belong to them:\n", _figures(paper.items)]
    parts += ["How they were found, where it is not the slip alone:\n", _hows(paper.items)]
    return parts


def _other_slips(items: Iterable[AuditItem], paper: str) -> Rows:
    rows = (
        (f"`{item.key}`", _where(item, paper), phrase(item.printed), phrase(item.right))
        for item in items
    )
    return _rows(("slip", "where", "printed", "right"), rows, words=4)


def _figures(items: Iterable[AuditItem]) -> Rows:
    rows = (
        (f"`{item.key}`", fig.name, fig.unit, number(fig.printed), number(fig.right))
        for item in items
        for fig in item.figures
    )
    return _rows(("slip", "figure", "unit", "printed", "right"), rows, words=3)


def _hows(items: Iterable[AuditItem]) -> str:
    lines = [
        f"- `{item.key}`: {item.how}."
        for item in items
        if not item.how.endswith("with this slip alone")
    ]
    return "\n".join(lines) + "\n"


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


def _ladder(item: Ladder) -> tuple[Block, Block]:
    axes = tuple(f"axis {axis + 1}" for axis in range(len(item.torque_rms)))
    torque = (item.torque_rms_arms, *item.torque_rms)
    rows = [("RMS torque", "", "-", *(number(value) for value in torque))]
    rows += [
        (
            f"`{rung.model}`",
            rung.source,
            number(rung.peak_arms),
            *(number(value) for value in (rung.rms_arms, *rung.rms)),
        )
        for rung in item.rungs
    ]
    title = f"### {item.robot}, {item.motion}, {item.samples} samples\n"
    table = _rows(("model", "source", "peak", "RMS, arms", *axes), rows, words=2)
    return title, table


def counts_table(counts: Sequence[Count]) -> Rows:
    """Our counts, with [falezza2022] table 6 below them."""
    rows = [(c.name, c.inputs, c.written, str(c.shared.total)) for c in counts]
    rows += [(f"{name} in table 6", "falezza2022", TABLE_6[name], "") for name in TABLE_6]
    return _rows(
        ("computation", "from", "+", "-", "x", "/", "sqrt", "sin", "cos", "total", "shared"),
        (
            (
                name,
                inputs,
                *(str(getattr(count, kind)) for kind in KINDS),
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
        "RMS error of torque on the move, against the mended model, on a logarithmic axis. The "
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
