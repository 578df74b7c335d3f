"""[Y tau] of every axis for long logs, without the columns that are zero in any motion.

Rows of an axis come as (columns, N), so that a filter runs along contiguous samples. The compiled
kernels give them; where these are not in use, `fast_columns` does for the robots that it knows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.compiled import (
    compiled_drive_columns,
    compiled_rows,
    drive_columns_compiled,
)
from deltadyn.identification.fast_columns import has_fast_rows, three_axis_rows
from deltadyn.kernels.generated_table import ROWS
from deltadyn.kinematics.state import State
from deltadyn.robot import Robot

IntArray = npt.NDArray[np.int64]


class AxisRows(NamedTuple):
    """Per axis the rows (m, N) of [Y tau] and the wide column of each, `places` (m,), tau's last.

    Places grow. The number m of rows may differ from axis to axis.
    """

    rows: list[FloatArray]
    places: list[IntArray]


def axis_rows(robot: Robot, state: State, tau: FloatArray, source: str) -> AxisRows | None:
    """[Y tau] of every axis for the wide columns of a model; None: take the whole regressor."""
    compiled = source == "exact" and drive_columns_compiled(robot, state)
    if not compiled and not has_fast_rows(robot, source):
        return None
    dof, inertial = robot.dof, ROWS[robot.dof]
    most = max(len(own) for own in inertial)
    terms = friction_terms(robot)
    # one array for all axes: those with fewer inertial rows begin later
    rows = np.empty((dof, most + terms + 1, len(state)))
    if compiled:
        compiled_rows(
            robot, state, [rows[axis, most - len(own) : most] for axis, own in enumerate(inertial)]
        )
        compiled_drive_columns(robot, state, [rows[:, most + k].T for k in range(terms)])
    else:
        three_axis_rows(robot, state, rows)
    rows[:, -1] = tau.T
    first = inertial_columns(dof)
    places = [
        np.array([*own, *(first + dof * k + axis for k in range(terms)), first + dof * terms])
        for axis, own in enumerate(inertial)
    ]
    return AxisRows([rows[axis, most - len(own) :] for axis, own in enumerate(inertial)], places)


def friction_terms(robot: Robot) -> int:
    """How many friction terms each drive of the robot's model has."""
    friction = robot.friction
    optional = (friction.coulomb_negative, friction.stribeck, friction.offset, friction.load)
    return 2 + sum(value is not None for value in optional)


def inertial_columns(dof: int) -> int:
    """Wide inertial columns: those that move any axis."""
    return 1 + max(column for own in ROWS[dof] for column in own)
