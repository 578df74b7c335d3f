"""The exact model as functions of a robot's numbers: for gradients by them, and many robots.

`par` (..., COUNT) comes from `packed_parameters`, in the order of `backends.layout`, whose `PLACES`
names the entries. One array of JAX among the arguments makes the result one, and the functions then
go through `jit`, `vmap` and `grad`, by `par` too. Leading axes of `par` and of the motion go
together: (N, COUNT) with (N, dof) is a robot per row, (COUNT,) is one for all. The friction is
that of the drives; friction in passive joints has no place in `par`. Nothing raises for a pose that
does not exist: its row is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deltadyn.arrays import Component, FloatArray
from deltadyn.backends import components
from deltadyn.backends.components import FrictionTerms, friction_terms
from deltadyn.backends.layout import COUNT
from deltadyn.errors import InputError
from deltadyn.tracing import common_float, floats, jax_numpy, jitted, joined, on_jax, split

Friction = bool | FrictionTerms
ALL_TERMS = FrictionTerms()


def packed_torque(par: Any, p: Any, pd: Any, pdd: Any, *, friction: Friction = True) -> FloatArray:
    """Drive torques (..., dof) of platform motions p, pd, pdd (..., dof), in N m.

    `friction` may name the terms to compute: with JAX arrays all of them are by default, because
    the values in `par` are not looked at.
    """
    return _call(_platform_torque, par, {"p": p, "pd": pd, "pdd": pdd}, friction)


def packed_joint_torque(
    par: Any, q: Any, qd: Any, qdd: Any, *, friction: Friction = True
) -> FloatArray:
    """Drive torques (..., dof) of joint motions q, qd, qdd (..., dof), in N m."""
    return _call(_joint_torque, par, {"q": q, "qd": qd, "qdd": qdd}, friction)


def packed_acceleration(
    par: Any, q: Any, qd: Any, tau: Any, *, friction: Friction = True
) -> FloatArray:
    """Joint accelerations (..., dof) of drive torques tau at q, qd (..., dof), in rad/s^2.

    Where friction grows with the load and no direction of the loads is consistent, NaN.
    """
    return _call(_acceleration, par, {"q": q, "qd": qd, "tau": tau}, friction)


def torque_components(
    par: Any,
    p: tuple[Component, ...],
    pd: tuple[Component, ...],
    pdd: tuple[Component, ...],
    *,
    friction: Friction = True,
) -> tuple[Component, ...]:
    """Torques as `dof` arrays (N,) from 3 dof arrays (N,): the fastest layout on a GPU.

    Neighbouring threads then read neighbouring numbers, and a sample's terms are computed once. To
    be called inside of `jit`. `par` is (COUNT,), (N, COUNT) for a robot per sample, or a tuple of
    COUNT floats, which become constants of the program.
    """
    numbers = par if isinstance(par, tuple) else split(par)
    chosen = _terms(np.asarray(par) if isinstance(par, tuple) else par, friction)
    return tuple(_platform_torque(_namespace(par, *p), numbers, p, pd, pdd, chosen))


def _namespace(*values: Any) -> Any:
    return jax_numpy() if on_jax(*values) else np


def _terms(par: Any, friction: Friction) -> FrictionTerms | None:
    if isinstance(friction, FrictionTerms):
        return friction
    if not isinstance(friction, bool):
        raise InputError("friction", friction, "True, False or FrictionTerms")
    if not friction:
        return None
    return friction_terms(par) if isinstance(par, np.ndarray) else ALL_TERMS


def _call(
    core: Callable[..., list[Component]], par: Any, motion: dict[str, Any], friction: Friction
) -> FloatArray:
    terms = _terms(par, friction)
    if on_jax(par, *motion.values()):
        dtype = common_float(par, *motion.values())
        arrays = [floats(x, name, dtype) for name, x in {"par": par, **motion}.items()]
        _check(arrays, motion)
        out: FloatArray = jitted(_stacked, ("core", "terms"))(*arrays, core=core, terms=terms)
        return out
    arrays = [np.asarray(x, dtype=np.float64) for x in (par, *motion.values())]
    _check(arrays, motion)
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = core(np, *(split(array) for array in arrays), terms)
        return np.stack(np.broadcast_arrays(*parts), axis=-1)


def _stacked(*arrays: Any, core: Callable[..., Any], terms: FrictionTerms | None) -> Any:
    return joined(core(jax_numpy(), *(split(array) for array in arrays), terms))[0]


def _check(arrays: list[Any], motion: dict[str, Any]) -> None:
    """Refuse numbers that are not packed, and partners of other widths."""
    par, first, *others = arrays
    if par.ndim < 1 or par.shape[-1] != COUNT:
        raise InputError("shape of par", par.shape, f"(..., {COUNT}), from packed_parameters")
    names = list(motion)
    if first.ndim < 1 or first.shape[-1] not in (3, 4):
        raise InputError(f"shape of {names[0]}", first.shape, "(..., 3) or (..., 4)")
    for name, array in zip(names[1:], others, strict=True):
        if array.ndim < 1 or array.shape[-1] != first.shape[-1]:
            allowed = f"(..., {first.shape[-1]}), as {names[0]} has"
            raise InputError(f"shape of {name}", array.shape, allowed)


def _platform_torque(
    xp: Any, par: Any, p: Any, pd: Any, pdd: Any, terms: FrictionTerms | None
) -> list[Component]:
    pose = components.pose_of_platform(xp, par, p, pd, pdd)
    return _whole(xp, components.torque(xp, par, pose, terms))


def _joint_torque(
    xp: Any, par: Any, q: Any, qd: Any, qdd: Any, terms: FrictionTerms | None
) -> list[Component]:
    pose = components.pose_of_joints(xp, par, q, qd, qdd)
    return _whole(xp, components.torque(xp, par, pose, terms))


def _acceleration(
    xp: Any, par: Any, q: Any, qd: Any, tau: Any, terms: FrictionTerms | None
) -> list[Component]:
    return components.acceleration(xp, par, q, qd, tau, terms)


def _whole(xp: Any, tau: list[Component]) -> list[Component]:
    """NaN on axis 4 too where the arms cannot be: it asks for none of them."""
    if len(tau) == 3:
        return tau
    lost = xp.isnan(tau[0] + tau[1] + tau[2])
    return [*tau[:3], xp.where(lost, np.nan, tau[3])]
