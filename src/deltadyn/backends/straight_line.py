"""Turn generic model code into one straight-line Python function of floats.

The model is written over any objects with arithmetic. Here these objects are symbols that write
down what is done to them; equal steps are kept once, products with 0 and 1 vanish, steps without
effect on the result are dropped, and what remains is compiled. One sample of the exact model's
mass matrix and bias then costs about five times less than the generic code does on floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

Function = Callable[..., tuple[float, ...]]

UNARY = ("sqrt", "cos", "sin", "tanh", "exp", "fabs")


class Tape:
    """The steps so far, each written once: step -> its name, in order."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, ...], str] = {}
        self.steps: dict[str, tuple[str, ...]] = {}

    def put(self, *step: str) -> Symbol:
        """The symbol of a step (operation, operands)."""
        name = self.names.get(step)
        if name is None:
            name = f"v{len(self.names)}"
            self.names[step] = name
            self.steps[name] = step
        return Symbol(self, name)


class Symbol:
    """A named value on a tape; arithmetic with it goes onto the tape."""

    __slots__ = ("name", "tape")

    def __init__(self, tape: Tape, name: str) -> None:
        self.tape = tape
        self.name = name

    def __add__(self, other: Any) -> Any:
        if _is(other, 0):
            return self
        return self.tape.put("+", *sorted((self.name, _name(other))))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self if _is(other, 0) else self.tape.put("-", self.name, _name(other))

    def __rsub__(self, other: Any) -> Any:
        return -self if _is(other, 0) else self.tape.put("-", _name(other), self.name)

    def __mul__(self, other: Any) -> Any:
        if _is(other, 0):
            return 0.0
        if _is(other, 1):
            return self
        if _is(other, -1):
            return -self
        return self.tape.put("*", *sorted((self.name, _name(other))))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self if _is(other, 1) else self.tape.put("/", self.name, _name(other))

    def __rtruediv__(self, other: Any) -> Any:
        return 0.0 if _is(other, 0) else self.tape.put("/", _name(other), self.name)

    def __neg__(self) -> Any:
        return self.tape.put("neg", self.name)

    def __lt__(self, other: Any) -> Any:
        return self.tape.put("<", self.name, _name(other))


def _is(value: Any, number: float) -> bool:
    return isinstance(value, int | float) and value == number


def _name(value: Any) -> str:
    return value.name if isinstance(value, Symbol) else repr(float(value))


def _unary(name: str) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        if isinstance(value, Symbol):
            return value.tape.put(name, value.name)
        return getattr(math, name)(value)

    return apply


def _where(condition: Any, yes: Any, no: Any) -> Any:
    if isinstance(condition, Symbol):
        return condition.tape.put("where", condition.name, _name(yes), _name(no))
    return yes if condition else no


#: The namespace for code that runs on symbols or on floats.
SYMBOLS = SimpleNamespace(
    where=_where, abs=_unary("fabs"), **{name: _unary(name) for name in UNARY}
)


def straight_line(
    inputs: int, trace: Callable[[Sequence[Any]], Sequence[Any]], *, arrays: bool = False
) -> Function:
    """The function of `inputs` floats that does what `trace` does to as many symbols.

    With `arrays` it is one of NumPy arrays of one length; what does not depend on them is a float.
    """
    tape = Tape()
    arguments = [f"x{i}" for i in range(inputs)]
    results = [_name(value) for value in trace([Symbol(tape, name) for name in arguments])]
    lines = [f"    {name} = {_text(tape.steps[name], arrays)}" for name in _needed(tape, results)]
    source = "\n".join(
        [f"def compiled({', '.join(arguments)}):", *lines, f"    return ({', '.join(results)},)"]
    )
    scope: dict[str, Any] = {name: getattr(np if arrays else math, name) for name in UNARY}
    scope["where"] = np.where
    exec(compile(source, "<straight line>", "exec"), scope)
    function: Function = scope["compiled"]
    return function


def _needed(tape: Tape, results: list[str]) -> list[str]:
    """Names of the steps on which the results depend, in order."""
    wanted = set(results)
    for name in reversed(tape.steps):
        if name in wanted:
            wanted.update(tape.steps[name][1:])
    return [name for name in tape.steps if name in wanted]


def _text(step: tuple[str, ...], arrays: bool) -> str:
    operation, *operands = step
    if operation in UNARY:
        return f"{operation}({operands[0]})"
    if operation == "neg":
        return f"-{operands[0]}"
    if operation == "where" and arrays:
        return f"where({', '.join(operands)})"
    if operation == "where":
        return f"{operands[1]} if {operands[0]} else {operands[2]}"
    return f"{operands[0]} {operation} {operands[1]}"
