"""Motions from the tables that are written for controllers: time and positions in a CSV file."""

from __future__ import annotations

import csv
import math
import re
from os import PathLike
from pathlib import Path

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.errors import InputError
from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot

_UNITS = {"rad": 1.0, "deg": math.pi / 180, "m": 1.0, "mm": 1e-3}
_COLUMN = re.compile(r"(q|x|y|z|psi)(d{0,2})([1-4]?)_(rad|deg|m|mm)(|_s|_s2)")
_ORDER_SUFFIX = ("", "_s", "_s2")


def read_motion(path: str | PathLike[str], robot: Robot) -> Motion:
    """The motion in a CSV file with columns t_s and q1_rad, q2_rad, q3_rad [, psi_rad], or x_m, ...

    This is what `Excitation.save` writes: joint angles are the controller's own, in rad or deg;
    platform positions in m or mm. Rates and accelerations (qd1_rad_s, qdd1_rad_s2) are taken where
    the file has them, else they come from a quintic spline.
    """
    names, table = _table(Path(path))
    if "t_s" not in names:
        raise InputError("columns", names, "t_s among them, the time in s", where=str(path))
    t = table[:, names.index("t_s")]
    stems = (
        ("q1", "q2", "q3", "psi") if "q" in {name[0] for name in names} else ("x", "y", "z", "psi")
    )
    joints = stems[0] == "q1"
    orders = [_order(names, table, stems[: robot.dof], order, path) for order in range(3)]
    position = orders[0]
    if position is None:
        wanted = ", ".join(stems[: robot.dof])
        raise InputError("columns", names, f"positions {wanted} with their units", where=str(path))
    own = slice(0, robot.dof) if joints else slice(3, robot.dof)  # psi is a joint in both
    sign, offset = np.asarray(robot.controller.sign), np.asarray(robot.controller.offset)
    for order, values in enumerate(orders):
        if values is not None:
            shift = offset[own] if order == 0 else 0.0
            values[:, own] = (values[:, own] - shift) / sign[own]
    build = Motion.from_joints if joints else Motion.from_platform
    return build(robot, t, position, orders[1], orders[2] if orders[1] is not None else None)


def _order(
    names: list[str],
    table: FloatArray,
    stems: tuple[str, ...],
    order: int,
    path: str | PathLike[str],
) -> FloatArray | None:
    """The columns of one order of all coordinates (N, dof) in SI units; None without any."""
    found: dict[str, FloatArray] = {}
    for k, name in enumerate(names):
        match = _COLUMN.fullmatch(name)
        if match is None:
            continue
        letters, dots, axis, unit, suffix = match.groups()
        if len(dots) == order and suffix == _ORDER_SUFFIX[order]:
            found[f"{letters}{axis}"] = table[:, k] * _UNITS[unit]
    if not found:
        return None
    missing = [stem for stem in stems if stem not in found]
    if missing:
        raise InputError("columns", names, f"{', '.join(missing)} among them", where=str(path))
    return np.stack([found[stem] for stem in stems], axis=-1)


def _table(path: Path) -> tuple[list[str], FloatArray]:
    """Header and numbers of a CSV file."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        names = [name.strip() for name in next(rows, [])]
        if not names:
            raise InputError("file", str(path), "a CSV file with a header")
        values: list[list[float]] = []
        for row in rows:
            try:
                numbers = [float(cell) for cell in row]
            except ValueError:
                raise InputError(
                    "row", row, "numbers", where=f"{path}, line {rows.line_num}"
                ) from None
            if len(numbers) != len(names):
                place = f"{path}, line {rows.line_num}"
                raise InputError(
                    "cells", len(numbers), f"{len(names)}, as the header has", where=place
                )
            values.append(numbers)
    if not values:
        raise InputError("rows", 0, "at least one row of numbers", where=str(path))
    return names, np.array(values)
