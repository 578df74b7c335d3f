"""Damaged inputs that are led by what they reach: atheris keeps those that run new lines.

    python -m tests.parsers.guided --runs 20000 --out build/nightly/guided
    python -m tests.parsers.guided "column map" --runs 100000

It changes the file named first of a parser's inputs, by the same mutators as a campaign. It ends
at the first input that fails, writes it into the folder and exits with another status than 0.
Without a name it takes all parsers that are written in Python, each in a process of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

#: Modules whose lines are watched: ours, and those of Python that parse for us.
WATCHED = ("deltadyn", "yaml", "tomllib", "json", "rosbags", "nptdms", "ruamel")
#: Those whose lines are seen: the others are read in C, or in a process apart.
GUIDED = (
    "robot file",
    "column map",
    "deltadyn.toml",
    "studio.json",
    "motion CSV",
    "fit JSON",
    "TDMS",
    "live batch",
    "calibration table",
)


def main() -> None:
    """The command."""
    given = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    given.add_argument("parser", nargs="?")
    given.add_argument("--runs", type=int, default=100_000)
    given.add_argument("--seed", type=int, default=18)
    given.add_argument("--out", type=Path, default=Path("build/guided"))
    asked = given.parse_args()
    if asked.parser is None:
        sys.exit(every(asked.runs, asked.seed, asked.out))
    guided(asked.parser, asked.runs, asked.seed, asked.out)


def every(runs: int, seed: int, out: Path) -> bool:
    """Run each in a process of its own; whether one failed."""
    failed = []
    out.mkdir(parents=True, exist_ok=True)
    if find_spec("atheris") is None:
        told = {"figure": "not run: atheris does not install here", "reached": True}
        (out / "figure.json").write_text(json.dumps(told), "utf-8")
        return False
    for name in GUIDED:
        command = [sys.executable, "-m", "tests.parsers.guided", name, "--runs", str(runs)]
        done = subprocess.run([*command, "--seed", str(seed), "--out", str(out)], check=False)
        failed += [name] * bool(done.returncode)
    figure = f"{runs} inputs for each of {len(GUIDED)} parsers, failed: {', '.join(failed) or '-'}"
    told = {"figure": figure, "reached": not failed}
    (out / "figure.json").write_text(json.dumps(told), "utf-8")
    return bool(failed)


def guided(chosen: str, runs: int, seed: int, out: Path) -> None:
    """Run one, and end this process."""
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=list(WATCHED)):
        from tests.parsers.campaign import write
        from tests.parsers.parsers import PARSERS

        from deltadyn.errors import DeltadynError
    place = Path(tempfile.mkdtemp())
    (place / "goods").mkdir()
    parser = PARSERS[chosen](place / "goods")
    name = next(iter(parser.goods[0]))
    changes = next((v for end, v in (parser.ends or {}).items() if name.endswith(end)), None)
    corpus = out / re.sub(r"\W+", "-", chosen)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, good in enumerate(parser.goods):
        (corpus / f"good-{number}").write_bytes(good[name])

    def change(data: bytes, most: int, number: int) -> bytes:
        rng = np.random.default_rng([seed, number])
        own = changes or parser.changes
        try:
            return own[int(rng.integers(0, len(own)))](data, rng)[:most]
        except Exception:  # a change by structure needs a whole input
            return bytes(atheris.Mutate(data, most))

    def one(data: bytes) -> None:
        write({**parser.goods[0], name: data}, place / "work")
        with contextlib.suppress(DeltadynError):
            parser.read(place / "work")

    words = [sys.argv[0], f"-runs={runs}", f"-seed={seed}", "-timeout=5"]
    words += ["-rss_limit_mb=2048", f"-artifact_prefix={corpus}/failed-", str(corpus)]
    atheris.Setup(words, one, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
