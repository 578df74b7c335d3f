"""How results change when inputs change: forward tangents, by the rules of differentiation.

    v = a b:  dv = da b + a db,  v = a / b:  dv = (da - v db) (1 / b),  v = sqrt(a):  dv = da 0.5/v

No step is chosen, so they are exact. A change that is known to be zero costs nothing, and several
directions share all that they have in common: a tape records it once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from deltadyn.tape.simplify import Value
from deltadyn.tape.tape import OPERATIONS, SCALARS, Function, run, trace

Groups = Mapping[str, Sequence[Value]]


def _choice(_: Value, a: Value, b: Value, yes: Value, no: Value, *changes: Value) -> Value:
    return OPERATIONS["choose"](a, b, *changes[2:])  # the step between the two has no change


#: The change of a value v: of v itself, its operands, and their changes.
RULES: dict[str, Callable[..., Value]] = {
    "+": lambda v, a, b, da, db: da + db,
    "-": lambda v, a, b, da, db: da - db,
    "*": lambda v, a, b, da, db: da * b + a * db,
    "/": lambda v, a, b, da, db: (da - v * db) * (1.0 / b),
    "neg": lambda v, a, da: -da,
    "sqrt": lambda v, a, da: da * (0.5 / v),
    "abs": lambda v, a, da: OPERATIONS["choose"](a, 0.0, -da, da),
    "cos": lambda v, a, da: -(da * SCALARS.sin(a)),
    "sin": lambda v, a, da: da * SCALARS.cos(a),
    "tanh": lambda v, a, da: da * (1.0 - v * v),
    "exp": lambda v, a, da: da * v,
    "choose": _choice,
    "sign": lambda v, a, da: 0.0,
    "atan2": lambda v, y, x, dy, dx: (x * dy - y * dx) * (1.0 / (x * x + y * y)),
}


def changes(function: Function, groups: Groups, directions: Groups) -> list[Value]:
    """The change of every result at these inputs along these changes of them.

    Like `run`, for floats and for Numbers; a group without a direction does not change.
    """
    values: list[Value] = []
    rates: list[Value] = []
    for operation, *operands in function.entries:
        if operation == "constant":
            value, rate = operands[0], 0.0
        elif operation == "input":
            group, place = operands
            value = groups[group][place]
            rate = directions[group][place] if group in directions else 0.0
        else:
            near = [values[k] for k in operands]
            value = OPERATIONS[operation](*near)
            rate = _rate(operation, value, near, [rates[k] for k in operands])
        values.append(value)
        rates.append(rate)
    return [rates[place] for place in function.results]


def _rate(operation: str, value: Value, operands: list[Value], rates: list[Value]) -> Value:
    """0 where no operand changes: a rule may divide by zero there, as that of a root does."""
    if all(isinstance(rate, float) and rate == 0.0 for rate in rates):
        return 0.0
    return RULES[operation](value, *operands, *rates)


def with_tangents(
    function: Function, name: str, directions: Callable[[Groups], Sequence[Groups]]
) -> Function:
    """A function of the same inputs: the results, then their changes along each direction."""

    def code(*inputs: Sequence[Value]) -> list[Value]:
        groups = dict(zip(function.inputs, inputs, strict=True))
        results = run(function, **groups)
        for direction in directions(groups):
            results += changes(function, groups, direction)
        return results

    return trace(name, function.inputs, code)
