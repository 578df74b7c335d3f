"""The worker processes of the search: their errors, their end, and what they may use."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.excitation.cases import D3, problem, with_limits
from tools.dependencies import declared

from deltadyn.errors import InputError
from deltadyn.excitation import design_excitation
from deltadyn.excitation.search import ENVIRONMENT, Task, WorkerError, Workers

LONGEST = 120.0  # s: a test that waits this long has failed, on a busy machine too
STOPPED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
import deltadyn as dd
robot = dd.load_robot("sipro-d3-1200")
dd.design_excitation(robot, duration=20.0, harmonics=8, starts=500, jobs=2, time_limit=1000.0)
"""
PROC = Path("/proc")


def test_a_worker_that_dies_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "PYTHONHOME", "/nowhere")  # it cannot even start
    with pytest.raises(WorkerError, match="ended before its answer") as caught:
        design_excitation(D3, duration=4.0, harmonics=3, starts=1, jobs=2)
    assert "EXIT(1)" in caught.value.reason


def test_an_error_arrives_whole() -> None:
    """Its kind, message and fields, with the worker's traceback as its cause."""
    _, ready = problem(D3)
    cramped = replace(ready.setting, robot=with_limits(D3, torque_rms=1e-3))
    task = Task(cramped, 3, (0,), 48, 80.0, 10, deadline=time.time() + LONGEST, needed=True)
    with Workers(2) as workers, pytest.raises(InputError, match="at rest is") as caught:
        list(workers.run([task, task]))
    assert type(caught.value) is InputError
    assert caught.value.quantity == "limits exceeded at rest"
    assert caught.value.value == ["torque_rms"]
    assert "random points of it fail" in caught.value.allowed
    assert "in random_motion" in str(caught.value.__cause__)


def test_a_worker_has_one_thread_and_keeps_memory() -> None:
    with Workers(1) as workers:
        seen = {name: workers._pool.submit(os.getenv, name).result() for name in ENVIRONMENT}
    assert seen == ENVIRONMENT
    assert seen["OMP_NUM_THREADS"] == "1"


@pytest.mark.full
def test_where_no_child_is_allowed_the_search_runs_there() -> None:
    given: dict[str, Any] = {
        "periods": 1,
        "starts": 1,
        "jobs": 2,
        "criterion": "D",
        "friction": False,
    }
    ours = design_excitation(D3, 1.0, 1, **given)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        theirs = pool.apply(design_excitation, (D3, 1.0, 1), given)
    np.testing.assert_allclose(theirs.series.sine, ours.series.sine, rtol=1e-6)


def test_late_tasks_are_skipped_unless_needed() -> None:
    _, ready = problem(D3)
    late = Task(ready.setting, 3, (0,), 48, 80.0, 10, deadline=0.0)
    needed = replace(late, seed=(1,), needed=True)
    with Workers(1) as workers:
        (found,) = workers.run([late, needed, late])
    assert found.seed == (1,)
    assert not found.in_time
    assert found.iterations == 0


@pytest.mark.full
@pytest.mark.skipif(not PROC.is_dir(), reason="the system shows no processes in /proc")
def test_ctrl_c_ends_all_workers(tmp_path: Path) -> None:
    """As a terminal does it: to the script and to its workers at once."""
    script = tmp_path / "script.py"
    script.write_text(STOPPED, "utf-8")
    process = subprocess.Popen(
        [sys.executable, script],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        waited_for(lambda: len(searching(process.pid)) == 2)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=LONGEST)
        assert process.returncode == -signal.SIGINT
        assert "KeyboardInterrupt" in said
        waited_for(lambda: not members(process.pid))
    finally:
        for pid in members(process.pid):
            os.kill(pid, signal.SIGKILL)


def test_the_search_ends_on_a_machine_without_pgrep(tmp_path: Path) -> None:
    """joblib ends its workers by psutil, else by the program pgrep, else never."""
    assert "psutil" in {item.name for item in declared()}
    out = tmp_path / "motion.csv"
    words = f"excite sipro-d3-1200 --duration 2 --harmonics 2 --time-limit 5 --out {out}".split()
    done = subprocess.run(
        [sys.executable, "-m", "deltadyn", *words],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert out.exists()


def waited_for(true: Callable[[], bool]) -> None:
    """Come back as soon as something is true."""
    end = time.monotonic() + LONGEST
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def members(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended just now
            if int(words[3]) == session and words[0] != "Z":
                found.append(int(folder.name))
    return found


def searching(session: int) -> list[int]:
    """The workers of a session that have imported the optimiser."""
    found = []
    for pid in members(session):
        try:
            command = (PROC / str(pid) / "cmdline").read_text()
            maps = (PROC / str(pid) / "maps").read_text()
        except OSError:
            continue
        if "loky" in command and "_slsqp" in maps:
            found.append(pid)
    return found
