"""Structured Text of straight-line code, run by the tests' own evaluator."""

from __future__ import annotations

import math

import pytest
from tests.exports.st_evaluator import instance
from tests.tape.expressions import INPUTS, random_code
from tests.tape.test_tape import inputs_of

from deltadyn.tape.tape import SCALARS, run, trace
from deltadyn.tape.write_st import function_block, literal

#: Structured Text has no TANH: exports write it out.
WITHOUT_TANH = [
    seed
    for seed in range(400)
    if all(entry[0] != "tanh" for entry in trace("f", INPUTS, random_code(seed, length=4)).entries)
][:40]


@pytest.mark.parametrize("seed", WITHOUT_TANH)
def test_blocks_do_what_the_code_does(seed: int) -> None:
    function, (a, b) = trace("f", INPUTS, random_code(seed, length=4)), inputs_of(seed)
    block = instance(function_block(function), "f")
    given = {f"a_{k + 1}": x for k, x in enumerate(a)} | {f"b_{k + 1}": x for k, x in enumerate(b)}
    used = {f"{entry[1]}_{entry[2] + 1}" for entry in function.entries if entry[0] == "input"}
    block(**{name: value for name, value in given.items() if name in used})
    assert block.Status == 0
    expected = run(function, a=a, b=b)
    found = [getattr(block, f"out_{k + 1}") for k in range(len(expected))]
    assert found == pytest.approx(expected, rel=1e-15, abs=1e-15)


def test_many_values_share_few_temporaries() -> None:
    function = trace("f", {"x": 1}, lambda x: [chain(x[0], 60)])
    text = function_block(function)
    assert text.count(": LREAL;") == 2 + 1  # input and output; one value
    block = instance(text, "f")
    block(x_1=0.3)
    assert block.out_1 == run(function, x=[0.3])[0]


def chain(x: object, length: int) -> object:
    for _ in range(length):
        x = SCALARS.cos(x) * x + x
    return x


def test_nothing_traps() -> None:
    """A test before every root and every division by what is not a number."""
    function = trace("f", {"x": 2}, lambda x: [SCALARS.sqrt(x[0]) / x[1] + 1 / x[1] + x[0] / 3])
    text = function_block(function)
    assert text.count("RETURN") == 2  # once for the root, once for x[1]
    block = instance(text, "f")
    block(x_1=4.0, x_2=2.0)
    assert (block.Status, block.out_1) == (0, pytest.approx(1.5 + 4 / 3))
    for x, status in (((-1.0, 1.0), 2), ((1.0, 0.0), 3), ((math.nan, 1.0), 2), ((1.0, 1e-13), 3)):
        block(x_1=x[0], x_2=x[1])
        assert block.Status == status
        assert block.out_1 == pytest.approx(1.5 + 4 / 3)  # the output keeps its value


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.0"), (-0.25, "(-0.25)"), (1e-5, "1.0E-5"), (1.5e22, "1.5E22"), (-0.0, "0.0")],
)
def test_literals(value: float, text: str) -> None:
    assert literal(value) == text
    with pytest.raises(ValueError, match="no form"):
        literal(math.inf)
