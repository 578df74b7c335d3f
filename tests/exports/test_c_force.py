"""The force observer in C against the one in Python, sample by sample."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from tests.exports.c_build import PRECISIONS, ROBOTS, Library, library_for
from tests.exports.force_cases import (
    Answer,
    Case,
    delayed,
    in_python,
    modelled,
    told_by_python,
    touched,
)
from tests.machines import compiler

from deltadyn.errors import InputError
from deltadyn.exports.c import PRECISIONS as KINDS
from deltadyn.exports.c import Options, files, observer_bytes
from deltadyn.force.numbers import ForceNumbers

pytestmark = pytest.mark.skipif(compiler() is None, reason="the plant needs gcc (or cc)")
STATUS, READY, CONTACT, ARM = range(4)


def compiled(case: str, precision: str = "double", by: str = "gcc") -> Library:
    return _compiled(case, precision, by)


@lru_cache(maxsize=8)
def _compiled(case: str, precision: str, by: str) -> Library:
    own = touched() if case == "touched" else modelled(case)
    return library_for(own.robot, precision, by, tare=own.tare)


def in_c(code: Library, case: Case) -> Answer:
    sign, offset = (
        np.asarray(x) for x in (case.robot.controller.sign, case.robot.controller.offset)
    )
    q, tau, start, parts = sign * case.q + offset, sign * case.tau, 0, []
    for piece in case.pieces:
        own = slice(start, piece.stop)
        parts.append(code.observe(q[own], tau[own], piece.payload, piece.std, begin=start == 0))
        start = piece.stop or len(q)
        code.code.acknowledge(code.observer)
    return Answer(*(np.concatenate(x) for x in zip(*parts, strict=True)))


def assert_same(found: Answer, python: Answer) -> None:
    """1e-9 N is far above rounding (4e-13) and below any use."""
    np.testing.assert_array_equal(found.flags, python.flags)
    np.testing.assert_allclose(found.numbers, python.numbers, rtol=1e-9, atol=1e-9)


@pytest.mark.full
def test_a_log_with_a_push_a_pull_and_a_load_sample_by_sample() -> None:
    python = told_by_python()
    kinds, arms = python.flags[:, CONTACT], python.flags[:, ARM]
    assert [kinds[899], kinds[1399], kinds[1899]] == [2, 2, 3]
    assert (arms[899], arms[1399]) == (0, 2)
    assert not kinds[2000:].any()  # the load is known by then
    assert_same(in_c(compiled("touched"), touched()), python)


@pytest.mark.full
@pytest.mark.parametrize("name", ["rich-3", "rubbing-4"])
def test_other_robots_and_signs(name: str) -> None:
    python = in_python(modelled(name))
    assert {0, 1, 2} <= set(python.flags[:, CONTACT].tolist())
    assert_same(in_c(compiled(name), modelled(name)), python)


@pytest.mark.full
@pytest.mark.parametrize("delay", [3.3e-3, -4.7e-3])
def test_a_torque_that_is_logged_later_or_earlier(delay: float) -> None:
    case = delayed(touched(), delay)
    code = library_for(case.robot, tare=case.tare, level="-O0")
    assert_same(in_c(code, case), in_python(case))


@pytest.mark.full
def test_single_precision_tells_the_same() -> None:
    """Angles are rounded to 6e-8 rad, which the square of the rate amplifies: 0.02 N here."""
    python, found = told_by_python(), in_c(compiled("touched", "float"), touched())
    assert (found.flags != python.flags).any(axis=1).mean() < 0.002  # an alarm some samples off
    ready = python.flags[:, READY] == 1
    assert np.abs(found.numbers[ready, :3] - python.numbers[ready, :3]).max() < 0.2


@pytest.mark.full
@pytest.mark.parametrize(
    ("by", "precision"), [("gcc", "double"), ("gcc", "float"), ("clang", "double")]
)
def test_the_self_test_passes(by: str, precision: str) -> None:
    failed, error = compiled("touched", precision, by).self_test()
    assert failed == 0
    assert error < (1e-9 if precision == "double" else 0.02)


@pytest.mark.parametrize("name", ["rich-3", "rubbing-4"])
def test_the_self_test_of_other_robots(name: str) -> None:
    assert compiled(name).self_test()[0] == 0


@pytest.mark.full
@pytest.mark.parametrize(
    ("pattern", "number"),
    [(r"FORCE_GAIN = ([\d.]+)", 1.001), (r"FORCE_LIMIT = ([\d.]+)", 100.0)],
    ids=["gain", "limit"],
)
def test_the_self_test_finds_a_number_that_was_spoilt(pattern: str, number: float) -> None:
    from tests.exports.c_build import compile_with, library_of, sources_of

    case = touched()
    folder = sources_of(case.robot, tare=case.tare)
    source = library_of(folder)
    text = source.read_text()
    spoilt = re.sub(pattern, lambda m: m[0].replace(m[1], repr(number * float(m[1]))), text)
    assert spoilt != text
    source.write_text(spoilt)
    flags = ("-O0", "-shared", "-fPIC", "-DFORCE")
    path = compile_with("gcc", folder, "c_batch.c", "spoilt.so", *flags)
    assert Library(path, 3, "double").self_test()[0] > 0


def test_the_program_runs_all_self_tests() -> None:
    from tests.exports.c_build import STRICT, library_of, need, run, sources_of

    case = touched()
    folder = sources_of(case.robot, tare=case.tare, estimator="least-squares", rate=500.0)
    run([need("gcc"), *STRICT, "self_test.c", library_of(folder).name, "-lm", "-o", "test"], folder)
    said = run(["./test"], folder).splitlines()
    assert [line.split(",")[0] for line in said[1:]] == [
        "model: passed",
        "payload in kg: passed",
        "force in N: passed",
    ]


def test_a_sample_that_is_refused_changes_nothing() -> None:
    case, code = touched(), compiled("touched")
    plain, _ = code.observe(case.q[:900], case.tau[:900])
    cut = 800
    first, _ = code.observe(case.q[:cut], case.tau[:cut])
    bad_q, bad_tau = case.q[cut : cut + 4].copy(), case.tau[cut : cut + 4].copy()
    bad_q[0, 1], bad_tau[1, 2], bad_q[2, 0], bad_tau[3, 0] = np.nan, np.inf, bad_q[2, 0] + 1.1, 1e7
    told, flags = code.observe(bad_q, bad_tau, begin=False)
    assert flags[:, STATUS].tolist() == [3, 3, 8, 4]
    np.testing.assert_array_equal(told[:, :3], np.tile(first[-1, :3], (4, 1)))
    _, flags = code.observe(case.q[cut : cut + 1], case.tau[cut : cut + 1], np.nan, begin=False)
    assert flags[0, STATUS] == 3
    last, _ = code.observe(case.q[cut:900], case.tau[cut:900], begin=False)
    np.testing.assert_array_equal(np.concatenate([first, last]), plain)


def test_a_jump_or_an_open_loop_begins_anew_and_keeps_the_alarm() -> None:
    case, code = touched(), compiled("touched")
    _, flags = code.observe(case.q[:800], case.tau[:800])
    assert flags[-1, CONTACT] == 2
    q = np.tile(case.q[800] + np.array([1.1, 0.0, 0.0]), (30, 1))
    _, flags = code.observe(q, np.zeros_like(q), begin=False)
    assert flags[:, STATUS].tolist() == [8] * 19 + [9] + [0] * 10
    assert not flags[19:, READY].any()
    assert (flags[:, CONTACT] == 2).all()
    wide = replace(case.robot.geometry, base_radius=(0.75,) * 3)
    robot = case.robot.replace(geometry=wide, name="wide")
    q = np.concatenate([np.full((60, 3), 1.9), np.linspace(1.9, 0.0, 140)[:, None] * np.ones(3)])
    _, flags = library_for(robot, tare=case.tare, level="-O0").observe(q, np.zeros_like(q))
    assert 1 in flags[:, STATUS]


def test_a_state_without_init_is_told() -> None:
    code = compiled("touched")
    code.observe(np.zeros((1, 3)), np.zeros((1, 3)))
    code.observer.raw = bytes(len(code.observer))
    _, flags = code.observe(np.zeros((2, 3)), np.zeros((2, 3)), begin=False)
    assert flags.tolist() == [[6, 0, 0, 0]] * 2


@pytest.mark.full
@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_readme_says_memory_and_what_the_test_does(precision: str) -> None:
    case = touched()
    text = files(case.robot, Options(precision=precision, tare=case.tare))["README-c.md"]
    code = compiled("touched", precision)
    size = observer_bytes(ForceNumbers.of(case.robot, case.tare), KINDS[precision])
    assert 0 <= code.code.force_state_size() - size <= 16
    assert f"/* about {size} bytes */" in text
    assert "no safety function" in text
    assert "_force_self_test(&observer, &error)` runs" in text
    assert "_force_" not in "".join(files(case.robot).values())


def test_wrong_tares_are_refused() -> None:
    case = touched()
    with pytest.raises(InputError, match="tare is 'float'; allowed: a Tare"):
        files(case.robot, Options(tare=1.0))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="axes of the tare is 3; allowed: 4"):
        files(ROBOTS["full-4"], Options(tare=case.tare))
    still = replace(case.tare, axes=replace(case.tare.axes, noise=np.zeros(3)))
    with pytest.raises(InputError, match=r"deviation of the tare is 0.*above 0 N m"):
        files(case.robot, Options(tare=still))
