"""The form of a reproduction: tables, checks, text, plain data and the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deltadyn.errors import InputError
from deltadyn.report import papers
from deltadyn.report.papers import Figure
from deltadyn.reproduce.result import Check, Reproduction, Table

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
    result = Reproduction("key", "title", (table,), checks=(Check.at_least("x", np.nan, 1.0),))
    data = json.loads(json.dumps(result.as_dict(), allow_nan=False))
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
