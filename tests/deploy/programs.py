"""Programs of the system that tests of exports run."""

from __future__ import annotations

import shutil

import pytest


def program(*names: str) -> str:
    """The path of the first program that is there; else the test that asks is skipped."""
    for name in names:
        found = shutil.which(name) or shutil.which(name, path="/usr/lib/wine")
        if found is not None:
            return found
    pytest.skip(f"needs {' or '.join(names)}, which `make tools-test` installs where it can")
