"""Friction: on the drives, growing with the load through the gear, and in passive joints; ripple.

The drives' friction is a sum of terms, each a parameter times a column. `Term` is a row of the one
table of them, over any components; torque, regressor, the compiled kernels and JAX all read it. A
new term is a row there, with its number in `robot.settings.Friction` and in `backends.layout`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from deltadyn.arrays import Component, FloatArray, map_chunks, namespace
from deltadyn.dynamics.motor import motor_output, motor_torque, ripple_torque
from deltadyn.dynamics.passive import joint_columns, passive_units, pose_with_rods
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot
from deltadyn.robot.settings import Friction, ripple_name
from deltadyn.small import Vector
from deltadyn.tracing import on_jax
from deltadyn.units import on_axis


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
    motor: Component = None  # N m of the motor, where it loses a share of its own torque


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
MOTOR_LOAD = Term("mu_m", "1", "motor_load", lambda xp, x: magnitude(xp, x.motor) * x.direction)

#: The terms in the order of the columns. Coulomb friction is one term, or one per direction.
TERMS = (
    VISCOUS,
    COULOMB,
    FORWARD,
    BACKWARD,
    STRIBECK,
    THINNING,
    OFFSET,
    LOAD,
    MOTOR_LOAD,
)
#: Those that the kernels compute: Coulomb friction per direction, equal where it is one.
KERNEL_TERMS = (VISCOUS, FORWARD, BACKWARD, STRIBECK, OFFSET, LOAD)
#: What few robots have: it comes in a pass of its own behind a kernel.
BEYOND_TERMS = (THINNING, MOTOR_LOAD)
#: Those that add to a torque without knowing it; the motor's loss is solved for (`motor`).
PACKED_TERMS = (*KERNEL_TERMS, THINNING)
#: Those that grow with a load.
LOADED = (LOAD, MOTOR_LOAD)


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
    known = drive_terms(friction)
    terms = [term for term in known if term not in LOADED and term in chosen]
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
    """All friction (N, dof) at the drives, for the torque that the robot needs without it.

    The motor's ripple and loss are in it.
    """
    passive = passive_friction(robot, state)
    load = through_gear(robot, state, frictionless + passive)
    rubbed = (
        drive_friction(robot.friction, state.qd)
        + passive
        + load_friction(robot.friction, state.qd, load)
    )
    if robot.plain_drives:
        return rubbed
    return at_motor(robot, state.q, state.qd, frictionless + rubbed) - frictionless


def ripple_of(robot: Robot, q: FloatArray) -> FloatArray:
    """The ripple (N, dof) that the drives must add at their angles, in N m."""
    kind = q.real.dtype
    waves = [
        (wave.order, np.asarray(wave.cos, dtype=kind), np.asarray(wave.sin, dtype=kind))
        for wave in robot.drives.ripple
    ]
    tau: FloatArray = ripple_torque(namespace(q), q, waves)
    return tau


def at_motor(robot: Robot, q: FloatArray, qd: FloatArray, torque: FloatArray) -> FloatArray:
    """The motors' torque (N, dof) for a torque with friction at the output, in N m."""
    friction, xp = robot.friction, namespace(qd)
    if robot.drives.ripple:
        torque = torque + ripple_of(robot, q)
    if friction.motor_load is None:
        return torque
    share, turn = along(friction.motor_load, qd), direction(qd, friction.smoothing, xp)
    tau: FloatArray = motor_torque(xp, torque, share, turn)
    return tau


def behind_motor(
    robot: Robot, q: FloatArray, qd: FloatArray, tau: FloatArray, *, friction: bool = True
) -> FloatArray:
    """The torque (N, dof) at the output of torques that the drives report, in N m.

    What undoes `at_motor` and `reported`; without friction the motors have no ripple and no loss.
    """
    true: FloatArray = tau / np.asarray(robot.sensors.torque_ratio)
    if not friction:
        return true
    own = robot.friction
    if own.motor_load is not None:
        share, turn = along(own.motor_load, qd), direction(qd, own.smoothing)
        true = motor_output(namespace(qd), true, share, turn)
    return true - ripple_of(robot, q) if robot.drives.ripple else true


