"""`deltadyn bench`: how fast this machine is, beside MuJoCo and Pinocchio.

The benchmark is no part of the package: it lies in `benchmarks/peers` of a checkout, beside the
`src` that the package was loaded from, with the peers' C and C++ programs.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import click

from deltadyn.commands.common import ANSWER_NO, guarded, json_option, show
from deltadyn.errors import DeltadynError

ROOT = Path(__file__).resolve().parents[3]  # of a checkout: src/deltadyn/commands/bench.py
PACKAGE = "benchmarks"
OURS = ("peers/benchmark.py", "peers/race.h")  # other projects have a folder of that name too


class NoCheckoutError(DeltadynError):
    """The benchmark asked of a package that does not lie in a checkout; `folder` is where it is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(
            "the benchmark runs from a checkout of deltadyn, and this deltadyn is installed "
            f"without one in {folder}: clone the repository, run `pip install -e .` in the clone, "
            "then `deltadyn bench`"
        )


class OtherPackageError(DeltadynError):
    """Another package with the name of ours that this process has loaded, from `folders`."""

    def __init__(self, folders: list[str]) -> None:
        self.folders = folders
        places = ", ".join(folders) or "no file"
        super().__init__(
            f"another package {PACKAGE!r} is loaded already, from {places}: "
            "run the benchmark in a process of its own"
        )


def load_benchmark() -> Any:
    """The module `benchmarks.peers.benchmark` of the checkout that this package lies in."""
    folder = ROOT / PACKAGE
    if not all((folder / name).is_file() for name in OURS):
        raise NoCheckoutError(Path(__file__).resolve().parents[1])
    loaded = sys.modules.get(PACKAGE)
    if loaded is None:
        _load(folder)
    elif folder not in [Path(place).resolve() for place in loaded.__path__]:
        raise OtherPackageError(list(loaded.__path__))
    return import_module(f"{PACKAGE}.peers.benchmark")


def _load(folder: Path) -> None:
    """Load the folder as the package by its path: `sys.path` may hold another one of that name."""
    spec = spec_from_file_location(PACKAGE, folder / "__init__.py")
    assert spec is not None  # of a file that ends in .py
    assert spec.loader is not None
    package = module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)


@click.command(epilog="Example: deltadyn bench --full --json > bench.json")
@click.option("--full", is_flag=True, help="More repeats: steadier figures, some minutes.")
@json_option
@guarded
def bench(full: bool, as_json: bool) -> None:
    """Measure speed beside MuJoCo and Pinocchio; exit status 1 where a target is not met.

    It runs from a checkout of deltadyn. The peers' own C and C++ programs are compiled once where
    their headers are there, and their torques are compared with ours before any time is believed.
    """
    from deltadyn.backends.loader import absence

    if missing := absence():
        click.echo(f"note: {missing}", err=True)
    benchmark = load_benchmark()

    def tell(text: str) -> None:
        if not as_json:
            click.echo(f"bench: {text}", err=True)

    found = benchmark.run_benchmark(full=full, tell=tell)
    show(found, as_json)
    if not found.passed:
        sys.exit(ANSWER_NO)
