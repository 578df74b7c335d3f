"""The exact model over components, from a robot's packed numbers, with the drives' friction.

`par` holds the components of `backends.layout`, each a number or an array that goes with those of
the motion; `xp` is NumPy or `jax.numpy`. Nothing raises: what does not exist is NaN.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import Component, FloatArray
from deltadyn.backends.layout import AXES, COUNT, KINDS, PLACES, WAVES
from deltadyn.backends.limbs import ROTARY, joint_state, limbs_of, platform_state
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.friction import (
    KERNEL_TERMS,
    LOAD,
    PACKED_TERMS,
    STRIBECK,
    THINNING,
    Sliding,
    Term,
    direction,
    friction_sum,
    stribeck_shape,
    thinning_shape,
)
from deltadyn.dynamics.motor import motor_output, motor_torque, ripple_torque
from deltadyn.dynamics.parameters import ExactParameters, HalvesParameters, SpindleParameters
from deltadyn.dynamics.terms import TermComponents, term_components
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.kinematics.actuation import HALVES, legs_of, parts_of
from deltadyn.kinematics.limbs import coordinates_of
from deltadyn.small import accelerations_with_losses, solve_symmetric
from deltadyn.tracing import common_float, floats, jax_numpy, jitted, joined, on_jax, split, traced

Components = tuple[Component, ...]


class FrictionTerms(NamedTuple):
    """Which terms of the drives are computed beside viscous, Coulomb and offset, and which not.

    `smooth`: tanh(qd / smoothing) in place of the sign. They choose among compiled programs, so
    they are settings and not numbers.
    """

    smooth: bool = True
    stribeck: bool = True
    load: bool = True
    thinning: bool = True
    motor_load: bool = True
    ripple: bool = True


class Pose(NamedTuple):
    """c, s, qd, qdd, p, pd, pdd of a state as components."""

    c: Components
    s: Components
    qd: Components
    qdd: Components
    p: Components
    pd: Components
    pdd: Components


def friction_terms(par: FloatArray) -> FrictionTerms:
    """The terms that packed numbers (..., COUNT) of NumPy have."""

    def present(name: str) -> bool:
        return bool(np.any(par[..., PLACES[name]] != 0))

    names = ("smoothing", "stribeck", "load", "thinning", "motor_load", "ripple_order")
    return FrictionTerms(*(present(name) for name in names))


def parameters_of(par: Components, dof: int, kind: str = ROTARY) -> ExactParameters:
    """The exact model's parameters."""
    legs, platform = legs_of(kind), parts_of(kind)[1]
    spindle = SpindleParameters(*par[PLACES["spindle"]]) if dof == legs + 1 else None
    halves = HalvesParameters(*par[PLACES["halves"]]) if platform in HALVES else None
    return ExactParameters(
        limbs=limbs_of(par, kind),
        gravity=par[PLACES["gravity"]][0],
        M_P=par[PLACES["M_P"]][0],
        **{name: tuple(par[PLACES[name]][:legs]) for name in ("m_x", "A", "G", "G_s")},
        spindle=spindle,
        halves=halves,
    )


def pose_of_platform(
    xp: Any, par: Components, p: Components, pd: Components, pdd: Components, kind: str = ROTARY
) -> Pose:
    """The state of a platform motion."""
    return Pose(*platform_state(xp, par, p, pd, pdd, kind), p, pd, pdd)


def pose_of_joints(
    xp: Any, par: Components, q: Components, qd: Components, qdd: Components, kind: str = ROTARY
) -> Pose:
    """The state of a joint motion."""
    c, s, p, pd, pdd = joint_state(xp, par, q, qd, qdd, kind)
    return Pose(c, s, qd, qdd, p, pd, pdd)


def torque(
    xp: Any,
    par: Components,
    pose: Pose,
    friction: FrictionTerms | None,
    external: Components = (),
    kind: str = ROTARY,
    passive: Sequence[Component] = (),
) -> list[Component]:
    """True torque of every axis, without friction where `friction` is None, in N m.

    `passive` is what friction in the passive joints asks of the drives.
    """
    tau = inverse_dynamics(xp, parameters_of(par, len(pose.p), kind), *pose, external)
    if passive:
        tau = [a + b for a, b in zip(tau, passive, strict=True)]
    if friction is None:
        return tau
    rotor = par[PLACES["rotor"]]
    load = [torque - rotor[i] * pose.qdd[i] for i, torque in enumerate(tau)]
    loss = drive_friction(xp, par, pose.qd, friction, load)
    whole = [a + b for a, b in zip(tau, loss, strict=True)]
    if friction.ripple:
        q = (*coordinates_of(xp, limbs_of(par, kind), pose.c, pose.s), *pose.p[legs_of(kind) :])
        whole = [a + b for a, b in zip(whole, ripple(xp, par, q), strict=True)]
    if not friction.motor_load:
        return whole
    share, turns = par[PLACES["motor_load"]], directions(xp, par, pose.qd, friction)
    return [motor_torque(xp, tau, share[i], turns[i]) for i, tau in enumerate(whole)]


