"""Derivatives of the generated functions along a direction, written from their own source.

A generated function is straight-line code: every line is one operation on numbers before it. So its
derivative along (dpar, dx) is one line per line, by the rules of differentiation,

    v = a b:  dv = da b + a db,   v = a / b:  dv = (da - v db) / b,   v = sqrt(a):  dv = da / (2 v)

and it is exact: no step is chosen. Lines whose change is zero, or on which no result depends, are
left out. This is the forward mode of automatic differentiation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from deltadyn.backends.layout import ENTRIES, PLACES

#: Entries of the robot's numbers that no variable changes.
FIXED = {"limb", "elbow", "side", "carrier", "home", "rotor"}
#: Places in the robot's numbers whose change counts; the spindle's first is its pivot.
CHANGING = frozenset(
    place
    for name, _ in ENTRIES
    if name not in FIXED
    for place in range(PLACES[name].start + (name == "spindle"), PLACES[name].stop)
)

HEAD = re.compile(r"INLINE void (deltadyn_\w+)\(\n?\s*[^)]*\)\n\{\n(.*?)^\}", re.M | re.S)
LINE = re.compile(r"^    (?:const real )?(v\d+|y\[\d+\]) = (.*);$")
LEAF = r"v\d+|par\[\d+\]|x\[\d+\]|\(?\(real\)-?[0-9.e+-]+\)?"
BINARY = re.compile(rf"^({LEAF}) ([-+*/]) ({LEAF})$")
UNARY = re.compile(rf"^(-|REAL_SQRT|REAL_ABS)\(?({LEAF})\)?$")


def tangent(source: str) -> str:
    """The function `deltadyn_..._change(par, dpar, x, dx, dy)` of a generated function's source."""
    found = HEAD.search(source)
    if found is None:
        raise ValueError(f"no generated function: {source[:80]!r}")
    changing: set[str] = set()
    lines: list[tuple[str, str]] = []  # name and what it is, primal lines and changes in order
    results: list[str] = []
    for name, text in _lines(found[2]):
        change = _change(name, text, changing.__contains__)
        if name.startswith("v"):
            lines.append((name, text))
            if change is not None:
                changing.add(name)
                lines.append((_d(name), change))
        else:
            results.append(f"    d{name} = {change or '0.0'};")
    body = [f"    const real {name} = {text};" for name, text in _used(lines, results)]
    told = "".join([*body, *results])
    unread = [f"(void){name};" for name in ("par", "dpar") if not re.search(rf"\b{name}\[", told)]
    return "\n".join(
        [
            f"INLINE void {found[1]}_change(",
            "    const real *par, const real *dpar, const real *x, const real *dx, real *dy)",
            "{",
            *([f"    {' '.join(unread)}"] if unread else []),
            *body,
            *results,
            "}\n",
        ]
    )


def _lines(body: str) -> Iterator[tuple[str, str]]:
    """Name and operation of each line; samples stand one behind the other."""
    for raw in body.replace(" * stride]", "]").replace(" * step]", "]").splitlines():
        found = LINE.match(raw)
        if found is None:
            raise ValueError(f"a line of a generated function is {raw!r}")
        yield found[1], found[2]


def _d(name: str) -> str:
    """The change of v12, par[3] or x[4]."""
    return f"d{name}"


def _change(name: str, text: str, changing: Callable[[str], bool]) -> str | None:
    """The change of one operation; None where it is zero."""

    def d(leaf: str) -> str | None:
        if leaf.startswith("x["):
            return _d(leaf)
        if leaf.startswith("par["):
            return _d(leaf) if int(leaf[4:-1]) in CHANGING else None
        return _d(leaf) if changing(leaf) else None

    if re.fullmatch(LEAF, text):
        return d(text)
    if "?" in text:  # one constant or another: steps have no change
        return None
    two = BINARY.match(text)
    if two is not None:
        return _change_of_two(name, two[1], two[2], two[3], d)
    one = UNARY.match(text)
    if one is None:
        raise ValueError(f"an operation of a generated function is {text!r}")
    da = d(one[2])
    if da is None:
        return None
    return {
        "-": f"-{da}",
        "REAL_SQRT": f"{da} / (2.0 * {name})",
        "REAL_ABS": f"{one[2]} < 0.0 ? -{da} : {da}",
    }[one[1]]


def _change_of_two(
    name: str, a: str, operation: str, b: str, d: Callable[[str], str | None]
) -> str | None:
    da, db = d(a), d(b)
    if da is None and db is None:
        return None
    if operation in "+-":
        minus = "-" if operation == "-" else ""
        return da if db is None else f"{minus}{db}" if da is None else f"{da} {operation} {db}"
    if operation == "*":
        parts = ([f"{da} * {b}"] if da else []) + ([f"{a} * {db}"] if db else [])
        return " + ".join(parts)
    if db is None:
        return f"{da} / {b}"
    return f"-({name} * {db}) / {b}" if da is None else f"({da} - {name} * {db}) / {b}"


def _used(lines: list[tuple[str, str]], results: Iterable[str]) -> list[tuple[str, str]]:
    """The lines on which the results depend."""
    pattern = re.compile(r"\bd?v\d+\b")
    needed = {name for text in results for name in pattern.findall(text)}
    kept = []
    for name, text in reversed(lines):
        if name in needed:
            needed.update(pattern.findall(text))
            kept.append((name, text))
    return kept[::-1]
