"""The gripper's signal as evidence: what is learned of it, and that a wrong one does no harm."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from benchmarks.payload_machines import Cycles, cycles, matched, recorded
from benchmarks.payload_signal import Signal, noisy_signal, shifted_signal
from tests.machines import compiler, make_machine
from tests.payload.cases import D3, case
from tests.payload.test_bank import rows

import deltadyn as dd
from deltadyn.payload import NoiseModel, PickLog, find_picks
from deltadyn.payload.bank import Bank
from deltadyn.payload.bank_estimator import BankEstimator
from deltadyn.payload.gripper_signal import CLOSING, NO_EDGE, OPENING, GripperSignal
from deltadyn.payload.tare import MARGIN, MAX_EDGE_DECADES, LoadTare

needs_plant = pytest.mark.skipif(compiler() is None, reason="the plant needs gcc (or cc)")
NUMBERS = LoadTare.assumed(D3, 1000.0, np.array([30.0, 30.0, 30.0])).signal_numbers
SECOND = 125  # rows


def signal_after(delays: list[int], strays_per_pick: int = 0) -> GripperSignal:
    """A signal after picks once a second with their closing edge in these bins."""
    signal = GripperSignal(NUMBERS)
    for delay in delays:
        edges = 1 + strays_per_pick
        for row in range(SECOND):
            signal.detect_edge(row < 2 * edges and row % 2 == 1)
        signal.count_pick(CLOSING, delay)
    return signal


def test_an_edge_counts_most_where_those_of_the_last_picks_were() -> None:
    fresh = GripperSignal(NUMBERS)
    gains = [fresh.log_gain(CLOSING, k) for k in range(NUMBERS.delays)]
    assert gains == pytest.approx([gains[0]] * NUMBERS.delays)
    assert 1.0 < math.exp(gains[0]) < 20.0
    late = signal_after([15] * 10)
    learned = [late.log_gain(CLOSING, k) for k in range(NUMBERS.delays)]
    assert int(np.argmax(learned)) == 15
    assert learned[15] > gains[15] + math.log(10)
    delay, share = late.mean_delay(CLOSING)
    assert delay == pytest.approx(15 + NUMBERS.first)
    assert share == pytest.approx(1.0)
    moved = signal_after([15] * 10 + [4] * 40)  # another gripper: what is old is forgotten
    assert moved.log_gain(CLOSING, 4) > moved.log_gain(CLOSING, 15) + math.log(2)


def test_no_edge_and_no_signal_change_no_chance() -> None:
    signal = signal_after([NO_EDGE] * 20)
    for kind in (CLOSING, OPENING):
        assert signal.log_gain(kind, NO_EDGE) == 0.0
        assert all(signal.log_gain(kind, k) >= 0.0 for k in range(NUMBERS.delays))
    assert signal.delay_bin(CLOSING, 1e6) == NO_EDGE  # too far from the last edge
    signal.lose_level()
    assert signal.delay_bin(CLOSING) == NO_EDGE
    assert signal.detect_edge(True) == NO_EDGE  # the level after a pause is no edge
    assert signal.detect_edge(None) == NO_EDGE
    assert signal.detect_edge(False) == OPENING


def test_a_signal_of_stray_edges_counts_for_little() -> None:
    """The factor of an edge is bounded below the margin of a pick, and falls with every stray."""
    clean = signal_after([10] * 60).log_gain(CLOSING, 10)
    noisy = signal_after([10] * 60, strays_per_pick=5).log_gain(CLOSING, 10)
    useless = signal_after([NO_EDGE] * 60, strays_per_pick=10).log_gain(CLOSING, 10)
    assert useless < math.log(1.1) < noisy < clean - math.log(5)
    assert clean <= math.log1p(10**MAX_EDGE_DECADES)
    assert MAX_EDGE_DECADES < MARGIN


def test_the_window_reaches_from_50_ms_early_to_150_ms_late() -> None:
    tare = LoadTare.assumed(D3, 1000.0, np.array([30.0, 30.0, 30.0]))
    behind, interval = tare.rows.change - tare.rows.interval / 2, tare.rows.interval
    assert behind + NUMBERS.first * interval <= -0.05 - interval
    assert behind + (NUMBERS.first + NUMBERS.delays - 1) * interval >= 0.15 + interval


def test_an_edge_raises_the_odds_of_a_pick_by_1000_at_most() -> None:
    """Below the margin of 10,000 above the empty run: an edge alone makes no pick."""
    numbers = LoadTare.assumed(D3, 1000.0, np.array([30.0, 30.0, 30.0])).numbers()
    plain, told = Bank(numbers._replace(warm_up=0)), Bank(numbers._replace(warm_up=0))
    signal, rng, level = told.signal, np.random.default_rng(3), False
    highest = 0.0
    for row in rows(500, 0.0):
        level ^= rng.random() < 0.1
        signal.counts[:], signal.picks = 30.0 / NUMBERS.delays, [30.0, 30.0]  # always right
        signal.stray, signal.rows = [0.0, 0.0], 1e6
        plain.step(row)
        told.step(row, holding=bool(level))
        assert not told.loaded
        highest = max(highest, told.odds - plain.odds)
    assert math.log(100) < highest < math.log1p(10**MAX_EDGE_DECADES) + 0.1  # those that are pruned


@pytest.mark.parametrize("level", [False, True])
def test_a_stuck_signal_changes_nothing(level: bool) -> None:
    found = case(3, seed=5, masses=(0.5, 4.0))
    plain = find_picks(D3, found.recording)
    assert plain.picks
    stuck = find_picks(D3, found.recording, holding=[level] * len(found.recording))
    assert stuck.picks == plain.picks
    assert stuck.events == plain.events
    np.testing.assert_array_equal(stuck.mass, plain.mass)


def test_what_was_learned_outlasts_a_pause_and_not_a_reset() -> None:
    found = case(3, seed=5, masses=(0.5, 4.0))
    estimator = BankEstimator(D3)
    rows = zip(found.recording.q, found.recording.tau, found.payload > 0, strict=True)
    for q, tau, holding in rows:
        estimator.update(q, None, None, tau, holding=bool(holding))
    signal = estimator.bank.signal
    assert signal.picks[CLOSING] > 1
    estimator._restart("a pause")
    assert signal.picks[CLOSING] > 1
    assert signal.level is None
    estimator.reset()
    assert signal.picks == [0.0, 0.0]


class Setup(NamedTuple):
    """A machine of the independent plant with its fit and noise, a log, and what it carries."""

    fit: Any
    noise: NoiseModel
    plan: Cycles
    log: dd.Recording
    closed: Signal
    plain: PickLog

    def picks(self, holding: Signal | None) -> PickLog:
        told = None if holding is None else holding.tolist()
        return find_picks(self.fit, self.log, noise=self.noise, holding=told)


@pytest.fixture(scope="module")
def setup() -> Setup:
    machine = make_machine(dd.load_robot("sipro-d3-1200"), "load", 1.0, seed=11)
    fit = dd.identify(machine.robot, machine.record(3, 4.0), terms=("load",))
    rng = np.random.default_rng(12)
    empty = recorded(machine, fit.robot, cycles(machine, rng, 12, 0.35), empty=True)
    noise = NoiseModel.of(fit.robot, empty)
    plan = cycles(machine, rng, 8, 0.35, masses=(0.1, 4.0))
    log = recorded(machine, fit.robot, plan, empty=False)
    closed = plan.carried()[: len(log)] > 0
    return Setup(fit, noise, plan, log, closed, find_picks(fit, log, noise=noise))


def errors(setup: Setup, log: PickLog) -> tuple[np.ndarray, np.ndarray]:
    """Errors over their 95 % bounds, and latencies in s, of picks that were all seen once."""
    pairs, extra = matched(setup.plan.loads, log.picks)
    assert extra == 0
    shares, late = [], []
    for load, pick in pairs:
        assert pick is not None
        assert pick.ended == "release"
        shares.append(abs(pick.mass - load.mass) / (1.96 * pick.std))
        late.append(pick.detected - load.pick)
    return np.array(shares), np.array(late)


@needs_plant
@pytest.mark.parametrize("offset", [-0.05, -0.02, 0.0, 0.04, 0.08, 0.15])
def test_a_signal_early_or_late_does_no_harm(setup: Setup, offset: float) -> None:
    """Taken for a command, 20 ms early or 80 ms late, it made masses wrong and sure."""
    plain, plain_late = errors(setup, setup.plain)
    told, late = errors(setup, setup.picks(shifted_signal(setup.closed, 1000.0, offset)))
    assert told.max() < 1.0
    # the rows are the same: an edge moves the begin of a load by a row or two
    assert np.sqrt(np.mean(told**2)) < np.sqrt(np.mean(plain**2)) + 0.1
    assert np.median(late) <= np.median(plain_late) + 1e-9


@needs_plant
@pytest.mark.parametrize("what", ["noisy", "inverted"])
def test_a_wrong_signal_does_no_harm(setup: Setup, what: str) -> None:
    rng = np.random.default_rng(13)
    signal = ~setup.closed if what == "inverted" else noisy_signal(setup.closed, 1000.0, rng)
    told, late = errors(setup, setup.picks(signal))
    assert told.max() < 1.0
    assert np.median(late) <= np.median(errors(setup, setup.plain)[1]) + 1e-9


@needs_plant
def test_the_delay_is_learned_and_reported(setup: Setup) -> None:
    estimator = BankEstimator(setup.fit, noise=setup.noise, rate=1000.0)
    signal = shifted_signal(setup.closed, 1000.0, 0.08)
    for q, tau, holding in zip(setup.log.q, setup.log.tau, signal, strict=True):
        estimator.update(q, None, None, tau, holding=bool(holding))
    assert estimator.signal is not None
    for delay, share in (estimator.signal.closing, estimator.signal.opening):
        # the load comes and goes within a rest of 60 ms, which hides when
        assert delay == pytest.approx(0.08, abs=0.04)
        assert share > 0.7
    assert "gripper's signal: closes" in setup.picks(signal).summary
    assert "signal" not in setup.plain.summary


@needs_plant
def test_a_grip_on_nothing_is_no_pick(setup: Setup) -> None:
    """An edge alone makes no load, however well the signal was right before."""
    half = len(setup.log) // 2
    late = shifted_signal(setup.closed, 1000.0, 0.03)
    free = late.copy()
    free[half:] |= np.arange(len(free))[half:] % 500 < 60  # grips between the picks too
    told, _ = errors(setup, setup.picks(free))
    assert told.max() < 1.0
