"""The exact model's regressor: one column per inertial base parameter.

`inertial_columns` is the one source of the columns, over components: NumPy, real or complex, JAX
and CasADi symbols run through it. A column is a torque per axis; what is zero in any motion is the
plain number 0.0, so that callers can leave it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import CHUNK, Component, FloatArray, chunks, namespace
from deltadyn.arrays import columns as components_of
from deltadyn.backends import kernels
from deltadyn.dynamics.exact import platform_force, spindle_forces
from deltadyn.dynamics.friction import (
    BEYOND_TERMS,
    MOTOR_LOAD,
    Columns,
    beyond_columns,
    drive_terms,
    friction_columns,
    friction_names,
    motor_column,
    passive_columns,
    passive_friction,
    sliding,
    wave_columns,
)
from deltadyn.dynamics.parameters import (
    HALVES_NAMES,
    HALVES_UNITS,
    SPINDLE_NAMES,
    SPINDLE_UNITS,
    ExactParameters,
    HalvesParameters,
    SpindleParameters,
    exact_parameters,
)
from deltadyn.kinematics.limbs import acceleration_of, jacobian_columns, rods_of
from deltadyn.kinematics.platform import (
    Helical,
    telescope,
    telescope_acceleration,
    telescope_rate,
    turned,
)
from deltadyn.kinematics.state import State, StateRow
from deltadyn.robot import Robot
from deltadyn.robot.robot import remembered
from deltadyn.small import Vector, dot
from deltadyn.tracing import on_jax
from deltadyn.units import on_axis

LIMB_UNITS = {"m_x": "kg", "A": "kg m^2", "G": "kg m", "G_s": "kg m"}

Column = list[Component]

PIECE = CHUNK  # samples that go through the columns at a time


def inertial_columns(
    xp: Any,
    par: ExactParameters,
    J: list[Vector],
    cos_q: Vector,
    sin_q: Vector,
    qd: Vector,
    qdd: Vector,
    p: Vector,
    pd: Vector,
    pdd: Vector,
    *,
    tied: bool,
    sine: bool,
) -> list[Column]:
    """M_P, then m_x, A, G [, G_s] of the limbs, tied or per arm, then the spindle's or halves' own.

    J holds the columns dp/dq_i of the arms; of `par` the geometry and gravity are read. With
    tau = dT/dq.. of the exact model, linear in its parameters:
    M_P: J^T (pdd + g z),  m_x,i: J^T B_i^T (E'_i qdd_i + E''_i qd_i^2 + g z), E'_i.add_i on axis i,
    A_i: qdd_i,  G_i and G_s,i: what gravity asks of axis i.
    """
    dof, legs, g, carrier = len(p), len(par.limbs), par.gravity, par.limbs.carrier
    place = carrier.place(xp, p)

    def to_joints(force: Vector, torque: Component = 0.0) -> Column:
        through = [dot(column, force) for column in J] if len(force) == 3 else _joined(J, force)
        return [*through, torque][:dof]

    own: dict[str, list[Component]] = {"m_x": [], "A": [], "G": [], "G_s": []}
    elbows: list[Vector] = []
    for i, limb in enumerate(par.limbs):
        c, s = cos_q[i], sin_q[i]
        x, y, z = limb.elbow_force(1.0, c, s, qd[i], qdd[i])
        elbows.append(carrier.pull(place, i, (x, y, z + g)))
        add = acceleration_of(carrier, place, i, pd, pdd)
        own["m_x"].append(limb.along_slope(1.0, c, s, add))
        own["A"].append(qdd[i])
        own["G"].append(limb.gravity(c, s, g, 0.0))
        own["G_s"].append(limb.gravity(c, s, 0.0, g))
    whole = replace(par, M_P=1.0, m_x=(0.0,) * legs, halves=None)
    found = [to_joints(tuple(platform_force(xp, whole, place, p, pd, pdd)))]
    groups: list[list[int]] = [[*range(legs)]] if tied else [[i] for i in range(legs)]
    for name in ("m_x", "A", "G", "G_s")[: 4 if sine else 3]:
        for arms in groups:
            column: Column = [0.0] * dof
            if name == "m_x":
                force = tuple(
                    sum(elbows[i][k] for i in arms[1:]) + elbows[arms[0]][k]
                    for k in range(len(elbows[0]))
                )
                column = to_joints(force)
            for i in arms:
                column[i] = column[i] + own[name][i]
            found.append(column)
    if par.spindle is not None:
        found += _spindle_columns(xp, par.spindle, g, to_joints, p, pd, pdd)
    if par.halves is not None:
        empty = replace(par, M_P=0.0, m_x=(0.0,) * legs)
        for name in halves_names(par):
            one = HalvesParameters(*(float(name == other) for other in HALVES_NAMES))
            force = tuple(platform_force(xp, replace(empty, halves=one), place, p, pd, pdd))
            found.append(to_joints(force))
    return found


def _joined(J: list[Vector], force: Vector) -> Column:
    """J^T force of two or four coordinates; what the force does not hold is 0."""
    out: Column = []
    for column in J:
        total = column[0] * force[0]
        for x, f in zip(column[1:], force[1:], strict=False):
            total = total + x * f
        out.append(total)
    return out


def _spindle_columns(
    xp: Any,
    par: SpindleParameters,
    g: Any,
    to_joints: Any,
    p: Vector,
    pd: Vector,
    pdd: Vector,
) -> list[Column]:
    """H, kappa, mu, I_axial, h_x, h_y, I_psi (equations in `dynamics.exact.spindle_forces`).

    With B = dv/dp: H asks B vdd of the platform, kappa -(B pdd + vdd + g B z), mu g B z; the
    effector's first moments turn with psi; the shaft's spin comes from the model itself.
    """
    rod = telescope(xp, par.pivot_z, p)
    rate = telescope_rate(rod, pd)
    vdd = telescope_acceleration(rod, rate, pdd).v
    over, vz = rod.over, rod.v[2]
    lift = (-g * rod.v[0] * vz * over, -g * rod.v[1] * vz * over, g * (1 - vz * vz) * over)
    drawn = turned(rod, pdd)
    unit = SpindleParameters(par.pivot_z, *(float(name == "I_axial") for name in SPINDLE_NAMES))
    shaft = spindle_forces(xp, unit, 0.0, p, pd, pdd)
    c, s, turn2 = xp.cos(p[3]), xp.sin(p[3]), pd[3] * pd[3]

    def offset(hx: Component, hy: Component) -> Column:  # a first moment along (hx, hy)
        force = (-hy * pdd[3] - hx * turn2, hx * pdd[3] - hy * turn2, 0.0)
        return list(to_joints(force, hx * pdd[1] - hy * pdd[0]))

    return [
        to_joints(turned(rod, vdd)),
        to_joints(tuple(-drawn[k] - vdd[k] - lift[k] for k in range(3))),
        to_joints(lift),
        to_joints(shaft.force, shaft.torque),
        offset(c, s),
        offset(-s, c),
        [0.0, 0.0, 0.0, pdd[3]],
    ]


def inertial_values(
    par: ExactParameters, tied: bool, sine: bool, linear: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...], FloatArray]:
    """Names, units and values of the columns, in their order; A and G of a carriage are masses."""
    names, units, values = ["M_P"], ["kg"], [float(par.M_P)]
    for name in ("m_x", "A", "G", "G_s")[: 4 if sine else 3]:
        own = getattr(par, name)
        names += [name] if tied else [f"{name}{i + 1}" for i in range(len(own))]
        units += [on_axis(LIMB_UNITS[name], linear)] * (1 if tied else len(own))
        values += [float(value) for value in (own[:1] if tied else own)]
    if par.spindle is not None:
        names += SPINDLE_NAMES
        units += SPINDLE_UNITS
        values += [float(getattr(par.spindle, name)) for name in SPINDLE_NAMES]
    if par.halves is not None:
        own_names = halves_names(par)
        names += own_names
        units += [HALVES_UNITS[HALVES_NAMES.index(name)] for name in own_names]
        values += [float(getattr(par.halves, name)) for name in own_names]
    return tuple(names), tuple(units), np.array(values)


def halves_names(par: ExactParameters) -> tuple[str, ...]:
    """The parameters of a platform of halves; a screw moves nothing across its axis."""
    if isinstance(par.limbs.carrier, Helical):
        return tuple(name for name in HALVES_NAMES if name != "S_s")
    return HALVES_NAMES


def has_sine(par: ExactParameters) -> bool:
    """Whether an arm's COM is off its line."""
    return any(value != 0 for value in par.G_s)


class Labels(NamedTuple):
    """Names, units and values of the columns; how many are inertial, and whether with sine."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    inertial: int
    sine: bool


@remembered
def labels_of(robot: Robot, tied: bool, com_offset: bool | None, friction: bool) -> Labels:
    """The labels of the exact model's columns, inertial and of friction."""
    par = exact_parameters(robot)
    sine = has_sine(par) if com_offset is None else com_offset
    names, units, values = inertial_values(par, tied, sine, robot.linear)
    inertial = len(names)
    if friction:
        more_names, more_units, more_values = friction_names(robot)
        names, units = names + more_names, units + more_units
        values = np.concatenate([values, more_values])
    return Labels(names, units, values, inertial, sine)


def exact_columns(
    robot: Robot,
    state: State,
    tied: bool,
    com_offset: bool | None = None,
    *,
    friction: bool = False,
) -> Columns:
    """M_P, then m_x, A, G [, G_s] of the limbs, tied or per arm, then the spindle's seven.

    `com_offset` adds the arms' sine gravity terms; by default where the robot has any. `friction`
    adds the columns of `friction_columns`.
    """
    labels = labels_of(robot, tied, com_offset, friction)
    names, units, values = labels.names, labels.units, labels.values.copy()
    if not isinstance(state.source, StateRow) and on_jax(state.p):
        Y = _traced(robot, state, tied, labels, friction)
        return Columns(Y, names, units, values)
    found = kernels.compiled_columns(
        robot, state, labels.inertial, tied=tied, com_offset=labels.sine, friction=friction
    )
    if found is None:
        found = np.zeros((len(state), robot.dof, len(names)))
        _fill(robot, state, found, labels, tied=tied, friction=friction)
    if friction and robot.friction.passive:
        found[:, :, -2 * len(robot.friction.passive) :] = passive_columns(robot, state)
    if friction and not robot.plain_drives:
        _fill_beyond(robot, state, found, labels)
    return Columns(found, names, units, values)


def _fill_beyond(robot: Robot, state: State, Y: FloatArray, labels: Labels) -> None:
    """The drives' columns that no kernel gives, into Y (N, dof, n), where they are zero."""

    def put(place: int, diagonal: FloatArray) -> None:
        first = labels.inertial + place * robot.dof
        for axis in range(robot.dof):
            Y[:, axis, first + axis] = diagonal[:, axis]

    for place, diagonal in beyond_columns(robot, state):
        put(place, diagonal)
    if robot.friction.motor_load is not None:
        place = drive_terms(robot.friction).index(MOTOR_LOAD)
        put(place, motor_column(robot, state, Y @ labels.values))


def _traced(robot: Robot, state: State, tied: bool, labels: Labels, friction: bool) -> Any:
    """The columns of JAX arrays."""
    from deltadyn.backends.jax import inertial_columns as traced_columns

    Y = traced_columns(robot, state, tied, labels.sine)
    if not friction:
        return Y
    frictionless = Y @ labels.values[: labels.inertial].astype(Y.dtype)
    drives = friction_columns(robot, state, frictionless).Y
    return namespace(Y).concatenate([Y, drives], axis=2)


def _fill(
    robot: Robot, state: State, Y: FloatArray, labels: Labels, *, tied: bool, friction: bool
) -> None:
    """Inertial columns and drive friction into Y (N, dof, n), which holds zeros."""
    par, own, dof = exact_parameters(robot), robot.friction, robot.dof
    terms = drive_terms(own) if friction else ()
    passive = None
    if friction and own.load is not None:
        passive = passive_friction(robot, state)
    for part, columns in _pieces(par, state, tied=tied, sine=labels.sine):
        for k, column in enumerate(columns):
            for axis in range(dof):
                if not is_zero(column[axis]):
                    Y[part, axis, k] = column[axis]
        if not friction:
            continue
        load = None
        if passive is not None:
            through = Y[part, :, : labels.inertial] @ labels.values[: labels.inertial]
            rotor = np.asarray(robot.drives.output_inertia)
            load = (through + passive[part] - rotor * state.qdd[part]).T
        slide = sliding(np, own, np.ascontiguousarray(state.qd[part].T), load, axis=0)
        for t, term in enumerate(terms):
            if term in BEYOND_TERMS:
                continue
            value = term.column(np, slide) * np.ones_like(slide.qd)
            for axis in range(dof):
                Y[part, axis, labels.inertial + t * dof + axis] = value[axis]


def _pieces(par: ExactParameters, state: State, *, tied: bool, sine: bool) -> Iterator[Any]:
    """The inertial columns of pieces of the samples, small enough to stay in the cache."""
    arrays = (
        state.cos_q,
        state.sin_q,
        state.qd,
        state.qdd,
        state.p,
        state.pd,
        state.pdd,
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        for part in chunks(len(state), PIECE):
            motion = [components_of(array[part]) for array in arrays]
            c, s, _, _, p, _, _ = motion
            J = jacobian_columns(rods_of(np, par.limbs, c, s, p))
            yield part, inertial_columns(np, par, J, *motion, tied=tied, sine=sine)


def is_zero(component: Component) -> bool:
    """Whether a component is the plain number 0: nothing in any motion."""
    return isinstance(component, float) and component == 0.0


def has_axis_rows(robot: Robot, source: str) -> bool:
    """Whether `axis_columns` knows all terms of the robot's model."""
    own = robot.friction
    return source == "exact" and own.load is None and own.motor_load is None and not own.passive


def axis_columns(robot: Robot, state: State, out: list[FloatArray]) -> None:
    """Fill `out`, one array (m, N) per axis, with the columns that move that axis.

    These are the inertial ones of `kernels.inertial_places`, per arm and with sine terms, then the
    drives' friction terms and waves of ripple.
    """
    terms, places = drive_terms(robot.friction), kernels.inertial_places(robot)
    for part, columns in _pieces(exact_parameters(robot), state, tied=False, sine=True):
        slide = sliding(np, robot.friction, np.ascontiguousarray(state.qd[part].T), axis=0)
        drives = [term.column(np, slide) for term in terms]
        for axis, rows in enumerate(out):
            own = [columns[k][axis] for k in places[axis]]
            own += [drive if np.ndim(drive) == 0 else drive[axis] for drive in drives]
            for row, value in zip(rows[: len(own)], own, strict=True):
                row[part] = value
    for k, column in enumerate(wave_columns(robot, state)):
        for axis, rows in enumerate(out):
            rows[len(rows) - 1 - 2 * len(robot.drives.ripple) + k] = column[:, axis]
