"""What the generators of files share: write them, or compare them with those that are there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path


def write_or_check(text: str, folder: Path, files: Mapping[str, str]) -> None:
    """The command of a generator: writes `files` into `folder`, with --check compares alone."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only; exit status 1: differ")
    check = parser.parse_args().check
    stale = []
    for name, content in files.items():
        path = folder / name
        if path.is_file() and path.read_text("utf-8") == content:
            continue
        stale.append(name)
        if not check:
            path.write_text(content, "utf-8")
    word = "differ" if check else "written"
    print(f"{word}: {', '.join(stale)}" if stale else "all generated files are up to date")
    sys.exit(1 if check and stale else 0)
