"""What the symbols of parameters mean, each said once: for tables that engineers read."""

from __future__ import annotations

import re

from deltadyn.dynamics.rigid import LIMBS

#: Symbols without a number.
ALONE = {
    "M_P": "mass that moves with the platform: platform, effector, lower rod, share of the struts",
    "m_P": "mass that moves with the platform",
    "T_g": "gravity torque of a horizontal arm with its share of the strut",
    "rho1": "factor on the inertia of arms and struts in the robot file",
    "rho2": "factor on the gravity of arms and struts in the robot file",
    "H": "inertia of both spindle rods about their own joints",
    "kappa": "first moment of the lower spindle rod: mass times distance of its COM",
    "mu": "first moment of the upper spindle rod: mass times distance of its COM",
    "I_axial": "inertia of the spindle about its own axis",
    "h_x": "first moment of effector and payload along its x axis",
    "h_y": "first moment of effector and payload along its y axis",
    "I_psi": "inertia of effector, payload and rotor about the axis of psi",
    "S": "first moment of the platform's halves and bars along their way, with the struts' share",
    "S_s": "first moment of what sits on the bars between the halves, across them",
    "delay": "time by which the torque is logged later than the angle",
}
#: Symbols with the number of an arm behind them, or of all arms alike without one.
LIMB = {
    "m_x": "mass that couples elbow and platform through the struts (a sixth of uniform rods)",
    "A": "inertia about the motor axis: arm, rotor at the output, the struts' share at the elbow",
    "G": "gravity moment of arm and struts about the motor axis, along the arm",
    "G_s": "gravity moment of the arm across its line, where its COM is off it",
    "I": "inertia about the motor axis",
}
#: The same on rails.
RAIL = LIMB | {
    "A": "mass along the rail: carriage, counterweight, rotor at the output, the struts' share",
    "G": "weight along the rail over g: carriage less counterweight, the struts' share",
}
#: Symbols with the number of an axis behind them.
AXIS = {
    "Fv": "viscous friction of the drive",
    "Fc": "Coulomb friction of the drive",
    "Fc+": "Coulomb friction of the drive, forward",
    "Fc-": "Coulomb friction of the drive, backward",
    "Fs": "Stribeck friction: what is above Coulomb near rest",
    "Ft": "friction that rises less than linearly with the rate",
    "F0": "constant offset of the torque",
    "mu": "share of the torque through the gear that is lost",
    "mu_m": "share of the motor's torque that is lost",
    "rotor": "rotor inertia at the output of the gear",
    "homing": "angle by which the arm stands off its logged angle",
    "base_radius": "error of the base radius",
    "arm_length": "error of the arm's length",
    "strut_length": "error of the strut's length",
    "azimuth": "error of the azimuth",
}
BODIES = {
    "arm": "arm",
    "carriage": "carriage",
    "counterweight": "counterweight",
    "strut": "strut pair",
    "platform": "platform",
    "half_a": "half of the platform at limbs 1 and 2",
    "half_b": "half of the platform at limbs 3 and 4",
    "bars": "bars between the halves",
    "upper": "upper spindle rod",
    "lower": "lower spindle rod",
    "effector": "effector with payload",
}
ENTRIES = {
    "m": "mass of the {}",
    "mc": "first moment of the {} along {}",
    "I": "inertia of the {}, entry {}",
}
#: Joints without a drive.
JOINTS = {
    "prismatic": "between the spindle's rods",
    "elbow_swing": "of the elbows, in the arm's plane",
    "elbow_sway": "of the elbows, across the arm's plane",
    "platform_swing": "of the platform's ball joints, in the arm's plane",
    "platform_sway": "of the platform's ball joints, across the arm's plane",
    "universal_fork": "of the spindle's universal joints, about the fork",
    "universal_cross": "of the spindle's universal joints, about the cross",
}
WAVES = {"ripple": "torque ripple", "eccentricity": "eccentric encoder"}
_WAVE = re.compile(r"(ripple|eccentricity)(\d+)\.(cos|sin)(\d)")
_OTHER = re.compile(r"other\.(.+)\.(\d)")


def meaning(name: str, linear: bool = False) -> str:
    """What a parameter is, in a few words; empty for a name that is not known.

    `linear` where carriages on rails move the limbs.
    """
    if name in ALONE:
        return ALONE[name]
    if found := _WAVE.fullmatch(name):
        kind, order, wave, axis = found.groups()
        part = {"cos": "cosine", "sin": "sine"}[wave]
        return f"{WAVES[kind]}, {order} per turn of axis {axis}, {part} part"
    if found := _OTHER.fullmatch(name):
        return f"smooth torque without a name on axis {found[2]}, shape {found[1]}"
    if found := re.fullmatch(r"drift(\d)", name):
        return f"change of viscous friction over the log, shape {found[1]}"
    if found := re.fullmatch(r"ratio\.(\d)", name):
        return f"torque constants that differ between the drives, contrast {found[1]}"
    if "." in name:
        return _of_body(name)
    stem, number = (name[:-1], name[-1]) if name.endswith(("1", "2", "3", "4")) else (name, "")
    if stem in LIMB:
        own, limb = (RAIL, "rail") if linear else (LIMB, "arm")
        return own[stem] + (f"; {limb} {number}" if number else "")
    return f"{AXIS[stem]}, axis {number}" if stem in AXIS and number else ""


def _of_body(name: str) -> str:
    """Standard parameters of rigid bodies, friction of passive joints, and limbs that differ."""
    body, _, entry = name.partition(".")
    if body in JOINTS and entry in ("Fv", "Fc"):
        return f"{'viscous' if entry == 'Fv' else 'Coulomb'} friction {JOINTS[body]}"
    if body in LIMB and entry in ("1", "2", "3"):
        return f"limbs that differ in {body}, contrast {entry}"
    stem = body.rstrip(LIMBS)
    if stem not in BODIES:
        return ""
    whose = BODIES[stem] + (f" {body[len(stem) :]}" if body != stem else "")
    for start in ("mc", "I", "m"):
        if entry.startswith(start):
            return ENTRIES[start].format(whose, entry[len(start) :])
    return ""
