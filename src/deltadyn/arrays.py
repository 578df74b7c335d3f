"""Shapes, checks and the array namespace: what every public function does at its boundary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deltadyn.errors import InputError

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Unreachable = Literal["raise", "nan"]

#: One coordinate of many samples (N,), a float, or any object with arithmetic and a namespace.
Component = Any

SHOWN = 12  # rows of a list, or numbers of an array, in a message
CHUNK = 2048  # samples: some 40 temporaries of 16 KiB stay in the second-level cache


def namespace(*arrays: object) -> Any:
    """The module whose functions work on these arrays: NumPy, or what the array names itself."""
    for array in arrays:
        own = getattr(array, "__array_namespace__", None)
        if own is not None and not isinstance(array, np.ndarray):
            return own()
    return np


def as_samples(
    value: npt.ArrayLike,
    width: int,
    quantity: str,
    *,
    allow_nan: bool = False,
    coordinates: Sequence[str] = (),
) -> tuple[FloatArray, bool]:
    """`value` as (N, width) and whether it was one sample (width,).

    Non-finite entries are refused at once, with their row and axis; `allow_nan` lets NaN pass,
    for callers who carry unreachable rows along. `coordinates` are the robot's, for the message.
    """
    array = as_float(value, quantity)
    single = array.ndim == 1
    if single:
        array = array[None, :]
    if array.ndim != 2 or array.shape[1] != width:
        shape = (array.shape[1:] if single else array.shape) or ()
        own = f": robot.coordinates are {', '.join(coordinates)}" if coordinates else ""
        raise InputError(f"shape of {quantity}", shape, f"({width},) or (N, {width}){own}")
    bad = np.isinf(array) if allow_nan else ~np.isfinite(array)
    if bad.any():
        row, axis = (int(index) for index in np.argwhere(bad)[0])
        raise InputError(
            quantity, float(array[row, axis]), "finite numbers", where=f"row {row}, axis {axis}"
        )
    return array, single


def matching_samples(
    value: npt.ArrayLike, count: int, width: int, quantity: str, *, allow_nan: bool = False
) -> FloatArray:
    """`value` as (count, width); one sample is repeated for all rows."""
    array, single = as_samples(value, width, quantity, allow_nan=allow_nan)
    if array.shape[0] == count:
        return array
    if single:
        return np.broadcast_to(array, (count, width))
    raise InputError(f"rows of {quantity}", array.shape[0], f"{count}, as its partners have")


def restore(array: FloatArray, single: bool) -> FloatArray:
    """Undo the row that `as_samples` added."""
    return array[0] if single else array


def check_unreachable(choice: str) -> None:
    """Refuse anything but the two ways to treat what cannot be reached."""
    if not isinstance(choice, str) or choice not in ("raise", "nan"):
        raise InputError("unreachable", choice, "'raise' or 'nan'")


def columns(array: FloatArray) -> tuple[FloatArray, ...]:
    """The coordinates of (N, k) as k contiguous arrays (N,)."""
    return tuple(np.ascontiguousarray(array.T))


def chunks(count: int, size: int = CHUNK) -> Iterator[slice]:
    """Slices that cover `count` samples, each small enough to stay in the cache."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def map_chunks(
    core: Callable[..., Sequence[Component]], inputs: Sequence[FloatArray], width: int
) -> FloatArray:
    """Apply `core(*components of every input)` chunk by chunk; its outputs are columns.

    `core` takes one tuple of components per input and returns `width` components.
    """
    count = inputs[0].shape[0]
    out = np.empty((count, width))
    with np.errstate(invalid="ignore", divide="ignore"):
        for part in chunks(count):
            values = core(*(columns(array[part]) for array in inputs))
            for axis, value in enumerate(values):
                out[part, axis] = value
    return out


def check_increasing(t: FloatArray, quantity: str = "t") -> None:
    """Refuse times (N,) in s that are not finite, or not above their predecessors."""
    bad = np.flatnonzero(~np.isfinite(t))
    if bad.size:
        raise InputError(quantity, float(t[bad[0]]), "finite numbers", where=f"row {bad[0]}")
    back = np.flatnonzero(np.diff(t) <= 0)
    if back.size:
        row = int(back[0]) + 1
        allowed = f"above its predecessor {t[row - 1]:g} s"
        raise InputError(quantity, float(t[row]), allowed, where=f"row {row}")


def contract(subscripts: str, *arrays: FloatArray) -> FloatArray:
    """`numpy.einsum` of real arrays, with its type."""
    out: FloatArray = np.einsum(subscripts, *arrays)
    return out


def as_float(value: npt.ArrayLike, quantity: str) -> FloatArray:
    """`value` as doubles, NaN where it is masked; refuses what holds no real numbers."""
    try:
        if isinstance(value, np.ma.MaskedArray):
            value = np.where(np.ma.getmaskarray(value), np.nan, value.data)
        given = np.asarray(value)
        if given.dtype.kind not in "fiu":  # no text, no complex numbers, no truth values
            raise TypeError(given.dtype)
        return given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        rows = len(value) if isinstance(value, list | tuple) else getattr(value, "size", 1)
        shown = type(value).__name__ if rows > SHOWN else value
        raise InputError(quantity, shown, "an array of real numbers") from error