def reported(par: Components, tau: Sequence[Component]) -> list[Component]:
    """True torques in the scale of the drives."""
    ratio = par[PLACES["torque_ratio"]]
    return [ratio[i] * torque for i, torque in enumerate(tau)]


def behind_motor(
    xp: Any,
    par: Components,
    q: Components,
    qd: Components,
    tau: Sequence[Component],
    friction: FrictionTerms | None,
) -> list[Component]:
    """The torques at the output of those that drives report, less ripple and the motors' loss."""
    ratio, share = par[PLACES["torque_ratio"]], par[PLACES["motor_load"]]
    given = [torque / ratio[i] for i, torque in enumerate(tau)]
    if friction is None:
        return given
    if friction.motor_load:
        turns = directions(xp, par, qd, friction)
        given = [motor_output(xp, x, share[i], turns[i]) for i, x in enumerate(given)]
    if friction.ripple:
        given = [a - b for a, b in zip(given, ripple(xp, par, q), strict=True)]
    return given


def ripple(xp: Any, par: Components, q: Components) -> list[Component]:
    """The ripple that the drives must add at their angles, in N m."""
    order, cosine, sine = (par[PLACES[f"ripple_{name}"]] for name in ("order", "cos", "sin"))
    return [
        ripple_torque(
            xp,
            angle,
            [(order[k], cosine[k * AXES + i], sine[k * AXES + i]) for k in range(WAVES)],
        )
        for i, angle in enumerate(q)
    ]


def directions(xp: Any, par: Components, qd: Components, terms: FrictionTerms) -> list[Component]:
    """sign(qd), or tanh(qd / smoothing) where there is a smoothing velocity."""
    if not terms.smooth:
        return [xp.sign(rate) for rate in qd]
    width = par[PLACES["smoothing"]][0]
    smooth = width > 0
    safe = xp.where(smooth, width, 1.0)
    return [xp.where(smooth, direction(rate, safe, xp), xp.sign(rate)) for rate in qd]


def drive_friction(
    xp: Any,
    par: Components,
    qd: Components,
    terms: FrictionTerms,
    load: list[Component] | None = None,
    *,
    chosen: Sequence[Term] = PACKED_TERMS,
) -> list[Component]:
    """Friction of the drives, in N m; without a load no share that grows with it.

    `chosen` are the terms that count, of those that `terms` has.
    """
    known = ((STRIBECK, terms.stribeck), (LOAD, terms.load), (THINNING, terms.thinning))
    left_out = {term for term, present in known if not present}
    if load is None:
        left_out.add(LOAD)
    kept = [term for term in chosen if term not in left_out]
    width, rise = par[PLACES["stribeck_velocity"]], par[PLACES["thinning_velocity"]]
    out = []
    for i, turn in enumerate(directions(xp, par, qd, terms)):
        shape = thin = None
        if terms.stribeck:
            shape = stribeck_shape(xp, qd[i], xp.where(width[i] > 0, width[i], 1.0))
        if terms.thinning:
            thin = thinning_shape(xp, qd[i], xp.where(rise[i] > 0, rise[i], 1.0))
        slide = Sliding(qd[i], turn, shape, None if load is None else load[i], thin)
        out.append(axis_friction(xp, par, i, slide, kept))
    return out


def axis_friction(
    xp: Any, par: Components, axis: int, slide: Sliding, terms: Sequence[Term] = KERNEL_TERMS
) -> Component:
    """The friction of one drive with these terms, in N m."""
    numbers = [par[PLACES[term.field]][axis] for term in terms]
    return friction_sum(xp, terms, numbers, slide)


def terms_of(xp: Any, par: Components, pose: Pose, kind: str = ROTARY) -> TermComponents:
    """M, C and g; what is not used of them costs nothing where JAX compiles."""
    numbers = parameters_of(par, len(pose.p), kind)
    return term_components(xp, numbers, pose.c, pose.s, pose.qd, pose.p, pose.pd)


