"""Read damaged inputs by the thousand and print a table.

python -m tests.parsers --cases 100000 --out build/nightly/parsers
python -m tests.parsers --only Parquet --first 1234 --cases 1    # one input again
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from tests.parsers.campaign import HEAD, campaign
from tests.parsers.parsers import FEWER, PARSERS

SHOWN = 40  # failures


def main() -> None:
    """The command; exit status 1 where an input failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000, help="inputs for each parser")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--only", action="append", choices=[*PARSERS], help="this parser")
    parser.add_argument("--out", type=Path, help="folder of the table and of inputs that failed")
    parser.add_argument("--quick", action="store_true", help="fewer of what takes long to read")
    parser.add_argument("--inline", action="store_true", help="read nothing in a process apart")
    given = parser.parse_args()
    results, lines = [], [HEAD]
    print(HEAD)
    for name in given.only or PARSERS:
        cases = min(given.cases, FEWER.get(name, given.cases)) if given.quick else given.cases
        found = campaign(name, cases, given.seed, given.out, given.first, inline=given.inline)
        results.append(found)
        lines.append(results[-1].row)
        print(lines[-1], flush=True)
    failures = [text for item in results for text in item.failures]
    print("\n".join(["", *failures[:SHOWN]]))
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "table.md").write_text("\n".join([*lines, "", *failures]), "utf-8")
        records = [asdict(item) for item in results]
        inputs = sum(item.cases for item in results)
        figure = f"{inputs} inputs, {len(results)} parsers, {len(failures)} failures"
        told = {"figure": figure, "reached": not failures}
        (given.out / "figure.json").write_text(json.dumps(told), "utf-8")
        (given.out / "results.json").write_text(json.dumps(records, indent=1), "utf-8")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
