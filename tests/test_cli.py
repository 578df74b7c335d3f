"""The command line: what it prints, its JSON and its exit status."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import deltadyn as dd
from deltadyn.cli import main
from deltadyn.errors import DeltadynError, RecordingFileError


def run(*arguments: str) -> Result:
    """One call of the command line."""
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.parametrize("command", [(), ("demo",), ("robots",), ("reproduce", "audit")])
def test_help_shows_an_example(command: tuple[str, ...]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    if command:
        assert "Example: deltadyn " + " ".join(command) in result.output


@pytest.mark.full
def test_demo_shows_round_trip_ladder_and_picture(tmp_path: Path) -> None:
    result = run("demo", "--quick", "--out", str(tmp_path), "--robot", "example-delta-4")
    assert result.exit_code == 0, result.output
    assert "largest |FK(IK(p)) - p|" in result.output
    for model in ("exact", "rigid", "half-half", "virtual-work", "projected-rod"):
        assert model in result.output
    page = (tmp_path / "picture.html").read_text()
    assert "example-delta-4" in page
    assert "plotly" in page.lower()


@pytest.mark.full
def test_demo_json_carries_units_and_a_small_round_trip(tmp_path: Path) -> None:
    result = run("demo", "--robot", "sipro-d3-1200", "--quick", "--out", str(tmp_path), "--json")
    record = json.loads(result.output)
    assert record["robot"] == "sipro-d3-1200"
    assert record["learned"] is None
    assert record["round_trip_m"] < 1e-13  # some roundings of 1 m
    half = next(rung for rung in record["ladder"]["rungs"] if rung["model"] == "half-half")
    assert 1.0 < half["rms_arms_Nm"] < 5.0


@pytest.mark.full
def test_robots_lists_the_catalogue_and_prints_a_file() -> None:
    names = [row["name"] for row in json.loads(run("robots", "--json").output)]
    assert {"sipro-d3-1200", "nt-robot", "abb-irb360-6-1600"} <= set(names)
    assert "sipro-d3-1200" in run("robots").output
    printed = run("robots", "sipro-d3-1200").output
    assert "falezza2022" in printed
    assert "assumed: true" in printed


def test_a_wrong_name_is_one_sentence_and_status_2() -> None:
    result = run("demo", "--robot", "sipro-d3-1201")
    assert result.exit_code == 2
    assert "did you mean 'sipro-d3-1200'?" in result.output
    assert "Traceback" not in result.output


def test_debug_shows_the_traceback() -> None:
    result = run("robots", "no-such-robot", "--debug")
    assert result.exit_code != 0
    assert result.exception is not None
    assert "no-such-robot" in str(result.exception)


def _loaded(code: str, names: tuple[str, ...]) -> str:
    """Which of these modules are loaded after some code, in a process of its own."""
    code = f"import sys; {code}; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_is_light() -> None:
    """Heavy libraries are imported where they are used."""
    heavy = ("plotly", "scipy.linalg", "scipy.interpolate", "rich", "mujoco", "pyarrow", "jax")
    used = "dd.load_robot('example-delta'), dd.inverse_dynamics, dd.simulate, dd.read_recording"
    assert _loaded(f"import deltadyn as dd; {used}", heavy) == "[]"


def test_help_needs_no_numpy() -> None:
    """`--help` answers at once: the numbers are loaded by the commands that need them."""
    code = "from click.testing import CliRunner; from deltadyn.cli import main; "
    code += "assert CliRunner().invoke(main, ['--help']).exit_code == 0"
    assert _loaded(code, ("numpy", "scipy", "rich", "plotly")) == "[]"


@pytest.mark.full
def test_excite_then_simulate_then_read_back(tmp_path: Path) -> None:
    table, log = tmp_path / "excite.csv", tmp_path / "log.csv"
    options = ("--duration", "2", "--harmonics", "3", "--time-limit", "8", "--json")
    result = run("excite", "example-delta", "--out", str(table), *options)
    assert result.exit_code == 0, result.output
    record = json.loads(result.output)
    assert record["file"] == str(table)
    assert table.read_text().startswith("t_s,q1_rad,q2_rad,q3_rad\n")
    options = ("--preset", "lab", "--seed", "3", "--out", str(log), "--json")
    result = run("simulate", "example-delta", "--motion", str(table), *options)
    assert result.exit_code == 0, result.output
    record = json.loads(result.output)
    assert record["completed"]
    robot = dd.load_robot("example-delta")
    recording = dd.read_recording(log, robot=robot)
    assert len(recording) == record["rows"]
    # the log follows what was designed: within 0.05 rad of the table's first angles, at rest
    first = dd.motion.read_motion(table, robot).q[0]
    assert np.abs(recording.q[0] - first).max() < 0.05


def test_simulate_warns_of_gains_that_swing(tmp_path: Path) -> None:
    call = ("simulate", "sipro-d3-1200", "--rate", "1000", "--out", str(tmp_path / "log.csv"))
    warned = run(*call, "--bandwidth", "20")
    assert "warning: gains of PDFeedforward on sipro-d3-1200: the loop swings at" in warned.output
    calm = run(*call, "--json")
    assert json.loads(calm.output)["warnings"] == []


def test_simulate_repeats_a_motion_that_closes(tmp_path: Path) -> None:
    rows = {}
    for times in ("1", "2"):
        out = tmp_path / f"{times}.csv"
        call = ("simulate", "example-delta", "--preset", "ideal", "--out", str(out), "--json")
        result = run(*call, "--repeat", times)
        assert result.exit_code == 0, result.output
        rows[times] = json.loads(result.stdout)["rows"]
    assert abs(rows["2"] - 2 * rows["1"]) <= 2  # the last sample of one is the first of the next
    wrong = run("simulate", "example-delta", "--motion", "gate", "--repeat", "2")
    assert wrong.exit_code == 2
    assert "allowed: 1 for a motion that ends" in wrong.stderr
    assert (
        "--repeat is 0; allowed: at least 1"
        in run("simulate", "example-delta", "--repeat", "0").stderr
    )


def test_simulate_of_a_missing_file_is_status_2(tmp_path: Path) -> None:
    result = run("simulate", "example-delta", "--motion", str(tmp_path / "none.csv"))
    assert result.exit_code == 2
    assert "none.csv" in result.output


def test_simulate_of_an_unknown_preset_names_the_presets() -> None:
    result = run("simulate", "example-delta", "--preset", "factory")
    assert result.exit_code == 2
    assert "'industrial'" in result.output


# Memory.


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        RecordingFileError.of_file("log.mat", "cannot be read", "a log"),
    ],
    ids=["python", "system", "thread", "wrapped"],
)
def test_memory_that_is_used_up_is_status_3_and_a_sentence(
    monkeypatch: pytest.MonkeyPatch, error: Exception, as_json: bool
) -> None:
    """Not 1, which is an answer; wherever the memory ended."""

    def fail(*_: object, **__: object) -> None:
        if isinstance(error, DeltadynError):
            raise error from MemoryError()
        raise error

    monkeypatch.setattr("deltadyn.commands.export.robot_of", fail)
    result = run("export", "example-delta", "c", *(["--json"] if as_json else []))
    assert result.exit_code == 3
    assert "the memory is used up" in result.output
    if as_json:
        assert json.loads(result.output)["error"]["kind"] == "MemoryError"


def test_numpy_and_a_worker_that_was_ended_are_told_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    def worker(*_: object) -> None:
        raise TerminatedWorkerError("A worker process was unexpectedly terminated")

    for fail in (lambda *_: np.empty(2**46), worker):
        monkeypatch.setattr("deltadyn.commands.export.robot_of", fail)
        result = run("export", "example-delta", "c")
        assert (result.exit_code, result.exception.__class__) == (3, SystemExit)
        assert result.output.startswith("deltadyn: the memory is used up: ")


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits of memory are POSIX")
def test_a_command_within_a_limit_of_memory(tmp_path: Path) -> None:
    """A log that is larger than what the system gives."""
    rows = "\n".join(f"{k * 0.001:.3f},0.1,0.2,0.3,1,2,3" for k in range(400_000))
    (tmp_path / "log.csv").write_text(f"t,q1,q2,q3,tau1,tau2,tau3\n{rows}\n")
    script = (
        "import resource, sys\n"
        "import deltadyn.cli, deltadyn.recording, deltadyn.inspection\n"
        "with open('/proc/self/statm') as file: used = int(file.read().split()[0])\n"
        "most = used * resource.getpagesize() + 20_000_000\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
        "deltadyn.cli.main(['check', 'example-delta', 'log.csv'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("deltadyn: the memory is used up")
    assert "Traceback" not in done.stderr


def test_the_help_names_every_exit_status() -> None:
    words = " ".join(run("--help").output.split())
    for text in ("0 done", "1 the answer", "2 the call", "3 the memory", "130 stopped"):
        assert text in words
