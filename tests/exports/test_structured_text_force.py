"""The exported function blocks of the force observer, executed beside the package's own."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from tests.exports.force_cases import (
    Answer,
    Case,
    delayed,
    in_python,
    modelled,
    told_by_python,
    touched,
)
from tests.exports.st_blark import check_block, parts
from tests.exports.st_cases import RESERVED, controller_angles, numbered
from tests.exports.st_evaluator import Instance, instance, load
from tests.machines import compiler

from deltadyn.exports.structured_text import Options, files

pytestmark = pytest.mark.skipif(compiler() is None, reason="the plant needs gcc (or cc)")
WAYS = ("X", "Y", "Z", "Turn")
STATUS, READY, CONTACT, ARM = range(4)
JUMP = np.array([1.1, 0.0, 0.0])  # rad


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    case = touched()
    return files(case.robot, Options(name="Own", tare=case.tare))


def observer_of(case: Case, strict: bool = False) -> Instance:
    text = files(case.robot, Options(name="Own", tare=case.tare))["Own.st"]
    return instance(text, "FB_Own_ForceObserver", strict=strict)


def run(case: Case, block: Instance) -> Answer:
    """All samples through the block."""
    robot, start, numbers, flags = case.robot, 0, [], []
    sign, ways = np.asarray(case.robot.controller.sign), WAYS[: case.robot.dof]
    names = [f"{n}{way}" for n in ("Force", "Std", "Contact", "ContactStd") for way in ways]
    names += ["Statistic", "Age", "ContactStatistic"]
    fresh = False
    for piece in case.pieces:
        rows = slice(start, piece.stop)
        for q, tau in zip(case.q[rows], case.tau[rows], strict=True):
            own: Any = {"PayloadMass": piece.payload, "PayloadStd": piece.std, "Acknowledge": fresh}
            angles = controller_angles(robot, q)
            block(**numbered("Q", angles), **numbered("Tau", sign * tau), **own)
            numbers.append([getattr(block, name) for name in names])
            status = 0 if block.Status == 5 and not block.Ready else block.Status
            flags.append([status, int(block.Ready), block.Contact, block.Arm])
            fresh = False
        start, fresh = piece.stop or len(case.q), True
    return Answer(np.array(numbers), np.array(flags))


def assert_same(found: Answer, python: Answer) -> None:
    np.testing.assert_array_equal(found.flags, python.flags)
    wanted = np.where(np.isinf(python.numbers), 1e9, python.numbers)
    np.testing.assert_allclose(found.numbers, wanted, rtol=1e-9, atol=1e-9)


def part_of(case: Case, stop: int) -> Case:
    """The first samples; as long as one needs for every kind of alarm that is tested."""
    pieces = [piece for piece in case.pieces if piece.stop is not None and piece.stop < stop]
    pieces.append(case.pieces[len(pieces)]._replace(stop=stop))
    return case._replace(q=case.q[:stop], tau=case.tau[:stop], pieces=tuple(pieces))


@pytest.mark.full
def test_a_log_with_a_push_a_pull_and_a_load_sample_by_sample() -> None:
    python = told_by_python()
    assert {0, 1, 2, 3} == set(python.flags[:, CONTACT].tolist())
    assert {0, 2} == set(python.flags[:, ARM].tolist())
    assert_same(run(touched(), observer_of(touched())), python)


@pytest.mark.full
def test_four_axes_and_other_signs() -> None:
    """600 samples: the filter's begin and a push."""
    case = part_of(modelled("full-4"), 600)
    python = in_python(case)
    assert 2 in python.flags[:, CONTACT]
    assert_same(run(case, observer_of(case, strict=True)), python)


@pytest.mark.full
@pytest.mark.parametrize("delay", [3.3e-3, -4.7e-3])
def test_a_torque_that_is_logged_later_or_earlier(delay: float) -> None:
    case = delayed(touched(), delay)
    assert_same(run(case, observer_of(case)), in_python(case))


def test_the_self_test_takes_a_sample_per_call(texts: dict[str, str]) -> None:
    block = instance(texts["Own.st"], "FB_Own_ForceSelfTest")
    calls = 0
    while not block.Done:
        block(Run=True)
        calls += 1
    assert (block.Passed, block.Failed, block.Sample) == (True, 0, calls)
    assert block.Error < 1e-9
    assert f"on this controller, {calls} calls" in texts["README-structured-text.md"]
    block(Run=True)
    assert block.Sample == calls
    block(Run=False)
    assert (block.Done, block.Passed, block.Sample) == (False, False, 0)
    for _ in range(calls):
        block(Run=True)
    assert block.Passed


