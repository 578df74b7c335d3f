"""Friction, ripple and temperature of the drives, one sample at a time on floats.

Written on its own, beside `dynamics.friction`: what identification fits is not what made the data.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deltadyn.robot import Robot
from deltadyn.simulation.plant.machine import Machine
from deltadyn.simulation.plant.numerics import Floats, Rows, solve_symmetric, times_symmetric

REFERENCE_TEMPERATURE = 25.0  # degrees C, at which the robot's friction holds
TRIES = 3  # of the signs that the loads themselves suggest, before all are tried
RIPPLE_PHASE = 2.4  # rad from axis to axis: no two axes ripple together


@dataclass(frozen=True)
class AxisFriction:
    """Friction of one drive at 25 degrees C; sign(qd) is tanh(qd / smoothing)."""

    viscous: float  # N m s/rad
    positive: float  # N m, Coulomb for qd > 0
    negative: float  # N m, for qd < 0
    stribeck: float  # N m
    stribeck_velocity: float  # rad/s
    thinning: float  # N m
    thinning_velocity: float  # rad/s
    offset: float  # N m
    load: float  # share of the torque through the gear
    motor_load: float  # share of the motor's own torque
    smoothing: float  # rad/s

    def torque(self, qd: float, warm: tuple[float, float]) -> float:
        """What the drive must add without the gear's loss; `warm` scales grease and Fc, in N m."""
        s = math.tanh(qd / self.smoothing)
        dry = self.positive if s > 0 else self.negative
        if self.stribeck:
            ratio = qd / self.stribeck_velocity
            dry += self.stribeck * math.exp(-ratio * ratio)
        fluid = self.viscous * qd
        if self.thinning:
            fluid += self.thinning * math.tanh(qd / self.thinning_velocity)
        return warm[0] * fluid + warm[1] * dry * s + self.offset

    def loss(self, qd: float) -> float:
        """mu s: the share of |load| that the gear loses, with the sign of the motion."""
        return self.load * math.tanh(qd / self.smoothing) if self.load else 0.0

    def motor_loss(self, qd: float) -> float:
        """mu_m s: the share of its own |torque| that the motor loses, with the motion's sign."""
        return self.motor_load * math.tanh(qd / self.smoothing) if self.motor_load else 0.0


class Drivetrain:
    """The drives of a machine; the temperature of each is its only state."""

    def __init__(self, machine: Machine) -> None:
        self.axes = _axes(machine)
        self.lossy = any(axis.load for axis in self.axes)
        self.heavy = any(axis.motor_load for axis in self.axes)
        self.waves = machine.robot.drives.ripple
        self.rotor: Floats = tuple(machine.robot.drives.output_inertia)
        self.amplitude: Floats = tuple(machine.ripple.tolist())
        self.rippled = any(self.amplitude) or bool(self.waves)
        self.preset = machine.preset
        self.waves_per = tuple(machine.preset.ripple_waves / x for x in machine.robot.radian)
        self.temperature = [machine.preset.temperature] * len(self.axes)
        self.warm = [self._warmth(value) for value in self.temperature]

    def friction(self, qd: Floats, torque: Floats | None = None) -> list[float]:
        """Friction of all drives without the gears' loss, (dof,) in N m.

        With the motors' torque the share of it that they lose is in it.
        """
        pairs = zip(self.axes, qd, self.warm, strict=True)
        rubbed = [axis.torque(rate, warm) for axis, rate, warm in pairs]
        if not self.heavy or torque is None:
            return rubbed
        shares = zip(rubbed, self.axes, qd, torque, strict=True)
        return [f + axis.motor_loss(rate) * abs(tau) for f, axis, rate, tau in shares]

    def motor_torque(self, needed: list[float], qd: Floats) -> Floats:
        """tau with tau - mu_m s |tau| = needed: what the motors give, (dof,) in N m."""
        pairs = zip(needed, self.axes, qd, strict=True)
        return tuple(
            x / (1 - math.copysign(1.0, x) * axis.motor_loss(rate)) for x, axis, rate in pairs
        )

    def losses(self, qd: Floats) -> list[float]:
        """mu s of all gears (dof,)."""
        return [axis.loss(rate) for axis, rate in zip(self.axes, qd, strict=True)]

    def ripple(self, q: Floats) -> list[float]:
        """Ripple torque of the motors at their own angles, (dof,) in N m."""
        own = self.own_ripple(q)
        axes = zip(self.amplitude, self.waves_per, q, strict=True)
        return [
            size * math.sin(waves * angle + RIPPLE_PHASE * axis) - own[axis]
            for axis, (size, waves, angle) in enumerate(axes)
        ]

    def own_ripple(self, q: Floats) -> list[float]:
        """The robot's own ripple, which the drives must add, (dof,) in N m."""
        total = [0.0] * len(q)
        for wave in self.waves:
            for i, angle in enumerate(q):
                phase = wave.order * angle
                total[i] += wave.cos[i] * math.cos(phase) + wave.sin[i] * math.sin(phase)
        return total

    def heat(self, power: list[float], dt: float) -> None:
        """Warm up under a friction power (W) per axis: towards the surroundings + heating power."""
        preset = self.preset
        if not preset.heating:
            return
        step = -math.expm1(-dt / preset.heating_time)
        for i, watts in enumerate(power):
            final = preset.temperature + preset.heating * watts
            self.temperature[i] += step * (final - self.temperature[i])
        if preset.viscous_drift or preset.coulomb_drift:
            self.warm = [self._warmth(value) for value in self.temperature]

    def _warmth(self, temperature: float) -> tuple[float, float]:
        rise = temperature - REFERENCE_TEMPERATURE
        preset = self.preset
        return math.exp(-preset.viscous_drift * rise), math.exp(-preset.coulomb_drift * rise)


