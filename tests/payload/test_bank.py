"""The bank of hypotheses: its filter, and picks on machines that are not as their model."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from benchmarks.payload_machines import Cycles, cycles, matched, recorded, warmed
from tests.machines import Machine, compiler, make_machine
from tests.payload.cases import D3, FOUR, RATE, case

import deltadyn as dd
from deltadyn.arrays import BoolArray
from deltadyn.errors import InputError
from deltadyn.payload import NoiseModel, PayloadEstimator, find_picks
from deltadyn.payload.bank import Bank, BankNumbers, Row
from deltadyn.payload.bank_estimator import ASSUMED, BankEstimator
from deltadyn.payload.estimator import Samples
from deltadyn.payload.least_squares import LeastSquaresEstimator
from deltadyn.payload.rows import RowFront, RowNumbers, recorded_rows
from deltadyn.payload.tare import LoadTare
from deltadyn.recording.recording import Recording
from deltadyn.robot.checks import ARMS

ROBOT = "sipro-d3-1200"
needs_plant = pytest.mark.skipif(compiler() is None, reason="the plant needs gcc (or cc)")


def numbers(**changes: Any) -> BankNumbers:
    tare = LoadTare.assumed(D3, 1000.0, np.array([30.0, 30.0, 30.0]))
    return tare.numbers()._replace(warm_up=0, **changes)


def rows(count: int, mass: float, seed: int = 0) -> list[Row]:
    """Rows of a robot that swings, with friction that is off and a load throughout."""
    rng = np.random.default_rng(seed)
    t = 0.008 * np.arange(count)[:, None]
    qd = 2 * np.sin(2 * np.pi * np.array([1.1, 1.7, 2.3]) * t)
    c = 3 * np.cos(2 * np.pi * np.array([2.0, 1.2, 1.5]) * t + [0, 1, 2])
    direction, rev = np.tanh(qd / 0.02), 1 - np.abs(np.tanh(qd / 0.05))
    r = 0.1 * qd - 0.2 * direction + 0.1 + mass * c + 0.2 * rng.standard_normal((count, ARMS))
    return [Row(*x, speed=1.0) for x in zip(r, c, qd, direction, rev, strict=True)]


def test_the_shared_covariance_gives_the_kalman_filter_of_ten_states() -> None:
    n = numbers(extra=0.0, extra_early=0.0, huber=1e9)
    bank = Bank(n)
    bank.reset(loaded=True)
    x = np.array([*n.theta, 0.0])
    P = np.diag([*np.square(n.deviation), n.spread**2])
    before: Row | None = None
    for row in rows(60, 1.3):
        bank.step(row, changes=False)
        P += np.diag([*n.walk, 0.0])
        for i in range(ARMS):
            if row.rev[i] > n.rev_limit:
                continue
            h, y = np.zeros(10), row.r[i]
            h[3 * i : 3 * i + 3], h[9] = (row.qd[i], row.direction[i], 1.0), row.c[i]
            noise = n.variance[i] + n.reversal[i] * row.rev[i] ** 2
            if before is not None and before.rev[i] <= n.rev_limit:
                h[3 * i : 3 * i + 3] -= n.phi[i] * np.array([before.qd[i], before.direction[i], 1])
                h[9] -= n.phi[i] * before.c[i]
                y = y - n.phi[i] * before.r[i]
            else:
                noise /= 1 - n.phi[i] ** 2
            gain = P @ h / (h @ P @ h + noise)
            x, P = x + gain * (y - h @ x), P - np.outer(gain, h @ P)
        before = row
    assert bank.mass == pytest.approx(x[9], rel=1e-9)
    assert bank.variance == pytest.approx(P[9, 9], rel=1e-9)
    assert bank.mass == pytest.approx(1.3, abs=4 * math.sqrt(bank.variance))


def test_memory_does_not_grow() -> None:
    bank = Bank(numbers(keep=12))
    size = bank.table.nbytes
    for row in rows(400, 0.0):
        bank.step(row._replace(speed=0.0))
        assert bank.count <= 13
    assert bank.table.nbytes == size


@pytest.mark.parametrize("rate", [250.0, 333.0, 1000.0, 2000.0, 4000.0])
def test_windows_keep_time(rate: float) -> None:
    n = RowNumbers.of(D3, rate, delay=1.3e-3)
    t = np.arange(n.length) / rate
    middle = t[-1] - n.behind / rate
    angle, qd, qdd, torque = n.kernels @ np.stack([t, t**2], axis=1)
    assert angle[0] == pytest.approx(middle)
    assert qd == pytest.approx([1.0, 2 * middle])
    assert qdd == pytest.approx([0.0, 2.0], abs=1e-6)
    assert torque[0] == pytest.approx(middle + 1.3e-3)  # logged late, so taken from later samples
    assert 0.007 < n.interval < 0.010
    assert 0.0 < n.share[0] < 0.1
    assert n.share[0] + n.share[3] == pytest.approx(1.0, abs=1e-6)


def test_both_estimators_are_chosen_by_name() -> None:
    assert isinstance(PayloadEstimator(D3), BankEstimator)
    assert isinstance(PayloadEstimator(D3, estimator="least-squares"), LeastSquaresEstimator)
    with pytest.raises(InputError, match="estimator is 'both'; allowed: one of 'bank'"):
        PayloadEstimator(D3, estimator="both")
    with pytest.raises(InputError, match="form is 'momentum'; allowed: 'acceleration' for the"):
        PayloadEstimator(D3, form="momentum")
    with pytest.raises(InputError, match="longest is 0; allowed: above 0 s"):
        PayloadEstimator(D3, longest=0)
    with pytest.raises(InputError, match="delay is 1; allowed: within"):
        PayloadEstimator(D3, delay=1)
    only = NoiseModel.of(D3, case(6, seed=5, empty=True).recording, estimator="least-squares")
    with pytest.raises(InputError, match="noise is \"one for 'least-squares'\""):
        PayloadEstimator(D3, noise=only)


def test_without_an_empty_run_it_says_so_and_is_wide() -> None:
    found = find_picks(D3, case(6).recording)
    assert found.status.endswith("without an empty run deviations are assumed")
    assert "assumed, no empty run" in found.summary
    assert all(pick.std > 0.05 for pick in found.picks)
    live = PayloadEstimator(D3)
    for q, tau in zip(case(6).recording.q[:600], case(6).recording.tau, strict=False):
        live.update(q, None, None, tau)
    assert live.status == ASSUMED


@pytest.mark.full
def test_four_axes_and_one_load_throughout() -> None:
    empty = case(8, seed=5, empty=True, four=True, deviation=0.05)
    noise = NoiseModel.of(FOUR, empty.recording)
    loaded = case(5, seed=7, four=True, deviation=0.05, masses=(0.3, 1.0))
    picks = find_picks(FOUR, loaded.recording, noise=noise).picks
    assert len(picks) == 5
    for pick, cycle in zip(picks, loaded.plan.cycles, strict=True):
        assert pick.mass == pytest.approx(cycle.mass, abs=3 * pick.std)
    column = dd.payload.payload_column(FOUR, empty.plan.motion)
    estimator = PayloadEstimator(FOUR, noise=noise, events=False)
    tau = empty.recording.tau + 0.8 * column
    for q, torque in zip(empty.recording.q, tau, strict=True):
        estimator.update(q, None, None, torque)
    assert estimator.mass == pytest.approx(0.8, abs=3 * estimator.std)
    assert not estimator.picks


@pytest.mark.full
@pytest.mark.parametrize("every", [2, 4])
def test_other_rates(every: int) -> None:
    def thinned(log: dd.Recording) -> dd.Recording:
        return log.replace(t=log.t[::every], q=log.q[::every], tau=log.tau[::every])

    noise = NoiseModel.of(D3, thinned(case(12, seed=5, empty=True).recording))
    found = case(6, seed=9, masses=(0.5, 4.0))
    picks = find_picks(D3, thinned(found.recording), noise=noise).picks
    assert [pick.ended for pick in picks] == ["release"] * 6
    for pick, cycle in zip(picks, found.plan.cycles, strict=True):
        assert pick.mass == pytest.approx(cycle.mass, abs=3 * pick.std)


class Bench(NamedTuple):
    machine: Machine
    fit: Any
    noise: NoiseModel
    rng: np.random.Generator

    def picks(self, plan: Cycles, machine: Machine | None = None, **options: Any) -> Any:
        own = self.machine if machine is None else machine
        log = recorded(own, self.fit.robot, plan, empty=not plan.loads)
        return find_picks(self.fit, log, noise=self.noise, **options)


@pytest.fixture(scope="module")
def bench() -> Bench:
    machine = make_machine(dd.load_robot(ROBOT), "load+offset+delay", 1.0, seed=7)
    fit = dd.identify(machine.robot, machine.record(3, 4.0), terms=("load", "offset"))
    rng = np.random.default_rng(3)
    empty = recorded(machine, fit.robot, cycles(machine, rng, 12, 0.35), empty=True)
    return Bench(machine, fit, NoiseModel.of(fit.robot, empty), rng)


@pytest.mark.full
@needs_plant
def test_a_delay_that_nobody_told_is_found_in_the_empty_run(bench: Bench) -> None:
    assert bench.noise.bank is not None
    assert bench.noise.bank.rows.delay == pytest.approx(bench.machine.numbers["delay"], abs=2e-4)


@needs_plant
@pytest.mark.parametrize("warm", [False, True])
def test_picks_on_a_machine_with_losses(bench: Bench, warm: bool) -> None:
    machine = warmed(bench.machine) if warm else bench.machine
    plan = cycles(machine, bench.rng, 6, 0.35)
    log = bench.picks(plan, machine)
    pairs, extra = matched(plan.loads, log.picks)
    assert extra == 0
    for load, pick in pairs:
        assert pick is not None
        assert abs(pick.mass - load.mass) < min(0.06 + 0.03 * load.mass, 3 * pick.std)
        assert pick.ended == "release"
        assert pick.detected - load.pick < 0.15
        assert pick.end == pytest.approx(load.end, abs=0.06)
    if warm:
        assert not bench.picks(replace(plan, loads=()), machine).events


@needs_plant
def test_what_falls_on_the_way_is_lost_and_what_is_put_down_is_not(bench: Bench) -> None:
    plan = cycles(bench.machine, bench.rng, 8, 0.35, masses=(0.4, 3.0), lost=0.5)
    ends = [plan.loads[k].end - plan.loads[k].pick for k in range(8)]
    pairs, _ = matched(plan.loads, bench.picks(plan).picks)
    named = [None if pick is None else pick.ended for _, pick in pairs]
    assert named == ["release" if end > 0.4 else "lost grip" for end in ends]
    assert {"release", "lost grip"} == set(named)


@needs_plant
def test_what_falls_while_the_gripper_holds_is_named_as_without_its_signal(bench: Bench) -> None:
    plan = cycles(bench.machine, bench.rng, 8, 0.35, masses=(0.4, 3.0), lost=0.5)
    held = np.zeros(round(1000 * plan.seconds) + 1, bool)
    for load in plan.loads:  # the valve stays shut until the place where it should be put down
        held[round(1e3 * load.pick) : round(1e3 * (load.pick + 0.41))] = True
    log = recorded(bench.machine, bench.fit.robot, plan, empty=False)
    told, plain = (
        find_picks(bench.fit, log, noise=bench.noise, holding=signal)
        for signal in (held[: len(log)].tolist(), None)
    )
    assert [pick.ended for pick in told.picks] == [pick.ended for pick in plain.picks]
    assert {"release", "lost grip"} == {pick.ended for pick in told.picks}


@needs_plant
def test_a_long_pick_is_flagged(bench: Bench) -> None:
    plan = cycles(bench.machine, bench.rng, 5, 0.35)
    kept = replace(plan, loads=(replace_load(plan, 0, end=plan.loads[3].end, mass=1.0),))
    log = bench.picks(kept, longest=1.0)
    assert [pick.note for pick in log.picks] == ["longer than 1 s"]
    assert log.status.endswith("1 doubtful")
    assert "release (longer than 1 s)" in log.table
    assert log.picks[0].mass == pytest.approx(1.0, abs=0.05)


def replace_load(plan: Cycles, k: int, **changes: Any) -> Any:
    return plan.loads[k]._replace(**changes)


@needs_plant
def test_another_load_at_once_widens_the_first(bench: Bench) -> None:
    """Nobody sees where the first one ended, so it may have been averaged with an empty way."""
    plan = cycles(bench.machine, bench.rng, 4, 0.35)
    first = replace_load(plan, 1, mass=0.5)
    second = plan.loads[1]._replace(pick=first.end, end=plan.loads[2].pick, mass=2.0)
    log = bench.picks(replace(plan, loads=(first, second)))
    assert [pick.ended for pick in log.picks] == ["pick", "release"]
    assert log.picks[0].note == "its end was not seen"
    assert log.picks[0].std > 0.25
    assert log.picks[1].mass == pytest.approx(2.0, abs=0.1)


def test_rows_are_the_same_online_and_over_a_log() -> None:
    recording = case(3, seed=3).recording
    n = RowNumbers.of(D3, 2000.0)
    front, series, k = RowFront(D3, n), recorded_rows(D3, recording, n), 0
    for q, tau in zip(recording.q.tolist(), recording.tau.tolist(), strict=True):
        row = front.push(q, tau)
        if row is not None:
            np.testing.assert_array_equal(row.r, series.r[k])
            k += 1
    assert k == len(series)


def account(log: Recording, size: int, holding: BoolArray | None = None) -> list[str]:
    """What an estimator tells of a log in parts of so many samples; 0: by `update`.

    Digits beyond the tenth are not told.
    """
    estimator = PayloadEstimator(D3, rate=RATE)
    told: list[str] = []
    for start in range(0, len(log), size or len(log)):
        own = slice(start, start + (size or len(log)))
        signal = None if holding is None else holding[own]
        given = Samples(log.q[own], None, None, log.tau[own], log.t[own], signal)
        steps = estimator.follow(given) if size else PayloadEstimator.follow(estimator, given)
        for k, error in steps:
            if error is not None:
                told.append(f"{start + k} {error}")
            elif estimator.event:
                known = f"{estimator.mass:.10f} {estimator.std:.10f}"
                told.append(f"{start + k} {estimator.event} {known}")
    assert estimator.time == log.t[-1]
    told += [f"{pick.start:.10f} {pick.end:.10f} {pick.mass:.10f}" for pick in estimator.picks]
    return [*told, f"{estimator.bridged} bridged, {estimator.status}"]


@pytest.mark.full
@pytest.mark.parametrize("signal", [False, True])
def test_samples_at_once_are_taken_as_one_by_one(signal: bool) -> None:
    """A log with lost samples, a pause, a jump, NaN, and a place where no loop closes."""
    log, _, payload = case(6)
    q, tau = log.q.copy(), log.tau.copy()
    tau[2500, 1] = np.nan
    q[4000] += 1.0
    q[6000:6400, 0] += 3.0 * np.sin(np.linspace(0, np.pi, 400))
    stay = np.ones(len(log), bool)
    stay[[1500, 1501, 3000]] = stay[7000:7100] = False
    spoiled = Recording(log.t[stay], q[stay], tau[stay])
    holding = (payload > 0)[stay] if signal else None
    alone = account(spoiled, 0, holding)
    for word in ("is nan", "the sample was not used", "the loop closes", " pick ", "bridged"):
        assert any(word in text for text in alone)
    for size in (5, 100, 20_000):
        assert account(spoiled, size, holding) == alone
