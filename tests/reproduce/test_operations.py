"""Counting operations: the count is of a run that gives the right torque."""

import math

import numpy as np
import pytest

from deltadyn.backends.straight_line import SYMBOLS
from deltadyn.dynamics import inverse_dynamics
from deltadyn.kinematics import State
from deltadyn.report.papers.audit import counts_table
from deltadyn.reproduce import operation_counts
from deltadyn.reproduce.audit.falezza import AS_PRINTED, SINGULAR
from deltadyn.reproduce.audit.operations import (
    TABLE_6,
    Count,
    Operations,
    Tape,
    c_function,
    complete_as_written,
    complete_folded,
    exact_from_platform,
    simplified_as_written,
    simplified_folded,
)
from deltadyn.robot.file import load_robot
from deltadyn.small import cross, dot

D3 = load_robot("sipro-d3-1200")
TELESCOPIC = load_robot("telescopic-delta")
STATE = ((0.11, -0.07, -0.8), (0.9, -0.4, 0.3), (11.0, 7.0, -5.0))
TURNING = ((0.11, -0.07, -0.8, 0.4), (0.9, -0.4, 0.3, 3.0), (11.0, 7.0, -5.0, 20.0))


@pytest.fixture(scope="module")
def counts() -> dict[str, Count]:
    return {count.name: count for count in operation_counts(D3, TELESCOPIC)}


def test_counted_runs_give_the_torque(counts: dict[str, Count]) -> None:
    three = State.from_platform(D3, *STATE)
    four = State.from_platform(TELESCOPIC, *TURNING)
    exact = inverse_dynamics(D3, three)[None].ravel()
    half = inverse_dynamics(D3, three, "half-half").ravel()
    for name in ("exact, 3-DOF", "exact, 3-DOF, joints known"):
        assert counts[name].torque == pytest.approx(exact, abs=1e-12)
    for name in ("M_s by the paper's route", "M_s from the platform"):
        assert counts[name].torque == pytest.approx(half, abs=1e-12)
    spindle = inverse_dynamics(TELESCOPIC, four).ravel()
    assert counts["exact, 4-DOF"].torque == pytest.approx(spindle, abs=1e-12)


def joint_state() -> tuple[tuple[float, ...], ...]:
    """p, pd, pdd, q, qd, qdd of the same state."""
    state = State.from_platform(D3, *STATE)
    parts = (state.p, state.pd, state.pdd, state.q, state.qd, state.qdd)
    return tuple(tuple(np.ravel(part).tolist()) for part in parts)


@pytest.mark.parametrize("shared", [False, True])
def test_papers_equations_counted_give_the_torque(shared: bool) -> None:
    """Line by line and with known parameters: the torque of half-half and of the exact model."""
    state = State.from_platform(D3, *STATE)
    for model, runs in (
        ("half-half", (simplified_as_written, simplified_folded)),
        ("exact", (complete_as_written, complete_folded)),
    ):
        right = inverse_dynamics(D3, state, model, friction=False).ravel()
        totals = []
        for run in runs:
            tape = Tape(shared=shared)
            torque = [tape.value(x) for x in run(tape, D3, joint_state())]
            assert torque == pytest.approx(right, abs=1e-11)
            totals.append(tape.operations().total)
        assert totals[1] < totals[0]


def test_papers_equations_have_the_papers_size() -> None:
    """M_s within a tenth; M_f within a tenth without divisions, of which it has few."""
    simple, complete = Tape(shared=False), Tape(shared=False)
    simplified_as_written(simple, D3, joint_state())
    complete_as_written(complete, D3, joint_state(), AS_PRINTED - SINGULAR)
    assert simple.operations().total == pytest.approx(178, rel=0.1)
    count, paper = complete.operations(), TABLE_6["M_f"]
    assert count.total - count.div == pytest.approx(paper.total - paper.div, rel=0.1)
    assert count.div < paper.div / 20
    assert (count.sin, count.arc) == (paper.sin, 6)


