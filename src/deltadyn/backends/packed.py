"""The exact model's numbers of a robot as the compiled kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.backends.layout import AXES, COUNT, KINDS, KINEMATIC, PLACES
from deltadyn.backends.limbs import packed_limbs
from deltadyn.dynamics.parameters import (
    HALVES_NAMES,
    SPINDLE_NAMES,
    ExactParameters,
    exact_parameters,
)
from deltadyn.errors import InputError
from deltadyn.kinematics.actuation import RotaryArm, actuation
from deltadyn.robot import Robot
from deltadyn.robot.robot import remembered
from deltadyn.robot.settings import ripple_name

LIMB = ("m_x", "A", "G", "G_s")
FRICTION = (
    "viscous",
    "coulomb",
    "stribeck",
    "stribeck_velocity",
    "thinning",
    "thinning_velocity",
    "offset",
    "load",
    "motor_load",
)


@remembered
def packed_parameters(
    robot: Robot, elbows: tuple[int, ...] | None = None, side: int = -1
) -> FloatArray:
    """Geometry, base parameters and the drives' friction, in the order of `backends.layout`.

    `elbows` is +1 for an elbow outward, as all are by default, `side` is -1 for a platform below
    the elbows. Friction in passive joints has no place in it.
    """
    par = np.zeros(COUNT)
    par[:KINEMATIC] = packed_limbs(robot, elbows, side)
    _fill_model(par, exact_parameters(robot))
    par[PLACES["payload_offset"]] = robot.payload.offset[:2]
    friction = robot.friction
    backward = friction.coulomb if friction.coulomb_negative is None else friction.coulomb_negative
    _fill(par, "coulomb_negative", backward)
    _fill(par, "rotor", robot.drives.output_inertia)
    for name in FRICTION:
        values = getattr(friction, name)
        if values is not None:
            _fill(par, name, values)
    par[PLACES["smoothing"]] = friction.smoothing or 0.0
    par[PLACES["torque_ratio"]] = 1.0
    _fill(par, "torque_ratio", robot.sensors.torque_ratio)
    for k, wave in enumerate(robot.drives.ripple):
        par[PLACES["ripple_order"].start + k] = wave.order
        _fill(par, "ripple_cos", wave.cos, k * AXES)
        _fill(par, "ripple_sin", wave.sin, k * AXES)
    par[PLACES["beyond"]] = float(not robot.plain_drives)
    par[PLACES["actuation"]] = KINDS.index(actuation(robot))
    par.flags.writeable = False
    return par


def packed_numbers(robot: Robot, numbers: ExactParameters) -> FloatArray:
    """The same with other parameters of the exact model, as its special cases have them."""
    par = packed_parameters(robot).copy()
    _fill_model(par, numbers)
    return par


def _fill_model(par: FloatArray, numbers: ExactParameters) -> None:
    for name in ("gravity", "M_P"):
        par[PLACES[name]] = getattr(numbers, name)
    for name in LIMB:
        _fill(par, name, getattr(numbers, name))
    if numbers.spindle is not None:
        spindle = numbers.spindle
        par[PLACES["spindle"]] = [getattr(spindle, item.name) for item in fields(spindle)]
    if numbers.halves is not None:
        par[PLACES["halves"]] = [getattr(numbers.halves, name) for name in HALVES_NAMES]


def _fill(par: FloatArray, name: str, values: tuple[float, ...], behind: int = 0) -> None:
    start = PLACES[name].start + behind
    par[start : start + len(values)] = values


# Where the parameters of a regressor sit among a robot's packed numbers.


#: Friction parameters and the entries that hold them, an axis each.
FRICTION_PARAMETERS = {
    "Fv": ("viscous",),
    "Fc": ("coulomb", "coulomb_negative"),
    "Fc+": ("coulomb",),
    "Fc-": ("coulomb_negative",),
    "Fs": ("stribeck",),
    "Ft": ("thinning",),
    "F0": ("offset",),
    "mu": ("load",),
    "mu_m": ("motor_load",),
}
#: Numbers that the torque is nonlinear in, by the robot file's names: velocities of an axis, and
#: lengths by their place among the numbers of a limb with the standard arm.
VELOCITIES = ("stribeck_velocity", "thinning_velocity")
LENGTHS = {"arm_length": "l1", "strut_length": "l2"}


def packed_places(name: str, orders: Sequence[float] = (), legs: int = 3) -> tuple[int, ...]:
    """The places of a parameter of the exact model's regressor, such as "M_P", "A2" or "Fc1".

    A name without its arm, such as "A" or "Fc", stands for all `legs` arms. `orders` are those of
    the robot's ripple, for names such as "ripple64.cos1". Four limbs hold a platform of halves,
    whose h_x, h_y and I_psi are not those of a spindle. Numbers that the torque is nonlinear in
    have the robot file's names, with the arm behind or for all: "stribeck_velocity",
    "thinning_velocity2", and of the standard arm "arm_length1" and "strut_length".
    """
    for axes, kind in ((range(legs), name), (_axis_of(name), name[:-1])):
        if kind in LENGTHS and max(axes, default=legs) < legs:
            width, place = len(RotaryArm._fields), RotaryArm._fields.index(LENGTHS[kind])
            return tuple(PLACES["limb"].start + width * i + place for i in axes)
        entries = (kind,) if kind in VELOCITIES else FRICTION_PARAMETERS.get(kind, ())
        if entries and len(axes):
            return tuple(PLACES[entry].start + i for i in axes for entry in entries)
    if name == "M_P":
        return (PLACES["M_P"].start,)
    if legs == 4 and name in HALVES_NAMES:
        return (PLACES["halves"].start + HALVES_NAMES.index(name),)
    if name in SPINDLE_NAMES:
        return (PLACES["spindle"].start + 1 + SPINDLE_NAMES.index(name),)
    if name in LIMB:
        return tuple(range(PLACES[name].start, PLACES[name].start + legs))
    kind, axis = name[:-1], name[-1:]
    if kind in LIMB and axis in ("1", "2", "3", "4")[:legs]:
        return (PLACES[kind].start + int(axis) - 1,)
    for k, order in enumerate(orders):
        for part in ("cos", "sin"):
            for i in range(AXES):
                if name == ripple_name(order, part, i):
                    return (PLACES[f"ripple_{part}"].start + k * AXES + i,)
    allowed = "a parameter of the exact model without friction in passive joints"
    raise InputError("parameter", name, allowed)


def _axis_of(name: str) -> range:
    """The axis (one index from 0) that ends a name; none where it ends otherwise."""
    axis = "1234".find(name[-1:]) if name else -1
    return range(axis, axis + 1) if axis >= 0 else range(0)


def packing(names: Sequence[str], orders: Sequence[float] = (), legs: int = 3) -> FloatArray:
    """P (COUNT, n) with P @ values of these parameters at their places, zero elsewhere.

    `orders` are those of the robot's ripple, where the names hold any of it, `legs` its limbs.
    """
    P = np.zeros((COUNT, len(names)))
    for column, name in enumerate(names):
        P[list(packed_places(name, orders, legs)), column] = 1.0
    return P
