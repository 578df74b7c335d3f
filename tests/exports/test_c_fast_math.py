"""Exported C under compilers that assume that there is neither NaN nor infinity."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from tests.exports.c_build import COMPILERS, HERE, ROBOTS, Library, library_of, need, run, sources

from deltadyn.exports.common import middle

STATES = 50_000  # a million in tests/deploy
FLAGS = ("-ffast-math", "-Ofast", "-ffinite-math-only", "-D_M_FP_FAST")


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_such_a_compiler_is_refused(compiler: str, flag: str) -> None:
    folder = sources("plain", "double")
    for file in sorted(folder.glob("*.[ch]")):
        command = [need(compiler), "-x", "c", "-std=c99", "-fsyntax-only", str(file)]
        done = subprocess.run([*command, flag], check=False, capture_output=True, text=True)
        assert done.returncode != 0, file
        assert "#error" in done.stderr
        assert "compile this file without" in done.stderr


@pytest.mark.full
@pytest.mark.parametrize(("compiler", "name"), [("gcc", "plain"), ("clang", "full-4")])
def test_even_where_it_is_not_refused_no_answer_is_nan(compiler: str, name: str) -> None:
    no_answer_is_nan(compiler, name, STATES)


def no_answer_is_nan(compiler: str, name: str, states: int) -> None:
    """The text of `#error` is taken out of a copy, as for a compiler without these macros."""
    folder, robot = sources(name, "double"), ROBOTS[name]
    source = library_of(folder)
    copy = folder / "fast"
    copy.mkdir(exist_ok=True)
    for file in (source, source.with_suffix(".h")):
        (copy / file.name).write_text(re.sub(r"(?m)^#error.*$", "", file.read_text()))
    own = source.stem.removesuffix("_delta")
    words = [f'-DHEADER="{source.stem}.h"', f"-DID={own}", f"-DPSI={robot.dof - 3}", "-I."]
    compile_only = [need(compiler), "-std=c99", "-O2", "-fPIC", "-ffast-math", "-c", *words]
    run([*compile_only, source.name, "-o", "model.o"], copy)
    run([*compile_only, str(HERE / "c_batch.c"), "-o", "batch.o"], copy)
    # Linked without the flag: it would let the whole process treat small numbers as zero.
    run([need(compiler), "-shared", "model.o", "batch.o", "-o", "fast.so", "-lm"], copy)
    code = Library(copy / "fast.so", robot.dof, "double")
    rng = np.random.default_rng(7)
    size = robot.geometry.size
    p = rng.uniform(-1.5 * size, 1.5 * size, (states, robot.dof))
    p[:, 2] = middle(robot)[2] * rng.uniform(0.0, 2.5, states)
    q = rng.uniform(-np.pi, np.pi, (states, robot.dof))
    rates = [rng.normal(0.0, size, p.shape) for size in (3.0, 50.0)]
    bad = rng.integers(0, states, 1000)
    for x in (p, q, *rates):
        x[bad[:500], 0], x[bad[500:], 1] = np.nan, np.inf
    inside = []
    calls = {"feedforward": p, "joint_rates": p, "forward_kinematics": q, "feedforward_joints": q}
    for kind, place in calls.items():
        status, *found = code.call(kind, place, *rates, payload=1.0)
        good = status == 0
        inside.append(good.mean())
        assert set(status[bad].tolist()) == {3}  # not finite
        for x in found[: 3 if kind == "joint_rates" else 1]:
            assert np.isfinite(x[good]).all(), kind
            assert np.isnan(x[~good & np.isfinite(place[:, 0])]).all()  # as they were
    assert all(0.02 < share < 0.98 for share in inside)  # both sides of reach are tried
