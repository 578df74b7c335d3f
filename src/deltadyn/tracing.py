"""JAX at the boundary: its arrays are recognised without importing it, its values not looked at.

JAX is never imported here unless a caller asks for it: an array of JAX can only exist where it is
loaded already. Classes marked by `pytree` become containers that `jit` and `vmap` pass through.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from deltadyn.errors import DeltadynError, InputError

Class = TypeVar("Class", bound=type)

_waiting: list[tuple[type, tuple[str, ...], tuple[str, ...]]] = []


def on_jax(*values: object) -> bool:
    """Whether one of these is an array of JAX, traced ones among them."""
    jax: Any = sys.modules.get("jax")
    if jax is None:
        return False
    if _waiting:
        register_pytrees()
    return any(isinstance(value, jax.Array) for value in values)


def traced(*values: object) -> bool:
    """Whether one of these is traced, so that its values do not exist yet."""
    jax: Any = sys.modules.get("jax")
    return jax is not None and any(isinstance(value, jax.core.Tracer) for value in values)


def pytree(arrays: tuple[str, ...], fixed: tuple[str, ...] = ()) -> Callable[[Class], Class]:
    """Mark a class for JAX: its fields that hold arrays, and those that are part of its type.

    A field of `arrays` that was not computed yet (a cached property) stays so.
    """

    def mark(kind: Class) -> Class:
        _waiting.append((kind, arrays, fixed))
        return kind

    return mark


def register_pytrees() -> None:
    """Tell JAX about the marked classes; does nothing where JAX is not loaded."""
    jax: Any = sys.modules.get("jax")
    while jax is not None and _waiting:
        kind, arrays, fixed = _waiting.pop()
        jax.tree_util.register_pytree_node(kind, *_ways(kind, arrays, fixed))


def _ways(
    kind: Any, arrays: tuple[str, ...], fixed: tuple[str, ...]
) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]:
    """How an object comes apart, and how it is put together again, without its constructor."""

    def flatten(value: Any) -> Any:
        for name in getattr(value, "__dataclass_fields__", ()):
            getattr(value, name)  # made now where it was left for later
        children = tuple(vars(value).get(name) for name in arrays)
        return children, tuple(getattr(value, name) for name in fixed)

    def unflatten(settings: Any, children: Any) -> Any:
        value = object.__new__(kind)
        pairs = zip(arrays, children, strict=True)
        vars(value).update({name: child for name, child in pairs if child is not None})
        vars(value).update(zip(fixed, settings, strict=True))
        return value

    return flatten, unflatten


def jax_numpy() -> Any:
    """`jax.numpy`."""
    return import_module("jax.numpy")


def installed() -> bool:
    """Whether JAX is there."""
    try:
        import_module("jax")
    except ImportError:
        return False
    return True


def chosen_backend(backend: str) -> str:
    """ "jax" or "numpy": the one asked for, or with "auto" JAX where it is installed."""
    if not isinstance(backend, str) or backend not in ("auto", "jax", "numpy"):
        raise InputError("backend", backend, "'auto', 'jax' or 'numpy'")
    if backend == "auto":
        return "jax" if installed() else "numpy"
    if backend == "jax" and not installed():
        raise DeltadynError("backend 'jax' needs JAX: pip install 'deltadyn[jax]'")
    return backend


@lru_cache(maxsize=256)
def jitted(function: Callable[..., Any], static: tuple[str, ...] = ()) -> Any:
    """The function compiled by JAX; arguments named in `static` choose among compilations."""
    return import_module("jax").jit(function, static_argnames=static)


def doubles() -> Any:
    """A context in which JAX computes in float64, whatever its own setting."""
    jax: Any = import_module("jax")
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return import_module("jax.experimental").enable_x64(True)


def rows(
    value: Any, width: int, quantity: str, *, count: int | None = None, dtype: Any = None
) -> tuple[Any, bool]:
    """`value` as an array of JAX (N, width), and whether it was one sample (width,).

    One sample is repeated where `count` rows are wanted. Values are not looked at.
    """
    jnp = jax_numpy()
    array = floats(value, quantity, dtype)
    single = array.ndim == 1
    if single:
        array = array[None, :]
    if array.ndim != 2 or array.shape[1] != width:
        shape = array.shape[1:] if single else array.shape
        raise InputError(f"shape of {quantity}", shape, f"({width},) or (N, {width})")
    if count is None or array.shape[0] == count:
        return array, single
    if single:
        return jnp.broadcast_to(array, (count, width)), single
    raise InputError(f"rows of {quantity}", array.shape[0], f"{count}, as its partners have")


def floats(value: Any, quantity: str, dtype: Any = None) -> Any:
    """`value` as an array of JAX with real numbers: its own kind, or `dtype`."""
    jnp = jax_numpy()
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise InputError(quantity, value, "an array of real numbers") from error
    if array.dtype.kind not in "fiuV":  # V: the short floats of JAX
        raise InputError(f"type of {quantity}", str(array.dtype), "real numbers")
    if dtype is None:
        dtype = array.dtype if jnp.issubdtype(array.dtype, jnp.floating) else jnp.result_type(float)
    return array.astype(dtype)


def common_float(*values: object) -> Any:
    """The float type of the arrays of JAX among these; a float64 beside a float32 wins."""
    jnp = jax_numpy()
    types = [value.dtype for value in values if on_jax(value)]  # type: ignore[attr-defined]
    found = jnp.result_type(*types)
    return found if jnp.issubdtype(found, jnp.floating) else jnp.result_type(float)


def split(array: Any) -> tuple[Any, ...]:
    """The last axis of an array as components."""
    return tuple(array[..., k] for k in range(array.shape[-1]))


def joined(*groups: Any) -> tuple[Any, ...]:
    """Every group of components as one array of JAX, with the components last.

    They are put side by side by selection. With a concatenation the compiler would compute the
    whole model anew for every component: ten times slower, measured on a processor.
    """
    return tuple(_selected(group) for group in groups)


def _selected(group: Any) -> Any:
    jnp = jax_numpy()
    parts = jnp.broadcast_arrays(*group)
    place, out = jnp.arange(len(parts)), parts[-1][..., None]
    for k, part in enumerate(parts[:-1]):
        out = jnp.where(place == k, part[..., None], out)
    return out


def repeat(xp: Any, count: int, step: Callable[[Any], Any], start: Any) -> Any:
    """`step` applied `count` times; with JAX as a loop that is compiled once."""
    if xp is np:
        for _ in range(count):
            start = step(start)
        return start
    return import_module("jax").lax.fori_loop(0, count, lambda _, value: step(value), start)


def held(xp: Any, values: Any) -> Any:
    """The values as constants, which JAX does not differentiate."""
    return values if xp is np else import_module("jax").lax.stop_gradient(values)


def scan(xp: Any, step: Callable[[Any, Any], tuple[Any, Any]], start: Any, inputs: Any) -> Any:
    """The last carry and the stacked outputs of `step(carry, row of every input)`.

    `inputs` is a tuple of arrays with the steps first. With JAX it is a loop compiled once.
    """
    if xp is not np:
        return import_module("jax").lax.scan(step, start, inputs)
    outputs = []
    for k in range(len(inputs[0])):
        start, out = step(start, tuple(array[k] for array in inputs))
        outputs.append(out)
    if not outputs or outputs[0] is None:
        return start, None
    return start, tuple(np.stack(parts) for parts in zip(*outputs, strict=True))


def put(array: Any, place: Any, value: Any) -> Any:
    """The array with `value` at a place: changed itself with NumPy, a new one with JAX."""
    if isinstance(array, np.ndarray):
        array[place] = value
        return array
    return array.at[place].set(value)
