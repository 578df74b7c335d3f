"""What can be wrong with a machine, by name, and how strong it usually is.

A cause changes the bodies and drives of a machine in the making. Its form is that of the physics,
not of a column of an identification: friction is set-valued, grease thins, oil warms up
exponentially, a disc is off its axis, limbs differ body by body.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .plant import LIMBS, Array, Bodies, Drive


@dataclass(frozen=True, eq=False)
class Draft:
    """A machine in the making: a cause changes its bodies and drives and says what it did."""

    bodies: Bodies
    drives: list[Drive]
    scale: Array  # N m, RMS torque of each axis in a random motion
    strength: float
    rng: np.random.Generator
    inertia: Array  # kg m^2, of each axis with its load, without rotor
    offset: Array  # N m, of the reported torque
    terms: set[str] = field(default_factory=set)
    numbers: dict[str, Any] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)

    def around(self, spread: float = 0.3, size: int | None = None) -> Array:
        """Factors about 1 that give each axis its own strength."""
        n = len(self.drives) if size is None else size
        return self.strength * self.rng.uniform(1 - spread, 1 + spread, n)

    def signs(self) -> Array:
        """A sign per axis, not all the same."""
        signs = self.rng.choice([-1.0, 1.0], len(self.drives))
        signs[int(self.rng.integers(3))] = -signs[:3].sum() / abs(signs[:3].sum())
        return signs


def _none(draft: Draft) -> None:
    """Nothing wrong: rigid gears, equal limbs, Coulomb and viscous friction."""


def _friction(draft: Draft) -> None:
    """Coulomb friction that differs by direction, and a Stribeck peak of Gaussian shape."""
    _asymmetric(draft)
    _stribeck(draft, power=2.0)


def _tustin(draft: Draft) -> None:
    """The same with a Stribeck peak that falls exponentially."""
    _asymmetric(draft)
    _stribeck(draft, power=1.0)


def _asymmetric(draft: Draft) -> None:
    shares = 0.115 * draft.around() * draft.signs()
    for drive, share in zip(draft.drives, shares, strict=True):
        drive.asymmetry = share
    draft.terms.add("offset")
    draft.numbers["asymmetry"] = shares


def _stribeck(draft: Draft, power: float) -> None:
    shares, rates = 0.35 * draft.around(), draft.rng.uniform(0.08, 0.3, len(draft.drives))
    for drive, share, rate in zip(draft.drives, shares, rates, strict=True):
        drive.stribeck, drive.stribeck_rate = share * drive.coulomb, rate
        drive.stribeck_power = power
    draft.terms.add("stribeck")
    draft.numbers.update({"stribeck": shares, "stribeck_rate": rates})


def _lugre(draft: Draft) -> None:
    """LuGre: bristles that bend before they slip, in place of set-valued friction."""
    _stribeck(draft, power=2.0)
    bend = draft.rng.uniform(3e-4, 1e-3, len(draft.drives))  # rad at the Coulomb level
    for drive, give, inertia in zip(draft.drives, bend, draft.inertia, strict=True):
        drive.bristle = drive.coulomb / give
        drive.bristle_damping = 0.5 * np.sqrt(drive.bristle * (inertia + drive.rotor))
    draft.numbers["bend"] = bend


def _thinning(draft: Draft) -> None:
    """Grease that thins under shear: an extra viscosity, halved at 1 to 2 rad/s."""
    share, rate = 2.0 * draft.around(), draft.rng.uniform(1.0, 2.0, len(draft.drives))
    for drive, extra, half in zip(draft.drives, share, rate, strict=True):
        drive.thinning, drive.thinning_rate = extra * drive.viscous, half
    draft.terms.add("thinning")
    draft.unclear.update(
        {f"{name}{i + 1}" for name in ("Fv", "Fc") for i in range(len(draft.drives))}
    )
    draft.numbers.update({"thinning": share, "thinning_rate": rate})


def _ripple(draft: Draft) -> None:
    """Cogging: two orders per turn, amplitude and phase of each axis its own."""
    order = int(draft.rng.integers(14, 45))
    orders = [order, 2 * order]
    for drive, scale, factor in zip(draft.drives, draft.scale, draft.around(), strict=True):
        for k, size in enumerate((0.03, 0.01)):
            drive.ripple[k] = size * factor * scale
            drive.ripple_order[k] = orders[k]
            drive.ripple_phase[k] = draft.rng.uniform(0, 2 * np.pi)
    draft.terms.update({f"ripple{n}" for n in orders})
    draft.numbers["orders"] = orders


def _load(draft: Draft) -> None:
    """A share of the torque through the gear is lost in it."""
    shares = 0.06 * draft.around(0.15)
    for drive, share in zip(draft.drives, shares, strict=True):
        drive.loss_load = share
    draft.terms.add("load")
    draft.numbers["loss"] = shares


def _motor_load(draft: Draft) -> None:
    """A share of the motor's torque is lost."""
    shares = 0.06 * draft.around(0.15)
    for drive, share in zip(draft.drives, shares, strict=True):
        drive.loss_motor = share
    draft.terms.add("motor_load")
    draft.numbers["loss"] = shares


