"""The real machine behind the bench, and what the bench asks of a plant that moves it.

A machine is the nominal robot with what a preset does to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import equations_of_motion
from deltadyn.errors import DeltadynError, InputError
from deltadyn.kinematics.assemblies import home_pose
from deltadyn.kinematics.forward import forward_kinematics
from deltadyn.kinematics.inverse import inverse_kinematics
from deltadyn.kinematics.state import State
from deltadyn.kinematics.workspace import SINGULARITY_MARGIN, WorkspaceRules, workspace
from deltadyn.robot import Robot
from deltadyn.robot.bodies import Arm, Carriage, Strut, TenParameters
from deltadyn.robot.checks import ARMS
from deltadyn.robot.settings import Friction
from deltadyn.simulation.plant.numerics import Floats
from deltadyn.simulation.presets import Preset

REFERENCE_ACCELERATION = 100.0  # rad/s^2, of an arm or what stands for it on rails
DIRECT_DRIVE = 0.1  # rotor over arm inertia, below which a drive has no gear
FALLBACK_ANGLES = (0.3, 0.6, 0.9, 0.0, 1.2)  # rad, of all arms


@dataclass(frozen=True, eq=False)
class Machine:
    """The robot as it is, and the gears of its arms.

    `robot` holds rotors, friction at 25 degrees C and unequal limbs. Where `stiffness` is None the
    gears are rigid. On rails the arms' torques are forces in N, and a rad is a metre.
    """

    robot: Robot
    preset: Preset
    reference_torque: FloatArray  # (dof,), N m
    stiffness: FloatArray | None  # (legs,), N m/rad
    damping: FloatArray | None  # (legs,), N m s/rad
    ripple: FloatArray  # (dof,), N m

    @property
    def encoder_step(self) -> FloatArray | None:
        """What one count of the encoders is on each axis (dof,), in rad; None where exact."""
        counts = self.preset.encoder_counts
        return None if counts is None else 2 * np.pi / counts * np.asarray(self.robot.radian)


def build_machine(robot: Robot, preset: Preset) -> Machine:
    """The machine that a preset makes of a nominal robot."""
    inertia = axis_inertia(robot)
    rotor = np.asarray(robot.drives.output_inertia)
    rotor = np.where(rotor > 0, rotor, preset.rotor_inertia * inertia)
    reference = (inertia + rotor) * REFERENCE_ACCELERATION * np.asarray(robot.radian)
    changes: dict[str, Any] = {"friction": _friction(robot, preset, reference)}
    arms, struts = (_limb_scales(robot, name) for name in (preset.arm_scale, preset.strut_scale))
    if any(scale != 1 for scale in arms):
        changes["arms"] = tuple(map(_scaled_arm, robot.arms, arms))
    if any(scale != 1 for scale in struts):
        changes["struts"] = tuple(map(_scaled_strut, robot.struts, struts))
    real = robot.replace(**changes)
    if not np.array_equal(rotor, robot.drives.output_inertia):
        real = real.with_rotor_inertia(rotor)
    stiffness, damping = _gears(robot, preset, inertia[: robot.legs], rotor[: robot.legs])
    return Machine(real, preset, reference, stiffness, damping, preset.ripple * reference)


def axis_inertia(robot: Robot) -> FloatArray:
    """Inertia (dof,) at each drive while the others hold still, in kg m^2 (kg on rails).

    At the middle of the workspace, without payload and rotors; the arms have their mean.
    """
    bare = robot.with_payload(0.0).with_rotor_inertia((0.0,) * robot.dof)
    state = State.from_joints(bare, home_angles(robot))
    inertia: FloatArray = np.diagonal(equations_of_motion(bare, state).M).copy()
    inertia[: robot.legs] = inertia[: robot.legs].mean()
    return inertia


def home_angles(robot: Robot) -> FloatArray:
    """Joint angles (dof,) on the axis of the robot, in the middle of its workspace."""
    if robot.legs != ARMS:
        return inverse_kinematics(robot, home_pose(robot))
    cylinder = robot.limits.workspace
    if cylinder is not None:
        middle: float | None = (cylinder.z_min + cylinder.z_max) / 2
    else:
        middle = _middle_of_axis(robot) if robot.linear else None
    if middle is not None:
        p = np.zeros(robot.dof)
        p[2] = middle
        q = inverse_kinematics(robot, p, unreachable="nan")
        if np.isfinite(q).all():
            return q
    for angle in FALLBACK_ANGLES:
        q = np.zeros(robot.dof)
        q[:3] = angle
        if np.isfinite(forward_kinematics(robot, q, unreachable="nan")).all():
            return q
    raise InputError("robot", robot.name, "a robot that reaches points on its axis")


def _middle_of_axis(robot: Robot) -> float | None:
    """The middle of what the robot reaches of its axis (m), where rails begin anywhere."""
    rules = WorkspaceRules(singularity=SINGULARITY_MARGIN)
    heights = workspace(robot, rules=rules, heights=2, azimuths=3).heights
    return float(heights.mean()) if heights.size else None


def _gears(
    robot: Robot, preset: Preset, inertia: FloatArray, rotor: FloatArray
) -> tuple[FloatArray | None, FloatArray | None]:
    """Stiffness and damping (legs,) of the limbs' gears: own ones, or K = (2 pi f)^2 I J / (I + J).

    A rotor much lighter than its arm sits behind no gear of a preset: such drives are rigid.
    """
    own = robot.drives
    if own.stiffness is not None:
        if not (rotor > 0).all():
            allowed = "above 0 on the arms, where drives.stiffness is given"
            raise InputError("drives.rotor_inertia", rotor.tolist(), allowed)
        reduced = inertia * rotor / (inertia + rotor)
        stiffness = np.asarray(own.stiffness[: robot.legs])
        damping = 2 * preset.gear_damping * np.sqrt(stiffness * reduced)
        return stiffness, damping if own.damping is None else np.asarray(own.damping[: robot.legs])
    if preset.gear_frequency is None or np.any(rotor < DIRECT_DRIVE * inertia):
        return None, None
    omega, reduced = 2 * np.pi * preset.gear_frequency, inertia * rotor / (inertia + rotor)
    return omega**2 * reduced, 2 * preset.gear_damping * omega * reduced


def _friction(robot: Robot, preset: Preset, reference: FloatArray) -> Friction:
    """The robot's own friction where it has some, else the preset's, other on each axis."""
    own, scale = robot.friction, np.ones(robot.dof)
    scale[: robot.legs] = _limb_scales(robot, preset.friction_scale)
    radian = np.asarray(robot.radian)

    def level(given: Any, share: Any) -> FloatArray:
        values = np.asarray(given)
        out: FloatArray = scale * (values if values.any() else share * reference)
        return out

    coulomb = level(own.coulomb, preset.coulomb)
    viscous = level(own.viscous, preset.viscous / radian)
    changes: dict[str, Any] = {"viscous": viscous, "coulomb": coulomb}
    if own.coulomb_negative is not None:
        changes["coulomb_negative"] = scale * np.asarray(own.coulomb_negative)
    if own.stribeck is not None:
        changes["stribeck"] = scale * np.asarray(own.stribeck)
    elif preset.stribeck > 0:
        changes["stribeck"] = preset.stribeck * coulomb
        changes["stribeck_velocity"] = preset.stribeck_velocity * radian
    if own.thinning is not None:
        changes["thinning"] = scale * np.asarray(own.thinning)
    if own.load is None and own.motor_load is None and preset.load > 0:
        changes["load"] = preset.load
    if own.smoothing is None:
        changes["smoothing"] = preset.smoothing * robot.radian[0]
    return replace(own, **changes).checked(robot.dof)


def _limb_scales(robot: Robot, scales: tuple[float, ...]) -> tuple[float, ...]:
    """One number for each limb; a limb for which the preset has none is as the robot has it."""
    return (*scales, *(1.0,) * robot.legs)[: robot.legs]


def _scaled_arm(arm: Arm | Carriage, scale: float) -> Arm | Carriage:
    if isinstance(arm, Carriage):
        return replace(arm, mass=scale * arm.mass)
    return replace(
        arm,
        mass=scale * arm.mass,
        inertia=scale * arm.inertia,
        elbow_mass=scale * arm.elbow_mass,
    )


def _scaled_strut(strut: Strut, scale: float) -> Strut:
    ten = strut.ten
    if ten is not None:
        h, inertia = np.multiply(scale, ten.first_moment), np.multiply(scale, ten.inertia)
        ten = TenParameters(scale * ten.mass, tuple(h), tuple(inertia))
    return replace(strut, mass=scale * strut.mass, inertia=scale * strut.inertia, ten=ten)


# What the bench asks of a plant, and what a plant tells at a tick.


class Sample(NamedTuple):
    """The true state of the machine at a tick, each (dof,).

    q, qd, qdd are at the arms, the motor's beside them (the same where the gears are rigid).
    """

    q: Floats
    qd: Floats
    qdd: Floats
    q_motor: Floats
    qd_motor: Floats
    p: Floats
    tau: Floats  # N m, from the current, without ripple
    ripple: Floats  # N m
    friction: Floats  # N m, of the drives, with the gears' loss
    passive: Floats  # N m, what friction in the passive joints asks of the drives
    temperature: Floats  # degrees C
    work: Floats  # J so far, as in `Work`


class Work(NamedTuple):
    """Energy so far, in J: what went in, and what friction and gear damping took out."""

    drives: float
    ripple: float
    external: float
    friction: float
    damping: float


class PlantStoppedError(DeltadynError):
    """The plant cannot go on; the run ends with a status that says why."""


class Plant(Protocol):
    """A machine in motion; every tick has the same length.

    Torques are (dof,) in N m and go linearly from `start` to `end` within a tick, the external
    wrench (dof,) on the platform is constant.
    """

    machine: Machine

    @property
    def q_motor(self) -> Floats:
        """The angles that the encoders see (dof,), in rad."""

    @property
    def arms(self) -> tuple[Floats, Floats]:
        """Angles and rates at the arms, each (dof,), in rad and rad/s."""

    def sample(self, torque: Floats, wrench: Floats) -> Sample:
        """The state now, under this torque."""

    def advance(self, start: Floats, end: Floats, wrench: Floats) -> Sample:
        """Go one tick further; the state at its beginning."""

    def carry(self, robot: Robot) -> None:
        """Go on with this robot: another payload, everything else the same."""
