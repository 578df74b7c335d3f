"""The joint centres of a pose, for drawings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deltadyn.arrays import FloatArray, as_samples
from deltadyn.kinematics.inverse import Elbows, inverse_kinematics
from deltadyn.robot import Robot


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Joint centres per limb (3, 3) in m: shoulders, elbows and the platform's joints.

    `pins` are the tangential directions along which the two rods of a strut lie apart, `pivot` and
    `spindle_end` the ends of the telescope where there is one.
    """

    shoulders: FloatArray
    elbows: FloatArray
    joints: FloatArray
    pins: FloatArray
    platform: FloatArray
    pivot: FloatArray | None
    spindle_end: FloatArray | None


def skeleton(robot: Robot, p: npt.ArrayLike, *, elbows: Elbows = "out") -> Skeleton:
    """The joint centres with the platform at p (dof,), on the robot's true radii."""
    (point,), _ = as_samples(p, robot.dof, "p")
    theta = inverse_kinematics(robot, point, elbows=elbows)[:3]
    g = robot.geometry
    radial = np.stack([np.cos(g.azimuth), np.sin(g.azimuth), np.zeros(3)], axis=-1)
    pins = np.stack([-radial[:, 1], radial[:, 0], np.zeros(3)], axis=-1)
    shoulders = radial * np.asarray(g.base_radius)[:, None]
    arms = radial * np.cos(theta)[:, None] - np.array([0.0, 0.0, 1.0]) * np.sin(theta)[:, None]
    at_elbow = shoulders + arms * np.asarray(g.arm_length)[:, None]
    joints = point[:3] + radial * np.asarray(g.platform_radius)[:, None]
    pivot = end = None
    if robot.spindle is not None:
        pivot = np.array([0.0, 0.0, robot.spindle.upper_joint_z])
        end = point[:3] + np.array([0.0, 0.0, robot.spindle.lower_joint_z])
    return Skeleton(shoulders, at_elbow, joints, pins, point[:3], pivot, end)
