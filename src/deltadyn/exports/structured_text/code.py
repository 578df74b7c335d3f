"""The statements of function blocks: straight-line code of one robot, and the tests before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from deltadyn.errors import DeltadynError
from deltadyn.exports.common import empty_parameters
from deltadyn.exports.structured_text.models import block_function, blocks
from deltadyn.robot import Robot
from deltadyn.tape import write_st
from deltadyn.tape.tape import Function, run
from deltadyn.tape.write_st import SINGULAR as SINGULAR
from deltadyn.tape.write_st import UNREACHABLE as UNREACHABLE
from deltadyn.tape.write_st import statements, work_of

OK, BAD_INPUT = 0, 1  # what Status says, beside `UNREACHABLE` and `SINGULAR`

Numbers = Sequence[Any]


@dataclass(frozen=True)
class Body:
    """Lines, names of the temporaries (LREAL), and the operations that a call takes at most."""

    lines: tuple[str, ...]
    temporaries: tuple[str, ...]
    operations: int


def body(function: Function, results: Sequence[str], tests: Iterable[str] = ()) -> Body:
    """The statements of a function of variables, behind tests of its inputs.

    Every group of inputs is one variable. Results are written last: a test before them leaves them
    as they were.
    """
    lines, count = statements(function, lambda group, _: group, results)
    tests = tuple(tests)
    names = tuple(f"t{k + 1}" for k in range(count))
    return Body((*tests, *lines), names, work_of(function) + 2 * len(tests))


def within(name: str, most: float) -> str:
    """The test that an input is a number of at most this size."""
    return f"IF NOT (ABS({name}) <= {literal(most)}) THEN Status := {BAD_INPUT}; RETURN; END_IF;"


def model_values(
    robot: Robot, name: str, place: Numbers | None = None, **groups: Numbers
) -> dict[str, Numbers]:
    """The results of a body of the model for a robot without payload, by their groups.

    The robot's numbers are worked in. `place` is that of a payload, by default the robot's own.
    """
    offset = robot.payload.offset[:2] if place is None else place
    values = run(block_function(name), par=empty_parameters(robot), payload=offset, **groups)
    found: dict[str, Numbers] = {}
    start = 0
    for group, width in blocks()[name].outputs:
        found[group] = values[start : start + width]
        start += width
    return found


def literal(value: float) -> str:
    """A number as all tools take it: a point, a capital E, brackets around a negative one."""
    try:
        return write_st.literal(value)
    except ValueError as error:
        raise DeltadynError(str(error)) from None
