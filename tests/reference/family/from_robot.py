"""A robot of the library as a member of the family, so that engines can be built from it.

Only the numbers of the robot file are read, as docs/conventions.md defines them. What a file does
not give is chosen: rods of a pair 0.1 m apart, brackets and holders of planar arms, the place of
the second bar of an articulated platform. No reaction that is compared depends on the choice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tests.reference.engines.spec import Array, EngineBody, EngineSpindle

from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm as RobotArm
from deltadyn.robot.bodies import ArticulatedPlatform, HelicalPlatform
from deltadyn.robot.bodies import Carriage as RobotCarriage

from .members import (
    Z_HAT,
    Arm,
    Articulated,
    Gear,
    Helical,
    Member,
    Planar,
    Platform,
    Rail,
    Rod,
    Spindle,
    Strut,
    Translation,
)

SPACING = 0.1  # m, between the rods of a pair
LIGHTEST = 1e-12  # kg: MuJoCo refuses a moving body without mass
HOLDER_SHARE = 0.2  # of a planar arm's mass, in the rod along it that holds the bracket
WHEEL_RATE = 2.0  # turns of a gear per turn of the bars


def to_member(robot: Robot, elbows: tuple[str, ...] | None = None) -> Member:
    """The same robot in plain numbers, with thin struts and rods."""
    g = robot.geometry
    branches = [1 if name == "out" else -1 for name in elbows or ("out",) * robot.legs]
    limbs, struts = [], []
    for i in range(robot.legs):
        limb = _limb(robot, i, branches[i])
        strut = robot.struts[i]
        pin = np.cross(g.frames[i].z, g.frames[i].x)
        pair = (g.rod_spacing or SPACING) * pin
        if robot.planar:  # in the plane, across any strut that reaches down or outward
            pair = SPACING * np.array([0.8 * math.cos(g.azimuth[i]), 0.0, -0.6])
        share = strut.rods / 2  # a strut of one rod is a pair of halves
        rod = Rod(share * strut.mass, strut.com_fraction * g.strut_length[i], share * strut.inertia)
        limbs.append(limb)
        struts.append(Strut(g.strut_length[i], rod, 2, pair))
    effector = _upright(robot.effector.mass, robot.effector.com, robot.effector.inertia_zz)
    payload = _upright(robot.payload.mass, robot.payload.offset, robot.payload.inertia_zz)
    if not robot.turns:
        payload = _together(effector, payload)
    platform = _platform(robot, effector)
    return Member(robot.name, robot.gravity, tuple(limbs), tuple(struts), platform, payload)


def _limb(robot: Robot, i: int, branch: int) -> Arm | Rail:
    g = robot.geometry
    out = np.array([math.cos(g.azimuth[i]), math.sin(g.azimuth[i]), 0.0])
    aside, radius = np.cross(Z_HAT, out), g.base_radius[i]
    x, z = np.array(g.frames[i].x), np.array(g.frames[i].z)
    body, rotor = robot.arms[i], robot.drives.output_inertia[i]
    if isinstance(body, RobotCarriage):
        rails: Any = g
        point = radius * out + rails.rail_tangential[i] * aside + rails.rail_height[i] * Z_HAT
        mass = max(body.mass, LIGHTEST)
        return Rail(point, z, mass, body.counterweight, rotor, branch)
    assert isinstance(body, RobotArm)
    arms = robot.rotary
    shoulder = radius * out + arms.shoulder_tangential[i] * aside + arms.shoulder_height[i] * Z_HAT
    length = arms.arm_length[i]
    com = np.array([body.com, 0.0, body.com_offset])
    flat = np.diag([0.0, body.inertia, body.inertia])
    if not robot.planar:
        whole = EngineBody(body.mass, com, flat)
        return Arm(shoulder, x, -z, length, whole, rotor, body.elbow_mass, branch=branch)
    mass = HOLDER_SHARE * body.mass
    holder = Rod(mass, body.com, HOLDER_SHARE * body.inertia)
    rest = EngineBody(
        body.mass - mass,
        np.array([body.com, 0.0, body.com_offset * body.mass / (body.mass - mass)]),
        np.zeros((3, 3)),
    )
    # the offset of the heavier rest adds inertia about the axis that the whole does not have
    about = body.axis_inertia - mass * body.com**2 - holder.inertia
    about -= rest.mass * (rest.com[0] ** 2 + rest.com[2] ** 2)
    rest = EngineBody(rest.mass, rest.com, np.diag([0.0, about, about]))
    bracket = EngineBody(max(body.elbow_mass, LIGHTEST), np.zeros(3), np.zeros((3, 3)))
    at = 0.06 * Z_HAT + 0.02 * out
    return Arm(shoulder, x, -z, length, rest, rotor, 0.0, bracket, holder, at, branch)


def _platform(robot: Robot, effector: EngineBody) -> Platform:
    g, own = robot.geometry, robot.platform
    held = np.array(
        [
            [r * math.cos(a), r * math.sin(a), 0.0]
            for r, a in zip(g.platform_radius, g.azimuth, strict=True)
        ]
    )
    if isinstance(own, HelicalPlatform):
        halves = tuple(_point(mass) for mass in own.half_mass)
        return Helical((halves[0], halves[1]), own.sigma, _heavy(effector), held)
    if isinstance(own, ArticulatedPlatform):
        return _articulated(own, effector, held)
    body = _point(own.mass)
    if robot.planar:
        return Planar(body, held)
    if robot.spindle is None:
        return Translation(body, held)
    upper, lower = (
        EngineBody(
            max(rod.mass, LIGHTEST),
            np.array([0.0, 0.0, sign * rod.com]),
            np.diag([rod.inertia, rod.inertia, rod.axial_inertia]),
        )
        for rod, sign in ((robot.spindle.upper, 1), (robot.spindle.lower, -1))
    )
    z = robot.spindle.upper_joint_z, robot.spindle.lower_joint_z
    spindle = EngineSpindle(upper, lower, _heavy(effector), *z)
    return Spindle(body, held, spindle, robot.drives.output_inertia[3])


def _articulated(own: ArticulatedPlatform, effector: EngineBody, held: Array) -> Articulated:
    """Bars on the line between the halves as the first bar; gears on it as one wheel.

    The second bar, beside it, weighs nothing: where it lies a robot file does not say.
    """
    halves = tuple(_point(mass) for mass in own.half_mass)
    com = np.array([-own.bar_com * own.bar_length, 0.0, 0.0])
    bar = EngineBody(max(own.bar_mass, LIGHTEST), com, own.bar_inertia * np.eye(3))
    light = EngineBody(LIGHTEST, com, np.zeros((3, 3)))
    gears: tuple[Gear, ...] = ()
    if own.gear_mass or own.gear_inertia:
        inertia, place = own.gear_inertia / WHEEL_RATE**2, own.gear_place
        gears = (Gear(max(own.gear_mass, LIGHTEST), inertia, WHEEL_RATE, True, place),)
    across = np.array([-math.sin(own.phi0), math.cos(own.phi0), 0.0])
    return Articulated(
        (halves[0], halves[1]),
        (bar, light),
        own.bar_length,
        0.05 * across,
        own.phi0,
        own.ratio,
        own.tool_fraction,
        gears,
        _heavy(effector),
        held,
    )


def wheel_spin(robot: Robot, psidd: Array) -> Array:
    """Moment (N,) about z that the wheel of `to_member` needs for its own spin."""
    own = robot.platform
    if not isinstance(own, ArticulatedPlatform):
        return 0.0 * psidd
    return own.gear_inertia / WHEEL_RATE * psidd / own.ratio


def _point(mass: float) -> EngineBody:
    return EngineBody(max(mass, LIGHTEST), np.zeros(3), np.zeros((3, 3)))


def _heavy(body: EngineBody) -> EngineBody:
    return EngineBody(max(body.mass, LIGHTEST), body.com, body.inertia_com)


def _upright(mass: float, com: tuple[float, float, float], about_z: float) -> EngineBody:
    return EngineBody(mass, np.array(com), np.diag([about_z / 2, about_z / 2, about_z]))


def _together(one: EngineBody, two: EngineBody) -> EngineBody:
    """Two bodies on a platform that does not turn: what counts is mass and COM."""
    mass = max(one.mass + two.mass, LIGHTEST)
    com = (one.mass * one.com + two.mass * two.com) / mass
    return EngineBody(mass, com, np.zeros((3, 3)))
