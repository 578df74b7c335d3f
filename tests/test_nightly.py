"""`make nightly`: every campaign runs, a failure does not stop the others, the table says it."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path

import pytest
from tools import nightly, roundings
from tools.nightly import CAMPAIGNS, Campaign, Figure, junit, main, run, stated

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reliability.md"


def copied(name: str, figure: str, reached: bool, folder: Path) -> Campaign:
    """A campaign that copies a figure which is there before it begins."""
    source = folder / f"{name}-source.json"
    source.write_text(json.dumps({"figure": figure, "reached": reached}), "utf-8")
    command = f"json.tool {source} {{out}}/{name}.json"
    return Campaign(name, "it is copied", command, 1, stated(f"{name}.json"))


def test_every_campaign_is_run_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One passes, one ends with an error, one is not good enough, one takes too long."""
    broken = Campaign("broken", "never", "json.tool {out}/none.json", 1, stated("broken.json"))
    slow = "timeit -n 1 __import__('time').sleep(60)"
    campaigns = (
        copied("good", "3 of 3", True, tmp_path),
        broken,
        copied("bad", "2 of 3", False, tmp_path),
        Campaign("slow", "soon", slow, 0.01, lambda out: Figure("begun", True)),
    )
    monkeypatch.setattr(nightly, "CAMPAIGNS", campaigns)
    out = tmp_path / "out"
    assert main(["--out", str(out)]) == 1
    rows = {row["name"]: row for row in json.loads((out / "summary.json").read_text())}
    assert {name: row["passed"] for name, row in rows.items()} == {
        "good": True,
        "broken": False,
        "bad": False,
        "slow": False,
    }
    assert rows["broken"]["figure"].startswith("no figure: FileNotFoundError")
    assert "exit status" in rows["broken"]["figure"]
    assert rows["slow"]["figure"] == "begun; stopped after 0.01 min"
    assert (out / "broken.log").read_text()
    printed = capsys.readouterr().out
    assert re.search(r"good +it is copied +3 of 3 +passed", printed)
    assert re.search(r"bad +it is copied +2 of 3 +FAILED", printed)

    assert main(["--out", str(out), "--only", "good"]) == 0
    assert len(json.loads((out / "summary.json").read_text())) == 4
    with pytest.raises(SystemExit, match="no campaign 'other'; there are good, broken"):
        main(["--only", "other"])


def test_an_old_result_does_not_pass_for_a_new_one(tmp_path: Path) -> None:
    stays = Campaign("old", "", "json.tool {out}/none.json {out}/old.json", 1, stated("old.json"))
    (tmp_path / "old.json").write_text(json.dumps({"figure": "well", "reached": True}))
    assert "no figure" in run(stays, tmp_path).figure
    folder = Campaign("old", "", "json.tool {out}/none.json {out}/own", 1, stated("own/old.json"))
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "old.json").write_text(json.dumps({"figure": "well", "reached": True}))
    assert "no figure" in run(folder, tmp_path).figure


def test_figures_of_tests(tmp_path: Path) -> None:
    text = '<testsuites><testsuite tests="{}" failures="{}" errors="0" skipped="{}"/></testsuites>'
    path = tmp_path / "a.xml"
    for numbers, expected in (
        ((5, 0, 1), Figure("4 of 4 tests passed, 1 skipped", True)),
        ((5, 2, 0), Figure("3 of 5 tests passed", False)),
        ((1, 0, 1), Figure("0 of 0 tests passed, 1 skipped", False)),
    ):
        path.write_text(text.format(*numbers))
        assert junit("a.xml")(tmp_path) == expected


def test_figures_of_machines(tmp_path: Path) -> None:
    def written(*trials: tuple[str, str, list[bool]]) -> Figure:
        lines = [
            json.dumps({"way": way, "broken": broken, "covered": dict(enumerate(held))})
            for way, broken, held in trials
        ]
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        return nightly.intervals("a.jsonl")(tmp_path)

    good = ("auto", "", [True] * 19 + [False])
    assert written(good, ("file", "", [False])).reached
    assert not written(good, ("auto", "InputError: no", [])).reached
    assert not written(("auto", "", [True, False])).reached
    assert not written().reached


