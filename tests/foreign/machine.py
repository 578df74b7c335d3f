"""A machine in MuJoCo, the robot file that its owner wrote, and a motion with its torque.

The file is what a data sheet gives: every mass is up to 15 % off, the lengths are right to 0.3 mm,
and it knows nothing of friction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from tests.machines import motions
from tests.reference.convert import to_robot
from tests.reference.engines import (
    EngineBody,
    EngineRobot,
    arm_angles,
    inverse_dynamics,
    mujoco_engine,
    random_robot,
)
from tests.reference.engines.spec import Array, Triple

from deltadyn import Robot
from deltadyn.robot.settings import Drives, Limits, Workspace

GEARS = (1.0, 1.0, 16.0, 21.0, 33.0, 50.0, 81.0, 101.0)
STEP = 2e-4  # s
ENGINE_RATE = 100.0  # Hz at least: MuJoCo gives the torque here, between is a cubic spline


class Motion(NamedTuple):
    """Times (N,), arm angles (N, dof) and the torque of the drives at the output side (N, dof)."""

    t: Array
    q: Array
    tau: Array


@dataclass(frozen=True, eq=False)
class Owned:
    """A machine and its file."""

    engine: EngineRobot
    file: Robot
    rng: np.random.Generator

    def move(self, seconds: float, rate: float) -> Motion:
        """Some motion of a controller that tracks well, with friction, ripple and an offset."""
        rng, engine = self.rng, self.engine
        space = self.file.limits.workspace
        assert space is not None
        room = motions.Room(
            space.radius,
            space.z_min,
            space.z_max,
            speed=float(rng.uniform(1.0, 3.0)),
            acceleration=float(rng.uniform(8.0, 40.0)),
            turn=2.0 if engine.spindle is not None else 0.0,
            turn_acceleration=60.0,
        )
        kind = rng.choice(["multisine", "via", "picks"], p=[0.4, 0.35, 0.25])
        path = {
            "multisine": lambda: motions.multisine(room, rng, seconds, 0.5),
            "via": lambda: motions.via_points(room, rng, seconds, 0.05),
            "picks": lambda: motions.picks(room, rng, seconds, 0.05),
        }[str(kind)]()
        t = np.arange(round(seconds * rate)) / rate
        q, qd, qdd = _rates(lambda at: _joints(engine, path(at)), t)
        every = max(1, int(rate / ENGINE_RATE))
        load = inverse_dynamics(mujoco_engine(engine), q[::every], qd[::every], qdd[::every])
        tau: Array = CubicSpline(t[::every], load)(t)
        return Motion(t, q, tau + self._drive(q, qd, tau))

    def _drive(self, q: Array, qd: Array, load: Array) -> Array:
        """Friction by direction, by speed and by load, ripple of the gear, offset: (N, dof)."""
        rng, dof = self.rng, q.shape[1]
        rms, fast = np.sqrt(np.mean(load**2, axis=0)), np.abs(qd).max(axis=0)
        coulomb = rms * rng.uniform(0.03, 0.15, dof)
        viscous = rms * rng.uniform(0.02, 0.10, dof) / fast
        way = np.tanh(qd / (0.005 * fast))
        uneven = 1 + rng.uniform(-0.2, 0.2, dof) * way
        loss = rng.uniform(0.0, 0.05, dof) * np.abs(load) * way
        order, phase = rng.integers(8, 60, dof), rng.uniform(0, 2 * np.pi, dof)
        ripple = rms * rng.uniform(0.0, 0.03, dof) * np.sin(order * q + phase)
        offset = rms * rng.uniform(-0.03, 0.03, dof)
        dragged: Array = coulomb * uneven * way + viscous * qd + loss + ripple + offset
        return dragged


def owned(seed: int, dof: int) -> Owned:
    """A machine with the file of its owner."""
    rng = np.random.default_rng([seed, dof, 14])
    drawn = random_robot(rng, dof, thin=True, equal_limbs=True, arm_on_line=True)
    sheet = replace(drawn, gravity=9.81, payload_mass=0.0, payload_offset=(0.0, 0.0, 0.0))
    return Owned(_built(sheet, rng), _written(sheet, rng), rng)


def _built(sheet: EngineRobot, rng: np.random.Generator) -> EngineRobot:
    """The machine behind a data sheet: masses up to 15 %, lengths up to 0.3 mm off."""

    def near(values: Triple) -> Triple:
        a, b, c = np.array(values) + rng.uniform(-3e-4, 3e-4, 3)
        return float(a), float(b), float(c)

    def scaled(body: EngineBody, by: float) -> EngineBody:
        return EngineBody(body.mass * by, body.com, body.inertia_com * by)

    arm, strut, platform, rotor = rng.uniform(0.85, 1.15, 4).tolist()
    first, second, third = (scaled(body, arm) for body in sheet.arms)
    one, two, three = (scaled(body, strut) for body in sheet.struts)
    return replace(
        sheet,
        base_radius=near(sheet.base_radius),
        arm_length=near(sheet.arm_length),
        strut_length=near(sheet.strut_length),
        arms=(first, second, third),
        struts=(one, two, three),
        platform_mass=sheet.platform_mass * platform,
        rotor_inertia=tuple(rotor * x for x in sheet.rotor_inertia),
    )


def _written(sheet: EngineRobot, rng: np.random.Generator) -> Robot:
    """The robot file of a data sheet: gears, limits and a workspace that its arms reach."""
    gear = float(rng.choice(GEARS))
    gears = (gear,) * 3 if sheet.dof == 3 else (gear,) * 3 + (max(1.0, gear / 2),)
    rotors = np.array(sheet.rotor_inertia) / np.array(gears) ** 2
    length, reach = sheet.strut_length[0], sheet.base_radius[0] - sheet.platform_radius[0]
    angles = np.array([0.3, 0.8])
    out = reach + sheet.arm_length[0] * np.cos(angles)
    high, low = -sheet.arm_length[0] * np.sin(angles) - np.sqrt(length**2 - out**2)
    space = Workspace(round(0.3 * length, 3), round(float(low), 3), round(float(high), 3))
    low_angle, high_angle = np.radians([-50.0, 100.0])
    turns = (2 * np.pi,) if sheet.dof == 4 else ()
    robot = to_robot(sheet, thin=True)
    return replace(
        robot,
        name="own-robot",
        drives=Drives(gears, tuple(float(x) for x in rotors), rotor_side="motor_side"),
        limits=Limits(
            angle_min=(float(low_angle),) * 3 + tuple(-x for x in turns),
            angle_max=(float(high_angle),) * 3 + turns,
            workspace=space,
        ),
    )


def _joints(engine: EngineRobot, pose: Array) -> Array:
    theta = arm_angles(engine, pose[:, :3])
    return theta if pose.shape[1] == 3 else np.column_stack([theta, pose[:, 3]])


def _rates(joints: Callable[[Array], Array], t: Array) -> tuple[Array, Array, Array]:
    """Angles with rates by differences of the smooth path, (N, dof) each."""
    before, here, after = joints(t - STEP), joints(t), joints(t + STEP)
    return here, (after - before) / (2 * STEP), (after - 2 * here + before) / STEP**2
