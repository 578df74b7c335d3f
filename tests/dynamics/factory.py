"""Robots and states that the tests of the dynamics share, and how they compare arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.kinematics import State
from deltadyn.robot import Robot
from deltadyn.robot.bodies import (
    Arm,
    Effector,
    Geometry,
    Payload,
    Platform,
    Rod,
    Spindle,
    Strut,
    TenParameters,
)
from deltadyn.robot.checks import Triple
from deltadyn.robot.settings import (
    PASSIVE_JOINTS,
    Drives,
    Friction,
    GrayBox,
    PassiveFriction,
    Ripple,
    Sensors,
)

MODELS = (
    "exact",
    "rigid",
    "half-half",
    "gray-box",
    "virtual-work",
    "euler-lagrange",
    "projected-rod",
)
LIMB_ENDS = ("elbow", "platform")  # passive joints of every Delta robot
KINDS = [(3, True), (3, False), (4, True), (4, False)]  # dof, equal limbs
KIND_NAMES = ["3-dof, equal limbs", "3-dof, per arm", "4-dof, equal limbs", "4-dof, per arm"]


def make_robot(dof: int, equal_limbs: bool, *, seed: int = 0, **parts: Any) -> Robot:
    """A plausible robot in which every number of the dynamics is there and is its own.

    Arms off their line with a mass in the elbow, struts with any mass distribution, rotors, a
    payload beside the axis; with a spindle an effector off its axis. No friction.
    """
    rng = np.random.default_rng([seed, dof, equal_limbs])

    def limb(low: float, high: float) -> list[float]:
        count = 1 if equal_limbs else 3
        values = rng.uniform(low, high) * rng.uniform(0.95, 1.05, count)
        return [float(value) for value in np.broadcast_to(values, 3)]

    l1, l2 = limb(0.32, 0.38), limb(0.78, 0.86)
    turn = np.zeros(3) if equal_limbs else rng.uniform(-0.1, 0.1, 3)
    azimuth = 2 * np.pi / 3 * np.arange(3) + rng.uniform(-np.pi, np.pi) + turn
    own = zip(limb(0.8, 1.6), limb(0.1, 0.2), limb(0.01, 0.02), limb(0.01, 0.03), strict=True)
    arms = [Arm(m, com, inertia, offset, 0.1 * m) for m, com, inertia, offset in own]
    rods = zip(limb(0.1, 0.3), limb(0.42, 0.56), limb(0.05, 0.1), l2, strict=True)
    struts = [Strut(m, f, k * m * length**2) for m, f, k, length in rods]
    values: dict[str, Any] = {
        "name": f"robot {seed}",
        "geometry": Geometry(limb(0.22, 0.28), limb(0.04, 0.06), l1, l2, azimuth),
        "arms": tuple(arms),
        "struts": tuple(struts),
        "platform": Platform(rng.uniform(0.3, 1.0)),
        "payload": Payload(rng.uniform(0.5, 2.0), (0.03, -0.02, -0.1), 0.002),
        "drives": Drives(rotor_inertia=[*limb(0.03, 0.08), 0.002][:dof]),
        "gray_box": GrayBox(1.2, 0.9),
        "gravity": rng.uniform(9.7, 9.9),
    }
    if dof == 4:
        upper = Rod(rng.uniform(0.3, 0.6), 0.2, 0.008, 2e-4)
        lower = Rod(rng.uniform(0.2, 0.5), 0.25, 0.006, 1e-4)
        values["spindle"] = Spindle(upper, lower, 0.05, 0.03)
        values["effector"] = Effector(rng.uniform(0.2, 0.5), (-0.01, 0.04, -0.05), 0.001)
    return Robot(**{**values, **parts})


def make_states(robot: Robot, count: int, *, seed: int = 0) -> State:
    """States well inside the workspace, with rates and accelerations of fast machines."""
    rng = np.random.default_rng([seed, 17])
    g = robot.rotary
    l1, l2, r = np.mean(g.arm_length), np.mean(g.strut_length), np.mean(g.shrunk_radius)
    angle = np.array([0.2, 0.9])
    top, bottom = -l1 * np.sin(angle) - np.sqrt(l2**2 - (r + l1 * np.cos(angle)) ** 2)
    radius, phase = 0.25 * l2 * np.sqrt(rng.random(count)), 2 * np.pi * rng.random(count)
    z = rng.uniform(bottom, top, count)
    p = np.stack([radius * np.cos(phase), radius * np.sin(phase), z], axis=-1)
    psi = rng.uniform(-np.pi, np.pi, (count, robot.dof - 3))
    q = State.from_platform(robot, np.concatenate([p, psi], axis=1)).q
    qd = rng.uniform(-5.0, 5.0, q.shape)
    qdd = rng.uniform(-200.0, 200.0, q.shape)
    return State.from_joints(robot, q, qd, qdd)


def full_friction(dof: int, **changes: Any) -> Friction:
    """Every friction term at once, other on each axis and in each passive joint."""
    axis = np.arange(1.0, dof + 1)
    joints = [name for name in PASSIVE_JOINTS if dof == 4 or name.split("_")[0] in LIMB_ENDS]
    values: dict[str, Any] = {
        "viscous": 0.3 * axis,
        "coulomb": 0.5 + 0.1 * axis,
        "coulomb_negative": 0.7 + 0.1 * axis,
        "stribeck": 0.2 * axis,
        "stribeck_velocity": 0.5 + 0.5 * axis,
        "thinning": 0.4 * axis,
        "thinning_velocity": 1.0 + 0.3 * axis,
        "offset": 0.1 * axis,
        "load": 0.05 + 0.02 * axis,
        "passive": tuple(
            PassiveFriction(name, 0.04 + 0.01 * k, 0.03 + 0.02 * k) for k, name in enumerate(joints)
        ),
    }
    return Friction(**{**values, **changes})


def rich_drives(robot: Robot, *, motor: bool = True) -> Robot:
    """The same robot with ripple, drives in a scale of their own and, for `motor`, their loss."""
    dof, friction = robot.dof, robot.friction
    if motor:
        friction = replace(friction, load=None, motor_load=[0.06, 0.04, 0.1, 0.05][:dof])
    waves = (
        Ripple(64.0, [0.5, 0.6, 0.7, 0.02][:dof], [0.4, -0.3, 0.2, 0.01][:dof]),
        Ripple(2.5, 0.1, [0.1, 0.2, 0.3, 0.4][:dof]),
    )
    return robot.replace(
        friction=friction,
        drives=replace(robot.drives, ripple=waves),
        sensors=Sensors([1.1, 0.9, 1.05, 1.2][:dof]),
    )


def any_shape(robot: Robot, *, seed: int = 0) -> Robot:
    """The same robot with struts and telescope of any shape: clouds of point masses."""
    rng = np.random.default_rng([seed, 23])
    lengths = robot.geometry.strut_length
    struts = [
        Strut.from_ten(_cloud(rng, s.mass, (l2 / 2, 0.0, 0.0), (l2 / 4, 0.04, 0.03)), l2, s.rods)
        for s, l2 in zip(robot.struts, lengths, strict=True)
    ]
    if robot.equal_limbs:
        struts = struts[:1] * 3
    parts: dict[str, Any] = {"struts": tuple(struts)}
    if robot.spindle is not None:
        spread = (0.02, 0.03, 0.1)
        upper = _cloud(rng, robot.spindle.upper.mass, (0.0, 0.0, 0.25), spread)
        lower = _cloud(rng, robot.spindle.lower.mass, (0.0, 0.0, -0.25), spread)
        rods = Rod.from_ten(upper), Rod.from_ten(lower)
        parts["spindle"] = replace(robot.spindle, upper=rods[0], lower=rods[1])
    return robot.replace(**parts)


def _cloud(rng: np.random.Generator, mass: float, centre: Triple, spread: Triple) -> TenParameters:
    """Eight equal point masses about the centre."""
    points = np.asarray(centre) + np.asarray(spread) * rng.standard_normal((8, 3))
    h = mass * points.mean(axis=0)
    second = mass * points.T @ points / 8
    I = np.trace(second) * np.eye(3) - second
    products = (I[0, 1], I[1, 2], I[0, 2])
    return TenParameters(mass, (h[0], h[1], h[2]), (I[0, 0], I[1, 1], I[2, 2], *products))


def relative(ours: FloatArray, expected: FloatArray) -> float:
    """Largest difference over the largest expected value, per coordinate of the last axis.

    A coordinate that is zero by construction (gravity on psi) counts against all of them.
    """
    shape = (-1, np.shape(expected)[-1])
    rows, reference = np.reshape(ours, shape), np.reshape(expected, shape)
    largest = np.max(np.abs(reference), axis=0)
    scale = np.where(largest > 1e-9 * largest.max(), largest, largest.max())
    return float(np.max(np.abs(rows - reference) / scale))
