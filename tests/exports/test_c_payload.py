"""The payload estimator in C against the one in Python, sample by sample."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.exports.c_build import ROBOTS, library, library_for
from tests.payload.cases import coloured

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.payload.bench import pick_plan
from deltadyn.payload.bound import payload_column
from deltadyn.payload.least_squares import LeastSquaresEstimator
from deltadyn.payload.noise import NoiseModel

EVENTS = {None: 0, "pick": 1, "release": 2, "lost grip": 3}
EVENT, RUNNING, LOADED, FINISHED, STATUS = range(5)


class Stream(NamedTuple):
    """Samples (N, dof) in the robot's own signs, and what the gripper says (N,)."""

    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    tau: FloatArray
    holding: Any


class Answer(NamedTuple):
    """What Python's estimator said at every sample, and its picks."""

    mass: FloatArray
    std: FloatArray
    event: Any
    picks: list[Any]


@lru_cache(maxsize=2)
def industrial() -> tuple[Stream, LeastSquaresEstimator]:
    """Picks on the virtual bench with all errors of an industrial machine, a third of them lost."""
    robot = ROBOTS["bench"]
    drive = dd.PDFeedforward(robot)
    plan = pick_plan(robot, 8, seed=4, masses=(0.5, 4.0), lost=0.35)
    empty = dd.simulate(robot, plan.motion, drive, preset="industrial", seed=1).recording
    log = dd.simulate(
        robot, plan.motion, drive, preset="industrial", seed=2, payload=plan.payload
    ).recording
    held = np.zeros(len(log.t), int)
    for cycle in plan.cycles:
        held[(log.t >= cycle.pick) & (log.t < cycle.end)] = 1
    noise = NoiseModel.of(robot, empty)
    motion = plan.motion
    stream = Stream(log.q, motion.qd[: len(log.q)], motion.qdd[: len(log.q)], log.tau, held)
    return stream, LeastSquaresEstimator(robot, noise=noise)


@lru_cache(maxsize=4)
def modelled(name: str, rate: float = 2000.0, seed: int = 0) -> Stream:
    """The model's torque of picks, with noise on it."""
    robot = ROBOTS[name].with_payload(0.0, ROBOTS[name].payload.offset)
    plan = pick_plan(robot, 5, seed=seed, masses=(0.5, 4.0), lost=0.3, rate=rate)
    motion = plan.motion
    payload = np.zeros(len(motion.t))
    for time, mass in plan.payload:
        payload[round(time * rate) :] = mass
    tau = dd.inverse_dynamics(robot, motion) + payload[:, None] * payload_column(robot, motion)
    tau = tau + coloured(len(tau), robot.dof, 0.05, 5e-3, seed + 1)
    return Stream(motion.q, motion.qd, motion.qdd, tau, (payload > 0).astype(int))


def in_python(
    estimator: LeastSquaresEstimator, stream: Stream, rates: int, holding: bool = False
) -> Answer:
    """All samples through the estimator; `rates` of qd, qdd are given."""
    estimator.reset()
    mass, std, event = [], [], []
    for k in range(len(stream.q)):
        qd, qdd = (x[k] if rates > n else None for n, x in enumerate((stream.qd, stream.qdd)))
        signal = bool(stream.holding[k]) if holding else None
        mass.append(estimator.update(stream.q[k], qd, qdd, stream.tau[k], holding=signal))
        std.append(estimator.std)
        event.append(EVENTS[estimator.event])
    return Answer(np.array(mass), np.array(std), np.array(event), list(estimator.picks))


def least_squares(name: str) -> Any:
    """One of the robots with this estimator, its deviations assumed."""
    return library(name, "double", "gcc", "least-squares")


def in_c(code: Any, name: str, stream: Stream, rates: int, holding: bool = False) -> Any:
    controller = ROBOTS[name].controller
    sign, offset = np.asarray(controller.sign), np.asarray(controller.offset)
    return code.estimate(
        sign * stream.q + offset,
        sign * stream.qd if rates > 0 else None,
        sign * stream.qdd if rates > 1 else None,
        sign * stream.tau,
        stream.holding if holding else None,
    )


