"""These tests need JAX, in float64."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deltadyn.tracing import doubles, installed


@pytest.fixture(autouse=True)
def _in_doubles() -> Iterator[None]:
    if not installed():
        pytest.skip("JAX is not installed: pip install 'deltadyn[jax]'")
    with doubles():
        yield
