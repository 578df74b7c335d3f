"""Steps as lines of Structured Text: what is used once goes into its place, few temporaries."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from deltadyn.errors import DeltadynError
from deltadyn.exports.common import template

# Straight-line code as steps: read from the generated Structured Text, made for one robot.
#
# A robot's numbers take the place of the inputs `par_...`; what then is a constant is worked out,
# and products with 0 and 1 vanish, so that a controller does no work that the robot does not need.


OK, BAD_INPUT, UNREACHABLE, SINGULAR = 0, 1, 2, 3  # what Status says
TINY = "1.0E-12"  # below it a denominator (m, m^2, m^3, m^4) counts as zero
GUARDS = {
    "reach": (UNREACHABLE, "{0} >= 0.0"),
    "singular": (SINGULAR, f"ABS({{0}}) > {TINY}"),
    "within": (BAD_INPUT, "ABS({0}) <= {1}"),
}
#: Operations with more than one statement; they may not write where they still read.
LONG = {
    "where": "IF {1} < {2} THEN {0} := {3}; ELSE {0} := {4}; END_IF;",
    "sign": """\
IF {1} > 0.0 THEN {0} := 1.0;
ELSIF {1} < 0.0 THEN {0} := -1.0;
ELSE {0} := 0.0; END_IF;""",
    "tanh": """\
