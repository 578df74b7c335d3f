"""`deltadyn sizing`, and the loads of `deltadyn simulate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deltadyn.cli import main
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import Limits


def run(*arguments: str) -> Result:
    """One call of the command line."""
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.full
def test_sizing_prints_the_table_and_the_cycles(tmp_path: Path) -> None:
    page = tmp_path / "sizing.html"
    done = run(
        "sizing", "example-delta", "--payloads", "0,2", "--cycles", "60,150", "--out", str(page)
    )
    assert done.exit_code == 0, done.output
    assert "example-delta, Adept cycle: largest values" in done.output
    assert "no: torque_rms of axis 1 binds" in done.output
    assert "rated by its maker: 120" in done.output
    assert f"written: {page}" in done.output
    assert page.stat().st_size > 1_000_000  # plotly's script is inside


def test_sizing_json_holds_the_cases_and_the_rates() -> None:
    done = run("sizing", "nt-robot", "--payloads", "0", "--cycles", "60,90", "--json")
    record = json.loads(done.output)
    assert [case["cycles_per_minute"] for case in record["cases"]] == [60, 90]
    assert record["rates"]["rated_per_minute"] == 120
    assert record["rates"]["rows"][0]["fastest_per_minute"] > 123
    assert record["page"] is None


def test_sizing_says_no_where_no_case_may_run() -> None:
    done = run("sizing", "nt-robot", "--payloads", "9", "--cycles", "60")
    assert done.exit_code == 1
    assert "no: payload binds" in done.output
    assert "no fastest cycle: no payload is within the robot's limit" in done.output


@pytest.mark.full
def test_sizing_of_a_robot_without_limits_has_no_fastest_cycle(tmp_path: Path) -> None:
    path = tmp_path / "bare.yaml"
    load_robot("nt-robot").replace(limits=Limits()).save(path)
    done = run("sizing", str(path), "--cycles", "60", "--json")
    record = json.loads(done.output)
    assert record["rates"] is None
    assert "names no limit that bounds the pace" in record["rates_missing"]
    assert record["cases"][0]["binding"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cycles", "60;90"], "--cycles is '60;90'; allowed: numbers with commas between them"),
        (["--payloads", "-1"], "payloads at place 0 is -1; allowed: a number of kg from 0"),
        (["--share", "0"], "share is 0; allowed: a number above 0 and at most 1"),
    ],
)
def test_sizing_refuses_in_one_sentence(arguments: list[str], message: str) -> None:
    done = run("sizing", "nt-robot", *arguments)
    assert done.exit_code == 2
    assert message in done.output


def test_sizing_help_shows_an_example() -> None:
    assert "Example: deltadyn sizing sipro-d3-1200" in run("sizing", "--help").output


@pytest.mark.full
def test_simulate_prints_the_loads(tmp_path: Path) -> None:
    log, page = tmp_path / "log.csv", tmp_path / "loads.html"
    arguments = ["simulate", "sipro-d3-1200", "--motion", "gate", "--preset", "ideal"]
    arguments += ["--payload", "1", "--out", str(log)]
    done = run(*arguments, "--loads", "--loads-page", str(page))
    assert done.exit_code == 0, done.output
    assert "loads of the true motion:\nsipro-d3-1200, payload 1 kg" in done.output
    assert "preload needed in cups of 45 deg" in done.output
    assert page.exists()
    without = run(*arguments)
    assert "preload needed" not in without.output
    record = json.loads(run(*arguments, "--json").output)
    assert record["loads"]["payload_kg"] == 1
    assert max(record["loads"]["drives"]["torque_peak_Nm"]) > 1
    assert record["loads_page"] is None
