"""The exact model's numbers of a robot as the compiled kernels read them."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.parameters import ExactParameters, exact_parameters
from deltadyn.kernels.layout import COUNT, KINEMATIC, PLACES
from deltadyn.kinematics.packed import packed_limbs
from deltadyn.robot import Robot

FRICTION = ("viscous", "coulomb", "stribeck", "stribeck_velocity", "offset", "load")


@lru_cache(maxsize=64)
def packed_parameters(
    robot: Robot, elbows: tuple[int, int, int] = (1, 1, 1), side: int = -1
) -> FloatArray:
    """Geometry, base parameters and the drives' friction, in the order of `kernels.layout`.

    `elbows` is +1 for an elbow outward, `side` is -1 for a platform below the elbows. Friction in
    passive joints has no place in it.
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
    par.flags.writeable = False
    return par


def packed_numbers(robot: Robot, numbers: ExactParameters) -> FloatArray:
    """The same with other parameters of the exact model, as its special cases have them."""
    par = packed_parameters(robot).copy()
    _fill_model(par, numbers)
    return par


def _fill_model(par: FloatArray, numbers: ExactParameters) -> None:
    for name in ("gravity", "M_P", "m_x", "A", "G", "G_s"):
        par[PLACES[name]] = getattr(numbers, name)
    if numbers.spindle is not None:
        spindle = numbers.spindle
        par[PLACES["spindle"]] = [getattr(spindle, item.name) for item in fields(spindle)]


def _fill(par: FloatArray, name: str, values: tuple[float, ...]) -> None:
    start = PLACES[name].start
    par[start : start + len(values)] = values
