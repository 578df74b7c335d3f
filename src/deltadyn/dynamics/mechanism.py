"""The closed mechanism's terms at a pose: mass matrix and bias from the exact model's one source.

tau = M(q) qdd + h(q, qd) is linear in qdd, so the exact model's inverse dynamics gives h with
qdd = 0 and, without gravity and at rest, a column of M for every unit acceleration.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from deltadyn.arrays import Component
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.parameters import ExactParameters
from deltadyn.kinematics.limbs import Pose


class MechanismTerms(NamedTuple):
    """The mechanism's terms over any components: `rows` is the lower triangle of M."""

    rows: list[list[Component]]
    h: list[Component]
    p: tuple[Component, ...]
    pd: tuple[Component, ...]


def mechanism_terms(
    xp: Any,
    par: ExactParameters,
    pose: Pose,
    wrench: tuple[Component, ...],
    qd: tuple[Component, ...],
) -> MechanismTerms:
    """M, h, p and pd at a pose with an external wrench, over any components."""
    dof, c, s, p = len(qd), pose.c, pose.s, pose.p
    weightless, zero = replace(par, gravity=0.0), (0.0,) * len(qd)
    h = inverse_dynamics(xp, par, c, s, qd, zero, p, pose.pd, pose.pdd, wrench)
    rows = []
    for j in range(dof):
        unit = tuple(1.0 if i == j else 0.0 for i in range(dof))
        column = inverse_dynamics(xp, weightless, c, s, zero, unit, p, zero, pose.J[j])
        rows.append(column[: j + 1])
    return MechanismTerms(rows, h, p, pose.pd)
