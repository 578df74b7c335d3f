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
from deltadyn.dynamics.parameters import ExactParameters, SpindleParameters
from deltadyn.dynamics.terms import TermComponents, term_components
from deltadyn.tracing import repeat

Components = tuple[Component, ...]
GEAR_ROUNDS = 20  # a sign pattern of three or four loads settles in two or three


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
    loss = drive_friction(xp, par, pose.qd, friction)
    total = [a + b for a, b in zip(tau, loss, strict=True)]
    if friction.load:
        share, rotor = par[PLACES["load"]], par[PLACES["rotor"]]
        for i, s in enumerate(directions(xp, par, pose.qd, friction)):
            total[i] = total[i] + share[i] * xp.abs(tau[i] - rotor[i] * pose.qdd[i]) * s
    return total


def directions(xp: Any, par: Components, qd: Components, terms: FrictionTerms) -> list[Component]:
    """sign(qd), or tanh(qd / smoothing) where there is a smoothing velocity."""
    if not terms.smooth:
        return [xp.sign(rate) for rate in qd]
    width = par[PLACES["smoothing"]][0]
    smooth = width > 0
    safe = xp.where(smooth, width, 1.0)
    return [xp.where(smooth, xp.tanh(rate / safe), xp.sign(rate)) for rate in qd]


def drive_friction(
    xp: Any, par: Components, qd: Components, terms: FrictionTerms
) -> list[Component]:
    """Friction of the drives without the share that grows with the load, in N m."""
    viscous, ahead, back = (par[PLACES[n]] for n in ("viscous", "coulomb", "coulomb_negative"))
    offset, size, width = (par[PLACES[n]] for n in ("offset", "stribeck", "stribeck_velocity"))
    out = []
    for i, s in enumerate(directions(xp, par, qd, terms)):
        # ahead max(s, 0) + back min(s, 0), without a branch
        tau = viscous[i] * qd[i] + (ahead[i] + back[i]) / 2 * s
        tau = tau + (ahead[i] - back[i]) / 2 * xp.abs(s) + offset[i]
        if terms.stribeck:
            ratio = qd[i] / xp.where(width[i] > 0, width[i], 1.0)
            tau = tau + size[i] * s * xp.exp(-ratio * ratio)
        out.append(tau)
    return out


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
            return _with_gear_loss(xp, par, M, needed, given, directions(xp, par, qd, friction))
    return solve(M, [a - b for a, b in zip(given, needed, strict=True)])


def solve(M: list[list[Component]], right: list[Component]) -> list[Component]:
    """x with M x = right for a symmetric M, by L D L^T."""
    n = len(right)
    L: list[list[Component]] = [[0.0] * n for _ in range(n)]
    D: list[Component] = []
    over: list[Component] = []
    for j in range(n):
        scaled = [L[j][k] * D[k] for k in range(j)]
        D.append(M[j][j] - sum(L[j][k] * scaled[k] for k in range(j)))
        over.append(1 / D[j])
        for i in range(j + 1, n):
            L[i][j] = (M[i][j] - sum(L[i][k] * scaled[k] for k in range(j))) * over[j]
    y: list[Component] = []
    for i in range(n):
        y.append(right[i] - sum(L[i][k] * y[k] for k in range(i)))
    x: list[Component] = [y[i] * over[i] for i in range(n)]
    for i in reversed(range(n)):
        x[i] = x[i] - sum(L[k][i] * x[k] for k in range(i + 1, n))
    return x


def _with_gear_loss(
    xp: Any,
    par: Components,
    M: list[list[Component]],
    needed: list[Component],
    given: list[Component],
    direction: list[Component],
) -> list[Component]:
    """tau = load + rotor qdd + mu s |load|: linear once the signs of the loads are known.

    NaN where no pattern of signs settles.
    """
    n, rotor, mu = len(given), par[PLACES["rotor"]], par[PLACES["load"]]
    loss = [mu[i] * direction[i] for i in range(n)]
    behind = [[M[i][j] - (rotor[i] if i == j else 0.0) for j in range(n)] for i in range(n)]

    def step(carry: Any) -> Any:
        sign, _, _ = carry
        # (1 + share) load + rotor qdd = given, divided by 1 + share: symmetric again
        scale = [1 / (1 + loss[i] * sign[i]) for i in range(n)]
        A = [list(row) for row in behind]
        for i in range(n):
            A[i][i] = behind[i][i] + rotor[i] * scale[i]
        qdd = solve(A, [given[i] * scale[i] - needed[i] for i in range(n)])
        load = [sum(behind[i][j] * qdd[j] for j in range(n)) + needed[i] for i in range(n)]
        now = tuple(xp.where(load[i] == 0, sign[i], xp.sign(load[i])) for i in range(n))
        settled = now[0] == sign[0]
        for i in range(1, n):
            settled = settled & (now[i] == sign[i])
        return now, tuple(qdd), settled

    start = tuple(xp.sign(x) + 0.0 * y for x, y in zip(given, needed, strict=True))
    _, qdd, settled = repeat(xp, GEAR_ROUNDS, step, (start, start, start[0] == start[0]))
    return [xp.where(settled, x, np.nan) for x in qdd]
