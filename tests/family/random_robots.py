"""Random robots of the family through the public API alone, for hypothesis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.kinematics import singularity
from deltadyn.robot import Robot
from deltadyn.robot.bodies import (
    Arm,
    Carriage,
    Effector,
    Geometry,
    Payload,
    Platform,
    RailGeometry,
    Rod,
    Spindle,
    Strut,
)
from deltadyn.robot.settings import Drives

SOUND = 0.25  # rad, from singular poses of limbs and platform
KINDS = ("standard", "inclined", "vertical", "rails", "level")


def spread(rng: np.random.Generator, nominal: float, equal: bool, share: float = 0.1) -> Any:
    """Three numbers near a nominal one, or three equal ones."""
    return [nominal] * 3 if equal else list(nominal * rng.uniform(1 - share, 1 + share, 3))


def make_robot(kind: str, seed: int, *, equal: bool = False, spindle: bool = False) -> Robot:
    """A robot of sane proportions; `equal` limbs share bodies and lengths, not directions."""
    rng = np.random.default_rng([KINDS.index(kind), seed, equal, spindle])
    azimuth = rng.uniform(-math.pi, math.pi) + 2 * math.pi / 3 * np.arange(3)
    if not equal:
        azimuth = azimuth + rng.uniform(-0.1, 0.1, 3)

    def angles(largest: float) -> list[float]:
        return list(rng.uniform(-largest, largest, 3))

    arms: Any
    if kind in ("standard", "inclined"):
        l2 = spread(rng, 0.8, equal)
        turned: dict[str, Any] = {}
        if kind == "inclined":
            turned = {
                "shoulder_height": angles(0.03),
                "shoulder_tangential": angles(0.03),
                "axis_yaw": angles(0.3),
                "axis_roll": angles(0.3),
            }
        geometry: Geometry | RailGeometry = Geometry(
            base_radius=spread(rng, 0.22, equal),
            platform_radius=spread(rng, 0.06, equal),
            arm_length=spread(rng, 0.33, equal),
            strut_length=l2,
            azimuth=list(azimuth),
            **turned,
        )
        masses, offsets = spread(rng, 1.2, equal, 0.3), spread(rng, 0.02, equal)
        arms = tuple(
            Arm(m, 0.15, 0.012, com_offset=offset, elbow_mass=0.1)
            for m, offset in zip(masses, offsets, strict=True)
        )
        rotors = spread(rng, 0.05, equal)
    else:
        l2 = spread(rng, 0.5, equal)
        pitch = {"vertical": [0.0] * 3, "level": [math.pi / 2] * 3}.get(kind, [0.3] * 3)
        if kind == "rails" and not equal:
            pitch = angles(0.5)
        geometry = RailGeometry(
            base_radius=spread(rng, 0.05 if kind == "level" else 0.3, equal),
            platform_radius=spread(rng, 0.03, equal),
            strut_length=l2,
            azimuth=list(azimuth),
            rail_height=angles(0.02),
            rail_tangential=angles(0.02),
            rail_pitch=pitch,
            rail_roll=angles(0.4) if kind == "rails" else 0.0,
        )
        loads = spread(rng, 0.5, equal, 0.3)
        arms = tuple(Carriage(m, counterweight=0.3 * m) for m in loads)
        rotors = spread(rng, 0.4, equal)
    rods = spread(rng, 0.12, equal, 0.3)
    struts: Any = tuple(
        Strut(m, 0.45, 0.06 * m * length**2) for m, length in zip(rods, l2, strict=True)
    )
    told: dict[str, Any] = {}
    if spindle:
        rod = Rod(0.3, 0.2, 0.006, 5e-5)
        top = 0.6 if geometry.linear else 0.05
        told = {"spindle": Spindle(rod, rod, top, 0.03)}
        told["effector"] = Effector(0.3, (0.02, -0.01, -0.03), 4e-4)
        rotors.append(0.003)
    return Robot(
        name=kind,
        geometry=geometry,
        arms=arms,
        struts=struts,
        platform=Platform(0.6),
        payload=Payload(float(rng.uniform(0.0, 2.0)), (0.01, 0.02, -0.05), 1e-3),
        drives=Drives(rotor_inertia=rotors, rotor_side="output_side"),
        **told,
    )


def points(robot: Robot, count: int, seed: int, elbows: Any = "out") -> FloatArray:
    """Positions (count, dof) within reach of these elbows and far from singular poses."""
    rng = np.random.default_rng(seed)
    l2 = float(np.mean(robot.geometry.strut_length))
    l1 = 0.0 if robot.linear else float(np.mean(robot.rotary.arm_length))
    low, high = np.array([-0.3, -0.3, -l1 / l2 - 1]) * l2, np.array([0.3, 0.3, -0.1]) * l2
    kept = np.empty((0, robot.dof))
    for _ in range(60):
        p = rng.uniform(low, high, (200, 3))
        if robot.dof == 4:
            p = np.column_stack([p, rng.uniform(-math.pi, math.pi, len(p))])
        p = p[dd.kinematics.reachable(robot, p, elbows=elbows)]
        if len(p):
            p = p[singularity(robot, p, elbows=elbows).margin > SOUND]
        kept = np.vstack([kept, p])
        if len(kept) >= count:
            break
    return kept[:count]


def motions(robot: Robot, count: int, seed: int) -> dd.State:
    """States with up to 3 m/s and 40 m/s^2, and the spindle turning."""
    p = points(robot, count, seed)
    rng = np.random.default_rng(seed + 1)
    top = np.array([3.0, 3.0, 3.0, 10.0])[: robot.dof]
    pd, pdd = (rng.uniform(-k * top, k * top, p.shape) for k in (1.0, 13.0))
    return dd.State.from_platform(robot, p, pd, pdd)


robots = st.builds(
    make_robot,
    st.sampled_from(KINDS),
    st.integers(0, 10**6),
    equal=st.booleans(),
    spindle=st.booleans(),
)
seeds = st.integers(0, 10**6)
