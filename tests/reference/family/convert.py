"""From a member of the family to a robot of the library.

A robot of the library counts its limbs from the shrunk base: only shoulder - attachment matters to
its motion, and what of an attachment does not lie along the limb's azimuth goes into the place of
its shoulder. An arm's zero is where it is horizontal, a member's is anywhere: angles differ by
`Converted.zero`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from tests.reference.engines.spec import Array, EngineBody

from deltadyn.robot import Robot
from deltadyn.robot import bodies as parts
from deltadyn.robot.settings import Drives

from .members import (
    Arm,
    Articulated,
    Helical,
    Member,
    Planar,
    Platform,
    Rail,
    Rod,
    Spindle,
    Strut,
)

#: Kinds that are robots with three limbs.
THREE_LIMBS = (
    "rotary",
    "rotary inclined",
    "linear vertical",
    "linear any rails",
    "linear horizontal",
    "linear parallel",
    "spindle linear",
    "spindle inclined",
)
ROUNDING = 1e-15  # m; what is left of a product with a cosine that should vanish
DIGITS = 15  # of radii in m, so that equal limbs stay equal


class Converted(NamedTuple):
    """The robot, the elbows of its limbs, and its angles where the member's are zero."""

    robot: Robot
    elbows: tuple[str, ...]
    zero: Array  # (dof,), q of the robot = q of the member + zero


class _Place(NamedTuple):
    """Where a limb begins, in its own axes: azimuth and two radii, then aside and up (m)."""

    azimuth: float
    base_radius: float
    platform_radius: float
    tangential: float
    height: float


def to_robot(member: Member) -> Converted:
    """The same robot in the library's own terms."""
    platform = member.platform
    zero = np.zeros(member.dof)
    rails = [limb for limb in member.limbs if isinstance(limb, Rail)]
    arms = [limb for limb in member.limbs if isinstance(limb, Arm)]
    held = platform.attachments
    lengths = tuple(strut.length for strut in member.struts)
    geometry: parts.Geometry | parts.RailGeometry
    bodies: list[parts.Carriage] | list[parts.Arm]
    if rails:
        azimuths = [math.atan2(rail.point[1], rail.point[0]) for rail in rails]
        places = [_place(r.point, held[i], azimuths[i]) for i, r in enumerate(rails)]
        angles = [_rail_angles(rail.direction, azimuths[i]) for i, rail in enumerate(rails)]
        geometry = parts.RailGeometry(
            base_radius=[place.base_radius for place in places],
            platform_radius=[place.platform_radius for place in places],
            strut_length=lengths,
            azimuth=azimuths,
            rail_height=[place.height for place in places],
            rail_tangential=[place.tangential for place in places],
            rail_pitch=[pitch for pitch, _ in angles],
            rail_roll=[roll for _, roll in angles],
        )
        bodies = [parts.Carriage(rail.carriage, rail.counterweight) for rail in rails]
    else:
        azimuths = [math.atan2(arm.shoulder[1], arm.shoulder[0]) for arm in arms]
        places = [_place(arm.shoulder, held[i], azimuths[i]) for i, arm in enumerate(arms)]
        frames = [_arm_angles(arm, azimuths[i]) for i, arm in enumerate(arms)]
        geometry = parts.Geometry(
            base_radius=[place.base_radius for place in places],
            platform_radius=[place.platform_radius for place in places],
            arm_length=[arm.length for arm in arms],
            strut_length=lengths,
            azimuth=azimuths,
            shoulder_height=[place.height for place in places],
            shoulder_tangential=[place.tangential for place in places],
            axis_yaw=[yaw for yaw, _, _ in frames],
            axis_roll=[roll for _, roll, _ in frames],
        )
        zero[: len(arms)] = [at for _, _, at in frames]
        bodies = [_arm(arm) for arm in arms]
    spindle, effector = None, parts.Effector()
    rotors = [limb.rotor for limb in member.limbs]
    if isinstance(platform, Spindle):
        told = platform.spindle
        spindle = parts.Spindle(_rod(told.upper), _rod(told.lower), told.z_upper, told.z_lower)
        effector = parts.Effector(told.effector.mass, *_turning(told.effector))
        rotors.append(platform.rotor)
    if isinstance(platform, Articulated | Helical):
        effector = parts.Effector(platform.tool.mass, *_turning(platform.tool))
    elbows = tuple("out" if limb.branch > 0 else "in" for limb in member.limbs)
    robot = Robot(
        name=member.kind,
        geometry=geometry,
        arms=tuple(bodies),  # type: ignore[arg-type]
        struts=tuple(_strut(strut) for strut in member.struts),
        platform=_platform(platform),
        spindle=spindle,
        effector=effector,
        payload=parts.Payload(member.payload.mass, *_turning(member.payload)),
        drives=Drives(rotor_inertia=rotors, rotor_side="output_side"),
        gravity=member.gravity,
    )
    return Converted(robot, elbows, zero)


def _platform(
    platform: Platform,
) -> parts.Platform | parts.ArticulatedPlatform | parts.HelicalPlatform:
    """The platform alone, without the tool that turns."""
    if isinstance(platform, Planar):
        return parts.PlanarPlatform(platform.body.mass)
    if isinstance(platform, Helical):
        first, second = platform.sigma
        one, two = platform.halves
        lead, share = 2 * math.pi * (first - second), first / (first - second)
        return parts.HelicalPlatform((one.mass, two.mass), lead, share)
    if isinstance(platform, Articulated):
        return _articulated(platform)
    return parts.Platform(platform.body.mass)


