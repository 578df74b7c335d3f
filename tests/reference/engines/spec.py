"""The robot that the reference engines are built from: plain numbers, no library behind them.

Body frames, all in the base frame (z up) unless a parent is named:

    arm       origin shoulder, x along the arm, y along the joint axis t = z_hat x e_r;
              turned by +theta about +y, which lowers the elbow
    strut     origin elbow, x towards the platform joint: Rz(azimuth) Ry(beta) Rz(gamma)
    platform  origin at the platform point p, never turns
    upper     origin at the upper universal joint, (x, y, z) = (b, v x b, v) with
              a = (cos psi, sin psi, 0), v down the rod, b = v x a / |v x a|
    lower     origin at the lower universal joint, same orientation as the upper rod
    effector  origin at the platform point p, z up, x along the fork axis of the lower joint
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Triple = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class EngineBody:
    """Mass (kg), COM (3,) in the body frame (m) and inertia (3, 3) about the COM (kg m^2)."""

    mass: float
    com: Array
    inertia_com: Array


@dataclass(frozen=True, eq=False)
class EngineSpindle:
    """Telescopic spindle: its joints lie at (0, 0, z_upper) and at p + (0, 0, z_lower)."""

    upper: EngineBody
    lower: EngineBody
    effector: EngineBody
    z_upper: float
    z_lower: float


@dataclass(frozen=True, eq=False)
class EngineRobot:
    """A Delta robot with 3 degrees of freedom, or 4 where it has a spindle.

    A strut is the pair of rods as one body. Rotor inertias are seen at the output side of the
    gear. The payload is a point mass: at the platform point without a spindle, with one rigidly
    on the effector at `payload_offset` in the effector frame.
    """

    gravity: float
    base_radius: Triple
    platform_radius: Triple
    arm_length: Triple
    strut_length: Triple
    azimuth: Triple
    arms: tuple[EngineBody, EngineBody, EngineBody]
    struts: tuple[EngineBody, EngineBody, EngineBody]
    platform_mass: float
    rotor_inertia: tuple[float, ...]
    spindle: EngineSpindle | None = None
    payload_mass: float = 0.0
    payload_offset: Triple = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if len(self.rotor_inertia) != self.dof:
            raise ValueError(
                f"rotor_inertia has {len(self.rotor_inertia)} values; a robot "
                f"{'with' if self.spindle else 'without'} a spindle needs {self.dof}"
            )

    @property
    def dof(self) -> int:
        return 3 if self.spindle is None else 4

    @property
    def radial(self) -> Array:
        """Unit vectors e_r of the three arms, (3, 3) with one arm per row."""
        a = np.array(self.azimuth)
        return np.column_stack([np.cos(a), np.sin(a), np.zeros(3)])

    @property
    def tangential(self) -> Array:
        """Unit vectors t = z_hat x e_r of the three arms, (3, 3) with one arm per row."""
        a = np.array(self.azimuth)
        return np.column_stack([-np.sin(a), np.cos(a), np.zeros(3)])


class States(NamedTuple):
    """Joint states, each (N, dof): rad, rad/s, rad/s^2."""

    q: Array
    qd: Array
    qdd: Array


def arm_angles(robot: EngineRobot, p: Array) -> Array:
    """Arm angles (N, 3) of platform points (N, 3), elbows outward; NaN where out of reach.

    With the platform joint at (h, w, z) from the shoulder along (e_r, t, z_hat):
    h cos th - z sin th = k,  k = (h^2 + w^2 + z^2 + l1^2 - l2^2) / (2 l1)
    """
    l1, l2 = np.array(robot.arm_length), np.array(robot.strut_length)
    h = p @ robot.radial.T + np.array(robot.platform_radius) - np.array(robot.base_radius)
    w = p @ robot.tangential.T
    z = p[:, 2:]
    k = (h**2 + w**2 + z**2 + l1**2 - l2**2) / (2 * l1)
    with np.errstate(invalid="ignore"):
        theta: Array = np.arctan2(-z, h) - np.arccos(k / np.hypot(h, z))
    return theta


def random_states(robot: EngineRobot, rng: np.random.Generator, n: int) -> States:
    """Draw n joint states with the platform well inside the workspace and psi uniform.

    The cylinder of platform points has as its top and bottom the heights of the platform at arm
    angles 0.2 and 0.9 rad; points near a singular pose of a limb or of the platform are redrawn.
    """
    l1, l2 = np.mean(robot.arm_length), np.mean(robot.strut_length)
    r = np.mean(robot.base_radius) - np.mean(robot.platform_radius)
    angle = np.array([0.2, 0.9])
    top, bottom = -l1 * np.sin(angle) - np.sqrt(l2**2 - (r + l1 * np.cos(angle)) ** 2)
    kept = np.empty((0, 3))
    for _ in range(100):
        radius, phase = 0.35 * l2 * np.sqrt(rng.random(2 * n)), 2 * np.pi * rng.random(2 * n)
        z = rng.uniform(bottom, top, 2 * n)
        p = np.column_stack([radius * np.cos(phase), radius * np.sin(phase), z])
        kept = np.vstack([kept, p[_well_inside(robot, p)]])
        if len(kept) >= n:
            break
    else:
        raise ValueError(f"{len(kept)} of {n} platform points lie well inside the workspace")
    q = arm_angles(robot, kept[:n])
    qd = rng.uniform(-5.0, 5.0, (n, 3))
    qdd = rng.uniform(-300.0, 300.0, (n, 3))
    if robot.spindle is not None:
        q = np.column_stack([q, rng.uniform(-np.pi, np.pi, n)])
        qd = np.column_stack([qd, rng.uniform(-10.0, 10.0, n)])
        qdd = np.column_stack([qdd, rng.uniform(-300.0, 300.0, n)])
    return States(q, qd, qdd)


def _well_inside(robot: EngineRobot, p: Array) -> NDArray[np.bool_]:
    """Tell which points (N, 3) have bent limbs and struts that span space well."""
    theta = arm_angles(robot, p)
    cos, sin = np.cos(theta)[..., None], np.sin(theta)[..., None]
    l1, l2 = np.array(robot.arm_length)[:, None], np.array(robot.strut_length)[:, None]
    offset = np.array(robot.base_radius)[:, None] - np.array(robot.platform_radius)[:, None]
    elbow = (offset + l1 * cos) * robot.radial - l1 * sin * np.array([0.0, 0.0, 1.0])
    strut = (p[:, None] - elbow) / l2  # (N, 3, 3), unit rows
    swing = -sin * robot.radial - cos * np.array([0.0, 0.0, 1.0])
    bend = np.sum(strut * swing, axis=2)  # sine of the angle between arm and strut
    span = np.abs(np.linalg.det(strut))
    inside: NDArray[np.bool_] = np.all(bend > 0.3, axis=1) & (span > 0.1)
    return inside  # a NaN angle compares false


def random_robot(
    rng: np.random.Generator,
    dof: int,
    *,
    thin: bool,
    equal_limbs: bool,
    arm_on_line: bool = False,
) -> EngineRobot:
    """Draw a plausible robot whose bodies are all physically consistent.

    thin          struts and telescope rods are lines of mass: COM on the axis, equal transverse
                  inertias, no axial inertia for struts and a small one for the rods of the spindle
    not thin      every body is a cloud of point masses: COM off axis, products of inertia
    equal_limbs   the three limbs share every number and stand 120 degrees apart
    arm_on_line   COM of each arm on the line from shoulder to elbow
    """
    if dof not in (3, 4):
        raise ValueError(f"dof is {dof}; allowed are 3 and 4")

    def limb(low: float, high: float, spread: float) -> Triple:
        """Three equal numbers, or three that differ by up to the relative spread."""
        nominal = rng.uniform(low, high)
        scale = np.ones(3) if equal_limbs else rng.uniform(1 - spread, 1 + spread, 3)
        return float(nominal * scale[0]), float(nominal * scale[1]), float(nominal * scale[2])

    l1, l2 = limb(0.3, 0.4, 0.05), limb(0.75, 0.9, 0.05)
    turn = np.zeros(3) if equal_limbs else rng.uniform(-0.1, 0.1, 3)
    azimuth = 2 * np.pi / 3 * np.arange(3) + rng.uniform(-np.pi, np.pi) + turn
    arm_mass, strut_mass = limb(0.8, 2.0, 0.3), limb(0.2, 0.6, 0.3)
    arms = [_arm(rng, m, length, arm_on_line) for m, length in zip(arm_mass, l1, strict=True)]
    struts = [_strut(rng, m, length, thin) for m, length in zip(strut_mass, l2, strict=True)]
    if equal_limbs:
        arms, struts = [arms[0]] * 3, [struts[0]] * 3
    rotor: tuple[float, ...] = limb(0.02, 0.1, 0.3)
    return EngineRobot(
        gravity=float(rng.uniform(9.5, 10.0)),
        base_radius=limb(0.2, 0.3, 0.05),
        platform_radius=limb(0.04, 0.08, 0.1),
        arm_length=l1,
        strut_length=l2,
        azimuth=(float(azimuth[0]), float(azimuth[1]), float(azimuth[2])),
        arms=(arms[0], arms[1], arms[2]),
        struts=(struts[0], struts[1], struts[2]),
        platform_mass=float(rng.uniform(0.3, 1.0)),
        rotor_inertia=rotor if dof == 3 else (*rotor, float(rng.uniform(0.001, 0.005))),
        spindle=None if dof == 3 else _spindle(rng, thin),
        payload_mass=float(rng.uniform(0.0, 3.0)),
        payload_offset=(0.0, 0.0, 0.0) if dof == 3 else _triple(rng.uniform(-0.05, 0.05, 3)),
    )


def _arm(rng: np.random.Generator, mass: float, length: float, on_line: bool) -> EngineBody:
    body = _cloud(rng, mass, [0.4 * length, 0.0, 0.0], [0.2 * length, 0.03, 0.04])
    on_axis = np.array([1.0, 0.0, 0.0]) if on_line else np.ones(3)
    return EngineBody(mass, body.com * on_axis, body.inertia_com)


def _strut(rng: np.random.Generator, mass: float, length: float, thin: bool) -> EngineBody:
    if not thin:
        return _cloud(rng, mass, [0.5 * length, 0.0, 0.0], [0.25 * length, 0.04, 0.03])
    transverse = mass * length**2 * rng.uniform(0.04, 0.12)  # 1/12 for a uniform rod
    com = np.array([length * rng.uniform(0.4, 0.6), 0.0, 0.0])
    return EngineBody(mass, com, np.diag([0.0, transverse, transverse]))


def _spindle(rng: np.random.Generator, thin: bool) -> EngineSpindle:
    def rod(mass: float, centre: float) -> EngineBody:
        if not thin:
            return _cloud(rng, mass, [0.0, 0.0, centre], [0.02, 0.03, 0.15])
        transverse, axial = mass * rng.uniform(0.01, 0.04), mass * rng.uniform(1e-4, 3e-4)
        return EngineBody(
            mass, np.array([0.0, 0.0, centre]), np.diag([transverse, transverse, axial])
        )

    return EngineSpindle(
        upper=rod(float(rng.uniform(0.3, 0.8)), float(rng.uniform(0.15, 0.3))),
        lower=rod(float(rng.uniform(0.2, 0.6)), float(rng.uniform(-0.3, -0.15))),
        effector=_cloud(rng, float(rng.uniform(0.2, 0.8)), [0.02, -0.01, -0.03], [0.03] * 3),
        z_upper=float(rng.uniform(-0.05, 0.1)),
        z_lower=float(rng.uniform(0.0, 0.08)),
    )


def _cloud(
    rng: np.random.Generator, mass: float, centre: list[float], spread: list[float]
) -> EngineBody:
    """Inertial parameters of eight point masses: J = sum m_k (|r_k|^2 1 - r_k r_k^T)."""
    weights = mass * rng.dirichlet(np.full(8, 3.0))
    points = np.array(centre) + np.array(spread) * rng.standard_normal((8, 3))
    com = weights @ points / mass
    r = points - com
    second = (weights[:, None] * r).T @ r
    return EngineBody(mass, com, np.trace(second) * np.eye(3) - second)


def _triple(values: Array) -> Triple:
    return float(values[0]), float(values[1]), float(values[2])
