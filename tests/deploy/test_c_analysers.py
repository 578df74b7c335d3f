"""What cppcheck with its MISRA addon and clang-tidy say of exported C."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from functools import lru_cache
from pathlib import Path

from tests.deploy.programs import program
from tests.exports.c_build import library_of, sources_of

import deltadyn as dd

DOCS = Path(__file__).resolve().parents[2] / "docs" / "export-c-rules.md"
#: Of clang-tidy. Parameters of one type side by side are the interface, and indices are small.
CHECKS = (
    "-*,clang-analyzer-*,bugprone-*,cert-*,misc-*,portability-*,"
    "-bugprone-easily-swappable-parameters,-bugprone-implicit-widening-of-multiplication-result"
)
#: Of cppcheck beside MISRA: what a caller uses, and loops that are written for any number of axes.
ALLOWED = {"unusedFunction", "knownConditionTrueFalse", "invalidFunctionArg"}


@lru_cache(maxsize=1)
def folder() -> Path:
    return sources_of(dd.load_robot("sipro-d3-1200"))


@lru_cache(maxsize=1)
def hits() -> Counter[str]:
    """How often cppcheck names a rule or a finding in the 3-DOF double export."""
    command = [program("cppcheck"), "--addon=misra", "--std=c99", "--enable=all", "--quiet"]
    command += ["--inconclusive", "--suppress=missingIncludeSystem", "--template={id}"]
    done = subprocess.run(
        [*command, library_of(folder()).name],
        cwd=folder(),
        capture_output=True,
        text=True,
        check=True,
    )
    return Counter(done.stderr.split())


def deviations() -> dict[str, int]:
    """Rules of the deviation table and their numbers."""
    rows = re.findall(r"^\| (\d+\.\d+) \| \w+ \| (\d+) \|", DOCS.read_text("utf-8"), re.M)
    return {rule: int(count) for rule, count in rows}


def test_every_rule_that_is_broken_is_in_the_table() -> None:
    prefix = "misra-c2012-"
    found = {k.removeprefix(prefix): n for k, n in hits().items() if k.startswith(prefix)}
    stated = deviations()
    assert set(found) <= set(stated)
    assert all(count <= stated[rule] for rule, count in found.items())
    assert 0 < sum(found.values()) <= sum(stated.values()) == 244


def test_cppcheck_finds_nothing_else() -> None:
    others = {name for name in hits() if not name.startswith("misra-")}
    assert "uninitvar" not in others
    assert others <= ALLOWED


def test_clang_tidy_is_silent() -> None:
    names = [library_of(folder()).name, "self_test.c", "example.c"]
    command = [program("clang-tidy"), "--quiet", f"--checks={CHECKS}", *names, "--", "-std=c99"]
    done = subprocess.run(command, cwd=folder(), capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "warning:" not in done.stdout