def _articulated(platform: Articulated) -> parts.ArticulatedPlatform:
    """Bars that are not alike as one, the rest of their moments with the gears on them."""
    L, bars = platform.length, platform.bars
    first = platform.tool_fraction * L
    mass = sum(bar.mass for bar in bars)
    com = -sum(bar.mass * bar.com[0] for bar in bars) / (mass * L)
    about = sum(
        bar.inertia_com[2, 2] + bar.mass * ((first + bar.com[0]) ** 2 + bar.com[1] ** 2)
        for bar in bars
    )
    on_bars = [gear for gear in platform.gears if gear.on_bars]
    geared = sum(gear.mass for gear in on_bars)
    along = sum(gear.mass * gear.at[0] for gear in on_bars)
    aside = sum(gear.mass * gear.at[1] for gear in on_bars)
    aside += sum(bar.mass * bar.com[1] for bar in bars)
    turned = sum(gear.inertia * gear.rate**2 for gear in platform.gears)
    turned += sum(gear.mass * (gear.at[0] ** 2 + gear.at[1] ** 2) for gear in on_bars)
    on_half = sum(gear.mass for gear in platform.gears if not gear.on_bars)
    place = (along / geared, aside / geared)
    return parts.ArticulatedPlatform(
        half_mass=(platform.halves[0].mass + on_half, platform.halves[1].mass),
        bar_length=L,
        bar_mass=mass,
        bar_inertia=about - mass * (first - com * L) ** 2,
        bar_com=com,
        phi0=platform.phi0,
        ratio=platform.ratio,
        tool_fraction=platform.tool_fraction,
        gear_mass=geared,
        gear_place=place,
        gear_inertia=turned - geared * (place[0] ** 2 + place[1] ** 2),
    )


def _place(shoulder: Array, attachment: Array, azimuth: float) -> _Place:
    """Radii to both joints; the attachment's other parts are taken off the shoulder's."""
    out = np.array([math.cos(azimuth), math.sin(azimuth), 0.0])
    aside = np.array([-out[1], out[0], 0.0])
    base, platform = float(shoulder @ out), float(attachment @ out)
    low = min(base, platform, 0.0)  # radii are lengths: move both joints out by the same
    c = shoulder - attachment
    radii = round(base - low, DIGITS), round(platform - low, DIGITS)
    return _Place(azimuth, *radii, _tidy(c @ aside), _tidy(c[2]))


def _tidy(length: float) -> float:
    return 0.0 if abs(length) < ROUNDING else float(length)


def _rail_angles(u: Array, azimuth: float) -> tuple[float, float]:
    """Pitch and roll of u = (sin pitch cos roll, -sin roll, cos pitch cos roll), limb axes."""
    radial = _tidy(u[0] * math.cos(azimuth) + u[1] * math.sin(azimuth))
    aside = _tidy(u[1] * math.cos(azimuth) - u[0] * math.sin(azimuth))
    return math.atan2(radial, float(u[2])), -math.asin(aside)


def _arm_angles(arm: Arm, azimuth: float) -> tuple[float, float, float]:
    """Yaw and roll of the axis, and the library's angle of the arm at the member's zero.

    The axis is t = (-sin a cos roll, cos a cos roll, sin roll) with a = azimuth + yaw; the library
    counts from the horizontal (cos a, sin a, 0).
    """
    t = arm.t
    a = math.atan2(-t[0], t[1])
    level = np.array([math.cos(a), math.sin(a), 0.0])
    down = np.cross(t, level)
    yaw = math.remainder(a - azimuth, 2 * math.pi)
    zero = math.atan2(float(arm.e1 @ down), float(arm.e1 @ level))
    return _tidy(yaw), _tidy(math.asin(t[2])), _tidy(zero)


def _arm(arm: Arm) -> parts.Arm:
    """What counts of an arm that turns about one axis, with the rod that holds its bracket."""
    body, holder = arm.body, arm.holder or Rod(0.0, 0.0, 0.0)
    mass = body.mass + holder.mass
    com = (body.mass * body.com[0] + holder.mass * holder.com) / mass
    offset = body.mass * body.com[2] / mass
    about = body.inertia_com[1, 1] + body.mass * (body.com[0] ** 2 + body.com[2] ** 2)
    about += holder.inertia + holder.mass * holder.com**2
    return parts.Arm(
        mass=mass,
        com=com,
        inertia=about - mass * (com**2 + offset**2),
        com_offset=offset,
        elbow_mass=arm.elbow_mass + (0.0 if arm.bracket is None else arm.bracket.mass),
    )


def _strut(strut: Strut) -> parts.Strut:
    rod = strut.rod
    return parts.Strut(rod.mass, rod.com / strut.length, rod.inertia, strut.rods)


def _rod(body: EngineBody) -> parts.Rod:
    across, along = body.inertia_com[0, 0], body.inertia_com[2, 2]
    return parts.Rod(body.mass, abs(body.com[2]), across, along)


def _turning(body: EngineBody) -> tuple[tuple[float, float, float], float]:
    """COM, and inertia about the vertical through it."""
    x, y, z = (float(value) for value in body.com)
    return (x, y, z), float(body.inertia_com[2, 2])
