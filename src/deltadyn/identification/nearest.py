"""Bodies that give base parameters: the nearest consistent ones to the robot's own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.base_exact import exact_base_map
from deltadyn.errors import InputError
from deltadyn.identification.bodies import Bodies
from deltadyn.identification.convex import solve_convex
from deltadyn.identification.hull import Hull
from deltadyn.robot import Robot

MET = 1e-8  # of a base parameter's size: base parameters that are met up to this are met


class Nearest(NamedTuple):
    """Standard values by name, their distance from the robot's own (root mean square in scaled
    variables), whether they give the base parameters, and a sentence."""

    standard: dict[str, float]
    distance: float
    exact: bool
    sentence: str


def nearest_consistent(
    robot: Robot,
    base_names: tuple[str, ...],
    base_values: npt.ArrayLike,
    tied: bool | None = None,
    *,
    hull: Hull | bool = True,
    tolerance: float = 1e-9,
) -> Nearest:
    """Consistent thin bodies with K @ standard == base parameters, nearest to the robot's own.

    Where no consistent bodies give these base parameters, those that come nearest to them, and the
    sentence names what is in the way.
    """
    tied = robot.equal_limbs if tied is None else tied
    bodies = Bodies.of(robot, None, "exact", tied=tied, hull=hull)
    x = np.asarray(base_values, dtype=np.float64)
    names = tuple(base_names)
    if x.shape != (len(names),) or not np.all(np.isfinite(x)):
        raise InputError("base_values", base_values, f"{len(names)} finite numbers")
    K = exact_base_map(robot, names, bodies.names, tied)
    lost = [name for name, row in zip(names, K, strict=True) if not row.any()]
    if lost:
        raise InputError("base_names", lost[0], "base parameters of the exact model and friction")
    size = np.maximum(np.abs(K @ bodies.prior), np.abs(x))
    size = np.maximum(size, np.abs(K) @ np.abs(bodies.T @ bodies.scale) * 0.1)
    factor = np.zeros((len(x) + 1, len(x) + 1))
    factor[:-1, :-1], factor[:-1, -1] = np.diag(1 / size), x / size
    found = solve_convex(factor, K, bodies, tolerance=tolerance)
    z = bodies.variables_of(found.vector)
    z = _polished(K, bodies, z, x)
    standard = bodies.standard(z)
    miss = (K @ np.array(list(standard.values())) - x) / size
    worst = int(np.argmax(np.abs(miss)))
    offset = (z - bodies.prior_variables) / bodies.scale
    distance = float(np.sqrt(np.mean(offset**2)))
    if not found.converged:
        return Nearest(standard, distance, False, found.status)
    if abs(miss[worst]) <= MET:
        return Nearest(standard, distance, True, "Consistent bodies give these base parameters.")
    why = "; ".join(item.text for item in found.active[:3])
    return Nearest(
        standard,
        distance,
        False,
        f"No consistent bodies give these base parameters: the nearest miss {names[worst]} by "
        f"{miss[worst] * size[worst]:.3g} ({abs(miss[worst]):.1%} of its size). "
        f"In the way: {why}.",
    )


def _polished(K: FloatArray, bodies: Bodies, z: FloatArray, x: FloatArray) -> FloatArray:
    """z with K v = x to rounding, where the cones have room for it."""
    A = K @ bodies.T * bodies.scale
    step = np.linalg.lstsq(A, x - K @ bodies.T @ z, rcond=1e-12)[0] * bodies.scale
    better = z + step
    return better if bodies.margin(bodies.T @ better) >= 0 else z