IF {1} > 20.0 THEN {0} := 1.0;
ELSIF {1} < -20.0 THEN {0} := -1.0;
ELSE {0} := EXP(2.0 * {1}); {0} := ({0} - 1.0) / ({0} + 1.0); END_IF;""",
    "bell": """\
{0} := {1} * {1};
IF {0} < 700.0 THEN {0} := EXP(-{0}); ELSE {0} := 0.0; END_IF;""",
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
BINARY = ("+", "-", "*", "/")
FUNCTIONS = ("SQRT", "ABS", "COS", "SIN")


@dataclass(frozen=True)
class Step:
    """target := op(args); a guard has no target. Operands are names or numbers as text."""

    target: str
    op: str
    args: tuple[str, ...]


def step_text(step: Step) -> str:
    """One step as a statement."""
    if step.op in GUARDS:
        status, condition = GUARDS[step.op]
        text = condition.format(*step.args)
        return f"IF NOT ({text}) THEN Status := {status}; RETURN; END_IF;"
    if step.op in LONG:
        return LONG[step.op].format(step.target, *step.args)
    return f"{step.target} := {_bare(step)};"


def _bare(step: Step) -> str:
    if step.op in BINARY:
        return f"{step.args[0]} {step.op} {step.args[1]}"
    if step.op in FUNCTIONS:
        return f"{step.op}({step.args[0]})"
    return f"-{step.args[0]}" if step.op == "neg" else step.args[0]


NAME = r"[A-Za-z_]\w*"
VALUE = rf"(?:{NAME}|\(?-?[\d.]+(?:E[-+]?\d+)?\)?)"
PATTERNS = [
    ("reach", rf"IF NOT \(({NAME}) >= 0\.0\) THEN .*"),
    ("singular", rf"IF NOT \(ABS\(({NAME})\) > .*"),
    ("where", rf"IF ({VALUE}) < ({VALUE}) THEN ({NAME}) := ({VALUE}); ELSE \3 := ({VALUE}); .*"),
    ("binary", rf"({NAME}) := ({VALUE}) ([-+*/]) ({VALUE});"),
    ("call", rf"({NAME}) := ({'|'.join(FUNCTIONS)})\(({VALUE})\);"),
    ("neg", rf"({NAME}) := -({NAME});"),
    ("copy", rf"({NAME}) := ({VALUE});"),
]


@lru_cache(maxsize=32)
def generated(name: str) -> tuple[Step, ...]:
    """The steps of a generated body."""
    text = template("structured_text", f"generated_{name}.st")
    body = text[text.rindex("END_VAR") + len("END_VAR") :].strip().splitlines()[:-1]
    return tuple(_read(line) for line in body)


def _read(line: str) -> Step:
    for kind, pattern in PATTERNS:
        match = re.fullmatch(pattern, line)
        if match is None:
            continue
        found = match.groups()
        if kind in GUARDS:
            return Step("", kind, found)
        if kind == "where":
            return Step(found[2], kind, (found[0], found[1], *found[3:]))
        if kind == "binary":
            return Step(found[0], found[2], (found[1], found[3]))
        if kind == "call":
            return Step(found[0], found[1], (found[2],))
        return Step(found[0], kind, found[1:])
    raise DeltadynError(f"a generated statement that cannot be read: {line}")


def bound(name: str, prefix: str, inputs: Mapping[str, str]) -> list[Step]:
    """A generated body with other names for its inputs; its own names get a prefix."""

    def renamed(operand: str) -> str:
        if operand.startswith("par_") or _number(operand) is not None:
            return operand
        return inputs.get(operand, f"{prefix}{operand}")

    return [
        Step(step.target and f"{prefix}{step.target}", step.op, tuple(map(renamed, step.args)))
        for step in generated(name)
    ]


def specialised(
    steps: Iterable[Step], numbers: Mapping[str, float], outputs: Mapping[str, str]
) -> list[Step]:
    """The same steps with numbers in the place of names; what has no effect is left out.

    `outputs` are variables and what they get. They are written last: a guard before them leaves
    them as they were.
    """
    known: dict[str, str] = {name: literal(value) for name, value in numbers.items()}
    seen: dict[tuple[str, ...], str] = {}
    kept: list[Step] = []
    for step in steps:
        args = tuple(known.get(operand, operand) for operand in step.args)
        key = (step.op, *args)
        if step.op in GUARDS:
            if key not in seen and not _holds(step.op, args):
                kept.append(Step("", step.op, args))
            seen[key] = ""
            continue
        simple = _simple(step.op, args) or seen.get(key)
        if simple is None:
            simple = seen[key] = step.target
            kept.append(Step(step.target, step.op, args))
        known[step.target] = simple
    stores = [Step(to, "copy", (known.get(name, name),)) for to, name in outputs.items()]
    return _needed(kept, stores)


def _needed(steps: list[Step], stores: list[Step]) -> list[Step]:
    wanted = {operand for step in stores for operand in step.args}
    kept: list[Step] = []
    for step in reversed(steps):
        if step.op in GUARDS or step.target in wanted:
            kept.append(step)
            wanted.update(step.args)
    return [*reversed(kept), *stores]


def _holds(op: str, args: tuple[str, ...]) -> bool:
    """Whether a guard is met by a constant; DeltadynError where a constant breaks it."""
    value = _number(args[0])
    if value is None:
        return False
    if (op == "reach" and value >= 0) or (op == "singular" and abs(value) > float(TINY)):
        return True
    raise DeltadynError(f"the robot's numbers give {value} where a {op} guard stands")


def _simple(op: str, args: tuple[str, ...]) -> str | None:
    """The result where it is a number or another name."""
    values = [_number(operand) for operand in args]
    if op == "copy":
        return args[0]
    if op == "where" and args[2] == args[3]:
        return args[2]
    if op in BINARY:
        a, b = values
        if a is not None and b is not None:
            return literal(_arithmetic(op, a, b))
        return _neutral(op, args, values)
    if values[0] is None or op in LONG:
        return None
    if op == "neg":
        return literal(-values[0])
    return literal(getattr(math, {"ABS": "fabs"}.get(op, op.lower()))(values[0]))


def _arithmetic(op: str, a: float, b: float) -> float:
    return a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a / b


def _neutral(op: str, args: tuple[str, ...], values: list[float | None]) -> str | None:
    (a, b), (x, y) = values, args
    if op == "*" and 0.0 in (a, b):
        return "0.0"
    if (op == "*" and a == 1.0) or (op == "+" and a == 0.0):
        return y
    if (op in "*/" and b == 1.0) or (op in "+-" and b == 0.0):
        return x
    return "0.0" if op == "/" and a == 0.0 else None


def _number(operand: str) -> float | None:
    return None if operand[0].isalpha() or operand[0] == "_" else float(operand.strip("()"))


def literal(value: float) -> str:
    """A number as all tools take it: a point, a capital E, brackets around a negative one."""
    if not math.isfinite(value):
        raise DeltadynError(f"{value} has no form in Structured Text")
    mantissa, _, exponent = repr(abs(float(value))).partition("e")
    text = mantissa if "." in mantissa else f"{mantissa}.0"
    text += f"E{int(exponent)}" if exponent else ""
    return f"(-{text})" if value < 0 else text


LONGEST = 44  # characters of an expression that goes into another one
ATOM, PRODUCT, SUM, NEGATIVE = 3, 2, 1, 0  # how tightly an expression holds together


@dataclass(frozen=True)
class Body:
    """Lines, names of the temporaries (LREAL), and the operations that a call takes at most."""

    lines: tuple[str, ...]
    temporaries: tuple[str, ...]
    operations: int


@dataclass(frozen=True)
class _Statement:
    target: str
    text: str
    long: bool


def body(steps: Sequence[Step]) -> Body:
    """The text of specialised steps; temporaries are used again once their value is not needed."""
    made = {step.target for step in steps if step.target and step.op != "copy"}
    statements = _statements(steps)
    names = re.compile(r"\b(?:" + "|".join(sorted(made, key=len, reverse=True)) + r")\b")
    last: dict[str, int] = {}
    for place, statement in enumerate(statements):
        last.update(dict.fromkeys(names.findall(statement.text), place))
    slots: dict[str, str] = {}
    free: list[str] = []
    count = 0
    lines: list[str] = []
    for place, statement in enumerate(statements):
        ending = [name for name in slots if last.get(name) == place and name != statement.target]
        if not statement.long:
            free += [slots[name] for name in ending]
        if statement.target in made:
            if not free:
                count += 1
                free.append(f"t{count}")
            slots[statement.target] = free.pop()
        if statement.long:
            free += [slots[name] for name in ending]
        lines += names.sub(lambda match: slots[match.group()], statement.text).split("\n")
        for name in ending:
            del slots[name]
    operations = sum(_cost(step) for step in steps)
    return Body(tuple(lines), tuple(f"t{k + 1}" for k in range(count)), operations)


def _cost(step: Step) -> int:
    return {"copy": 0, "within": 2, "atan2": 8, "tanh": 7, "bell": 5}.get(step.op, 1)


def _statements(steps: Sequence[Step]) -> list[_Statement]:
    uses = Counter(operand for step in steps for operand in step.args)
    consumer = {operand: step.op for step in steps for operand in step.args}
    inside: dict[str, tuple[str, int]] = {}
    found: list[_Statement] = []
    for step in steps:
        if step.op in GUARDS or step.op in LONG:
            found.append(_Statement(step.target, step_text(step), True))
            continue
        text, tightness = _expression(step, inside)
        once = uses[step.target] == 1 and consumer[step.target] not in (*GUARDS, *LONG)
        if once and len(text) <= LONGEST and step.op != "copy":
            inside[step.target] = (text, tightness)
        else:
            found.append(_Statement(step.target, f"{step.target} := {text};", False))
    return found


def _expression(step: Step, inside: dict[str, tuple[str, int]]) -> tuple[str, int]:
    """Text of an operation whose operands may be expressions; no bracket changes its meaning."""

    def operand(place: int, least: int) -> str:
        text, tightness = inside.get(step.args[place], (step.args[place], ATOM))
        return text if tightness >= least else f"({text})"

    if step.op in BINARY:
        own = SUM if step.op in "+-" else PRODUCT
        return f"{operand(0, own)} {step.op} {operand(1, own + 1)}", own
    if step.op in FUNCTIONS:
        return f"{step.op}({operand(0, NEGATIVE)})", ATOM
    if step.op == "neg":
        return f"-{operand(0, ATOM)}", NEGATIVE
    return operand(0, NEGATIVE), NEGATIVE
