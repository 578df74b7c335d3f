"""The README's first command, in a fresh copy of the sources with nothing installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.test_demo import check_demo

# an install of minutes: of `make test-all`
pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[1]
MINUTES = 15  # for an install on a slow line


def sources() -> list[str]:
    """The files that a clone would have."""
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("the sources are not in a git checkout")
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


def quick_compiler(folder: Path) -> Path:
    """gcc without its optimisation, which takes most of the install and changes no result."""
    wrapper = folder / "cc"
    wrapper.write_text(
        """#!/bin/bash
for word in "$@"; do case $word in -O*) ;; *) kept+=("$word");; esac; done
exec gcc "${kept[@]}" -O0
""",
        encoding="utf-8",
    )
    wrapper.chmod(0o755)
    return wrapper


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a clone in which `make demo` was called, and what that printed."""
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    place = tmp_path_factory.mktemp("fresh")
    clone = place / "deltadyn"
    for name in sources():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, clone / name)
    (command,) = re.findall(r"^(make demo)\b", (clone / "README.md").read_text(), re.MULTILINE)
    kept = {"CC": str(quick_compiler(place))} if shutil.which("gcc") else {}
    kept |= {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [*command.split(), f"PYTHON={sys.executable}"],
        cwd=clone,
        env=kept,
        capture_output=True,
        text=True,
        timeout=60 * MINUTES,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return clone, done.stdout


def test_make_demo_in_a_fresh_clone(made: tuple[Path, str]) -> None:
    """Environment, install, the whole path: a report to open."""
    clone, told = made
    assert "report: demo/report.html (open it in a browser)" in told
    grade = json.loads((clone / "demo" / "report.json").read_text())["verdict"]["grade"]
    assert f"\n{grade}: " in told
    if shutil.which("gcc"):
        assert list((clone / "src" / "deltadyn" / "backends").glob("_kernels*.so"))


def test_the_demo_goes_the_whole_path(made: tuple[Path, str]) -> None:
    check_demo(*made)
