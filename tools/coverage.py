"""Branch coverage of the package by its tests, by room.

Run: python -m tools.coverage [TESTS ...] [--rooms ROOM,...] [--workers 2] [--missed N]
     [--json FILE]

Without arguments all tests run, as `make test-all` runs them, with the processes that they start. A
branch is a jump from one line to another: both ways of an `if`, a loop that ends and one that goes
on. With --rooms the table and its sum are of these rooms alone; with --missed N it names the N
files with most branches that no test takes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("src") / "deltadyn"
GOAL = 92.0  # percent of branches

# What no test can take: code for the type checker, and the empty bodies of protocols.
SETTINGS = """\
[run]
branch = true
source =
    {source}
patch = subprocess, fork
data_file = {folder}/data
[report]
exclude_also =
    if TYPE_CHECKING:
    @overload
    ^\\s*\\.\\.\\.$
ignore_errors = true
"""


@dataclass
class Counted:
    """Branches and lines that exist, and that were taken."""

    branches: int = 0
    taken: int = 0
    lines: int = 0
    run: int = 0

    def add(self, summary: Mapping[str, Any]) -> None:
        """Add a file."""
        self.branches += summary["num_branches"]
        self.taken += summary["covered_branches"]
        self.lines += summary["num_statements"]
        self.run += summary["covered_lines"]

    @property
    def share(self) -> float:
        """Percent of the branches."""
        return 100 * self.taken / self.branches if self.branches else 100.0


def measured(
    tests: Sequence[str], workers: int, rooms: Sequence[str] = ()
) -> tuple[int, dict[str, Any]]:
    """The exit status of the tests, and coverage's report of the package or of rooms of it."""
    folders = [str(ROOT / SOURCE / room) for room in rooms] or [str(ROOT / SOURCE)]
    with tempfile.TemporaryDirectory(prefix="deltadyn-coverage-") as folder:
        settings = Path(folder) / "settings.ini"
        settings.write_text(SETTINGS.format(source="\n    ".join(folders), folder=folder), "utf-8")
        tool = [sys.executable, "-m", "coverage"]
        chosen = f"--rcfile={settings}"
        spread = ["-n", str(workers), "--dist", "loadfile"] if workers > 1 else []
        words = ["run", chosen, "-m", "pytest", "-q", "--full", "-p", "no:cacheprovider"]
        words += [*spread, *tests]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        status = subprocess.run([*tool, *words], cwd=ROOT, env=environment).returncode
        report = Path(folder) / "report.json"
        subprocess.run([*tool, "combine", "-q", chosen], cwd=ROOT, check=True)
        subprocess.run([*tool, "json", "-q", chosen, "-o", str(report)], cwd=ROOT, check=True)
        found: dict[str, Any] = json.loads(report.read_text("utf-8"))
    return status, found


def by_room(files: Mapping[str, Any], rooms: Sequence[str] = ()) -> dict[str, Counted]:
    """The counts of each room; "." for files of the package itself."""
    found: dict[str, Counted] = defaultdict(Counted)
    for path, file in files.items():
        room = room_of(path)
        if not rooms or room in rooms:
            found[room].add(file["summary"])
    return dict(sorted(found.items()))


def room_of(path: str) -> str:
    """The folder of the package that a file is in."""
    parts = Path(path).parts
    inside = parts[len(parts) - 1 - parts[::-1].index("deltadyn") + 1 :]
    return inside[0] if len(inside) > 1 else "."


def report(status: int, found: Mapping[str, Any], rooms: Sequence[str]) -> dict[str, Any]:
    """Shares by room and in all."""
    counted = by_room(found["files"], rooms)
    total = Counted()
    for own in counted.values():
        total.branches, total.taken = total.branches + own.branches, total.taken + own.taken
        total.lines, total.run = total.lines + own.lines, total.run + own.run
    text = f"{total.share:.1f} % of {total.branches:,} branches"
    text += f" and {100 * total.run / max(1, total.lines):.1f} % of {total.lines:,} lines"
    return {
        "figure": text if status == 0 else f"{text}; the tests end with {status}",
        "reached": status == 0 and total.branches > 0 and total.share >= GOAL,
        "rooms": {room: [own.branches, own.taken] for room, own in counted.items()},
    }


def missed(files: Mapping[str, Any], rooms: Sequence[str], count: int) -> list[str]:
    """Files with the most branches that were not taken, with the lines that these start from."""
    chosen = [
        (len(file["missing_branches"]), path, file)
        for path, file in files.items()
        if file["missing_branches"] and (not rooms or room_of(path) in rooms)
    ]
    chosen.sort(key=lambda item: (-item[0], item[1]))
    return [
        f"{path}: {number}: {' '.join(f'{a}->{b}' for a, b in file['missing_branches'])}"
        for number, path, file in chosen[:count]
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests and print the table; exit status 1 below the goal."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tests", nargs="*", default=["tests"], help="files and folders")
    parser.add_argument("--rooms", default="", help="folders of the package, such as dynamics")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--missed", type=int, default=0, metavar="N", help="name N files")
    parser.add_argument("--json", type=Path, help="write the figures there")
    asked = parser.parse_args(arguments)
    rooms = [room for room in asked.rooms.split(",") if room]
    status, found = measured(asked.tests, asked.workers, rooms)
    result = report(status, found, rooms)
    print(f"\n{'room':16}{'branches':>10}{'taken':>9}")
    for room, (branches, taken) in result["rooms"].items():
        share = 100 * taken / branches if branches else 100.0
        print(f"{room:16}{branches:10}{share:8.1f} %")
    print(result["figure"])
    print("\n".join(missed(found["files"], rooms, asked.missed)))
    if asked.json:
        asked.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return 0 if result["reached"] else 1


if __name__ == "__main__":
    sys.exit(main())
