"""MATLAB files: version 5 to 7 by scipy, version 7.3 (HDF5) by h5py.

Vectors are columns under their own name; a matrix (N, k) gives k columns name[1] to name[k], and
the fields of structures are named by their path, "log.q[1]".
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import RecordingFileError, extra_module
from deltadyn.recording.columns import Column
from deltadyn.recording.readers import Head, Reader, Table, blocks_of, damaged

LEAST_MEMORY = 2**31  # bytes for the program that reads version 5
LEAST_SECONDS, BYTES_PER_SECOND = 60.0, 1e6
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
    """Read by a program of its own, which a damaged file may end."""
    size = os.path.getsize(path)
    memory = max(LEAST_MEMORY, 10 * size)
    command = [sys.executable, str(Path(__file__).with_name("matlab_5.py")), path, str(memory)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            timeout=LEAST_SECONDS + size / BYTES_PER_SECOND,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        problem = "cannot be read: it does not end"
        raise RecordingFileError.of_file(path, problem, _ALLOWED) from None
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip().splitlines()
        reason = told[-1] if told and done.returncode > 0 else "its reader broke off"
        if "MemoryError" in reason:
            reason = f"its content needs more than {memory / 2**30:.1f} GiB"
        raise RecordingFileError.of_file(path, f"cannot be read: {reason}", _ALLOWED)
    stream = io.BytesIO(done.stdout)
    while stream.tell() < len(done.stdout):
        name, value = (np.load(stream, allow_pickle=False) for _ in range(2))
        yield str(name), str(value) if value.dtype.kind == "U" else value


def _from_hdf5(path: str) -> Iterator[tuple[str, Any]]:
    h5py: Any = extra_module("h5py", "a MATLAB 7.3 file", "mat73")
    with damaged(path, _ALLOWED), h5py.File(path, "r") as file:
        found = list(_groups(h5py, "", file))
    yield from found


def _groups(h5py: Any, prefix: str, group: Any) -> Iterator[tuple[str, Any]]:
    """Datasets by their path; MATLAB stores them with the axes turned.

    Links into other files or to other places are no part of a log.
    """
    for key in group:
        if key.startswith("#") or not isinstance(group.get(key, getlink=True), h5py.HardLink):
            continue
        item = group[key]
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
