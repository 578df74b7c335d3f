"""Every command as a user calls it: the installed program, in a folder, one after the other."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import deltadyn as dd
from deltadyn.cli import main
from deltadyn.commands.common import guarded
from deltadyn.errors import RecordingFileError
from deltadyn.progress import Bar

PROGRAM = shutil.which("deltadyn", path=sysconfig.get_path("scripts")) or "deltadyn"


def call(*arguments: str, cwd: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the program; its status is checked, and no traceback may show."""
    done = subprocess.run(
        [PROGRAM, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == status, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.full
def test_folders_of_outputs_are_made_and_named(tmp_path: Path) -> None:
    """One rule for all commands: a folder that is missing is made, and the user is told."""
    for command, name in (("sizing", "page.html"), ("simulate", "log.csv"), ("export", "c")):
        out = tmp_path / command / "deep" / name
        what = {"simulate": ["--preset", "ideal"], "export": ["c"]}.get(command, [])
        call_ = [command, "example-delta", *what, "--out", str(out)]
        first, again = (CliRunner().invoke(main, call_) for _ in range(2))
        assert out.exists(), first.output
        assert f"folder made: {out.parent.parent}, {out.parent}\n" in first.stderr
        assert "folder made" not in again.stderr


def test_a_call_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    out = tmp_path / "new" / "page.html"
    result = CliRunner().invoke(main, ["sizing", "no-such-robot", "--out", str(out)])
    assert result.exit_code == 2
    assert "folder made" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_bar_of_unknown_length_names_no_total(capfd: pytest.CaptureFixture[str]) -> None:
    with Bar(True, "search", unit="searches") as bar:
        bar.step()
        bar.expect(3)
        bar.step()
    told = capfd.readouterr().err
    assert "2 of 3 searches" in told
    assert "None" not in told


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a log, a held-out log and a log of picks."""
    folder = tmp_path_factory.mktemp("shell") / "mine"
    call("init", str(folder), "--robot", "example-delta", cwd=folder.parent)
    short = ("--duration", "4", "--harmonics", "3", "--time-limit", "20")
    call("excite", ".", *short, "--out", "excite.csv", cwd=folder)
    bench = ("--preset", "lab", "--json")
    call("simulate", ".", "--motion", "excite.csv", "--out", "log.csv", *bench, cwd=folder)
    held = ("--motion", "y1", "--seed", "1", "--out", "held-out.csv")
    call("simulate", ".", *held, *bench, cwd=folder)
    return folder


@pytest.mark.full
def test_a_log_becomes_a_robot(project: Path) -> None:
    told = call("identify", ".", "log.csv", "--validate", "held-out.csv", "--hold", cwd=project)
    assert "written: results/identified.yaml" in told.stdout
    robot = dd.load_robot(project / "results" / "identified.yaml")
    assert robot.dof == 3
    again = call("repeat", "identify", cwd=project)
    assert "written: results/identified.yaml" in again.stdout
    call("validate", "results/identified.yaml", "held-out.csv", "--out", "v.html", cwd=project)
    assert (project / "v.html").stat().st_size > 1_000_000  # plotly's script is inside


@pytest.mark.full
def test_report_and_its_comparison(project: Path) -> None:
    call("report", ".", "log.csv", "--validate", "held-out.csv", "--out", "r.html", cwd=project)
    grade = json.loads((project / "r.json").read_text())["verdict"]["grade"]
    assert grade in ("good", "usable with care")
    call("report", "--compare", "r.json", "r.json", "--out", "c.html", cwd=project)
    assert (project / "c.html").exists()


@pytest.mark.full
def test_payload_says_no_where_there_is_no_pick(project: Path) -> None:
    call("payload", ".", "held-out.csv", cwd=project, status=1)


@pytest.mark.full
def test_sizing_fleet_and_export(project: Path) -> None:
    call("sizing", ".", "--payloads", "0", "--cycles", "30", "--out", "s.html", cwd=project)
    for name in ("a", "b", "c"):
        (project / "logs").mkdir(exist_ok=True)
        shutil.copy(project / "log.csv", project / "logs" / f"{name}.csv")
    told = call("fleet", ".", "logs", "--out", "fleet.html", cwd=project)
    assert "3 robots: none stands out." in told.stdout
    for target in ("c", "structured-text", "mjcf", "urdf", "sdf", "usd", "fmu", "sheets"):
        call("export", ".", target, "--out", f"out/{target}", cwd=project)
        assert (project / "out" / target / f"README-{target}.md").exists()


@pytest.mark.full
def test_the_rest(project: Path) -> None:
    assert "sipro-d3-1200" in call("robots", cwd=project).stdout
    assert json.loads(call("reproduce", "ladder", "--json", cwd=project).stdout)["rungs"]
    assert "_DELTADYN_COMPLETE" in call("completion", "zsh", cwd=project).stdout
    call("demo", "--robot", "example-delta", "--quick", "--out", "demo", cwd=project)
    wrong = call("identify", ".", "no.csv", cwd=project, status=2)
    assert len(wrong.stderr.splitlines()) == 2  # a sentence and a hint
    with_trace = subprocess.run(
        [PROGRAM, "robots", "nobody", "--debug"], cwd=project, capture_output=True, text=True
    )
    assert "Traceback" in with_trace.stderr


@pytest.mark.parametrize("name", list(main.commands))
def test_every_help_has_an_example(name: str, tmp_path: Path) -> None:
    told = call(name, "--help", cwd=tmp_path).stdout
    command = main.commands[name]
    if not hasattr(command, "commands"):  # a group shows its commands
        assert f"Example: deltadyn {name}" in told
        assert "--json" in told


@pytest.mark.parametrize(
    "arguments", [("robots",), ("robots", "sipro-d3-1200"), ("robots", "--json")]
)
def test_a_reader_that_has_gone_ends_the_output_quietly(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    running = subprocess.Popen(
        [PROGRAM, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdout is not None
    running.stdout.close()  # long before the first line, as a pipe into `true`
    assert running.stderr is not None
    with running.stderr:
        assert running.stderr.read() == b""
    assert running.wait() == 141  # as shells count the signal of a broken pipe


def test_another_broken_pipe_is_an_error_to_show() -> None:
    @click.command()
    @guarded
    def broken() -> None:
        raise BrokenPipeError(32, "Broken pipe")

    run = CliRunner().invoke(broken)
    assert run.exit_code == 2
    assert run.stderr.startswith("deltadyn: [Errno 32] Broken pipe")


def test_an_error_is_json_where_json_was_asked_for() -> None:
    """With the parts that a program needs, and nothing else on the output."""
    run = CliRunner().invoke(main, ["check", "no-such-robot", "--json"])
    assert run.exit_code == 2
    told = json.loads(run.stdout)["error"]
    assert told["kind"] == "UnknownNameError"
    assert told["quantity"] == "robot"
    assert "no-such-robot" in told["message"]
    assert told["hint"]


def test_a_full_disk_has_its_own_hint() -> None:
    @click.command()
    @click.option("--out", default="x.csv")
    @guarded
    def full(out: str) -> None:
        try:
            raise OSError(errno.ENOSPC, "No space left on device")
        except OSError as error:
            raise RecordingFileError("log", "x", "a path", path=out) from error

    run = CliRunner().invoke(full)
    assert run.exit_code == 2
    assert "choose another place with --out" in run.stderr
    assert "--columns" not in run.stderr
