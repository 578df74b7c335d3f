"""C99 of straight-line code: a constant per operation, no loop, and calls of the C library alone.

`real` is double or float: the header that defines it has REAL_SQRT and the like beside it, so that
one text serves both. Results are stored last, because they may go where the inputs came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deltadyn.tape.tape import OPERATIONS, UNARY, Entry, Function

#: An operation, as a pattern for the texts of its operands.
PATTERNS = {
    **{sign: f"{{0}} {sign} {{1}}" for sign in "+-*/"},
    **{name: f"REAL_{name.upper()}({{0}})" for name in ("abs", *UNARY)},
    "neg": "-{0}",
    "choose": "{0} < {1} ? {2} : {3}",
    "sign": "(real)(({0} > (real)0.0) - ({0} < (real)0.0))",
    "atan2": "REAL_ATAN2({0}, {1})",
}
#: Columns of many samples: what steps from one coordinate to the next, by the group of inputs.
COLUMNS: Mapping[str, str] = {"x": "stride", "y": "stride"}
#: One sample: coordinates stand one behind the other.
SAMPLE: Mapping[str, str] = {"x": "", "y": "", "dx": "", "dy": ""}


def c_function(
    function: Function,
    strides: Mapping[str, str] = COLUMNS,
    *,
    reach: bool = False,
    qualifier: str = "INLINE",
    comment: str = "",
    output: str = "y",
) -> str:
    """void deltadyn_<name>(inputs, output[, strides]): an array per group, and its step behind it.

    Groups in `strides` become constants: results are stored when all is read, because the output
    may be the same array. The others are read where they are needed.

    With `reach` it returns 0, or 1 where the argument of a root is negative: there the loop of the
    robot cannot be closed, which a sign tells also where a compiler takes NaN for absent.
    """
    names: list[str] = []  # of every value, by its place
    lines: list[str] = []
    for place, entry in enumerate(function.entries):
        text = _text(entry, names, strides)
        if entry[0] == "sqrt" and reach:
            lines.append(f"if (!({names[entry[1]]} >= (real)0.0)) {{")
            lines += ["    return 1; /* out of reach */", "}"]
        if entry[0] in OPERATIONS or (entry[0] == "input" and entry[1] in strides):
            lines.append(f"const real v{place} = {text};")
            text = f"v{place}"
        names.append(text)
    stores = (names[place] for place in function.results)
    lines += [f"{_element(output, k, strides)} = {name};" for k, name in enumerate(stores)]
    body = "\n".join(f"    {line}" for line in [*_unread(function, strides, output), *lines])
    kind, end = ("int", "    return 0;\n") if reach else ("void", "")
    arguments = _arguments(function, strides, output)
    head = f"{qualifier} {kind} deltadyn_{function.name}(\n    {arguments})"
    above = f"/* {comment} */\n" if comment else ""
    return f"{above}{head}\n{{\n{body}\n{end}}}\n"


def _unread(function: Function, strides: Mapping[str, str], output: str) -> list[str]:
    """Statements that name what the code does not read: else compilers warn of it."""
    read = {entry[1] for entry in function.entries if entry[0] == "input"}
    names = [group for group in function.inputs if group not in read]
    steps = {step for group, step in strides.items() if group in read or group == output}
    names += sorted({strides[group] for group in names if group in strides} - steps)
    return [f"(void){name};" for name in names if name]


def _arguments(function: Function, strides: Mapping[str, str], output: str) -> str:
    """The arrays; a step stands behind the last array that it belongs to."""
    arrays = [*function.inputs, output]
    last = {strides[group]: group for group in arrays if strides.get(group)}
    parts = []
    for group in arrays:
        parts.append(f"{'' if group == output else 'const '}real *{group}")
        parts += [f"size_t {step}" for step, owner in last.items() if owner == group]
    return ", ".join(parts)


def _element(group: str, place: int, strides: Mapping[str, str]) -> str:
    step = strides.get(group)
    return f"{group}[{place} * {step}]" if step else f"{group}[{place}]"


def _text(entry: Entry, names: Sequence[str], strides: Mapping[str, str]) -> str:
    """What an entry is, with the names of the values before it."""
    operation, *operands = entry
    if operation == "input":
        group, place = operands
        return _element(group, place, strides)
    if operation == "constant":
        return _literal(operands[0])
    return PATTERNS[operation].format(*(names[place] for place in operands))


def _literal(value: float) -> str:
    """All digits of the double, then rounded to `real`; brackets keep a sign apart from another."""
    return f"(real){value!r}" if value >= 0 else f"((real){value!r})"
