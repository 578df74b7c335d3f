"""Several fits side by side."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from tests.report.cases import Page, log, robot, whole_study

import deltadyn as dd
from deltadyn.errors import InputError
from deltadyn.report import compare_fits, write_report


def record() -> dict[str, Any]:
    """A record that a test may change."""
    return copy.deepcopy(whole_study().fit.as_dict())


def shifted(name: str, deviations: float) -> dict[str, Any]:
    """The same fit with one parameter off by so many deviations of a single fit."""
    out = record()
    for row in out["parameters"]:
        if row["name"] == name:
            row["value"] += deviations * row["std"]
    return out


@pytest.mark.full
def test_only_what_leaves_the_interval_of_the_difference_has_changed() -> None:
    # the deviation of a difference is 1.414 times that of one: the border is 1.96 * 1.414 = 2.77
    found = compare_fits({"may": record(), "june": shifted("A", 2.7), "july": shifted("A", 2.9)})
    (change,) = found.beyond
    assert (change.fit, change.parameter) == ("july", "A")
    assert len(found.changes) == 2 * len(whole_study().fit.names)
    assert found.status == (
        f"1 of {len(found.changes)} comparisons with may differ beyond their 95 % interval; "
        f"chance alone gives about {0.05 * len(found.changes):.2g}."
    )
    assert str(change).startswith("july: A is ")
    assert "(2.05 deviations)" in str(change)  # 2.9 / 1.414
    assert [row["beyond"] for row in found.as_dict()["changes"]].count(True) == 1


@pytest.mark.full
def test_files_of_fits_and_reports_are_read(tmp_path: Path) -> None:
    done = whole_study()
    other = dd.identify(robot(), log(2), "base", unidentifiable="hold")
    _, first = done.fit.save(tmp_path / "first")
    report = write_report(done, tmp_path / "report.html").with_suffix(".json")
    found = compare_fits([first, str(report), other])
    assert list(found.records) == ["first", "report", "base 3"]
    assert found.verdicts == {"report": done.verdict.grade}
    assert not any(item.beyond for item in found.changes if item.fit == "report")
    told = dict(found.differences)
    assert told["method"] == ("convex", "convex", "base")
    assert "robot file" not in told
    page = Page(found.page(tmp_path / "compare.html").read_text("utf-8"))
    assert page.links == ["#contents", "#parameters", "#residuals", "#provenance"]
    assert page.fetched == []
    table = page.table("parameters", "Value")
    fit = done.fit
    value, width = table.column("first")[0].split(" ± ")
    assert float(value) == pytest.approx(float(fit.values[0]), rel=5e-4)  # four digits
    assert float(width) == pytest.approx(1.96 * float(fit.std[0]), rel=6e-2)  # two digits
    verdicts = page.table("residuals", "RMS").column("verdict")
    assert verdicts == ["-", done.verdict.grade, "-"]
    written = json.loads((tmp_path / "compare.json").read_text())
    assert written["status"] == found.status


@pytest.mark.full
def test_parameters_that_one_fit_lacks_are_named() -> None:
    short = record()
    gone = short["parameters"].pop()["name"]
    found = compare_fits([record(), short])
    assert found.only_in_some == {gone: ("convex 1",)}
    assert all(item.parameter != gone for item in found.changes)


def test_same_names_are_kept_apart_and_nothing_in_common_is_said(tmp_path: Path) -> None:
    other = record()
    for row in other["parameters"]:
        row["name"] = f"my {row['name']}"
    found = compare_fits({"a": record(), "b": other})
    assert found.status == "The fits have no parameter in common whose deviation is known."
    assert "Nothing to compare" in found.page(tmp_path / "none.html").read_text("utf-8")
    for folder in ("one", "two"):
        whole_study().fit.save(tmp_path / folder / "mine")
    twice = compare_fits([tmp_path / "one" / "mine.json", tmp_path / "two" / "mine.json"])
    assert list(twice.records) == ["mine", "mine (2)"]


def test_wrong_records_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fits to compare is 1; allowed: at least 2"):
        compare_fits([record()])
    broken = record()
    del broken["parameters"]
    with pytest.raises(InputError, match="entry 'parameters' at record 2 is 'missing'"):
        compare_fits([record(), broken])
    text = tmp_path / "text.json"
    text.write_text("no JSON")
    with pytest.raises(InputError, match="a JSON file as a fit or a report writes it"):
        compare_fits([record(), text])
    text.write_text("[1]")
    with pytest.raises(InputError, match="a JSON file as a fit or a report writes it"):
        compare_fits([record(), text])
    with pytest.raises(InputError, match="fit 2 is 'int'; allowed: a Fit, a record or a JSON"):
        compare_fits([record(), 3])  # type: ignore[list-item]
    less = record()
    del less["parameters"][0]["std"]
    with pytest.raises(InputError, match="entry 'std' of a parameter at record 1"):
        compare_fits([less, record()])
