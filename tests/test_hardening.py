"""The tools of `make nightly` that judge tests and C: mutants, branch coverage, sanitizers."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from benchmarks.states import Row, summary
from tools import coverage, mutants, sanitize
from tools.mutants import Mutant, Verdict, Witnesses

from deltadyn import backends

TEXT = '''\
"""A module of 3 - 2 words."""
from __future__ import annotations
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Thing = 1 > 2

__all__ = ["a" + "b"]
LIMIT: int | None = 7


@lru_cache(maxsize=5)
def half(x: float | None = None) -> float | None:
    """Half of x - 1."""
    if x is None or x == LIMIT:
        raise ValueError(f"x is {3 * LIMIT}, µ: {x + 1:.2f}")
    return -x / 2
'''


def made(text: str) -> dict[str, list[str]]:
    """Operators of the mutants of a text, by the line that they change."""
    pytest.importorskip("cosmic_ray")
    found: dict[str, list[str]] = {}
    for mutant in mutants._mutants_of("a.py", text):
        line = text.splitlines()[mutant.line - 1].strip()
        found.setdefault(line, []).append(mutant.operator.removeprefix("core/"))
    return found


@pytest.mark.full
def test_mutants_that_no_test_can_see_are_left_out() -> None:
    found = made(TEXT)
    assert set(found) == {
        "LIMIT: int | None = 7",
        "if x is None or x == LIMIT:",
        "return -x / 2",
    }
    assert found["LIMIT: int | None = 7"] == ["NumberReplacer"] * 2
    own = found["if x is None or x == LIMIT:"]
    assert {"ReplaceOrWithAnd", "ReplaceComparisonOperator_Is_IsNot", "AddNot"} <= set(own)
    assert "ReplaceComparisonOperator_Eq_Is" not in own
    divided = [name for name in found["return -x / 2"] if name.startswith("ReplaceBinary")]
    assert sorted(name.rpartition("_")[2] for name in divided) == sorted(
        mutants.ARITHMETIC - {"Div"}
    )


@pytest.mark.full
def test_a_mutant_differs_and_compiles() -> None:
    pytest.importorskip("cosmic_ray")
    every = [m for m in mutants._mutants_of("a.py", TEXT) if "Div_Mul" in m.operator]
    (changed,) = [mutants.mutated(mutant, TEXT) for mutant in every]
    assert changed == TEXT.replace("-x / 2", "-x * 2")
    (plus,) = [m for m in mutants._mutants_of("a.py", "x = 1 * 1\n") if "Mul_Pow" in m.operator]
    assert mutants.mutated(plus, "x = 1 * 1\n") == "x = 1 ** 1\n"


@pytest.mark.full
def test_a_sample_is_seeded(tmp_path: Path) -> None:
    pytest.importorskip("cosmic_ray")
    (tmp_path / "a.py").write_text(TEXT, "utf-8")
    every = list(mutants._mutants_of("a.py", TEXT))
    first, again, other = (mutants.sample(every, 5, seed, tmp_path) for seed in (1, 1, 2))
    assert len(first) == 5
    assert list(first.items()) == list(again.items()) != list(other.items())
    assert all(changed != TEXT for changed in first.values())


def test_a_mutant_meets_the_tests_of_its_line_first() -> None:
    """Lines that a fixture executes are those of all tests of its file."""
    seconds = {"t/a.py::one": 2.0, "t/a.py::two": 1.0, "t/b.py::far": 0.5}
    lines = {"m.py": {"3": ["t/a.py::one"], "4": ["t/a.py::one|setup"], "9": ["", "t/b.py::far"]}}
    found = mutants.witnesses({"seconds": seconds, "lines": lines})
    assert found.early == {"m.py": {9}}
    assert found.of(Mutant("m.py", "", 0, 3, 0)) == ["t/a.py::one", "t/b.py::far", "t/a.py::two"]
    assert found.of(Mutant("m.py", "", 0, 4, 0))[:2] == ["t/a.py::one", "t/a.py::two"]
    assert len(found.of(Mutant("m.py", "", 0, 5, 0))) == 3
    (declared,) = mutants.DECLARED
    seconds |= {f"{declared}::frozen": 0.1}
    found = mutants.witnesses({"seconds": seconds, "lines": lines})
    assert f"{declared}::frozen" in found.of(Mutant("m.py", "", 0, 9, 0))
    assert f"{declared}::frozen" not in found.of(Mutant("m.py", "", 0, 3, 0))
    cases = {"t::a[1]": 0.1, "t::a[2]": 0.2, "t::b[1]": 0.4, "t::b[2]": 0.3}
    each = Witnesses(cases, {"m.py": {1: sorted(cases)}})
    expected = ["t::a[1]", "t::b[2]", "t::a[2]", "t::b[1]"]
    assert each.of(Mutant("m.py", "", 0, 1, 0)) == expected
    many = Witnesses(
        {f"t::{k}": 6.0 for k in range(9)}, {"m.py": {1: [f"t::{k}" for k in range(9)]}}
    )
    assert len(many.of(Mutant("m.py", "", 0, 1, 0), 20.0)) == 3  # 18 of at most 20 s
    assert len(many.of(Mutant("m.py", "", 0, 2, 0), 20.0)) == 3


def test_maps_are_joined_by_file() -> None:
    old = {
        "seconds": {"a.py::gone": 1.0, "b.py::stays": 1.0},
        "lines": {"m.py": {"1": ["", "a.py::gone", "b.py::stays|setup"]}},
        "bad": ["a.py::bad"],
        "slow": ["b.py::slow"],
    }
    new = {
        "seconds": {"a.py::new": 2.0},
        "lines": {"m.py": {"1": ["a.py::new"], "2": ["a.py::new"]}},
        "bad": [],
        "slow": [],
    }
    found = mutants.joined(old, new)
    assert found["seconds"] == {"b.py::stays": 1.0, "a.py::new": 2.0}
    assert found["lines"]["m.py"] == {
        "1": ["", "a.py::new", "b.py::stays|setup"],
        "2": ["a.py::new"],
    }
    assert (found["bad"], found["slow"]) == ([], ["b.py::slow"])


def test_verdicts_hold_for_the_same_source(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("x = 1\n", "utf-8")
    own = mutants.digest("x = 1\n")
    one, two, old = (Mutant("m.py", "op", k, 1, 0) for k in range(3))
    verdicts = [
        Verdict(one, "killed", source=own),
        Verdict(two, "survived", source=own),
        Verdict(old, "killed", source="of another text"),
    ]
    told = tmp_path / "told.jsonl"
    told.write_text("".join(json.dumps(asdict(v)) + "\n" for v in verdicts), "utf-8")
    every = [one, two, old]
    assert set(mutants.kept(told, every, "all", tmp_path)) == {one, two}
    assert mutants.kept(told, every, "killed", tmp_path) == {one: verdicts[0]}
    assert mutants.kept(told, [two], "killed", tmp_path) == {}
    assert mutants.kept(told, every, "none", tmp_path) == {}


PLANTED = """\
LIMIT = 3


