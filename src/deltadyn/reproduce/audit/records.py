"""What the audit reports, and the robot and move that it is reported for."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.doors import write_page
from deltadyn.dynamics import inverse_dynamics
from deltadyn.motion import Motion
from deltadyn.reproduce.ladder import pick_and_place
from deltadyn.reproduce.result import filled, plain, words_of
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot

ARMS = slice(0, 3)


#: The slips in words, by key: where they stand, what is printed and what is right.
WORDS = words_of("audit")
ALONE = "the corrected model with this slip alone"
Pair = tuple[Any, Any]  # a number as printed and as it is right, or None


class Slip(Enum):
    """Slips that can be switched on and off; their names are keys of `WORDS`."""


@dataclass(frozen=True)
class Cost:
    """An error of torque over the three arms (N m).

    `share` is the part of the samples at which the variant can be evaluated at all; the error is
    over these.
    """

    rms_Nm: float
    peak_Nm: float
    share: float = 1.0

    @classmethod
    def of(cls, torque: FloatArray, reference: FloatArray) -> Cost:
        """The error of torques (N, dof) against the reference (N, dof)."""
        error = torque[:, ARMS] - reference[:, ARMS]
        usable = np.isfinite(error).all(axis=1)
        if not usable.any():
            return cls(float("nan"), float("nan"), 0.0)
        error = error[usable]
        rms, peak = np.sqrt(np.mean(error**2)), np.abs(error).max()
        return cls(float(rms), float(peak), float(usable.mean()))


@dataclass(frozen=True)
class Figure:
    """A number that shows a slip: as printed and as it is right; None where there is none."""

    name: str
    printed: float | None
    right: float | None
    unit: str


@dataclass(frozen=True)
class AuditItem:
    """One slip of one paper.

    `cost` compares the model that has this slip alone with the same model without it, and
    `against_exact` with the exact model; both are None where the slip is not in a torque.
    """

    key: str
    paper: str
    equation: str
    printed: str
    right: str
    how: str
    cost: Cost | None = None
    against_exact: Cost | None = None
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class ModelVariant:
    """A model of a paper in one state of repair, against its corrected form and the exact model."""

    paper: str
    model: str
    variant: str
    against_mended: Cost
    against_exact: Cost


@dataclass(frozen=True)
class Scene:
    """The robot and the move on which a paper's models are compared."""

    paper: str
    robot: str
    move: str
    acceleration: float  # m/s^2, peak of the platform
    torque_rms_Nm: float
    torque_peak_Nm: float


@dataclass(frozen=True)
class Stage:
    """A paper's robot in motion, with the exact model's torque (N, dof) without friction."""

    scene: Scene
    robot: Robot
    motion: Motion
    exact: FloatArray


def stage(paper: str, name: str, *, width: float = 0.3, duration: float = 0.3) -> Stage:
    """The catalogue's robot of that name on a pick-and-place move of `width` m in `duration` s."""
    robot = load_robot(name)
    motion = pick_and_place(robot, width=width, duration=duration)
    exact = inverse_dynamics(robot, motion, "exact", friction=False)
    arms = exact[:, ARMS]
    scene = Scene(
        paper=paper,
        robot=name,
        move=f"a gate move of {width:g} m in {duration:g} s",
        acceleration=float(np.linalg.norm(motion.pdd[:, :3], axis=1).max()),
        torque_rms_Nm=float(np.sqrt(np.mean(arms**2))),
        torque_peak_Nm=float(np.abs(arms).max()),
    )
    return Stage(scene, robot, motion, exact)


@dataclass(frozen=True)
class PaperAudit:
    """All that the audit says about one paper."""

    scene: Scene
    variants: tuple[ModelVariant, ...]
    items: tuple[AuditItem, ...]


