"""Mutation testing: small faults are planted in the source, one at a time; do the tests notice?

Run: python -m tools.mutants [--sample 500] [--seed 0] [--workers 2] [--json FILE]

Cosmic Ray's operators make the mutants of kinematics, dynamics and identification/methods: another
operator, another comparison, a number more or less, a condition turned, a loop without rounds. A
seeded sample of them is judged. First the tests run once with the lines that each of them
executes; a mutant then meets the tests that execute its line, the fastest first, and after those
the other tests of its module, within a limit of time.

The compiled kernels are off: else the mutated source would be compared with C that was generated
from the source without its fault, and the tests of the mathematics would not be measured at all.

Left out by rule, as no test can or should see them: mutants in annotations, docstrings, f-strings
(words of messages), `__all__` and conditions on TYPE_CHECKING; decorators that cache; arithmetic
turned into bit operations and the reverse, and `is` turned into an order, which fail on every
input; `==` turned into `is`; and what does not compile or compiles to the same.

Every mutant is made in a copy of the tree. Beside FILE with the figures stand its .md, survivors
with their difference, and its .map.json, the lines of the tests, for later calls with --map.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import importlib
import json
import math
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path("build") / "nightly"
SOURCE = Path("src") / "deltadyn"
ROOMS = ("kinematics", "dynamics", "identification/methods")
TESTS = (
    "tests/kinematics",
    "tests/dynamics",
    "tests/properties",
    "tests/family",
    "tests/reference",
    "tests/identification",
)
#: Tests that read the source: they meet every mutant, as they execute no line of it.
READERS = ("tests/test_layout.py",)
COPIED = ("src", "tests", "tools", "benchmarks", "examples", "docs", "pyproject.toml")
ARITHMETIC = {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"}
CACHES = {"cache", "lru_cache", "cached_property"}
#: Loaded once, before the processes of the mutants fork; nothing of ours is among them.
LIBRARIES = [
    "numpy.linalg",
    "numpy.random",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse.linalg",
    "scipy.spatial",
    "scipy.interpolate",
    "scipy.stats",
    "scipy.io",
    "yaml",
    "click",
    "clarabel",
    "joblib",
    "hypothesis",
    "pytest",
    "mujoco",
    "pinocchio",
    "casadi",
    "pandas",
]
#: No kernels, and fewer random cases than in the tests' own runs: a fault shows in the first ones.
ENVIRONMENT = {
    "DELTADYN_KERNELS": "off",
    "DELTADYN_FAMILY_STATES": "10",
    "DELTADYN_HYPOTHESIS_EXAMPLES": "10",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
GOAL = 85.0  # percent
SECONDS = 60.0  # of tests for a mutant: a third for those of its line, the rest for its module
GRACE = 30.0  # s beyond three times the usual before a run is a hang


@dataclass(frozen=True)
class Mutant:
    """One fault: the n-th place of a file where an operator of Cosmic Ray applies."""

    path: str  # below the root
    operator: str
    occurrence: int
    line: int
    column: int

    @property
    def room(self) -> str:
        """The folder of the package."""
        return str(Path(self.path).parent.relative_to(SOURCE))


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: killed (and by which test), hung or survived."""

    mutant: Mutant
    outcome: str
    by: str = ""
    tests: int = 0
    seconds: float = 0.0
    difference: str = ""


@dataclass
class Witnesses:
    """Seconds of every test, and the tests of every line of the source.

    A test is a node of pytest. What a fixture executes counts for all tests of its file.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)

    def of(self, mutant: Mutant, limit: float = SECONDS) -> tuple[list[str], list[str]]:
        """Tests that execute the line, then the others of the module, each the fastest first."""
        lines = self.lines.get(mutant.path, {})
        near = set(lines.get(mutant.line, ()))
        far = {test for tests in lines.values() for test in tests} - near
        return self._within(near, limit / 3), self._within(far, 2 * limit / 3)

    def _within(self, tests: set[str], limit: float) -> list[str]:
        chosen: list[str] = []
        spent = 0.0
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            spent += self.seconds[test]
            if chosen and spent > limit:
                break
            chosen.append(test)
        return chosen


# Mutants


def population(root: Path = ROOT) -> list[Mutant]:
    """All mutants that the rules leave."""
    found: list[Mutant] = []
    for room in ROOMS:
        for path in sorted((root / SOURCE / room).glob("*.py")):
            text = path.read_text("utf-8")
            found += _mutants_of(str(path.relative_to(root)), text)
    return found


def _mutants_of(name: str, text: str) -> Iterator[Mutant]:
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    left_out, every = _left_out(text), list(ast_nodes(get_ast(text)))
    few = {
        "ReplaceBinaryOperator": [node for node in every if node.type == "operator"],
        "ReplaceComparisonOperator": [node for node in every if node.type == "comparison"],
    }
    for operator in plugins.operator_names():
        kind = plugins.get_operator(operator)
        if kind.arguments() or _hopeless(operator):
            continue
        nodes = few.get(operator.partition("/")[2].partition("_")[0], every)
        places = (place for node in nodes for place in kind().mutation_positions(node))
        for occurrence, (start, _) in enumerate(places):
            if not any(begin <= start < end for begin, end in left_out):
                yield Mutant(name, operator, occurrence, *start)


def _hopeless(operator: str) -> bool:
    """Whether an operator's mutants fail on every input, or on none."""
    _, _, pair = operator.partition("Operator_")
    before, _, after = pair.partition("_")
    if "ReplaceBinaryOperator" in operator:
        return (before in ARITHMETIC) != (after in ARITHMETIC)
    if "ReplaceComparisonOperator" in operator:
        return {before, after} != {"Is", "IsNot"} and bool({before, after} & {"Is", "IsNot"})
    return "UnaryOperator" in operator and ("UAdd" in pair or {before, after} == {"USub", "Invert"})


