"""Columns of the regressor as kernels: inertial base parameters, and friction of the drives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi

from deltadyn.backends.components import parameters_of
from deltadyn.backends.layout import COUNT
from deltadyn.dynamics.columns import SPINDLE_NAMES
from deltadyn.dynamics.exact import inverse_dynamics
from deltadyn.dynamics.parameters import ExactParameters
from tools.kernel_models import (
    ARMS,
    Groups,
    Model,
    Namespace,
    Symbols,
    dry_columns,
    groups_of,
    load_column,
)

KINDS = ((False, False), (False, True), (True, False), (True, True))  # tied, sine
Unit = tuple[str, tuple[float, ...]]


def column_models(dof: int) -> list[Model]:
    """Whole columns, rows without the columns that are zero in any motion, and friction."""
    columns = [_columns(dof, tied, sine) for tied, sine in KINDS]
    return [*columns, _rows(dof), *_friction(dof)]


def row_places(dof: int) -> tuple[tuple[int, ...], ...]:
    """For each axis which of the inertial columns, per arm and with the sine terms, move it."""
    widths = [width for _, width in _state(dof)] + [dof - 3] * 2
    groups = [tuple(casadi.vertsplit(casadi.SX.sym("x", width))) for width in widths]
    par = tuple(casadi.vertsplit(casadi.SX.sym("par", COUNT)))
    columns = _unit_torques(par, groups, _units(dof, False, True))
    return tuple(
        tuple(k for k, column in enumerate(columns) if not casadi.SX(column[axis]).is_zero())
        for axis in range(dof)
    )


def _columns(dof: int, tied: bool, sine: bool) -> Model:
    """Columns of the inertial base parameters, those of one axis after the other.

    `tied`: one column for the three arms together; `sine`: with the arms' COM off their line.
    """
    units = _units(dof, tied, sine)

    def trace(par: Symbols, groups: Groups) -> list[Any]:
        columns = _unit_torques(par, groups, units)
        return [column[axis] for axis in range(dof) for column in columns]

    name = f"columns_{dof}{'_tied' if tied else ''}{'_sine' if sine else ''}"
    return _of_state(name, dof, [len(units)] * dof, trace)


def _rows(dof: int) -> Model:
    """The same per arm and with the sine terms, without what is zero in any motion."""
    units, places = _units(dof, False, True), row_places(dof)

    def trace(par: Symbols, groups: Groups) -> list[Any]:
        columns = _unit_torques(par, groups, units)
        return [columns[k][axis] for axis in range(dof) for k in places[axis]]

    return _of_state(f"rows_{dof}", dof, [len(own) for own in places], trace)


def _of_state(
    name: str, dof: int, widths: list[int], trace: Callable[[Symbols, Groups], list[Any]]
) -> Model:
    outputs = tuple((f"Y{axis + 1}", width) for axis, width in enumerate(widths))
    return Model(name, _state(dof), outputs, trace, COUNT, (9 + 2 * dof, dof - 3))


def _state(dof: int) -> tuple[tuple[str, int], ...]:
    return (*ARMS, *groups_of(dof, "qd", "qdd", "p", "pd", "pdd"))


def _unit_torques(par: Symbols, groups: Groups, units: list[Unit]) -> list[list[Any]]:
    """The torques (dof) of every parameter at 1 with the others at 0."""
    *state, cos, sin = groups if len(groups) == 9 else [*groups, (), ()]
    xp, known = Namespace(cos, sin), parameters_of(par, len(state[2]))
    return [inverse_dynamics(xp, _with_unit(known, unit), *state) for unit in units]


def _units(dof: int, tied: bool, sine: bool) -> list[Unit]:
    """The parameter of every column, with what stands in its place: 1, or 1 for some arms."""
    arms = [(1.0, 1.0, 1.0)] if tied else [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    names = ("m_x", "A", "G", "G_s") if sine else ("m_x", "A", "G")
    units: list[Unit] = [("M_P", (1.0,))]
    units += [(name, arm) for name in names for arm in arms]
    return units + [(name, (1.0,)) for name in (SPINDLE_NAMES if dof == 4 else ())]


def _with_unit(known: ExactParameters, unit: Unit) -> ExactParameters:
    """The same geometry and gravity, with one parameter at 1 and the others at 0."""
    name, value = unit
    three: dict[str, Any] = dict.fromkeys(("m_x", "A", "G", "G_s"), (0.0, 0.0, 0.0))
    if name in three:
        three[name] = value
    numbers = replace(known, M_P=float(name == "M_P"), **three)
    if known.spindle is not None:
        rods = {key: float(key == name) for key in SPINDLE_NAMES}
        numbers = replace(numbers, spindle=replace(known.spindle, **rods))
    return numbers


def _friction(dof: int) -> list[Model]:
    """What stands on the diagonals of the drives' friction columns; an offset's is 1."""
    qd, motion = groups_of(dof, "qd"), groups_of(dof, "qd", "qdd", "tau")
    rates = (0, dof)

    def dry(_par: Symbols, groups: Groups) -> list[Any]:
        speed, direction, _ = groups
        return [*speed, *direction]

    def dry_by_direction(_par: Symbols, groups: Groups) -> list[Any]:
        speed, direction, _ = groups
        forward, backward = zip(*(dry_columns(s) for s in direction), strict=True)
        return [*speed, *forward, *backward]

    def stribeck(_par: Symbols, groups: Groups) -> list[Any]:
        _, direction, shape = groups
        return [s * x for s, x in zip(direction, shape, strict=True)]

    def load(par: Symbols, groups: Groups) -> list[Any]:
        _, qdd, tau, direction, _ = groups
        return [load_column(par, i, tau[i], qdd[i], s) for i, s in enumerate(direction)]

    several = (
        ("dry_columns", qd, ("Fv", "Fc"), dry),
        ("dry_columns_by_direction", qd, ("Fv", "Fc+", "Fc-"), dry_by_direction),
        ("stribeck_column", qd, ("Fs",), stribeck),
        ("load_column", motion, ("mu",), load),
    )
    return [
        Model(f"{name}_{dof}", inputs, groups_of(dof, *outputs), trace, COUNT, rates=rates)
        for name, inputs, outputs, trace in several
    ]
