"""The shape of the source: files and code lines by folder, and what one call of `identify` touches.

Run: python -m tools.shape [--touched] [--json]

Code lines are lines that hold code: blank lines, comments and docstrings do not count.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src" / "deltadyn"
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Folder:
    """Files and code lines of one folder with all that lies in it."""

    name: str
    files: int
    lines: int
    most: int  # files in its fullest folder


@dataclass(frozen=True)
class Touched:
    """Modules and functions of deltadyn that a call ran through, and how deep."""

    modules: int
    functions: int
    depth: int


def code_lines(path: Path) -> int:
    """Lines of a Python file that hold code."""
    text = path.read_text("utf-8")
    documentation: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            documentation.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - documentation)


def folders(source: Path = SOURCE) -> Iterator[Folder]:
    """The folders of the package, and "." for its own files."""
    for place in [source, *sorted(item for item in source.iterdir() if item.is_dir())]:
        paths = list(place.glob("*.py") if place == source else place.rglob("*.py"))
        if paths:
            counts = [sum(path.parent == folder for path in paths) for folder in _parents(paths)]
            name = "." if place == source else place.name
            yield Folder(name, len(paths), sum(map(code_lines, paths)), max(counts))


def _parents(paths: list[Path]) -> set[Path]:
    return {path.parent for path in paths}


def touched(call: Callable[[], Any], source: Path = SOURCE) -> Touched:
    """What a call runs through, found by a profiler; the call has run once before."""
    call()
    functions: set[tuple[str, str]] = set()
    depth = deepest = 0

    def look(frame: FrameType, event: str, argument: object) -> None:
        nonlocal depth, deepest
        name = frame.f_code.co_filename
        if not name.startswith(str(source)):
            return
        if event == "call":
            functions.add((name, frame.f_code.co_qualname))
            depth += 1
            deepest = max(deepest, depth)
        elif event == "return":
            depth -= 1

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Touched(len({name for name, _ in functions}), len(functions), deepest)


def identify_once() -> Callable[[], Any]:
    """A call of `identify` on ten seconds of the virtual bench."""
    import deltadyn as dd

    robot = dd.load_robot("sipro-d3-1200")
    motion = dd.motion.adept_cycle(robot)
    recording = dd.simulate(robot, motion, controller=dd.PDFeedforward(robot), seed=1).recording
    return lambda: dd.identify(robot, recording)


def main() -> None:
    """Print the shape of the source."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--touched", action="store_true", help="also follow a call of identify")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    rows = list(folders())
    call = touched(identify_once()) if chosen.touched else None
    if chosen.json:
        out: dict[str, Any] = {"folders": [asdict(row) for row in rows]}
        out |= {"identify": asdict(call)} if call else {}
        print(json.dumps(out, indent=2))
        return
    print("files  lines  fullest  folder")
    for row in rows:
        print(f"{row.files:5d} {row.lines:6d} {row.most:8d}  {row.name}")
    print(f"{sum(r.files for r in rows):5d} {sum(r.lines for r in rows):6d}")
    if call:
        print(
            f"identify: {call.modules} modules, {call.functions} functions, {call.depth} calls deep"
        )


if __name__ == "__main__":
    main()
