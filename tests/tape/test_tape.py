"""The tape: what is recorded gives what the code gives, in Python and in C, bit for bit."""

from __future__ import annotations

import ctypes
import math
import operator
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tape.expressions import INPUTS, random_code

from deltadyn.tape.passes import in_depth
from deltadyn.tape.tape import OPERATIONS, SCALARS, Number, bind, operands_of, run, trace
from deltadyn.tape.write_c import COLUMNS, SAMPLE, c_function
from deltadyn.tape.write_python import python_function, straight_line

SEEDS = range(40)
FLOATS = st.floats(-3.0, 3.0)
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
HEAD = """
#include <math.h>
#include <stddef.h>
typedef double real;
#define REAL_SQRT sqrt
#define REAL_ABS fabs
#define REAL_COS cos
#define REAL_SIN sin
#define REAL_TANH tanh
#define REAL_EXP exp
"""


def inputs_of(seed: int) -> tuple[list[float], list[float]]:
    rng = np.random.default_rng(1000 + seed)
    return rng.uniform(-2, 2, INPUTS["a"]).tolist(), rng.uniform(-2, 2, INPUTS["b"]).tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_trace_gives_what_the_code_gives(seed: int) -> None:
    code, (a, b) = random_code(seed), inputs_of(seed)
    function, expected = trace("f", INPUTS, code), code(a, b)
    assert run(function, a=a, b=b) == expected
    assert run(in_depth(function), a=a, b=b) == expected
    assert list(python_function(function)(*a, *b)) == expected
    assert run(trace("g", INPUTS, lambda a, b: run(function, a=a, b=b)), a=a, b=b) == expected
    assert run(bind(function, b=b), a=a) == expected
    arrays = python_function(function, arrays=True)
    many = [np.array([value, value / 2, 0.25]) for value in (*a, *b)]
    for k, row in enumerate(zip(*many, strict=True)):
        whole = [np.broadcast_to(x, 3)[k] for x in arrays(*many)]
        np.testing.assert_allclose(
            whole, run(function, a=row[:3], b=row[3:]), rtol=1e-14, atol=1e-14
        )


def test_the_c_gives_the_same_bits(tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")
    functions = [trace(f"f{seed}", INPUTS, random_code(seed)) for seed in SEEDS]
    text = HEAD + "".join(
        c_function(in_depth(f), {"a": "", "b": "", "y": ""}, qualifier="") for f in functions
    )
    (tmp_path / "f.c").write_text(text, "utf-8")
    flags = ["-std=c99", "-O1", "-ffp-contract=off", "-fno-builtin", "-Wall", "-Wextra", "-Werror"]
    words = [*flags, "-shared", "-fPIC", str(tmp_path / "f.c"), "-o", str(tmp_path / "f.so")]
    subprocess.run([compiler, *words, "-lm"], check=True)
    library = ctypes.CDLL(str(tmp_path / "f.so"))
    for seed, function in zip(SEEDS, functions, strict=True):
        a, b = inputs_of(seed)
        y = np.full(len(function.results), np.nan)
        arrays = (np.array(a), np.array(b), y)
        pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in arrays)
        getattr(library, f"deltadyn_f{seed}")(*pointers)
        assert y.tolist() == run(function, a=a, b=b)


@given(FLOATS, FLOATS, st.sampled_from("+-*/"), st.sampled_from("+-*/"), st.booleans())
def test_two_operations_keep_their_bits(
    x: float, number: float, first: str, second: str, negated: bool
) -> None:
    def code(values: Any) -> list[Any]:
        inner = STEPS[first](values[0], number)
        inner = -inner if negated else inner
        return [STEPS[second](inner, values[0]), STEPS[second](number, inner)]

    try:
        expected = code([x])
        function = trace("f", {"x": 1}, code)
        found = run(function, x=[x])
    except ZeroDivisionError:
        return
    if all(map(math.isfinite, expected)):
        assert found == expected


def test_equal_operations_are_recorded_once_and_needless_ones_left_out() -> None:
    def code(x: Any) -> list[Any]:
        SCALARS.sqrt(x[0])
        return [SCALARS.cos(x[0] * x[1]), SCALARS.cos(x[1] * x[0]) + 1, 0 * x[0]]

    function = trace("f", {"x": 2}, code)
    assert function.operations == 3  # product, cosine, sum
    assert straight_line(2, code)(0.0, 1.0) == (1.0, 2.0, 0.0)