def _left_out(text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Places from (line, column) to (line, column) in which no mutant is made."""
    spans: list[ast.AST] = []
    lines: list[tuple[int, int]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            spans.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not isinstance(node, ast.ClassDef) and node.returns is not None:
                spans.append(node.returns)
            spans += [item for item in node.decorator_list if _name(item) in CACHES]
        elif isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Assign) and _name(node.targets[0]) == "__all__"
        ):
            spans.append(node)
        elif isinstance(node, ast.If) and _name(node.test) == "TYPE_CHECKING":
            lines.append((node.lineno, (node.end_lineno or node.lineno) + 1))
    text_lines = text.splitlines()

    def place(line: int, offset: int) -> tuple[int, int]:
        return line, len(text_lines[line - 1].encode()[:offset].decode())

    out = [((first, 0), (last, 0)) for first, last in lines]
    for node in spans:
        here: Any = node
        start = place(here.lineno, here.col_offset)
        if here in spans and _name(here) in CACHES:
            start = (start[0], max(0, start[1] - 1))  # the @ belongs to the decorator
        out.append((start, place(here.end_lineno, here.end_col_offset)))
    return out


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def mutated(mutant: Mutant, text: str) -> str | None:
    """The source with its fault; None where it does not compile, or compiles to the same."""
    from cosmic_ray import plugins
    from cosmic_ray.mutating import mutate_code

    operator = plugins.get_operator(mutant.operator)()
    changed: str | None = mutate_code(text, operator, mutant.occurrence)
    if changed is None:
        return None
    try:
        same = ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text))
    except SyntaxError:
        return None
    return None if same else changed


def sample(mutants: Sequence[Mutant], count: int, seed: int, root: Path = ROOT) -> list[Mutant]:
    """A seeded sample of the mutants that compile."""
    every = random.Random(seed).sample(mutants, len(mutants))
    texts: dict[str, str] = {}
    chosen: list[Mutant] = []
    for mutant in every:
        if len(chosen) == count:
            break
        text = texts.setdefault(mutant.path, (root / mutant.path).read_text("utf-8"))
        if mutated(mutant, text) is not None:
            chosen.append(mutant)
    return chosen


# Tests, in processes that fork from one that has loaded the libraries


def preload() -> None:
    """Load what the tests import beside deltadyn."""
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    loaded = [name for name in sys.modules if name.partition(".")[0] == "deltadyn"]
    if loaded:
        raise RuntimeError(f"deltadyn is loaded before the mutants are made: {loaded[0]}")


def in_child(tree: Path, limit: float, work: Any) -> int | None:
    """What `work` returns in a process of its own, in the tree; None: it took longer than that.

    The limit is one of processor seconds, so that a busy machine hangs no mutant; ten times as long
    by the clock ends what waits for ever.
    """
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 5))
            with (tree / "run.log").open("wb") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            os.chdir(tree)
            os.environ["PYTHONPATH"] = f"{tree / 'src'}{os.pathsep}{tree}"
            sys.path[:0] = [str(tree / "src"), str(tree)]
            sys.dont_write_bytecode = True
            for name in [name for name in sys.modules if name.partition(".")[0] == "tools"]:
                del sys.modules[name]
            status = int(work())
        finally:
            os._exit(status)
    end = time.monotonic() + 10 * limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code == -signal.SIGXCPU else code
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


class Times:
    """A plugin of pytest: seconds of every test, those that failed, and contexts of coverage."""

    def __init__(self, coverage: Any = None) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: list[str] = []
        self.coverage = coverage

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        if self.coverage is not None:
            self.coverage.switch_context(f"{nodeid}|setup")

    def pytest_runtest_call(self, item: Any) -> None:
        if self.coverage is not None:
            self.coverage.switch_context(item.nodeid)

    def pytest_runtest_teardown(self, item: Any) -> None:
        if self.coverage is not None:
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.passed or report.failed:
            self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.append(report.nodeid)


def _pytest(words: Sequence[str], plugin: Times) -> int:
    import pytest

    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "--tb=line"]
    return int(pytest.main([*options, *words], plugins=[plugin]))


def watch(tree: Path, tests: Sequence[str], limit: float) -> Witnesses:
    """Run the tests once, and note which lines of the rooms each of them executes."""
    out = tree / "witnesses.json"

    def work() -> int:
        import coverage

        folders = [str(tree / SOURCE / room / "*") for room in ROOMS]
        tracer = coverage.Coverage(data_file=None, include=folders, config_file=False)
        plugin = Times(tracer)
        tracer.start()
        _pytest(tests, plugin)
        tracer.stop()
        data, lines = tracer.get_data(), {}
        for path in data.measured_files():
            name = str(Path(path).relative_to(tree))
            by_line = data.contexts_by_lineno(path)
            lines[name] = {str(line): sorted(filter(None, own)) for line, own in by_line.items()}
        seconds = {test: s for test, s in plugin.seconds.items() if test not in plugin.failed}
        out.write_text(json.dumps({"seconds": seconds, "lines": lines, "bad": plugin.failed}))
        return 0

    if in_child(tree, limit, work) != 0:
        said = (tree / "run.log").read_text("utf-8", "replace")[-2000:]
        raise SystemExit(f"the tests could not be watched:\n{said}")
    return witnesses(out)


def witnesses(path: Path) -> Witnesses:
    """What `watch` has written; a fixture's lines are those of all tests of its file."""
    found = json.loads(path.read_text("utf-8"))
    seconds: dict[str, float] = found["seconds"]
    by_file = defaultdict(list)
    for test in seconds:
        by_file[test.partition("::")[0]].append(test)

    def spread(contexts: Sequence[str]) -> list[str]:
        tests: set[str] = set()
        for context in contexts:
            test = context.removesuffix("|setup")
            tests.update(by_file[test.partition("::")[0]] if test != context else [test])
        return sorted(tests & seconds.keys())

    lines = {
        name: {int(line): spread(own) for line, own in by_line.items()}
        for name, by_line in found["lines"].items()
    }
    return Witnesses(seconds, lines)


def copy_tree(target: Path) -> Path:
    """A copy of what the tests need, with compiled modules beside the source."""
    ignored = shutil.ignore_patterns("_build", "gallery", "*.so", "__pycache__", ".hypothesis")
    target.mkdir(parents=True)
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, target / name)
    shared = ROOT.parent / "shared"
    if shared.is_dir() and not (target.parent / "shared").exists():
        (target.parent / "shared").symlink_to(shared)
    import compileall

    compileall.compile_dir(target / "src", quiet=2)
    return target


