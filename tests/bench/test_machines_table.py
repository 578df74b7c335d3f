"""The table of machines: shares, quantiles and places in a page, from trials made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.machines.__main__ import campaign, parser, read_trials, seeds_of
from benchmarks.machines.table import by_cause, by_way, failures, markdown, plain, put
from benchmarks.machines.trial import Asked, Trial


def _trial(seed: int, way: str, found: list[str], error: float, **more: object) -> Trial:
    trial = Trial("load", seed, "sipro-d3-1200", 1.0, way, [], ["load"], 0.1, found)
    trial.error, trial.seconds, trial.search_seconds = error, 1.0, 0.5
    trial.inside, trial.half, trial.missing = 96.0, 1.0, False
    for name, value in more.items():
        setattr(trial, name, value)
    return trial


def _trials() -> list[Trial]:
    wide, narrow = {"A": 2.0, "G": 3.0}, {"A": 1.0, "G": 2.0}
    return [
        _trial(0, "auto", ["load"], 0.2, covered={"A": True, "G": True}, width=wide),
        _trial(0, "oracle", ["load"], 0.2, covered={"A": True, "G": True}, width=narrow),
        _trial(1, "auto", ["delay", "load"], 0.4, covered={"A": False, "G": True}, width=narrow),
        _trial(1, "oracle", ["load"], 0.2, covered={"A": True, "G": True}, width=narrow),
        _trial(2, "auto", [], 0.0, broken="InputError: no"),
    ]


def test_a_row_sums_up_the_trials_of_a_cause() -> None:
    titles, row = by_cause(_trials())
    told = dict(zip(titles, row, strict=True))
    assert told["cause"] == "load"
    assert told["fits"] == "2 of 3"
    assert (told["exact %"], told["named %"], told["false terms"]) == ("50", "100", "0.50")
    assert (told["error %"], told["oracle %"], told["file %"]) == ("0.30", "0.20", "-")
    assert told["to oracle: 95 %, max"] == "1.95, 2.00"
    assert told["cover % (lowest)"] == "75 (A 50)"
    assert told["width / oracle"] == "1.38"  # means of (2, 1.5) and (1, 1)
    assert told["alarm %"] == "0"


def test_alarms_are_due_where_other_terms_do_not_stand_in() -> None:
    trials = _trials()[:4]
    for trial in trials:
        trial.without = ["load"] if trial.way == "auto" else []
    trials[2].missing = True  # at twice the oracle's error; the other is at the oracle's
    titles, row = by_cause(trials)
    told = dict(zip(titles, row, strict=True))
    assert (told["alarm %"], told["absorbed, alarms"]) == ("100", "1, 0")
    assert dict(zip(*by_cause(_trials()), strict=True))["absorbed, alarms"] == "-"


def test_a_run_goes_on_where_it_stood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: list[tuple[str, int]] = []

    def measure(asked: Asked) -> list[Trial]:
        measured.append((asked.cause, asked.seed))
        found = [_trial(asked.seed, way, ["load"], 0.2) for way in asked.ways]
        return [replace(trial, cause=asked.cause, robot=asked.robot) for trial in found]

    monkeypatch.setattr("benchmarks.machines.__main__.measure", measure)
    monkeypatch.chdir(tmp_path)
    words = ["--causes", "load,none", "--dof", "4", "--methods", "auto", "--seeds"]
    first = campaign(parser().parse_args([*words, "100"]))
    assert measured == [("load", 100), ("none", 100)]
    assert {trial.robot for trial in first} == {"example-delta-4"}
    path = tmp_path / "build/machines/example-delta-4_seeds-100-100.jsonl"
    assert len(read_trials([str(path)])) == 2
    path.rename(tmp_path / "mine.jsonl")
    both = campaign(parser().parse_args([*words, "100-101", "--json", "mine.jsonl"]))
    assert measured[2:] == [("load", 101), ("none", 101)]
    assert len(both) == 4
    more = [*words, "100-101", "--json", "mine.jsonl", "--methods", "auto,file"]
    assert [trial.way for trial in campaign(parser().parse_args(more))][4:] == ["file"] * 4
    table = (tmp_path / "mine.md").read_text()
    assert table.startswith("| cause |")
    assert "| load | 2 of 2 |" in table
    assert "2 of 4 machines to measure" in capsys.readouterr().out


def test_ways_are_compared_cause_by_cause() -> None:
    titles, *rows = by_way(_trials())
    assert [row[0] for row in rows] == ["auto", "oracle"]
    assert titles[-1] == "load"
    assert rows[0][-1] == "0.30"


def test_what_failed_is_told_with_its_seed() -> None:
    assert failures(_trials()) == [
        "load 1 (strength 1.00): has load; found delay, load",
        "load 2 (strength 1.00): InputError: no",
    ]


def test_terms_without_a_name_cannot_be_named() -> None:
    trials = [_trial(0, "auto", ["delay"], 0.2, true=["hysteresis"])]
    titles, row = by_cause(trials)
    assert dict(zip(titles, row, strict=True))["exact %"] == "-"


def test_a_table_goes_to_its_place_in_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- weak: begin -->\nold\n<!-- weak: end -->\nb\n")
    put(page, "weak", "new")
    assert page.read_text() == "a\n<!-- weak: begin -->\nnew\n<!-- weak: end -->\nb\n"
    put(page, "other", "more")
    assert page.read_text().endswith("b\n\n<!-- other: begin -->\nmore\n<!-- other: end -->\n")
    rows = [["cause", "n"], ["load", "10"]]
    assert markdown(rows) == "| cause | n |\n|---|---|\n| load | 10 |"
    assert plain(rows) == "cause   n\nload   10"


def test_arguments_and_trials_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert seeds_of("0-2,7") == [0, 1, 2, 7]
    told = parser().parse_args(["--causes", "load+ripple,none", "--methods", "auto,l1"])
    assert told.causes == ("load+ripple", "none")
    with pytest.raises(SystemExit):
        parser().parse_args(["--causes", "rust"])
    assert "'rust'; allowed: none, friction" in capsys.readouterr().err
    path = tmp_path / "trials.jsonl"
    path.write_text("".join(json.dumps(trial.as_dict()) + "\n" for trial in _trials()))
    assert [trial.name for trial in read_trials([str(path)])][:2] == [
        "load 0 auto",
        "load 0 oracle",
    ]