def test_what_is_known_is_worked_out() -> None:
    def code(x: Any) -> list[Any]:
        (a, b) = x
        negative = -a
        same = [a + 0, a - 0, 1 * a, a / 1, -negative, a - (-b) - b + b - (a + b) + a]
        assert [value.place for value in same[:5]] == [a.place] * 5
        assert [0 * a, 0 / a, a - a, SCALARS.sqrt(4.0), SCALARS.where(1 < 2, 3.0, 4.0)] == [
            0,
            0,
            0,
            2.0,
            3.0,
        ]
        assert SCALARS.where(a < b, a, a).place == a.place
        assert (a / 4).entry[0] == "*"  # exact
        assert (a / 3).entry[0] == "/"
        assert (-a * b).entry[0] == "neg"
        assert (b + -a * b).entry[0] == "-"
        return same

    trace("f", {"x": 2}, code)


def test_order_of_sums_is_kept() -> None:
    """1e16 + 1 - 1e16 is 0 as it is written."""
    function = trace("f", {"x": 3}, lambda x: [x[0] + x[1] - x[2], x[0] - x[2] + x[1]])
    assert run(function, x=[1e16, 1.0, 1e16]) == [0.0, 1.0]


def test_what_is_not_finite_passes_but_for_known_zeros() -> None:
    """0 * NaN is 0 on a tape: what must be NaN where an input is has a gate of its own."""
    function = trace("f", {"x": 2}, lambda x: [x[0] * x[1], 0.0 * x[0], x[0] - x[0], x[0] + 1])
    found = run(function, x=[math.nan, 2.0])
    assert [math.isnan(value) for value in found] == [True, False, False, True]
    assert [math.isnan(x) for x in python_function(function)(math.nan, 2.0)] == [
        True,
        False,
        False,
        True,
    ]
    less = trace("f", {"x": 1}, lambda x: [SCALARS.where(x[0] < 1.0, 2.0, 3.0)])
    assert run(less, x=[math.nan]) == [3.0]  # as in C and NumPy: a comparison with NaN is false


def test_numbers_have_no_truth_and_no_equal() -> None:
    def code(x: Any) -> list[Any]:
        with pytest.raises(TypeError, match="choose with `where`"):
            bool(x[0])
        with pytest.raises(TypeError, match="equal to nothing"):
            x[0] == 1.0  # noqa: B015
        other = trace("g", {"y": 1}, lambda y: [y[0] * 2])
        assert isinstance(run(other, y=x)[0], Number)
        return [np.float64(2.0) * x[0], np.float64(2.0) - x[0], x[0] > 1.0 and x[0]]

    with pytest.raises(TypeError, match="choose with `where`"):
        trace("f", {"x": 1}, lambda x: [x[0] if -x[0] else 0.0])
    function = trace("f", {"x": 1}, code)
    assert run(function, x=[3.0]) == [6.0, -1.0, 3.0]


def test_numbers_of_another_tape_are_refused() -> None:
    kept: list[Any] = []
    trace("f", {"x": 1}, lambda x: kept.extend(x) or [x[0]])  # type: ignore[func-returns-value]
    with pytest.raises(ValueError, match="another tape"):
        trace("g", {"x": 1}, lambda x: [x[0] + kept[0]])


def test_depth_first_order_is_an_order() -> None:
    for seed in SEEDS:
        function = in_depth(trace("f", INPUTS, random_code(seed)))
        for place, entry in enumerate(function.entries):
            assert all(k < place for k in operands_of(entry))
            assert entry[0] in (*OPERATIONS, "input", "constant")


def test_c_tells_where_a_root_cannot_be_taken() -> None:
    function = trace("f", {"par": 1, "x": 2}, lambda _, x: [SCALARS.sqrt(x[0]) - 2.5])
    assert c_function(function, COLUMNS, comment="x: a; y: b") == (
        "/* x: a; y: b */\n"
        "INLINE void deltadyn_f(\n"
        "    const real *par, const real *x, real *y, size_t stride)\n"
        "{\n"
        "    (void)par;\n"
        "    const real v0 = x[0 * stride];\n"
        "    const real v1 = REAL_SQRT(v0);\n"
        "    const real v3 = v1 - (real)2.5;\n"
        "    y[0 * stride] = v3;\n"
        "}\n"
    )
    text = c_function(function, SAMPLE, reach=True, qualifier="static", output="out")
    assert text.startswith("static int deltadyn_f(\n    const real *par, const real *x, real *out)")
    assert "    if (!(v0 >= (real)0.0)) {\n        return 1; /* out of reach */\n    }\n" in text
    assert text.endswith("    out[0] = v3;\n    return 0;\n}\n")


def test_constants_in_c_keep_their_digits_and_signs() -> None:
    function = trace("f", {"x": 1}, lambda x: [x[0] * 0.1, SCALARS.where(x[0] < -1e-30, 1.0, 2.0)])
    text = c_function(function)
    assert "(real)0.1" in text
    assert "v0 < ((real)-1e-30) ? (real)1.0 : (real)2.0" in text
