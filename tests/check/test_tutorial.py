"""The page `your-robot.md`: its commands print what it shows, on the files of the example."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deltadyn.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "your-robot.md").read_text("utf-8")
BLOCK = re.compile(r"```(yaml|text)\n(.*?)```", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e-?\d+)?(?![\w.])")
STATUS = {"first.yaml": 1, "--out check.html": 1}  # of commands whose answer is no


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder that the example fills, and its names."""
    folder = tmp_path_factory.mktemp("first_hour")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "agg")
        patch.setattr("tempfile.mkdtemp", lambda: str(folder))
        patch.chdir(folder)
        names = runpy.run_path(str(ROOT / "examples" / "16_the_first_hour.py"))
    return folder, names


@pytest.mark.full
def test_the_example_finds_what_was_made_wrong(example: tuple[Path, dict[str, Any]]) -> None:
    _, names = example
    found = names["found"]
    assert found.sign == (1, -1, 1)
    assert found.decided
    assert found.offset_deg[1] == pytest.approx(30.0, abs=2.5)  # its stated deviation is 2.2
    assert names["looked"].ok
    weighed = [pick.mass for pick in names["weighed"].picks]
    true = [cycle.mass for cycle in names["plan"].cycles]
    assert weighed == pytest.approx(true, abs=0.1)
    assert names["fit"]["M_P"] == pytest.approx(0.9 + 0.3, rel=0.02)  # platform, 3 struts' share


@pytest.mark.full
def test_every_message_of_the_page(
    example: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, names = example
    monkeypatch.chdir(folder)
    shown = 0
    for kind, text in BLOCK.findall(PAGE):
        if kind == "yaml":
            write_file(folder, text)
            continue
        call, _, wanted = text.partition("\n")
        assert call.startswith("$ deltadyn "), call
        run = CliRunner().invoke(main, shlex.split(call)[2:])
        status = next((code for words, code in STATUS.items() if words in call), 0)
        assert run.exit_code == status, run.output
        compare(run.stdout.splitlines(), wanted.splitlines())
        shown += 1
    assert shown == 9
    assert names["SHEET"] in PAGE


def write_file(folder: Path, text: str) -> None:
    """A file of the page: its first line names it, or the one to append to."""
    name = text.partition("\n")[0].split()[-1]
    path = folder / name
    before = path.read_text("utf-8") if "append" in text.partition("\n")[0] else ""
    path.write_text(before + text, "utf-8")


def compare(printed: list[str], wanted: list[str]) -> None:
    """Every line that the page shows is printed, in this order; "..." leaves lines out."""
    place, free = 0, False
    for line in wanted:
        if line == "...":
            free = True
            continue
        if free:
            while place < len(printed) and not alike(printed[place], line):
                place += 1
        assert place < len(printed), f"not printed: {line}"
        assert alike(printed[place], line), f"{printed[place]!r} is not {line!r}"
        place, free = place + 1, False
    assert free or place == len(printed), printed[place:]


def alike(one: str, two: str) -> bool:
    """Whether two lines have the same words, and numbers that differ by rounding and noise."""
    if NUMBER.sub("#", one).split() != NUMBER.sub("#", two).split():
        return False
    numbers = [[float(number) for number in NUMBER.findall(line)] for line in (one, two)]
    return all(a == pytest.approx(b, rel=0.1, abs=0.03) for a, b in zip(*numbers, strict=True))


def test_lines_are_compared() -> None:
    """The comparison itself can fail."""
    compare(["a 1.00 b", "skipped", "end"], ["a 1.02 b", "...", "end"])
    for wrong in (["a 2 b", "...", "end"], ["a 1 c", "...", "end"], ["a 1 b"], ["...", "x"]):
        with pytest.raises(AssertionError):
            compare(["a 1.00 b", "skipped", "end"], wrong)
