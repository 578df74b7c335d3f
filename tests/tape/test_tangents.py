"""Tangents beside complex steps, whose step costs no digit."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.tape.expressions import INPUTS, random_code

from deltadyn.tape.tangents import changes, with_tangents
from deltadyn.tape.tape import SCALARS, run, trace

H = 1e-150
COMPLEX = SimpleNamespace(
    **{name: getattr(np, name) for name in ("sqrt", "cos", "sin", "tanh", "exp")}
)


@pytest.mark.parametrize("seed", range(40))
def test_tangents_are_those_of_complex_steps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    code = random_code(seed, smooth=True)
    groups = {name: rng.uniform(-2, 2, width).tolist() for name, width in INPUTS.items()}
    along = {name: rng.normal(size=width).tolist() for name, width in INPUTS.items()}
    stepped = (np.array(groups[name]) + 1j * H * np.array(along[name]) for name in INPUTS)
    expected = [np.imag(value) / H for value in code(*stepped, xp=COMPLEX)]
    found = changes(trace("f", INPUTS, code), groups, along)
    scale = max(1.0, *map(abs, expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)


def test_signs_and_choices() -> None:
    function = trace("f", {"x": 2}, lambda x: [SCALARS.abs(x[0]), SCALARS.where(x[0] < 0, *x)])
    for first, expected in ((-2.0, [-1.0, 1.0]), (2.0, [1.0, 5.0])):
        assert changes(function, {"x": [first, 3.0]}, {"x": [1.0, 5.0]}) == expected


def test_what_does_not_change_costs_nothing() -> None:
    def code(a: Any, b: Any) -> list[Any]:
        return [a[0] * b[0], SCALARS.sqrt(a[1]), SCALARS.cos(b[1])]

    function = trace("f", {"a": 2, "b": 2}, code)
    assert changes(function, {"a": [2.0, 0.0], "b": [3.0, 1.0]}, {"b": [1.0, 0.0]}) == [2.0, 0, 0]

    def along_b(a: Any, b: Any) -> list[Any]:
        return changes(function, {"a": a, "b": b}, {"b": (1.0, 0.0)})

    assert trace("g", {"a": 2, "b": 2}, along_b).operations == 0  # the change of a b is a


def test_a_function_with_its_tangents() -> None:
    function = trace("f", {"x": 2}, lambda x: [x[0] * SCALARS.sin(x[1])])
    units = ({"x": (1.0, 0.0)}, {"x": (0.0, 1.0)})
    whole = with_tangents(function, "slopes", lambda _: units)
    x = [2.0, 0.3]
    expected = [2 * math.sin(0.3), math.sin(0.3), 2 * math.cos(0.3)]
    assert run(whole, x=x) == pytest.approx(expected, abs=1e-15)
    assert whole.operations == 4  # the sine and the cosine are shared
