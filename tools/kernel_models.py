"""What the compiled kernels compute: the package's own model source, applied to CasADi symbols.

Cosines and sines are inputs: the loop around a kernel takes them from the C library, because calls
to it would keep the straight-line code from running on vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi

from deltadyn.backends.components import axis_friction, parameters_of
from deltadyn.backends.layout import AXES, COUNT, KINEMATIC, PLACES
from deltadyn.backends.limbs import (
    ROTARY,
    arms,
    limbs_of,
    platform_rates,
    platform_state,
    point,
)
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.friction import Sliding
from deltadyn.kinematics.actuation import kernel_name
from deltadyn.kinematics.limbs import pairs_of

ARMS = (("cos_q", 3), ("sin_q", 3))
Symbols = tuple[Any, ...]
Groups = Sequence[Symbols]


@dataclass(frozen=True)
class Model:
    """A kernel: groups of inputs and outputs (name, width) and what makes one of the other.

    `angles` are the places (first column, count) of the angles whose cosines and sines `trace`
    finds in two more groups behind the inputs, `rates` those of the joint rates whose directions
    (sign, or its smooth form) and Stribeck shapes exp(-(qd / vs)^2) follow in two groups more.
    `dof` is 0 where friction is not added to a result; a torque comes with the qd and qdd that its
    friction needs. `whole` makes a row NaN where any part is.
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    trace: Callable[[Symbols, Groups], list[Any]]
    parameters: int = KINEMATIC
    angles: tuple[int, int] = (0, 0)
    rates: tuple[int, int] = (0, 0)
    dof: int = 0
    whole: bool = False


def models() -> list[Model]:
    """Kinematics and torques of both kinds of robots, which controllers need."""
    return [*kinematics_models(), *torque_models(3), *torque_models(4)]


def kinematics_models(kind: str = ROTARY) -> list[Model]:
    """Joints and platform, positions to accelerations."""
    three = tuple((name, 3) for name in ("p", "pd", "pdd"))
    joints = tuple((name, 3) for name in ("q", "qd", "qdd"))
    arm_rates = (*ARMS, ("qd", 3), ("qdd", 3))
    turned = joint_angles(kind, 3)

    def model(name: str, inputs: Any, outputs: Any, trace: Any, **own: Any) -> Model:
        return Model(kernel_name(name, kind), inputs, outputs, partial(trace, kind), **own)

    return [
        *(row for dof in ((3, 4) if kind == ROTARY else (3,)) for row in _state_rows(kind, dof)),
        model("inverse_kinematics", three[:1], ARMS, _inverse_kinematics),
        model("forward_kinematics", joints[:1], three[:1], _forward_kinematics, angles=turned),
        model("platform_state", three, arm_rates, _platform_state),
        model("joint_state", joints, (*ARMS, *three), _joint_state, angles=turned),
    ]


def joint_angles(kind: str, dof: int) -> tuple[int, int]:
    """Places (first, count) of the angles among the joint coordinates: psi alone on rails."""
    return (0, dof) if kind in (ROTARY, "inclined") else (3, dof - 3)


def pairs(
    kind: str, par: Symbols, q: Symbols, cos: Symbols, sin: Symbols
) -> tuple[Symbols, Symbols]:
    """The pairs of the limbs, from the known cosines and sines or from the coordinates."""
    if joint_angles(kind, 3)[1]:
        return cos[:3], sin[:3]
    return pairs_of(Namespace(), limbs_of(par, kind), q)


def _state_rows(kind: str, dof: int) -> list[Model]:
    """A whole state in one row: the inputs of `state_torque`, with an external force of zero.

    Of one sample all is then in one array, of which nothing but the array itself has to be made.
    """
    row, nothing = (("state", 6 + 6 * dof),), (0.0,) * dof

    def of_platform(par: Symbols, groups: Groups) -> list[Any]:
        p, pd, pdd = groups
        c, s, qd, qdd = platform_state(Namespace(), par, p, pd, pdd, kind)
        return [*c, *s, *qd, *qdd, *p, *pd, *pdd, *nothing]

    def of_joints(par: Symbols, groups: Groups) -> list[Any]:
        q, qd, qdd, *trig = with_trig(groups)
        c, s = pairs(kind, par, q, *trig)
        p = (*point(Namespace(), par, c, s, kind), *q[3:])
        return [
            *c,
            *s,
            *qd,
            *qdd,
            *p,
            *(x for r in platform_rates(par, c, s, p, qd, qdd, kind) for x in r),
            *nothing,
        ]

    platform, joints = groups_of(dof, "p", "pd", "pdd"), groups_of(dof, "q", "qd", "qdd")
    return [
        Model(kernel_name("platform_row", kind, dof), platform, row, of_platform),
        Model(
            kernel_name("joint_row", kind, dof),
            joints,
            row,
            of_joints,
            angles=joint_angles(kind, dof),
        ),
    ]


def with_trig(groups: Groups, count: int = 3) -> list[Symbols]:
    """The groups, with empty cosines and sines behind `count` of them where there are none."""
    return [*groups, *([()] * (count + 2 - len(groups)))]


