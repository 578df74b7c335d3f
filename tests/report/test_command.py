"""`deltadyn report` through its command object."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.report.cases import log, picks_log, robot, whole_study

from deltadyn.commands.fit import report
from deltadyn.recording import write_recording


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("command")
    for name, recording in (("log", log(1)), ("held", log(2)), ("picks", picks_log())):
        write_recording(recording, place / f"{name}.csv")
    robot().save(place / "robot.yaml")
    return place


def call(*arguments: object) -> Result:
    return CliRunner().invoke(report, [str(item) for item in arguments])


@pytest.mark.full
def test_a_report_is_written_and_its_verdict_printed(folder: Path) -> None:
    out = folder / "out" / "mine.html"
    found = call(
        folder / "robot.yaml", folder / "log.csv", "--validate", folder / "held.csv",
        "--methods", "convex, base", "--payload-log", folder / "picks.csv",
        "--empty", folder / "held.csv", "--out", out, "--json",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert told["files"] == {"page": str(out), "numbers": str(out.with_suffix(".json"))}
    record = json.loads(out.with_suffix(".json").read_text())
    assert told["verdict"] == record["verdict"]
    assert [row["method"] for row in record["sections"]["methods"]["methods"]] == ["convex", "base"]
    picks = record["sections"]["picks"]
    assert len(picks["picks"]) == 3
    assert "assumed" not in picks["noise"]  # it comes from the empty log
    held = record["sections"]["provenance"]["held_out"][0]
    assert held["file"].endswith("held.csv")
    assert len(held["file_sha256"]) == 64


@pytest.mark.full
def test_without_held_out_data_it_says_that_it_cannot_tell(folder: Path) -> None:
    found = call("example-delta", folder / "log.csv", "--methods", "base", "--out",
                 folder / "plain")  # fmt: skip
    assert found.exit_code == 0, found.output
    assert "verdict: cannot tell" in found.stdout
    assert "identify by base ..." in found.stderr
    assert (folder / "plain.html").is_file()
    assert (folder / "plain.json").is_file()


@pytest.mark.full
def test_a_model_that_fails_on_other_data_ends_with_status_1(folder: Path) -> None:
    wrong = log(2).replace(tau=0.4 * log(2).tau)  # another gear
    write_recording(wrong, folder / "wrong.csv")
    found = call("example-delta", folder / "log.csv", "--validate", folder / "wrong.csv",
                 "--methods", "base", "--out", folder / "wrong.html")  # fmt: skip
    assert found.exit_code == 1, found.output
    assert "verdict: not to be trusted" in found.stdout
    assert (folder / "wrong.html").is_file()


@pytest.mark.full
def test_fits_are_compared(folder: Path, tmp_path: Path) -> None:
    for name in ("may", "june"):
        whole_study().fit.save(tmp_path / name)
    out = tmp_path / "compare.html"
    found = call("--compare", tmp_path / "may.json", tmp_path / "june.json", "--out", out)
    assert found.exit_code == 0, found.output
    assert "0 of 10 comparisons with may differ beyond their 95 % interval" in found.stdout
    assert out.is_file()
    as_json = call("--compare", tmp_path / "may.json", tmp_path / "june.json", "--out", out,
                   "--json")  # fmt: skip
    assert json.loads(as_json.stdout)["first"] == "may"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "call is 'no log'; allowed: a robot and at least one log, or --compare"),
        (("example-delta",), "a robot and at least one log"),
        (("example-delta", "fit.json"), "log is 'fit.json'; allowed: a log; pass --compare"),
        (("--compare", "a.json"), "fits to compare is 1; allowed: at least 2"),
        (("--compare",), "fits to compare is 0; allowed: at least 2"),
        (
            ("--compare", "a.json", "b.json", "--validate", "x.csv"),
            "--validate is ['x.csv']; allowed: left out with --compare",
        ),
        (("--compare", "a.json", "b.json"), "No such file or directory: 'a.json'"),
        (("example-delta", "none.csv"), "none.csv"),
    ],
)
def test_wrong_calls_say_what_to_do(arguments: tuple[str, ...], message: str) -> None:
    found = call(*arguments)
    assert found.exit_code == 2
    assert message in found.stderr
    assert "Traceback" not in found.output


def test_the_help_has_an_example() -> None:
    found = call("--help")
    assert found.exit_code == 0
    assert "Example: deltadyn report mine.yaml log.csv" in " ".join(found.stdout.split())
