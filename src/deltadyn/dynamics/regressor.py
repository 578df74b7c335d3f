"""Regressors: Y @ parameters == torque, for every model that is linear in its parameters."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from deltadyn.arrays import FloatArray, restore
from deltadyn.backends import kernels
from deltadyn.dynamics.columns import exact_columns
from deltadyn.dynamics.friction import Columns, friction_columns
from deltadyn.dynamics.inverse import check_state
from deltadyn.dynamics.lumped import join
from deltadyn.dynamics.models import model_by_name
from deltadyn.errors import InputError
from deltadyn.kinematics.state import State
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
    default where the robot has one. `friction=False` leaves the friction columns out.
    """
    check_state(robot, motion)
    chosen = model_by_name(model)
    jax = on_jax(motion.p)
    if jax:
        from deltadyn.backends.jax import check_model

        check_model(model)
    if com_offset is not None and model != "exact":
        raise InputError("com_offset", com_offset, "None for models other than 'exact'")
    if tied is None:
        tied = robot.equal_limbs
    elif tied and not robot.equal_limbs:
        raise InputError("tied", tied, "False: the limbs of this robot are not equal")
    whole = _compiled(robot, motion, tied, com_offset) if model == "exact" and friction else None
    if whole is not None:
        columns = whole
    elif model == "exact":
        columns = exact_columns(robot, motion, tied, com_offset)
    else:
        columns = chosen.columns(robot, motion, tied)
    if friction and whole is None:
        frictionless = columns.Y @ columns.values.astype(columns.Y.dtype)
        columns = join([columns, friction_columns(robot, motion, frictionless)])
    values = floats(columns.values, "parameters", columns.Y.dtype) if jax else columns.values
    return Regressor(restore(columns.Y, motion.single), columns.names, columns.units, values)


def _compiled(robot: Robot, motion: State, tied: bool, com_offset: bool | None) -> Columns | None:
    """Inertial and friction columns from the kernels; None where they cannot answer."""
    if not kernels.drive_columns_compiled(robot, motion):
        return None
    dof = robot.dof
    none = State(*(getattr(motion, field.name)[:0] for field in fields(State)[:-1]))
    drives = friction_columns(robot, none, np.empty((0, dof)))  # names, units and values
    inertial = exact_columns(robot, motion, tied, com_offset, more=len(drives.names))
    Y, own = inertial.Y, len(inertial.names)
    # every term is a diagonal of its block
    blocks = [Y[:, :, start : start + dof] for start in range(own, Y.shape[2], dof)]
    kernels.compiled_drive_columns(robot, motion, [np.einsum("nii->ni", block) for block in blocks])
    return Columns(
        Y,
        inertial.names + drives.names,
        inertial.units + drives.units,
        np.concatenate([inertial.values, drives.values]),
    )


def torque_of(regressor: Regressor, parameters: FloatArray | None = None) -> FloatArray:
    """Y @ parameters (N, dof), with the robot's own values where none are given."""
    values = regressor.parameters if parameters is None else np.asarray(parameters)
    torque: FloatArray = regressor.Y @ values
    return torque
