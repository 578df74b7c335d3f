"""Recordings for tests of identification, made from the models at hand."""

from dataclasses import replace

import numpy as np

import deltadyn as dd
from deltadyn.kinematics.workspace import working_cylinder
from deltadyn.recording import Recording
from deltadyn.robot import Robot

RATE = 500.0


def swing(robot: Robot, seconds: float = 8.0, seed: int = 0, turn: bool = True) -> dd.Motion:
    """A quick motion of a few sines on every coordinate, seeded, inside the working cylinder."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds * RATE)) / RATE
    cylinder = working_cylinder(robot)
    radius, low, high = cylinder.radius, cylinder.z_min, cylinder.z_max
    size = np.array([radius, radius, (high - low) / 2]) * np.array([0.6, 0.6, 0.8]) / 2
    centre = np.array([0.0, 0.0, (low + high) / 2])
    if robot.dof == 4:
        size, centre = np.append(size, 1.5), np.append(centre, 0.0)
        if not turn:
            size[3] = 0.0
    p, pd, pdd = (np.zeros((len(t), robot.dof)) for _ in range(3))
    for share in (0.7, 0.3):
        w = 2 * np.pi * rng.uniform(0.8, 2.4, robot.dof)
        phase = rng.uniform(0, 2 * np.pi, robot.dof)
        a = 2 * share * size
        p += a * np.sin(w * t[:, None] + phase)
        pd += a * w * np.cos(w * t[:, None] + phase)
        pdd -= a * w**2 * np.sin(w * t[:, None] + phase)
    return dd.Motion.from_platform(robot, t, centre + p / 2, pd / 2, pdd / 2)


def recording_of(
    robot: Robot, noise: float = 0.0, seed: int = 0, name: str = "a", turn: bool = True
) -> Recording:
    """What a perfect log of the robot's exact model holds, with white torque noise in N m."""
    motion = swing(robot, seed=seed, turn=turn)
    tau = dd.inverse_dynamics(robot, motion)
    if noise:
        tau = tau + noise * np.random.default_rng(100 + seed).standard_normal(tau.shape)
    return Recording(motion.t, motion.q, tau, qd=motion.qd, qdd=motion.qdd, name=name)


def unequal(robot: Robot, share: float = 0.1) -> Robot:
    """The same robot with arms and struts that differ by up to this share."""
    factors = (1.0 + share, 1.0 - share / 2, 1.0)
    arms = tuple(
        replace(arm, mass=arm.mass * f, inertia=arm.inertia * f)
        for arm, f in zip(robot.rotary_arms, factors, strict=True)
    )
    struts = tuple(
        replace(strut, mass=strut.mass * f, inertia=strut.inertia * f)
        for strut, f in zip(robot.struts, factors, strict=True)
    )
    return robot.replace(arms=arms, struts=struts)
