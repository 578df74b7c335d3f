"""Numeric tests and searches under other roundings: what depends on the last bits shows here.

Run: python -m tools.roundings [--only NAME,...] [--tests PATH ...] [--json FILE]

Processors and builds round otherwise: linear algebra by the processor's family, NumPy by its
widest vectors, the kernels by the compiler's flags, or none at all. Every rounding runs the tests,
which hold whatever the last bits are, and designs motions by the same seeds. A design may be
another motion there, but it is as good as the others: its criterion within `DESIGNS_APART`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from tools.dependencies import ROOT
from tools.kernel_builds import build_package

FOLDER = ROOT / "build" / "roundings"
#: Rooms that calculate. The others show, read and write what these give.
TESTS = tuple(
    f"tests/{room}"
    for room in (
        *("kinematics", "dynamics", "family", "motion", "excitation", "identification"),
        *("calibration", "payload", "force", "simulation", "validation", "sizing", "kernels"),
        *("recording", "check", "history", "exports", "test_fresh_clone.py"),
    )
)
#: Of the largest objective, a logarithm: local optima of a good search differ by some per cent.
DESIGNS_APART = 0.15
DESIGNS = (("sipro-d3-1200", 4.0, 4), ("example-delta-4", 4.0, 3))  # robot, s, harmonics
SEEDS = 3
DESIGN = """
import sys, deltadyn as dd
name, duration, harmonics, seed = sys.argv[1], *map(float, sys.argv[2:])
found = dd.design_excitation(dd.load_robot(name), duration, int(harmonics), seed=int(seed),
                             periods=round(1.5 * duration), starts=1, time_limit=3600.0)
print(found.condition_number)
"""


@dataclass(frozen=True)
class Rounding:
    """Variables of the environment, and flags of the compiler where the kernels are built anew."""

    name: str
    variables: dict[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def roundings() -> list[Rounding]:
    """Those that this processor can do."""
    families = {"Haswell": "avx2", "SkylakeX": "avx512vl", "Prescott": "ssse3"}
    flags = processor_flags()
    cores = [
        Rounding(family.lower(), {"OPENBLAS_CORETYPE": family})
        for family, flag in families.items()
        if flag in flags
    ]
    return [
        *cores,
        Rounding("narrow", {"NPY_DISABLE_CPU_FEATURES": " ".join(dispatched())}),
        Rounding("numpy", {"DELTADYN_KERNELS": "off"}),
        Rounding("plain", flags=("-O1", "-ffp-contract=off")),
        Rounding("contracted", flags=("-O3", "-march=native", "-ffp-contract=fast")),
    ]


def processor_flags() -> set[str]:
    """What the processor can do, as the system names it; nothing where it does not say."""
    source = Path("/proc/cpuinfo")
    return set(source.read_text("utf-8").split()) if source.exists() else set()


def dispatched() -> list[str]:
    """The groups of vector instructions that NumPy chooses at run time and has here."""
    core = import_module("numpy._core._multiarray_umath")
    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]]


def environment(rounding: Rounding, folder: Path) -> dict[str, str]:
    """The environment of a rounding; kernels that it builds stand before the installed ones."""
    found = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    found |= rounding.variables
    if rounding.flags:
        shutil.rmtree(folder / rounding.name, ignore_errors=True)
        package = build_package(folder / rounding.name, rounding.flags)
        found |= {"PYTHONPATH": f"{package}{os.pathsep}{ROOT}", "DELTADYN_KERNELS": "on"}
    return found


def tested(tests: Sequence[str], variables: dict[str, str]) -> tuple[bool, str]:
    """Whether all tests pass, and pytest's last line."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    print(done.stdout[-6000:], done.stderr[-2000:], sep="", flush=True)
    last = (done.stdout.strip().splitlines() or ["no test ran"])[-1]
    return done.returncode == 0, re.sub(r" in [\d.]+s.*", "", last.strip("= "))


def designs(variables: dict[str, str]) -> Iterator[tuple[str, float]]:
    """Condition number of the design of every robot and seed."""
    for name, *numbers in DESIGNS:
        for seed in range(SEEDS):
            words = [name, *map(str, numbers), str(seed)]
            done = subprocess.run(
                [sys.executable, "-c", DESIGN, *words],
                env=variables,
                capture_output=True,
                text=True,
                check=True,
            )
            yield f"{name}, seed {seed}", float(done.stdout)


def apart(numbers: Sequence[float]) -> float:
    """The largest over the least, less 1."""
    return max(numbers) / min(numbers) - 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", metavar="NAME,...", help="these roundings alone")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="instead of the rooms")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the kernels built here")
    parser.add_argument("--json", type=Path, help="file for the figure")
    given = parser.parse_args(arguments)
    every = roundings()
    wanted = given.only.split(",") if given.only else [item.name for item in every]
    unknown = set(wanted) - {item.name for item in every}
    if unknown:
        raise SystemExit(f"--only: no rounding {unknown.pop()!r}; {[x.name for x in every]}")
    failed: list[str] = []
    found: dict[str, list[float]] = {}
    for item in every:
        if item.name not in wanted:
            continue
        variables = environment(item, given.folder)
        passed, text = tested(given.tests, variables) if given.tests else (True, "no tests")
        failed += [] if passed else [item.name]
        print(f"{item.name}: {text}", flush=True)
        for name, number in designs(variables):
            found.setdefault(name, []).append(number)
            print(f"{item.name}: {name}: condition number {number:.4f}", flush=True)
    most = max(map(apart, found.values()), default=0.0)
    figure = (
        f"{len(wanted) - len(failed)} of {len(wanted)} roundings pass"
        f"{' (not ' + ', '.join(failed) + ')' if failed else ''}, "
        f"designs at most {100 * most:.1f} % apart"
    )
    reached = not failed and most <= DESIGNS_APART
    if given.json is not None:
        given.json.write_text(json.dumps({"figure": figure, "reached": reached}) + "\n", "utf-8")
    print(figure)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
