"""Rows of the simulators from speeds that nobody measured."""

from __future__ import annotations

import pytest
from benchmarks import simulation
from benchmarks.peers import benchmark
from benchmarks.peers.programs import PeerMissingError
from benchmarks.simulation import Comparison, Speed

from deltadyn.backends import switched_off
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot

OURS = Speed("r", "loop", 1e6, 1e-15)
QUICK = Speed("r", "MuJoCo in C, default, Euler", 2e5, 0.04)
BATCH = Speed("r", "batch", 2e6)
SLOW = Speed("r", "MuJoCo in C, accurate, RK4", 2e4, 2e-4)


@pytest.fixture
def robot() -> Robot:
    return load_robot("example-delta")


def test_the_target_is_on_the_quickest_setting() -> None:
    ours, quick, slow = benchmark.loop_rows("g", Comparison(OURS, QUICK), [QUICK, SLOW])
    assert quick.ratio == pytest.approx(5.0)
    assert quick.verdict == "met"
    assert slow.ratio == pytest.approx(50.0)
    assert slow.target is None
    assert str(ours.target) == "error below 0.001 x"
    assert ours.error_ratio == pytest.approx(1e-15 / 0.04)
    assert ours.verdict == "met"
    assert slow.error == 2e-4


def test_fast_but_inexact_is_not_enough() -> None:
    inexact = Speed("r", "loop", 1e6, 1e-4)
    ours, quick = benchmark.loop_rows("g", Comparison(inexact, QUICK), [QUICK])
    assert quick.verdict == "met"
    assert ours.verdict == "NOT met"  # 1e-4 / 0.04 is above a thousandth


def test_exact_but_slow_is_not_enough() -> None:
    slow = Speed("r", "loop", 9e5, 1e-15)
    ours, quick = benchmark.loop_rows("g", Comparison(slow, QUICK), [QUICK])
    assert (ours.verdict, quick.verdict) == ("met", "NOT met")


def test_without_mujoco_ours_is_still_there(robot: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(robot: Robot, repeats: int) -> None:
        raise PeerMissingError("MuJoCo", "there is no gcc to compile it")

    monkeypatch.setattr(simulation, "compare", missing)
    monkeypatch.setattr(simulation, "loop_speed", lambda robot, repeats: OURS)
    monkeypatch.setattr(simulation, "batch_speed", lambda robot, repeats: Speed("r", "b", 2e6))
    monkeypatch.setattr(benchmark, "available", lambda: True)
    ours, peer, batch = benchmark.robot_rows(robot, 1)
    assert ours.rate == pytest.approx(1e6)
    assert peer.verdict == "not measured"
    assert peer.note == "not measured: there is no gcc to compile it"
    assert batch.verdict == "met"


def test_without_kernels_nothing_is_measured(robot: Robot) -> None:
    with switched_off():
        rows = benchmark.robot_rows(robot, 1)
    assert [row.verdict for row in rows] == ["not measured", "not measured"]
    assert rows[0].note == "not measured: the kernels are switched off by switched_off()"
