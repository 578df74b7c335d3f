"""`deltadyn history drift` on a history of the machine's own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.history.drift_cases import history, once, step
from tests.history.test_drift_alarms import server
from tests.payload.streams import free_port

from deltadyn.cli import main
from deltadyn.commands.drift import tell, watch_all
from deltadyn.errors import InputError
from deltadyn.history import Drift, DriftOptions, History


@pytest.fixture(scope="module")
def found() -> list[Drift]:
    """Two robots: one with a fault since 14 February, one without."""
    worn = history(60, factors={"Fc2": step(40, 0.38), "A1": once(20, 0.3)})
    sound = [replace(entry, serial="cell/8") for entry in history(20, 1)]
    return watch_all([*worn, *sound], DriftOptions())


def test_every_robot_is_watched(found: list[Drift]) -> None:
    assert [item.serial for item in found] == ["cell-7", "cell/8"]
    assert [len(item.changes) for item in found] == [1, 0]


def test_the_answer_is_printed_with_a_page_each(
    found: list[Drift], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tell(found, None, str(tmp_path / "d.html"), False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d-cell-7.html", "d-cell_8.html"]
    page = (tmp_path / "d-cell-7.html").read_text("utf-8")
    assert "Coulomb friction of axis 2 up 38 % since 14 February" in page
    assert "Odd nights" in page
    said = capsys.readouterr().out
    assert "Coulomb friction of axis 2 up 38 %" in said
    assert "No change of cell/8" in said


def test_alarms_before_since_do_not_count(found: list[Drift]) -> None:
    (change,) = found[0].changes
    assert tell(found, change.raised, None, False)
    assert not tell(found, found[0].times[-1], None, False)


def test_json_and_messages(found: list[Drift], capsys: pytest.CaptureFixture[str]) -> None:
    with server() as (url, received):
        assert tell(found, None, None, True, webhook=url)
    record = json.loads(capsys.readouterr().out)
    assert [len(item["alarms"]) for item in record["robots"]] == [1, 0]
    assert record["not_sent"] == []
    assert [got["serial"] for _, _, got in received] == ["cell-7"]


def test_a_message_that_fails_does_not_lose_the_answer(
    found: list[Drift], capsys: pytest.CaptureFixture[str]
) -> None:
    assert tell(found, None, None, True, webhook=f"http://127.0.0.1:{free_port()}/")
    said = capsys.readouterr()
    assert len(json.loads(said.out)["not_sent"]) == 1
    assert "did not take the message" in said.err


def test_an_empty_history_is_refused() -> None:
    with pytest.raises(InputError, match="at least one fit or log"):
        watch_all([], DriftOptions())


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["history", "drift", *words])


def test_the_whole_command(tmp_path: Path) -> None:
    store = str(tmp_path / "history.db")
    with History(store) as kept:
        for number, entry in enumerate(history(45, factors={"Fc2": step(30, 0.38)})):
            kept.add(replace(entry, log=f"{number:064x}"))
    done = run("--store", store)
    assert done.exit_code == 1, done.output
    assert "Coulomb friction of axis 2 up 38 % since 4 February" in done.output
    later = run("--store", store, "--since", "2026-02-18", "--json")
    assert later.exit_code == 0, later.output
    assert len(json.loads(later.output)["robots"][0]["changes"]) == 1
    assert run("--store", store, "--serial", "nobody").exit_code == 2


def test_wrong_calls_are_refused(tmp_path: Path) -> None:
    for words in (["--webhook", "ftp://x/y"], ["--mqtt", "http://x/y"], ["--smallest", "2"]):
        done = run("--store", str(tmp_path / "none.db"), *words)
        assert done.exit_code == 2, done.output
