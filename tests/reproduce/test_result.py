"""The form of a reproduction: tables, checks, text, plain data and the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deltadyn.errors import InputError
from deltadyn.report import papers
from deltadyn.report.html import Section, write_sections
from deltadyn.report.papers import Figure
from deltadyn.reproduce import result
from deltadyn.reproduce.result import (
    Check,
    Paper,
    Reproduction,
    Table,
    by_joint,
    filled,
    words_of,
)

TABLE = Table(
    "Errors (N m)",
    ("model", "paper", "ours"),
    (("M_s", None, 1.234), ("M_<f>", 12, 0.5)),
    "A note.",
)


def drawn() -> Any:
    import plotly.graph_objects as go

    return go.Figure(go.Scatter(x=[0, 1], y=[0, 1]))


def reproduction(*checks: Check) -> Reproduction:
    return Reproduction(
        "key2020",
        "a title",
        (TABLE,),
        ("One sentence.",),
        checks,
    )


def test_a_table_is_aligned_text() -> None:
    assert str(TABLE).splitlines() == [
        "Errors (N m)",
        "  model  paper  ours",
        "  M_s        -  1.23",
        "  M_<f>     12  0.50",
        "  A note.",
    ]


def test_a_row_of_another_length_is_refused() -> None:
    text = "cells of table 'T' at row 1 is 1; allowed: 2, one per column"
    with pytest.raises(InputError, match=text):
        Table("T", ("a", "b"), ((1, 2), (1,)))


def test_checks_pass_and_fail() -> None:
    assert Check.at_least("x", 3.0, 3.0).passed
    assert not Check.at_least("x", 2.99, 3.0).passed
    assert Check.at_most("x", 3.0, 3.0).passed
    assert not Check.at_most("x", 3.01, 3.0).passed
    assert not Check.at_least("x", float("nan"), 3.0).passed
    assert not Check.at_most("x", float("nan"), 3.0).passed
    assert str(Check.at_most("x", 4.0, 3.0, "N m")) == "[NO] x: 4 N m, at most 3 N m"


def test_one_failed_check_fails_the_whole() -> None:
    good, bad = Check.at_least("good", 1.0, 0.0), Check.at_least("bad", -1.0, 0.0)
    assert reproduction(good).passed
    assert not reproduction(good, bad).passed
    assert "[NO] bad: -1, at least 0" in str(reproduction(good, bad))


def test_plain_data_are_json() -> None:
    table = Table("T", ("a", "b"), ((float("nan"), np.float64(1.5)),))
    found = Reproduction("key", "title", (table,), checks=(Check.at_least("x", np.nan, 1.0),))
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert data["tables"][0]["rows"] == [[None, 1.5]]
    assert data["checks"][0]["value"] is None
    assert data["passed"] is False


def test_the_page_needs_nothing_from_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(papers, "figures_of", lambda result: (Figure("A figure", drawn, "x"),))
    path = reproduction(Check.at_least("good", 1.0, 0.0)).page(tmp_path / "new" / "page.html")
    text = path.read_text("utf-8")
    assert "M_&lt;f&gt;" in text  # what is not markup is escaped
    assert "One sentence." in text
    assert "A figure" in text
    assert "[yes] good" in text
    assert len(text) > 1_000_000  # plotly's own script
    assert "<script src=" not in text


@pytest.mark.parametrize("count", [1, 2])
def test_a_page_of_one_section_has_no_contents(tmp_path: Path, count: int) -> None:
    sections = [Section(f"s{k}", f"Section {k}", ("<p>text</p>",)) for k in range(count)]
    text = write_sections(tmp_path / "page.html", "Title", "about", [], sections).read_text("utf-8")
    body = text[text.index("<body>") :]
    assert ("Contents" in body) == (count > 1)
    assert "Section 0" in body


PAPERS = ("falezza2020", "falezza2022", "gnad2024", "kim2022", "telescopic2022")


@pytest.mark.parametrize("key", PAPERS)
def test_every_word_of_a_paper_is_used(key: str) -> None:
    """Tables, claims, checks and figures of the file by name in the code, and no others."""
    names = words_of(key)
    folder = Path(result.__file__).parent
    sources = [*folder.glob(f"{key}.py"), *folder.glob(f"{key}/*.py")]
    sources.append(Path(papers.__file__).parent / f"{key}.py")
    code = "\n".join(path.read_text("utf-8") for path in sources)
    for table in names["tables"]:
        assert re.search(rf'PAPER\.table\(\s*"{table}"', code), table
    for claim in names.get("claims", ()):
        assert re.search(rf'PAPER\.claim\(\s*"{claim}"', code), claim
    for check in names["checks"]:
        assert re.search(rf'\b{check}=|"{check}"', code), check
    for figure in names["figures"]:
        assert f'"{figure}": partial(' in code, figure


def test_words_show_numbers() -> None:
    values = {"a": np.array([1.0, 2.5]), "b": 3.14159, "c": {"x.m": 2.0}}
    assert filled("{a:.1f} and {a:span.2f}; {b:.2f} {c[x.m]:g}", values) == (
        "1.0, 2.5 and 1.00 to 2.50; 3.14 2"
    )
    with pytest.raises(KeyError, match="missing"):
        filled("{missing}", values)


def test_rows_are_flat_and_by_joint() -> None:
    paper = Paper("kim2022")
    rows = [("swarm", "11", (None, None, None), np.array([0.5, np.float64(0.25), 1.0]))]
    assert paper.table("fitness", rows).rows == (("swarm", "11", *(None,) * 3, 0.5, 0.25, 1.0),)
    assert by_joint("a", (1, 2, 3), None) == [("a", 1, None), ("a", 2, None), ("a", 3, None)]


def test_a_check_is_made_for_each_of_several_values() -> None:
    checks = Paper("kim2022").checks(swarm={"tau_1": 0.5, "tau_2": 0.9}, near=0.0)
    assert [check.passed for check in checks] == [True, False, True]
    assert checks[1].what == "1 - fitness of proposed (swarm) over that of RLS as printed, tau_2"
    assert Check.of("x", 1.0, "equal", 2, "").allowed == "2, as in the paper"
    assert not Check.of("x", 0.0, "above", 0).passed
