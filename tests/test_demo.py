"""The demonstration's whole path, from a robot file to a model that is exported."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import deltadyn as dd
from deltadyn.cli import main


def check_demo(folder: Path, text: str) -> None:
    """Hold what the demonstration printed and wrote against what is true of every design."""
    record = json.loads((folder / "demo" / "demo.json").read_text("utf-8"))
    assert record["robot"] in text
    assert dd.load_robot(record["robot"]).dof == 4
    learned = record["learned"]
    assert learned["verdict"] in ("good", "usable with care")
    error = learned["tracking_error_mrad"]
    assert error["identified"] < error["file"] < error["without"]
    for item in learned["payloads_kg"]:
        assert abs(item["found"] - item["true"]) < 3 * item["std"]
    assert len(learned["payloads_kg"]) == 6
    for path in (*learned["files"].values(), *learned["export"]["files"]):
        assert (folder / path).stat().st_size > 0
    report = json.loads((folder / "demo" / "report.json").read_text("utf-8"))
    assert report["verdict"]["grade"] == learned["verdict"]
    saved = json.loads((folder / learned["files"]["record"]).read_text("utf-8"))
    assert saved["verdict"]["grade"] == learned["fit"]["verdict"]["grade"] == learned["verdict"]
    truth = learned["truth"]
    # 95 % intervals: a few may miss by chance
    assert len(truth["missed"]) <= 0.15 * truth["known"]
    rows = report["sections"]["parameters"]["parameters"]
    known = [row["name"] for row in rows if row["true"] is not None]
    assert len(known) == truth["known"]
    # whichever terms beside them a design's log tells, and whether limbs are alike in them
    stems = {re.sub(r"\d+$", "", name) for name in known}
    assert stems >= {"M_P", "A", "G", "H", "I_psi", "Fv", "Fc"}
    assert set(known) >= {f"{friction}{axis}" for friction in ("Fv", "Fc") for axis in range(1, 5)}
    page = (folder / "demo" / "report.html").read_text("utf-8")
    assert "The log is that of a simulated machine, whose parameters are known" in page


def test_the_demo_goes_the_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make demo` without its install, which tests/test_fresh_clone.py has."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["demo", "--out", "demo"])
    assert result.exit_code == 0, result.output
    check_demo(tmp_path, result.output)
