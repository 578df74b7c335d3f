"""Position deviation over the workspace: what a geometry is off by, and how well it is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import BoolArray, FloatArray, contract
from deltadyn.calibration.estimate import Solution
from deltadyn.calibration.measurements import Frame, Positions, kabsch, skew
from deltadyn.errors import InputError
from deltadyn.kinematics import inverse_kinematics
from deltadyn.kinematics.workspace import in_workspace, working_cylinder
from deltadyn.robot import Robot


@dataclass(frozen=True, eq=False)
class ErrorField:
    """Deviations (m) at points (N, 3) of the workspace.

    `before` is how far the nominal geometry is off the calibrated one, `aligned` the same after the
    rigid motion that a frame takes up. `after` is the standard deviation that is left, of the
    distance: the root of the covariance's trace.
    """

    points: FloatArray
    before: FloatArray
    aligned: FloatArray
    after: FloatArray

    def as_dict(self) -> dict[str, float]:
        """Means (rms) and worst points, in mm."""
        found = {}
        for name in ("before", "aligned", "after"):
            values = getattr(self, name) * 1e3
            found[f"{name}_rms_mm"] = float(np.sqrt((values**2).mean()))
            found[f"{name}_worst_mm"] = float(values.max())
        return found


def workspace_points(robot: Robot, count: int) -> FloatArray:
    """Points (count, 3) spread evenly over the reachable part of the working cylinder.

    Rows of a Weyl sequence, so that they are always the same.
    """
    box = robot.limits.workspace or working_cylinder(robot)
    steps = np.array([0.8191725133961645, 0.6710436067037893, 0.5497004779019703])
    kept = np.zeros((0, 3))
    for start in range(0, 20 * count, count):
        u = np.mod(np.arange(start + 1, start + count + 1)[:, None] * steps, 1.0)
        radius, angle = box.radius * np.sqrt(u[:, 0]), 2 * np.pi * u[:, 1]
        z = box.z_min + (box.z_max - box.z_min) * u[:, 2]
        points = np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=-1)
        kept = np.concatenate([kept, points[reached(robot, points)]])[:count]
        if len(kept) == count:
            return kept
    raise InputError(
        "limits.workspace", (box.radius, box.z_min, box.z_max), "a cylinder that the robot reaches"
    )


def with_psi(robot: Robot, points: FloatArray) -> FloatArray:
    """Points (N, dof) of points (N, 3).

    psi is 0 under a spindle. Under two halves it differs from point to point, by half a radian of
    the bars: it moves the halves apart, and their errors with them.
    """
    if robot.dof == 3:
        return points
    psi = np.zeros(len(points))
    if robot.legs == 4:
        ratio = getattr(robot.platform, "ratio", 1.0)
        size = robot.geometry.size
        psi = 0.5 * ratio * np.sin(points @ np.array([17.0, 23.0, 31.0]) / size)
    return np.column_stack([points, psi])


def reached(robot: Robot, points: FloatArray) -> BoolArray:
    """Mask (N,) of points (N, 3) within reach and within the robot's limits."""
    return np.asarray(in_workspace(robot, with_psi(robot, points)))


def error_field(solution: Solution, count: int = 400) -> ErrorField:
    """The field of a fit over the workspace."""
    geometric = solution.geometric
    robot = geometric.robot
    nominal = workspace_points(robot, count)
    q = inverse_kinematics(robot, with_psi(robot, nominal))
    p, slopes = geometric.slopes(solution.x, q)
    frame = kabsch(nominal, p)
    aligned = np.linalg.norm(p - frame.seen(nominal), axis=1)
    by_y = contract("nij,jk->nik", slopes, solution.subset)
    if not solution.held:
        # in the instrument's axes: what the frame does not know counts too
        by_y = _with_frame(solution, p, by_y)
    covariance = solution.covariance[: by_y.shape[2], : by_y.shape[2]]
    variance = np.einsum("nij,jk,nik->n", by_y, covariance, by_y)
    return ErrorField(
        nominal, np.linalg.norm(p - nominal, axis=1), aligned, np.sqrt(np.maximum(variance, 0.0))
    )


def _with_frame(solution: Solution, p: FloatArray, by_y: FloatArray) -> FloatArray:
    """Slopes of the points as the first frame to be fitted sees them, turned back to the base."""
    first = solution.measured[0]
    own = solution.own[0]
    if not (isinstance(first, Positions) and isinstance(own, Frame) and first.gauge):
        return by_y
    seen = p + first.tool - own.middle
    by_frame = np.concatenate(
        [
            -skew(seen) @ own.turn.T[None],
            np.broadcast_to(own.turn.T, (len(p), 3, 3)),
        ],
        axis=2,
    )
    return np.concatenate([by_y, by_frame], axis=2)
