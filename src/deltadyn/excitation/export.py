"""The motion as a table for a controller, in its own signs, offsets and units."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from os import PathLike
from typing import Literal

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import UnknownNameError
from deltadyn.files import replacing
from deltadyn.motion.arguments import check_flag
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot

Coordinates = Literal["joints", "platform"]

_ANGLES = {"rad": 1.0, "deg": 180 / math.pi}
_LENGTHS = {"m": 1.0, "mm": 1e3}
_SUFFIX = ("", "_s", "_s2")
_DIGITS = 12  # significant digits: a step of 1e-12 of the range is below any encoder


def write_csv(
    path: str | PathLike[str],
    robot: Robot,
    motion: Motion,
    *,
    coordinates: Coordinates = "joints",
    angle_unit: str = "rad",
    length_unit: str = "m",
    derivatives: bool = False,
) -> None:
    """Write time and positions, and with `derivatives` rates and accelerations, row by row.

    Joint angles are the controller's own, sign * q + offset; psi is the same axis in both
    coordinates. Every column's name ends in its unit: t_s, q1_deg, qd1_deg_s, x_mm, psi_rad.
    """
    names, columns = controller_columns(
        robot, motion, coordinates, angle_unit, length_unit, derivatives
    )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in columns:
        writer.writerow([f"{value:.{_DIGITS}g}" for value in row])
    with replacing(path) as file:
        file.write(text.getvalue().encode("utf-8"))


def controller_columns(
    robot: Robot,
    motion: Motion,
    coordinates: Coordinates,
    angle_unit: str,
    length_unit: str,
    derivatives: bool,
) -> tuple[tuple[str, ...], FloatArray]:
    """Names of the columns and their values (N, k)."""
    _check_choice("angle_unit", angle_unit, _ANGLES)
    _check_choice("length_unit", length_unit, _LENGTHS)
    _check_choice("coordinates", coordinates, ("joints", "platform"))
    check_flag("derivatives", derivatives)
    sign, offset = np.asarray(robot.controller.sign), np.asarray(robot.controller.offset)
    if coordinates == "joints":
        stem, unit = ("q1", "q2", "q3", "psi"), angle_unit
        orders = [motion.q, motion.qd, motion.qdd]
        factor = np.full(robot.dof, _ANGLES[angle_unit])
    else:
        stem, unit = ("x", "y", "z", "psi"), length_unit
        orders = [motion.p, motion.pd, motion.pdd]
        sign, offset = sign.copy(), offset.copy()
        sign[:3], offset[:3] = 1.0, 0.0
        factor = np.array([_LENGTHS[length_unit]] * 3 + [_ANGLES[angle_unit]])[: robot.dof]
    names, columns = ["t_s"], [motion.t[:, None]]
    for order, values in enumerate(orders if derivatives else orders[:1]):
        shifted = values * sign + (offset if order == 0 else 0.0)
        columns.append(shifted * factor)
        for axis in range(robot.dof):
            own = angle_unit if stem[axis] == "psi" else unit
            names.append(f"{_derivative(stem[axis], order)}_{own}{_SUFFIX[order]}")
    return tuple(names), np.concatenate(columns, axis=1)


def _derivative(stem: str, order: int) -> str:
    """q1 -> qd1, qdd1; psi -> psid, psidd."""
    letters = stem.rstrip("123")
    return letters + "d" * order + stem[len(letters) :]


def _check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise UnknownNameError(name, value, choices)
