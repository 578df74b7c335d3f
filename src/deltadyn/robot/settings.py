"""What a robot has besides bodies: drives, friction, limits, sensors, the controller's convention.

Per-axis fields take one number for all axes or one number each; `Robot` fills them in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np

from deltadyn.errors import RobotError, UnknownNameError
from deltadyn.robot.checks import Part, each, number

W = TypeVar("W", bound="Wave")

#: Names of friction terms in regressors, and the fields of `Friction` that hold them.
FRICTION_FIELDS = {
    "Fv": "viscous",
    "Fc": "coulomb",
    "Fc+": "coulomb",
    "Fc-": "coulomb_negative",
    "Fs": "stribeck",
    "Ft": "thinning",
    "F0": "offset",
    "mu": "load",
    "mu_m": "motor_load",
}
WAVES = 4  # the most orders of ripple, and of eccentricity
STEEPEST = 0.5  # sum of order times amplitude of an encoder's eccentricity
ROTOR_SIDES = ("motor_side", "output_side")
PASSIVE_JOINTS = (
    "prismatic",  # between the telescope's two parts
    "elbow_swing",  # strut against arm, about the elbow axis
    "elbow_sway",  # strut against arm, out of the arm's plane
    "platform_swing",
    "platform_sway",
    "universal_fork",  # both universal joints of the spindle, about the fork axis
    "universal_cross",  # and about the cross axis
)
SPINDLE_JOINTS = ("prismatic", "universal_fork", "universal_cross")
LIMB_JOINTS = tuple(name for name in PASSIVE_JOINTS if name not in SPINDLE_JOINTS)


@dataclass(frozen=True)
class Wave(Part):
    """cos cos(order q) + sin sin(order q) per axis; `order` waves in a turn of the axis.

    Along a rail `order` is in rad/m: 2 pi over the wavelength.
    """

    order: float
    cos: Any = 0.0
    sin: Any = 0.0

    def checked(self, dof: int, path: str) -> Self:
        """The same wave with one value per axis; `path` names it in messages."""
        return replace(
            self,
            order=number(f"{path}.order", self.order, low=0.0, strict=True),
            cos=each(f"{path}.cos", self.cos, dof),
            sin=each(f"{path}.sin", self.sin, dof),
        )


def _checked_waves(waves: tuple[W, ...], dof: int, path: str) -> tuple[W, ...]:
    found = tuple(wave.checked(dof, f"{path}[{k}]") for k, wave in enumerate(waves))
    orders = [f"{wave.order:g}" for wave in found]  # as names have them
    for k, order in enumerate(orders):
        if order in orders[:k]:
            raise RobotError(f"{path}[{k}].order", found[k].order, "each order once")
    if len(found) > WAVES:
        raise RobotError(path, [wave.order for wave in found], f"at most {WAVES} orders")
    return found


@dataclass(frozen=True)
class Ripple(Wave):
    """Ripple of the drives in N m or N: cogging and tooth meshing. The drive must add it."""


def ripple_name(order: float, part: str, axis: int) -> str:
    """The name of an amplitude in regressors and fits: "ripple64.cos1"; `axis` counts from 0."""
    return f"ripple{order:g}.{part}{axis + 1}"


def is_ripple(name: str) -> bool:
    """Whether a parameter is an amplitude of ripple."""
    return name.startswith("ripple")


@dataclass(frozen=True)
class Drives(Part):
    """Gear ratio, rotor inertia and ripple; the inertia names the side on which it is given.

    The side may be left out where both are the same: no rotor inertia, or no gear. Behind the gear
    of a carriage a screw of this `lead` or a pulley of this `pulley_radius` turns into travel; the
    rotor's inertia at the output side is a mass then, in kg.
    Elastic gears swing in `simulate`, and wind up along a recording by its torque; inverse and
    forward dynamics are those of rigid gears.
    """

    gear_ratio: Any = 1.0
    rotor_inertia: Any = 0.0
    rotor_side: str | None = None  # one of ROTOR_SIDES
    ripple: tuple[Ripple, ...] = ()
    stiffness: Any | None = None  # N m/rad or N/m, between motor and arm; None: rigid
    damping: Any | None = None  # N m s/rad or N s/m, beside the stiffness
    lead: Any | None = None  # m of travel per turn of a screw, per arm
    pulley_radius: Any | None = None  # m, per arm

    def checked(self, dof: int, linear: int = 0) -> Drives:
        """The same drives with one value per axis; the first `linear` axes move carriages."""
        if self.lead is not None and self.pulley_radius is not None:
            raise RobotError("drives.pulley_radius", self.pulley_radius, "none beside drives.lead")
        travel: dict[str, Any] = {}
        for name in ("lead", "pulley_radius"):
            value = getattr(self, name)
            if value is not None and not linear:
                raise RobotError(f"drives.{name}", value, "only where carriages slide on rails")
            if value is not None:
                positive: dict[str, Any] = {"low": 0.0, "strict": True, "unit": "m"}
                travel[name] = each(f"drives.{name}", value, linear, **positive)
        if self.damping is not None and self.stiffness is None:
            raise RobotError("drives.stiffness", None, "given where drives.damping is")

        def gear(name: str, **limits: Any) -> tuple[float, ...] | None:
            value = getattr(self, name)
            return None if value is None else each(f"drives.{name}", value, dof, **limits)

        ratios = each("drives.gear_ratio", self.gear_ratio, dof, low=0.0, strict=True)
        side = self.rotor_side
        unit = "kg" if linear and side == "output_side" else "kg m^2"
        rotors = each("drives.rotor_inertia", self.rotor_inertia, dof, low=0.0, unit=unit)
        if side is None and not side_matters(ratios, rotors, linear):
            side = "output_side"
        if side not in ROTOR_SIDES:
            raise RobotError("drives.rotor_side", side, " or ".join(ROTOR_SIDES))
        if linear and side == "motor_side" and any(rotors[:linear]) and not travel:
            raise RobotError(
                "drives.lead",
                None,
                "lead or pulley_radius, where rotors have inertia at motor_side",
            )
        return Drives(
            gear_ratio=ratios,
            rotor_inertia=rotors,
            rotor_side=side,
            ripple=_checked_waves(tuple(self.ripple), dof, "drives.ripple"),
            stiffness=gear("stiffness", low=0.0, strict=True),
            damping=gear("damping", low=0.0),
            **travel,
        )

    @property
    def motor_turns(self) -> tuple[float, ...]:
        """Angle of the motor per unit of its axis: the gear ratio, over m of travel per rad."""
        turns = list(self.gear_ratio)
        for i, lead in enumerate(self.lead or ()):
            turns[i] /= lead / (2 * math.pi)
        for i, radius in enumerate(self.pulley_radius or ()):
            turns[i] /= radius
        return tuple(turns)

    @property
    def output_inertia(self) -> tuple[float, ...]:
        """Rotor inertia seen at the output side, per axis (kg m^2; kg for a carriage)."""
        if self.rotor_side == "output_side":
            return tuple(self.rotor_inertia)
        pairs = zip(self.motor_turns, self.rotor_inertia, strict=True)
        return tuple(ratio**2 * inertia for ratio, inertia in pairs)


def side_matters(ratios: Sequence[float], rotors: Sequence[float], linear: int = 0) -> bool:
    """Whether a rotor inertia means another thing at either side of its gear or screw."""
    if any(rotors[:linear]):
        return True
    pairs = zip(ratios, rotors, strict=True)
    return any(ratio != 1 and inertia != 0 for ratio, inertia in pairs)


@dataclass(frozen=True)
class PassiveFriction(Part):
    """Friction in a joint without a drive [gnad2024] eqs. 6-7; every joint of that name has it."""

    joint: str
    viscous: float = 0.0  # N s/m (prismatic) or N m s/rad
    coulomb: float = 0.0  # N or N m

    def __post_init__(self) -> None:
        if self.joint not in PASSIVE_JOINTS:
            raise UnknownNameError("friction.passive joint", self.joint, PASSIVE_JOINTS)
        path = f"friction.passive.{self.joint}"
        self._set(
            viscous=number(f"{path}.viscous", self.viscous, low=0.0),
            coulomb=number(f"{path}.coulomb", self.coulomb, low=0.0),
        )


@dataclass(frozen=True)
class Friction(Part):
    """Friction at the output side of each drive, and in passive joints.

    The drive must add Fv qd + Fc s(qd) + Fs s(qd) exp(-(qd/vs)^2) + Ft tanh(qd/vt) + offset
    + mu |load| s(qd) + mu_m |tau| s(qd), with the load through the gear, the motor's own torque
    tau, and s = sign, or tanh(qd / smoothing) where `smoothing` is given. A term that is None is
    not part of the robot's friction model and has no column in its regressor. A gear's loss is
    `load` or `motor_load`, not both.
    """

    viscous: Any = 0.0  # N m s/rad; of a carriage in N s/m, and so all terms below
    coulomb: Any = 0.0  # N m; for qd > 0 where `coulomb_negative` is given
    coulomb_negative: Any | None = None  # N m, for qd < 0
    stribeck: Any | None = None  # N m above Coulomb at rest
    stribeck_velocity: Any | None = None  # rad/s
    thinning: Any | None = None  # N m, of friction that rises less and less with the rate
    thinning_velocity: Any | None = None  # rad/s
    offset: Any | None = None  # N m
    load: Any | None = None  # share of the torque through the gear that is lost
    motor_load: Any | None = None  # share of the motor's own torque that is lost
    smoothing: float | None = None  # rad/s (m/s in the prismatic joint)
    passive: tuple[PassiveFriction, ...] = ()

    @property
    def absent(self) -> bool:
        """Whether no term has a value: a robot without friction, or a file that names none."""
        terms = [getattr(self, name) for name in set(FRICTION_FIELDS.values())]
        joints = [value for item in self.passive for value in (item.viscous, item.coulomb)]
        return not any(np.any(term) for term in (*terms, *joints) if term is not None)

    def checked(self, dof: int) -> Friction:
        """The same friction with one value per axis."""

        def axis(name: str, **limits: Any) -> tuple[float, ...] | None:
            value = getattr(self, name)
            return None if value is None else each(f"friction.{name}", value, dof, **limits)

        for term in ("stribeck", "thinning"):
            pair = (term, f"{term}_velocity")
            missing = [name for name in pair if getattr(self, name) is None]
            if len(missing) == 1:
                raise RobotError(f"friction.{missing[0]}", None, "given together with its partner")
        if self.load is not None and self.motor_load is not None:
            raise RobotError(
                "friction.motor_load", self.motor_load, "None beside friction.load: one of the two"
            )
        if self.smoothing is not None:
            number("friction.smoothing", self.smoothing, low=0.0, strict=True, unit="rad/s")
        names = [item.joint for item in self.passive]
        if len(set(names)) != len(names):
            raise RobotError("friction.passive", names, "each joint once")
        return Friction(
            viscous=each("friction.viscous", self.viscous, dof, low=0.0),
            coulomb=each("friction.coulomb", self.coulomb, dof, low=0.0),
            coulomb_negative=axis("coulomb_negative", low=0.0),
            stribeck=axis("stribeck", low=0.0),
            stribeck_velocity=axis("stribeck_velocity", low=0.0, strict=True),
            thinning=axis("thinning", low=0.0),
            thinning_velocity=axis("thinning_velocity", low=0.0, strict=True),
            offset=axis("offset"),
            load=axis("load", low=0.0, high=0.9),
            motor_load=axis("motor_load", low=0.0, high=0.9),
            smoothing=self.smoothing,
            passive=tuple(self.passive),
        )


@dataclass(frozen=True)
class Workspace(Part):
    """The cylinder that the robot may use: `radius` about the z axis, z_min up to z_max (m)."""

    radius: float
    z_min: float
    z_max: float

    def __post_init__(self) -> None:
        number("limits.workspace.radius", self.radius, low=0.0, strict=True, unit="m")
        low = number("limits.workspace.z_min", self.z_min)
        number("limits.workspace.z_max", self.z_max, low=low, strict=True, unit="m")


@dataclass(frozen=True)
class Limits(Part):
    """What the machine allows; None where nothing is known."""

    angle_min: Any | None = None  # rad; m where a carriage moves along a rail
    angle_max: Any | None = None
    rate: Any | None = None  # rad/s or m/s
    acceleration: Any | None = None  # rad/s^2 or m/s^2
    torque_peak: Any | None = None  # N m or N at the output side
    torque_rms: Any | None = None
    platform_speed: float | None = None  # m/s
    platform_acceleration: float | None = None  # m/s^2
    ball_joint_angle: float | None = None  # rad
    strut_force: float | None = None  # N, axial, in one rod
    workspace: Workspace | None = None
    payload: float | None = None  # kg
    cycles: float | None = None  # 1/min

    def checked(self, dof: int, linear: int = 0) -> Limits:
        """The same limits with one value per axis; `linear` where the arms are carriages."""
        changed: dict[str, Any] = {}
        for name in ("angle_min", "angle_max"):
            value = getattr(self, name)
            changed[name] = None if value is None else each(f"limits.{name}", value, dof)
        for name in ("rate", "acceleration", "torque_peak", "torque_rms"):
            value = getattr(self, name)
            positive = {"low": 0.0, "strict": True}
            changed[name] = (
                None if value is None else each(f"limits.{name}", value, dof, **positive)
            )
        for name in (
            "platform_speed",
            "platform_acceleration",
            "ball_joint_angle",
            "strut_force",
            "payload",
            "cycles",
        ):
            value = getattr(self, name)
            changed[name] = (
                None if value is None else number(f"limits.{name}", value, low=0.0, strict=True)
            )
        low, high = changed["angle_min"], changed["angle_max"]
        if low is not None and high is not None:
            for axis, (a, b) in enumerate(zip(low, high, strict=True)):
                if a >= b:
                    slides = axis < linear
                    below = f"position_min, {a:g} m" if slides else f"angle_min, {a:g} rad"
                    raise RobotError(f"limits.angle_max[{axis}]", b, f"above {below}")
        return Limits(workspace=self.workspace, **changed)


@dataclass(frozen=True)
class Controller(Part):
    """A controller's own angle of each axis: q_controller = sign * q + offset (rad or m)."""

    sign: Any = 1.0
    offset: Any = 0.0

    def checked(self, dof: int) -> Controller:
        """The same convention with one value per axis."""
        sign = each("controller.sign", self.sign, dof)
        for axis, value in enumerate(sign):
            if value not in (1.0, -1.0):
                raise RobotError(f"controller.sign[{axis}]", value, "1 or -1")
        return Controller(sign, each("controller.offset", self.offset, dof))


