"""The tests of this folder are chosen by `-m tools` alone."""

from __future__ import annotations

import pytest


def test_tests_here_are_marked(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("tools") is not None
