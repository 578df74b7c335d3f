"""The command line: what it prints, its JSON and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deltadyn.cli import main


def run(*arguments: str) -> Result:
    """One call of the command line."""
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.parametrize("command", [(), ("demo",), ("robots",), ("reproduce", "audit")])
def test_help_shows_an_example(command: tuple[str, ...]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    if command:
        assert "Example: deltadyn " + " ".join(command) in result.output


def test_demo_shows_round_trip_ladder_and_picture(tmp_path: Path) -> None:
    result = run("demo", "--out", str(tmp_path), "--robot", "example-delta-4")
    assert result.exit_code == 0, result.output
    assert "largest |FK(IK(p)) - p|" in result.output
    for model in ("exact", "rigid", "half-half", "virtual-work", "projected-rod"):
        assert model in result.output
    page = (tmp_path / "picture.html").read_text()
    assert "example-delta-4" in page
    assert "plotly" in page.lower()


def test_demo_json_carries_units_and_a_small_round_trip(tmp_path: Path) -> None:
    result = run("demo", "--out", str(tmp_path), "--json")
    record = json.loads(result.output)
    assert record["robot"] == "sipro-d3-1200"
    assert record["round_trip_m"] < 1e-13  # some roundings of 1 m
    half = next(rung for rung in record["ladder"]["rungs"] if rung["model"] == "half-half")
    assert 1.0 < half["rms_arms_Nm"] < 5.0


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


def test_import_is_light() -> None:
    """Heavy libraries are imported where they are used."""
    heavy = ("plotly", "scipy.interpolate", "matplotlib", "mujoco")
    code = f"import sys, deltadyn; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
