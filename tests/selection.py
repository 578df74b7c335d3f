"""Which tests `make test` runs, and which `make test-all` adds.

`make test` sets up a small environment and takes minutes. A test stays out of it where its file
imports a package that this environment does not hold, or where it is marked `full`: it takes
seconds, or needs a browser, a server or an optional package in its course.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What the core and the extra `test` of pyproject.toml install.
SMALL_ENVIRONMENT = frozenset(
    {"clarabel", "click", "hypothesis", "joblib", "mujoco", "numpy", "packaging", "plotly"}
    | {"pytest", "rich", "scipy", "setuptools", "yaml"}
)
OURS = ("tests", "benchmarks", "tools")
# imports of the module itself, not those of its functions, which the tests that call them mark
IMPORT = re.compile(
    r"^(?:from (?P<source>[\w.]+) import|import (?P<module>[\w.]+)"
    r'|(?:\w+(?:: \w+)? = )?pytest\.importorskip\("(?P<optional>[\w.]+)")',
    re.MULTILINE,
)


def packages_beyond(path: Path) -> frozenset[str]:
    """Packages that importing a file needs and that the small environment does not hold."""
    waiting, read, needed = [path], {path}, set[str]()
    while waiting:
        packages, files = _imports(waiting.pop())
        needed |= packages
        waiting += files - read
        read |= files
    return frozenset(needed)


@cache
def _imports(path: Path) -> tuple[frozenset[str], frozenset[Path]]:
    """Packages beyond the small environment that a file imports itself, and files of ours."""
    packages, files = set(), set()
    for match in IMPORT.finditer(path.read_text("utf-8")):
        name = match[match.lastgroup or 0]
        top = name.split(".")[0]
        if name.startswith(".") or top in OURS:
            files.add(_file_of(name, path))
        elif top != "deltadyn" and top not in SMALL_ENVIRONMENT | sys.stdlib_module_names:
            packages.add(top)
    return frozenset(packages), frozenset(file for file in files if file is not None)


def _file_of(name: str, importer: Path) -> Path | None:
    """The file of a dotted module name; one that begins with a dot counts from its importer."""
    base = importer.parent if name.startswith(".") else ROOT
    path = base.joinpath(*filter(None, name.split(".")))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None
