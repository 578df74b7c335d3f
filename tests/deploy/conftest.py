"""Exports and wheels in tools of others. A test here is one of `make tools-test`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark what is in this folder."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.tools)
