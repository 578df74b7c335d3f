"""The exact model over components, from a robot's packed numbers, with the drives' friction.

`par` holds the components of `backends.layout`, each a number or an array that goes with those of
the motion; `xp` is NumPy or `jax.numpy`. Nothing raises: what does not exist is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import Component, FloatArray
from deltadyn.backends.layout import PLACES
from deltadyn.backends.limbs import joint_state, limbs_of, platform_state
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.friction import (
    LOAD,
    PACKED_TERMS,
    STRIBECK,
    Sliding,
    Term,
    direction,
    friction_sum,
    stribeck_shape,
)
from deltadyn.dynamics.parameters import ExactParameters, SpindleParameters
from deltadyn.dynamics.terms import TermComponents, term_components
from deltadyn.small import accelerations_with_losses, solve_symmetric

Components = tuple[Component, ...]


class FrictionTerms(NamedTuple):
    """Which friction terms are computed beside viscous, Coulomb and offset; the rest is left out.

    `smooth`: tanh(qd / smoothing) in place of the sign. They choose among compiled programs, so
    they are settings and not numbers.
    """

    smooth: bool = True
    stribeck: bool = True
    load: bool = True


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

    return FrictionTerms(present("smoothing"), present("stribeck"), present("load"))


def parameters_of(par: Components, dof: int) -> ExactParameters:
    """The exact model's parameters."""

    def entry(name: str) -> Any:
        values = par[PLACES[name]]
        return values[0] if len(values) == 1 else tuple(values)

    return ExactParameters(
        limbs=limbs_of(par),
        **{name: entry(name) for name in ("gravity", "M_P", "m_x", "A", "G", "G_s")},
        spindle=SpindleParameters(*entry("spindle")) if dof == 4 else None,
    )


def pose_of_platform(
    xp: Any, par: Components, p: Components, pd: Components, pdd: Components
) -> Pose:
    """The state of a platform motion."""
    return Pose(*platform_state(xp, par, p, pd, pdd), p, pd, pdd)


def pose_of_joints(
    xp: Any, par: Components, q: Components, qd: Components, qdd: Components
) -> Pose:
    """The state of a joint motion."""
    c, s, p, pd, pdd = joint_state(xp, par, q, qd, qdd)
    return Pose(c, s, qd, qdd, p, pd, pdd)


def torque(
    xp: Any,
    par: Components,
    pose: Pose,
    friction: FrictionTerms | None,
    external: Components = (),
) -> list[Component]:
    """Torque of every axis, without friction where `friction` is None, in N m."""
    tau = inverse_dynamics(xp, parameters_of(par, len(pose.p)), *pose, external)
    if friction is None:
        return tau
    rotor = par[PLACES["rotor"]]
    load = [torque - rotor[i] * pose.qdd[i] for i, torque in enumerate(tau)]
    loss = drive_friction(xp, par, pose.qd, friction, load)
    return [a + b for a, b in zip(tau, loss, strict=True)]


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
) -> list[Component]:
    """Friction of the drives, in N m; without a load no share that grows with it."""
    left_out = {
        term for term, present in ((STRIBECK, terms.stribeck), (LOAD, terms.load)) if not present
    }
    if load is None:
        left_out.add(LOAD)
    chosen = [term for term in PACKED_TERMS if term not in left_out]
    width = par[PLACES["stribeck_velocity"]]
    out = []
    for i, turn in enumerate(directions(xp, par, qd, terms)):
        shape = None
        if terms.stribeck:
            shape = stribeck_shape(xp, qd[i], xp.where(width[i] > 0, width[i], 1.0))
        slide = Sliding(qd[i], turn, shape, None if load is None else load[i])
        out.append(axis_friction(xp, par, i, slide, chosen))
    return out


def axis_friction(
    xp: Any, par: Components, axis: int, slide: Sliding, terms: Sequence[Term] = PACKED_TERMS
) -> Component:
    """The friction of one drive with these terms, in N m."""
    numbers = [par[PLACES[term.field]][axis] for term in terms]
    return friction_sum(xp, terms, numbers, slide)


def terms_of(xp: Any, par: Components, pose: Pose) -> TermComponents:
    """M, C and g; what is not used of them costs nothing where JAX compiles."""
    numbers = parameters_of(par, len(pose.p))
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
) -> list[Component]:
    """qdd of drive torques at q, qd, in rad/s^2; sharp Coulomb friction is zero at rest.

    `passive` is what friction in the passive joints asks of the drives, in N m.
    """
    pose = pose_of_joints(xp, par, q, qd, (0.0,) * len(qd))
    needed = torque(xp, par, pose, None, external)
    if passive:
        needed = [a + b for a, b in zip(needed, passive, strict=True)]
    M = terms_of(xp, par, pose).M
    given = list(tau)
    if friction is not None:
        loss = drive_friction(xp, par, qd, friction)
        given = [a - b for a, b in zip(tau, loss, strict=True)]
        if friction.load:
            share, rotor = par[PLACES["load"]], par[PLACES["rotor"]]
            turns = directions(xp, par, qd, friction)
            loss = [share[i] * turn for i, turn in enumerate(turns)]
            return accelerations_with_losses(xp, M, needed, given, loss, rotor)
    return solve_symmetric(M, [a - b for a, b in zip(given, needed, strict=True)])
