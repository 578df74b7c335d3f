"""The payload estimator by the bank of hypotheses, in C against the one in Python."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from tests.exports.bank_cases import (
    ENDS,
    EVENTS,
    Case,
    Told,
    lost_and_put,
    machine_log,
    modelled,
    with_signal,
)
from tests.exports.c_build import PRECISIONS, ROBOTS, Library, library_for
from tests.machines import compiler

from deltadyn.errors import InputError, UnknownNameError
from deltadyn.exports.bank import BankExport
from deltadyn.exports.c import PRECISIONS as KINDS
from deltadyn.exports.c import Options, bank_bytes, files
from deltadyn.payload.estimator import PayloadEstimator

pytestmark = pytest.mark.skipif(compiler() is None, reason="the plant needs gcc (or cc)")
EVENT, RUNNING, LOADED, FINISHED, STATUS = range(5)


def compiled(name: str, precision: str = "double", by: str = "gcc") -> Library:
    return _compiled(name, precision, by)


@lru_cache(maxsize=8)
def _compiled(name: str, precision: str, by: str) -> Library:
    case = cases(name)
    return library_for(case.robot, precision, by, estimator=case.estimator)


def cases(name: str) -> Case:
    return machine_log() if name == "machine" else modelled(name)


def in_c(code: Library, case: Case, holding: bool = False) -> tuple[Any, Any]:
    own = case.robot.controller
    sign, offset = np.asarray(own.sign), np.asarray(own.offset)
    signal = case.holding if holding else None
    return code.estimate(sign * case.q + offset, None, None, sign * case.tau, signal)


def assert_same(numbers: Any, flags: Any, python: Told) -> None:
    """Events, masses, deviations; and what is told of finished picks, and told anew."""
    assert not flags[:, STATUS].any()
    np.testing.assert_array_equal(flags[:, EVENT], python.event)
    np.testing.assert_array_equal(flags[:, LOADED], python.loaded)
    np.testing.assert_allclose(numbers[:, 0], python.mass, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(numbers[:, 1], python.std, rtol=1e-9)
    np.testing.assert_array_equal(flags[:, FINISHED] == 1, python.finished)
    told = np.flatnonzero(flags[:, FINISHED])
    last = python.last[told]
    np.testing.assert_allclose(numbers[told, 3:6], last, rtol=1e-9, atol=1e-9)
    age = np.where(python.event > 0, numbers[:, 2], 0.0)
    assert np.abs(age).max() < 0.5


@pytest.mark.full
@pytest.mark.parametrize("signal", ["none", "late", "early", "stray"])
def test_a_machines_log_sample_by_sample(signal: str) -> None:
    case, holding = with_signal(machine_log(), signal), signal != "none"
    python = lost_and_put(case, holding)
    assert {1, 2} <= set(python.event.tolist())
    assert (case.estimator.signal is not None) == holding  # it has learned something
    assert_same(*in_c(compiled("machine"), case, holding), python)


@pytest.mark.full
def test_a_signal_that_comes_and_goes_is_taken_where_it_is() -> None:
    """-1 is no signal; what was learned stays when a jump begins anew."""
    case, code = with_signal(machine_log(), "late"), compiled("machine")
    q, signal = case.q.copy(), case.holding.copy()
    signal[1500:3200] = -1
    q[3600:3700] += np.array([1.1, 0.0, 0.0])
    numbers, flags = code.estimate(q, None, None, case.tau, signal)
    estimator, given = case.estimator, [None if x < 0 else bool(x) for x in signal]
    estimator.reset()
    for k, holding in enumerate(given):
        with suppress(InputError):
            estimator.update(q[k], None, None, case.tau[k], holding=holding)
        if not flags[k, STATUS]:
            assert flags[k, LOADED] == estimator.loaded
            assert numbers[k, 0] == pytest.approx(estimator.mass, rel=1e-9, abs=1e-9)
    assert flags[3600:, STATUS].any()
    assert estimator.signal is not None


@pytest.mark.full
@pytest.mark.parametrize("name", ["rich-3", "full-4"])
def test_other_robots_and_signs(name: str) -> None:
    python = lost_and_put(modelled(name), False)
    assert {1, 2, 3} <= set(python.event.tolist())
    assert_same(*in_c(compiled(name), modelled(name)), python)


@pytest.mark.full
def test_single_precision_finds_the_same_picks() -> None:
    case = machine_log()
    python = lost_and_put(case, False)
    numbers, flags = in_c(compiled("machine", "float"), case)
    assert not flags[:, STATUS].any()
    found, wanted = (np.flatnonzero(x) for x in (flags[:, EVENT], python.event))
    assert flags[found, EVENT].tolist() == python.event[wanted].tolist()
    assert np.abs(found - wanted).max() <= 16  # two rows
    ends = np.flatnonzero(flags[:, FINISHED] == 1)
    masses = [pick.mass for pick in python.picks]
    assert np.abs(numbers[ends, 3] - masses).max() < 0.01


def test_without_events_all_samples_are_one_load() -> None:
    case = machine_log()
    estimator = PayloadEstimator(case.robot, noise=case.estimator.noise, rate=1000.0, events=False)
    cut = case._replace(estimator=estimator, q=case.q[:1500], tau=case.tau[:1500])
    code = library_for(case.robot, level="-O0", estimator=estimator)
    assert_same(*in_c(code, cut), lost_and_put(cut, False))


@pytest.mark.parametrize(
    ("name", "precision", "by"),
    [
        ("machine", "double", "gcc"),
        ("machine", "float", "gcc"),
        ("rich-3", "double", "gcc"),
        ("full-4", "double", "gcc"),
    ],
)
def test_the_self_test_passes(name: str, precision: str, by: str) -> None:
    failed, error = compiled(name, precision, by).payload_self_test()
    assert failed == 0
    assert error < (1e-9 if precision == "double" else 0.01)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_memory_is_what_the_compiler_says(precision: str) -> None:
    case = machine_log()
    size = bank_bytes(BankExport.of(case.estimator), KINDS[precision])
    assert 0 <= len(compiled("machine", precision).state) - size <= 40
    text = files(case.robot, Options(precision=precision, estimator=case.estimator))
    assert f"/* about {size} bytes */" in text["README-c.md"]


def test_refused_samples_change_nothing_and_a_jump_begins_anew() -> None:
    case, code = machine_log(), compiled("machine")
    plain, _ = code.estimate(case.q[:1200], None, None, case.tau[:1200])
    cut = 1000
    first, _ = code.estimate(case.q[:cut], None, None, case.tau[:cut])
    bad_q, bad_tau = case.q[cut : cut + 3].copy(), case.tau[cut : cut + 3].copy()
    bad_q[0, 1], bad_tau[1, 2], bad_q[2, 0] = np.nan, 1e7, bad_q[2, 0] + 1.1
    _, flags = code.estimate(bad_q, None, None, bad_tau, begin=False)
    assert flags[:, STATUS].tolist() == [3, 4, 8]
    last, _ = code.estimate(case.q[cut:1200], None, None, case.tau[cut:1200], begin=False)
    np.testing.assert_array_equal(np.concatenate([first, last])[:, :2], plain[:, :2])
    q = np.tile(case.q[1200] + np.array([1.1, 0.0, 0.0]), (30, 1))
    _, flags = code.estimate(q, None, None, np.zeros_like(q), begin=False)
    assert flags[:, STATUS].tolist() == [8] * 19 + [9] + [0] * 10
    assert not flags[19:, RUNNING].any()


def test_names_choose_the_estimator_and_others_are_refused() -> None:
    robot = ROBOTS["bench"]
    both = [
        files(robot, Options(estimator=name))["README-c.md"] for name in ("bank", "least-squares")
    ]
    assert "by the bank of hypotheses" in both[0]
    assert "deviations that a change must pass" in both[1]
    assert files(robot)["README-c.md"] == both[0]
    with pytest.raises(UnknownNameError, match="estimator"):
        files(robot, Options(estimator="guess"))
    with pytest.raises(InputError, match="estimator is 'int'; allowed: a PayloadEstimator"):
        files(robot, Options(estimator=3))  # type: ignore[arg-type]
    assert set(ENDS) >= {"pick", "release", "lost grip"}
    assert EVENTS["pick"] == 1
