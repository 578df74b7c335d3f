"""Robots and points for the tests of the kinematics."""

from __future__ import annotations

import math

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Geometry, Platform, Rod, Spindle, Strut
from deltadyn.robot.settings import Limits

ARMS = (Arm(mass=1.4, com=0.122, inertia=0.035),) * 3
STRUTS = (Strut.uniform(mass=0.195, length=0.7),) * 3  # an inertia that every length here allows
PLATFORM = Platform(mass=0.94)

#: Radii and lengths of the D3-1200 [falezza2022].
D3 = Robot("d3", Geometry(0.25, 0.1, 0.375, 0.9), ARMS, STRUTS, PLATFORM)

#: Every limb with its own size and an azimuth off the regular spacing.
UNEQUAL = Robot(
    "unequal",
    Geometry(
        base_radius=(0.25, 0.22, 0.28),
        platform_radius=(0.1, 0.12, 0.09),
        arm_length=(0.375, 0.4, 0.35),
        strut_length=(0.9, 0.85, 0.95),
        azimuth=(0.1, 2.0, 4.3),
    ),
    ARMS,
    STRUTS,
    PLATFORM,
)

#: Four degrees of freedom; the rods' lengths allow joint distances from 0.6 to 1.123 m.
SPINDLE = Robot(
    "spindle",
    Geometry(0.25, 0.1, 0.375, 0.9),
    ARMS,
    STRUTS,
    PLATFORM,
    spindle=Spindle(
        upper=Rod(mass=0.134, com=0.3, inertia=0.004, axial_inertia=1e-4, length=0.6),
        lower=Rod(mass=0.416, com=0.26, inertia=0.009, axial_inertia=2e-4, length=0.523),
        upper_joint_z=0.05,
        lower_joint_z=0.02,
    ),
)

#: The D3 with the limits a machine has.
LIMITED = D3.replace(
    limits=Limits(
        angle_min=math.radians(-35), angle_max=math.radians(80), ball_joint_angle=math.radians(35)
    )
)

#: Arms numbered the other way round, which turns the normal of the elbows' triangle over.
CLOCKWISE = Robot(
    "clockwise",
    Geometry(0.25, 0.1, 0.375, 0.9, azimuth=(0.2, 0.2 - 2 * math.pi / 3, 0.2 + 2 * math.pi / 3)),
    ARMS,
    STRUTS,
    PLATFORM,
)

ROBOTS = (D3, UNEQUAL, SPINDLE, CLOCKWISE)


def orientation(robot: Robot) -> int:
    """1 where the arms are numbered anticlockwise seen from above, else -1."""
    return -1 if robot is CLOCKWISE else 1


def points_inside(robot: Robot, count: int, seed: int) -> FloatArray:
    """Positions (count, dof) well inside the workspace of every robot here."""
    rng = np.random.default_rng(seed)
    p = rng.uniform([-0.25, -0.25, -0.95], [0.25, 0.25, -0.7], (count, 3))
    if robot.dof == 3:
        return p
    return np.concatenate([p, rng.uniform(-3.0, 3.0, (count, 1))], axis=1)


def rates(robot: Robot, count: int, seed: int, size: float = 3.0) -> FloatArray:
    """Rates (count, dof) of a quick move."""
    return np.random.default_rng(seed).uniform(-size, size, (count, robot.dof))


def path(p: FloatArray, pd: FloatArray, pdd: FloatArray, t: float) -> FloatArray:
    """p + pd t + pdd t^2 / 2: a motion with these rates at t = 0."""
    return p + pd * t + pdd * (t * t / 2)
