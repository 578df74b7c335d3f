"""The README's code runs as it stands, links lead somewhere, examples are in order.

The examples themselves run in the strict build of the documentation, tests/test_docs.py.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))


def test_examples_are_numbered_and_titled() -> None:
    """In the order of the user's path, each with a title that the gallery can show."""
    assert [path.name[:2] for path in EXAMPLES] == [f"{n:02d}" for n in range(1, 19)]
    for path in EXAMPLES:
        text = ast.get_docstring(ast.parse(path.read_text("utf-8")))
        assert text, path.name
        title, line = text.splitlines()[:2]
        assert line == "=" * len(title), path.name
        assert "# %%" in path.read_text("utf-8"), path.name


def readme_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_readme_example_runs() -> None:
    code = readme_blocks()[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[") == 2


@pytest.mark.full
def test_readme_path_from_a_log_runs(tmp_path: Path) -> None:
    _, code = readme_blocks()
    for seed, name in enumerate(("log.csv", "held-out.csv")):
        arguments = [sys.executable, "-m", "deltadyn", "simulate", "sipro-d3-1200", "--json"]
        arguments += ["--motion", ("y2", "y1")[seed], "--preset", "lab", "--out", name]
        subprocess.run(arguments, cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-c", "import deltadyn as dd\n" + code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "M_P" in done.stdout
    assert "fitness" in done.stdout
    for name in ("mine.yaml", "mine.json", "report.html"):
        assert (tmp_path / name).stat().st_size > 1000, name


def test_links_of_the_pages_lead_somewhere() -> None:
    docs = ROOT / "docs"
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *docs.glob("*.md")]
    pages += [*docs.glob("papers/*.md"), *docs.glob("reference/*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith("http") and target != "gallery/index":  # which is generated
                assert (page.parent / target).exists(), f"{page.name} -> {target}"
