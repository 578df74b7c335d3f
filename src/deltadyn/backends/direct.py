"""Calls of a kernel without a state: for controllers, and for long batches of one quantity.

`par` comes from `dynamics.packed_parameters`. Every array is (dof,) or (N, dof); partners of a
batch may be one row, which then serves all samples. Nothing raises for a pose that cannot be taken:
its whole row is NaN.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_float
from deltadyn.backends.layout import PLACES
from deltadyn.backends.loader import Array, available, run, run_row
from deltadyn.errors import InputError

_NAMES = {
    what: {dof: f"{what}_{dof}" for dof in (3, 4)}
    for what in ("platform_torque", "joint_torque", "joint_terms", "forward", "payload")
}
_LOAD = PLACES["load"].start
_NOTHING = {dof: np.zeros(dof) for dof in (3, 4)}


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
    return _torque(_NAMES["platform_torque"], par, {"p": p, "pd": pd, "pdd": pdd}, friction)


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
    return _torque(_NAMES["joint_torque"], par, {"q": q, "qd": qd, "qdd": qdd}, friction)


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
    names = _NAMES["forward"]
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
    run(names[shape[-1]], par, arrays, [qdd], friction=friction)
    return qdd


def equations_of_motion(par: FloatArray, q: npt.ArrayLike, qd: npt.ArrayLike) -> JointTerms:
    """M, C and g of joint angles and rates, without friction; Md - 2C is skew-symmetric."""
    names = _NAMES["joint_terms"]
    if _one_row(q) and q.size in names:
        dof = q.size
        M, C, g = np.empty(dof * dof), np.empty(dof * dof), np.empty(dof)
        if _done(names, par, False, q, qd, M, C, g):
            return JointTerms(M.reshape(dof, dof), C.reshape(dof, dof), g)
    arrays = _motion({"q": q, "qd": qd}, np.float64)
    (*rows, dof) = arrays[0].shape
    M, C, g = (np.empty((*rows, width)) for width in (dof * dof, dof * dof, dof))
    run(names[dof], par, arrays, (M, C, g))
    square = (*rows, dof, dof)
    return JointTerms(M.reshape(square), C.reshape(square), g)


def payload_torque(
    par: FloatArray, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike
) -> PayloadTorque:
    """Torque of joint motions without friction, and what one kg more of payload adds to it.

    The payload is where the robot's own is, whose mass counts as part of the robot: a load m more
    needs tau + m column.
    """
    names = _NAMES["payload"]
    if _one_row(q):
        tau, column = np.empty_like(q), np.empty_like(q)
        if _done(names, par, False, q, qd, qdd, tau, column):
            return PayloadTorque(tau, column)
    arrays = _motion({"q": q, "qd": qd, "qdd": qdd}, np.float64)
    shape = arrays[0].shape
    tau, column = np.empty(shape), np.empty(shape)
    run(names[shape[-1]], par, arrays, (tau, column))
    return PayloadTorque(tau, column)


def _torque(
    names: dict[int, str], par: FloatArray, motion: dict[str, npt.ArrayLike], friction: bool
) -> FloatArray:
    first, second, third = motion.values()
    if _one_row(first):
        tau = np.empty_like(first)
        if _done(names, par, friction, first, second, third, tau):
            return tau
    kind = first.dtype if type(first) is np.ndarray and first.dtype == np.float32 else np.float64
    arrays = _motion(motion, kind)
    shape = arrays[0].shape
    out = np.empty(shape, dtype=kind)
    run(names[shape[-1]], par, arrays, [out], friction=friction)
    return out


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
    """Refuse what is not (3,), (4,), (N, 3) or (N, 4), and partners that do not match."""
    if len(first) not in (1, 2) or first[-1] not in (3, 4):
        raise InputError(f"shape of {name}", own, "(3,), (4,), (N, 3) or (N, 4)")
    if own not in (first, first[-1:]):
        raise InputError(f"shape of {name}", own, f"{first}, as its partners have, or one row")