def test_exact_model_costs_a_tenth_of_the_papers(counts: dict[str, Count]) -> None:
    whole = counts["exact, 3-DOF"]
    assert whole.written.total < TABLE_6["M_f"].total / 10
    assert 300 < whole.shared.total < 400  # the design's figure is about 350
    assert whole.written.sin == whole.written.cos == 0  # no trigonometric function
    assert whole.written.sqrt == 3
    assert counts["exact, 3-DOF, joints known"].shared.total < TABLE_6["M_s"].total * 1.1
    assert counts["M_s by the paper's route"].written.sin == 3


def test_c_of_a_model_has_a_line_per_counted_operation(counts: dict[str, Count]) -> None:
    text = c_function("model", exact_from_platform, D3, STATE)
    assert text.count("const double v") == counts["exact, 3-DOF"].shared.total
    assert text.count("y[") == 3
    assert "void model(long n, const double *x, double *y)" in text
    assert "x += 9, y += 3" in text


def test_sharing_never_adds(counts: dict[str, Count]) -> None:
    for count in counts.values():
        for kind in ("add", "sub", "mul", "div", "sqrt", "sin", "cos"):
            assert getattr(count.shared, kind) <= getattr(count.written, kind)
        assert count.shared.total < count.written.total


def test_counts_do_not_depend_on_the_state() -> None:
    totals = set()
    for state in (STATE, ((0.2, 0.1, -0.75), (0.1, 0.2, 0.3), (1.0, 2.0, 3.0))):
        tape = Tape(shared=False)
        exact_from_platform(tape, D3, state)
        totals.add(tape.operations())
    assert len(totals) == 1


def test_table_6_adds_up() -> None:
    assert TABLE_6["M_s"].total == 178
    assert TABLE_6["M_f"].total == 5218


def test_hand_counts() -> None:
    tape = Tape(shared=False)
    a, b = (tuple(tape.variable(x) for x in row) for row in ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)))
    product = cross(a, b)
    assert [tape.value(x) for x in product] == [-3.0, 6.0, -3.0]
    assert tape.operations() == Operations(sub=3, mul=6)
    assert tape.value(dot(a, product)) == 0
    assert tape.operations() == Operations(add=2, sub=3, mul=9)


def test_constants_zero_and_one_are_free() -> None:
    tape = Tape(shared=False)
    x = tape.variable(2.0)
    assert (x + 0) is x
    assert (0.0 + x) is x
    assert (x - 0) is x
    assert (x * 1) is x
    assert (1 * x) is x
    assert (x / 1) is x
    assert x * 0 == 0
    assert 0 / x == 0
    assert SYMBOLS.sqrt(4.0) == 2.0
    assert tape.operations() == Operations()


def test_each_kind_is_counted() -> None:
    tape = Tape(shared=False)
    x = tape.variable(0.5)
    functions = (SYMBOLS.sqrt(x), SYMBOLS.sin(x), SYMBOLS.cos(x))
    values = [2 + x, 2 - x, 2 * x, 2 / x, x / 4, -x, -1 * x, *functions]
    right = [2.5, 1.5, 1.0, 4.0, 0.125, -0.5, -0.5, math.sqrt(0.5), math.sin(0.5), math.cos(0.5)]
    assert [tape.value(v) for v in values] == pytest.approx(right)
    # division by a constant multiplies by its reciprocal, a change of sign subtracts
    assert tape.operations() == Operations(add=1, sub=3, mul=2, div=1, sqrt=1, sin=1, cos=1)


def test_shared_expressions_count_once() -> None:
    tape = Tape(shared=True)
    x, y = tape.variable(2.0), tape.variable(3.0)
    assert (x * y).name == (y * x).name
    assert (x + y).name == (y + x).name
    assert (x - y).name != (y - x).name
    assert tape.operations() == Operations(add=1, sub=2, mul=1)


def test_table_has_a_row_per_count(counts: dict[str, Count]) -> None:
    table = counts_table(list(counts.values())).markdown.splitlines()
    assert len(table) == 2 + len(counts) + len(TABLE_6)
    assert len({line.count("|") for line in table}) == 1
    assert np.all([name in "\n".join(table) for name in counts])
