"""A whole run with few repeats, the rules of timing, and the command with its exit status."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from benchmarks import machine
from benchmarks.cases import Case, family, standard_case
from benchmarks.peers import benchmark
from benchmarks.peers.benchmark import KernelsDifferError, run_benchmark
from benchmarks.peers.programs import PeerMissingError, Tell
from benchmarks.peers.rows import Benchmark, Row, Target
from click.testing import CliRunner

from deltadyn.backends import available, switched_off
from deltadyn.commands.bench import bench

ONCE = benchmark.Effort(own=1, rounds=1, python=1, start=1, simulation=1)
FIFTEEN = Target("at least", 15, "ratio")
needs_kernels = pytest.mark.skipif(not available(), reason="no compiled kernels")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One repeat of everything, and peers without a compiler."""
    reasons = {"MuJoCo": "there is no gcc", "Pinocchio": "there is no g++"}
    monkeypatch.setattr(benchmark, "QUICK", ONCE)
    monkeypatch.setattr(machine, "SPAN", 0.0)
    monkeypatch.setattr(benchmark, "compiled_peers", lambda tell, kind="": ({}, reasons))
    monkeypatch.setattr(
        benchmark, "simulation_rows", lambda repeats: [Row("simulation", "loop", 1e-6)]
    )


@pytest.mark.full
@needs_kernels
@pytest.mark.usefixtures("quick")
def test_a_whole_run() -> None:
    lines: list[str] = []
    found = run_benchmark(tell=lines.append)
    assert lines[0] == "3-DOF: deltadyn"
    assert found.machine["kernels"] == "compiled"
    groups = list(dict.fromkeys(row.group for row in found.rows))
    assert groups[0] == "3-DOF inverse dynamics, sipro-d3-1200"
    assert groups[1] == "4-DOF inverse dynamics, example-delta-4"
    others = [f"{robot.dof}-DOF inverse dynamics, {name}" for name, robot in family().items()]
    assert groups[2:-2] == others
    assert len(others) == 10
    assert groups[-2:] == ["simulation", "start of a process"]
    rows = {row.what: row for row in found.rows if row.group == groups[0]}
    assert rows["deltadyn, from p, pd, pdd"].ratio == 1.0
    assert rows["MuJoCo in C, whole"].seconds == 1.73e-6  # the reference figure
    assert rows["Pinocchio in C++, whole"].seconds == 2.86e-6
    assert str(rows["Pinocchio in C++, whole"].target) == "at least 25 x"
    assert str(rows["deltadyn, one sample a call of the kernel"].target) == "below 5 us"
    ratio = rows["deltadyn, NumPy path"].ratio
    assert ratio is not None
    assert ratio > 1  # the kernels are there for a reason
    text = json.dumps(found.as_dict(), allow_nan=False)
    assert len(json.loads(text)["rows"]) == len(found.rows)


def test_without_kernels_their_targets_are_not_measured() -> None:
    with switched_off():
        rows = benchmark.own_rows(Case.of(standard_case(3, 1).robot, 50), 1)
    assert [row.what for row in rows] == [
        "deltadyn, NumPy path",
        "deltadyn, from p, pd, pdd, 2 threads",
        "deltadyn, one sample a call of the kernel",
    ]
    assert [row.verdict for row in rows] == ["", "not measured", "not measured"]
    assert rows[0].note == "the kernels are switched off by switched_off()"


@needs_kernels
def test_kernels_that_give_other_torques_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = standard_case(3, 20)
    wrong = case.torque() * (1 + 1e-9)
    monkeypatch.setattr(benchmark, "own_function", lambda given: lambda: wrong)
    with pytest.raises(KernelsDifferError, match="kernels and NumPy differ by 1"):
        benchmark.own_rows(case, 1)


def test_a_missing_engine_leaves_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, case: Case) -> None:
        raise PeerMissingError(name, "it is not installed")

    monkeypatch.setattr(benchmark, "python_peer", missing)
    (row,) = benchmark.python_rows(standard_case(3, 2), "MuJoCo", 1)
    assert row.seconds is None
    assert row.note == "not measured: it is not installed"


def test_the_best_run_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([3.0, 1.0, 2.0])
    monkeypatch.setattr(machine, "SPAN", 0.0)
    monkeypatch.setattr(machine, "timed", lambda work: next(times))
    assert machine.best(lambda: None, 3).seconds == 1.0


def test_threads_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for before in (None, "7"):
        if before is None:
            monkeypatch.delenv(machine.THREADS, raising=False)
        else:
            monkeypatch.setenv(machine.THREADS, before)
        with machine.threads(2):
            assert os.environ[machine.THREADS] == "2"
        assert os.environ.get(machine.THREADS) == before


@pytest.mark.parametrize(("ratio", "status"), [(16.0, 0), (14.0, 1)])
def test_the_exit_status_is_the_answer(
    monkeypatch: pytest.MonkeyPatch, ratio: float, status: int
) -> None:
    row = Row("3-DOF", "peer", 1e-6, ratio, FIFTEEN)

    def run(*, full: bool, tell: Tell) -> Benchmark:
        tell(f"full is {full}")
        return Benchmark((row,), {"name": "a machine"})

    monkeypatch.setattr("benchmarks.peers.benchmark.run_benchmark", run)
    shown = CliRunner().invoke(bench, ["--full"])
    assert shown.exit_code == status
    assert "machine: a machine" in shown.stdout
    assert shown.stderr == "bench: full is True\n"
    machines = CliRunner().invoke(bench, ["--json"])
    assert machines.exit_code == status
    assert machines.stderr == ""
    assert json.loads(machines.stdout)["rows"][0]["target"]["met"] is (status == 0)


def test_a_wrong_call_is_status_two(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CliRunner().invoke(bench, ["--fast"]).exit_code == 2

    def fail(**given: object) -> None:
        raise KernelsDifferError("kernels and NumPy differ by 1")

    monkeypatch.setattr("benchmarks.peers.benchmark.run_benchmark", fail)
    failed = CliRunner().invoke(bench)
    assert failed.exit_code == 2
    assert failed.stderr.startswith("deltadyn: kernels and NumPy differ by 1\n")


def test_help_shows_an_example() -> None:
    text = CliRunner().invoke(bench, ["--help"]).stdout
    assert "Example: deltadyn bench --full --json" in text


def test_torques_of_the_case_do_not_depend_on_the_kernels() -> None:
    case = standard_case(4, 50)
    with switched_off():
        expected = case.torque()
    # roundings of the way through p, amplified by the condition of the struts
    np.testing.assert_allclose(case.torque(), expected, rtol=0, atol=1e-11 * np.abs(expected).max())
