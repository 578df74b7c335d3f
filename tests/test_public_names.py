"""Names that users of 0.1 import keep working; those that moved say so."""

import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest

from deltadyn import moved

#: Every public name of 0.1 and what its documentation and examples import: "module name" a line.
LINES = (Path(__file__).parent / "public_names.txt").read_text("utf-8").split("\n")
NAMES = [tuple(line.split()) for line in LINES if line]


def test_every_public_name_is_there() -> None:
    missing = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for module, name in NAMES:
            try:
                found = hasattr(import_module(module), name)
            except ImportError:
                found = False
            if not found:
                missing.append(f"{module} {name}")
    assert len(NAMES) > 300  # an empty file would pass without a word
    assert missing == []


@pytest.mark.full
@pytest.mark.parametrize("old", sorted(moved.MOVED))
def test_a_module_that_moved_warns_and_has_the_same_names(old: str) -> None:
    """In a process of its own: a module warns when it is first imported."""
    code = f"""
import importlib, warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    module = importlib.import_module("deltadyn.{old}")
texts = [str(item.message) for item in seen if item.category is DeprecationWarning]
assert any("deltadyn.{moved.MOVED[old]}" in text for text in texts), texts
target = importlib.import_module("deltadyn.{moved.MOVED[old]}")
names = [name for name in vars(target) if not name.startswith("_")]
assert names and all(getattr(module, name) is getattr(target, name) for name in names)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_unknown_module_is_still_unknown() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("deltadyn.no_such_module")
