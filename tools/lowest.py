"""Whether the lowest versions that pyproject.toml allows do for what deltadyn itself needs.

Run: python -m tools.lowest [--folder FOLDER] [--json FILE]

An environment of its own gets deltadyn without extras, with every dependency at its lower bound,
and runs the tests of the core there.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from tools.dependencies import ROOT, declared, lowest

TOOLS = ("pytest", "pytest-xdist", "hypothesis")
#: Tests that need no extra: models, motion, fits and cone programs. Tests of commands look at
#: errors in a way that only later versions of click's own test tool have; `CALLS` stand for them.
CORE = (
    "tests/kinematics",
    "tests/motion",
    *(f"tests/dynamics/test_{name}.py" for name in ("base", "forward", "friction", "regressor")),
    *(f"tests/identification/test_{name}.py" for name in ("convex", "information", "identify")),
    "tests/identification/test_least_absolute.py",
    "tests/test_robot.py",
    "tests/test_units.py",
    "tests/test_catalogue.py",
)
CALLS = (
    "demo --quick --out {out}/demo",
    "simulate sipro-d3-1200 --out {out}/log.csv --loads-page {out}/loads.html",
    "identify sipro-d3-1200 {out}/log.csv --hold --terms file --no-check --out {out}/mine",
    "export {out}/mine.yaml c --out {out}/c",
    "sizing {out}/mine.yaml --cycles 60 --out {out}/sizing.html",
)


def constraints() -> str:
    """Every dependency of the core at its lower bound, for pip."""
    return "".join(f"{name}=={version}\n" for name, version in lowest(declared()))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "lowest")
    parser.add_argument("--json", type=Path, help="file for the figure")
    given = parser.parse_args(arguments)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(given.folder)], check=True)
    held = given.folder / "constraints.txt"
    held.write_text(constraints(), "utf-8")
    python = str(given.folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--constraint", str(held)]
    subprocess.run([*install, str(ROOT), *TOOLS], check=True)
    run = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *CORE]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True)
    print(done.stdout[-3000:], done.stderr[-3000:], sep="")
    failed = [call for call in CALLS if not _runs(python, call, given.folder / "calls")]
    last = done.stdout.strip().splitlines()[-1:] or ["no test ran"]
    held_at = ", ".join(constraints().replace("==", " ").split("\n")[:-1])
    figure = f"{re.sub(' in .*', '', last[0].strip('= '))}, {len(failed)} of {len(CALLS)} commands "
    figure += f"failed, with {held_at}"
    if given.json is not None:
        record = {"figure": figure, "reached": done.returncode == 0 and not failed}
        given.json.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    print(figure)
    return 1 if done.returncode or failed else 0


def _runs(python: str, call: str, out: Path) -> bool:
    """Whether a command ends with an answer."""
    words = call.format(out=out).split()
    done = subprocess.run([python, "-m", "deltadyn", *words], capture_output=True, text=True)
    if done.returncode not in (0, 1) or "Traceback" in done.stderr:
        print(f"{call}: {done.stderr[-1000:]}")
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
