"""Mutation testing: small faults are planted in the source, one at a time; do the tests notice?

Run: python -m tools.mutants [--sample 500] [--seed 0] [--workers 2] [--seconds 20] [--json FILE]
     [--map FILE [--tests FILE ...]] [--keep all|killed]

Cosmic Ray's operators make the mutants of kinematics, dynamics and identification/methods: another
operator, another comparison, a number more or less, a condition turned, a loop without rounds. A
seeded sample of them is judged. First the tests run once with the lines that each of them
executes; tests that take long are left out, as a mutant meets many. A mutant then meets the tests
that execute its line, and after those others of its module, within a limit of processor time. A
test that kills must pass without the fault.

The compiled kernels are off: else the mutated source would be compared with C that was generated
from the source without its fault, and the tests of the mathematics would not be measured at all.

Left out by rule, as no test can or should see them: mutants in annotations, docstrings, f-strings
(words of messages), `__all__` and conditions on TYPE_CHECKING; decorators that cache; arithmetic
turned into bit operations and the reverse, and `is` turned into an order, which fail on every
input; `==` turned into `is`; and what does not compile or compiles to the same.

Every mutant is made in a copy of the tree. Beside FILE with the figures stand its .md, survivors
with their difference; its .jsonl, a verdict a line as they come; its .sample.json; and its
.map.json, the lines of the tests. With --map a later call reads them, with --tests it watches
these files alone and adds them. With --keep verdicts of the .jsonl hold where the source is the
same: all of them after a stop, or the killed ones, so that the survivors meet new tests.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import gc
import hashlib
import importlib
import inspect
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

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
#: Tests of what modules declare. They run no line of them, and meet what runs at import first.
DECLARED = ("tests/properties/test_values.py",)
#: Tests of code that is compiled for minutes, chosen by -k of pytest.
LEFT_OUT = "not jax and not traced"
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
SECONDS = 20.0  # of processor time for the tests of a mutant
GRACE = 20.0  # s beyond that before a run is a hang
LONGEST = 3.0  # s of processor time under the watch: longer tests meet no mutant


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
    source: str = ""  # digest of the file without the fault


@dataclass
class Witnesses:
    """Seconds of every test, and the tests of every line of the source.

    A test is a node of pytest. What a fixture executes counts for all tests of its file. Early are
    lines that run when modules are imported or tests are collected.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    early: dict[str, set[int]] = field(default_factory=dict)

    def of(self, mutant: Mutant, limit: float = SECONDS) -> list[str]:
        """Tests that execute the line, then others of the module for a quarter of the limit.

        First those that execute much of the module in little time, each test with its best case
        before any has its second. Without a test of the line the others have the whole limit, after
        those of what modules declare.
        """
        lines = self.lines.get(mutant.path, {})
        executed = Counter(test for tests in lines.values() for test in tests)
        near = set(lines.get(mutant.line, ()))
        first = self._within(near, limit, executed)
        share = 0.25 if first else 1.0
        if mutant.line in self.early.get(mutant.path, ()):
            first += [test for test in self.seconds if _file(test) in DECLARED]
        return first + self._within(executed.keys() - near, share * limit, executed)

    def _within(
        self, tests: AbstractSet[str], limit: float, executed: Mapping[str, int]
    ) -> list[str]:
        def worth(test: str) -> tuple[float, str]:
            return -executed[test] / (self.seconds[test] + 0.02), test

        cases: Counter[str] = Counter()
        turns: dict[str, int] = {}
        for test in sorted(tests, key=worth):
            name = test.partition("[")[0]
            turns[test] = cases[name]
            cases[name] += 1
        chosen: list[str] = []
        spent = 0.0
        for test in sorted(turns, key=lambda test: turns[test]):  # a stable sort
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
        same = ast.dump(ast.parse(changed)) == _tree(text)
    except SyntaxError:
        return None
    return None if same else changed


@lru_cache(maxsize=64)
def _tree(text: str) -> str:
    return ast.dump(ast.parse(text))


def sample(
    mutants: Sequence[Mutant], count: int, seed: int, root: Path = ROOT
) -> dict[Mutant, str]:
    """A seeded sample of the mutants that compile, with their sources."""
    every = random.Random(seed).sample(mutants, len(mutants))
    chosen: dict[Mutant, str] = {}
    for mutant in every:
        if len(chosen) == count:
            break
        changed = mutated(mutant, (root / mutant.path).read_text("utf-8"))
        if changed is not None:
            chosen[mutant] = changed
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


