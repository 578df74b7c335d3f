"""Projects: `init`, defaults of `deltadyn.toml`, records, `repeat`; hints, Ctrl-C, completion."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.waits import PATIENCE

import deltadyn as dd
from deltadyn.backends.loader import absence, switched_off
from deltadyn.cli import main
from deltadyn.commands.common import reading_options
from deltadyn.commands.project import FILE, MARK
from deltadyn.errors import UnknownNameError


def run(*arguments: str) -> Result:
    """One call of the command line."""
    return CliRunner().invoke(main, list(arguments))


def _rms(result: Result) -> object:
    return json.loads(result.stdout)["metrics"]["rms"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of the example robot, as the current folder."""
    folder = tmp_path / "mine"
    assert run("init", str(folder), "--robot", "example-delta").exit_code == 0
    monkeypatch.chdir(folder)
    return folder


def test_init_makes_a_folder_that_reads_back(project: Path) -> None:
    assert dd.load_robot(project / "robot.yaml") == dd.load_robot("example-delta")
    assert sorted(item.name for item in project.iterdir()) == [
        "columns.yaml",
        FILE,
        "recordings",
        "results",
        "robot.yaml",
    ]
    tomllib.loads((project / FILE).read_text())


def test_init_keeps_what_is_there(project: Path) -> None:
    (project / "robot.yaml").write_text("mine")
    again = run("init", ".")
    assert again.exit_code == 2
    assert "is there already; nothing was written" in again.stderr
    assert (project / "robot.yaml").read_text() == "mine"


def test_a_run_is_recorded_and_repeated_exactly(project: Path) -> None:
    first = run("simulate", ".", "--motion", "adept", "--preset", "lab", "--seed", "7", "--json")
    assert first.exit_code == 0, first.output
    before = (project / "log.csv").read_bytes()
    head = (project / FILE).read_text().partition(MARK)[0]
    assert "# A deltadyn project" in head  # the user's part stays, comments and all
    record = tomllib.loads((project / FILE).read_text())["runs"]["simulate"]
    assert record["arguments"][-2:] == ["--", "."]
    assert set(record["inputs"]) == {"robot.yaml"}
    (project / "log.csv").unlink()
    again = run("repeat", "simulate")
    assert again.exit_code == 0, again.output
    assert (project / "log.csv").read_bytes() == before
    assert again.stderr == ""


@pytest.mark.full
def test_repeat_says_what_has_changed(project: Path) -> None:
    assert run("sizing", ".", "--payloads", "0", "--cycles", "30").exit_code in (0, 1)
    text = (project / "robot.yaml").read_text()
    (project / "robot.yaml").write_text(text + "\n# a remark\n")
    again = run("repeat", "sizing")
    assert "note: robot.yaml has changed since that run" in again.stderr


def test_repeat_needs_a_run(project: Path) -> None:
    none = run("repeat", "identify")
    assert none.exit_code == 2
    assert "one that was run before; deltadyn.toml records none" in none.stderr


def test_tables_of_the_project_are_defaults(project: Path) -> None:
    with (project / FILE).open("a") as file:
        file.write('\n[simulate]\nmotion = "adept"\npreset = "ideal"\nout = "recordings/a.csv"\n')
    done = run("simulate", ".", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["file"] == "recordings/a.csv"
    over = run("simulate", ".", "--out", "recordings/b.csv", "--json")
    assert json.loads(over.stdout)["file"] == "recordings/b.csv"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[identify", "project file is 'deltadyn.toml'; allowed: TOML"),
        ("[identify]\nmethd = 'l1'", "deltadyn.toml: option [identify] methd is 'l1'"),
        ("[idntify]\nmethod = 'l1'", "deltadyn.toml: table is 'idntify'"),
        ("project = 3", "deltadyn.toml: project is 3; allowed: a table"),
    ],
)
def test_a_wrong_project_file_is_named(project: Path, text: str, message: str) -> None:
    (project / FILE).write_text(text)
    result = run("robots")
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_point_needs_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("sizing", ".")
    assert result.exit_code == 2
    assert "'.' needs deltadyn.toml here" in result.stderr
    assert run("repeat", "sizing").exit_code == 2


