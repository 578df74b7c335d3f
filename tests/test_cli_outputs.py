"""Outputs and errors as a stranger meets them: pipes, folders, wrong calls with --json."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deltadyn.cli import main

ROBOT = "sipro-d3-1200"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (("simulate", ROBOT, "--nope", "--json"), "NoSuchOption"),
        (("simulate", "--json"), "MissingParameter"),
        (("simulate", ROBOT, "--rate", "fast", "--json"), "BadParameter"),
        (("history", "show", "first", "--json"), "BadParameter"),
        (("export", ROBOT, "papyrus", "--json"), "UnknownNameError"),
    ],
)
def test_wrong_calls_are_told_as_json(call: tuple[str, ...], kind: str) -> None:
    done = run(*call)
    assert done.exit_code == 2
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == kind
    assert error["message"]
    assert "--help` shows an example" in error["hint"] or kind == "UnknownNameError"


def test_without_json_a_wrong_call_is_told_as_before() -> None:
    done = run("simulate", ROBOT, "--nope")
    assert done.exit_code == 2
    assert "Usage: " in done.stderr


def test_a_bad_project_file_is_told_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deltadyn.toml").write_text("x = [")
    monkeypatch.chdir(tmp_path)
    done = run("robots", "--json")
    assert done.exit_code == 2
    assert "TOML" in json.loads(done.stdout)["error"]["message"]


def test_an_export_neither_waits_for_a_pipe_nor_replaces_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "README-sheets.md")
    for more in ((), ("--force",)):
        done = run("export", ROBOT, "sheets", "--out", str(tmp_path), *more)
        assert done.exit_code == 2
        assert "no folder, pipe or device" in done.stderr
    assert (tmp_path / "README-sheets.md").is_fifo()
    assert [item.name for item in tmp_path.iterdir()] == ["README-sheets.md"]


def test_a_folder_as_output_gets_a_hint_that_fits(tmp_path: Path) -> None:
    done = run("simulate", ROBOT, "--out", str(tmp_path))
    assert done.exit_code == 2
    assert "hint: choose another folder with --out" in done.stderr


def test_a_run_that_cannot_be_recorded_says_that_its_result_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deltadyn.toml").write_text(f'[project]\nrobot = "{ROBOT}"\n')
    monkeypatch.chdir(tmp_path)

    def refuse(_context: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("deltadyn.commands.common.record_run", refuse)
    done = run("export", ".", "sheets", "--out", "results")
    assert done.exit_code == 2
    assert "the result is there, but the run could not be recorded" in done.stderr
    assert (tmp_path / "results" / "README-sheets.md").is_file()
