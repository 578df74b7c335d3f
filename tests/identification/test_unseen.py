"""Sets of terms on motion that their fit has not seen, and several logs of one machine."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines import Machine, compiler, make_machine

import deltadyn as dd
from deltadyn.identification import Fit
from deltadyn.identification.terms.choose import Weighing
from deltadyn.identification.terms.evidence import Candidate, odds_of
from deltadyn.identification.terms.rows import Axis, Rows
from deltadyn.identification.terms.unseen import FOLDS, UnseenMotion, fold_rows

needs_gcc = pytest.mark.skipif(compiler() is None, reason="the independent plant needs gcc")
ROWS, SIGMA = 400, 0.1


def _weighing(columns: np.ndarray, y: np.ndarray, base: int = 1) -> Weighing:
    """Rows of one axis, the first columns being the base."""
    count = len(y)
    axis = Axis(columns, np.arange(columns.shape[1]), y, np.ones(count, dtype=bool))
    motion = np.zeros((count, 1))
    part = np.arange(count) * 2 // count
    size = np.ones(columns.shape[1] - base)
    rows = Rows((axis,), base, size, part, part, motion, motion, motion, motion + 1.0, np.ones(1))
    return Weighing(rows, np.array([SIGMA]), 1.0)


def _items(*names: str) -> list[Candidate]:
    return [Candidate(name, name, (c,), odds_of(1)) for c, name in enumerate(names)]


def test_every_log_has_a_chunk_in_each_fold() -> None:
    part = np.repeat([0, 1, 2], [40, 17, 8])
    fold = fold_rows(part)
    for number in range(3):
        own = fold[part == number]
        assert set(own) == set(range(FOLDS))
        assert np.count_nonzero(np.diff(own)) == FOLDS - 1  # chunks of time, not single rows
    assert fold[0] != fold[40]  # the beginnings of two logs are not in one fold


def test_the_error_is_that_of_fits_to_the_other_folds() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((ROWS, 3))
    y = X @ [1.0, 0.5, 0.0] + SIGMA * rng.standard_normal(ROWS)
    weighing = _weighing(X, y)
    test = UnseenMotion(weighing, _items("load", "offset"), frozenset({0, 1}), np.array([2.0]))
    fold, left = fold_rows(weighing.rows.part), np.zeros(ROWS)
    for number in range(FOLDS):
        seen, unseen = fold != number, fold == number
        H = X[seen].T @ X[seen] / SIGMA**2 + np.diag([0.0, 1.0, 1.0])
        z = np.linalg.solve(H, X[seen].T @ y[seen] / SIGMA**2)
        left[unseen] = y[unseen] - X[unseen] @ z
    np.testing.assert_allclose(test.residuals({0, 1})[:, 0], left, atol=1e-9)
    assert test.error({0, 1}) == pytest.approx(np.sqrt(np.mean(left**2)) / 2.0, rel=1e-9)


def test_a_term_that_lowers_no_unseen_error_is_named() -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((ROWS, 3))
    y = X @ [1.0, 0.5, 0.0] + SIGMA * rng.standard_normal(ROWS)
    test = UnseenMotion(
        _weighing(X, y), _items("load", "offset"), frozenset({0, 1}), np.array([1.0])
    )
    by_chance = test.error({0, 1}) < test.error({0})
    assert test.worsening({0, 1}) == (None if by_chance else 1)
    assert test.worsening({0}) is None
    y[:] = X[:, 0] + 3 * SIGMA * np.sin(np.arange(ROWS) / 9) + 0.2 * X[:, 2]
    drifting = np.column_stack([X[:, 0], X[:, 0] + 1e-3 * rng.standard_normal(ROWS), X[:, 2]])
    test = UnseenMotion(
        _weighing(drifting, y), _items("load", "offset"), frozenset({0, 1}), np.array([1.0])
    )
    assert test.worsening({0, 1}) == 0
    assert test.worsening({0, 1}, asked={0}) is None


def test_nameless_terms_predict_nothing() -> None:
    """What no robot holds may not take a share of what the robot holds."""
    rng = np.random.default_rng(7)
    v = rng.standard_normal(ROWS)
    X = np.column_stack([v, v * np.abs(v)])  # alike, as viscous friction and qd |qd|
    y = v + SIGMA * rng.standard_normal(ROWS) + 0.05 * X[:, 1]
    named = UnseenMotion(_weighing(X, y), _items("thinning"), frozenset({0}), np.ones(1))
    nameless = UnseenMotion(_weighing(X, y), _items("other"), frozenset({0}), np.ones(1))
    assert named.worsening({0}) is None
    assert nameless.worsening({0}) == 0
    assert nameless.error(()) == pytest.approx(named.error(()))


def _cold_logs(machine: Machine, count: int, seconds: float) -> list[dd.Recording]:
    """Logs that all begin with cold oil."""
    return [
        machine.record(1, seconds, first=k, clock=0.0, span=seconds)[0].replace(name=f"log {k}")
        for k in range(count)
    ]


def _held_out_error(fit: Fit, machine: Machine, log: dd.Recording) -> float:
    from benchmarks.machines.held_out import judge

    return judge(fit, log).error


@pytest.mark.full
@needs_gcc
def test_a_second_log_that_begins_cold_again_makes_no_fit_worse() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    machine = make_machine(robot, "drift", 1.0, 0)
    logs, picks = _cold_logs(machine, 2, 8.0), machine.record_picks(4.0)
    one, two = (dd.identify(robot, logs[:n]) for n in (1, 2))
    assert two.terms is not None
    assert two.terms.titles == ("drift",)
    assert _held_out_error(two, machine, picks) < 1.1 * _held_out_error(one, machine, picks)
    for axis in (1, 2, 3):  # the mean of the logs
        assert two[f"Fv{axis}"] == pytest.approx(machine.truth[f"Fv{axis}"], rel=0.02)


@pytest.mark.full
@needs_gcc
def test_the_same_titles_give_the_same_fit() -> None:
    robot = dd.load_robot("sipro-d3-1200")
    logs = make_machine(robot, "load+offset", 1.0, 4).record(2, 4.0)
    chosen = dd.identify(robot, logs)
    assert chosen.terms is not None
    named = dd.identify(robot, logs, terms=chosen.terms.titles[::-1])
    assert named.names == chosen.names
    np.testing.assert_allclose(named.values, chosen.values, rtol=1e-9)


@needs_gcc
@pytest.mark.full
def test_waves_that_the_travel_hardly_tells_apart_get_their_true_orders() -> None:
    """Ripple 39 and an encoder's 46 of joints that travel 0.48 rad, beside all other causes."""
    robot = dd.load_robot("sipro-d3-1200")
    machine = make_machine(robot, "all", 1.0, 0)
    fit = dd.identify(robot, machine.record(2, 8.0))
    assert fit.terms is not None
    assert set(fit.terms.titles) == machine.causes
