"""Steps as lines of Structured Text: what is used once goes into its place, few temporaries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from deltadyn.exports.st_code import BINARY, FUNCTIONS, GUARDS, LONG, Step, step_text

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
