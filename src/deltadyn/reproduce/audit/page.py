"""The page of the documentation that shows the audit, the ladder and the operation counts."""

from __future__ import annotations

from collections.abc import Iterable

from deltadyn.reproduce.audit.audit import audit
from deltadyn.reproduce.audit.operations import counts_table, operation_counts
from deltadyn.reproduce.audit.records import AuditItem, Cost, PaperAudit, number, phrase
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

In Python, `deltadyn.reproduce.audit()` gives the same as a value: print it, or take its \
`as_dict()`.

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


def audit_page() -> str:
    """The whole page in Markdown."""
    three, four = load_robot("sipro-d3-1200"), load_robot("telescopic-delta")
    parts = [HEAD]
    parts += [_paper(paper) for paper in audit().papers]
    ladders = [
        ladder(robot, motion, name=name)
        for robot in (three, four)
        for name, motion in (
            ("pick-and-place move", pick_and_place(robot)),
            ("random states", random_states(robot)),
        )
    ]
    parts += [LADDER, *(_ladder(item) for item in ladders)]
    parts += [COUNTS, counts_table(operation_counts(three, four)) + "\n"]
    return "\n".join(parts)


def _paper(paper: PaperAudit) -> str:
    scene = paper.scene
    setting = (
        f"The robot is `{scene.robot}` on {scene.move}, with up to {number(scene.acceleration)} "
        f"m/s^2 and a torque of {number(scene.torque_rms_Nm)} N m RMS and "
        f"{number(scene.torque_peak_Nm)} N m at its peak.\n"
    )
    variants = _table(
        ("model", "state", "RMS from mended", "peak", "RMS from exact", "peak"),
        (
            (row.model, row.variant, *_cells(row.against_mended), *_cells(row.against_exact))
            for row in paper.variants
        ),
        words=2,
    )
    slips = _table(
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
    parts = [INTRODUCTIONS[scene.paper], setting, variants, "What each slip costs alone:\n", slips]
    others = [item for item in paper.items if item.cost is None]
    if others:
        parts += ["What has no torque of its own:\n", _other_slips(others, scene.paper)]
    parts += ["Figures that belong to them:\n", _figures(paper.items)]
    parts += ["How they were found, where it is not the slip alone:\n", _hows(paper.items)]
    return "\n".join(parts)


def _other_slips(items: Iterable[AuditItem], paper: str) -> str:
    rows = (
        (f"`{item.key}`", _where(item, paper), phrase(item.printed), phrase(item.right))
        for item in items
    )
    return _table(("slip", "where", "printed", "right"), rows, words=4)


def _figures(items: Iterable[AuditItem]) -> str:
    rows = (
        (f"`{item.key}`", fig.name, fig.unit, number(fig.printed), number(fig.right))
        for item in items
        for fig in item.figures
    )
    return _table(("slip", "figure", "unit", "printed", "right"), rows, words=3)


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


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]], words: int) -> str:
    """A Markdown table; columns after the first `words` are aligned to the right."""
    rule = "|" + "---|" * words + "---:|" * (len(head) - words)
    lines = ["| " + " | ".join(head) + " |", rule]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _ladder(item: Ladder) -> str:
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
    table = _table(("model", "source", "peak", "RMS, arms", *axes), rows, words=2)
    return f"{title}\n{table}"
