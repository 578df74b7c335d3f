"""Vectors, points and robots for the tests of the loads, without the library's dynamics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics import ConstraintLoads, RodLoads
from deltadyn.kinematics import State, passive_rates
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Geometry, Platform, Strut

ROUNDING = 1e-12  # relative to the largest force; some hundred operations leave 1e-15
Z = np.array([0.0, 0.0, 1.0])


def spaced(robot: Robot, spacing: float) -> Robot:
    return robot.replace(geometry=replace(robot.geometry, rod_spacing=spacing))


def largest_difference(ours: FloatArray, expected: FloatArray) -> float:
    return float(np.max(np.abs(ours - expected)) / np.max(np.abs(expected)))


def hanging_robot(**parts: Any) -> Robot:
    """Equal limbs at 0, 120 and 240 deg, rods 0.1 m apart."""
    arm, strut = Arm(1.4, 0.122, 0.035), Strut.uniform(0.2, 0.9)
    geometry = Geometry(0.25, 0.1, 0.375, 0.9, rod_spacing=0.1)
    limbs = (arm, arm, arm), (strut, strut, strut)
    return Robot("hand", geometry, *limbs, Platform(0.94), **parts)


def rods_of(loads: ConstraintLoads) -> RodLoads:
    assert loads.rods is not None
    return loads.rods


def limb_vectors(robot: Robot, state: State) -> dict[str, FloatArray]:
    """Shoulder-to-elbow, strut, elbow velocity and acceleration, each (N, 3, 3)."""
    g, q = robot.rotary, state.q[:, :3, None]
    e_r = np.stack([np.cos(g.azimuth), np.sin(g.azimuth), np.zeros(3)], axis=-1)
    l1, qd, qdd = np.array(g.arm_length)[:, None], state.qd[:, :3, None], state.qdd[:, :3, None]
    along, below = np.cos(q) * e_r - np.sin(q) * Z, -np.sin(q) * e_r - np.cos(q) * Z
    elbow = np.array(g.shrunk_radius)[:, None] * e_r + l1 * along
    return {
        "e_r": e_r,
        "t": np.cross(Z, e_r),
        "along": along,
        "above": -below,
        "s": state.p[:, None, :3] - elbow,
        "Ed": l1 * below * qd,
        "Edd": l1 * (below * qdd - along * qd**2),
    }


def rod_as_points(robot: Robot, i: int) -> tuple[FloatArray, FloatArray]:
    """A pair as three points at 0, 1/2, 1 of its length with its mass, COM and inertia."""
    strut, l2 = robot.struts[i], robot.geometry.strut_length[i]
    f = strut.com_fraction
    second = strut.mass * f**2 + strut.inertia / l2**2
    place = np.array([0.0, 0.5, 1.0])
    moments = strut.rods * np.array([strut.mass, strut.mass * f, second])
    return np.linalg.solve(np.vander(place, increasing=True).T, moments), place


def joint_friction(robot: Robot, state: State, joint: str) -> FloatArray:
    """Fv rate + Fc sign(rate) of a passive joint."""
    (item,) = (item for item in robot.friction.passive if item.joint == joint)
    rates = passive_rates(robot, state, joint)
    return np.asarray(item.viscous * rates + item.coulomb * np.sign(rates))