def accelerations_with_losses(
    M: Rows, needed: list[float], given: list[float], losses: list[float], rotor: Floats
) -> list[float]:
    """qdd of given = J qdd + load + mu s |load| with load = (M - J) qdd + needed.

    Divided by 1 + mu s sign(load), this is symmetric; exactly one pattern of signs fits.
    """
    n = len(given)
    small = 1e-9 * max(map(abs, given))
    signs: Floats = tuple(math.copysign(1.0, value) for value in given)
    patterns = itertools.chain([None] * TRIES, itertools.product((1.0, -1.0), repeat=n))
    for pattern in patterns:
        signs = pattern or signs
        passed = [1 / (1 + a * b) for a, b in zip(losses, signs, strict=True)]
        matrix = [row[:] for row in M]
        for i in range(n):
            matrix[i][i] += rotor[i] * (passed[i] - 1)
        right = [t * k - a for t, k, a in zip(given, passed, needed, strict=True)]
        qdd = solve_symmetric(matrix, right)
        turned = zip(times_symmetric(M, qdd), rotor, qdd, needed, strict=True)
        load = [a - j * x + b for a, j, x, b in turned]
        settled = tuple(math.copysign(1.0, value) for value in load)
        checks = zip(settled, signs, load, losses, strict=True)
        if all(a == b or abs(x) <= small or not mu for a, b, x, mu in checks):
            return qdd
        signs = settled
    raise ArithmeticError("no direction of the gears' loads is consistent")


def _axes(machine: Machine) -> list[AxisFriction]:
    friction, dof = machine.robot.friction, machine.robot.dof

    def values(given: Any, default: float) -> Floats:
        return (default,) * dof if given is None else tuple(given)

    positive = friction.coulomb
    negative = positive if friction.coulomb_negative is None else friction.coulomb_negative
    smoothing = friction.smoothing
    if smoothing is None:
        smoothing = machine.preset.smoothing * machine.robot.radian[0]
    columns = (
        friction.viscous,
        positive,
        negative,
        values(friction.stribeck, 0.0),
        values(friction.stribeck_velocity, 1.0),
        values(friction.thinning, 0.0),
        values(friction.thinning_velocity, 1.0),
        values(friction.offset, 0.0),
        values(friction.load, 0.0),
        values(friction.motor_load, 0.0),
        (smoothing,) * dof,
    )
    return [AxisFriction(*axis) for axis in zip(*columns, strict=True)]


# Elastic gears of the arms: a spring and a damper between each motor and its arm.
#
# The drive of the spindle is rigid.


@dataclass(frozen=True)
class Gears:
    """Stiffness (N m/rad) and damping (N m s/rad) of elastic gears; empty where all are rigid."""

    stiffness: Floats
    damping: Floats

    @classmethod
    def of(cls, machine: Machine) -> Gears:
        """The elastic gears of a machine."""
        if machine.stiffness is None or machine.damping is None:
            return cls((), ())
        return cls(tuple(machine.stiffness.tolist()), tuple(machine.damping.tolist()))

    def torque(
        self,
        q: Sequence[float],
        qd: Sequence[float],
        q_motor: Sequence[float],
        qd_motor: Sequence[float],
    ) -> tuple[list[float], list[float]]:
        """K (q_m - q) and D (qd_m - qd), which the gears pass on to the arms, in N m."""
        twists = zip(self.stiffness, q_motor, q, strict=False)
        slips = zip(self.damping, qd_motor, qd, strict=False)
        return [k * (a - b) for k, a, b in twists], [d * (a - b) for d, a, b in slips]


def bearing(robot: Robot, motors: int) -> Robot:
    """What the mechanism bears: the robot without the rotors behind its first elastic gears."""
    if not motors:
        return robot
    rotor = robot.drives.output_inertia
    return robot.with_rotor_inertia(((0.0,) * motors) + rotor[motors:])
