"""The inertial base parameters of the exact model, from a robot's bodies.

With Ie the strut pair's transverse inertia about the elbow and rho = m f l2:
M_P = platform + payload + effector + lower rod + sum Ie/l2^2, m_x = rho/l2 - Ie/l2^2,
A = arm + rotor + l1^2 (m - 2 rho/l2 + Ie/l2^2), G = (m c)_arm + l1 (m - rho/l2).
A carriage has A = carriage + counterweight + rotor + m - 2 rho/l2 + Ie/l2^2 and
G = carriage - counterweight + m - rho/l2, both in kg.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deltadyn.kinematics.limbs import Limbs, limbs
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, ArticulatedPlatform, Carriage, HelicalPlatform
from deltadyn.robot.robot import remembered

Each = tuple[Any, ...]  # one per limb

#: The spindle's base parameters in the order of their columns, and their units.
SPINDLE_NAMES = ("H", "kappa", "mu", "I_axial", "h_x", "h_y", "I_psi")
SPINDLE_UNITS = ("kg m^2", "kg m", "kg m", "kg m^2", "kg m", "kg m", "kg m^2")


@dataclass(frozen=True)
class StrutMasses:
    """A strut pair as a two-point body: T = m_e/2 |Ed|^2 + m_x Ed.pd + m_c/2 |pd|^2 (kg)."""

    m_e: float
    m_x: float
    m_c: float


@dataclass(frozen=True)
class SpindleParameters:
    """H (kg m^2), kappa, mu (kg m), shaft's axial inertia, effector moments and axis inertia."""

    pivot_z: Any
    H: Any
    kappa: Any
    mu: Any
    I_axial: Any
    h_x: Any  # effector and payload: first moments in the effector's frame (kg m)
    h_y: Any
    I_psi: Any  # effector and payload about the z axis, and the rotor of axis 4 (kg m^2)


#: The base parameters of a platform whose halves move apart, in the order of their columns.
HALVES_NAMES = ("S", "S_s", "h_x", "h_y", "I_psi")
HALVES_UNITS = ("kg m", "kg m", "kg m", "kg m", "kg m^2")


@dataclass(frozen=True)
class HalvesParameters:
    """A platform of two halves: first moments along its motion, of the tool, and inertia by psi.

    S counts along the bars or the screw, S_s across the bars; h_x and h_y are effector and payload
    in the tool's frame (kg m), I_psi all that psi moves (kg m^2).
    """

    S: Any
    S_s: Any
    h_x: Any
    h_y: Any
    I_psi: Any


@dataclass(frozen=True)
class ExactParameters:
    """Everything that the exact model needs; the fields may be floats or symbols."""

    limbs: Limbs
    gravity: Any
    M_P: Any  # kg
    m_x: Each  # kg
    A: Each  # kg m^2; kg on rails
    G: Each  # kg m; kg on rails
    G_s: Each  # kg m, the arm's COM above its line
    spindle: SpindleParameters | None
    halves: HalvesParameters | None = None


def strut_masses(robot: Robot) -> tuple[StrutMasses, ...]:
    """m_e, m_x, m_c of the strut pairs."""
    return tuple(_strut_masses(robot, i) for i in range(robot.legs))


@remembered
def exact_parameters(robot: Robot) -> ExactParameters:
    """The exact model's parameters of a robot: its base parameters as numbers."""
    struts = strut_masses(robot)
    arm_inertia: list[float] = []
    gravity_moment: list[float] = []
    offset_moment: list[float] = []
    three = limbs(robot)
    for i, strut in enumerate(struts):
        arm: Arm | Carriage = robot.arms[i]
        rotor = robot.drives.output_inertia[i]
        if isinstance(arm, Carriage):
            arm_inertia.append(arm.mass + arm.counterweight + strut.m_e + rotor)
            gravity_moment.append(arm.mass - arm.counterweight + strut.m_e + strut.m_x)
            offset_moment.append(0.0)
            continue
        l1 = three[i].lever
        at_elbow = arm.elbow_mass + strut.m_e
        arm_inertia.append(arm.axis_inertia + at_elbow * l1**2 + rotor)
        gravity_moment.append(arm.mass * arm.com + (at_elbow + strut.m_x) * l1)
        offset_moment.append(arm.mass * arm.com_offset)
    return ExactParameters(
        limbs=three,
        gravity=robot.gravity,
        M_P=carried_mass(robot) + sum(strut.m_c for strut in struts),
        m_x=tuple(strut.m_x for strut in struts),
        A=tuple(arm_inertia),
        G=tuple(gravity_moment),
        G_s=tuple(offset_moment),
        spindle=spindle_parameters(robot),
        halves=halves_parameters(robot),
    )


def carried_mass(robot: Robot) -> float:
    """Platform, effector, payload and lower rod: what moves with the platform point (kg)."""
    lower = 0.0 if robot.spindle is None else robot.spindle.lower.mass
    return robot.platform.mass + robot.effector.mass + robot.payload.mass + lower


def spindle_parameters(robot: Robot) -> SpindleParameters | None:
    """Base parameters of the spindle, of what hangs on it, and of axis 4."""
    if robot.spindle is None:
        return None
    upper, lower = robot.spindle.upper, robot.spindle.lower
    kappa, mu = lower.mass * lower.com, upper.mass * upper.com
    h_x, h_y, about_axis = _about_psi(robot)
    return SpindleParameters(
        pivot_z=robot.spindle.pivot_z,
        H=mu * upper.com + upper.inertia + kappa * lower.com + lower.inertia,
        kappa=kappa,
        mu=mu,
        I_axial=upper.axial_inertia + lower.axial_inertia,
        h_x=h_x,
        h_y=h_y,
        I_psi=about_axis + robot.drives.output_inertia[3],
    )


def _about_psi(robot: Robot) -> tuple[float, float, float]:
    """First moments of effector and payload in the tool's frame (kg m), inertia about its axis."""
    effector, payload = robot.effector, robot.payload
    bodies = ((effector, effector.com), (payload, payload.offset))
    h_x, h_y = (sum(body.mass * place[k] for body, place in bodies) for k in range(2))
    inertia = sum(
        body.inertia_zz + body.mass * (place[0] ** 2 + place[1] ** 2) for body, place in bodies
    )
    return h_x, h_y, inertia


def halves_parameters(robot: Robot) -> HalvesParameters | None:
    """Base parameters of a platform of two halves; the struts' m_c move with their half.

    Along the bars everything counts per phi = psi/k: first moments once, the second twice.
    """
    platform = robot.platform
    if not isinstance(platform, ArticulatedPlatform | HelicalPlatform):
        return None
    rate = 1 / platform.ratio if isinstance(platform, ArticulatedPlatform) else 1.0
    S, S_s, squares = platform.moments()
    for i, strut in enumerate(strut_masses(robot)):
        sigma = platform.sigma[i // 2]
        S += strut.m_c * sigma
        squares += strut.m_c * sigma**2
    h_x, h_y, inertia = _about_psi(robot)
    return HalvesParameters(S, S_s, h_x, h_y, inertia + rate**2 * squares)


def _strut_masses(robot: Robot, i: int) -> StrutMasses:
    strut, length = robot.struts[i], robot.geometry.strut_length[i]
    m, f = strut.rods * strut.mass, strut.com_fraction
    k = strut.rods * strut.inertia / length**2
    return StrutMasses(m * (1 - f) ** 2 + k, m * f * (1 - f) - k, m * f**2 + k)
