"""Columns of the regressor as kernels: inertial base parameters, and friction of the drives."""

from __future__ import annotations

from typing import Any

import casadi

from deltadyn.backends.components import parameters_of
from deltadyn.backends.layout import COUNT
from deltadyn.backends.limbs import ROTARY, jacobian_columns
from deltadyn.dynamics.columns import inertial_columns, is_zero
from deltadyn.dynamics.friction import KERNEL_TERMS
from deltadyn.kinematics.actuation import kernel_name
from tools.kernel_models import ARMS, Groups, Model, Namespace, Symbols, groups_of, sliding


def column_models(dof: int, kind: str = ROTARY) -> list[Model]:
    """Rows of inertial columns without those that are zero in any motion, and friction.

    Friction knows nothing of what moves the limbs: one kernel of it serves all kinds.
    """
    return [_rows(dof, kind), *([_friction(dof)] if kind == ROTARY else [])]


def row_places(dof: int) -> tuple[tuple[int, ...], ...]:
    """For each axis which of the inertial columns, per arm and with the sine terms, move it.

    They are those of the standard arm; other actuations have zeros among them.
    """
    widths = [width for _, width in _state(dof)] + [dof - 3] * 2
    groups = [tuple(casadi.vertsplit(casadi.SX.sym("x", width))) for width in widths]
    columns = _columns(ROTARY, tuple(casadi.vertsplit(casadi.SX.sym("par", COUNT))), groups)
    return tuple(
        tuple(k for k, column in enumerate(columns) if not is_zero(column[axis]))
        for axis in range(dof)
    )


def _rows(dof: int, kind: str) -> Model:
    """Columns of the inertial base parameters, per arm and with the sine terms, axis by axis.

    Tied columns are sums of these, and columns without sine terms a part of them.
    """
    places = row_places(dof)

    def trace(par: Symbols, groups: Groups) -> list[Any]:
        columns = _columns(kind, par, groups)
        return [columns[k][axis] for axis in range(dof) for k in places[axis]]

    outputs = tuple((f"Y{axis + 1}", len(own)) for axis, own in enumerate(places))
    name, psi = kernel_name("rows", kind, dof), (9 + 2 * dof, dof - 3)
    return Model(name, _state(dof), outputs, trace, COUNT, psi)


def _state(dof: int) -> tuple[tuple[str, int], ...]:
    return (*ARMS, *groups_of(dof, "qd", "qdd", "p", "pd", "pdd"))


def _columns(kind: str, par: Symbols, groups: Groups) -> list[list[Any]]:
    c, s, qd, qdd, p, pd, pdd, *trig = groups
    J = jacobian_columns(par, c, s, p, kind)
    numbers = parameters_of(par, len(p), kind)
    return inertial_columns(
        Namespace(*trig), numbers, J, c, s, qd, qdd, p, pd, pdd, tied=False, sine=True
    )


def _friction(dof: int) -> Model:
    """What stands on the diagonals of the drives' friction columns, term after term."""

    def trace(par: Symbols, groups: Groups) -> list[Any]:
        qd, qdd, tau, direction, stribeck = groups
        slides = [
            sliding(par, i, qd[i], direction[i], stribeck[i], tau[i], qdd[i]) for i in range(dof)
        ]
        return [term.column(Namespace(), slide) for term in KERNEL_TERMS for slide in slides]

    outputs = groups_of(dof, *(term.name for term in KERNEL_TERMS))
    inputs = groups_of(dof, "qd", "qdd", "tau")
    return Model(f"friction_columns_{dof}", inputs, outputs, trace, COUNT, rates=(0, dof))