def test_the_self_test_finds_a_number_that_was_spoilt(texts: dict[str, str]) -> None:
    text = re.sub(r"(\bNoise\[0\] := )", r"\g<1>1.5 * ", texts["Own.st"])
    assert text != texts["Own.st"]
    block = instance(text, "FB_Own_ForceSelfTest")
    while not block.Done:
        block(Run=True)
    assert (block.Passed, block.Failed) == (False, 1)
    assert block.Error > 1e-3


def test_refused_samples_change_nothing_and_a_jump_begins_anew() -> None:
    case = touched()
    block = observer_of(case, strict=True)
    for q, tau in zip(case.q[:800], case.tau[:800], strict=True):
        block(**numbered("Q", q), **numbered("Tau", tau))
    assert (block.Status, block.Contact) == (0, 2)
    q, tau, before = case.q[800], case.tau[800], dict(block.values)
    for bad_q, bad_tau, status in (
        (q * math.nan, tau, 1),
        (q, tau + math.inf, 1),
        (q + JUMP, tau, 4),
    ):
        block(**numbered("Q", bad_q), **numbered("Tau", bad_tau))
        assert block.Status == status
        assert block.ForceX == before["forcex"]
    block(**numbered("Q", q), **numbered("Tau", tau), PayloadMass=math.nan)
    assert block.Status == 1
    block(**numbered("Q", q), **numbered("Tau", tau), PayloadMass=0.0)
    assert block.Status == 0
    for k in range(21):
        block(**numbered("Q", q + JUMP), **numbered("Tau", tau))
        assert block.Status == (4 if k < 19 else 5)
    assert (block.Ready, block.ForceX, block.StdX, block.Contact) == (False, 0.0, 1e9, 2)
    block(**numbered("Q", q + JUMP), **numbered("Tau", tau), Reset=True)
    assert block.Contact == 0


def test_angles_at_which_the_loop_does_not_close_are_told() -> None:
    block, statuses = observer_of(touched(), strict=True), set()
    for k in range(1500):
        q = np.array([0.2 + 4e-3 * k, 0.2 - 2e-3 * k, 0.3])
        block(**numbered("Q", q), **numbered("Tau", np.zeros(3)))
        statuses.add(block.Status)
        assert block.Ready or block.ForceZ == 0.0
    assert 2 in statuses


def test_the_readme_shows_calls_that_are_valid(texts: dict[str, str]) -> None:
    readme = texts["README-structured-text.md"]
    _, example = re.findall(r"```\n(VAR.*?)```", readme, re.S)
    declared, _, code = example.partition("END_VAR\n")
    names = sorted(set(re.findall(r":= ((?:Actual|Torque)\d)", code)))
    more = "".join(f"{name} : LREAL; " for name in names)
    flags = "Button, Testing, Stop, Good : BOOL;"
    block = f"{declared} {more} {flags} END_VAR {code}"
    found = load(f"{texts['Own.st']} FUNCTION_BLOCK Caller {block} END_FUNCTION_BLOCK")
    assert found["caller"].variables["touch"].kind == "fb_own_forceobserver"
    assert "no safety function" in readme
    assert re.search(r"`FB_Own_ForceObserver` \| .* \| \d+ \| \d+ \|", readme)


def test_names_lines_and_characters(texts: dict[str, str]) -> None:
    for name, text in texts.items():
        assert text.isascii(), name
        if name.endswith((".st", ".fun", ".TcPOU")):
            assert max(map(len, text.splitlines())) <= 140, name
    reserved = set(RESERVED.split())
    blocks = load(texts["Own.st"])
    assert [name for name in blocks if "force" in name] == [
        "fb_own_forcemodel",
        "fb_own_forceobserver",
        "fb_own_forceselftest",
    ]
    for name, block in blocks.items():
        for own in (name, *block.variables):
            assert own not in reserved, own
            assert len(own) <= 32 - len("Own") + 3


@pytest.mark.full
def test_an_independent_parser_takes_the_blocks(texts: dict[str, str]) -> None:
    pytest.importorskip("blark", reason="the parser is not installed")
    found = parts(texts["Own.st"])
    for name in ("Observer", "SelfTest"):  # the model's lines have the shapes of other models
        text = re.sub(r"^ +\w+\[[1-9]\d*\] := .*;\n", "", found[f"FB_Own_Force{name}"], flags=re.M)
        check_block(text)