def _drift(draft: Draft) -> None:
    """Viscous friction that falls while the oil warms up: exponential in time.

    The range is set about its mean over the log when the log is made.
    """
    shares, time = 0.4 * draft.around(0.2), float(draft.rng.uniform(0.25, 0.6))
    for drive, share in zip(draft.drives, shares, strict=True):
        drive.warm_range = share
    draft.terms.add("drift")
    draft.numbers.update({"drift": shares, "drift_time": time})


def _eccentric(draft: Draft) -> None:
    """Discs of the encoders that sit off their axes, at the motors' side of the gears."""
    sizes, turns = 0.1e-3 * draft.around(), int(draft.rng.integers(28, 65))
    for drive, size in zip(draft.drives, sizes, strict=True):
        drive.eccentricity, drive.encoder_ratio = size * turns, turns
        drive.eccentricity_phase = draft.rng.uniform(0, 2 * np.pi)
    draft.terms.add(f"eccentricity{turns}")
    draft.numbers.update({"eccentricity": sizes, "encoder_order": turns})


def _arms(draft: Draft) -> None:
    """Limbs that are not equal in mass and inertia."""
    b = draft.bodies
    for names, size in (
        (("arm_mass", "arm_inertia"), 0.06),
        (("arm_com",), 0.02),
        (("rod_mass", "rod_inertia"), 0.06),
    ):
        shares = size * draft.strength * _contrast(draft.rng, LIMBS)
        for name in names:
            values = getattr(b, name)
            for i in range(LIMBS):
                values[i] *= 1 + shares[i]
    rotors = 0.06 * draft.strength * _contrast(draft.rng, LIMBS)
    for drive, share in zip(draft.drives[:LIMBS], rotors, strict=True):
        drive.rotor *= 1 + share
    draft.terms.add("limbs")


def _constants(draft: Draft) -> None:
    """Torque constants of the arms' drives that differ; the assumed one is their mean."""
    ratio = 1 + 0.015 * draft.strength * _contrast(draft.rng, LIMBS)
    for drive, share in zip(draft.drives[:LIMBS], ratio, strict=True):
        drive.torque_constant = share
    draft.terms.add("torque_ratio")
    draft.numbers["torque_ratio"] = ratio


def _delay(draft: Draft) -> None:
    """The torque is logged later than the angle, or the angle later than the torque."""
    late = 1e-3 * draft.strength
    angle = bool(draft.rng.integers(2))
    for drive in draft.drives:
        drive.angle_delay, drive.torque_delay = (late, 0.0) if angle else (0.0, late)
    draft.terms.add("delay")
    draft.numbers["delay"] = -late if angle else late  # s, of the torque behind the angle


def _offset(draft: Draft) -> None:
    """The torque reported is off by a constant."""
    draft.offset[:] = 0.0145 * draft.scale * draft.around() * draft.signs()
    draft.terms.add("offset")
    draft.numbers["offset"] = draft.offset.copy()


