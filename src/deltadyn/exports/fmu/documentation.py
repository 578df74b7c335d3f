"""What a person reads of the units: README-fmu.md, and the page that lies in each of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from deltadyn.exports.common import filled, identifier, provenance, speech
from deltadyn.exports.fmu.variables import (
    SUMMARY,
    Variable,
    smoothing_of,
    start_text,
)
from deltadyn.robot import Robot

ARM_MEANING = (
    "shoulder axes, z points up, the platform works at negative z. An arm's angle is 0 when it is\n"
    "horizontal and outward, positive downward. Torques act along increasing angles"
)
RAIL_MEANING = (
    "rails' points of q = 0, z points up. An axis counts a carriage's way along its rail in m,\n"
    "upward, outward on a level rail. Forces act along it in N"
)
COLUMNS = ("variable", "causality", "unit", "start", "what")


def readme(
    robot: Robot,
    fmi: str,
    timestep: float,
    binary: str,
    tables: Mapping[str, Sequence[Variable]],
    by_hand: tuple[str, Sequence[str], str],
) -> str:
    """README-fmu.md; `binary` says which libraries are inside, `by_hand` how one is compiled.

    The latter is the library's folder, the compiler's flags and the source.
    """
    own, rate = robot.friction.smoothing, robot.axis_units("qd")[0]
    folder, flags, layer = by_hand
    lines = [safe(line) for line in provenance(robot, "Functional mock-up units of a Delta robot")]
    if own is None:
        used = f"The robot names none: here it is {smoothing_of(robot):g} {rate}."
    else:
        used = f"The robot names {own:g} {rate}."
    status = next(item for item in tables["plant"] if item.symbol == "STATUS")
    axes = range(1, robot.dof + 1)
    words = {
        **speech(robot),
        "title": f"{safe(robot.name)}: functional mock-up units (FMI {fmi})",
        "head": "  \n".join(lines[1:]),
        "name": identifier(robot),
        "fmi": fmi,
        "folder": folder,
        "binary": binary,
        "dof": robot.dof,
        "columns": ", ".join(f'("tau[{i}]", float)' for i in axes)
        if fmi == "2.0"
        else f'("tau", float, ({robot.dof},))',
        "torques": ", ".join(["0.0"] * robot.dof)
        if fmi == "2.0"
        else f"({', '.join(['0.0'] * robot.dof)})",
        "outputs": '"q[1]", "q[2]", "p[2]", "status"' if fmi == "2.0" else '"q", "p", "status"',
        "meaning_of_q": RAIL_MEANING if robot.linear else ARM_MEANING,
        "flags": " ".join(flags),
        "layer": layer,
        "moment": " and `moment_z`" if robot.turns else "",
        "sign": ", ".join(f"{value:+g}" for value in robot.controller.sign),
        "offset": ", ".join(f"{value + 0.0:g}" for value in robot.controller.offset),
        "plant": "\n".join(_markdown(table(tables["plant"], fmi))),
        "inverse": "\n".join(_markdown(table(_own(tables["inverse"], tables["plant"]), fmi))),
        "timestep": f"{timestep:g}",
        "smoothing": used,
        "meaning": status.description,
    }
    return filled("fmu", "README.md", words)


def page(robot: Robot, model: str, fmi: str, variables: Sequence[Variable]) -> str:
    """documentation/index.html of a unit: what it is, its variables, what is exact."""
    lines = [escape(safe(line)) for line in provenance(robot, SUMMARY[model])]
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    rows = (
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table(variables, fmi)
    )
    words = {
        "title": escape(f"{identifier(robot)}_{model}"),
        "summary": lines[0],
        "head": "<br>\n".join(lines[1:]),
        "fmi": fmi,
        "meaning": PLANT_PAGE if model == "plant" else INVERSE_PAGE,
        "table": "\n".join([f"<tr>{head}</tr>", *rows]),
    }
    return filled("fmu", "index.html", words)


PLANT_PAGE = """\
<li>Accelerations are those of the exact model of thin struts: the package's own generated
functions. In model exchange the states are q and qd, their derivatives qd and qdd.</li>
<li>In co-simulation inputs are held over a communication step, which is divided into equal steps of
Runge-Kutta of order 4, not longer than <code>step</code>.</li>
<li>Friction turns its sign by tanh(rate / smoothing).</li>"""
INVERSE_PAGE = """\
<li>Torques are those of the exact model of thin struts: the package's own generated functions.
There is no memory, and there are no states in model exchange.</li>
<li>Friction turns its sign by tanh(rate / smoothing), or by sign(rate) where that is 0.</li>"""


def safe(text: str) -> str:
    """One line that neither opens nor closes a comment of C, nor holds a trigraph."""
    line = " ".join(text.split())
    for pair in ("/*", "*/", "??"):
        while pair in line:
            line = line.replace(pair, f"{pair[0]} {pair[1]}")
    return line


def _own(variables: Sequence[Variable], others: Sequence[Variable]) -> list[Variable]:
    """Those that the others do not have under the same name and causality."""
    known = {(item.name, item.causality) for item in others}
    return [item for item in variables if (item.name, item.causality) not in known]


def table(variables: Sequence[Variable], fmi: str) -> Iterator[tuple[str, ...]]:
    """One row per scalar and per group of variables that differ by their number alone."""
    groups: dict[str, list[Variable]] = {}
    for item in variables:
        groups.setdefault(re.sub(r"\[\d+\]$", "", item.name), []).append(item)
    for base, items in groups.items():
        first, last, count = items[0], items[-1], len(items)
        array = f"{base}, array of {count}" if fmi == "3.0" else f"{base}[1..{count}]"
        name = array if first.group else base
        unit = first.unit if first.unit == last.unit else f"{first.unit}, [4] {last.unit}"
        start = ", ".join(_start(item) for item in items if item.start is not None)
        text = re.sub(r"\b1\b", "i", first.description) if first.group else first.description
        yield name, first.causality, unit, start, text


def _markdown(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---" * len(COLUMNS) + "|"
    for name, *others in rows:
        yield f"| `{name}` | {' | '.join(others)} |"


def _start(item: Variable) -> str:
    return f"{item.start:.6g}" if type(item.start) is float else start_text(item)
