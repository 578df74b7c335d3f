"""Read a MATLAB file of version 5 to 7 and write its arrays to standard output.

It is run by its path as a program of its own, with a limit of memory: SciPy's reader believes what
a file says about itself, and one wrong byte can end the process. It imports nothing of deltadyn.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.io import loadmat


def flattened(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Arrays and texts of a variable, structures by their path."""
    fields = getattr(value, "_fieldnames", None)
    if fields is not None:
        if depth > 50:
            raise ValueError("structures in structures beyond 50")
        for field in fields:
            yield from flattened(f"{name}.{field}", getattr(value, field), depth + 1)
    elif isinstance(value, str):
        yield name, np.array(value)
    else:
        array = np.asarray(value)
        if array.dtype.kind in "fiub" and array.ndim in (1, 2):
            yield name, array.astype(np.float64)


def main(path: str, memory: int) -> None:
    """Names and arrays one after the other, in NumPy's own format."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    content = loadmat(path, squeeze_me=True, struct_as_record=False)
    out = io.BytesIO()
    for variable, value in content.items():
        if not variable.startswith("__"):
            for name, array in flattened(variable, value):
                np.save(out, np.array(name), allow_pickle=False)
                np.save(out, array, allow_pickle=False)
    sys.stdout.buffer.write(out.getbuffer())


if __name__ == "__main__":
    try:
        main(sys.argv[1], int(sys.argv[2]))
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}"[:500])
