"""The presets of the virtual test bench: every number, and the reason for it.

Amplitudes are relative to the robot, so that one preset fits every robot. With I the diagonal of
the mass matrix at the middle of the workspace, without payload and rotors, and J the rotor inertia
at the output side:

    reference torque = (I + J) 100 rad/s^2      near the rated torque of a drive that fits its robot

The numbers were set once, before any identification method was run on their recordings, so that
on the D3-1200 the best fit of a rigid model leaves what [gnad2024] measured (1.7 to 2.2 N m) and
the model M_KH errs as in [falezza2020] (standard deviation 20 to 24 N m).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from deltadyn.errors import InputError, RobotError, UnknownNameError
from deltadyn.robot.checks import Part, each, number

# Checks of settings: the robot's own rules, without blaming the robot.


def setting(path: str, value: Any, **limits: Any) -> float:
    """`value` as a finite float within limits, as `robot.checks.number`."""
    try:
        return number(path, value, **limits)
    except RobotError as error:
        raise InputError(error.quantity, error.value, error.allowed) from None


def settings(path: str, value: Any, count: int, **limits: Any) -> tuple[float, ...]:
    """One number for all, or `count` numbers, as `robot.checks.each`."""
    try:
        return each(path, value, count, **limits)
    except RobotError as error:
        raise InputError(error.quantity, error.value, error.allowed) from None


MOST = 4  # limbs of a robot
HOLDS = ("linear", "step")
NOT_NEGATIVE = (
    "rotor_inertia",
    "viscous",
    "coulomb",
    "stribeck",
    "viscous_drift",
    "coulomb_drift",
    "heating",
    "gear_damping",
    "ripple",
    "current_noise",
    "current_step",
    "jitter",
)
POSITIVE = (
    "stribeck_velocity",
    "smoothing",
    "heating_time",
    "gear_frequency",
    "ripple_waves",
    "saturation",
    "velocity_filter",
    "encoder_counts",
)
OPTIONAL = ("gear_frequency", "saturation", "velocity_filter", "encoder_counts")  # may be None


@dataclass(frozen=True)
class Preset(Part):
    """What makes a machine and its log differ from the nominal robot; the defaults change nothing.

    Every field is a switch of `simulate` too.
    """

    # The machine. Fields of the first three lines apply where the robot names none of its own.
    rotor_inertia: float = 0.0  # share of I
    viscous: float = 0.0  # share of the reference torque at 1 rad/s
    coulomb: float = 0.0  # share of the reference torque
    stribeck: float = 0.0  # above Coulomb at rest, share of the Coulomb torque
    stribeck_velocity: float = 0.3  # rad/s
    load: float = 0.0  # share of the torque through the gear that is lost
    smoothing: float = 0.02  # rad/s: Coulomb friction is Fc tanh(qd / smoothing)
    # Scales of the limbs are one number for all, or one each; without a number a limb has 1.
    friction_scale: tuple[float, ...] = (1.0, 1.0, 1.0)  # on the friction of each arm's drive
    arm_scale: tuple[float, ...] = (1.0, 1.0, 1.0)  # on mass and inertia of each arm
    strut_scale: tuple[float, ...] = (1.0, 1.0, 1.0)  # on mass and inertia of each strut

    # Temperature of the drives, whose friction is given at 25 degrees C.
    temperature: float = 25.0  # degrees C, at the start and around the robot
    viscous_drift: float = 0.0  # 1/K: Fv falls by exp(-drift (T - 25))
    coulomb_drift: float = 0.0  # 1/K: Fc and Fs alike
    heating: float = 0.0  # K/W: final rise over the surroundings per watt of friction
    heating_time: float = 1800.0  # s, time constant

    # Gears and motors.
    gear_frequency: float | None = None  # Hz: an arm and its rotor on their gear; None is rigid
    gear_damping: float = 0.03  # damping ratio of the same
    ripple: float = 0.0  # amplitude, share of the reference torque
    ripple_waves: float = 64.0  # per turn of the axis

    # The drive.
    hold: str = "linear"  # a torque command is reached by a ramp of one tick, or by a "step"
    delay: int = 0  # ticks from the command to the torque
    saturation: float | None = None  # share of the robot's peak torque, where it names one
    velocity_filter: float | None = None  # Hz, first order on the backward difference

    # The sensors and the log.
    encoder_counts: float | None = None  # per turn of the axis; None is exact
    current_noise: float = 0.0  # standard deviation, share of the reference torque
    current_step: float = 0.0  # resolution, share of the reference torque
    jitter: float = 0.0  # s, standard deviation of the instant at which a row is read
    dropped: float = 0.0  # share of the rows that never reach the log

    def __post_init__(self) -> None:
        for name in NOT_NEGATIVE:
            self._number(name, low=0.0)
        for name in POSITIVE:
            if name not in OPTIONAL or getattr(self, name) is not None:
                self._number(name, low=0.0, strict=True)
        for name in ("load", "dropped"):
            self._number(name, low=0.0, high=0.9)
        self._number("temperature", low=-273.15, unit="degrees C")
        for name in ("friction_scale", "arm_scale", "strut_scale"):
            self._set(**{name: _scales(f"preset.{name}", getattr(self, name))})
        if self.hold not in HOLDS:
            raise UnknownNameError("preset.hold", self.hold, HOLDS)
        if isinstance(self.delay, bool) or not isinstance(self.delay, int) or self.delay < 0:
            raise InputError("preset.delay", self.delay, "a whole number of ticks, at least 0")

    def _number(self, name: str, **limits: Any) -> None:
        self._set(**{name: setting(f"preset.{name}", getattr(self, name), **limits)})

    def with_switches(self, **switches: Any) -> Preset:
        """The same preset with other values of the named fields."""
        names = [item.name for item in fields(self)]
        for name in switches:
            if name not in names:
                raise UnknownNameError("switch", name, names)
        return replace(self, **switches)


def _scales(path: str, given: Any) -> tuple[float, ...]:
    """One number for all limbs, or 2 to 4, one for each."""
    count = MOST
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        count = len(given)
        if not 2 <= count <= MOST:
            allowed = f"one number, or 2 to {MOST} numbers, one for each limb"
            raise InputError(path, list(given), allowed)
    return settings(path, given, count, low=0.0, strict=True)


LAB = Preset(
    # A rotor matched to its load, as drives are chosen for fast moves: D3-1200 0.39 kg m^2.
    rotor_inertia=1.3,
    # Well lubricated gears, run in: half of what an industrial robot has.
    viscous=0.010,
    coulomb=0.030,
    friction_scale=(1.05, 0.95, 1.0),
    # Weighed and matched parts.
    arm_scale=(1.005, 0.995, 1.0),
    strut_scale=(1.005, 1.0, 0.995),
    # Stiff gears: far above the motion.
    gear_frequency=160.0,
    # Low-cogging motors behind a good gear.
    ripple=0.003,
    # One cycle of the bus, a current loop that reaches the peak torque.
    delay=1,
    saturation=1.0,
    velocity_filter=400.0,
    # A 20-bit motor encoder behind a gear of 32: 2^25 counts per turn of the axis.
    encoder_counts=2.0**25,
    # A 16-bit current sensor for plus and minus three times the reference torque.
    current_noise=0.0017,
    current_step=1e-4,
    # Distributed clocks.
    jitter=1e-7,
)

INDUSTRIAL = Preset(
    # As in the laboratory: falezza2020's M_KH, which knows no rotor, errs by 20 to 24 N m.
    rotor_inertia=1.3,
    # Sealed, greased gears: gnad2024 found 1.4 to 1.7 N m s/rad and 4.6 to 6.4 N m.
    viscous=0.020,
    coulomb=0.060,
    # A quarter more at rest, as textbooks have it, and a gear with 98 % efficiency.
    stribeck=0.25,
    stribeck_velocity=0.3,
    load=0.02,
    # No two gears are alike: gnad2024's three differ by 15 to 30 %.
    friction_scale=(1.1, 0.85, 1.05),
    # Castings and glued tubes vary by a few percent, and a cable hangs on the first arm.
    arm_scale=(1.04, 0.98, 1.0),
    strut_scale=(1.02, 1.0, 0.98),
    # Grease loses half of its viscosity over 35 K; a drive warms by 2 K per watt in half an hour.
    viscous_drift=0.02,
    coulomb_drift=0.004,
    heating=2.0,
    heating_time=1800.0,
    # A planetary gear: D3-1200 43 kN m/rad.
    gear_frequency=80.0,
    # Cogging and tooth meshing, two waves per turn of a motor behind a gear of 32.
    ripple=0.039,
    # Two cycles of the bus.
    delay=2,
    saturation=1.0,
    velocity_filter=200.0,
    # A 17-bit motor encoder behind a gear of 32: 2^22 counts per turn of the axis.
    encoder_counts=2.0**22,
    # A 12-bit current sensor for plus and minus four times the reference torque.
    current_noise=0.010,
    current_step=0.002,
    # A log that a PLC task writes beside the bus.
    jitter=1e-5,
    dropped=0.001,
)

PRESETS: Mapping[str, Preset] = {"ideal": Preset(), "lab": LAB, "industrial": INDUSTRIAL}


def preset_by_name(preset: str | Preset) -> Preset:
    """The preset of that name, or the preset itself."""
    if isinstance(preset, Preset):
        return preset
    try:
        return PRESETS[preset]
    except (KeyError, TypeError):
        raise UnknownNameError("preset", preset, PRESETS, or_else="a Preset") from None
