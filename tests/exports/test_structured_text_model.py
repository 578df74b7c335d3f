"""The bodies that function blocks are made of, with the robot's numbers as inputs."""

from __future__ import annotations

import re

import pytest
from tests.exports.st_evaluator import instance, load

from deltadyn.exports.structured_text.models import block_function, blocks, parameter_names
from deltadyn.tape.write_st import function_block


@pytest.mark.parametrize("name", blocks())
def test_bodies_are_guarded_straight_lines(name: str) -> None:
    """Every denominator and every argument of a root that is no number was tested before."""
    text = function_block(block_function(name))
    assert load(text)[name].variables
    tested: set[str] = set()
    for line in text[text.rindex("END_VAR") :].splitlines()[1:-1]:
        if found := re.match(r"IF NOT \((.*) >= 0.0\)|IF NOT \(ABS\((.*?)\) > ", line):
            tested.add(found[1] or found[2])
            continue
        needed = [*re.findall(r" / (\w+)", line), *re.findall(r"SQRT\((.*?)\)", line)]
        assert {word for word in needed if not word[0].isdigit()} <= tested, line
        if found := re.match(r"(\w+) := ", line):
            tested.discard(found[1])


def test_a_body_runs_with_the_robots_numbers_as_inputs() -> None:
    """h = 0.3, w = 0, z = -0.4 with l1 = l2 = 0.5: the arm hangs straight below its shoulder."""
    block = instance(function_block(block_function("inverse_kinematics")), "inverse_kinematics")
    limb = (0.0, 0.5, 0.5, 1.0, 0.0)
    names = parameter_names()
    values = {f"par_limb_{5 * i + k + 1}": x for i in range(3) for k, x in enumerate(limb)}
    values |= {f"par_elbow_{i}": 1.0 for i in (1, 2, 3)}
    inputs = {f"par_{names.index(name) + 1}": x for name, x in values.items()}
    block(**inputs, p_1=0.3, p_2=0.0, p_3=-0.4)
    assert block.Status == 0
    c, s = block.out_1, block.out_4
    assert c * c + s * s == pytest.approx(1.0, abs=1e-15)
    strut = (0.3 - 0.5 * c) ** 2 + (-0.4 + 0.5 * s) ** 2
    assert strut == pytest.approx(0.25, abs=1e-15)
    assert block(**inputs, p_1=3.0, p_2=0.0, p_3=-0.4).Status == 2
