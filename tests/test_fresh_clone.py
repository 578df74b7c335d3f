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

import deltadyn as dd

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
    clone, told = made
    record = json.loads((clone / "demo" / "demo.json").read_text("utf-8"))
    assert record["robot"] in told
    assert dd.load_robot(record["robot"]).dof == 4
    learned = record["learned"]
    assert learned["verdict"] in ("good", "usable with care")
    error = learned["tracking_error_mrad"]
    assert error["identified"] < error["file"] < error["without"]
    for item in learned["payloads_kg"]:
        assert abs(item["found"] - item["true"]) < 3 * item["std"]
    assert len(learned["payloads_kg"]) == 6
    for path in (*learned["files"].values(), *learned["export"]["files"]):
        assert (clone / path).stat().st_size > 0
    report = json.loads((clone / "demo" / "report.json").read_text("utf-8"))
    assert report["verdict"]["grade"] == learned["verdict"]
    saved = json.loads((clone / learned["files"]["record"]).read_text("utf-8"))
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
    page = (clone / "demo" / "report.html").read_text("utf-8")
    assert "The log is that of a simulated machine, whose parameters are known" in page
