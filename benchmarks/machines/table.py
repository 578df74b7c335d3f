"""Trials summed up by cause or by way, as text and as tables of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.machines.trial import Trial

OPEN = "-"  # a figure that the trials do not have
QUANTILE = 0.95
ABSORBED = 1.25  # times the oracle's error: what other terms leave of a cause is hardly more
MARK = "<!-- {}: {} -->"


class Column(NamedTuple):
    """A figure of some trials, as text."""

    title: str
    text: Callable[[Group], str]


@dataclass(frozen=True)
class Group:
    """Trials of one cause, or of one way: those to judge, and all of the same machines."""

    name: str
    own: Sequence[Trial]
    beside: Sequence[Trial]

    @property
    def good(self) -> list[Trial]:
        """Those whose fit did not break."""
        return [trial for trial in self.own if not trial.broken]

    def other(self, trial: Trial, way: str) -> Trial | None:
        """The same machine in another way."""
        for item in self.beside:
            same = (item.cause, item.seed, item.robot) == (trial.cause, trial.seed, trial.robot)
            if same and item.way == way and not item.broken:
                return item
        return None

    def ratios(self, way: str) -> list[float]:
        """Held-out errors over those in another way."""
        pairs = [(trial, self.other(trial, way)) for trial in self.good]
        return [a.error / b.error for a, b in pairs if b is not None and a.error and b.error]

    def widths(self, way: str) -> list[float]:
        """Lengths of the intervals over those in another way, a mean for each machine."""
        found = []
        for trial in self.good:
            other = self.other(trial, way)
            if other is not None:
                both = [n for n in trial.width if other.width.get(n)]
                found.append(float(np.mean([trial.width[n] / other.width[n] for n in both])))
        return found

    def by_parameter(self) -> dict[str, list[bool]]:
        """Whether intervals hold the truth, by the name of the parameter."""
        found: dict[str, list[bool]] = {}
        for trial in self.good:
            for name, inside in trial.covered.items():
                found.setdefault(name, []).append(inside)
        return found


def percent(values: Iterable[bool]) -> str:
    """The share of what is true, without decimals."""
    own = list(values)
    return f"{100 * float(np.mean(own)):.0f}" if own else OPEN


def mean(values: Iterable[float | None], digits: int = 2) -> str:
    """The mean of what is known."""
    own = [value for value in values if value is not None]
    return f"{np.mean(own):.{digits}f}" if own else OPEN


def coverage(group: Group) -> str:
    """Share of intervals that hold the truth, and that of the parameter where it is lowest."""
    own = group.by_parameter()
    if not own:
        return OPEN
    inside = [value for values in own.values() for value in values]
    worst = min(own, key=lambda name: float(np.mean(own[name])))
    return f"{percent(inside)} ({worst} {percent(own[worst])})"


def ratio(group: Group, way: str) -> str:
    """The 95 % quantile and the largest of errors over those in another way."""
    own = group.ratios(way)
    return f"{np.quantile(own, QUANTILE):.2f}, {max(own):.2f}" if own else OPEN


def error_of(group: Group, way: str) -> str:
    """Mean held-out error of the same machines in another way."""
    own = [group.other(trial, way) for trial in group.own]
    return mean(trial.error for trial in own if trial is not None)


def band(group: Group) -> str:
    """Share of held-out rows inside the torque band, and its least over the machines."""
    own = [trial.inside for trial in group.good if trial.inside is not None]
    return f"{np.mean(own):.0f} ({min(own):.0f})" if own else OPEN


def alarms(group: Group) -> str:
    """How often a term is said to be missing, of machines on which something is left to see."""
    own = [t for t in group.good if t.missing is not None and not absorbed(group, t)]
    return percent(bool(trial.missing) for trial in own)


def absorbed(group: Group, trial: Trial) -> bool:
    """Whether other terms stand in for those that were kept out of the search."""
    oracle = group.other(trial, "oracle")
    if not trial.without or oracle is None or not oracle.error or trial.error is None:
        return False
    return trial.error <= ABSORBED * oracle.error


def stand_ins(group: Group) -> str:
    """On how many machines other terms stand in for those kept out of the search, and alarms."""
    own = [trial for trial in group.good if absorbed(group, trial)]
    if not any(trial.without for trial in group.good):
        return OPEN
    return f"{len(own)}, {sum(bool(trial.missing) for trial in own)}"


SET = (
    Column("fits", lambda g: f"{len(g.good)} of {len(g.own)}"),
    Column("exact %", lambda g: percent(t.exact for t in g.good if t.nameable)),
    Column("named %", lambda g: percent(t.named for t in g.good if t.nameable)),
    Column("false terms", lambda g: mean(t.false for t in g.good)),
)
INTERVALS = (
    Column("cover % (lowest)", coverage),
    Column("width / oracle", lambda g: mean(g.widths("oracle"))),
    Column("band % (lowest)", band),
    Column("half %", lambda g: mean((t.half for t in g.good), 1)),
    Column("alarm %", alarms),
    Column("absorbed, alarms", stand_ins),
)
TIME = (
    Column("CPU s", lambda g: mean((t.seconds for t in g.good), 1)),
    Column("search s", lambda g: mean((t.search_seconds for t in g.good), 1)),
)
ERRORS = (
    Column("error %", lambda g: mean(t.error for t in g.good)),
    Column("file %", lambda g: error_of(g, "file")),
    Column("oracle %", lambda g: error_of(g, "oracle")),
    Column("noise %", lambda g: mean(t.noise for t in g.good)),
    Column("to oracle: 95 %, max", lambda g: ratio(g, "oracle")),
)
#: What is said of the machines of each cause.
CAUSE_COLUMNS = (*SET, *ERRORS, *INTERVALS, *TIME)
#: What is said of each way to identify them.
WAY_COLUMNS = (
    SET[0],
    ERRORS[0],
    ERRORS[4],
    INTERVALS[0],
    INTERVALS[1],
    INTERVALS[2],
    TIME[0],
)


def by_cause(trials: Sequence[Trial], way: str = "auto") -> list[list[str]]:
    """A row for each cause, in their order; the first row are the titles."""
    causes = list(dict.fromkeys(trial.cause for trial in trials))
    groups = [
        Group(cause, [t for t in trials if t.cause == cause and t.way == way], trials)
        for cause in causes
    ]
    return _rows("cause", [g for g in groups if g.own], CAUSE_COLUMNS)


def by_way(trials: Sequence[Trial]) -> list[list[str]]:
    """A row for each way: all causes together, then the error for each cause."""
    causes = list(dict.fromkeys(trial.cause for trial in trials))
    ways = list(dict.fromkeys(trial.way for trial in trials))
    groups = [Group(way, [t for t in trials if t.way == way], trials) for way in ways]
    own = [Column(cause, _error_on(cause)) for cause in causes]
    return _rows("way", groups, (*WAY_COLUMNS, *own))


def _error_on(cause: str) -> Callable[[Group], str]:
    return lambda group: mean(t.error for t in group.good if t.cause == cause)


def _rows(first: str, groups: Sequence[Group], columns: Sequence[Column]) -> list[list[str]]:
    titles = [first, *(column.title for column in columns)]
    return [titles, *([g.name, *(column.text(g) for column in columns)] for g in groups)]


def plain(rows: Sequence[Sequence[str]]) -> str:
    """Rows as text in columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *cells]))
    return "\n".join(lines)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table of a page."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def failures(trials: Sequence[Trial], way: str = "auto") -> list[str]:
    """A line for every machine that was not found out: other terms, or a fit that broke."""
    found = []
    for trial in trials:
        if trial.way != way:
            continue
        where = f"{trial.cause} {trial.seed} (strength {trial.strength:.2f})"
        if trial.broken:
            found.append(f"{where}: {trial.broken}")
        elif not trial.exact and not trial.without:
            true, said = (", ".join(names) or "no term" for names in (trial.true, trial.found))
            found.append(f"{where}: has {true}; found {said}")
    return found


def put(page: Path, name: str, text: str) -> None:
    """Write text between the marks of that name in a page, at its end where it has none."""
    begin, end = MARK.format(name, "begin"), MARK.format(name, "end")
    whole = page.read_text("utf-8") if page.exists() else ""
    block = f"{begin}\n{text}\n{end}"
    if begin in whole and end in whole:
        head, _, rest = whole.partition(begin)
        block = head + block + rest.partition(end)[2]
    else:
        block = f"{whole}\n{block}\n" if whole else f"{block}\n"
    page.write_text(block, "utf-8")