def test_a_column_map_and_reading_options_reach_the_reader(project: Path) -> None:
    assert run("simulate", ".", "--motion", "adept", "--preset", "lab").exit_code == 0
    lines = (project / "log.csv").read_text().splitlines()
    rows = [line for line in lines if not line.startswith("#")]
    rows[0] = rows[0].replace("tau1_Nm", "torque of the first")
    (project / "recordings" / "log.csv").write_text("\n".join(rows) + "\n")
    plain = run("validate", "example-delta", "log.csv", "--json")
    missing = run("validate", ".", "recordings/log.csv")
    assert missing.exit_code == 2
    assert "hint: name the columns in a file" in missing.stderr
    (project / "columns.yaml").write_text("torque of the first: tau1_Nm\n")
    found = run("validate", ".", "recordings/log.csv", "--json")
    assert found.exit_code == 0, found.output
    assert _rms(found) == _rms(plain)
    wrong = run("validate", ".", "recordings/log.csv", "--read", "torque_sid=motor")
    assert wrong.exit_code == 2
    assert "did you mean 'torque_side'?" in wrong.stderr
    broken = run("validate", ".", "recordings/log.csv", "--read", "torque_side")
    assert "--read is 'torque_side'; allowed: KEY=VALUE" in broken.stderr


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("export", "example-delta", "structured"), "did you mean 'structured-text'?"),
        (("validate", "example-delta", "no.csv"), "paths are relative to the folder"),
        (("robots", "zzz"), "`deltadyn robots` lists the catalogue"),
        (("sizing", "example-delta", "--payloads", "x"), "`main sizing --help` shows an example"),
    ],
)
def test_an_error_is_a_sentence_and_a_hint(arguments: tuple[str, ...], hint: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    error, line = result.stderr.splitlines()
    assert error.startswith("deltadyn: ")
    assert line.startswith("hint: ")
    assert hint in line


SEARCH = """
import signal
from pathlib import Path
from types import SimpleNamespace
from deltadyn.cli import main
from deltadyn.progress import Bar

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
expect = Bar.expect

def told(*args):
    Path("begun").touch()
    return expect(*args)

Bar.expect = told  # called when the searches are handed out
main()
"""


@pytest.mark.full
def test_ctrl_c_leaves_no_file(tmp_path: Path) -> None:
    """A search for an excitation is stopped while it runs."""
    arguments = ["excite", "abb-irb360-6-1600", "--duration", "10", "--time-limit", "600", "--json"]
    child = subprocess.Popen(
        [sys.executable, "-c", SEARCH, *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not (tmp_path / "begun").exists():
            assert child.poll() is None, child.communicate()
            assert time.monotonic() < deadline, "no search began"
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=PATIENCE)
    finally:
        child.kill()
    assert child.returncode == 130, (out, error)
    assert "deltadyn: stopped; no file was left half written" in error
    assert "Traceback" not in error
    assert [item.name for item in tmp_path.iterdir()] == ["begun"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    script = run("completion", shell)
    assert script.exit_code == 0
    assert "_DELTADYN_COMPLETE" in script.stdout
    assert json.loads(run("completion", shell, "--json").stdout)["script"] + "\n" == script.stdout


def test_the_shell_completes_robots() -> None:
    code = "from deltadyn.cli import main; main(prog_name='deltadyn')"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "_DELTADYN_COMPLETE": "bash_complete",
            "COMP_WORDS": "deltadyn identify sip",
            "COMP_CWORD": "2",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "plain,sipro-d3-1200" in told.stdout.splitlines()


def test_options_of_the_reader_are_typed_and_checked_at_once() -> None:
    found = reading_options("mine.yaml", ["torque_side=motor", "sample_time=0.001", "name=May"])
    assert found.columns == "mine.yaml"
    assert (found.torque_side, found.sample_time, found.name) == ("motor", 0.001, "May")
    with pytest.raises(UnknownNameError, match="torque_side is 'gear'"):
        reading_options(None, ["torque_side=gear"])
    with pytest.raises(UnknownNameError, match="--read is 'side'"):
        reading_options(None, ["side=motor"])


def test_the_version_tells_what_it_runs_on() -> None:
    assert run("--version").output == f"deltadyn, version {dd.__version__}\n"
    first, python, libraries, kernels = run("--version", "--verbose").output.splitlines()
    assert first == f"deltadyn, version {dd.__version__}"
    assert python.startswith(f"Python {sys.version.split()[0]}, ")
    assert f"numpy {np.__version__}" in libraries
    assert kernels == f"kernels: {absence() or 'compiled'}"
    assert run("--verbose", "--version").output.startswith(first)
    alone = run("--verbose", "robots")
    assert alone.exit_code == 2
    assert "--verbose goes with --version" in alone.stderr


def test_missing_kernels_are_told_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the long version and by the benchmark; not by an import or a command."""
    told = "the compiled kernels are not in use (switched off by switched_off()): NumPy gives"
    monkeypatch.setattr("deltadyn.commands.bench.ROOT", Path("nowhere"))
    with switched_off():
        assert run("--version", "--verbose").output.count(told) == 1
        assert run("bench").stderr.count(f"note: {told}") == 1
        assert "kernels" not in run("robots").output


def test_an_import_without_kernels_warns_of_nothing() -> None:
    code = "import deltadyn; deltadyn.load_robot('example-delta')"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "DELTADYN_KERNELS": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.full
def test_a_table_below_the_mark_survives_a_run(project: Path) -> None:
    call = ("sizing", ".", "--payloads", "0", "--cycles", "30")
    assert run(*call).exit_code in (0, 1)
    own = '\n  # for the night\n  [simulate]\nmotion = "adept"  # short\n[payload]\n'
    with (project / FILE).open("a") as file:
        file.write(own)
    assert run(*call).exit_code in (0, 1)
    assert run("check", ".").exit_code in (0, 1)
    text = (project / FILE).read_text()
    assert own.strip() in text
    assert text.count(MARK) == 1
    found = tomllib.loads(text)
    assert found["simulate"] == {"motion": "adept"}
    assert set(found["runs"]) == {"sizing", "check"}
    assert text.index("[simulate]") < text.index(MARK) < text.index("[runs.sizing]")


@pytest.mark.full
def test_a_project_file_without_the_mark_is_kept_too(project: Path) -> None:
    call = ("sizing", ".", "--payloads", "0", "--cycles", "30")
    assert run(*call).exit_code in (0, 1)
    text = (project / FILE).read_text().replace(MARK, "# mine")
    (project / FILE).write_text(text)
    assert run(*call).exit_code in (0, 1)
    again = (project / FILE).read_text()
    assert "# mine" in again
    assert again.count("[runs.sizing]") == 1


def test_text_that_looks_like_a_run_is_not_lost(project: Path) -> None:
    call = ("sizing", ".", "--payloads", "0", "--cycles", "30")
    odd = '\n[simulate]\nmotion = """\n[runs.x]\nadept"""\n'
    with (project / FILE).open("a") as file:
        file.write(odd)
    before = (project / FILE).read_bytes()
    told = run(*call)
    assert "your tables above the line" in told.stderr
    assert (project / FILE).read_bytes() == before


def test_no_password_is_written_into_the_project_file(project: Path) -> None:
    """A stream that nobody serves, and a folder of logs that is not there: both fail or end."""
    from deltadyn.commands.project import _without_secrets

    urls = {
        "live": "mqtt://user:secret1@127.0.0.1:1/cell",
        "store": "postgresql+psycopg://user:secret2@127.0.0.1/name",
        "webhook": "https://hooks.example/services/secret3/secret4?x=secret5",
        "source": "s3://key:secret6@bucket/logs",
    }
    for name, url in urls.items():
        assert "secret" not in _without_secrets(name, url)
    for words in (
        ["--live", "mqtt://user:***@host/cell", "--", "."],
        ["--storage", "secret=***", "--", ".", "logs"],
    ):
        record = f"\n{MARK}\n[runs.payload]\narguments = {json.dumps(words)}\n"
        (project / FILE).write_text(f'[project]\nrobot = "robot.yaml"\n{record}')
        told = run("repeat", "payload")
        assert told.exit_code == 2
        assert "passwords and keys are not kept" in told.stderr


def test_no_key_of_an_object_store_is_written_into_the_project_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = SimpleNamespace(notes=(), rows=(), as_dict=dict)
    monkeypatch.setattr("deltadyn.fleet.payload_fleet", lambda *_, **__: nothing)
    given = {
        "key": "value1",
        "secret": "value2",
        "sas_token": "value3",
        "endpoint_url": "http://me:value4@nas:9000",
        "region": "north",
    }
    words = [word for key, value in given.items() for word in ("--storage", f"{key}={value}")]
    assert run("fleet", "payload", ".", "logs", "--json", *words).exit_code == 1, "no picks"
    text = (project / FILE).read_text()
    recorded = tomllib.loads(text)["runs"]["fleet payload"]["arguments"]
    assert "value" not in text
    assert {"key=***", "secret=***", "sas_token=***", "region=north"} <= set(recorded)
    told = run("repeat", "fleet", "payload")
    assert told.exit_code == 2
    assert "passwords and keys are not kept" in told.stderr


@pytest.mark.parametrize(
    "table",
    [
        "[runs.check]",
        '[runs.none]\narguments = ["--", "."]',
        '[runs."fleet none"]\narguments = []',
        '[runs.repeat]\narguments = ["--", "repeat"]',
        '[runs.check]\narguments = ["--", "\\u0000"]',
        '[runs.check]\narguments = ["--help"]',
        '[runs.check]\ndeltadyn = 3\narguments = ["--", "."]',
        '[runs.check]\narguments = ["--", "."]\n[runs.check.inputs]\n"a\\u0000" = "x"',
    ],
)
def test_a_damaged_record_is_refused_in_a_sentence(project: Path, table: str) -> None:
    with (project / FILE).open("a") as file:
        file.write(f"\n{MARK}\n{table}\n")
    name = tomllib.loads(table)["runs"]
    told = run("repeat", *next(iter(name)).split())
    assert told.exception is None or isinstance(told.exception, SystemExit), told.exception
    assert told.exit_code in (0, 1, 2)