def in_child(tree: Path, limit: float, work: Callable[[], int]) -> int | None:
    """What `work` returns in a process of its own; None: it took longer than that.

    The limit is one of processor seconds, so that a busy machine hangs no mutant; 20 times as long
    by the clock ends what waits for ever.
    """
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 5))
            with (tree / "run.log").open("wb") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            status = int(work())
        finally:
            os._exit(status)
    end = time.monotonic() + 20 * limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def enter(tree: Path) -> None:
    """Make a copy of the tree the place where this process and its children import."""
    os.chdir(tree)
    os.environ["PYTHONPATH"] = f"{tree / 'src'}{os.pathsep}{tree}"
    sys.path[:0] = [str(tree / "src"), str(tree)]
    for name in [name for name in sys.modules if name.partition(".")[0] == "tools"]:
        del sys.modules[name]


class Watch:
    """A plugin of pytest: processor seconds of the tests that pass, and contexts of coverage."""

    def __init__(self, coverage: Any, longest: float) -> None:
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.slow: list[str] = []
        self.coverage = coverage
        self.longest = longest
        self.start = 0.0
        signal.signal(signal.SIGPROF, self._too_long)

    def _too_long(self, *_: object) -> None:
        pytest.skip(f"longer than {self.longest:g} s")  # fixtures and Hypothesis let it pass

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        self.start = time.process_time()
        self.coverage.switch_context(f"{nodeid}|setup")
        signal.setitimer(signal.ITIMER_PROF, self.longest)

    def pytest_runtest_call(self, item: Any) -> None:
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_teardown(self, item: Any) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = time.process_time() - self.start
        elif report.failed:
            self.failed.append(report.nodeid)
        elif report.skipped and "longer than" in str(report.longrepr):
            self.slow.append(report.nodeid)


def _pytest(words: Sequence[str], plugin: object) -> int:
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "--tb=line"]
    options += ["--basetemp=temporary", "-k", LEFT_OUT]
    return int(pytest.main([*options, *words], plugins=[plugin]))


def watch(tree: Path, tests: Sequence[str], longest: float) -> Path:
    """Run the tests once, and write which lines of the rooms each of them executes."""
    out = tree / "witnesses.json"

    def work() -> int:
        import coverage

        enter(tree)
        folders = [str(tree / SOURCE / room / "*") for room in ROOMS]
        tracer = coverage.Coverage(data_file=None, include=folders, config_file=False)
        plugin = Watch(tracer, longest)
        tracer.start()
        _pytest(tests, plugin)
        tracer.stop()
        data, lines = tracer.get_data(), {}
        for path in data.measured_files():
            name = str(Path(path).relative_to(tree))
            by_line = data.contexts_by_lineno(path)
            lines[name] = {str(line): sorted(own) for line, own in by_line.items()}
        seconds = {test: round(s, 3) for test, s in plugin.seconds.items()}
        for test in plugin.failed:
            seconds.pop(test, None)
        written = {"seconds": seconds, "lines": lines, "bad": plugin.failed, "slow": plugin.slow}
        out.write_text(json.dumps(written))
        return 0

    if in_child(tree, 7200, work) != 0:
        said = (tree / "run.log").read_text("utf-8", "replace")[-2000:]
        raise SystemExit(f"the tests could not be watched:\n{said}")
    return out


