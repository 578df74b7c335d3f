"""One robot of each kind beside the standard Delta, with drives, friction and limits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from deltadyn.motion.motion import Motion
from deltadyn.robot import Robot
from deltadyn.robot.bodies import (
    Arm,
    ArticulatedPlatform,
    Carriage,
    Effector,
    Geometry,
    HelicalPlatform,
    PlanarPlatform,
    Platform,
    RailGeometry,
    Rod,
    Spindle,
    Strut,
)
from deltadyn.robot.settings import Controller, Drives, Friction, Limits, Sensors, Workspace

KINDS = ("inclined", "vertical", "rails", "level", "vertical_spindle")
#: Two limbs in a plane, four under a platform of two halves.
OTHER_PLATFORMS = ("planar", "planar_rails", "beam", "par4", "par4_rails", "heli4", "heli4_rails")
CORNERS = tuple(math.radians(angle) for angle in (-45.0, 45.0, 135.0, 225.0))


def inclined(**changes: Any) -> Robot:
    """Arms whose shoulders stand off the base plane, with axes turned by some degrees."""
    geometry = Geometry(
        base_radius=0.2,
        platform_radius=0.05,
        arm_length=0.3,
        strut_length=(0.7, 0.7, 0.72),
        shoulder_height=(0.01, -0.02, 0.0),
        shoulder_tangential=(0.0, 0.01, -0.015),
        axis_yaw=(math.radians(5), math.radians(-8), 0.0),
        axis_roll=(math.radians(10), math.radians(-4), math.radians(7)),
    )
    robot = Robot(
        name="inclined arms",
        geometry=geometry,
        arms=(Arm(0.8, 0.12, 0.006, elbow_mass=0.1),) * 3,
        struts=(Strut.uniform(0.06, 0.7),) * 3,
        platform=Platform(0.4),
        drives=Drives(gear_ratio=20.0, rotor_inertia=1e-4, rotor_side="motor_side"),
        friction=Friction(viscous=0.2, coulomb=0.8, smoothing=0.02),
        limits=Limits(
            workspace=Workspace(0.25, -0.75, -0.5),
            platform_speed=4.0,
            platform_acceleration=60.0,
            rate=12.0,
            torque_peak=80.0,
        ),
    )
    return robot.replace(**changes)


def vertical(**changes: Any) -> Robot:
    """A linear Delta of three vertical rails with belts."""
    geometry = RailGeometry(base_radius=0.3, platform_radius=0.06, strut_length=0.5)
    robot = Robot(
        name="vertical rails",
        geometry=geometry,
        arms=(Carriage(0.6, 0.1),) * 3,
        struts=(Strut.uniform(0.05, 0.5),) * 3,
        platform=Platform(0.5),
        drives=Drives(rotor_inertia=2e-4, rotor_side="motor_side", pulley_radius=0.02),
        friction=Friction(viscous=4.0, coulomb=6.0, smoothing=0.005),
        limits=Limits(
            workspace=Workspace(0.15, -0.2, 0.1),
            platform_speed=2.5,
            platform_acceleration=25.0,
            rate=5.0,
            torque_peak=400.0,
        ),
    )
    return robot.replace(**changes)


def rails(**changes: Any) -> Robot:
    """Rails in directions of their own, with bodies of their own."""
    geometry = RailGeometry(
        base_radius=(0.35, 0.33, 0.36),
        platform_radius=0.06,
        strut_length=(0.6, 0.62, 0.58),
        azimuth=(0.0, 2.2, 4.1),
        rail_height=(0.0, 0.02, -0.01),
        rail_tangential=(0.0, 0.02, -0.01),
        rail_pitch=(math.radians(35), math.radians(50), math.radians(25)),
        rail_roll=(math.radians(10), math.radians(-15), 0.0),
    )
    robot = Robot(
        name="inclined rails",
        geometry=geometry,
        arms=(Carriage(0.8), Carriage(0.9, 0.2), Carriage(0.7)),
        struts=(Strut.uniform(0.06, 0.6), Strut.uniform(0.07, 0.62), Strut.uniform(0.06, 0.58)),
        platform=Platform(0.5),
        drives=Drives(rotor_inertia=1e-5, rotor_side="motor_side", lead=0.02),
        friction=Friction(viscous=5.0, coulomb=8.0, smoothing=0.005),
        limits=Limits(
            workspace=Workspace(0.12, -0.55, -0.4),
            platform_speed=2.0,
            platform_acceleration=20.0,
            rate=5.0,
            torque_peak=400.0,
        ),
    )
    return robot.replace(**changes)


def level(**changes: Any) -> Robot:
    """Level rails that run outward: gravity does not act along them."""
    geometry = RailGeometry(
        base_radius=0.1,
        platform_radius=0.05,
        strut_length=0.6,
        rail_pitch=math.pi / 2,
    )
    robot = vertical(name="level rails", geometry=geometry, struts=Strut.uniform(0.05, 0.6))
    limits = Limits(
        workspace=Workspace(0.12, -0.5, -0.35),
        platform_speed=2.0,
        platform_acceleration=20.0,
        rate=5.0,
        torque_peak=400.0,
    )
    return robot.replace(arms=Carriage(0.6), limits=limits, **changes)


def vertical_spindle(**changes: Any) -> Robot:
    """Vertical rails with a telescope that turns the effector."""
    base = vertical()
    spindle = Spindle(
        upper=Rod(0.3, 0.15, 0.003, 1e-4, length=0.4),
        lower=Rod(0.2, 0.15, 0.002, 1e-4, length=0.4),
        upper_joint_z=0.6,
        lower_joint_z=0.05,
    )
    limits = Limits(
        workspace=Workspace(0.12, -0.1, 0.1),
        platform_speed=2.5,
        platform_acceleration=25.0,
        rate=(5.0, 5.0, 5.0, 20.0),
        torque_peak=(400.0, 400.0, 400.0, 20.0),
    )
    robot = base.replace(
        name="vertical rails with a spindle",
        spindle=spindle,
        controller=Controller(),
        sensors=Sensors(),
        effector=Effector(0.2, (0.01, 0.0, -0.02), 2e-4),
        drives=Drives(
            rotor_inertia=(2e-4, 2e-4, 2e-4, 1e-3), rotor_side="motor_side", pulley_radius=0.02
        ),
        friction=Friction(
            viscous=(4.0, 4.0, 4.0, 0.01), coulomb=(6.0, 6.0, 6.0, 0.02), smoothing=0.02
        ),
        limits=limits,
    )
    return robot.replace(**changes)


def planar(**changes: Any) -> Robot:
    """Two arms in a plane, with rods that keep the platform level."""
    robot = Robot(
        name="planar arms",
        geometry=Geometry(
            base_radius=0.12,
            platform_radius=0.05,
            arm_length=0.35,
            strut_length=0.7,
            azimuth=(0.0, math.pi),
        ),
        arms=(Arm(1.0, 0.15, 0.01, elbow_mass=0.15),) * 2,
        struts=(Strut.uniform(0.08, 0.7),) * 2,
        platform=PlanarPlatform(0.8),
        drives=Drives(gear_ratio=20.0, rotor_inertia=1e-4, rotor_side="motor_side"),
        friction=Friction(viscous=0.3, coulomb=1.0, smoothing=0.02),
        limits=Limits(
            workspace=Workspace(0.3, -0.85, -0.6),
            platform_speed=4.0,
            platform_acceleration=60.0,
            rate=12.0,
            torque_peak=90.0,
        ),
    )
    return robot.replace(**changes)


def planar_rails(**changes: Any) -> Robot:
    """Two rails in a plane that lean outward."""
    robot = Robot(
        name="planar rails",
        geometry=RailGeometry(
            base_radius=0.35,
            platform_radius=0.05,
            strut_length=0.5,
            azimuth=(0.0, math.pi),
            rail_pitch=math.radians(20.0),
        ),
        arms=(Carriage(0.7),) * 2,
        struts=(Strut.uniform(0.06, 0.5),) * 2,
        platform=PlanarPlatform(0.6),
        drives=Drives(rotor_inertia=2e-4, rotor_side="motor_side", pulley_radius=0.02),
        friction=Friction(viscous=4.0, coulomb=6.0, smoothing=0.005),
        limits=Limits(
            workspace=Workspace(0.12, -0.3, -0.1),
            platform_speed=2.5,
            platform_acceleration=25.0,
            rate=5.0,
            torque_peak=400.0,
        ),
    )
    return robot.replace(**changes)


def beam(**changes: Any) -> Robot:
    """Two carriages on one level beam: gravity does not act along it."""
    geometry = RailGeometry(
        base_radius=0.2,
        platform_radius=0.05,
        strut_length=0.5,
        azimuth=(0.0, math.pi),
        rail_pitch=math.pi / 2,
    )
    limits = Limits(
        workspace=Workspace(0.2, -0.45, -0.3),
        platform_speed=2.5,
        platform_acceleration=25.0,
        rate=5.0,
        torque_peak=400.0,
    )
    return planar_rails(name="planar beam", geometry=geometry, limits=limits).replace(**changes)


def par4(**changes: Any) -> Robot:
    """Four arms, two halves and bars between them whose angle is geared up to the tool."""
    robot = Robot(
        name="par4",
        geometry=Geometry(
            base_radius=0.275,
            platform_radius=0.05,
            arm_length=0.375,
            strut_length=0.825,
            azimuth=CORNERS,
        ),
        arms=(Arm(1.2, 0.16, 0.015, elbow_mass=0.1),) * 4,
        struts=(Strut.uniform(0.08, 0.825),) * 4,
        platform=ArticulatedPlatform(
            (0.35, 0.3), 0.12, bar_mass=0.1, bar_inertia=2e-4, ratio=2.0, gear_inertia=1e-5
        ),
        effector=Effector(0.3, (0.01, 0.0, -0.03), 4e-4),
        drives=Drives(gear_ratio=20.0, rotor_inertia=1e-4, rotor_side="motor_side"),
        friction=Friction(viscous=0.3, coulomb=1.0, smoothing=0.02),
        limits=Limits(
            workspace=Workspace(0.3, -0.95, -0.75),
            platform_speed=5.0,
            platform_acceleration=80.0,
            rate=14.0,
            torque_peak=150.0,
        ),
    )
    return robot.replace(**changes)


def par4_rails(**changes: Any) -> Robot:
    """Two halves and bars under four vertical rails."""
    robot = par4(
        name="par4 on rails",
        geometry=RailGeometry(
            base_radius=0.4, platform_radius=0.05, strut_length=0.6, azimuth=CORNERS
        ),
        arms=Carriage(0.7),
        struts=Strut.uniform(0.06, 0.6),
        drives=Drives(rotor_inertia=2e-4, rotor_side="motor_side", pulley_radius=0.02),
        friction=Friction(viscous=4.0, coulomb=6.0, smoothing=0.005),
        limits=Limits(
            workspace=Workspace(0.12, -0.3, -0.1),
            platform_speed=2.5,
            platform_acceleration=25.0,
            rate=5.0,
            torque_peak=400.0,
        ),
    )
    return robot.replace(**changes)


def _screwed(robot: Robot) -> Robot:
    """Two halves with a screw between them; each is held by two opposite limbs.

    Halves on neighbouring limbs could not be held apart at home: the planes of both pairs would
    meet in a level line.
    """
    geometry = replace(robot.geometry, azimuth=(0.0, math.pi, math.pi / 2, -math.pi / 2))
    return robot.replace(geometry=geometry, platform=HelicalPlatform((0.4, 0.3), 0.04))


def heli4(**changes: Any) -> Robot:
    """Four arms and two halves with a screw between them that turns the tool."""
    return _screwed(par4(name="heli4")).replace(**changes)


def heli4_rails(**changes: Any) -> Robot:
    """A screw between the halves under four vertical rails."""
    return _screwed(par4_rails(name="heli4 on rails")).replace(**changes)


def make(kind: str, **changes: Any) -> Robot:
    """The robot of one of KINDS or OTHER_PLATFORMS."""
    return {
        "planar": planar,
        "planar_rails": planar_rails,
        "beam": beam,
        "par4": par4,
        "par4_rails": par4_rails,
        "heli4": heli4,
        "heli4_rails": heli4_rails,
        "inclined": inclined,
        "vertical": vertical,
        "rails": rails,
        "level": level,
        "vertical_spindle": vertical_spindle,
    }[kind](**changes)


def waves(robot: Robot, seconds: float, rate: float = 1000.0, share: float = 0.6) -> Motion:
    """Sines of several frequencies through a share of the workspace; psi turns by a rad."""
    cylinder = robot.limits.workspace
    assert cylinder is not None
    t = np.arange(round(seconds * rate) + 1) / rate
    across, high = share * cylinder.radius, share / 2 * (cylinder.z_max - cylinder.z_min)
    middle = (cylinder.z_min + cylinder.z_max) / 2
    moves = {"x": (across, 1.5, 0.0), "y": (across, 2.0, 1.0), "z": (high, 2.5, 2.0)}
    rows = [moves.get(name, (1.0, 1.0, 0.3)) for name in robot.coordinates]
    size, hertz, phase = (np.array(column) for column in zip(*rows, strict=True))
    omega = 2 * np.pi * hertz
    angle = omega * t[:, None] + phase
    p = size * np.sin(angle)
    p[:, robot.coordinates.index("z")] += middle
    pd, pdd = size * omega * np.cos(angle), -size * omega**2 * np.sin(angle)
    return Motion.from_platform(robot, t, p, pd, pdd)
