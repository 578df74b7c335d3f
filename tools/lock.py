"""The lock of the development environment: names, versions and hashes, and no address.

Run: python -m tools.lock [--report FILE]

pip resolves what pyproject.toml declares with all extras, held to the versions of this environment,
and says what it would install. That gives requirements-dev.lock, for this system and this version
of Python: pip install --require-hashes --no-deps -r requirements-dev.lock
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from deltadyn.files import write_whole
from tools.dependencies import NAME, ROOT, builders, declared, extras

LOCK = ROOT / "requirements-dev.lock"
HEAD = """\
# The environment in which the tests pass: Linux (x86-64), Python {python}; made by `make lock`.
# pip install --require-hashes --no-deps -r requirements-dev.lock
"""


def resolved() -> dict[str, Any]:
    """pip's report of what it would install."""
    free = (NAME, *(item.name for item in builders()))  # of an environment, or not held by it
    here = {item.name: item.version for item in distributions() if item.name not in free}
    with tempfile.TemporaryDirectory() as folder:
        wanted, held, report = (Path(folder) / name for name in ("wanted", "held", "report"))
        needed = [*declared(*extras()), *builders()]
        wanted.write_text("\n".join(map(str, needed)), "utf-8")
        held.write_text("\n".join(f"{name}=={version}" for name, version in here.items()), "utf-8")
        how = ["install", "--quiet", "--dry-run", "--ignore-installed"]
        files = ["--report", str(report), "-r", str(wanted), "-c", str(held)]
        subprocess.run([sys.executable, "-m", "pip", *how, *files], check=True)
        return dict(json.loads(report.read_text("utf-8")))


def lock_text(report: Mapping[str, Any]) -> str:
    """The lock of a report, sorted by name."""
    lines = []
    for item in report["install"]:
        about, hashes = item["metadata"], item["download_info"]["archive_info"]["hashes"]
        name = canonicalize_name(about["name"])
        lines.append(f"{name}=={about['version']} --hash=sha256:{hashes['sha256']}")
    python = report["environment"]["python_version"]
    return HEAD.format(python=python) + "\n".join(sorted(lines)) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, help="a report that pip has written, instead")
    given = parser.parse_args(arguments)
    if given.report is None:
        report = resolved()
    else:
        report = json.loads(given.report.read_text("utf-8"))
    write_whole(LOCK, lock_text(report))
    print(f"{LOCK.name}: {len(report['install'])} packages")


if __name__ == "__main__":
    main()