def test_figures_of_the_other_benchmarks(tmp_path: Path) -> None:
    case = {"foreign": True, "decided": True, "wrong": [], "changed": True, "refused": False}
    right = case | {"foreign": False, "changed": False}
    for cases, reached in (
        ([case, right], True),
        ([case | {"wrong": ["sign"]}, right], False),
        ([case | {"wrong": ["sign"], "decided": False}, right], True),
        ([case, right | {"changed": True}], False),
    ):
        (tmp_path / "foreign.json").write_text(json.dumps(cases))
        assert nightly.foreign(tmp_path).reached is reached
    stands: dict[str, object] = {"offset_deg": [0, 0, 0], "answer": "cannot tell"}
    off: dict[str, object] = {"offset_deg": [0, 12.0, 0], "answer": "right"}
    homing: tuple[tuple[list[dict[str, object]], bool], ...] = (
        ([stands, off], True),
        ([stands | {"answer": "wrong"}, off], False),
        ([stands, off | {"answer": "wrong"}], False),
        ([], False),
    )
    for cases, reached in homing:
        (tmp_path / "homing.json").write_text(json.dumps(cases))
        assert nightly.homing(tmp_path).reached is reached
    for count, reached in ((24, True), (25, False)):
        record = {"none": {"alarms": [{"hours": 8.0, "count": {"1.0": count}}]}}
        (tmp_path / "force.json").write_text(json.dumps(record))
        assert nightly.contacts(tmp_path).reached is reached
    for seen, false, reached in (("30/30", 0, True), ("29/30", 0, False), ("30/30", 1, False)):
        rows = [{"by": "bank", "seen": seen, "false": false}]
        (tmp_path / "payload.json").write_text(json.dumps({"rows": rows}))
        assert nightly.picks(tmp_path).reached is reached
    for left, apart, reached in (("1.10", "2e-16", True), ("1.60", "0e+00", False)):
        line = f"| par4 | 5.7 | {left} % | 2.00 % | {apart} | 20 s |"
        (tmp_path / "family.log").write_text(f"| kind | condition |\n|---|---|\n{line}\n")
        assert nightly.family(tmp_path).reached is reached
    for marks, reached in (([True, None], True), ([True, False], False), ([None], False)):
        (tmp_path / "calibration.json").write_text(json.dumps([{"reached": x} for x in marks]))
        assert nightly.calibration(tmp_path).reached is reached


def test_commands_of_campaigns_exist() -> None:
    assert len({campaign.name for campaign in CAMPAIGNS}) == len(CAMPAIGNS)
    for campaign in CAMPAIGNS:
        assert_exists(f"python -m {campaign.command}")


def test_what_the_page_names_exists() -> None:
    """Tests, commands and campaigns of docs/reliability.md, each row with a date."""
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.startswith("| promise")]
    assert len(rows) > 20
    for row in rows:
        _, promise, held, figure, date, _ = row.split("|")
        assert promise.strip()
        assert figure.strip(), row
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", date.strip()), row
        named = re.findall(r"`([^`]+)`", held)
        assert named, row
        for text in named:
            assert_exists(text)


def assert_exists(text: str) -> None:
    """A file or test of ours, a command, or a campaign."""
    words = shlex.split(text)
    if words[0] == "nightly":
        assert words[1] in {campaign.name for campaign in CAMPAIGNS}, text
        return
    if words[:2] == ["python", "-m"]:
        if words[2] != "pytest":
            assert importlib.util.find_spec(words[2]) is not None, text
            return
        words = words[3:]
    for place in (word for word in words if word.startswith("tests/")):
        path, _, test = place.partition("::")
        assert (ROOT / path).exists(), text
        if test:
            assert f"def {test}(" in (ROOT / path).read_text("utf-8"), text


@pytest.mark.full
def test_a_rounding_whose_tests_fail_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests see the rounding's variables, and designs that are too far apart fail as well."""
    path, out = tmp_path / "test_one.py", tmp_path / "a.json"
    path.write_text("import os\ndef test_one():\n    assert os.environ['WORD'] == 'a'\n", "utf-8")
    found = [roundings.Rounding(word, {"WORD": word}) for word in "ab"]
    monkeypatch.setattr(roundings, "roundings", lambda: found)
    numbers = {"a": 2.0, "b": 2.1}
    monkeypatch.setattr(roundings, "designs", lambda given: [("one", numbers[given["WORD"]])])
    words = ["--tests", str(path), "--json", str(out)]
    assert roundings.main(words) == 1
    text = "1 of 2 roundings pass (not b), designs at most 5.0 % apart"
    assert json.loads(out.read_text()) == {"figure": text, "reached": False}
    assert roundings.main([*words, "--only", "a"]) == 0
    numbers["b"] = 3.0
    path.write_text("def test_one():\n    pass\n", "utf-8")
    assert roundings.main(words) == 1
    with pytest.raises(SystemExit, match="no rounding 'c'"):
        roundings.main(["--only", "c"])
