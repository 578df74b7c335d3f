"""The loader of the compiled kernels, their switch, threads over large inputs, direct calls."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_float
from deltadyn.backends.layout import KINDS, PLACES
from deltadyn.backends.stale import is_stale
from deltadyn.errors import InputError

SWITCH = "DELTADYN_KERNELS"
THREADED = 50_000  # samples from which threads pay
PIECE = 16_384  # samples that a thread takes at a time

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
    if is_stale(module):
        return _Loaded(None, "built from other formulas: install the package again")
    return _Loaded(module, "compiled")


_loaded = _load()
_KERNELS = () if _loaded.module is None else tuple(_loaded.module.KERNELS.split())
#: The number of every kernel that the extension has, by its name.
_NUMBERS = {name: number for number, name in enumerate(_KERNELS)}


def _module() -> ModuleType:
    """The extension, for what has no other way."""
    if _loaded.module is None:
        raise InputError("the compiled kernels", status(), "the NumPy path of the callers")
    return _loaded.module


def known(name: str) -> bool:
    """Whether there is a kernel of that name."""
    return name in _NUMBERS


def available() -> bool:
    """Whether the compiled kernels are in use."""
    return _loaded.module is not None


def status() -> str:
    """ "compiled", or why the NumPy path is in use."""
    return _loaded.status


def absence() -> str:
    """Empty where the compiled kernels are in use; else that they are not, and what to do."""
    if available():
        return ""
    return (
        f"the compiled kernels are not in use ({status()}): NumPy gives the same numbers, slower. "
        "Wheels have them; from sources they are built where there is a C compiler"
    )


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
    module, number = _module(), _NUMBERS[name]
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
    places: npt.NDArray[np.intc],
    inputs: Sequence[Array],
    output: Array,
) -> None:
    """Put the columns of a kernel at chosen places of one array (N, width); the rest stays.

    `places` holds -1 for a column that is left out, else twice its place, and one more where it
    is added to what an earlier column of the kernel put there.
    """
    module, number = _module(), _NUMBERS[name]
    if len(output) <= THREADED or threads() == 1:
        module.fill(number, False, par, places, *inputs, output)
        return

    def piece(start: int) -> None:
        rows = slice(start, start + PIECE)
        parts = (array[rows] if array.ndim == 2 else array for array in inputs)
        module.fill(number, False, par, places, *parts, output[rows])

    with ThreadPoolExecutor(threads()) as pool:
        list(pool.map(piece, range(0, len(output), PIECE)))


def run_row(name: str, par: FloatArray, friction: bool, *arrays: Any) -> int:
    """`run` for one sample without a look at the arrays, which the extension checks."""
    bad: int = _module().run(_NUMBERS[name], friction, par, *arrays)
    return bad


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


# The compiled parser of numbers and the smoother, where the extension is in use.


def parse_lines(
    text: bytes, separator: str, decimal: str, columns: int, used: Sequence[int]
) -> tuple[bool, FloatArray | None]:
    """Whether the parser is there, and the used columns (len(used), n) of lines of plain numbers.

    None where a line has other cells than `columns` numbers; cells that are not used may be
    anything. `text` ends with a line feed; an empty separator means blanks.
    """
    parse = getattr(_loaded.module, "parse_lines", None)
    if parse is None or len(separator) > 1 or not (separator + decimal).isascii():
        return False, None
    chosen = np.asarray(used, dtype=np.intc)  # "i" to the extension; int32 is "l" on Windows
    block = np.empty((len(chosen), text.count(b"\n")))
    mark = ord(separator) if separator else 0
    return True, block if parse(text, mark, ord(decimal), columns, chosen, block) else None


def smooth(y: FloatArray, numbers: FloatArray, start: FloatArray, output: FloatArray) -> bool:
    """Put x, xd, xdd of one even channel y (N,) into `output` (3, N); False: take NumPy's path.

    `recording.rates.constant_jerk` has the numbers of the filter, and `start` (2, n, 2).
    """
    run = getattr(_loaded.module, "smooth", None)
    if run is None:
        return False
    run(y, numbers, start, output)
    return True


# Calls of a kernel without a state: for controllers, and for long batches of one quantity.
#
# `par` comes from `dynamics.packed_parameters`. Every array is (dof,) or (N, dof); partners of a
# batch may be one row, which then serves all samples. Nothing raises for a pose that cannot be
# taken: its whole row is NaN.

AXES = (2, 3, 4)
_CALLED = ("platform_torque", "joint_torque", "joint_terms", "forward", "payload")
_NAMES = {
    (what, float(place)): {
        dof: name
        for dof in AXES
        if (name := "_".join((what, *([] if place == 0 else [kind]), str(dof)))) in _NUMBERS
    }
    for what in _CALLED
    for place, kind in enumerate(KINDS)
}
_KIND = PLACES["actuation"].start
_LOAD = PLACES["load"].start
_BEYOND = PLACES["beyond"].start
_NOTHING = {dof: np.zeros(dof) for dof in AXES}
_FOLLOWED = {float(i) for i, kind in enumerate(KINDS) if kind.endswith(("articulated", "helical"))}


class JointTerms(NamedTuple):
    """M, C (N, dof, dof) in kg m^2 and kg m^2/s, g (N, dof) in N m: tau = M qdd + C qd + g."""

    M: FloatArray
    C: FloatArray
    g: FloatArray


class PayloadTorque(NamedTuple):
    """Torque (N, dof) in N m, and what one kg more adds to it, in N m/kg."""

    tau: FloatArray
    column: FloatArray


def inverse_dynamics_platform(
    par: FloatArray,
    p: npt.ArrayLike,
    pd: npt.ArrayLike,
    pdd: npt.ArrayLike,
    *,
    friction: bool = True,
) -> FloatArray:
    """Torques (N, dof) or (dof,) of platform motions, with the drives' friction, in N m.

    Where p is a float32 array, all is computed in float32, about twice as fast.
    """
    return _torque(
        _NAMES["platform_torque", par[_KIND]], par, {"p": p, "pd": pd, "pdd": pdd}, friction
    )


def inverse_dynamics_joints(
    par: FloatArray,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    qdd: npt.ArrayLike,
    *,
    friction: bool = True,
) -> FloatArray:
    """Torques (N, dof) or (dof,) of joint motions, with the drives' friction, in N m.

    Where q is a float32 array, all is computed in float32, about twice as fast.
    """
    return _torque(
        _NAMES["joint_torque", par[_KIND]], par, {"q": q, "qd": qd, "qdd": qdd}, friction
    )


def forward_dynamics(
    par: FloatArray,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike,
    external: npt.ArrayLike | None = None,
    *,
    friction: bool = True,
) -> FloatArray:
    """Accelerations qdd (N, dof) or (dof,) of drive torques tau in N m, in rad/s^2.

    `external` is the force on the platform in N [and its moment about z in N m]. At rest sharp
    Coulomb friction is zero here. Friction that grows with the load is refused.
    """
    if friction and (par[_LOAD] or par[_LOAD + 1] or par[_LOAD + 2] or par[_LOAD + 3]):
        allowed = "0: a kernel cannot solve for its direction; use deltadyn.forward_dynamics"
        raise InputError("friction.load", par[PLACES["load"]].tolist(), allowed)
    if par[_BEYOND]:
        from deltadyn.backends.components import kernel_torque

        tau = kernel_torque(par, q, qd, tau, friction=friction)
    names = _NAMES["forward", par[_KIND]]
    if _one_row(q):
        out = np.empty_like(q)
        force = _NOTHING.get(out.size) if external is None else external
        if _done(names, par, friction, q, qd, tau, force, out):
            return out
    motion = {"q": q, "qd": qd, "tau": tau}
    if external is not None:
        motion["external"] = external
    arrays = _motion(motion, np.float64)
    shape = arrays[0].shape
    if external is None:
        arrays.append(_NOTHING[shape[-1]])
    qdd = np.empty(shape)
    run(_known(names, shape[-1]), par, _posed(par, arrays), [qdd], friction=friction)
    return qdd


def equations_of_motion(par: FloatArray, q: npt.ArrayLike, qd: npt.ArrayLike) -> JointTerms:
    """M, C and g of joint angles and rates, without friction; Md - 2C is skew-symmetric."""
    names = _NAMES["joint_terms", par[_KIND]]
    if _one_row(q) and q.size in names:
        dof = q.size
        M, C, g = np.empty(dof * dof), np.empty(dof * dof), np.empty(dof)
        if _done(names, par, False, q, qd, M, C, g):
            return JointTerms(M.reshape(dof, dof), C.reshape(dof, dof), g)
    arrays = _motion({"q": q, "qd": qd}, np.float64)
    (*rows, dof) = arrays[0].shape
    M, C, g = (np.empty((*rows, width)) for width in (dof * dof, dof * dof, dof))
    run(_known(names, dof), par, _posed(par, arrays), (M, C, g))
    square = (*rows, dof, dof)
    return JointTerms(M.reshape(square), C.reshape(square), g)


def payload_torque(
    par: FloatArray, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike
) -> PayloadTorque:
    """Torque of joint motions without friction, and what one kg more of payload adds to it.

    The payload is where the robot's own is, whose mass counts as part of the robot: a load m more
    needs tau + m column.
    """
    names = _NAMES["payload", par[_KIND]]
    if _one_row(q):
        tau, column = np.empty_like(q), np.empty_like(q)
        if _done(names, par, False, q, qd, qdd, tau, column):
            return PayloadTorque(tau, column)
    arrays = _motion({"q": q, "qd": qd, "qdd": qdd}, np.float64)
    shape = arrays[0].shape
    tau, column = np.empty(shape), np.empty(shape)
    run(_known(names, shape[-1]), par, _posed(par, arrays), (tau, column))
    return PayloadTorque(tau, column)


def _torque(
    names: dict[int, str], par: FloatArray, motion: dict[str, npt.ArrayLike], friction: bool
) -> FloatArray:
    first, second, third = motion.values()
    if _one_row(first) and not par[_BEYOND]:
        tau = np.empty_like(first)
        if _done(names, par, friction, first, second, third, tau):
            return tau
    kind = first.dtype if type(first) is np.ndarray and first.dtype == np.float32 else np.float64
    arrays = _motion(motion, kind)
    if par[_BEYOND]:  # terms that the kernels do not have, in doubles
        from deltadyn.backends.components import packed_torque

        given: dict[str, Any] = dict(zip(motion, arrays, strict=True))
        whole = packed_torque(par, friction=friction, **given)
        return whole.astype(kind, copy=False)
    shape = arrays[0].shape
    out = np.empty(shape, dtype=kind)
    name = _known(names, shape[-1])
    inputs = _posed(par, arrays) if "q" in motion else arrays
    run(name, par, inputs, [out], friction=friction)
    return out


def _posed(par: FloatArray, arrays: list[Array]) -> list[Array]:
    """Joint motions with the pose before them where kernels cannot find it: on halves."""
    if par[_KIND] not in _FOLLOWED:
        return arrays
    from deltadyn.backends.limbs import packed_pose

    q = np.atleast_2d(arrays[0]).astype(np.float64, copy=False)
    x = packed_pose(par, q, KINDS[int(par[_KIND])]).astype(arrays[0].dtype, copy=False)
    return [x if arrays[0].ndim == 2 else x[0], *arrays]


def _known(names: dict[int, str], dof: int) -> str:
    """The kernel for so many axes; refused where robots of that kind have none."""
    _module()
    if dof not in names:
        allowed = f"{', '.join(map(str, names))} with these numbers; use deltadyn's own functions"
        raise InputError("number of axes", dof, allowed)
    return names[dof]


def _one_row(value: Any) -> TypeGuard[FloatArray]:
    """Whether a quick try pays: one sample in an array, and the kernels are there."""
    return type(value) is np.ndarray and value.ndim == 1 and available()


def _done(names: dict[int, str], par: FloatArray, friction: bool, *arrays: Any) -> bool:
    """Run a kernel on one sample; False where the arrays need a careful look."""
    try:
        run_row(names[arrays[0].size], par, friction, *arrays)
    except (KeyError, TypeError, ValueError):
        return False
    return True


def _motion(motion: dict[str, npt.ArrayLike], kind: Any) -> list[Array]:
    """Arrays of that kind whose shapes match."""
    arrays: list[Array] = []
    for name, value in motion.items():
        if isinstance(value, np.ndarray) and value.dtype == kind:
            array = value
        else:
            array = as_float(value, name).astype(kind, copy=False)
        arrays.append(array)
        _check_shape(name, array.shape, arrays[0].shape)
    return arrays


def _check_shape(name: str, own: tuple[int, ...], first: tuple[int, ...]) -> None:
    """Refuse what is not (dof,) or (N, dof) of two to four axes, and partners of other shapes."""
    if len(first) not in (1, 2) or first[-1] not in AXES:
        raise InputError(f"shape of {name}", own, "(dof,) or (N, dof) with 2, 3 or 4 axes")
    if own not in (first, first[-1:]):
        raise InputError(f"shape of {name}", own, f"{first}, as its partners have, or one row")
