"""The exported payload estimator, executed sample by sample beside the package's own."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.exports.st_cases import controller_angles, numbered
from tests.exports.st_evaluator import Instance, instance
from tests.payload.cases import D3, FOUR, RATE, case

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.exports.structured_text import Options, files
from deltadyn.payload.least_squares import LeastSquaresEstimator
from deltadyn.payload.noise import NoiseModel
from deltadyn.robot import Robot
from deltadyn.robot.settings import Controller

EVENTS = {None: 0, "pick": 1, "release": 2, "lost grip": 3}
ENDS = {"pick": 1, "release": 2, "lost grip": 3, "reset": 4}
JUMP = np.array([0.0, 0.9, 0.0])  # rad
CLOSE = 1e-9  # kg: sums of thousands of residuals


def turned(robot: Robot) -> Robot:
    """The same robot behind a controller with signs and offsets of its own."""
    dof = robot.dof
    robot = robot.with_friction(passive=())
    return robot.replace(
        controller=Controller((1.0, -1.0, -1.0, 1.0)[:dof], (0.2, 0, -0.1, 1)[:dof])
    )


def blocks(estimator: LeastSquaresEstimator, *, strict: bool = False) -> Instance:
    text = files(estimator.robot, Options(name="Own", estimator=estimator))["Own.st"]
    return instance(text, "FB_Own_PayloadEstimator", strict=strict)


class Pair:
    """Both estimators on the same samples; `take` compares them after each."""

    def __init__(self, estimator: LeastSquaresEstimator, *, strict: bool = False) -> None:
        self.own, self.block = estimator, blocks(estimator, strict=strict)
        self.sign = np.asarray(estimator.robot.controller.sign)
        self.events: list[int] = []

    def take(self, q: FloatArray, tau: FloatArray, holding: bool | None = None) -> None:
        self.own.update(q.tolist(), None, None, tau.tolist(), holding=holding)
        self.call(q, tau, holding)
        own, block = self.own, self.block
        assert block.Event == EVENTS[own.event]
        assert block.Loaded == own.loaded
        assert abs(block.Mass - own.mass) < CLOSE
        assert abs(block.Std - min(own.std, 1e9)) < CLOSE
        assert block.Picks == own.picked
        assert block.Status == (0 if own.status == "running" else 5)
        if block.Event:
            self.events.append(block.Event)

    def call(self, q: FloatArray, tau: FloatArray, holding: bool | None = None) -> None:
        angles = controller_angles(self.own.robot, q)
        gripper: Any = {"UseGripper": holding is not None, "Holding": bool(holding)}
        self.block(**numbered("Q", angles), **numbered("Tau", self.sign * tau), **gripper)

    def check_last_pick(self) -> None:
        last, block = self.own.picks[-1], self.block
        found = [block.PickStart, block.PickDetected, block.PickEnd, block.PickMass, block.PickStd]
        wanted = [last.start, last.detected, last.end, last.mass, last.std]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=CLOSE)
        assert block.PickEnded == ENDS[last.ended]


@pytest.mark.parametrize("four", [False, True], ids=["3-dof", "4-dof"])
def test_picks_releases_and_lost_grips(four: bool) -> None:
    found = case(3, seed=2, lost=0.5, four=four)
    pair = Pair(LeastSquaresEstimator(turned(FOUR if four else D3)))
    for q, tau in zip(found.recording.q, found.recording.tau, strict=True):
        pair.take(q, tau)
        if pair.events and pair.block.Event > 1:
            pair.check_last_pick()
    assert {1, 2, 3} <= set(pair.events)


@pytest.mark.parametrize("rate", [1000.0, 2000 / 3, 500.0, 250.0])
def test_other_rates(rate: float) -> None:
    found, every = case(3, seed=3).recording, round(RATE / rate)
    pair = Pair(LeastSquaresEstimator(turned(D3), rate=rate))
    for q, tau in zip(found.q[::every], found.tau[::every], strict=True):
        pair.take(q, tau)
    assert {1, 2} <= set(pair.events)


def test_the_gripper_tells() -> None:
    found = case(2, seed=5, lost=0.5)
    pair = Pair(LeastSquaresEstimator(turned(D3)))
    for k, (q, tau) in enumerate(zip(found.recording.q, found.recording.tau, strict=True)):
        pair.take(q, tau, holding=bool(found.payload[max(k - 10, 0)] > 0))
    assert {1, 2} <= set(pair.events)


def test_what_goes_while_the_gripper_holds_is_lost() -> None:
    """Released at rest, but the gripper says that it still holds."""
    found = case(2, seed=5)
    pair, begin = (
        Pair(LeastSquaresEstimator(turned(D3))),
        int(np.flatnonzero(found.payload)[0]) + 10,
    )
    for k, (q, tau) in enumerate(zip(found.recording.q, found.recording.tau, strict=True)):
        pair.take(q, tau, holding=k > begin)
    assert pair.events[:2] == [1, 3]


def test_measured_noise_and_one_load() -> None:
    noise = NoiseModel.of(D3, case(6, seed=5, empty=True).recording)
    recording = case(1, seed=7).recording
    for events in (True, False):
        pair = Pair(
            LeastSquaresEstimator(turned(D3), noise=replace(noise, tare=0.03), events=events)
        )
        for q, tau in zip(recording.q, recording.tau, strict=True):
            pair.take(q, tau)
        assert events or (pair.block.Loaded and pair.block.Mass > 0.1)


def test_refused_samples_change_nothing() -> None:
    recording = case(1, seed=8).recording
    pair = Pair(LeastSquaresEstimator(turned(D3)), strict=True)
    for k, (q, tau) in enumerate(zip(recording.q[:600], recording.tau[:600], strict=True)):
        if k % 50 == 30:
            before = dict(pair.block.values)
            for bad, status in ((q * math.nan, 1), (q + math.inf, 1), (q + JUMP, 4)):
                with pytest.raises(InputError):
                    pair.own.update(bad, None, None, tau)
                pair.call(bad, tau)
                assert pair.block.Status == status
                assert pair.block.Mass == before["mass"]
        pair.take(q, tau)


def test_angles_that_stay_where_they_jumped_begin_anew() -> None:
    recording = case(2, seed=9).recording
    pair = Pair(LeastSquaresEstimator(turned(D3)), strict=True)
    half = len(recording.t) // 2
    for q, tau in zip(recording.q[:half], recording.tau[:half], strict=True):
        pair.take(q, tau)
    q, tau = recording.q[half], recording.tau[half]
    for _ in range(19):
        with pytest.raises(InputError, match="within"):
            pair.own.update(q + JUMP, None, None, tau)
        pair.call(q + JUMP, tau)
        assert pair.block.Status == 4
    pair.own.update(q + JUMP, None, None, tau)
    pair.call(q + JUMP, tau)
    assert "begun anew" in pair.own.status
    assert (pair.block.Status, pair.block.Loaded, pair.block.Mass) == (5, False, 0.0)
    assert pair.block.Picks == pair.own.picked


@pytest.mark.parametrize("four", [False, True], ids=["3-dof", "4-dof"])
def test_a_loop_that_does_not_close_begins_anew(four: bool) -> None:
    """Arms all the way up and out, slowly: no trap, a status, and the same restart."""
    robot = turned(FOUR if four else D3)
    pair, dof = Pair(LeastSquaresEstimator(robot), strict=True), robot.dof
    statuses, raised = set(), 0
    for k in range(3000):
        q = np.array([0.2 + 2e-3 * k, 0.2 - 1e-3 * k, 0.3, 0.0][:dof])
        try:
            pair.own.update(q.tolist(), None, None, [0.0] * dof)
        except InputError as error:
            raised += "angles at which the loop closes" in str(error)
        pair.call(q, np.zeros(dof))
        statuses.add(pair.block.Status)
        assert pair.block.Loaded == pair.own.loaded
        assert abs(pair.block.Mass - pair.own.mass) < CLOSE
    assert raised > 0
    assert 2 in statuses


def test_reset_forgets_all() -> None:
    recording = case(2, seed=10).recording
    pair = Pair(LeastSquaresEstimator(turned(D3)))
    for q, tau in zip(recording.q[:1500], recording.tau[:1500], strict=True):
        pair.take(q, tau)
    assert pair.block.Picks + pair.block.Loaded > 0
    pair.own.reset()
    pair.block.values["reset"] = True
    pair.take(recording.q[0], recording.tau[0])
    pair.block.values["reset"] = False
    for q, tau in zip(recording.q[1:800], recording.tau[1:800], strict=True):
        pair.take(q, tau)
    assert pair.events


def test_an_estimator_of_another_robot_or_form_is_refused() -> None:
    with pytest.raises(InputError, match="robot of the estimator"):
        files(turned(D3), Options(estimator=LeastSquaresEstimator(D3)))
    with pytest.raises(InputError, match="form of the estimator is 'momentum'"):
        files(D3, Options(estimator=LeastSquaresEstimator(D3, form="momentum")))
    with pytest.raises(InputError, match="rate is 100"):
        files(D3, Options(rate=100.0))
