"""Friction: on the drives, growing with the load through the gear, and in passive joints.

The drives' friction is a sum of terms, each a parameter times a column. `Term` is a row of the one
table of them, over any components; torque, regressor, the compiled kernels and JAX all read it. A
new term is a row there, with its number in `robot.settings.Friction` and in `backends.layout`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import Component, FloatArray, map_chunks, namespace
from deltadyn.dynamics.passive import joint_columns, passive_units, pose_with_rods
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction
from deltadyn.small import Vector
from deltadyn.tracing import on_jax


class Columns(NamedTuple):
    """Part of a regressor: Y (N, dof, n) with a name, a unit and a value for every column."""

    Y: FloatArray
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray


class Sliding(NamedTuple):
    """What the friction of a drive depends on; components of one axis, or arrays of all."""

    qd: Component  # rad/s
    direction: Component  # sign(qd), or tanh(qd / smoothing)
    shape: Component = None  # exp(-(qd / vs)^2), where there is a Stribeck term
    load: Component = None  # N m through the gear, where the gear loses a share of it
    thin: Component = None  # tanh(qd / vt), where friction thins


class Term(NamedTuple):
    """A friction term: parameter name and unit, its field in `Friction`, and its column."""

    name: str
    unit: str
    field: str
    column: Callable[[Any, Sliding], Component]


def magnitude(xp: Any, x: Component) -> Component:
    """|x|; of a complex step x sign(Re x), so that the step passes."""
    if isinstance(x, np.ndarray) and x.dtype.kind == "c":
        return x * xp.sign(xp.real(x))
    return xp.abs(x)


VISCOUS = Term("Fv", "N m s/rad", "viscous", lambda _, x: x.qd)
COULOMB = Term("Fc", "N m", "coulomb", lambda _, x: x.direction)
FORWARD = Term("Fc+", "N m", "coulomb", lambda xp, x: _half(xp, x.direction, 1.0))
BACKWARD = Term("Fc-", "N m", "coulomb_negative", lambda xp, x: _half(xp, x.direction, -1.0))
STRIBECK = Term("Fs", "N m", "stribeck", lambda _, x: x.direction * x.shape)
THINNING = Term("Ft", "N m", "thinning", lambda _, x: x.thin)
OFFSET = Term("F0", "N m", "offset", lambda _, x: 1.0)
LOAD = Term("mu", "1", "load", lambda xp, x: magnitude(xp, x.load) * x.direction)

#: The terms in the order of the columns. Coulomb friction is one term, or one per direction.
TERMS = (VISCOUS, COULOMB, FORWARD, BACKWARD, STRIBECK, THINNING, OFFSET, LOAD)
#: Those that the kernels compute: Coulomb friction per direction, equal where it is one.
KERNEL_TERMS = (VISCOUS, FORWARD, BACKWARD, STRIBECK, OFFSET, LOAD)
#: What few robots have: it comes in a pass of its own behind a kernel.
BEYOND_TERMS = (THINNING,)
#: All that packed numbers hold.
PACKED_TERMS = (*KERNEL_TERMS, *BEYOND_TERMS)


def _half(xp: Any, x: Component, side: float) -> Component:
    """max(x, 0), or min(x, 0) with side -1, without a branch."""
    return (x + side * magnitude(xp, x)) / 2


def drive_terms(friction: Friction) -> tuple[Term, ...]:
    """The terms that a robot's drives have."""
    absent = {FORWARD, BACKWARD} if friction.coulomb_negative is None else {COULOMB}
    return tuple(
        term for term in TERMS if term not in absent and getattr(friction, term.field) is not None
    )


def direction(rate: Component, smoothing: float | None, xp: Any = None) -> Component:
    """sign(rate), or tanh(rate / smoothing) where a smoothing velocity is given."""
    xp = namespace(rate) if xp is None else xp
    if smoothing is None:
        return xp.sign(xp.real(rate))
    return xp.tanh(rate / smoothing)


def stribeck_shape(xp: Any, qd: Component, velocity: Component) -> Component:
    """exp(-(qd / vs)^2)."""
    ratio = qd / velocity
    return xp.exp(-(ratio * ratio))


def thinning_shape(xp: Any, qd: Component, velocity: Component) -> Component:
    """tanh(qd / vt): rises with the rate at first, and less and less."""
    return xp.tanh(qd / velocity)


def sliding(
    xp: Any, friction: Friction, qd: Component, load: Component = None, *, axis: int = -1
) -> Sliding:
    """How the drives slide at rates qd, whose axis `axis` counts the drives."""
    shape = None
    if friction.stribeck is not None:
        velocity = along(friction.stribeck_velocity, qd, axis)
        shape = stribeck_shape(xp, qd, velocity)
    thin = None
    if friction.thinning is not None:
        thin = thinning_shape(xp, qd, along(friction.thinning_velocity, qd, axis))
    return Sliding(qd, direction(qd, friction.smoothing, xp), shape, load, thin)


def along(values: Any, like: Any, axis: int = -1) -> Any:
    """A number per drive, so that it goes with the axis of an array that counts the drives."""
    numbers = np.asarray(values, dtype=np.real(np.empty(0, like.dtype)).dtype)
    if axis == -1:
        return numbers
    return numbers.reshape(-1, *(1,) * (like.ndim - 1))


