"""The page on validation: its code runs, and prints what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from deltadyn.recording.prepare.moving import REST_RATE_RAD_S
from deltadyn.validation import CAUSES
from deltadyn.validation.diagnosis import STATED, percent
from deltadyn.validation.metrics import FIELDS, HIGH, LOW, MARGIN, NEAR

PAGE = Path(__file__).resolve().parents[2] / "docs" / "validation.md"
TEXT = PAGE.read_text("utf-8")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


def words_and_numbers(text: str) -> tuple[list[str], list[float]]:
    """The text without its numbers and its spacing, and the numbers."""
    return NUMBER.sub("#", text).split(), [float(number) for number in NUMBER.findall(text)]


@pytest.mark.full
def test_code_runs_and_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(\w*)\n(.*?)```", TEXT, re.DOTALL)
    codes = [code for kind, code in blocks if kind == "python"]
    shown = [text for kind, text in blocks if not kind]
    assert len(codes) == len(shown) == 3
    names: dict[str, object] = {}
    for code, text in zip(codes, shown, strict=True):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, names)
        said, values = words_and_numbers(out.getvalue())
        told, numbers = words_and_numbers(text)
        assert said == told
        # the last digits of a fit and of a simulation differ between processors
        assert values == pytest.approx(numbers, rel=0.05, abs=5e-3)
    assert (tmp_path / "comparison.html").stat().st_size > 1_000_000


def test_tables_name_all_that_there_is() -> None:
    for cause in CAUSES:
        assert f"\n| {cause} |" in TEXT
    for field in FIELDS:
        assert f"`{field}`" in TEXT


def test_thresholds_are_those_of_the_code() -> None:
    assert f"below {REST_RATE_RAD_S:g} rad/s" in TEXT
    assert f"{percent(STATED)} of the rows" in TEXT
    assert f"the axis below {100 * LOW:g} % of its largest rate" in TEXT
    assert f"the axis above {100 * HIGH:g} % of its largest rate" in TEXT
    assert f"beyond {100 * NEAR:g} % of a limit of the robot, the last {100 * MARGIN:g} %" in TEXT
