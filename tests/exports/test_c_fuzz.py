"""The exported C under strict eyes: sanitizers, traps, symbols, and numbers of any kind."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import pytest
from tests.exports.c_build import (
    COMPILERS,
    PRECISIONS,
    ROBOTS,
    STRICT,
    compile_with,
    library_of,
    need,
    run,
    sources,
)

from deltadyn.kinematics.limbs import limbs
from deltadyn.robot import Robot

CALLS = 200_000
SANITIZERS = "-fsanitize=address,undefined,float-divide-by-zero,float-cast-overflow"
MATH = {
    "atan2",
    "cos",
    "exp",
    "fabs",
    "log",
    "sin",
    "sincos",
    "sqrt",
    "tanh",
}  # sincos: gcc joins the two
COPIES = {"memcpy", "memset"}  # of compilers that make them of loops, on bare targets too


def fuzz(compiler: str, name: str, precision: str, *flags: str, calls: int = CALLS) -> list[int]:
    """How often every status was told in that many calls."""
    folder = sources(name, precision)
    out = f"fuzz-{compiler}-{len(flags)}"
    points, angles = singular(ROBOTS[name])
    rows = (f"-DSINGULAR_P={points}", f"-DSINGULAR_Q={angles}", "-DSAMPLE_RATE=2000.0")
    program = compile_with(compiler, folder, "c_fuzz.c", out, *flags, *rows)
    return [int(word) for word in run([str(program), str(calls), "11"], folder).split()]


def singular(robot: Robot) -> tuple[str, str]:
    """Points on the shoulder axes, and angles at which all elbows are on the z axis, as C rows."""
    points, angles = [], []
    arms: Any = limbs(robot)
    for k in range(3):
        limb = arms[k]
        side = 0.1 * k
        points.append((limb.r * limb.ca - side * limb.sa, limb.r * limb.sa + side * limb.ca, 0.0))
        turns = [math.acos(-own.r / own.l1) * (1 if j == k else -1) for j, own in enumerate(arms)]
        pairs = zip(robot.controller.sign, robot.controller.offset, [*turns, 0.3], strict=False)
        angles.append([sign * turn + offset for sign, offset, turn in pairs])
    return _rows(points), _rows(angles)


def _rows(rows: Sequence[Sequence[float]]) -> str:
    return ",".join(f"{{{','.join(map(repr, row))}}}" for row in rows)


def assert_all_told(told: list[int]) -> None:
    """Every status but UNSETTLED and NOT_READY has come: the promises were put to the test."""
    assert sum(told) == CALLS
    assert {0, 1, 2, 3, 4, 8, 9} <= {status for status, count in enumerate(told) if count}
    assert told[6] == told[7] == 0


@pytest.mark.full
@pytest.mark.parametrize(
    ("compiler", "name", "precision"),
    [
        ("gcc", "rubbing-4", "double"),
        ("clang", "rubbing-4", "float"),
        ("gcc", "full-3", "float"),
        ("clang", "full-3", "double"),
    ],
)
def test_sanitizers_stay_silent(compiler: str, name: str, precision: str) -> None:
    flags = ("-O1", "-g", SANITIZERS, "-fno-sanitize-recover=all")
    assert_all_told(fuzz(compiler, name, precision, *flags))


@pytest.mark.full
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["full-3", "rubbing-4"])
def test_no_floating_point_exception_is_raised(name: str, precision: str) -> None:
    """With invalid operation, division by zero and overflow as traps, as some controllers have."""
    assert_all_told(fuzz("gcc", name, precision, "-O2", "-DTRAP"))


@pytest.mark.full
def test_clang_keeps_the_promise_with_the_flag_of_the_readme() -> None:
    strict = "-ffp-exception-behavior=maytrap"
    assert strict in (sources("rubbing-4", "double") / "README-c.md").read_text()
    assert_all_told(fuzz("clang", "rubbing-4", "double", "-O2", strict, "-DTRAP"))


def test_a_trap_would_be_seen() -> None:
    """The program above does end where an exception is raised."""
    folder = sources("full-3", "double")
    program = folder / "trap.c"
    program.write_text(
        "#define _GNU_SOURCE\n#include <fenv.h>\n"
        "int main(int n, char **v) { (void)v; feenableexcept(FE_DIVBYZERO);\n"
        "volatile double zero = n - 1; return 1.0 / zero > 0; }\n"
    )
    run([need("gcc"), "-O2", "trap.c", "-o", "trap", "-lm"], folder)
    with pytest.raises(pytest.fail.Exception, match="ended with -8"):
        run(["./trap"], folder)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "precision", "compiler", "level"),
    [
        *(
            ("rubbing-4", precision, compiler, level)
            for precision in PRECISIONS
            for compiler in COMPILERS
            for level in ("-O0", "-O2")
        ),
        *(("full-3", "double", compiler, "-O3") for compiler in COMPILERS),
    ],
)
def test_it_needs_math_alone_and_has_no_variables(
    name: str, precision: str, compiler: str, level: str
) -> None:
    """Strict flags at all levels; no symbol but libm's and copies, nothing in .data and .bss."""
    folder = sources(name, precision)
    source = library_of(folder)
    out = f"{compiler}{level}.o"
    run([need(compiler), *STRICT, level, "-c", source.name, "-o", out], folder)
    symbols = [line.split()[-2:] for line in run([need("nm"), out], folder).splitlines()]
    suffix = "f" if precision == "float" else ""
    outside = {name for kind, name in symbols if kind == "U"}
    assert outside <= {name + suffix for name in MATH} | COPIES
    assert {kind for kind, _ in symbols} <= {"U", "T", "t", "r"}
    own = source.stem.removesuffix("_delta")
    assert all(name.startswith(f"{own}_") for kind, name in symbols if kind == "T")


def test_the_text_calls_nothing_of_the_heap_and_of_stdio() -> None:
    text = library_of(sources("full-4", "double")).read_text()
    libraries = ["<math.h>", "<stddef.h>", "<stdint.h>"]
    assert re.findall(r"#include\s+(\S+)", text) == ['"full_4_delta.h"', *libraries]
    assert "malloc" not in text
    kinds = r"const|inline|int \w+\(|real \w+\(|void \w+\(|hypothesis \*|unsigned long \w+\("
    assert re.search(rf"^static (?!{kinds})", text, re.M) is None