def torque_models(dof: int, kind: str = ROTARY) -> list[Model]:
    """The inverse dynamics from a state, from the platform and from the joints."""
    tau, psi = (("tau", dof),), dof - 3
    state = (*ARMS, *groups_of(dof, "qd", "qdd", "p", "pd", "pdd", "external"))
    motions = (
        ("state_torque", state, _state_torque, (9 + 2 * dof, psi)),
        ("platform_torque", groups_of(dof, "p", "pd", "pdd"), _platform_torque, (3, psi)),
        (
            "joint_torque",
            groups_of(dof, "q", "qd", "qdd"),
            _joint_torque,
            joint_angles(kind, dof),
        ),
    )
    return [
        Model(
            kernel_name(name, kind, dof),
            inputs,
            tau,
            partial(trace, kind),
            COUNT,
            angles,
            dof=dof,
            whole=inputs is not state,
        )
        for name, inputs, trace, angles in motions
    ]


def groups_of(dof: int, *names: str) -> tuple[tuple[str, int], ...]:
    """Groups of inputs that are as wide as the robot has axes."""
    return tuple((name, dof) for name in names)


def friction_model(dof: int) -> Model:
    """The drives' friction on top of the torque without it; not a kernel of its own.

    `direction` is sign(qd) or its smooth form, `stribeck` is exp(-(qd / vs)^2).
    """
    names = ("tau", "qd", "qdd", "direction", "stribeck")
    inputs = tuple((name, dof) for name in names)
    return Model(f"friction_{dof}", inputs, (("tau", dof),), _friction, COUNT)


class Namespace:
    """The functions that the model's source asks for; angles answer with their known symbols."""

    sqrt = staticmethod(casadi.sqrt)
    abs = staticmethod(casadi.fabs)

    def __init__(self, cos: Symbols = (), sin: Symbols = ()) -> None:
        self._cos, self._sin = cos, sin

    def cos(self, _angle: Any) -> Any:
        return self._cos[-1]  # the model takes no cosine but that of psi

    def sin(self, _angle: Any) -> Any:
        return self._sin[-1]

    @staticmethod
    def where(condition: Any, yes: Any, no: Any) -> Any:
        return casadi.if_else(condition, yes, no)


def _inverse_kinematics(kind: str, par: Symbols, groups: Groups) -> list[Any]:
    c, s = arms(Namespace(), par, groups[0], kind)
    return [*c, *s]


def _forward_kinematics(kind: str, par: Symbols, groups: Groups) -> list[Any]:
    q, *trig = with_trig(groups, 1)
    return [*point(Namespace(), par, *pairs(kind, par, q, *trig), kind)]


def _platform_state(kind: str, par: Symbols, groups: Groups) -> list[Any]:
    p, pd, pdd = groups
    c, s, qd, qdd = platform_state(Namespace(), par, p, pd, pdd, kind)
    return [*c, *s, *qd, *qdd]


def _joint_state(kind: str, par: Symbols, groups: Groups) -> list[Any]:
    q, qd, qdd, *trig = with_trig(groups)
    c, s = pairs(kind, par, q, *trig)
    p = point(Namespace(), par, c, s, kind)
    pd, pdd = platform_rates(par, c, s, p, qd, qdd, kind)
    return [*c, *s, *p, *pd, *pdd]


def _state_torque(kind: str, par: Symbols, groups: Groups) -> list[Any]:
    c, s, qd, qdd, p, pd, pdd, external, *trig = groups
    xp, numbers = Namespace(*trig), parameters_of(par, len(p), kind)
    tau = inverse_dynamics(xp, numbers, c, s, qd, qdd, p, pd, pdd, external)
    return [*tau, *qd, *qdd]


def _platform_torque(kind: str, par: Symbols, groups: Groups) -> list[Any]:
    p, pd, pdd, *trig = groups
    c, s, qd, qdd = platform_state(Namespace(), par, p, pd, pdd, kind)
    xp, numbers = Namespace(*trig), parameters_of(par, len(p), kind)
    return [*inverse_dynamics(xp, numbers, c, s, qd, qdd, p, pd, pdd), *qd, *qdd]


def _joint_torque(kind: str, par: Symbols, groups: Groups) -> list[Any]:
    q, qd, qdd, cos, sin = with_trig(groups)
    state = joint_motion(kind, par, q, qd, qdd, cos, sin)
    xp, numbers = Namespace(cos, sin), parameters_of(par, len(q), kind)
    return [*inverse_dynamics(xp, numbers, *state), *qd, *qdd]


def joint_motion(
    kind: str, par: Symbols, q: Symbols, qd: Symbols, qdd: Symbols, cos: Symbols, sin: Symbols
) -> tuple[Symbols, Symbols, Symbols, Symbols, Symbols, Symbols, Symbols]:
    """cos_q, sin_q, qd, qdd, p, pd, pdd of a motion of the joints."""
    c, s = pairs(kind, par, q, cos, sin)
    p = (*point(Namespace(), par, c, s, kind), *q[3:])
    return c, s, qd, qdd, p, *platform_rates(par, c, s, p, qd, qdd, kind)


def _friction(par: Symbols, groups: Groups) -> list[Any]:
    tau, qd, qdd, direction, stribeck = groups
    total = []
    for i, s in enumerate(direction):
        slide = sliding(par, i, qd[i], s, stribeck[i], tau[i], qdd[i])
        total.append(tau[i] + axis_friction(Namespace(), par, i, slide))
    return total


def sliding(
    par: Symbols, i: int, qd: Any, direction: Any, stribeck: Any, tau: Any = 0.0, qdd: Any = 0.0
) -> Sliding:
    """How drive i slides under the torque without friction, with its direction and shape known."""
    rotor = par[PLACES["rotor"]]
    assert len(rotor) == AXES
    return Sliding(qd, direction, stribeck, tau - rotor[i] * qdd)
