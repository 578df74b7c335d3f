"""Claims of papers: verdicts, reasons, grades of tables, and the pages written from records."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tools import paper_pages

from deltadyn.errors import InputError
from deltadyn.report.papers import claims_block, table_block
from deltadyn.report.papers.markdown import results_markdown
from deltadyn.reproduce import result
from deltadyn.reproduce.claims import Claim, compare_numbers
from deltadyn.reproduce.result import Paper, Reproduction, Table

WORDS = {
    "title": "a title",
    "numbers": {},
    "claims": {
        "ratio": {"place": "table 1", "what": "ratio", "near": 0.1, "far": "because of {n:.1f} N"},
        "order": {"place": "section 6", "what": "M_f errs less"},
        "mean": {"place": "table 2", "what": "mean", "not_shown": "the bench has {n:.1f} N m"},
    },
    "tables": {
        "t": {
            "title": "Errors",
            "columns": ["model", "paper", "ours"],
            "beside": [["paper", "ours"]],
        }
    },
}


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> Paper:
    monkeypatch.setattr(result, "words_of", lambda key: WORDS)
    return Paper("key2020")


@pytest.mark.parametrize(
    ("paper", "ours", "verdict"),
    [
        (10.0, 12.5, "near"),
        (10.0, 12.51, "far"),
        (-10.0, 10.0, "far"),
        ((1.0, 2.0), np.array([1.1, 1.9]), "near"),
        ((1.0, 2.0), (1.1, 3.0), "far"),
        (1.0, float("nan"), "not shown"),
        (1.0, None, "not shown"),
    ],
)
def test_numbers_are_near_by_a_share_of_the_papers(
    paper: object, ours: object, verdict: str
) -> None:
    assert compare_numbers(paper, ours, 0.25) == verdict  # type: ignore[arg-type]


def test_numbers_of_another_count_are_refused() -> None:
    with pytest.raises(InputError, match="numbers of a claim"):
        compare_numbers((1.0, 2.0), (1.0,))


def test_a_claim_that_is_not_near_needs_its_reason(paper: Paper) -> None:
    near = paper.claim("ratio", 2.0, 2.1)
    assert (near.verdict, near.reason) == ("near", "")
    far = paper.claim("ratio", 2.0, 3.0, n=4.25)
    assert (far.verdict, far.reason) == ("far", "because of 4.2 N")
    assert paper.claim("order", "M_f", "M_f", holds=True).verdict == "near"
    with pytest.raises(InputError, match="reason of the claim"):
        paper.claim("order", "M_f", "M_s", holds=False)
    absent = paper.claim("mean", (8.0, -9.5), n=0.9)
    assert (absent.verdict, absent.paper) == ("not shown", "8.00, -9.50")
    assert str(absent) == ("[not shown] table 2, mean: paper 8.00, -9.50. the bench has 0.9 N m")
    with pytest.raises(InputError, match="verdict of a claim"):
        Claim("p", "w", "1", "1", "close")  # type: ignore[arg-type]


def test_cells_beside_the_papers_are_graded(paper: Paper) -> None:
    rows = [("a", 10.0, 11.0), ("b", 10.0, 14.0), ("c", 10.0, None), ("d", None, 1.0)]
    table = paper.table("t", rows)
    assert table.grades() == {(0, 2): "near", (1, 2): "far", (2, 2): "not shown"}
    page = table_block(table)
    assert '<td class="n near">11.00</td>' in page
    assert '<td class="n far">14.00</td>' in page
    assert Table.from_dict(json.loads(json.dumps(table.as_dict()))) == table
    with pytest.raises(InputError, match="column beside another"):
        Table("T", ("a", "b"), (), beside=(("a", "c"),))


def test_claims_stand_in_text_page_and_markdown(paper: Paper) -> None:
    claims = (paper.claim("ratio", 2.0, 3.0, n=4.2), paper.claim("order", "less", "less", True))
    table = paper.table("t", [("a|b", 10.0, 14.0)])
    run = Reproduction("key2020", "a title", (table,), claims=claims, seed=3)
    assert "[far] table 1, ratio: paper 2.00, ours 3.00. because of 4.2 N" in str(run)
    block = claims_block(claims)
    assert "1 near, 1 far, 0 not shown" in block
    assert "<td class=far>far</td>" in block
    record = json.loads(json.dumps({"written_with": "seed 3, commit abc", **run.as_dict()}))
    text = results_markdown(record)
    assert "seed 3, commit abc" in text
    assert "| table 1 | ratio | 2.00 | 3.00 | far | because of 4.2 N |" in text
    assert "| a\\|b | 10.00 | *14.00* |" in text


def test_a_page_holds_its_record_between_markers() -> None:
    record = {
        "written_with": "seed 0, commit abc",
        **Reproduction("key2020", "a title", ()).as_dict(),
    }
    page = paper_pages.insert_results(
        "# Head\n\n<!-- results -->\nold\n<!-- end of results -->\nend\n", record
    )
    assert page.startswith("# Head\n\n<!-- results -->\n\nWritten by")
    assert "old" not in page
    assert page.endswith("<!-- end of results -->\nend\n")
    assert paper_pages.insert_results(page, record) == page
    with pytest.raises(InputError, match="page of key2020"):
        paper_pages.insert_results("# Head\n", record)


@pytest.mark.parametrize("key", paper_pages.PAPERS)
def test_pages_show_the_last_run_and_nothing_else(key: str) -> None:
    page = (paper_pages.PAGES / f"{key}.md").read_text("utf-8")
    assert paper_pages.insert_results(page, paper_pages.read_record(key)) == page


def test_records_hold_numbers_of_seven_digits() -> None:
    rounded = paper_pages.round_numbers({"a": [1.23456789, 3, "x", None, True]})
    assert rounded == {"a": [1.234568, 3, "x", None, True]}


def test_the_commit_is_named() -> None:
    if not (paper_pages.ROOT / ".git").exists():
        pytest.skip("the sources are not a checkout of git")
    assert len(paper_pages.commit_name().removesuffix("-changed")) == 8


def test_all_papers_have_a_page() -> None:
    pages = {path.stem for path in Path(paper_pages.PAGES).glob("*.md")} - {"index"}
    assert pages == set(paper_pages.PAPERS)
