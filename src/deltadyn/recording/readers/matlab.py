"""MATLAB files: version 5 to 7 by scipy, version 7.3 (HDF5) by h5py.

Vectors are columns under their own name; a matrix (N, k) gives k columns name[1] to name[k], and
the fields of structures are named by their path, "log.q[1]".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import RecordingFileError, extra_module
from deltadyn.recording.columns import Column
from deltadyn.recording.readers import Head, Reader, Table, blocks_of, damaged

_WIDEST = 64  # columns of a matrix; what is wider is no log
_VERSION_5 = (b"MATLAB 5.0",)
_VERSION_73 = (b"\x89HDF\r\n\x1a\n", b"MATLAB 7.3")
_ALLOWED = "a MATLAB file with vectors such as t_s and matrices such as q_rad (N, 3), tau_Nm"


def open_matlab(head: Head) -> Table:
    """The table of a MATLAB file."""
    path, hdf5 = head.path, head.start.startswith(_VERSION_73)
    arrays = dict(_from_hdf5(path) if hdf5 else _from_version_5(path))
    labels: dict[str, str] = {
        name: str(value) for name, value in arrays.items() if name in ("name", "robot")
    }
    numbers = {name: value for name, value in arrays.items() if isinstance(value, np.ndarray)}
    if not numbers:
        raise RecordingFileError.of_file(path, "holds no numeric arrays", _ALLOWED)
    length = _length(numbers)
    columns: list[Column] = []
    values: list[FloatArray] = []
    for name, array in numbers.items():
        oriented = _columns_of(array, length)
        if oriented is None:
            continue
        for number, column in enumerate(oriented, 1):
            columns.append(Column(name if len(oriented) == 1 else f"{name}[{number}]"))
            values.append(column)
    reader = "matlab 7.3" if hdf5 else "matlab 5"
    return Table(path, reader, tuple(columns), blocks_of(values), labels=labels)


def _from_version_5(path: str) -> Iterator[tuple[str, Any]]:
    from scipy.io import loadmat  # takes longer than the rest of the import

    with damaged(path, _ALLOWED):
        content = loadmat(path, squeeze_me=True, struct_as_record=False)
    for name, value in content.items():
        if not name.startswith("__"):
            yield from _flattened(name, value)


def _flattened(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Arrays and texts of a variable, structures by their path."""
    fields = getattr(value, "_fieldnames", None)
    if fields is not None:
        for field in fields:
            yield from _flattened(f"{name}.{field}", getattr(value, field))
    elif isinstance(value, str):
        yield name, value
    else:
        array = np.asarray(value)
        if array.dtype.kind in "fiub" and array.ndim in (1, 2):
            yield name, array.astype(np.float64)


def _from_hdf5(path: str) -> Iterator[tuple[str, Any]]:
    h5py: Any = extra_module("h5py", "a MATLAB 7.3 file", "mat73")
    with damaged(path, _ALLOWED), h5py.File(path, "r") as file:
        found = list(_groups(h5py, "", file))
    yield from found


def _groups(h5py: Any, prefix: str, group: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Datasets by their path; MATLAB stores them with the axes turned."""
    for key, item in group.items():
        if key.startswith("#") or item is None:
            continue
        name = f"{prefix}.{key}" if prefix else key
        if isinstance(item, h5py.Group):
            yield from _groups(h5py, name, item)
        elif item.attrs.get("MATLAB_class") == b"char":
            yield name, "".join(chr(code) for code in np.asarray(item).ravel())
        elif item.dtype.kind in "fiub" and item.ndim in (1, 2):
            array = np.asarray(item, dtype=np.float64).T
            yield name, array.reshape(-1) if 1 in array.shape else array


def _length(arrays: Mapping[str, FloatArray]) -> int:
    """The number of samples: that of the longest vector, else of the longest axis."""
    vectors = [array.size for array in arrays.values() if array.ndim == 1]
    longest = max(vectors, default=0)
    return longest if longest > 1 else max(max(array.shape) for array in arrays.values())


def _columns_of(array: FloatArray, length: int) -> list[FloatArray] | None:
    """The columns of a vector or matrix with this many samples, along either axis."""
    if array.ndim == 1:
        return [array] if array.size == length else None
    if array.shape[0] == length and array.shape[1] <= _WIDEST:
        return list(np.ascontiguousarray(array.T))
    if array.shape[1] == length and array.shape[0] <= _WIDEST:
        return list(array)
    return None


READER = Reader("matlab", lambda head: head.start.startswith(_VERSION_5 + _VERSION_73), open_matlab)
