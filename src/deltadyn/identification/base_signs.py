"""Consistency of base parameters alone, whatever bodies they come from, and of friction.

T is a sum of squares of rates, so that A_i, H, I_psi, I_axial and M_P are not negative, and by
Schur's complement M_P >= sum m_x^2 l1^2 / A + kappa^2 / H + (h_x^2 + h_y^2) / I_psi; with equal
limbs and no spindle, A M_P >= 3 m_x^2 l1^2.
"""

from __future__ import annotations

from collections.abc import Mapping

from deltadyn.errors import InputError
from deltadyn.robot import Robot

ROUNDING = 1e-9
_UNITS = {"M_P": "kg", "m_x": "kg", "A": "kg m^2", "H": "kg m^2", "I_psi": "kg m^2"}
_REASONS = {
    "M_P": "what moves with the platform has mass",
    "m_x": "the mass of a strut lies between its ball joints",
    "A": "an arm, a rotor and the struts' share have inertia",
    "H": "the spindle's rods have inertia",
    "I_axial": "the spindle's rods have inertia about their axis",
    "I_psi": "effector and rotor have inertia about axis 4",
    "kappa": "the lower rod's COM lies above its joint",
    "mu": "the upper rod's COM lies below its joint",
}


def base_findings(robot: Robot, values: Mapping[str, float]) -> tuple[str, ...]:
    """What no consistent bodies can give, in words; empty where nothing is wrong."""
    found = []
    for name, value in values.items():
        stem = name.rstrip("123")
        if stem in _REASONS and value < -ROUNDING * abs(values["M_P"]):
            unit = _UNITS.get(stem, "")
            found.append(f"{name} is {value:.4g} {unit}".rstrip() + f": {_REASONS[stem]}.")
        friction = name.startswith(("Fv", "Fc", "Fs", "mu1", "mu2", "mu3", "mu4")) or "." in name
        if (friction or name.startswith("rotor")) and value < -ROUNDING:
            found.append(negative_friction(name, value, values))
    needed, terms = _needed(robot, values)
    if not any(text.startswith(("A", "H ", "I_psi")) for text in found):
        have = values["M_P"]
        if have < needed * (1 - ROUNDING):
            found.append(
                f"M_P is {have:.4g} kg, and the other parameters need {needed:.4g} kg or more: "
                f"{terms}; with less, the mass matrix is not positive definite."
            )
    return tuple(found)


def _needed(robot: Robot, values: Mapping[str, float]) -> tuple[float, str]:
    """The least M_P that the couplings allow, and how it is made."""
    total, terms = 0.0, []
    tied = "m_x" in values
    for i in range(3):
        m_x, A = (values.get(stem if tied else f"{stem}{i + 1}") for stem in ("m_x", "A"))
        if m_x is None or A is None:
            raise InputError("base parameters", list(values), "m_x and A, tied or of every arm")
        total += _ratio(m_x**2 * robot.geometry.arm_length[i] ** 2, A)
    terms.append("3 m_x^2 l1^2 / A" if tied else "sum of m_x^2 l1^2 / A")
    if "kappa" in values and "H" in values:
        total += _ratio(values["kappa"] ** 2, values["H"])
        terms.append("kappa^2 / H")
    if "h_x" in values and "I_psi" in values:
        total += _ratio(values["h_x"] ** 2 + values.get("h_y", 0.0) ** 2, values["I_psi"])
        terms.append("(h_x^2 + h_y^2) / I_psi")
    return total, " + ".join(terms)


def _ratio(a: float, b: float) -> float:
    if b > 0:
        return a / b
    return float("inf") if a > 0 else 0.0


def negative_friction(name: str, value: float, values: Mapping[str, float]) -> str:
    """What a negative friction coefficient means, and whether a sign convention explains it."""
    text = f"{name} is {value:.4g}: friction that is negative feeds energy into the robot."
    partner = name.replace("Fc", "Fv") if "Fc" in name else name.replace("Fv", "Fc")
    other = values.get(partner)
    if partner != name and other is not None and other > 0:
        text += (
            f" {partner} is positive beside it, so no common sign convention makes both of them "
            "losses, as in the table of [kim2022]; look at the sign of torque and rate, and at "
            "what the data can tell of them apart."
        )
    return text
