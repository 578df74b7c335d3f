"""Regressors: Y @ parameters == torque, for every model that is linear in its parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray, restore
from deltadyn.dynamics.columns import exact_columns
from deltadyn.dynamics.friction import friction_columns
from deltadyn.dynamics.inverse import check_state
from deltadyn.dynamics.lumped import join
from deltadyn.dynamics.models import model_by_name
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State, StateRow
from deltadyn.robot import Robot
from deltadyn.tracing import floats, on_jax, pytree


@pytree(("Y", "parameters"), ("names", "units"))
@dataclass(frozen=True, eq=False)
class Regressor:
    """Y (N, dof, n) with names, units and the robot's own values: Y @ parameters == torque."""

    Y: FloatArray
    names: tuple[str, ...]
    units: tuple[str, ...]
    parameters: FloatArray

    def stacked(self) -> FloatArray:
        """Y as one matrix (N * dof, n), samples first, axes within a sample."""
        return self.Y.reshape(-1, self.Y.shape[-1])


def regressor(
    robot: Robot,
    motion: State,
    model: str = "exact",
    *,
    tied: bool | None = None,
    com_offset: bool | None = None,
    friction: bool = True,
) -> Regressor:
    """The model's regressor along a motion.

    `tied` gives the three limbs common parameters; by default where the robot's limbs are equal.
    `com_offset` (exact model) adds the sine gravity term of arms whose COM is off their line; by
    default where the robot has one. `friction=False` leaves the columns of friction and ripple out.
    """
    check_state(robot, motion)
    chosen = model_by_name(model)
    jax = not isinstance(motion.source, StateRow) and on_jax(motion.p)
    if jax:
        from deltadyn.backends.jax import check_model

        check_model(model)
    if com_offset is not None and model != "exact":
        raise InputError("com_offset", com_offset, "None for models other than 'exact'")
    if tied is None:
        tied = robot.equal_limbs
    elif tied and not robot.equal_limbs:
        raise InputError("tied", tied, "False: the limbs of this robot are not equal")
    if model == "exact":
        columns = exact_columns(robot, motion, tied, com_offset, friction=friction)
    else:
        columns = chosen.columns(robot, motion, tied)
        if friction:
            frictionless = columns.Y @ columns.values
            columns = join([columns, friction_columns(robot, motion, frictionless)])
    if not robot.plain_drives:
        columns = columns._replace(Y=columns.Y * _scale(robot, columns.Y))
    values = floats(columns.values, "parameters", columns.Y.dtype) if jax else columns.values
    return Regressor(restore(columns.Y, motion.single), columns.names, columns.units, values)


def _scale(robot: Robot, Y: FloatArray) -> FloatArray:
    """Reported over true torque, for the rows of Y (N, dof, n)."""
    return np.asarray(robot.sensors.torque_ratio, dtype=Y.real.dtype)[:, None]


def torque_of(regressor: Regressor, parameters: FloatArray | None = None) -> FloatArray:
    """Y @ parameters (N, dof), with the robot's own values where none are given."""
    values = regressor.parameters if parameters is None else np.asarray(parameters)
    torque: FloatArray = regressor.Y @ values
    return torque