@dataclass(frozen=True)
class Eccentricity(Wave):
    """What the encoders add to the angle or place of their axis, in rad or m."""


@dataclass(frozen=True)
class Sensors(Part):
    """What the drives' own readings show of the truth, per axis.

    `torque_ratio` is the torque that a drive reports or takes over the true one. The encoders
    report q + `eccentricity` at q; this is part of the controller's own angle.
    """

    torque_ratio: Any = 1.0
    eccentricity: tuple[Eccentricity, ...] = ()

    def checked(self, dof: int) -> Sensors:
        """The same sensors with one value per axis."""
        ratio = each("sensors.torque_ratio", self.torque_ratio, dof, low=0.0, strict=True)
        waves = _checked_waves(tuple(self.eccentricity), dof, "sensors.eccentricity")
        for axis in range(dof):
            steep = sum(wave.order * math.hypot(wave.cos[axis], wave.sin[axis]) for wave in waves)
            if steep > STEEPEST:
                sum_text = f"order times amplitude of axis {axis + 1} at most {STEEPEST:g} in all"
                allowed = f"{sum_text}, not {steep:.3g}, so that one angle belongs to a reading"
                raise RobotError("sensors.eccentricity", [wave.order for wave in waves], allowed)
        return Sensors(ratio, waves)


@dataclass(frozen=True)
class GrayBox(Part):
    """Factors on the arm's inertia and on its gravity torque [falezza2020] eq. 6."""

    rho1: float = 1.0
    rho2: float = 1.0

    def __post_init__(self) -> None:
        self._set(
            rho1=number("gray_box.rho1", self.rho1, low=0.0, strict=True),
            rho2=number("gray_box.rho2", self.rho2),
        )


@dataclass(frozen=True)
class Source(Part):
    """Where a value of a robot file comes from, and whether it is an assumption of ours."""

    text: str
    assumed: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip():
            raise RobotError("source", self.text, "a text that says where the value comes from")
        if not isinstance(self.assumed, bool):
            raise RobotError("assumed", self.assumed, "True or False")
