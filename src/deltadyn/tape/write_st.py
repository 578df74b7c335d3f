"""IEC 61131-3 Structured Text of straight-line code.

A division and a root come behind a test that leaves the block with a status: nothing traps on a
controller, and outputs, which are written last, then keep their values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from deltadyn.tape.tape import OPERATIONS, Function
from deltadyn.tape.temporaries import stored_values, temporaries

UNREACHABLE, SINGULAR = 2, 3  # what Status says
TINY = "1.0E-12"  # below it a denominator counts as zero
NEGATIVE, SUM, PRODUCT, ATOM = 0, 1, 2, 3  # how tightly an expression holds together
#: An operation as a pattern; how tightly it holds, and how tightly its operands have to.
PATTERNS = {
    **{sign: (f"{{}} {sign} {{}}", SUM, (SUM, PRODUCT)) for sign in "+-"},
    **{sign: (f"{{}} {sign} {{}}", PRODUCT, (PRODUCT, ATOM)) for sign in "*/"},
    **{
        name: (f"{name.upper()}({{}})", ATOM, (NEGATIVE,)) for name in ("abs", "sqrt", "cos", "sin")
    },
    "neg": ("-{}", NEGATIVE, (ATOM,)),
}
#: Operations that are statements, of their target and operands. All but `atan2` read no operand
#: after they wrote the target. exp is zero to all purposes where it could underflow.
STATEMENTS = {
    "choose": "IF {1} < {2} THEN {0} := {3}; ELSE {0} := {4}; END_IF;",
    "sign": """\
IF {1} > 0.0 THEN {0} := 1.0;
ELSIF {1} < 0.0 THEN {0} := -1.0;
ELSE {0} := 0.0; END_IF;""",
    "tanh": """\
IF {1} > 20.0 THEN {0} := 1.0;
ELSIF {1} < -20.0 THEN {0} := -1.0;
ELSE {0} := EXP(2.0 * {1}); {0} := ({0} - 1.0) / ({0} + 1.0); END_IF;""",
    "exp": "IF {1} > -700.0 THEN {0} := EXP({1}); ELSE {0} := 0.0; END_IF;",
    "atan2": """\
IF ABS({2}) < ABS({1}) THEN
    {0} := ATAN({2} / {1});
    IF {1} > 0.0 THEN {0} := 1.5707963267948966 - {0};
    ELSE {0} := -1.5707963267948966 - {0}; END_IF;
ELSE
    {0} := ATAN({1} / {2});
    IF {2} < 0.0 THEN
        IF {1} < 0.0 THEN {0} := {0} - 3.141592653589793;
        ELSE {0} := {0} + 3.141592653589793; END_IF;
    END_IF;
END_IF;""",
}
#: What an operation costs beside a sum.
COSTS = {"tanh": 7, "exp": 5, "atan2": 8}
#: The operand that is tested before an operation, and how.
GUARDS = {
    "/": (1, f"IF NOT (ABS({{}}) > {TINY}) THEN Status := {SINGULAR}; RETURN; END_IF;"),
    "sqrt": (0, f"IF NOT ({{}} >= 0.0) THEN Status := {UNREACHABLE}; RETURN; END_IF;"),
}

Text = tuple[str, int]  # an expression, and how tightly it holds


def function_block(function: Function) -> str:
    """The whole block: inputs group_1, ..., results out_1, ..., and its status."""
    used = [entry[1:] for entry in function.entries if entry[0] == "input"]
    results = [f"out_{k + 1}" for k in range(len(function.results))]
    lines, count = statements(function, _input, results)
    sections = {
        "VAR_INPUT": [f"{_input(*place)} : LREAL;" for place in used],
        "VAR_OUTPUT": [*(f"{name} : LREAL;" for name in results), "Status : DINT;"],
        "VAR": [f"t{k + 1} : LREAL;" for k in range(count)],
    }
    head = [f"FUNCTION_BLOCK {function.name}"]
    for keyword, declared in sections.items():
        head += [keyword, *(f"    {line}" for line in declared), "END_VAR"]
    return "\n".join([*head, *lines, "END_FUNCTION_BLOCK"]) + "\n"


def _input(group: str, place: int) -> str:
    return f"{group}_{place + 1}"


def statements(
    function: Function, name: Callable[[str, int], str], results: Sequence[str]
) -> tuple[list[str], int]:
    """The lines, and the number of temporaries t1, t2, ...; `name` gives that of an input."""
    entries, tests = function.entries, _tests(function)
    whole = [k for k, entry in enumerate(entries) if entry[0] in STATEMENTS]
    apart = {*tests.values(), *whole, *(k for place in whole for k in entries[place][1:])}
    late = {k for k in whole if entries[k][0] == "atan2"}
    slots, count = temporaries(function, stored_values(function, apart), late)
    texts: list[Text] = []
    lines: list[str] = []
    for place, (operation, *operands) in enumerate(entries):
        if operation not in OPERATIONS:
            text = literal(*operands) if operation == "constant" else name(*operands)
            texts.append((text, ATOM))
            continue
        if place in tests:
            lines.append(GUARDS[operation][1].format(texts[tests[place]][0]))
        target = f"t{slots[place]}" if place in slots else ""
        if operation in STATEMENTS:
            pattern = STATEMENTS[operation]
            lines += pattern.format(target, *(texts[k][0] for k in operands)).split("\n")
        else:
            text, tightness = _expression(operation, [texts[k] for k in operands])
            lines += [f"{target} := {text};"] if target else []
        texts.append((target, ATOM) if target else (text, tightness))
    stores = (texts[place][0] for place in function.results)
    lines += [f"{target} := {text};" for target, text in zip(results, stores, strict=True)]
    return lines, count


def work_of(function: Function) -> int:
    """The operations that a call takes at most, with its tests."""
    costs = (COSTS.get(entry[0], 1) for entry in function.entries if entry[0] in OPERATIONS)
    return sum(costs) + len(_tests(function))


def _tests(function: Function) -> dict[int, int]:
    """Where an operation needs a test, and of which operand: once each, and not of a constant."""
    first: dict[tuple[str, int], int] = {}
    for place, (operation, *operands) in enumerate(function.entries):
        if operation in GUARDS:
            operand = operands[GUARDS[operation][0]]
            if function.entries[operand][0] != "constant":
                first.setdefault((operation, operand), place)
    return {place: operand for (_, operand), place in first.items()}


def _expression(operation: str, operands: Sequence[Text]) -> Text:
    """Its text with brackets where an operand needs them, and how tightly it holds."""
    pattern, tightness, least = PATTERNS[operation]
    pairs = zip(operands, least, strict=True)
    texts = (x if holds >= need else f"({x})" for (x, holds), need in pairs)
    return pattern.format(*texts), tightness


def literal(value: float) -> str:
    """A number as all tools take it: a point, a capital E, brackets around a negative one."""
    if not math.isfinite(value):
        raise ValueError(f"{value} has no form in Structured Text")
    mantissa, _, exponent = repr(abs(float(value))).partition("e")
    text = mantissa if "." in mantissa else f"{mantissa}.0"
    text += f"E{int(exponent)}" if exponent else ""
    return f"(-{text})" if value < 0 else text
