"""How the tests of the kernels compare them with the NumPy path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deltadyn import backends as kernels
from deltadyn.arrays import FloatArray

needs_kernels = pytest.mark.skipif(
    not kernels.available(), reason=f"no compiled kernels: {kernels.status()}"
)

# The same operations in the same order but for the sums of platform rates; roundings grow by the
# condition of the three struts, which is below 1e3 in the states of the tests.
RELATIVE = 1e-12


def close(ours: FloatArray, expected: FloatArray) -> None:
    """Equal to 1e-12 of the largest entry, with NaN in the same places."""
    assert ours.shape == expected.shape
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(expected))
    scale = np.nanmax(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=RELATIVE * scale)


def both(work: Callable[[], Any]) -> tuple[Any, Any]:
    """What the kernels give, and what NumPy gives."""
    assert kernels.available()
    ours = work()
    with kernels.switched_off():
        assert not kernels.available()
        return ours, work()
