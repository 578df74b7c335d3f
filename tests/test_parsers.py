"""Damaged inputs for every parser: none ends in a foreign error, a hang, or code that is run.

`make nightly` reads fifty times as many.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.parsers.parsers import PARSERS

pytest.importorskip("resource", reason="limits of processes need a Unix system")

ROOT = Path(__file__).parents[1]
CASES = 2000
SEED = 18


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """One program for all: what it loads is loaded once."""
    out = tmp_path_factory.mktemp("parsers")
    command = [sys.executable, "-m", "tests.parsers", "--inline", "--out", str(out)]
    subprocess.run(
        [*command, "--cases", str(CASES), "--seed", str(SEED)],
        cwd=ROOT,
        check=False,
        stdout=subprocess.DEVNULL,
    )
    return {item["parser"]: item for item in json.loads((out / "results.json").read_text())}


@pytest.mark.parametrize("name", PARSERS)
def test_damaged_inputs(results: dict[str, dict[str, Any]], name: str) -> None:
    found = results[name]
    assert not found["failures"], "\n".join(found["failures"][:5])
    assert found["cases"] == CASES
    assert found["read"] > 0