def assert_same(numbers: FloatArray, flags: Any, python: Answer, interval: float) -> None:
    """Events, masses, deviations and picks; 1e-9 is far above rounding and below any use."""
    assert not flags[:, STATUS].any()
    np.testing.assert_array_equal(flags[:, EVENT], python.event)
    np.testing.assert_allclose(numbers[:, 0], python.mass, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(numbers[:, 1], python.std, rtol=1e-9)
    ends = np.flatnonzero(flags[:, FINISHED])
    assert len(ends) == len(python.picks)
    for k, pick in zip(ends, python.picks, strict=True):
        found = numbers[k, 3:]
        expected = (pick.mass, pick.std, pick.end - pick.start)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert np.abs(numbers[:, 2]).max() < 0.6 + interval  # windows reach half a second back


@pytest.mark.full
@pytest.mark.parametrize("holding", [False, True], ids=["alone", "gripper"])
@pytest.mark.parametrize("rates", [0, 2], ids=["angles", "rates"])
def test_an_industrial_log_sample_by_sample(rates: int, holding: bool) -> None:
    stream, estimator = industrial()
    python = in_python(estimator, stream, rates, holding)
    assert {1, 2} <= set(python.event.tolist())  # there is something to find
    code = library("bench", "double", "gcc", estimator)
    numbers, flags = in_c(code, "bench", stream, rates, holding)
    assert_same(numbers, flags, python, estimator.grid.interval)


def test_the_industrial_log_has_lost_grips() -> None:
    stream, estimator = industrial()
    assert 3 in in_python(estimator, stream, 0).event


@pytest.mark.full
@pytest.mark.parametrize("rates", [0, 1, 2])
@pytest.mark.parametrize(
    "name", ["bench-4", "full-3", "full-4", "rubbing-3", "rubbing-4", "rich-3", "rich-4"]
)
def test_other_robots_and_signs(name: str, rates: int) -> None:
    stream = modelled(name)
    estimator = LeastSquaresEstimator(ROBOTS[name])
    python = in_python(estimator, stream, rates)
    assert {1, 2} <= set(python.event.tolist())
    numbers, flags = in_c(least_squares(name), name, stream, rates)
    assert_same(numbers, flags, python, estimator.grid.interval)


@pytest.mark.full
@pytest.mark.parametrize("rate", [250.0, 500.0, 2000 / 3, 1000.0, 4000.0])
def test_other_rates(rate: float) -> None:
    stream, estimator = modelled("bench", rate), LeastSquaresEstimator(ROBOTS["bench"], rate=rate)
    python = in_python(estimator, stream, 0)
    numbers, flags = in_c(library("bench", "double", "gcc", estimator), "bench", stream, 0)
    assert_same(numbers, flags, python, estimator.grid.interval)
    assert python.event.any()


def test_without_events_all_samples_are_one_load() -> None:
    stream, estimator = modelled("bench"), LeastSquaresEstimator(ROBOTS["bench"], events=False)
    python = in_python(estimator, stream, 0)
    numbers, flags = in_c(library("bench", "double", "gcc", estimator), "bench", stream, 0)
    assert_same(numbers, flags, python, estimator.grid.interval)
    assert python.mass[-1] > 0.2


def test_single_precision_finds_the_same_picks() -> None:
    """Rounding of angles, 6e-8 rad, is amplified by the rate squared: masses differ by grams."""
    stream, estimator = industrial()
    python = in_python(estimator, stream, 0)
    numbers, flags = in_c(library("bench", "float", "gcc", estimator), "bench", stream, 0)
    assert not flags[:, STATUS].any()
    found, expected = (np.flatnonzero(x) for x in (flags[:, EVENT], python.event))
    assert flags[found, EVENT].tolist() == python.event[expected].tolist()
    assert np.abs(found - expected).max() <= 2 * estimator.grid.step
    ends = np.flatnonzero(flags[:, FINISHED])
    masses = np.array([pick.mass for pick in python.picks])
    deviations = np.array([pick.std for pick in python.picks])
    assert (np.abs(numbers[ends, 3] - masses) < 0.1 * deviations).all()


def test_a_sample_that_is_refused_changes_nothing() -> None:
    stream, code = modelled("bench"), least_squares("bench")
    plain, _ = in_c(code, "bench", stream, 0)
    cut = 1500
    first, _ = code.estimate(stream.q[:cut], None, None, stream.tau[:cut])
    bad_q, bad_tau = stream.q[cut : cut + 4].copy(), stream.tau[cut : cut + 4].copy()
    bad_q[0, 1], bad_tau[1, 2], bad_q[2, 0], bad_tau[3, 0] = np.nan, np.inf, bad_q[2, 0] + 0.6, 1e7
    told, flags = code.estimate(bad_q, None, None, bad_tau, begin=False)
    assert flags[:, STATUS].tolist() == [3, 3, 8, 4]
    np.testing.assert_array_equal(told[:, 0], first[-1, 0])
    rates = np.zeros_like(bad_q)
    _, flags = code.estimate(stream.q[cut : cut + 4], rates, None, rates, begin=False)
    assert flags[:, STATUS].tolist() == [7, 7, 7, 7]
    last, _ = code.estimate(stream.q[cut:], None, None, stream.tau[cut:], begin=False)
    np.testing.assert_array_equal(np.concatenate([first, last])[:, :2], plain[:, :2])


def test_angles_that_stay_where_they_jumped_begin_anew() -> None:
    stream, code = modelled("bench"), least_squares("bench")
    code.estimate(stream.q[:1500], None, None, stream.tau[:1500])
    q = np.tile(stream.q[1500] + [0.6, 0.0, 0.0], (30, 1))
    _, flags = code.estimate(q, None, None, np.zeros_like(q), begin=False)
    assert flags[:, STATUS].tolist() == [8] * 19 + [9] + [0] * 10
    assert not flags[19:, RUNNING].any()


def test_angles_at_which_the_loop_stays_open_begin_anew() -> None:
    """As Python does: its estimator raises and begins anew."""
    robot = ROBOTS["bench"]
    wide = robot.replace(geometry=replace(robot.geometry, base_radius=(0.75,) * 3), name="wide")
    q = np.full((200, 3), 1.9)
    q[60:] = np.linspace(1.9, 0.0, 140)[:, None]
    code = library_for(wide, estimator="least-squares")
    _, flags = code.estimate(q, None, None, np.zeros_like(q))
    python = LeastSquaresEstimator(wide)
    refused = []
    for k, row in enumerate(q.tolist()):
        try:
            python.update(row, None, None, [0.0] * 3)
        except InputError:
            refused.append(k)
    assert refused
    assert np.flatnonzero(flags[:, STATUS]).tolist() == refused
    assert set(flags[refused, STATUS].tolist()) == {1}


def test_a_state_without_init_is_told() -> None:
    code = library("plain")
    code.state.raw = bytes(len(code.state))
    _, flags = code.estimate(np.zeros((2, 3)), None, None, np.zeros((2, 3)), begin=False)
    assert flags[:, STATUS].tolist() == [6, 6]
