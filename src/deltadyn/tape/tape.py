"""What ordinary code does to numbers, recorded once.

The mathematics of a robot runs on any objects with arithmetic. Here these objects are `Number`s:
each knows its place on a tape, and arithmetic with it adds an entry. Equal entries are recorded
once, what is known is worked out (`simplify`), and what no result needs is left out. All of that
leaves each result as it was, bit for bit, where all values are finite; zero has no sign. Where a
value is NaN or infinite, its product with a known zero and its difference with itself are zero
nevertheless.

    trace("length", {"x": 2}, lambda x: [SCALARS.sqrt(x[0] * x[0] + x[1] * x[1])])
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from deltadyn.tape.simplify import SIMPLER, Value, known

#: ("input", group, place), ("constant", value), or (operation, place of each operand on the tape)
Entry = tuple[Any, ...]


class Function(NamedTuple):
    """Straight-line code: groups of inputs with their widths, entries, and places of results."""

    name: str
    inputs: Mapping[str, int]
    entries: tuple[Entry, ...]
    results: tuple[int, ...]

    @property
    def operations(self) -> int:
        """How many entries are work."""
        return sum(entry[0] in OPERATIONS for entry in self.entries)


class Less(NamedTuple):
    """a < b: of use in `where` alone, so that no entry of a tape is true or false."""

    a: Value
    b: Value


def _both(operation: str) -> tuple[Callable[..., Value], Callable[..., Value]]:
    """a op b where a is a Number, and b op a where it is the other one."""

    def forward(a: Number, b: Value) -> Value:
        return a.tape.put(operation, a, b)

    def backward(a: Number, b: Value) -> Value:
        return a.tape.put(operation, b, a)

    return forward, backward


class Number:
    """A value on a tape that is not known yet."""

    __slots__ = ("place", "tape")
    __array_ufunc__ = None  # a float of NumPy leaves arithmetic with a Number to the Number

    def __init__(self, tape: Tape, place: int) -> None:
        self.tape, self.place = tape, place

    __add__, __radd__ = _both("+")
    __sub__, __rsub__ = _both("-")
    __mul__, __rmul__ = _both("*")
    __truediv__, __rtruediv__ = _both("/")

    def __neg__(self) -> Value:
        return self.tape.put("neg", self)

    def __lt__(self, other: Value) -> Less:
        return Less(self, other)

    def __gt__(self, other: Value) -> Less:
        return Less(other, self)

    def __bool__(self) -> bool:
        raise TypeError("a Number has no value yet: choose with `where`, not with a branch")

    def __eq__(self, other: object) -> bool:
        raise TypeError("a Number has no value yet: it is equal to nothing")

    @property
    def entry(self) -> Entry:
        """What stands at its place."""
        return self.tape.entries[self.place]

    def beside(self, place: int) -> Value:
        """The value at another place of its tape."""
        operation, *operands = self.tape.entries[place]
        return operands[0] if operation == "constant" else Number(self.tape, place)


class Tape:
    """The entries so far, each once."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.places: dict[Entry, int] = {}

    def inputs(self, group: str, width: int) -> tuple[Number, ...]:
        """The numbers of a group of inputs."""
        return tuple(Number(self, self._record("input", group, k)) for k in range(width))

    def put(self, operation: str, *operands: Value) -> Value:
        """The result of an operation, as simply as it can be had."""
        if all(map(known, operands)):
            return OPERATIONS[operation](*operands)
        simple = SIMPLER[operation](*operands) if operation in SIMPLER else None
        if simple is not None:
            return simple
        places = [self.place(value) for value in operands]
        if operation in ("+", "*"):
            places.sort()  # a + b is b + a
        return Number(self, self._record(operation, *places))

    def place(self, value: Value) -> int:
        """Where a value stands; a number that is known gets an entry, too."""
        if isinstance(value, Number):
            if value.tape is not self:
                raise ValueError("a Number of another tape")
            return value.place
        return self._record("constant", float(value) + 0.0)  # -0.0 becomes 0.0

    def _record(self, *entry: Any) -> int:
        if entry not in self.places:
            self.places[entry] = len(self.entries)
            self.entries.append(entry)
        return self.places[entry]