# The judgement

_state: dict[str, Any] = {}


def _begin(folder: Path, found: Witnesses, seconds: float) -> None:
    _state["seconds"] = seconds
    _state["tree"] = copy_tree(folder / f"worker-{os.getpid()}" / "tree")
    _state["witnesses"] = found


def judge(mutant: Mutant | None) -> Verdict:
    """Plant the fault, run the tests, take it out again. None: no fault, the tests must pass."""
    tree: Path = _state["tree"]
    found: Witnesses = _state["witnesses"]
    start = time.monotonic()
    if mutant is None:
        quick = sorted(found.seconds, key=lambda test: found.seconds[test])[::40]
        outcome, by = _meet(tree, found, quick)
        return Verdict(Mutant("", "", 0, 0, 0), outcome, by, len(quick))
    path = tree / mutant.path
    text = path.read_text("utf-8")
    changed = mutated(mutant, text)
    assert changed is not None
    near, far = found.of(mutant, _state["seconds"])
    outcome, by, ran = "survived", "", 0
    try:
        path.write_text(changed, "utf-8")
        for old in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            old.unlink()
        for tests in (near, far, READERS):
            if tests and outcome == "survived":
                ran += len(tests)
                outcome, by = _meet(tree, found, tests)
    finally:
        path.write_text(text, "utf-8")
    lines = difflib.unified_diff(text.splitlines(), changed.splitlines(), lineterm="", n=2)
    shown = "\n".join(list(lines)[2:])
    return Verdict(mutant, outcome, by, ran, round(time.monotonic() - start, 1), shown)