def acceleration(
    xp: Any,
    par: Components,
    q: Components,
    qd: Components,
    tau: Components,
    friction: FrictionTerms | None,
    external: Components = (),
    passive: Sequence[Component] = (),
    kind: str = ROTARY,
) -> list[Component]:
    """qdd of drive torques at q, qd, in rad/s^2; sharp Coulomb friction is zero at rest.

    `passive` is what friction in the passive joints asks of the drives, in N m.
    """
    pose = pose_of_joints(xp, par, q, qd, (0.0,) * len(qd), kind)
    needed = torque(xp, par, pose, None, external, kind)
    if passive:
        needed = [a + b for a, b in zip(needed, passive, strict=True)]
    M = terms_of(xp, par, pose, kind).M
    given = behind_motor(xp, par, q, qd, tau, friction)
    if friction is not None:
        loss = drive_friction(xp, par, qd, friction)
        given = [a - b for a, b in zip(given, loss, strict=True)]
        if friction.load:
            share, rotor = par[PLACES["load"]], par[PLACES["rotor"]]
            turns = directions(xp, par, qd, friction)
            loss = [share[i] * turn for i, turn in enumerate(turns)]
            return accelerations_with_losses(xp, M, needed, given, loss, rotor)
    return solve_symmetric(M, [a - b for a, b in zip(given, needed, strict=True)])


# The model as functions of a robot's numbers: for gradients by them, and many robots.
#
# `par` (..., COUNT) comes from `packed_parameters`, in the order of `backends.layout`, whose
# `PLACES` names the entries. One array of JAX among the arguments makes the result one, and the
# functions then go through `jit`, `vmap` and `grad`, by `par` too. Leading axes of `par` and of the
# motion go together: (N, COUNT) with (N, dof) is a robot per row, (COUNT,) is one for all. The
# friction is that of the drives; friction in passive joints has no place in `par`. Nothing raises
# for a pose that does not exist: its row is NaN.

Friction = bool | FrictionTerms
ALL_TERMS = FrictionTerms()


def packed_torque(
    par: Any,
    p: Any = None,
    pd: Any = None,
    pdd: Any = None,
    *,
    q: Any = None,
    qd: Any = None,
    qdd: Any = None,
    friction: Friction = True,
    kind: str | None = None,
) -> FloatArray:
    """Drive torques (..., dof) of platform motions p, pd, pdd or joint motions q, qd, qdd, in N m.

    Each is (..., dof). `friction` may name the terms to compute: those that `par` has by default,
    and all where JAX traces `par`, whose values cannot be looked at then. `kind` is what moves the
    limbs, one of `backends.layout.KINDS`: what `par` says by default, and the standard arm where
    JAX traces it.
    """
    platform, joints = {"p": p, "pd": pd, "pdd": pdd}, {"q": q, "qd": qd, "qdd": qdd}
    of_joints = any(value is not None for value in joints.values())
    motion, other = (joints, platform) if of_joints else (platform, joints)
    if any(value is None for value in motion.values()) or any(
        value is not None for value in other.values()
    ):
        given = [name for name, value in (platform | joints).items() if value is not None]
        raise InputError("the motion", given, "p, pd, pdd or q, qd, qdd")
    return _call(_joint_torque if of_joints else _platform_torque, par, motion, friction, kind)


def packed_joint_torque(
    par: Any, q: Any, qd: Any, qdd: Any, *, friction: Friction = True
) -> FloatArray:
    """Deprecated: `packed_torque(par, q=q, qd=qd, qdd=qdd)`."""
    text = "packed_joint_torque is packed_torque with q, qd, qdd; the old name goes with the next"
    warnings.warn(f"{text} release", DeprecationWarning, stacklevel=2)
    return packed_torque(par, q=q, qd=qd, qdd=qdd, friction=friction)


def packed_acceleration(
    par: Any, q: Any, qd: Any, tau: Any, *, friction: Friction = True, kind: str | None = None
) -> FloatArray:
    """Joint accelerations (..., dof) of drive torques tau at q, qd (..., dof), in rad/s^2.

    Where friction grows with the load and no direction of the loads is consistent, NaN.
    """
    return _call(_acceleration, par, {"q": q, "qd": qd, "tau": tau}, friction, kind)


def kernel_torque(
    par: FloatArray, q: Any, qd: Any, tau: Any, *, friction: bool = True
) -> FloatArray:
    """What drive torques tau (..., dof) leave to the terms that the kernels compute, in N m.

    `par` (COUNT,) may have more terms than those; at q, qd their torque is taken away.
    """
    terms = friction_terms(par) if friction else None
    angles, rates, torques = (split(np.asarray(x, dtype=np.float64)) for x in (q, qd, tau))
    numbers = split(par)
    given = behind_motor(np, numbers, angles, rates, torques, terms)
    if terms is not None:
        thin = drive_friction(np, numbers, rates, terms, chosen=(THINNING,))
        given = [a - b for a, b in zip(given, thin, strict=True)]
    return np.stack(given, axis=-1)


