"""The exported payload estimator by the bank of hypotheses, executed beside the package's own."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from tests.exports.bank_cases import Case, lost_and_put, machine_log, modelled, with_signal
from tests.exports.st_blark import check_block, parts
from tests.exports.st_cases import controller_angles, numbered
from tests.exports.st_evaluator import Instance, instance
from tests.machines import compiler

from deltadyn.exports.structured_text import Options, files
from deltadyn.payload.bank_estimator import BankEstimator

pytestmark = pytest.mark.skipif(compiler() is None, reason="the plant needs gcc (or cc)")
CLOSE = 1e-9  # kg


def text_of(case: Case) -> str:
    return str(files(case.robot, Options(name="Own", estimator=case.estimator))["Own.st"])


def call(block: Instance, case: Case, k: int, holding: bool = False) -> None:
    sign = np.asarray(case.robot.controller.sign)
    angles, torque = controller_angles(case.robot, case.q[k]), sign * case.tau[k]
    gripper: Any = {"UseGripper": holding, "Holding": bool(case.holding[k])}
    block(**numbered("Q", angles), **numbered("Tau", torque), **gripper)


@pytest.mark.parametrize(
    ("name", "signal", "stop"), [("machine", "stray", 4300), ("full-4", "none", 1300)]
)
def test_picks_releases_and_lost_grips(name: str, signal: str, stop: int) -> None:
    case, holding = machine_log() if name == "machine" else modelled(name), signal != "none"
    case = with_signal(case, signal)
    case = case._replace(q=case.q[:stop], tau=case.tau[:stop])
    block = instance(text_of(case), "FB_Own_PayloadEstimator", strict=False)
    python = lost_and_put(case, holding)
    assert {1, 2} <= set(python.event.tolist())
    told, count = 0, 0
    for k in range(stop):
        call(block, case, k, holding)
        assert block.Event == python.event[k], k
        assert block.Loaded == python.loaded[k]
        assert abs(block.Mass - python.mass[k]) < CLOSE
        assert abs(block.Std - min(python.std[k], 1e9)) < CLOSE
        if block.Picks > count or block.PickAnew:
            length = block.PickEnd - block.PickStart
            found = [block.PickMass, block.PickStd, length]
            np.testing.assert_allclose(found, python.last[k], rtol=0, atol=CLOSE)
            told += 1
        count = block.Picks
    assert count == len(python.picks)
    assert told > count > 0
    if holding:  # it has learned from the picks, as Python's has
        assert isinstance(case.estimator, BankEstimator)
        signals = case.estimator.bank.signal
        np.testing.assert_allclose(block.values["edgecount"], signals.counts.ravel(), atol=CLOSE)
        np.testing.assert_allclose(block.values["stray"], signals.stray, atol=CLOSE)
        assert signals.picks[0] > 0


def test_refused_samples_change_nothing_and_a_jump_begins_anew() -> None:
    case = machine_log()
    block = instance(text_of(case), "FB_Own_PayloadEstimator")
    for k in range(400):
        call(block, case, k)
    q, tau, before = case.q[400], case.tau[400], dict(block.values)
    jump = np.array([1.1, 0.0, 0.0])
    for bad, status in ((q * math.nan, 1), (q + math.inf, 1), (q + jump, 4)):
        block(**numbered("Q", bad), **numbered("Tau", tau))
        assert block.Status == status
        assert block.values["samples"] == before["samples"]
    for _ in range(20):
        block(**numbered("Q", q + jump), **numbered("Tau", tau))
    assert (block.Status, block.values["samples"]) == (5, 2)


def test_the_self_test_passes_and_finds_a_number_that_was_spoilt() -> None:
    text = text_of(machine_log())
    block = instance(text, "FB_Own_PayloadSelfTest")
    while not block.Done:
        block(Run=True)
    assert (block.Passed, block.Failed) == (True, 0)
    assert block.Error < CLOSE
    spoilt = re.sub(r"(\bNoiseA\[0\] := )", r"\g<1>1.5 * ", text)
    assert spoilt != text
    block = instance(spoilt, "FB_Own_PayloadSelfTest", strict=False)
    while not block.Done:
        block(Run=True)
    assert not block.Passed


@pytest.mark.full
def test_an_independent_parser_takes_the_block() -> None:
    pytest.importorskip("blark", reason="the parser is not installed")
    text = parts(text_of(machine_log()))["FB_Own_PayloadSelfTest"]
    check_block(re.sub(r"^ +\w+\[[1-9]\d*\] := .*;\n", "", text, flags=re.M))
