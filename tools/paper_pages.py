"""Write the results of the papers' experiments into their pages of the documentation.

Run: python -m tools.paper_pages [KEY ...] [--seed 0]

Each experiment runs once. Its record goes to docs/papers/results/KEY.json, with seed and commit,
and docs/papers/KEY.md shows it between two markers; no number of ours is written there by hand.
`--render` writes the pages again from the records, without running anything.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from deltadyn.errors import InputError
from deltadyn.files import write_whole
from deltadyn.report.papers.markdown import results_markdown

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "papers"
PAPERS = ("kim2022", "falezza2022", "falezza2020", "gnad2024", "telescopic2022")
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
SIGNIFICANT_DIGITS = 7


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("papers", nargs="*", metavar="KEY", help=", ".join(PAPERS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--render", action="store_true", help="from the records, without a run")
    options = parser.parse_args(arguments)
    for key in options.papers or PAPERS:
        if key not in PAPERS:
            parser.error(f"no paper {key!r}; there are {', '.join(PAPERS)}")
        record = read_record(key) if options.render else run_experiment(key, options.seed)
        write_whole(record_path(key), json.dumps(record, indent=1, allow_nan=False) + "\n")
        page = PAGES / f"{key}.md"
        write_whole(page, insert_results(page.read_text("utf-8"), record))
        failed = [check["what"] for check in record["checks"] if not check["passed"]]
        print(f"{key}: {len(record['claims'])} claims, {len(failed)} checks failed", *failed)


def run_experiment(key: str, seed: int) -> dict[str, Any]:
    """The record of an experiment, with the seed and the commit that it was run with."""
    function = getattr(import_module(f"deltadyn.reproduce.{key}"), key)
    record: dict[str, Any] = round_numbers(function(seed=seed, progress=True).as_dict())
    return {"written_with": f"seed {seed}, commit {commit_name()}", **record}


def commit_name() -> str:
    """The commit of the sources; `-changed` where src differs from it."""
    git = ("git", "-C", str(ROOT))
    name = subprocess.run(
        [*git, "rev-parse", "--short=8", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src"], check=False).returncode
    return f"{name}-changed" if changed else name


def round_numbers(value: Any) -> Any:
    """Floats rounded to seven significant digits."""
    if isinstance(value, Mapping):
        return {key: round_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [round_numbers(item) for item in value]
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if isinstance(value, float) else value


def record_path(key: str) -> Path:
    """The record of the last run of an experiment."""
    return PAGES / "results" / f"{key}.json"


def read_record(key: str) -> dict[str, Any]:
    """The record of the last run of an experiment."""
    record: dict[str, Any] = json.loads(record_path(key).read_text("utf-8"))
    return record


def insert_results(page: str, record: Mapping[str, Any]) -> str:
    """A page with the record between its markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise InputError(f"page of {record['paper']}", "no markers", f"{BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{results_markdown(record)}\n{END}{after}"


if __name__ == "__main__":
    main()