@dataclass(frozen=True)
class Audit:
    """The audit of the papers; `str` gives a table, `as_dict` plain values for JSON."""

    papers: tuple[PaperAudit, ...]

    @property
    def items(self) -> tuple[AuditItem, ...]:
        """The slips of all papers."""
        return tuple(item for paper in self.papers for item in paper.items)

    def item(self, key: str) -> AuditItem:
        """The slip of that key."""
        return next(item for item in self.items if item.key == key)

    def variant(self, model: str, variant: str) -> ModelVariant:
        """A model in one state of repair."""
        rows = (row for paper in self.papers for row in paper.variants)
        return next(row for row in rows if (row.model, row.variant) == (model, variant))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, texts, lists and dictionaries."""
        return {"papers": [plain(asdict(paper)) for paper in self.papers]}

    def page(self, path: str | os.PathLike[str]) -> Path:
        """Write the page with every slip: HTML to open offline, Markdown where it ends in .md."""
        return write_page("audit", self, path)

    def __str__(self) -> str:
        return "\n\n".join(_paper_text(paper) for paper in self.papers)


S = TypeVar("S", bound=Slip)


def slip_items(
    slips: Iterable[S],
    torque: Callable[[frozenset[S]], FloatArray],
    exact: FloatArray,
    *,
    how: str = ALONE,
    figures: Mapping[str, Sequence[Pair]] | None = None,
    **values: Any,
) -> list[AuditItem]:
    """One item per slip: the model with that slip alone against itself without it, and exact."""
    corrected = torque(frozenset())
    items = []
    for slip in slips:
        costs = costs_of(torque(frozenset({slip})), corrected, exact)
        shown = (figures or {}).get(slip.name, ())
        items.append(item_of(slip.name, costs, shown, how=how, **values))
    return items


def costs_of(torque: FloatArray, reference: FloatArray, exact: FloatArray) -> tuple[Cost, Cost]:
    """The error of a torque (N, dof) against a reference and against the exact model's."""
    return Cost.of(torque, reference), Cost.of(torque, exact)


def item_of(
    key: str,
    costs: tuple[Cost | None, Cost | None] = (None, None),
    figures: Sequence[Pair] = (),
    *,
    how: str = ALONE,
    **values: Any,
) -> AuditItem:
    """The slip of that key in its words, with figures as printed and as they are right.

    How it was found and the names of the figures may show `values`.
    """
    words = WORDS[key]
    text = {part: words[part] for part in ("paper", "equation", "printed", "right")}
    how = filled(words.get("how", how), values)
    shown = tuple(
        Figure(filled(name, values), _number(printed), _number(right), unit)
        for (name, unit), (printed, right) in zip(words.get("figures", ()), figures, strict=True)
    )
    cost, against_exact = costs
    return AuditItem(key, **text, how=how, cost=cost, against_exact=against_exact, figures=shown)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def variants(
    paper: str,
    model: str,
    torque: Callable[[frozenset[S]], FloatArray],
    states: Mapping[str, frozenset[S]],
    exact: FloatArray,
) -> tuple[ModelVariant, ...]:
    """A model in several states of repair, each compared with the corrected and the exact one."""
    corrected = torque(frozenset())
    return tuple(
        ModelVariant(paper, model, name, *costs_of(torque(slips), corrected, exact))
        for name, slips in states.items()
    )


def number(value: float | None) -> str:
    """Three digits; what is rounding alone is said to be so, and what is missing is a dash."""
    if value is None:
        return "-"
    if not np.isfinite(value):
        return "not a number" if np.isnan(value) else "infinite"
    if value != 0 and abs(value) < 1e-10:
        return "< 1e-10"
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.3g}" if abs(value) < 1e3 else f"{value:.0f}"
    return f"{value:.1e}"


def phrase(text: str) -> str:
    """A text without its full stop, to stand in a table."""
    return text.rstrip(".")


def _paper_text(paper: PaperAudit) -> str:
    scene = paper.scene
    lines = [
        f"{scene.paper}: {scene.robot}, {scene.move}, up to {number(scene.acceleration)} m/s^2, "
        f"torque {number(scene.torque_rms_Nm)} N m RMS, {number(scene.torque_peak_Nm)} peak",
        f"  {'RMS':>10} {'peak':>10} {'exact RMS':>10} {'peak':>10}  in N m",
    ]
    for row in paper.variants:
        costs = _cost_text(row.against_mended) + _cost_text(row.against_exact)
        lines.append(f"  {costs} {row.model}: {row.variant}")
    for item in paper.items:
        costs = _cost_text(item.cost) + _cost_text(item.against_exact)
        lines.append(f"  {costs} {item.paper} {item.equation}: {item.key}")
        words = f"printed: {phrase(item.printed)}; right: {phrase(item.right)}"
        lines += textwrap.wrap(words, 100, initial_indent=" " * 8, subsequent_indent=" " * 8)
        lines += [
            f"{'':10}{figure.name}: {number(figure.printed)} printed, {number(figure.right)} right "
            f"{figure.unit}".rstrip()
            for figure in item.figures
        ]
    return "\n".join(lines)


def _cost_text(cost: Cost | None) -> str:
    if cost is None:
        return f"{'-':>10} {'-':>10} "
    mark = "*" if cost.share < 1 else " "
    return f"{number(cost.rms_Nm):>10} {number(cost.peak_Nm):>9}{mark} "