def friction_sum(
    xp: Any, terms: Sequence[Term], numbers: Sequence[Component], slide: Sliding
) -> Component:
    """sum of number times column: the torque of these terms in N m."""
    tau = 0.0
    for term, number in zip(terms, numbers, strict=True):
        tau = tau + number * term.column(xp, slide)
    return tau


def drive_friction(
    friction: Friction, qd: FloatArray, chosen: Sequence[Term] = TERMS
) -> FloatArray:
    """Friction of the drives (N, dof) without the share that grows with the load, in N m.

    `chosen` are the terms that count, of those that the robot has.
    """
    xp = namespace(qd)
    terms = [term for term in drive_terms(friction) if term is not LOAD and term in chosen]
    numbers = [along(getattr(friction, term.field), qd) for term in terms]
    tau: FloatArray = friction_sum(xp, terms, numbers, sliding(xp, friction, qd))
    return tau


def load_friction(friction: Friction, qd: FloatArray, load: FloatArray) -> FloatArray:
    """mu |load| sign(qd): the gear loses a share of the torque that goes through it, in N m."""
    if friction.load is None:
        return np.zeros_like(qd)
    slide = Sliding(qd, direction(qd, friction.smoothing), load=load)
    tau: FloatArray = friction_sum(np, [LOAD], [np.asarray(friction.load)], slide)
    return tau


def passive_friction(robot: Robot, state: State) -> FloatArray:
    """What friction in passive joints asks of the drives [gnad2024] eqs. 6-7, in N m.

    With joint rates B qd: sum B^T (Fv B qd + Fc sign(B qd)).
    """
    items = robot.friction.passive
    if not items:
        return np.zeros_like(state.qd)
    values = np.array([value for item in items for value in (item.viscous, item.coulomb)])
    tau: FloatArray = passive_columns(robot, state) @ values
    return tau


def through_gear(robot: Robot, state: State, torque: FloatArray) -> FloatArray:
    """The torque that a gear passes on: all but what turns the rotor on its other side."""
    inertia = np.asarray(robot.drives.output_inertia, dtype=torque.dtype)
    return torque - inertia * state.qdd


def friction_torque(robot: Robot, state: State, frictionless: FloatArray) -> FloatArray:
    """All friction (N, dof) at the drives, for the torque that the robot needs without it."""
    passive = passive_friction(robot, state)
    load = through_gear(robot, state, frictionless + passive)
    return (
        drive_friction(robot.friction, state.qd)
        + passive
        + load_friction(robot.friction, state.qd, load)
    )


def friction_names(robot: Robot) -> tuple[tuple[str, ...], tuple[str, ...], FloatArray]:
    """Names, units and values of the friction columns: every drive term per axis, then joints."""
    friction, axes = robot.friction, range(robot.dof)
    terms = drive_terms(friction)
    names = [f"{term.name}{axis + 1}" for term in terms for axis in axes]
    units = [term.unit for term in terms for _ in axes]
    values = [float(value) for term in terms for value in getattr(friction, term.field)]
    for item in friction.passive:
        names += [f"{item.joint}.Fv", f"{item.joint}.Fc"]
        units += passive_units(item.joint)
        values += [item.viscous, item.coulomb]
    return tuple(names), tuple(units), np.array(values)


def friction_columns(robot: Robot, state: State, frictionless: FloatArray) -> Columns:
    """Columns of every friction term that the robot's model has.

    The gear's loss is not linear in the other parameters: its column holds the load that the
    robot's own values give.
    """
    friction, qd, xp, dof = robot.friction, state.qd, namespace(state.qd), robot.dof
    if on_jax(qd):
        from deltadyn.backends.jax import check_passive

        check_passive(robot)
    load = None
    if friction.load is not None:
        through = frictionless
        if friction.passive:
            through = frictionless + passive_friction(robot, state)
        load = through_gear(robot, state, through)
    slide = sliding(xp, friction, qd, load)
    one = np.eye(dof, dtype=qd.dtype)
    like = xp.ones_like(qd)
    columns = [term.column(xp, slide) * like for term in drive_terms(friction)]
    blocks = [column[:, :, None] * one for column in columns]
    if friction.passive:
        blocks.append(passive_columns(robot, state))
    return Columns(xp.concatenate(blocks, axis=2), *friction_names(robot))


def beyond_columns(robot: Robot, state: State) -> Iterator[tuple[int, FloatArray]]:
    """Diagonals (N, dof) of the drives' columns that no kernel gives, each with its place there.

    Places count the terms of the drives: term t of axis a is the friction column t dof + a.
    """
    terms = drive_terms(robot.friction)
    if THINNING in terms:
        velocity = along(robot.friction.thinning_velocity, state.qd)
        yield terms.index(THINNING), thinning_shape(np, state.qd, velocity)


def passive_columns(robot: Robot, state: State) -> FloatArray:
    """B^T B qd and B^T sign(B qd) (N, dof, 2 m) of the m passive joints with friction."""
    items, smoothing, dof = robot.friction.passive, robot.friction.smoothing, robot.dof

    def core(*motion: Vector) -> list[Component]:
        pose = pose_with_rods(robot, *motion)
        pairs = (
            joint_columns(np, item.joint, pose, lambda rate: direction(rate, smoothing))
            for item in items
        )
        columns = [column for pair in pairs for column in pair]
        return [column[axis] for axis in range(dof) for column in columns]

    arrays = (state.cos_q, state.sin_q, state.p, state.pd, state.qd)
    width = 2 * len(items)
    return map_chunks(core, arrays, dof * width).reshape(-1, dof, width)