def _meet(tree: Path, found: Witnesses, tests: Sequence[str]) -> tuple[str, str]:
    """killed, hung or survived, and the test that failed."""
    told = tree / "failed.txt"
    told.unlink(missing_ok=True)

    def work() -> int:
        plugin = Times()
        status = _pytest(["-x", *tests], plugin)
        told.write_text(plugin.failed[0] if plugin.failed else f"pytest ended with {status}")
        return status

    usual = sum(found.seconds.get(test, GRACE) for test in tests)
    status = in_child(tree, GRACE + 3 * usual, work)
    if status is None:
        return "hung", ""
    if status == 0:
        return "survived", ""
    return "killed", told.read_text("utf-8") if told.exists() else f"ended with {status}"


# The report


def figures(verdicts: Sequence[Verdict], every: int, seed: int) -> dict[str, Any]:
    """Counts by module and in all; a hang is noticed as a failure is."""
    by_module: dict[str, Counter[str]] = defaultdict(Counter)
    for verdict in verdicts:
        by_module[verdict.mutant.path][verdict.outcome] += 1
    total = sum(by_module.values(), Counter())
    noticed, count = total["killed"] + total["hung"], sum(total.values())
    share = 100 * noticed / max(1, count)
    return {
        "figure": f"{share:.1f} % killed of {count} mutants ({every} in all)",
        "reached": count > 0 and share >= GOAL,
        "killed": share,
        "seed": seed,
        "population": every,
        "modules": {path: dict(counts) for path, counts in sorted(by_module.items())},
        "survivors": [asdict(v) for v in verdicts if v.outcome == "survived"],
    }


def page(found: Mapping[str, Any]) -> str:
    """The figures and the survivors as Markdown."""
    lines = ["# Mutants", "", f"{found['figure']}, seed {found['seed']}.", ""]
    lines += ["| module | killed | hung | survived |", "|---|---|---|---|"]
    for path, counts in found["modules"].items():
        cells = " | ".join(str(counts.get(key, 0)) for key in ("killed", "hung", "survived"))
        lines.append(f"| {path} | {cells} |")
    lines += ["", "## Survivors"]
    for survivor in found["survivors"]:
        mutant = survivor["mutant"]
        place = f"{mutant['path']}:{mutant['line']}"
        what = mutant["operator"].rpartition("/")[2]
        lines += ["", f"{place}, {what}, {survivor['tests']} tests", "", "```diff"]
        lines += [survivor["difference"], "```"]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge a sample, print and write what it came to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sample", type=int, default=500, help="mutants to judge")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--tests", nargs="*", default=list(TESTS), help="files and folders")
    parser.add_argument("--only", default="", help="mutants of files whose path holds this")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of tests for a mutant")
    parser.add_argument("--map", type=Path, help="lines of the tests, written by an earlier call")
    parser.add_argument("--json", type=Path, default=FOLDER / "mutants.json", help="figures")
    asked = parser.parse_args(arguments)
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    os.environ |= ENVIRONMENT
    every = population()
    chosen = [m for m in sample(every, asked.sample, asked.seed) if asked.only in m.path]
    print(f"{len(every)} mutants, {len(chosen)} to judge", flush=True)
    preload()
    with tempfile.TemporaryDirectory(prefix="deltadyn-mutants-") as name:
        folder = Path(name).resolve()
        if asked.map:
            found = witnesses(asked.map)
        else:
            tree = copy_tree(folder / "watched" / "tree")
            found = watch(tree, asked.tests, 7200)
            shutil.copy(tree / "witnesses.json", asked.json.with_suffix(".map.json"))
        took = sum(found.seconds.values())
        print(f"{len(found.seconds)} tests take {took:.0f} s", flush=True)
        verdicts = list(_judged(chosen, asked, folder, found))
    result = figures(verdicts, len(every), asked.seed)
    asked.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    asked.json.with_suffix(".md").write_text(page(result), "utf-8")
    print(page(result).partition("\n## ")[0])
    return 0 if result["reached"] else 1


def _judged(
    chosen: Sequence[Mutant], asked: argparse.Namespace, folder: Path, found: Witnesses
) -> Iterator[Verdict]:
    """The verdicts as they come, each printed; first one without a fault."""
    context: Any = multiprocessing.get_context("fork")
    with context.Pool(asked.workers, _begin, (folder, found, asked.seconds)) as pool:
        control = pool.apply(judge, (None,))
        if control.outcome != "survived":
            raise SystemExit(f"the tests fail without a fault: {control.by or control.outcome}")
        for done, verdict in enumerate(pool.imap_unordered(judge, chosen), 1):
            mutant = verdict.mutant
            where = f"{mutant.path}:{mutant.line}:{mutant.column}"
            what = mutant.operator.rpartition("/")[2]
            by = f" by {verdict.by}" if verdict.by else ""
            print(
                f"[{done}/{len(chosen)}] {verdict.outcome}{by}: {where} {what}, "
                f"{verdict.seconds:.0f} s",
                flush=True,
            )
            yield verdict


if __name__ == "__main__":
    sys.exit(main())
