"""Mass matrix, terms of the equations of motion, forward dynamics and payload as kernels."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from deltadyn.backends.components import axis_friction, parameters_of
from deltadyn.backends.kernel_models.motion import (
    Groups,
    Model,
    Numbers,
    arms_of,
    bars_of,
    groups_of,
    has_halves,
    joint_angles,
    joint_groups,
    joint_inputs,
    joint_motion,
    namespace,
    psi_angle,
    sliding,
)
from deltadyn.backends.layout import COUNT, PLACES
from deltadyn.backends.limbs import ROTARY
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.friction import KERNEL_TERMS, LOAD
from deltadyn.dynamics.parameters import ExactParameters, HalvesParameters
from deltadyn.dynamics.terms import TermComponents, term_components
from deltadyn.kinematics.actuation import kernel_name, legs_of
from deltadyn.small import solve_symmetric

DRY = tuple(term for term in KERNEL_TERMS if term is not LOAD)  # a kernel finds no load


def term_models(dof: int, kind: str = ROTARY) -> list[Model]:
    """All that is about the terms of the equations of motion."""
    M = (("M", dof * dof),)
    terms = (*M, ("C", dof * dof), ("g", dof))
    arms, pairs = arms_of(kind), 2 * legs_of(kind)
    state = (*arms, *groups_of(dof, "qd", "p", "pd"))
    forward = joint_groups(kind, dof, "q", "qd", "tau", "external")
    motion = joint_groups(kind, dof, "q", "qd", "qdd")
    payload, joints = groups_of(dof, "tau", "column"), joint_angles(kind, dof)
    push = (4 + dof if has_halves(kind) else dof, dof)  # the drives' rates among the inputs

    def model(name: str, inputs: Any, outputs: Any, trace: Any, place: int, **own: Any) -> Model:
        whole, bars = kernel_name(name, kind, dof), bars_of(kind, place)
        return Model(whole, inputs, outputs, partial(trace, kind), COUNT, bars=bars, **own)

    own = {"angles": joints, "whole": True}
    at, between = psi_angle(dof, pairs), psi_angle(dof, pairs + dof)
    return [
        model("mass", (*arms, ("p", dof)), M, _mass, pairs, angles=at),
        model("terms", state, terms, _terms, pairs + dof, angles=between),
        model("joint_terms", motion[:-1], terms, _joint_terms, 0, **own),
        model("forward", forward, (("qdd", dof),), _forward, 0, rates=push, **own),
        model("payload", motion, payload, _payload, 0, **own),
    ]


def _mass(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    c, s, p, *trig = groups
    rest = (0.0,) * len(p)
    xp, numbers = namespace(kind, p, *trig), parameters_of(par, len(p), kind)
    terms = term_components(xp, numbers, c, s, rest, p, rest)
    return [x for row in terms.M for x in row]


def _terms(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    c, s, qd, p, pd, *trig = groups
    numbers = parameters_of(par, len(p), kind)
    return _in_a_row(term_components(namespace(kind, p, *trig), numbers, c, s, qd, p, pd))


def _joint_terms(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    (p, q, qd), trig = joint_inputs(kind, groups, 2)
    c, s, _, _, p, pd, _ = joint_motion(kind, par, p, q, qd, (0.0,) * len(q), *trig)
    numbers = parameters_of(par, len(q), kind)
    return _in_a_row(term_components(namespace(kind, p, *trig), numbers, c, s, qd, p, pd))


def _forward(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    """M qdd = tau - friction - (torque at qdd = 0)."""
    *motion, direction, stribeck = groups
    (p, q, qd, tau, external), trig = joint_inputs(kind, motion, 4)
    state = joint_motion(kind, par, p, q, qd, (0.0,) * len(q), *trig)
    c, s, _, _, p, pd, _ = state
    xp, numbers = namespace(kind, p, *trig), parameters_of(par, len(q), kind)
    needed = inverse_dynamics(xp, numbers, *state, external=external)
    M = term_components(xp, numbers, c, s, qd, p, pd).M
    right = []
    for i in range(len(q)):
        slide = sliding(par, i, qd[i], direction[i], stribeck[i])
        right.append(tau[i] - axis_friction(xp, par, i, slide, DRY) - needed[i])
    return solve_symmetric(M, right)


def _payload(kind: str, par: Numbers, groups: Groups) -> list[Any]:
    """The torque without friction, and what one kg more at the payload's offset adds to it."""
    (p, q, qd, qdd), trig = joint_inputs(kind, groups)
    state = joint_motion(kind, par, p, q, qd, qdd, *trig)
    xp, numbers = namespace(kind, p, *trig), parameters_of(par, len(q), kind)
    column = inverse_dynamics(xp, _of_one_kg(par, numbers), *state)
    return [*inverse_dynamics(xp, numbers, *state), *column]


def _of_one_kg(par: Numbers, numbers: ExactParameters) -> ExactParameters:
    """What one kg at the payload's offset adds to the parameters."""
    x, y = par[PLACES["payload_offset"]]
    none = (0.0,) * len(numbers.limbs)
    spindle, halves = numbers.spindle, numbers.halves
    if spindle is not None:
        rods = dict.fromkeys(("H", "kappa", "mu", "I_axial"), 0.0)
        spindle = replace(spindle, h_x=x, h_y=y, I_psi=x * x + y * y, **rods)
    if halves is not None:
        halves = HalvesParameters(0.0, 0.0, x, y, x * x + y * y)
    bare = replace(numbers, M_P=1.0, m_x=none, A=none, G=none, G_s=none)
    return replace(bare, spindle=spindle, halves=halves)


def _in_a_row(terms: TermComponents) -> list[Any]:
    return [x for row in (*terms.M, *terms.C, terms.g) for x in row]
