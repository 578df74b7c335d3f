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

from deltadyn.kinematics.limbs import Limb, limbs
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Carriage
from deltadyn.robot.robot import remembered

Three = tuple[Any, Any, Any]

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


@dataclass(frozen=True)
class ExactParameters:
    """Everything that the exact model needs; the fields may be floats or symbols."""

    limbs: tuple[Limb, Limb, Limb]
    gravity: Any
    M_P: Any  # kg
    m_x: Three  # kg
    A: Three  # kg m^2; kg on rails
    G: Three  # kg m; kg on rails
    G_s: Three  # kg m, the arm's COM above its line
    spindle: SpindleParameters | None


def strut_masses(robot: Robot) -> tuple[StrutMasses, StrutMasses, StrutMasses]:
    """m_e, m_x, m_c of the three strut pairs."""
    first, second, third = (_strut_masses(robot, i) for i in range(3))
    return first, second, third


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
        m_x=(struts[0].m_x, struts[1].m_x, struts[2].m_x),
        A=_three(arm_inertia),
        G=_three(gravity_moment),
        G_s=_three(offset_moment),
        spindle=spindle_parameters(robot),
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
    effector, payload = robot.effector, robot.payload
    kappa, mu = lower.mass * lower.com, upper.mass * upper.com
    about_axis = (
        effector.inertia_zz
        + effector.mass * (effector.com[0] ** 2 + effector.com[1] ** 2)
        + payload.inertia_zz
        + payload.mass * (payload.offset[0] ** 2 + payload.offset[1] ** 2)
    )
    return SpindleParameters(
        pivot_z=robot.spindle.pivot_z,
        H=mu * upper.com + upper.inertia + kappa * lower.com + lower.inertia,
        kappa=kappa,
        mu=mu,
        I_axial=upper.axial_inertia + lower.axial_inertia,
        h_x=effector.mass * effector.com[0] + payload.mass * payload.offset[0],
        h_y=effector.mass * effector.com[1] + payload.mass * payload.offset[1],
        I_psi=about_axis + robot.drives.output_inertia[3],
    )


def _strut_masses(robot: Robot, i: int) -> StrutMasses:
    strut, length = robot.struts[i], robot.geometry.strut_length[i]
    m, f = strut.rods * strut.mass, strut.com_fraction
    k = strut.rods * strut.inertia / length**2
    return StrutMasses(m * (1 - f) ** 2 + k, m * f * (1 - f) - k, m * f**2 + k)


def _three(values: list[float]) -> Three:
    return (values[0], values[1], values[2])