def torque_components(
    par: Any,
    p: tuple[Component, ...],
    pd: tuple[Component, ...],
    pdd: tuple[Component, ...],
    *,
    friction: Friction = True,
    kind: str | None = None,
) -> tuple[Component, ...]:
    """Torques as `dof` arrays (N,) from 3 dof arrays (N,): the fastest layout on a GPU.

    Neighbouring threads then read neighbouring numbers, and a sample's terms are computed once. To
    be called inside of `jit`. `par` is (COUNT,), (N, COUNT) for a robot per sample, or a tuple of
    COUNT floats, which become constants of the program.
    """
    numbers = par if isinstance(par, tuple) else split(par)
    chosen = _terms(np.asarray(par) if isinstance(par, tuple) else par, friction)
    return tuple(
        _platform_torque(_namespace(par, *p), numbers, p, pd, pdd, chosen, _kind(par, kind))
    )


def _namespace(*values: Any) -> Any:
    return jax_numpy() if on_jax(*values) else np


def _terms(par: Any, friction: Friction) -> FrictionTerms | None:
    if isinstance(friction, FrictionTerms):
        return friction
    if not isinstance(friction, bool):
        raise InputError("friction", friction, "True, False or FrictionTerms")
    if not friction:
        return None
    if isinstance(par, np.ndarray):
        return friction_terms(par)
    return ALL_TERMS if traced(par) else friction_terms(np.asarray(par))


def _kind(par: Any, kind: str | None) -> str:
    """What moves the limbs that packed numbers belong to: as given, or as they say."""
    if kind is None and not traced(par):
        found = set(np.asarray(par)[..., PLACES["actuation"]].ravel().tolist())
        if len(found) > 1:
            raise InputError(
                "par", sorted(found), "robots of one kind: one `actuation` in all rows"
            )
        kind = KINDS[int(found.pop())] if found else ROTARY
    kind = ROTARY if kind is None else kind
    if kind not in KINDS:
        raise UnknownNameError("kind", kind, KINDS)
    return kind


def _call(
    core: Callable[..., list[Component]],
    par: Any,
    motion: dict[str, Any],
    friction: Friction,
    kind: str | None,
) -> FloatArray:
    kind = _kind(par, kind)
    terms = _terms(par, friction)
    if on_jax(par, *motion.values()):
        dtype = common_float(par, *motion.values())
        arrays = [floats(x, name, dtype) for name, x in {"par": par, **motion}.items()]
        _check(arrays, motion)
        own: dict[str, Any] = {"core": core, "terms": terms, "kind": kind}
        out: FloatArray = jitted(_stacked, tuple(own))(*arrays, **own)
        return out
    arrays = [np.asarray(x, dtype=np.float64) for x in (par, *motion.values())]
    _check(arrays, motion)
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = core(np, *(split(array) for array in arrays), terms, kind)
        return np.stack(np.broadcast_arrays(*parts), axis=-1)


def _stacked(*arrays: Any, core: Callable[..., Any], terms: FrictionTerms | None, kind: str) -> Any:
    return joined(core(jax_numpy(), *(split(array) for array in arrays), terms, kind))[0]


def _check(arrays: list[Any], motion: dict[str, Any]) -> None:
    """Refuse numbers that are not packed, and partners of other widths."""
    par, first, *others = arrays
    if par.ndim < 1 or par.shape[-1] != COUNT:
        raise InputError("shape of par", par.shape, f"(..., {COUNT}), from packed_parameters")
    names = list(motion)
    if first.ndim < 1 or first.shape[-1] not in (2, 3, 4):
        raise InputError(f"shape of {names[0]}", first.shape, "(..., dof) with 2, 3 or 4 axes")
    for name, array in zip(names[1:], others, strict=True):
        if array.ndim < 1 or array.shape[-1] != first.shape[-1]:
            allowed = f"(..., {first.shape[-1]}), as {names[0]} has"
            raise InputError(f"shape of {name}", array.shape, allowed)


def _platform_torque(
    xp: Any, par: Any, p: Any, pd: Any, pdd: Any, terms: FrictionTerms | None, kind: str
) -> list[Component]:
    pose = pose_of_platform(xp, par, p, pd, pdd, kind)
    return _whole(xp, reported(par, torque(xp, par, pose, terms, (), kind)))


def _joint_torque(
    xp: Any, par: Any, q: Any, qd: Any, qdd: Any, terms: FrictionTerms | None, kind: str
) -> list[Component]:
    pose = pose_of_joints(xp, par, q, qd, qdd, kind)
    return _whole(xp, reported(par, torque(xp, par, pose, terms, (), kind)))


def _acceleration(
    xp: Any, par: Any, q: Any, qd: Any, tau: Any, terms: FrictionTerms | None, kind: str
) -> list[Component]:
    return acceleration(xp, par, q, qd, tau, terms, kind=kind)


def _whole(xp: Any, tau: list[Component]) -> list[Component]:
    """NaN on axis 4 too where the arms cannot be: it asks for none of them."""
    if len(tau) < 4:
        return tau
    lost = xp.isnan(tau[0] + tau[1] + tau[2])
    return [*tau[:3], xp.where(lost, np.nan, tau[3])]
