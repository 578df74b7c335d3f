"""MATLAB files: version 5 to 7 by SciPy, version 7.3 (HDF5) by h5py, each in a process apart.

Vectors are columns under their own name; a matrix (N, k) gives k columns name[1] to name[k], and
the fields of structures are named by their path, "log.q[1]".
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import RecordingFileError, extra_module
from deltadyn.recording.columns import Column
from deltadyn.recording.readers import Head, Reader, Table, blocks_of
from deltadyn.recording.readers.apart import read_apart

_WIDEST = 64  # columns of a matrix; what is wider is no log
_VERSION_5 = (b"MATLAB 5.0",)
_VERSION_73 = (b"\x89HDF\r\n\x1a\n", b"MATLAB 7.3")
_ALLOWED = "a MATLAB file with vectors such as t_s and matrices such as q_rad (N, 3), tau_Nm"


def open_matlab(head: Head) -> Table:
    """The table of a MATLAB file."""
    path, hdf5 = head.path, head.start.startswith(_VERSION_73)
    if hdf5:
        extra_module("h5py", "a MATLAB 7.3 file", "mat73")
    arrays = dict(read_apart("matlab_73" if hdf5 else "matlab_5", path, _ALLOWED))
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
