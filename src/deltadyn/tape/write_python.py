"""Python of straight-line code: for floats one sample at a time, or for NumPy's arrays.

One sample of a model then costs about five times less than the generic code does on floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from deltadyn.tape.simplify import Value
from deltadyn.tape.tape import OPERATIONS, UNARY, Entry, Function, trace

PATTERNS = {
    **{sign: f"{{0}} {sign} {{1}}" for sign in "+-*/"},
    **{name: f"{name}({{0}})" for name in ("abs", *UNARY)},
    "neg": "-{0}",
    "sign": "sign({0})",
    "atan2": "atan2({0}, {1})",
}
CHOICES = {False: "{2} if {0} < {1} else {3}", True: "where({0} < {1}, {2}, {3})"}
FLOATS = {name: OPERATIONS[name] for name in ("sign", "atan2")}
FLOATS |= {name: getattr(math, name) for name in UNARY}
ARRAYS = {name: getattr(np, name) for name in ("sign", *UNARY)}
ARRAYS |= {"atan2": np.arctan2, "where": np.where}

Compiled = Callable[..., tuple[Any, ...]]


def straight_line(
    width: int, code: Callable[[Sequence[Value]], Iterable[Value]], *, arrays: bool = False
) -> Compiled:
    """The function of `width` floats that does what `code` does to as many Numbers.

    With `arrays` it is one of NumPy arrays of one length; what does not depend on them is a float.
    """
    return python_function(trace("straight_line", {"x": width}, code), arrays=arrays)


def python_function(function: Function, *, arrays: bool = False) -> Compiled:
    """The function of the numbers of all groups, one behind the other; gives a tuple."""
    scope: dict[str, Any] = dict(ARRAYS if arrays else FLOATS)
    exec(compile(python_source(function, arrays=arrays), f"<{function.name}>", "exec"), scope)
    compiled: Compiled = scope[function.name]
    return compiled


def python_source(function: Function, *, arrays: bool = False) -> str:
    """def <name>(par_0, ..., x_0, ...): a tuple of the results."""
    patterns = PATTERNS | {"choose": CHOICES[arrays]}
    names = [_name(place, entry) for place, entry in enumerate(function.entries)]
    lines = [
        f"    {names[place]} = {patterns[entry[0]].format(*(names[k] for k in entry[1:]))}"
        for place, entry in enumerate(function.entries)
        if entry[0] in patterns
    ]
    inputs = [f"{group}_{k}" for group, width in function.inputs.items() for k in range(width)]
    results = "".join(f"{names[place]}, " for place in function.results)
    head = f"def {function.name}({', '.join(inputs)}):"
    return "\n".join([head, *lines, f"    return ({results})"])


def _name(place: int, entry: Entry) -> str:
    if entry[0] == "constant":
        return f"({entry[1]!r})"
    return f"{entry[1]}_{entry[2]}" if entry[0] == "input" else f"v{place}"
