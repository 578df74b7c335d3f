"""Damaged inputs for every parser: none ends in a foreign error, a hang, or code that is run.

`make test` reads some for each parser that needs no optional package, `make test-all` thousands for
all, and `make nightly` fifty times as many.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.parsers.parsers import FEWER, PACKAGES, PARSERS

pytest.importorskip("resource", reason="limits of processes need a Unix system")

ROOT = Path(__file__).parents[1]
CASES = 2000
FEW_CASES = 60
SEED = 18


def read_damaged(out: Path, names: list[str], cases: int) -> None:
    """Read damaged inputs of these parsers in one program: what it loads is loaded once."""
    command = [sys.executable, "-m", "tests.parsers", "--quick", "--inline", "--out", str(out)]
    command += [part for name in names for part in ("--only", name)]
    subprocess.run(
        [*command, "--cases", str(cases), "--seed", str(SEED)],
        cwd=ROOT,
        check=False,
        stdout=subprocess.DEVNULL,
    )
    results = json.loads((out / "results.json").read_text())
    assert [item["parser"] for item in results] == names
    for found in results:
        name = found["parser"]
        assert not found["failures"], "\n".join(found["failures"][:5])
        assert found["cases"] == min(cases, FEWER.get(name, cases)), name
        assert found["read"] > 0, name


def test_some_damaged_inputs(tmp_path: Path) -> None:
    read_damaged(tmp_path, [name for name in PARSERS if name not in PACKAGES], FEW_CASES)


@pytest.mark.full
def test_damaged_inputs(tmp_path: Path) -> None:
    read_damaged(tmp_path, [*PARSERS], CASES)


#: A parser with every fault, by the first byte of its input.
FAULTY = """
import os, subprocess, sys, time
from pathlib import Path
from tests.parsers import campaign as own
from tests.parsers.parsers import PARSERS, Parser
from deltadyn.errors import InputError

def read(folder):
    kind = (folder / "a").read_bytes()
    if kind == b"1":
        raise KeyError("foreign")
    if kind == b"2":
        while True:
            pass
    if kind == b"3":
        os.abort()
    if kind == b"4":
        try:
            bytes(3 * 2**30)
        except MemoryError as error:
            raise InputError("a", 1, "less") from error
    if kind == b"5":
        subprocess.run(["true"])
    if kind == b"6":
        raise InputError("a", 6, "another")

class Counted(Parser):
    def damaged(self, seed, number):
        return {"a": str(number % 7).encode()}

PARSERS["faulty"] = lambda folder: Counted([{"a": b"0"}], read, [])
own.SECONDS = 0.3
found = own.campaign("faulty", 14, 1)
print(found.cases, found.read)
print("\\n".join(found.failures))
"""


@pytest.mark.full
def test_a_campaign_finds_every_fault() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAULTY], cwd=ROOT, capture_output=True, text=True, check=True
    )
    counts, *told = done.stdout.strip().splitlines()
    assert counts == "14 4"  # "0" and "5" are read, twice each
    wanted = (
        "KeyError: 'foreign'",
        "more than 0.3 s",
        "the process ended (SIGABRT)",
        "needs more than 2147483648 bytes",
        "runs something: subprocess.Popen",
    )
    assert len(told) == 2 * len(wanted), done.stdout
    for number, (text, line) in enumerate(zip(wanted * 2, told, strict=True)):
        assert f"seed 1, number {number % 5 + 1 + number // 5 * 7}: {text}" in line
