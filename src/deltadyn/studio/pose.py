"""A pose of the robot at rest: what can be reached, what it takes to hold, how far limits are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import constraint_loads, inverse_dynamics
from deltadyn.errors import DeltadynError
from deltadyn.kinematics import State, forward_kinematics, singularity, strut_angles
from deltadyn.kinematics.workspace import REASONS, RULES, WorkspaceRules, broken_rules
from deltadyn.robot import Robot

#: Rules that no pose of the studio breaks; the others are limits, which are shown and not kept.
HARD = ("loop", "singularity")


class OutOfReachError(DeltadynError):
    """A target that the robot cannot take; `reason` says why."""

    def __init__(self, target: str, reason: str) -> None:
        self.target, self.reason = target, reason
        super().__init__(f"{target} cannot be reached: {reason}; the robot stays where it was")


@dataclass(frozen=True, eq=False)
class Pose:
    """A pose at rest: p and q (dof,), holding torque (dof,) in N m, strut forces (3,) in N.

    `tension` is the largest axial force along each pair of rods, tension positive; `margin` (rad)
    the distance to singular poses; `ball` (rad) the angle of the ball joints; `broken` the limits
    that the pose breaks, in words.
    """

    robot: Robot
    p: FloatArray
    q: FloatArray
    torque: FloatArray
    tension: FloatArray
    margin: float
    ball: FloatArray
    broken: tuple[str, ...]


def pose_at(robot: Robot, p: npt.ArrayLike) -> Pose:
    """The pose with the platform at p (dof,)."""
    point = np.asarray(p, dtype=float)
    target = _shown(point, ("x", "y", "z"), "m")
    if not np.isfinite(point).all():
        raise OutOfReachError(target, "it is not a finite position")
    kept = ~broken_rules(robot, point[None], WorkspaceRules())[0]
    for name in HARD:
        if not kept[RULES.index(name)]:
            beyond = name == "singularity"
            raise OutOfReachError(
                target, "it lies beyond a singular pose" if beyond else REASONS[name]
            )
    state = State.from_platform(robot, point)
    soft = [name for name, good in zip(RULES, kept, strict=True) if not good]
    return Pose(
        robot,
        point,
        np.asarray(state.q).reshape(robot.dof),
        np.asarray(inverse_dynamics(robot, state)).reshape(robot.dof),
        np.asarray(constraint_loads(robot, state).axial_max).reshape(3),
        float(np.asarray(singularity(robot, point).margin)),
        np.abs(np.asarray(strut_angles(robot, point).ball_joint)).reshape(3),
        tuple(REASONS[name] for name in soft),
    )


def pose_of_angles(robot: Robot, q: npt.ArrayLike) -> Pose:
    """The pose with these joint angles (dof,) in rad."""
    angles = np.asarray(q, dtype=float)
    p = forward_kinematics(robot, angles, unreachable="nan")
    if not np.isfinite(p).all():
        target = _shown(np.degrees(angles[:3]), ("theta 1", "theta 2", "theta 3"), "deg")
        raise OutOfReachError(target, "the struts cannot meet at a platform")
    return pose_at(robot, p)


def axis_rows(pose: Pose) -> list[tuple[str, ...]]:
    """Rows axis, angle (deg), to limit (deg), rate, holding torque (N m), share of the peak."""
    limits = pose.robot.limits
    rows: list[tuple[str, ...]] = []
    for k, name in enumerate(pose.robot.axis_names()):
        room = _room(pose.q[k], limits.angle_min, limits.angle_max, k)
        share = "-"
        if limits.torque_peak is not None:
            share = f"{100 * abs(pose.torque[k]) / limits.torque_peak[k]:.1f} %"
        rows.append(
            (
                name,
                f"{math.degrees(pose.q[k]):.2f}",
                "-" if room is None else f"{math.degrees(room):.1f}",
                "0",
                f"{pose.torque[k]:.3f}",
                share,
            )
        )
    return rows


def strut_rows(pose: Pose) -> list[tuple[str, ...]]:
    """Rows strut, axial force of the pair (N), ball joint angle and what is left of it (deg)."""
    limit = pose.robot.limits.ball_joint_angle
    return [
        (
            str(i + 1),
            f"{pose.tension[i]:.1f}",
            f"{math.degrees(pose.ball[i]):.1f}",
            "-" if limit is None else f"{math.degrees(limit - pose.ball[i]):.1f}",
        )
        for i in range(3)
    ]


def pose_rows(pose: Pose) -> list[tuple[str, str]]:
    """Position, distance to singular poses, and distance to the wall of the working cylinder."""
    x, y, z = (1e3 * value for value in pose.p[:3])
    rows = [
        ("platform", f"{x:.1f}, {y:.1f}, {z:.1f} mm"),
        ("singularity margin", f"{math.degrees(pose.margin):.1f} deg"),
    ]
    cylinder = pose.robot.limits.workspace
    if cylinder is not None:
        room = min(
            cylinder.radius - math.hypot(pose.p[0], pose.p[1]),
            pose.p[2] - cylinder.z_min,
            cylinder.z_max - pose.p[2],
        )
        where = "inside" if room >= 0 else "outside"
        rows.append(("working cylinder", f"{1e3 * abs(room):.0f} mm {where}"))
    rows.append(("limits", "; ".join(pose.broken) if pose.broken else "all kept"))
    return rows


def _room(value: float, low: object, high: object, axis: int) -> float | None:
    """The distance (rad) to the nearer angle limit, negative beyond it."""
    gaps = []
    if low is not None:
        gaps.append(value - low[axis])  # type: ignore[index]
    if high is not None:
        gaps.append(high[axis] - value)  # type: ignore[index]
    return min(gaps) if gaps else None


def _shown(values: FloatArray, names: tuple[str, ...], unit: str) -> str:
    pairs = zip(names, values, strict=False)
    return ", ".join(f"{name} = {value:.3g} {unit}" for name, value in pairs)
