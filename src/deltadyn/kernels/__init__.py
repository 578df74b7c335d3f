"""Compiled kernels of the exact model: generated C, its loader, and threads over large inputs.

The extension is optional. Where it is not built, or DELTADYN_KERNELS=off is in the environment,
the callers of this module take their NumPy path, which gives the same results.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_float
from deltadyn.errors import InputError
from deltadyn.kernels.generated_table import DIGEST, KERNELS

SWITCH = "DELTADYN_KERNELS"
THREADED = 50_000  # samples from which threads pay
PIECE = 16_384  # samples that a thread takes at a time

_NUMBERS = {name: number for number, name in enumerate(KERNELS)}
_PLATFORM = {dof: f"platform_torque_{dof}" for dof in (3, 4)}
_JOINT = {dof: f"joint_torque_{dof}" for dof in (3, 4)}


class _Loaded(NamedTuple):
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
        module = import_module("deltadyn.kernels._kernels")
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
    global _loaded
    before, _loaded = _loaded, _Loaded(None, "switched off by switched_off()")
    try:
        yield
    finally:
        _loaded = before


def fits(*arrays: object) -> bool:
    """Whether these are NumPy arrays of doubles, which alone the kernels read."""
    return all(isinstance(array, np.ndarray) and array.dtype == np.float64 for array in arrays)


def run(
    name: str,
    par: FloatArray,
    inputs: Sequence[FloatArray],
    outputs: Sequence[FloatArray],
    *,
    friction: bool = False,
) -> int:
    """Fill `outputs` (N, width) from `inputs`, each (N, width) or one row for all samples.

    Returns how many rows of the result are not finite. Arrays may have any strides.
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


def threads() -> int:
    """Threads for a large input: the cores that this process may use, at most OMP_NUM_THREADS."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(limit))) if limit.isdecimal() else cores


def inverse_dynamics_platform(
    par: FloatArray,
    p: npt.ArrayLike,
    pd: npt.ArrayLike,
    pdd: npt.ArrayLike,
    *,
    friction: bool = True,
) -> FloatArray:
    """Torques (N, dof) or (dof,) of platform motions, with the drives' friction, in N m.

    `par` comes from `dynamics.packed_parameters`. A row is NaN where the platform cannot be.
    """
    tau = _one_row(_PLATFORM, par, p, pd, pdd, friction)
    if tau is None:
        tau = _torque(_PLATFORM, par, {"p": p, "pd": pd, "pdd": pdd}, friction)
    return tau


def inverse_dynamics_joints(
    par: FloatArray,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    *,
    friction: bool = True,
) -> FloatArray:
    """Torques (N, dof) or (dof,) of joint motions, with the drives' friction, in N m.

    `par` comes from `dynamics.packed_parameters`. A row is NaN where the loop does not close.
    """
    tau = _one_row(_JOINT, par, q, qd, qdd, friction)
    if tau is None:
        tau = _torque(_JOINT, par, {"q": q, "qd": qd, "qdd": qdd}, friction)
    return tau


def _one_row(
    names: dict[int, str], par: FloatArray, first: Any, second: Any, third: Any, friction: bool
) -> FloatArray | None:
    """The torques of one sample, the quick way; None where a careful look is needed."""
    module = _loaded.module
    if module is None or type(first) is not np.ndarray or first.ndim != 1:
        return None
    tau = np.empty_like(first)
    try:
        module.run(_NUMBERS[names[tau.size]], friction, par, first, second, third, tau)
    except (KeyError, TypeError, ValueError):
        return None
    return tau


def _torque(
    names: dict[int, str], par: FloatArray, motion: dict[str, npt.ArrayLike], friction: bool
) -> FloatArray:
    arrays: list[FloatArray] = []
    for name, value in motion.items():
        array = value if isinstance(value, np.ndarray) and fits(value) else as_float(value, name)
        arrays.append(array)
        _check_shape(name, array.shape, arrays[0].shape)
    shape: tuple[int, ...] = arrays[0].shape
    out = np.empty(shape)
    run(names[shape[-1]], par, arrays, [out], friction=friction)
    return out


def _check_shape(name: str, own: tuple[int, ...], first: tuple[int, ...]) -> None:
    """Refuse what is not (3,), (4,), (N, 3) or (N, 4), and partners that do not match."""
    if len(first) not in (1, 2) or first[-1] not in (3, 4):
        raise InputError(f"shape of {name}", own, "(3,), (4,), (N, 3) or (N, 4)")
    if own not in (first, first[-1:]):
        raise InputError(f"shape of {name}", own, f"{first}, as its partners have, or one row")