def reported(robot: Robot, tau: FloatArray) -> FloatArray:
    """True torques (N, dof) in the scale of the drives."""
    if robot.plain_drives:
        return tau
    scaled: FloatArray = tau * np.asarray(robot.sensors.torque_ratio, dtype=tau.real.dtype)
    return scaled


def friction_names(robot: Robot) -> tuple[tuple[str, ...], tuple[str, ...], FloatArray]:
    """Names, units and values of the friction columns.

    Every drive term per axis, every wave of ripple (cosine, then sine) per axis, then joints.
    """
    friction, axes = robot.friction, range(robot.dof)
    terms = drive_terms(friction)
    names = [f"{term.name}{axis + 1}" for term in terms for axis in axes]
    slides = [robot.linear and axis < robot.legs for axis in axes]
    units = [on_axis(term.unit, slide) for term in terms for slide in slides]
    values = [float(value) for term in terms for value in getattr(friction, term.field)]
    for wave in robot.drives.ripple:
        for part, amplitudes in (("cos", wave.cos), ("sin", wave.sin)):
            names += [ripple_name(wave.order, part, axis) for axis in axes]
            units += robot.axis_units("tau")
            values += amplitudes
    for item in friction.passive:
        names += [f"{item.joint}.Fv", f"{item.joint}.Fc"]
        units += passive_units(item.joint)
        values += [item.viscous, item.coulomb]
    return tuple(names), tuple(units), np.array(values)


def friction_columns(robot: Robot, state: State, frictionless: FloatArray) -> Columns:
    """Columns of every friction term that the robot's model has, and of its ripple.

    The losses of gears and motors are not linear in the other parameters: their columns hold the
    load that the robot's own values give.
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
    terms, labels = drive_terms(friction), friction_names(robot)
    columns = [like * 0.0 if t is MOTOR_LOAD else t.column(xp, slide) * like for t in terms]
    columns += wave_columns(robot, state)
    blocks = [column[:, :, None] * one for column in columns]
    if friction.passive:
        blocks.append(passive_columns(robot, state))
    if friction.motor_load is not None:
        rest = xp.concatenate(blocks, axis=2)
        needed = frictionless + rest @ np.asarray(labels[2], dtype=qd.dtype)
        column = motor_column(robot, state, needed)
        blocks[terms.index(MOTOR_LOAD)] = column[:, :, None] * one
    return Columns(xp.concatenate(blocks, axis=2), *labels)


def motor_column(robot: Robot, state: State, needed: FloatArray) -> FloatArray:
    """|tau| s (N, dof) of the motors, for the torque that they need without their own loss."""
    friction, qd, xp = robot.friction, state.qd, namespace(state.qd)
    turn = direction(qd, friction.smoothing, xp)
    tau = motor_torque(xp, needed, along(friction.motor_load, qd), turn)
    column: FloatArray = MOTOR_LOAD.column(xp, Sliding(qd, turn, motor=tau))
    return column


def wave_columns(robot: Robot, state: State) -> list[FloatArray]:
    """cos(n q), sin(n q) (N, dof) of every wave of the drives' ripple."""
    ripple = robot.drives.ripple
    if not ripple:
        return []
    q, xp = state.q, namespace(state.q)
    return [turn(wave.order * q) for wave in ripple for turn in (xp.cos, xp.sin)]


def axis_terms(robot: Robot) -> int:
    """How many columns of its own each drive has: its friction terms and its waves of ripple."""
    return len(drive_terms(robot.friction)) + 2 * len(robot.drives.ripple)


def beyond_columns(robot: Robot, state: State) -> Iterator[tuple[int, FloatArray]]:
    """Diagonals (N, dof) of the drives' columns that no kernel gives, each with its place there.

    Places count the columns of a drive: column t of axis a is the friction column t dof + a. That
    of the motor's loss asks for all others: it is not among them.
    """
    terms = drive_terms(robot.friction)
    if THINNING in terms:
        velocity = along(robot.friction.thinning_velocity, state.qd)
        yield terms.index(THINNING), thinning_shape(np, state.qd, velocity)
    for k, column in enumerate(wave_columns(robot, state)):
        yield len(terms) + k, column


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