class Half:
    def of(self, x):
        return x / 2


def bounded(x):
    return min(x, LIMIT)


def rounds(x):
    while x > 0:
        x = x - 1
    return x
"""


def test_code_of_functions_is_told_from_the_rest() -> None:
    def names(before: str, after: str) -> list[str] | None:
        found = mutants.changed_functions(PLANTED, PLANTED.replace(before, after), "m.py")
        return None if found is None else [code.co_qualname for code in found]

    assert names("x / 2", "x * 2") == ["Half.of"]
    assert names("min(x", "min(-x") == ["bounded"]
    assert names("LIMIT = 3", "LIMIT = 4") is None
    assert names("def bounded(x)", "def bounded(x=1)") is None


@pytest.mark.full
def test_faults_are_planted_judged_and_taken_out(tmp_path: Path) -> None:
    """In loaded functions, and by another import; a test that fails anyway kills nothing."""
    source, test = tmp_path / "src" / "planted_faults.py", tmp_path / "test_small.py"
    source.parent.mkdir()
    source.write_text(PLANTED, "utf-8")
    test.write_text(
        "from planted_faults import Half, bounded, rounds\n"
        "def test_wrong(): assert bounded(1) == 7\n"
        "def test_half(): assert Half().of(6) == 3\n"
        "def test_bounded(): assert bounded(9) == 3\n"
        "def test_rounds(): assert rounds(2) == 0\n",
        "utf-8",
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    tests = tuple(f"test_small.py::test_{name}" for name in ("wrong", "half", "bounded", "rounds"))

    def case(line: int, before: str, after: str) -> mutants.Case:
        mutant = Mutant("src/planted_faults.py", "", 0, line, 0)
        return mutants.Case(mutant, PLANTED.replace(before, after), tests)

    cases = [
        case(6, "x / 2", "x * 2"),
        case(1, "LIMIT = 3", "LIMIT = 4"),
        case(10, "min(x", "min(+x"),
        case(15, "x - 1", "x + 1"),
    ]
    told = tmp_path / "verdicts"
    found = Witnesses(dict.fromkeys(tests, 0.01), {}, {"src/planted_faults.py": {1}})

    def tell(verdict: Verdict) -> None:
        with told.open("a") as out:
            out.write(f"{verdict.mutant.line} {verdict.outcome} {verdict.by}\n")

    mutants.Judge(tmp_path, found, 1.0, tell, grace=1.0).all(cases)
    assert told.read_text().splitlines() == [
        "6 killed test_small.py::test_half",
        "10 survived ",
        "15 hung ",
        "1 killed test_small.py::test_bounded",
    ]
    assert source.read_text("utf-8") == PLANTED


@pytest.mark.full
def test_a_run_of_tests_ends_by_itself_or_by_its_limit(tmp_path: Path) -> None:
    """The limit is one of processor time."""

    def endless() -> int:
        while True:
            pass

    assert mutants.in_child(tmp_path, 5.0, lambda: 3) == 3
    assert mutants.in_child(tmp_path, 0.5, endless) is None


def test_figures_of_mutants() -> None:
    def verdicts(*outcomes: str) -> list[Verdict]:
        return [Verdict(Mutant("m.py", "core/AddNot", 0, 1, 0), outcome) for outcome in outcomes]

    good = mutants.figures(verdicts(*["killed"] * 16, "hung", "survived"), 100, 0)
    assert good["reached"]
    assert good["figure"].startswith("94.4 % killed of 18")
    assert "m.py:1, AddNot" in mutants.page(good)
    assert not mutants.figures(verdicts("killed", "survived"), 100, 0)["reached"]
    assert not mutants.figures([], 100, 0)["reached"]


def test_figures_of_coverage() -> None:
    def file(branches: int, taken: int) -> dict[str, Any]:
        counts = {"num_branches": branches, "covered_branches": taken}
        return {
            "summary": {**counts, "num_statements": 20, "covered_lines": 10},
            "missing_branches": [[3, 4]] * (branches - taken),
        }

    files = {
        "src/deltadyn/dynamics/exact.py": file(60, 60),
        "src/deltadyn/cli.py": file(20, 10),
        "src/deltadyn/identification/methods/l1.py": file(20, 19),
    }
    whole = coverage.report(0, {"files": files}, [])
    assert whole["rooms"] == {".": [20, 10], "dynamics": [60, 60], "identification": [20, 19]}
    assert whole["figure"] == "89.0 % of 100 branches and 50.0 % of 60 lines"
    assert not whole["reached"]
    part = coverage.report(0, {"files": files}, ["dynamics", "identification"])
    assert part["reached"]
    assert not coverage.report(1, {"files": files}, ["dynamics"])["reached"]
    assert coverage.missed(files, [], 1)[0].startswith("src/deltadyn/cli.py: 10: 3->4")


def test_every_kernel_takes_numbers_of_every_kind() -> None:
    """Under sanitizers in `make nightly`."""
    if not backends.available():
        pytest.skip(f"no compiled kernels: {backends.status()}")
    assert sanitize.random_calls(1) == len(sanitize.table()) > 100
    assert 100 < sanitize.random_texts(2000) < 1900


@pytest.mark.skipif(not backends.available(), reason="no compiled kernels")
def test_figures_of_random_states() -> None:
    good = Row("a", 100, 1e-15, 2e-15)
    assert summary([good, Row("b", 50, 3e-15, 0.0)])["reached"]
    text = "150 states: C 3.0e-15, kernels 2.0e-15 of the largest value, 0 refused"
    assert summary([good, Row("b", 50, 3e-15, 0.0)])["figure"] == text
    for bad in (Row("b", 1, 1e-11, 0.0), Row("b", 1, 0.0, 1e-11), Row("b", 1, 0.0, 0.0, 1)):
        assert not summary([good, bad])["reached"]
