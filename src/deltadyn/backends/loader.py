"""The loader of the compiled kernels, their switch, and threads over large inputs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.backends.generated.table import DIGEST, KERNELS
from deltadyn.errors import InputError

SWITCH = "DELTADYN_KERNELS"
THREADED = 50_000  # samples from which threads pay
PIECE = 16_384  # samples that a thread takes at a time

_NUMBERS = {name: number for number, name in enumerate(KERNELS)}
Array = npt.NDArray[np.floating[Any]]


@dataclass
class _Loaded:
    """The extension module, or None, and a sentence that says why."""

    module: ModuleType | None
    status: str


def _load() -> _Loaded:
    switch = os.environ.get(SWITCH, "")
    if switch not in ("", "on", "off"):
        raise InputError(SWITCH, switch, "'on', 'off' or nothing, in the environment")
    if switch == "off":
        return _Loaded(None, f"switched off by {SWITCH}=off")
    found = _import()
    if found.module is None and switch == "on":
        raise InputError(SWITCH, switch, f"'off' here: the kernels are {found.status}")
    return found


def _import() -> _Loaded:
    try:
        module = import_module("deltadyn.backends._kernels")
    except ImportError as error:
        return _Loaded(None, f"not built: {error}")
    if module.DIGEST != DIGEST:
        return _Loaded(None, "built from other sources: install the package again")
    return _Loaded(module, "compiled")


_loaded = _load()


def available() -> bool:
    """Whether the compiled kernels are in use."""
    return _loaded.module is not None


def status() -> str:
    """ "compiled", or why the NumPy path is in use."""
    return _loaded.status


@contextmanager
def switched_off() -> Iterator[None]:
    """Take the NumPy path inside this block, in all threads."""
    before = _loaded.module, _loaded.status
    _loaded.module, _loaded.status = None, "switched off by switched_off()"
    try:
        yield
    finally:
        _loaded.module, _loaded.status = before


def fits(*arrays: object) -> bool:
    """Whether these are NumPy arrays of doubles, which alone the kernels read."""
    return all(isinstance(array, np.ndarray) and array.dtype == np.float64 for array in arrays)


def run(
    name: str,
    par: FloatArray,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    *,
    friction: bool = False,
) -> int:
    """Fill `outputs` (N, width) from `inputs`, each (N, width) or one row for all samples.

    Returns how many rows of the result are not finite. Arrays may have any strides. They hold
    doubles; torque kernels that start at a motion also work where all but `par` hold floats.
    """
    module, number = _loaded.module, _NUMBERS[name]
    if module is None:
        raise InputError("the compiled kernels", status(), "the NumPy path of the callers")
    count = outputs[0].shape[0] if outputs[0].ndim == 2 else 1
    workers = threads() if count > THREADED else 1
    if workers == 1:
        return int(module.run(number, friction, par, *inputs, *outputs))

    def piece(start: int) -> int:
        rows = slice(start, start + PIECE)
        parts = (array[rows] if array.ndim == 2 else array for array in (*inputs, *outputs))
        return int(module.run(number, friction, par, *parts))

    # A pool that outlived the call would be broken in a forked process.
    with ThreadPoolExecutor(workers) as pool:
        return sum(pool.map(piece, range(0, count, PIECE)))


def fill(
    name: str,
    par: FloatArray,
    places: npt.NDArray[np.int32],
    inputs: Sequence[Array],
    output: Array,
) -> None:
    """Put the columns of a kernel at chosen places of one array (N, width); the rest stays.

    `places` holds -1 for a column that is left out, else twice its place, and one more where it
    is added to what an earlier column of the kernel put there.
    """
    module, number = _loaded.module, _NUMBERS[name]
    if module is None:
        raise InputError("the compiled kernels", status(), "the NumPy path of the callers")

    def piece(start: int, size: int) -> None:
        rows = slice(start, start + size)
        parts = (array[rows] if array.ndim == 2 else array for array in inputs)
        module.fill(number, False, par, places, *parts, output[rows])

    workers = threads() if len(output) > THREADED else 1
    if workers == 1:
        module.fill(number, False, par, places, *inputs, output)
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda start: piece(start, PIECE), range(0, len(output), PIECE)))


def run_row(name: str, par: FloatArray, friction: bool, *arrays: Any) -> int:
    """`run` for one sample without a look at the arrays, which the extension checks."""
    module = _loaded.module
    if module is None:
        raise InputError("the compiled kernels", status(), "the NumPy path of the callers")
    return int(module.run(_NUMBERS[name], friction, par, *arrays))


def threads() -> int:
    """Threads for a large input: the cores that this process may use, at most OMP_NUM_THREADS."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(limit))) if limit.isdecimal() else cores


# The compiled plant, where the extension is in use.


def plant_module() -> Any | None:
    """The extension with `plant_tick`, `plant_follow`, `plant_rollout`; None: take NumPy's path."""
    module = _loaded.module
    return module if hasattr(module, "plant_follow") else None