def _function(name: str, of_floats: Callable[..., float]) -> Callable[..., Value]:
    """A function of floats that goes onto the tape where an operand is a Number."""

    def apply(*values: Value) -> Value:
        tape = next((value.tape for value in values if not known(value)), None)
        return of_floats(*values) if tape is None else tape.put(name, *values)

    return apply


UNARY = ("sqrt", "cos", "sin", "tanh", "exp")


def _sign(x: float) -> float:
    return float((x > 0) - (x < 0))


#: What every operation does, to floats and to Numbers. `choose` is yes where a < b, else no.
OPERATIONS: dict[str, Callable[..., Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "neg": operator.neg,
    "abs": _function("abs", abs),
    "choose": _function("choose", lambda a, b, yes, no: yes if a < b else no),
    "sign": _function("sign", _sign),
    "atan2": _function("atan2", math.atan2),
    **{name: _function(name, getattr(math, name)) for name in UNARY},
}


def _where(condition: Any, yes: Value, no: Value) -> Value:
    if isinstance(condition, Less):
        return OPERATIONS["choose"](*condition, yes, no)
    return yes if condition else no


#: The namespace `xp` for code that runs on Numbers or on floats.
SCALARS = SimpleNamespace(
    where=_where,
    arctan2=OPERATIONS["atan2"],
    real=lambda value: value,
    **{name: OPERATIONS[name] for name in ("abs", "sign", *UNARY)},
)


def trace(name: str, inputs: Mapping[str, int], code: Callable[..., Iterable[Value]]) -> Function:
    """The function that does what `code` does to its groups of inputs."""
    tape = Tape()
    groups = [tape.inputs(group, width) for group, width in inputs.items()]
    results = [tape.place(value) for value in code(*groups)]
    return _needed(Function(name, dict(inputs), tuple(tape.entries), tuple(results)))


def operands_of(entry: Entry) -> tuple[int, ...]:
    """The places that an entry reads."""
    return entry[1:] if entry[0] in OPERATIONS else ()


def _needed(whole: Function) -> Function:
    """The same without the entries that no result needs."""
    wanted = set(whole.results)
    for place in reversed(range(len(whole.entries))):
        if place in wanted:
            wanted.update(operands_of(whole.entries[place]))
    return ordered(whole, sorted(wanted))


def ordered(function: Function, order: Sequence[int]) -> Function:
    """The same with its entries in another order, in which no operand comes behind its use."""
    new = {place: k for k, place in enumerate(order)}
    entries = []
    for entry in map(function.entries.__getitem__, order):
        places = operands_of(entry)
        entries.append((entry[0], *(new[place] for place in places)) if places else entry)
    results = tuple(new[place] for place in function.results)
    return function._replace(entries=tuple(entries), results=results)


def run(function: Function, **groups: Sequence[Value]) -> list[Value]:
    """The results for floats; for Numbers, or floats among them, the code on their own tape."""
    values: list[Value] = []
    for operation, *operands in function.entries:
        if operation == "constant":
            values.append(operands[0])
        elif operation == "input":
            values.append(groups[operands[0]][operands[1]])
        else:
            values.append(OPERATIONS[operation](*(values[place] for place in operands)))
    return [values[place] for place in function.results]


def bind(function: Function, **numbers: Sequence[float]) -> Function:
    """The function with the numbers of some groups known: they are inputs no more."""
    free = {group: width for group, width in function.inputs.items() if group not in numbers}

    def code(*values: Sequence[Value]) -> list[Value]:
        return run(function, **numbers, **dict(zip(free, values, strict=True)))

    return trace(function.name, free, code)
