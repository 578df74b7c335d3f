"""Geometric guesses of bodies: hollow cylinders, from lengths and radii [gnad2024] VIII A."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi
from typing import TypeVar

import numpy as np

from deltadyn.dynamics.rigid import LIMBS
from deltadyn.errors import InputError, UnknownNameError
from deltadyn.identification.bodies.bodies import standard_parameters
from deltadyn.robot import Robot
from deltadyn.robot.bodies import TenParameters
from deltadyn.robot.checks import ARMS

T = TypeVar("T")

CARBON, STEEL, ALUMINIUM, PLASTIC = 1600.0, 7850.0, 2700.0, 1400.0  # kg/m^3

#: Outer and inner radius (m) by body, where none are given: tubes as on robots of this kind.
RADII: dict[str, tuple[float, float]] = {
    "arm": (0.03, 0.027),
    "strut": (0.008, 0.007),
    "upper": (0.008, 0.0),
    "lower": (0.014, 0.008),
    "platform": (0.05, 0.0),
    "effector": (0.02, 0.0),
}
DENSITIES: dict[str, float] = {
    "arm": CARBON,
    "strut": CARBON,
    "upper": STEEL,
    "lower": PLASTIC,
    "platform": ALUMINIUM,
    "effector": ALUMINIUM,
}
PLATE = 0.03  # m, height of platform and effector
ROD = 0.5  # m, length of a spindle's rod where the robot file has none
SOCKETS = 1.0  # mass of both ball sockets by the mass of the strut's tube [gnad2024] VIII A
FRICTION = {"Fv": 1.0, "Fc": 1.0}  # N m s/rad and N m, or N s/m and N


def hollow_cylinder(
    length: float, outer_radius: float, inner_radius: float, density: float
) -> TenParameters:
    """A tube along x from its frame's origin: m, m c and inertia about the origin.

    About the COM it has m (R^2 + r^2)/2 along and m (L^2 + 3 (R^2 + r^2))/12 across its axis.
    """
    for name, value in (("length", length), ("outer_radius", outer_radius), ("density", density)):
        if not (np.isfinite(value) and value > 0):
            raise InputError(name, value, "above 0")
    if not 0 <= inner_radius < outer_radius:
        raise InputError("inner_radius", inner_radius, f"at least 0 and below {outer_radius:g} m")
    mass = density * pi * (outer_radius**2 - inner_radius**2) * length
    square = outer_radius**2 + inner_radius**2
    along = mass * square / 2
    across = mass * (length**2 + 3 * square) / 12 + mass * (length / 2) ** 2
    return TenParameters(
        mass, (mass * length / 2, 0.0, 0.0), (along, across, across, 0.0, 0.0, 0.0)
    )


def geometric_guess(
    robot: Robot,
    *,
    tied: bool | None = None,
    radii: Mapping[str, tuple[float, float]] | None = None,
    density: Mapping[str, float] | float | None = None,
) -> dict[str, float]:
    """Standard parameters of a robot whose bodies are tubes, with no use of its masses.

    `radii` (outer, inner in m) and `density` (kg/m^3) are by body: arm, strut, upper, lower,
    platform, effector; a number is the density of all. A strut carries ball sockets as heavy as
    its tube, half at each end. Payload and the rotors of the arms are the robot's; friction is 1.
    """
    _ = robot.rotary  # nothing is known of the shape of a carriage
    if robot.legs != ARMS:
        raise InputError("robot", robot.name, "a robot with three limbs, as the paper's")
    tubes = _by_body("radii", radii, RADII)
    if density is None or isinstance(density, Mapping):
        dense = _by_body("density", density, DENSITIES)
    else:
        dense = dict.fromkeys(DENSITIES, float(density))
    own = standard_parameters(robot, tied)
    values = dict(zip(own.names, own.parameters.tolist(), strict=True))
    for name in own.names:
        body, _, entry = name.partition(".")
        if entry == "m":
            for key, value in _guess(robot, body, tubes, dense).items():
                values[f"{body}.{key}"] = value
        elif name.startswith(("Fv", "Fc")) or entry in ("Fv", "Fc"):
            values[name] = FRICTION["Fv" if "Fv" in name else "Fc"]
    return values


def _guess(
    robot: Robot,
    body: str,
    tubes: Mapping[str, tuple[float, float]],
    dense: Mapping[str, float],
) -> dict[str, float]:
    kind = body.rstrip(LIMBS)
    limb = int(body[-1]) - 1 if body[-1] in LIMBS else 0
    outer, inner = tubes[kind]
    if kind == "arm":
        tube = hollow_cylinder(robot.rotary.arm_length[limb], outer, inner, dense[kind])
        return _along_x(tube)
    if kind == "strut":
        length = robot.geometry.strut_length[limb]
        return _with_sockets(hollow_cylinder(length, outer, inner, dense[kind]), length)
    if kind in ("upper", "lower"):
        length = getattr(robot.spindle, kind).length or ROD
        return _along_z(hollow_cylinder(length, outer, inner, dense[kind]), kind == "upper")
    plate = hollow_cylinder(PLATE, outer, inner, dense[kind])
    if kind == "platform":
        known = 0.0 if robot.spindle else robot.effector.mass + robot.payload.mass
        return {"m": plate.mass + known}
    p = robot.payload
    px, py, _ = p.offset
    about = p.inertia_zz + p.mass * (px**2 + py**2)
    return {
        "m": plate.mass + p.mass,
        "mcx": p.mass * px,
        "mcy": p.mass * py,
        "Izz": plate.inertia[0] + about,
    } | _rest_of_effector(robot, plate)


def _along_x(tube: TenParameters) -> dict[str, float]:
    names = ("m", "mcx", "mcy", "mcz", "Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Ixz")
    return dict(zip(names, tube.vector().tolist(), strict=True))


def _along_z(tube: TenParameters, down: bool) -> dict[str, float]:
    along, across = tube.inertia[:2]
    values = dict.fromkeys(("mcx", "mcy", "Ixy", "Iyz", "Ixz"), 0.0)
    moment = tube.first_moment[0] if down else -tube.first_moment[0]
    return values | {"m": tube.mass, "mcz": moment, "Ixx": across, "Iyy": across, "Izz": along}


def _with_sockets(tube: TenParameters, length: float) -> dict[str, float]:
    """The tube and two point masses, half of the sockets' mass at each end."""
    each = SOCKETS * tube.mass / 2
    values = _along_x(tube)
    values["m"] += 2 * each
    values["mcx"] += each * length
    values["Iyy"] += each * length**2
    values["Izz"] += each * length**2
    return values


def _rest_of_effector(robot: Robot, plate: TenParameters) -> dict[str, float]:
    """Entries that do not reach the torque: those of a flat plate and of the payload's point."""
    x, y, z = robot.payload.offset
    m, zz = robot.payload.mass, robot.payload.inertia_zz / 2
    half = plate.inertia[0] / 2
    return {
        "mcz": m * z,
        "Ixx": half + zz + m * (y**2 + z**2),
        "Iyy": half + zz + m * (x**2 + z**2),
        "Ixy": -m * x * y,
        "Iyz": -m * y * z,
        "Ixz": -m * x * z,
    }


def _by_body(
    quantity: str, given: Mapping[str, T] | None, default: Mapping[str, T]
) -> dict[str, T]:
    for body in given or {}:
        if body not in default:
            raise UnknownNameError(f"{quantity} of body", body, default)
    return {**default, **(given or {})}
