"""The page on sizing: its code runs, and prints what the page shows."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
from dataclasses import fields
from pathlib import Path

import pytest

from deltadyn import sizing

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sizing.md"
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
    blocks = re.findall(r"```(python)?\n(.*?)```", TEXT, re.DOTALL)
    codes = [code for kind, code in blocks if kind]
    shown = [text for kind, text in blocks if not kind]
    assert len(codes) == len(shown) == 4
    names: dict[str, object] = {}
    for code, text in zip(codes, shown, strict=True):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, names)
        said, values = words_and_numbers(out.getvalue())
        told, numbers = words_and_numbers(text)
        assert said == told
        # the last of four digits; what is solved by iterations differs between processors
        assert values == pytest.approx(numbers, rel=2e-3)
    for name in ("loads.html", "sizing.html"):
        assert (tmp_path / name).stat().st_size > 1_000_000


def test_the_table_names_every_field() -> None:
    for group in (sizing.DriveLoads, sizing.BearingLoads, sizing.StrutLoads):
        for field in fields(group):
            if field.name != "cup_half_angle":
                assert f"`{field.name}`" in TEXT


@pytest.mark.parametrize("name", ["motion_loads", "sizing_table", "fastest"])
def test_signatures_are_those_of_the_code(name: str) -> None:
    (shown,) = re.findall(rf"`{name}\((.*?)\)`", TEXT, re.DOTALL)
    told = re.findall(r"(\w+)(?:=|,|$)", re.sub(r"=[^,]*", "=", shown))
    assert told == list(inspect.signature(getattr(sizing, name)).parameters)
