"""The benchmark lies in the checkout: it is found there, or said to be missing; old names warn."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from benchmarks.peers import benchmark
from click.testing import CliRunner

import deltadyn
from deltadyn.commands import bench as command
from deltadyn.commands.bench import NoCheckoutError, OtherPackageError, load_benchmark

SOURCE = Path(deltadyn.__file__).resolve().parent
NAMES = ("Benchmark", "Row", "Target", "run_benchmark")


def run(words: list[str], folder: Path, path: Path) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter in a folder, with the package from a path."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.full
def test_a_package_without_a_checkout_says_so(tmp_path: Path) -> None:
    """As a wheel installs it: the package alone, beside a folder `benchmarks` of somebody else."""
    site = tmp_path / "lib" / "site-packages"
    shutil.copytree(SOURCE, site / "deltadyn", ignore=shutil.ignore_patterns("*.[ch]", "*.pyc"))
    other = tmp_path / "benchmarks"
    other.mkdir()
    (other / "__init__.py").write_text("raise SystemExit('not ours')\n", "utf-8")
    done = run(["-m", "deltadyn", "bench"], tmp_path, site)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "deltadyn: the benchmark runs from a checkout of deltadyn, and this deltadyn is installed "
        f"without one in {site / 'deltadyn'}: clone the repository, run `pip install -e .` in the "
        "clone, then `deltadyn bench`\n"
    )
    code = "import deltadyn.bench; deltadyn.bench.run_benchmark"
    done = run(["-c", code], tmp_path, site)
    assert done.returncode == 1
    assert "NoCheckoutError: the benchmark runs from a checkout" in done.stderr


def test_a_folder_of_the_same_name_elsewhere_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__init__.py").write_text("raise SystemExit('not ours')\n", "utf-8")
    code = "from deltadyn.commands.bench import load_benchmark; print(load_benchmark().__file__)"
    done = run(["-c", code], tmp_path, SOURCE.parent)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == Path(benchmark.__file__).resolve()


def test_another_package_that_is_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("benchmarks")
    other.__path__ = ["/somewhere/benchmarks"]
    monkeypatch.setitem(sys.modules, "benchmarks", other)
    with pytest.raises(OtherPackageError, match="is loaded already, from /somewhere/benchmarks"):
        load_benchmark()


def test_the_error_holds_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "ROOT", tmp_path)
    with pytest.raises(NoCheckoutError) as raised:
        load_benchmark()
    assert raised.value.folder == SOURCE
    assert CliRunner().invoke(command.bench).exit_code == 2


@pytest.mark.parametrize("name", NAMES)
def test_the_old_names_warn_and_work(name: str) -> None:
    with pytest.deprecated_call(match=f"take {name} from benchmarks.peers.benchmark"):
        found = getattr(deltadyn.bench, name)
    assert found is getattr(benchmark, name)


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'run'"):
        _ = deltadyn.bench.run
