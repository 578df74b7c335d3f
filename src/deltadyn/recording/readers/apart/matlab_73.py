"""MATLAB files of version 7.3, which are HDF5, by h5py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np


def arrays(path: str) -> Iterator[tuple[str, Any]]:
    """Arrays (N,) or (N, k) and texts of a file; members of groups have their path as name."""
    with h5py.File(path, "r") as file:
        yield from _members("", file)


def _members(prefix: str, group: Any) -> Iterator[tuple[str, Any]]:
    """Datasets by their path; MATLAB stores them with the axes turned.

    Links into other files or to other places are no part of a log.
    """
    for key in group:
        if key.startswith("#") or not isinstance(group.get(key, getlink=True), h5py.HardLink):
            continue
        item = group[key]
        name = f"{prefix}.{key}" if prefix else key
        if isinstance(item, h5py.Group):
            yield from _members(name, item)
        elif not isinstance(item, h5py.Dataset) or item.is_virtual or item.external:
            continue  # also a dataset may have its values in other files
        elif item.attrs.get("MATLAB_class") == b"char":
            codes = np.asarray(item).ravel().astype("<u2")
            yield name, codes.tobytes().decode("utf-16-le", "replace")
        elif item.dtype.kind in "fiub" and item.ndim in (1, 2):
            array = np.asarray(item, dtype=np.float64).T
            yield name, array.reshape(-1) if 1 in array.shape else array