def _geometry(draft: Draft) -> None:
    """Arms, rods, radii and azimuths that are not those of the drawing."""
    for name, size in (("arm", 4e-4), ("rod", 4e-4), ("base_radius", 4e-4), ("azimuth", 3e-3)):
        values, errors = getattr(draft.bodies, name), draft.rng.standard_normal(LIMBS)
        for i in range(LIMBS):
            values[i] += draft.strength * size * errors[i]
        draft.numbers[name] = draft.strength * size * errors
    draft.terms.add("geometry")


def _payload(draft: Draft) -> None:
    """Something at the platform that the robot file does not know."""
    mass = 0.5 * draft.strength * draft.bodies.platform_mass * draft.rng.uniform(0.7, 1.3)
    draft.bodies.payload_mass += mass
    draft.numbers["payload"] = mass


def _elastic(draft: Draft) -> None:
    """Springs between rotors and arms; friction, ripple and losses stay at the rotors."""
    # one stiffness for the arms; with the rotor held they swing at 45 Hz where the strength is 1
    inertia = draft.inertia.copy()
    inertia[:LIMBS] = np.mean(inertia[:LIMBS])
    for drive, load in zip(draft.drives, inertia, strict=True):
        drive.rotor = max(drive.rotor, 0.25 * load)  # a lighter one could not be controlled
        drive.stiffness = load * (2 * np.pi * 45.0) ** 2 / draft.strength
        both = load * drive.rotor / (load + drive.rotor)
        drive.damping = 2 * 0.05 * np.sqrt(drive.stiffness * both)
    draft.terms.add("elastic")
    draft.numbers["compliance"] = np.array([1 / drive.stiffness for drive in draft.drives])


def _belt(draft: Draft) -> None:
    """Belts: springs that grow stiffer with their wind-up and creep."""
    _elastic(draft)
    for drive, scale in zip(draft.drives, draft.scale, strict=True):
        drive.hardening = 4 * scale / drive.stiffness  # 25 % more at twice the RMS torque
        drive.creep_stiffness, drive.creep_time = 0.15 * drive.stiffness, 0.02


def _hysteresis(draft: Draft) -> None:
    """Part of the Coulomb friction builds up over an angle after each reversal."""
    share, bends = 0.25 * draft.around(0.2), (0.005, 0.015, 0.04, 0.1)
    for drive, part in zip(draft.drives, share, strict=True):
        slipping = min(part, 0.9) * drive.coulomb
        drive.coulomb -= slipping
        for k, bend in enumerate(bends):
            drive.slip_torque[k] = slipping / len(bends)
            drive.slip_stiffness[k] = drive.slip_torque[k] / bend
    draft.terms.add("hysteresis")
    draft.numbers["hysteresis"] = share


def _coloured(draft: Draft) -> None:
    """Noise of the torque with a correlation of 5 ms, beside the white one."""
    draft.numbers["coloured"] = 0.01 * draft.strength


Cause = Callable[[Draft], None]

SINGLE: dict[str, Cause] = {
    "none": _none,
    "friction": _friction,
    "tustin": _tustin,
    "lugre": _lugre,
    "thinning": _thinning,
    "ripple": _ripple,
    "load": _load,
    "motor-load": _motor_load,
    "drift": _drift,
    "ecc": _eccentric,
    "arms": _arms,
    "kt": _constants,
    "delay": _delay,
    "offset": _offset,
    "geom": _geometry,
    "payload": _payload,
    "elastic": _elastic,
    "belt": _belt,
    "hysteresis": _hysteresis,
    "coloured": _coloured,
}
ALL = ("friction", "ripple", "load", "drift", "ecc", "arms", "kt", "delay", "offset")
#: Every cause by name; "all" is those of `ALL` together.
CAUSES = (*SINGLE, "all")


def _contrast(rng: np.random.Generator, n: int) -> Array:
    """Numbers of sum 0 and RMS 1."""
    x = rng.standard_normal(n)
    x -= x.mean()
    scaled: Array = x / np.sqrt(np.mean(x**2))
    return scaled
