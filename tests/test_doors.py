"""Doors: a result reaches its page by its kind, and nothing is drawn before."""

import subprocess
import sys
from importlib import import_module

import pytest

from deltadyn import doors
from deltadyn.errors import InputError


@pytest.mark.parametrize("kind", doors.PAGES)
def test_behind_every_door_is_a_function(kind: str) -> None:
    module, _, name = doors.PAGES[kind].partition(":")
    assert doors.writer(kind) is getattr(import_module(module), name)
    assert module.startswith("deltadyn.report")


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(InputError, match="kind of a page is 'poem'; allowed: audit"):
        doors.write_page("poem", object(), "page.html")


@pytest.mark.full
def test_results_load_no_pages() -> None:
    """The papers' results are computed without a module that draws or writes HTML."""
    papers = ("kim2022", "falezza2022", "falezza2020", "gnad2024", "telescopic2022", "audit")
    lines = [f"import deltadyn.reproduce.{paper}" for paper in papers]
    lines += ["import sys", "print([m for m in sys.modules if m.startswith(('plotly', 'deltadyn.'"]
    lines[-1] += "'report', 'deltadyn.report.html'))])"
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
