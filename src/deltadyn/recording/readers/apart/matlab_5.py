"""MATLAB files of version 5 to 7, by SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.io import loadmat

DEEPEST = 50  # structures in structures


def arrays(path: str) -> Iterator[tuple[str, Any]]:
    """Arrays (N,) or (N, k) and texts of a file; fields of structures have their path as name."""
    content = loadmat(path, squeeze_me=True, struct_as_record=False)
    for variable, value in content.items():
        if not variable.startswith("__"):
            yield from _flattened(variable, value)


def _flattened(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    fields = getattr(value, "_fieldnames", None)
    if fields is not None:
        if depth > DEEPEST:
            raise ValueError(f"structures in structures beyond {DEEPEST}")
        for field in fields:
            yield from _flattened(f"{name}.{field}", getattr(value, field), depth + 1)
    elif isinstance(value, str):
        yield name, value
    else:
        array = np.asarray(value)
        if array.dtype.kind in "fiub" and array.ndim in (1, 2):
            yield name, array.astype(np.float64)
