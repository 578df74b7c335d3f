"""Mass matrix, terms of the equations of motion, forward dynamics and payload as kernels."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from deltadyn.backends.components import axis_friction, parameters_of
from deltadyn.backends.layout import COUNT, PLACES
from deltadyn.backends.limbs import ROTARY
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.friction import KERNEL_TERMS, LOAD
from deltadyn.dynamics.parameters import ExactParameters
from deltadyn.dynamics.terms import TermComponents, term_components
from deltadyn.kinematics.actuation import kernel_name
from deltadyn.small import solve_symmetric
from tools.kernel_models import (
    ARMS,
    Groups,
    Model,
    Namespace,
    Symbols,
    groups_of,
    joint_angles,
    joint_motion,
    sliding,
    with_trig,
)

DRY = tuple(term for term in KERNEL_TERMS if term is not LOAD)  # a kernel finds no load


def term_models(dof: int, kind: str = ROTARY) -> list[Model]:
    """All that is about the terms of the equations of motion."""
    M = (("M", dof * dof),)
    terms = (*M, ("C", dof * dof), ("g", dof))
    state = (*ARMS, *groups_of(dof, "qd", "p", "pd"))
    forward = groups_of(dof, "q", "qd", "tau", "external")
    motion, payload = groups_of(dof, "q", "qd", "qdd"), groups_of(dof, "tau", "column")
    psi, joints = dof - 3, joint_angles(kind, dof)
    push = (dof, dof)  # the rates of the drives among the inputs

    def model(name: str, inputs: Any, outputs: Any, trace: Any, *rest: Any, **own: Any) -> Model:
        whole = kernel_name(name, kind, dof)
        return Model(whole, inputs, outputs, partial(trace, kind), COUNT, *rest, **own)

    return [
        model("mass", (*ARMS, ("p", dof)), M, _mass, (9, psi)),
        model("terms", state, terms, _terms, (9 + dof, psi)),
        model("joint_terms", motion[:2], terms, _joint_terms, joints, whole=True),
        model("forward", forward, (("qdd", dof),), _forward, joints, push, whole=True),
        model("payload", motion, payload, _payload, joints, whole=True),
    ]


def _mass(kind: str, par: Symbols, groups: Groups) -> list[Any]:
    c, s, p, *trig = groups
    rest = (0.0,) * len(p)
    terms = term_components(Namespace(*trig), parameters_of(par, len(p), kind), c, s, rest, p, rest)
    return [x for row in terms.M for x in row]


def _terms(kind: str, par: Symbols, groups: Groups) -> list[Any]:
    c, s, qd, p, pd, *trig = groups
    numbers = parameters_of(par, len(p), kind)
    return _in_a_row(term_components(Namespace(*trig), numbers, c, s, qd, p, pd))


def _joint_terms(kind: str, par: Symbols, groups: Groups) -> list[Any]:
    q, qd, cos, sin = with_trig(groups, 2)
    c, s, _, _, p, pd, _ = joint_motion(kind, par, q, qd, (0.0,) * len(q), cos, sin)
    numbers = parameters_of(par, len(q), kind)
    return _in_a_row(term_components(Namespace(cos, sin), numbers, c, s, qd, p, pd))


def _forward(kind: str, par: Symbols, groups: Groups) -> list[Any]:
    """M qdd = tau - friction - (torque at qdd = 0)."""
    *motion, direction, stribeck = groups
    q, qd, tau, external, cos, sin = with_trig(motion, 4)
    state = joint_motion(kind, par, q, qd, (0.0,) * len(q), cos, sin)
    c, s, _, _, p, pd, _ = state
    xp, numbers = Namespace(cos, sin), parameters_of(par, len(q), kind)
    needed = inverse_dynamics(xp, numbers, *state, external=external)
    M = term_components(xp, numbers, c, s, qd, p, pd).M
    right = []
    for i in range(len(q)):
        slide = sliding(par, i, qd[i], direction[i], stribeck[i])
        right.append(tau[i] - axis_friction(xp, par, i, slide, DRY) - needed[i])
    return solve_symmetric(M, right)


def _payload(kind: str, par: Symbols, groups: Groups) -> list[Any]:
    """The torque without friction, and what one kg more at the payload's offset adds to it."""
    q, qd, qdd, cos, sin = with_trig(groups)
    state = joint_motion(kind, par, q, qd, qdd, cos, sin)
    xp, numbers = Namespace(cos, sin), parameters_of(par, len(q), kind)
    column = inverse_dynamics(xp, _of_one_kg(par, numbers), *state)
    return [*inverse_dynamics(xp, numbers, *state), *column]


def _of_one_kg(par: Symbols, numbers: ExactParameters) -> ExactParameters:
    """What one kg at the payload's offset adds to the parameters."""
    x, y = par[PLACES["payload_offset"]]
    none = (0.0, 0.0, 0.0)
    spindle = numbers.spindle
    if spindle is not None:
        rods = dict.fromkeys(("H", "kappa", "mu", "I_axial"), 0.0)
        spindle = replace(spindle, h_x=x, h_y=y, I_psi=x * x + y * y, **rods)
    return replace(numbers, M_P=1.0, m_x=none, A=none, G=none, G_s=none, spindle=spindle)


def _in_a_row(terms: TermComponents) -> list[Any]:
    return [x for row in (*terms.M, *terms.C, terms.g) for x in row]
