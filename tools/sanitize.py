"""Exported C and compiled kernels under the address and undefined-behaviour sanitizers.

Run: python -m tools.sanitize [--calls 200000] [--compilers gcc,clang] [--parts exports,kernels]
     [--json FILE]

exports: programs that call an exported robot with numbers of every kind, among them NaN,
infinities, singular and unreachable poses: standard robots of three and four axes, and every kind
of the family. Divisions by zero and casts that overflow end a program, too: the code promises that
it has none.

kernels: the extension is built with the sanitizers into a folder of its own, beside a copy of the
package. A Python process with the sanitizer's library then calls every kernel with random numbers
of that sort and every length of the last block, gives damaged lines to the parser of numbers, and
runs the tests of kernels, parser, smoother and compiled plant. Kernels may divide by zero: NaN
marks what does not exist.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tools.kernel_builds import build_package

ROOT = Path(__file__).resolve().parents[1]
BUILD = ("-O1", "-g1", "-fno-omit-frame-pointer", "-ffp-contract=off")
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
STRICTER = ("-O1", "-g1", "-fsanitize=float-divide-by-zero,float-cast-overflow", *SANITIZED)
STANDARD = ("full-3", "rich-3", "rubbing-4", "rich-4")
TESTS = (
    "tests/kernels/test_kernels.py",
    "tests/kernels/test_calls.py",
    "tests/kernels/test_float.py",
    "tests/kernels/test_terms.py",
    "tests/family/test_kernels.py",
    "tests/simulation/test_compiled.py",
    "tests/recording/test_numbers.py",
    "tests/recording/test_derivatives.py",
)
#: Cells of a log, plain ones first, and marks between them; the last ones are none.
CELLS = ("1", "-2.5", "+.5", "3.", "1e3", "2E-2", "12345678.9", "0." + "0" * 40 + "1", "9" * 400)
ODD_CELLS = (
    "",
    "nan",
    "x",
    '"4"',
    "1.2.3",
    "#5",
    "1e99999999999",
    "9" * 1500,
    "\r",
    "\0",
    "-",
    "1e-",
)
MARKS = (",", ";", "\t", "|", "", "\n", "\r", "0", ".", "-", "e", '"', " ")
LENGTHS = (0, 1, 2, 7, 8, 9, 31, 33, 64, 100)


def exports(compiler: str, calls: int) -> Iterator[tuple[str, Callable[[], int]]]:
    """Names of programs, and what builds and runs each; the result is the number of its calls."""
    from tests.exports.c_build import HERE, STRICT, library_of, need, run, sources_of
    from tests.exports.test_c_fuzz import fuzz
    from tests.family.robots import KINDS, OTHER_PLATFORMS, make

    def standard(name: str) -> int:
        told = fuzz(compiler, name, "double", *STRICTER, calls=calls)
        if not {0, 1, 2, 3} <= {status for status, count in enumerate(told) if count}:
            raise RuntimeError(f"not every status was met: {told}")
        return sum(told)

    def family(kind: str) -> int:
        robot = make(kind)
        folder = sources_of(robot)
        source = library_of(folder)
        own = source.stem.removesuffix("_delta")
        defines = [f'-DHEADER="{source.stem}.h"', f"-DID={own}", f"-DN={robot.dof}"]
        defines.append(f"-DHALF={int(robot.legs == 4)}")
        text = [str(HERE / "c_platform_fuzz.c"), source.name, "-I.", *defines]
        run([need(compiler), *STRICT, *STRICTER, *text, "-o", "fuzz", "-lm"], folder)
        return sum(int(word) for word in run(["./fuzz", str(calls // 7)], folder).split())

    for name in STANDARD:
        yield f"{compiler} {name}", partial(standard, name)
    for kind in (*KINDS, *OTHER_PLATFORMS):
        yield f"{compiler} {kind}", partial(family, kind)


def kernels(calls: int) -> Iterator[tuple[str, Callable[[], int]]]:
    """The same for the extension, which is built first."""
    with tempfile.TemporaryDirectory(prefix="deltadyn-sanitized-") as name:
        folder = Path(name)
        environment = build(folder)

        def inside(*words: str) -> int:
            command = [sys.executable, *words]
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError((done.stdout + done.stderr)[-4000:])
            numbers = re.findall(r"(\d+) (?:calls|passed)", done.stdout)
            return int(numbers[-1])

        yield (
            "kernels, random calls",
            lambda: inside("-m", "tools.sanitize", "--inside", str(calls)),
        )
        options = ("-m", "pytest", "-q", "--full", "-p", "no:cacheprovider", "-p", "no:xdist")
        tests = [path for path in TESTS if (ROOT / path).exists()]
        yield "kernels, their tests", lambda: inside(*options, *tests)


def build(folder: Path) -> dict[str, str]:
    """A copy of the package with a sanitized extension, and the environment to run it in."""
    package = build_package(folder, [*BUILD, *SANITIZED], SANITIZED)
    gcc = shutil.which("gcc") or "gcc"
    preload = [_library(gcc, name) for name in ("libasan.so", "libubsan.so", "libstdc++.so")]
    return os.environ | {
        "PYTHONPATH": f"{package}{os.pathsep}{ROOT}",
        "LD_PRELOAD": " ".join(preload),  # C++ too: exceptions of libraries pass through it
        "PYTHONMALLOC": "malloc",  # else Python's own blocks hide what is read behind an array
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "DELTADYN_KERNELS": "on",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _library(gcc: str, name: str) -> str:
    found = subprocess.run([gcc, f"-print-file-name={name}"], capture_output=True, text=True)
    return str(Path(found.stdout.strip()).resolve())


def table() -> dict[str, tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """Numbers of the robot, widths of inputs and of outputs of every kernel."""
    from deltadyn.backends.kernel_models.kernels import kernels

    return {
        model.name: (
            model.parameters,
            tuple(width for _, width in model.inputs),
            tuple(width for _, width in model.outputs),
        )
        for part in kernels().values()
        for model in part
    }


def random_calls(calls: int, seed: int = 0) -> int:
    """Call every kernel with numbers of all kinds; what it writes must be as wide as it says."""
    from deltadyn.backends import loader

    widths, rng, made = table(), np.random.default_rng(seed), 0
    if not loader.available():
        raise RuntimeError(f"kernels: {loader.status()}")
    longest = max(par for par, _, _ in widths.values())
    while made < calls:
        for name in widths:
            _, read, written = widths[name]
            count = int(rng.choice(LENGTHS))
            par = numbers(rng, (longest,))
            inputs = [numbers(rng, (count, width)) for width in read]
            if rng.random() < 0.2 and inputs:
                inputs[-1] = numbers(rng, (read[-1],))  # one row for all samples
            if rng.random() < 0.2:
                inputs = [np.repeat(x, 2, axis=-1)[..., ::2] for x in inputs]  # with strides
            outputs = [np.empty((count, width)) for width in written]
            loader.run(name, par, inputs, outputs, friction=bool(rng.random() < 0.5))
            made += 1
    return made


def random_texts(count: int, seed: int = 0) -> int:
    """Give lines with odd cells, marks and bytes to the parser of numbers; how many it read."""
    from deltadyn.backends import loader

    rng, read = random.Random(seed), 0
    for _ in range(count):
        separator, decimal = rng.choice(MARKS), rng.choice((".", ".", ",", "\n", "0", "e"))
        columns = rng.randrange(1, 6)
        lines = []
        for _ in range(rng.randrange(1, 5)):
            cells = [rng.choice(CELLS if rng.random() < 0.9 else ODD_CELLS) for _ in range(columns)]
            cells += ["7"] * (rng.random() < 0.05)
            lines.append((separator or " ").join(cells) + rng.choice(("\n", "\r\n")))
        text = bytearray("".join(lines).encode())
        if rng.random() < 0.3:
            text[rng.randrange(len(text))] = rng.randrange(256)
        used = sorted(rng.sample(range(columns), rng.randrange(columns + 1)))
        found = loader.parse_lines(bytes(text), separator, decimal, columns, used)
        read += found[1] is not None
    return read


def numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Uniform numbers of one size, and in half of the calls some that no robot has."""
    out = rng.uniform(-1, 1, shape) * 10.0 ** rng.uniform(-3, 2)
    if rng.random() < 0.5:
        odd = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-310, 1e18])
        places = rng.random(shape) < 0.1
        out[places] = rng.choice(odd, int(places.sum()))
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts and print a line for each program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=200_000, help="of each program")
    parser.add_argument("--compilers", default="gcc", help="of the exports: gcc,clang")
    parser.add_argument("--parts", default="exports,kernels")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--inside", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.inside is not None:
        read = random_texts(asked.inside)
        print(f"{asked.inside} texts, {read} of them read; {random_calls(asked.inside)} calls")
        return 0
    parts = asked.parts.split(",")
    programs: list[Iterator[tuple[str, Callable[[], int]]]] = []
    if "exports" in parts:
        programs += [exports(name, asked.calls) for name in asked.compilers.split(",")]
    if "kernels" in parts:
        programs.append(kernels(asked.calls // 10))
    count, total, wrong = 0, 0, []
    for part in programs:
        for name, program in part:
            count, start, said = count + 1, time.perf_counter(), ""
            try:
                made = program()
                total += made
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt | SystemExit):
                    raise
                made, said = 0, f"\n{error}"
                wrong.append(name)
            took = time.perf_counter() - start
            verdict = "FAILED" if said else "silent"
            print(f"{name:28} {made:10} {verdict} {took:6.0f} s{said}", flush=True)
    text = f"{len(wrong)} of {count} programs with a finding, {total:,} calls"
    print(text)
    if asked.json:
        found = {"figure": text, "reached": count > 0 and not wrong, "wrong": wrong}
        asked.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
