"""Columns of the regressor as kernels: inertial base parameters, and friction of the drives."""

from __future__ import annotations

from typing import Any

from deltadyn.backends.components import parameters_of
from deltadyn.backends.kernel_models.motion import (
    Groups,
    Model,
    Namespace,
    Numbers,
    arms_of,
    bars_of,
    groups_of,
    namespace,
    psi_angle,
    sliding,
)
from deltadyn.backends.layout import COUNT
from deltadyn.backends.limbs import ROTARY, jacobian_columns
from deltadyn.dynamics.columns import inertial_columns, is_zero
from deltadyn.dynamics.friction import KERNEL_TERMS
from deltadyn.kinematics.actuation import kernel_name, legs_of, parts_of
from deltadyn.tape.tape import Tape


def column_models(dof: int, kind: str = ROTARY) -> list[Model]:
    """Rows of inertial columns without those that are zero in any motion, and friction.

    Friction knows nothing of what moves the limbs: one kernel of it serves all kinds.
    """
    own = kind in (ROTARY, "planar")  # the first with so many axes
    return [_rows(dof, kind), *([_friction(dof)] if own else [])]


def row_places(dof: int, platform: str = "") -> tuple[tuple[int, ...], ...]:
    """For each axis which of the inertial columns, per arm and with the sine terms, move it.

    They are those of the standard arm; other actuations have zeros among them.
    """
    kind = platform or ROTARY
    widths = [width for _, width in _state(dof, kind)] + [int(dof == 4)] * 2
    widths += [2] if bars_of(kind) else []
    tape = Tape()
    groups = [tape.inputs(f"x{place}", width) for place, width in enumerate(widths)]
    columns = _columns(kind, tape.inputs("par", COUNT), groups)
    return tuple(
        tuple(k for k, column in enumerate(columns) if not is_zero(column[axis]))
        for axis in range(dof)
    )


def _rows(dof: int, kind: str) -> Model:
    """Columns of the inertial base parameters, per arm and with the sine terms, axis by axis.

    Tied columns are sums of these, and columns without sine terms a part of them.
    """
    places = row_places(dof, parts_of(kind)[1])

    def trace(par: Numbers, groups: Groups) -> list[Any]:
        columns = _columns(kind, par, groups)
        return [columns[k][axis] for axis in range(dof) for k in places[axis]]

    outputs = tuple((f"Y{axis + 1}", len(own)) for axis, own in enumerate(places))
    name, place = kernel_name("rows", kind, dof), 2 * (legs_of(kind) + dof)
    psi, bars = psi_angle(dof, place), bars_of(kind, place)
    return Model(name, _state(dof, kind), outputs, trace, COUNT, psi, bars=bars)


def _state(dof: int, kind: str) -> tuple[tuple[str, int], ...]:
    return (*arms_of(kind), *groups_of(dof, "qd", "qdd", "p", "pd", "pdd"))


def _columns(kind: str, par: Numbers, groups: Groups) -> list[list[Any]]:
    c, s, qd, qdd, p, pd, pdd, *trig = groups
    xp = namespace(kind, p, *trig)
    J = jacobian_columns(xp, par, c, s, p, kind)
    numbers = parameters_of(par, len(p), kind)
    return inertial_columns(xp, numbers, J, c, s, qd, qdd, p, pd, pdd, tied=False, sine=True)


def _friction(dof: int) -> Model:
    """What stands on the diagonals of the drives' friction columns, term after term."""

    def trace(par: Numbers, groups: Groups) -> list[Any]:
        qd, qdd, tau, direction, stribeck = groups
        slides = [
            sliding(par, i, qd[i], direction[i], stribeck[i], tau[i], qdd[i]) for i in range(dof)
        ]
        return [term.column(Namespace(), slide) for term in KERNEL_TERMS for slide in slides]

    outputs = groups_of(dof, *(term.name for term in KERNEL_TERMS))
    inputs = groups_of(dof, "qd", "qdd", "tau")
    return Model(f"friction_columns_{dof}", inputs, outputs, trace, COUNT, rates=(0, dof))