def joined(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """One map of two: tests of files that the new one holds are taken from it alone."""
    files = {test.partition("::")[0] for key in ("seconds", "bad", "slow") for test in new[key]}

    def kept(tests: Iterable[str]) -> list[str]:
        return [test for test in tests if test.partition("::")[0] not in files]

    seconds = {test: old["seconds"][test] for test in kept(old["seconds"])} | new["seconds"]
    lines: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for source in (old["lines"], new["lines"]):
        for name, by_line in source.items():
            for line, own in by_line.items():
                mine = kept(own) if source is old["lines"] else own
                lines[name][line] = sorted({*lines[name].get(line, ()), *mine})
    lists = {key: sorted({*kept(old[key]), *new[key]}) for key in ("bad", "slow")}
    return {"seconds": seconds, "lines": lines, **lists}


def witnesses(found: Mapping[str, Any]) -> Witnesses:
    """What `watch` has written; a fixture's lines are those of all tests of its file."""
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
    early = {
        name: {int(line) for line, own in by_line.items() if "" in own}
        for name, by_line in found["lines"].items()
    }
    return Witnesses(seconds, lines, early)


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


# The fault in functions that are already loaded


def changed_functions(before: str, after: str, path: str) -> list[CodeType] | None:
    """New code of the outermost functions that differ; None: more than functions differs."""
    pairs = [(compile(before, path, "exec"), compile(after, path, "exec"))]
    found: list[CodeType] = []
    while pairs:
        old, new = pairs.pop()
        if (old.co_code, old.co_names) != (new.co_code, new.co_names):
            return None
        if len(old.co_consts) != len(new.co_consts):
            return None
        for one, other in zip(old.co_consts, new.co_consts, strict=True):
            if not (isinstance(one, CodeType) and isinstance(other, CodeType)):
                if (type(one), repr(one)) != (type(other), repr(other)):
                    return None
            elif not one.co_flags & inspect.CO_OPTIMIZED:
                pairs.append((one, other))  # the body of a class
            elif one != other:
                found.append(other)
    return found


Place = tuple[str, str, int]


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def loaded_functions(folder: Path) -> dict[Place, list[FunctionType]]:
    """All functions in memory that come from a folder, by their place."""
    found: dict[Place, list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename.startswith(str(folder)):
            found[_place(thing.__code__)].append(thing)
    return found


def plant(codes: Sequence[CodeType], functions: Mapping[Place, Sequence[FunctionType]]) -> None:
    """Give the loaded functions their new code; what is not loaded yet is read from its file."""
    for code in codes:
        for function in functions.get(_place(code), ()):
            function.__code__ = code


# The judgement


@dataclass(frozen=True)
class Case:
    """A mutant, its source and the tests that it meets."""

    mutant: Mutant
    changed: str
    tests: tuple[str, ...]


@dataclass(eq=False)
class Judge:
    """Judges cases in a copy of the tree, by two ways to the same end.

    Most faults lie within functions that run in tests alone. For these the tests are collected
    once, and for every fault a fork gives the functions their new code (`pytest_runtestloop`).
    Where a line runs when its module is imported or tests are collected, or where more than the
    code of functions differs, a process without deltadyn imports it all anew.
    """

    tree: Path
    found: Witnesses
    limit: float
    tell: Callable[[Verdict], None]
    grace: float = GRACE
    end: float = math.inf  # of time.monotonic: no case is begun after it
    trusted: dict[str, bool] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    session: Any = None
    functions: dict[Place, list[FunctionType]] = field(default_factory=dict)

    def all(self, cases: Sequence[Case]) -> None:
        """Judge first what needs no import, then the rest."""
        fast = [case for case in cases if self._within_functions(case)]
        files = sorted({_file(test) for case in fast for test in case.tests})

        def work() -> int:
            enter(self.tree)
            self.cases = fast
            return _pytest(files, self)

        if fast and in_child(self.tree, 360_000, work) not in (0, 5):
            said = (self.tree / "run.log").read_text("utf-8", "replace")[-2000:]
            raise SystemExit(f"the tests could not be collected:\n{said}")
        for case in cases:
            if case not in fast:
                self.judge(case)

    def _within_functions(self, case: Case) -> bool:
        mutant = case.mutant
        if mutant.line in self.found.early.get(mutant.path, ()):
            return False
        path = self.tree / mutant.path
        return changed_functions(path.read_text("utf-8"), case.changed, str(path)) is not None

    def pytest_runtestloop(self, session: Any) -> bool:
        """In place of pytest's own loop: fork for every fault."""
        self.session = session
        self.functions = loaded_functions(self.tree / SOURCE.parent)
        gc.freeze()
        for case in self.cases:
            self.judge(case)
        return True

    def judge(self, case: Case) -> None:
        """Plant the fault, run the tests, take it out again."""
        if time.monotonic() > self.end:
            return
        path = self.tree / case.mutant.path
        text, start = path.read_text("utf-8"), time.monotonic()
        outcome, by, ran = "survived", "", 0
        while True:
            tests = [test for test in case.tests if self.trusted.get(test, True)]
            try:
                self._write(path, case.changed)
                ran, some = 0, tests
                for some in self._portions(tests):
                    outcome, by, more = self._meet(some, path, text)
                    ran += more
                    if outcome != "survived":
                        break
            finally:
                self._write(path, text)
            # A test that kills must pass without the fault, on its own; that is asked once. Files
            # that cannot be read with it must be readable without.
            if outcome == "killed" and by not in self.trusted:
                known = by in self.found.seconds
                sound = self._meet([by] if known else some, path, text)[0] == "survived"
                if known:
                    self.trusted[by] = sound
                elif not sound:
                    raise SystemExit(f"tests fail without a fault: {some[0]} and those beside it")
            if self.trusted.get(by, True):
                break
        lines = difflib.unified_diff(text.splitlines(), case.changed.splitlines(), lineterm="", n=2)
        shown = "\n".join(list(lines)[2:])
        taken = round(time.monotonic() - start, 1)
        self.tell(Verdict(case.mutant, outcome, by, ran, taken, shown, digest(text)))

    def _portions(self, tests: list[str]) -> list[list[str]]:
        """All at once where they are collected; else first one file, which is enough as a rule."""
        if self.session is not None:
            return [tests]
        first = [test for test in tests if _file(test) == _file(tests[0])]
        return [first, tests[len(first) :]]

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.write_text(text, "utf-8")
        for old in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            old.unlink()

    def _meet(self, tests: Sequence[str], path: Path, text: str) -> tuple[str, str, int]:
        """killed, hung or survived, the test that failed, and how many ran."""
        if not tests:
            return "survived", "", 0
        told = self.tree / "told.json"
        told.unlink(missing_ok=True)
        changed = path.read_text("utf-8")

        def work() -> int:
            loop = Loop(tests, self.limit, told)
            if self.session is None:
                enter(self.tree)
                return _pytest(["-x", *sorted({_file(test) for test in tests})], loop)
            plant(changed_functions(text, changed, str(path)) or (), self.functions)
            self.session.config.pluginmanager.register(loop)
            loop.run(self.session)
            return 0

        status = in_child(self.tree, self.limit + self.grace, work)
        if status is None:
            return "hung", "", len(tests)
        if not told.exists():
            return "killed", f"files that could not be read, status {status}", 0
        by, ran = json.loads(told.read_text("utf-8"))
        return ("killed" if by else "survived"), by, ran


class Loop:
    """A plugin of pytest: some of the collected tests in the order of a list, up to a failure."""

    def __init__(self, tests: Sequence[str], limit: float, told: Path) -> None:
        self.tests, self.limit, self.told = tests, limit, told
        self.failed = ""

    def pytest_runtestloop(self, session: Any) -> bool:
        """Where the tests were collected for this fault."""
        if session.testsfailed:  # a file that could not be imported
            self.failed = "collection"
            self.told.write_text(json.dumps([self.failed, 0]))
        else:
            self.run(session)
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def run(self, session: Any) -> None:
        """Run them within the limit of processor seconds."""
        place = {test: index for index, test in enumerate(self.tests)}
        items = [item for item in session.items if item.nodeid in place]
        items.sort(key=lambda item: place[item.nodeid])
        start, ran = time.process_time(), 0
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            ran += 1
            if self.failed or time.process_time() - start > self.limit:
                break
        self.told.write_text(json.dumps([self.failed, ran]))


def _file(test: str) -> str:
    return test.partition("::")[0]


def digest(text: str) -> str:
    """Of the source without its fault: an earlier verdict holds for the same source alone."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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
    parser.add_argument("--tests", nargs="*", help="files and folders to watch")
    parser.add_argument("--only", default="", help="mutants of files whose path holds this")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of tests for a mutant")
    parser.add_argument("--longest", type=float, default=LONGEST, help="seconds of a test")
    parser.add_argument("--map", type=Path, help="lines of the tests, written by an earlier call")
    parser.add_argument("--minutes", type=float, default=math.inf, help="end after them, with less")
    parser.add_argument("--keep", choices=["none", "all", "killed"], default="none")
    parser.add_argument("--json", type=Path, default=FOLDER / "mutants.json", help="figures")
    asked = parser.parse_args(arguments)
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    os.environ |= ENVIRONMENT
    every, chosen = _drawn(asked)
    chosen = {m: changed for m, changed in chosen.items() if asked.only in m.path}
    told = asked.json.with_suffix(".jsonl")
    verdicts = kept(told, chosen, asked.keep)
    told.write_text("".join(json.dumps(asdict(v)) + "\n" for v in verdicts.values()), "utf-8")
    preload()
    with tempfile.TemporaryDirectory(prefix="deltadyn-mutants-") as name:
        folder = Path(name).resolve()
        found = witnesses(_map(asked, folder))
        took = sum(found.seconds.values())
        print(f"{every} mutants, {len(chosen)} chosen, {len(verdicts)} kept", flush=True)
        print(f"{len(found.seconds)} tests take {took:.0f} s", flush=True)
        cases = [
            Case(m, changed, tuple(_by_file(found.of(m, asked.seconds))))
            for m, changed in chosen.items()
            if m not in verdicts
        ]
        with told.open("a", encoding="utf-8") as out:
            for verdict in _judged(cases, asked, folder, found):
                verdicts[verdict.mutant] = verdict
                out.write(json.dumps(asdict(verdict)) + "\n")
                out.flush()
    result = figures(list(verdicts.values()), every, asked.seed)
    asked.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    asked.json.with_suffix(".md").write_text(page(result), "utf-8")
    print(page(result).partition("\n## ")[0])
    return 0 if result["reached"] else 1


def kept(
    path: Path, chosen: Iterable[Mutant], which: str, root: Path = ROOT
) -> dict[Mutant, Verdict]:
    """Verdicts of an earlier call on the same source: none, all, or all but the survivors."""
    if which == "none" or not path.exists():
        return {}
    wanted, found = set(chosen), {}
    for line in path.read_text("utf-8").splitlines():
        values = json.loads(line)
        verdict = Verdict(Mutant(**values.pop("mutant")), **values)
        source = root / verdict.mutant.path
        if (
            verdict.mutant in wanted
            and verdict.source == digest(source.read_text("utf-8"))
            and (which == "all" or verdict.outcome != "survived")
        ):
            found[verdict.mutant] = verdict
    return found


def _drawn(asked: argparse.Namespace) -> tuple[int, dict[Mutant, str]]:
    """How many mutants there are, and the sample; both are written, and read again for the same."""
    functions = (population, _mutants_of, _hopeless, _left_out, mutated, sample)
    rules = [inspect.getsource(function) for function in functions]
    paths = sorted(path for room in ROOMS for path in (ROOT / SOURCE / room).glob("*.py"))
    sources = "".join([*rules, *(path.read_text("utf-8") for path in paths)])
    of = [asked.sample, asked.seed, digest(sources)]
    path = asked.json.with_suffix(".sample.json")
    if path.exists() and (found := json.loads(path.read_text("utf-8")))["of"] == of:
        return found["every"], {Mutant(**mutant): text for mutant, text in found["chosen"]}
    every = population()
    chosen = sample(every, asked.sample, asked.seed)
    written = [(asdict(mutant), text) for mutant, text in chosen.items()]
    path.write_text(json.dumps({"of": of, "every": len(every), "chosen": written}), "utf-8")
    return len(every), chosen


def _map(asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The lines of the tests, read or watched, and written beside the figures."""
    old = json.loads(asked.map.read_text("utf-8")) if asked.map else None
    found: dict[str, Any] = old or {}
    if asked.tests or old is None:
        path = watch(copy_tree(folder / "watched" / "tree"), asked.tests or TESTS, asked.longest)
        new = json.loads(path.read_text("utf-8"))
        found = joined(old, new) if old else new
        for test in new["bad"]:
            print(f"fails without a fault: {test}", flush=True)
        print(f"{len(new['slow'])} tests take longer than {asked.longest:g} s", flush=True)
    asked.json.with_suffix(".map.json").write_text(json.dumps(found), "utf-8")
    return found


def _by_file(tests: Sequence[str]) -> list[str]:
    """The same tests, those of a file together, so that its fixtures are made once."""
    order = {file: index for index, file in enumerate(dict.fromkeys(map(_file, tests)))}
    return sorted(tests, key=lambda test: order[_file(test)])


def _judged(
    cases: Sequence[Case], asked: argparse.Namespace, folder: Path, found: Witnesses
) -> Iterator[Verdict]:
    """The verdicts as they come, each printed."""
    context: Any = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    end = time.monotonic() + 60 * asked.minutes

    def work(number: int) -> None:
        tree = copy_tree(folder / f"worker-{number}" / "tree")
        try:
            judge = Judge(tree, found, asked.seconds, queue.put, end=end)
            judge.all(cases[number :: asked.workers])
        finally:
            queue.put(None)

    workers = [context.Process(target=work, args=(number,)) for number in range(asked.workers)]
    for worker in workers:
        worker.start()
    done, running = 0, len(workers)
    while running:
        verdict = queue.get()
        if verdict is None:
            running -= 1
            continue
        done += 1
        mutant = verdict.mutant
        where = f"{mutant.path}:{mutant.line}:{mutant.column}"
        what = mutant.operator.rpartition("/")[2]
        by = f" by {verdict.by}" if verdict.by else ""
        print(
            f"[{done}/{len(cases)}] {verdict.outcome}{by}: {where} {what}, "
            f"{verdict.tests} tests, {verdict.seconds:.0f} s",
            flush=True,
        )
        yield verdict
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise SystemExit("a process of the mutants ended early")


if __name__ == "__main__":
    sys.exit(main())
