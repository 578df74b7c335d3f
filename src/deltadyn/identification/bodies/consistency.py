"""Whether bodies can exist: mass, COM, triangle inequalities, pseudo-inertia of each body, and the
signs of rotor inertias and friction; on robots, on standard values that no robot accepts, and on
base parameters alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.rigid import TEN
from deltadyn.errors import InputError
from deltadyn.identification.bodies.bodies import (
    COMPLETED,
    Bodies,
    standard_parameters,
    tied_names,
)
from deltadyn.identification.bodies.body import Body, Hull
from deltadyn.kinematics.actuation import levers
from deltadyn.robot import Robot
from deltadyn.robot.bodies import ArticulatedPlatform
from deltadyn.robot.settings import is_ripple
from deltadyn.units import on_axis

# Consistency of base parameters alone, whatever bodies they come from, and of friction.
#
# T is a sum of squares of rates, so that A_i, H, I_psi, I_axial and M_P are not negative, and by
# Schur's complement M_P >= sum m_x^2 l1^2 / A + kappa^2 / H + (h_x^2 + h_y^2) / I_psi; with equal
# limbs and no spindle, A M_P >= 3 m_x^2 l1^2. A platform of halves has |w|^2 / I_psi as the last
# term, with w = (S n' - S_s n)/k + h_x t' - h_y t at its longest, or S z + h_x t' - h_y t.


ROUNDING = 1e-9
_UNITS = {"M_P": "kg", "m_x": "kg", "A": "kg m^2", "H": "kg m^2", "I_psi": "kg m^2"}
_REASONS = {
    "M_P": "what moves with the platform has mass",
    "m_x": "the mass of a strut lies between its ball joints",
    "A": "an arm, a rotor and the struts' share have inertia",
    "H": "the spindle's rods have inertia",
    "I_axial": "the spindle's rods have inertia about their axis",
    "I_psi": "what moves with psi has inertia",
    "kappa": "the lower rod's COM lies above its joint",
    "mu": "the upper rod's COM lies below its joint",
}
_FRICTION = ("Fv", "Fc", "Fs", "Ft", "mu1", "mu2", "mu3", "mu4", "mu_m")


def base_findings(robot: Robot, values: Mapping[str, float]) -> tuple[str, ...]:
    """What no consistent bodies can give, in words; empty where nothing is wrong."""
    found = []
    for name, value in values.items():
        stem = name[:-1] if name[:-1] in ("m_x", "A") else name
        if stem in _REASONS and value < -ROUNDING * abs(values["M_P"]):
            unit = on_axis(_UNITS.get(stem, ""), robot.linear and stem == "A")
            found.append(f"{name} is {value:.4g} {unit}".rstrip() + f": {_REASONS[stem]}.")
        rubs = name.startswith(_FRICTION) or "." in name
        friction = rubs and not is_ripple(name)
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
    for i in range(robot.legs):
        m_x, A = (values.get(stem if tied else f"{stem}{i + 1}") for stem in ("m_x", "A"))
        if m_x is None or A is None:
            raise InputError("base parameters", list(values), "m_x and A, tied or of every arm")
        total += _ratio(m_x**2 * levers(robot)[i] ** 2, A)
    terms.append(f"{robot.legs} m_x^2 l1^2 / A" if tied else "sum of m_x^2 l1^2 / A")
    if "kappa" in values and "H" in values:
        total += _ratio(values["kappa"] ** 2, values["H"])
        terms.append("kappa^2 / H")
    if "h_x" in values and "I_psi" in values:
        square, words = _longest(robot, values)
        total += _ratio(square, values["I_psi"])
        terms.append(f"{words} / I_psi")
    return total, " + ".join(terms)


def _longest(robot: Robot, values: Mapping[str, float]) -> tuple[float, str]:
    """|w|^2 at its largest over psi, and how it is made."""
    tool = np.hypot(values["h_x"], values.get("h_y", 0.0))
    moved = np.hypot(values.get("S", 0.0), values.get("S_s", 0.0))
    if isinstance(robot.platform, ArticulatedPlatform):
        square = (moved / abs(robot.platform.ratio) + tool) ** 2
        return float(square), "(|(S, S_s)/ratio| + |(h_x, h_y)|)^2"
    words = "(h_x^2 + h_y^2)" if "S" not in values else "(S^2 + h_x^2 + h_y^2)"
    return float(tool**2 + moved**2), words


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


@dataclass(frozen=True)
class BodyVerdict:
    """One body: mass (kg), COM in its frame (m), principal inertias about the COM (kg m^2), and
    eigenvalues of the pseudo-inertia, smallest first.

    `inside` says whether its mass lies in its hull; None where no hull was asked for.
    """

    name: str
    mass: float
    com: tuple[float, float, float] | None
    principal: tuple[float, float, float]
    eigenvalues: tuple[float, float, float, float]
    triangle: bool
    inside: bool | None
    consistent: bool
    sentence: str


@dataclass(frozen=True)
class Consistency:
    """The verdicts on all bodies, and what is wrong with single numbers, in words.

    `consistent` leaves hulls out: `inside` says whether all mass lies where the bodies are.
    """

    bodies: tuple[BodyVerdict, ...]
    findings: tuple[str, ...]

    @property
    def consistent(self) -> bool:
        """Whether every body can exist and no friction feeds energy in."""
        return not self.findings and all(body.consistent for body in self.bodies)

    @property
    def inside(self) -> bool:
        """Whether no body is known to have mass outside its hull."""
        return all(body.inside is not False for body in self.bodies)

    @property
    def text(self) -> str:
        """One line per body, then the findings."""
        head = "All bodies are consistent." if self.consistent else "Not consistent."
        return "\n".join([head, *(body.sentence for body in self.bodies), *self.findings])

    def __str__(self) -> str:
        return self.text


def consistency(
    given: Robot | Mapping[str, float],
    *,
    robot: Robot | None = None,
    hull: Hull | bool = True,
) -> Consistency:
    """The verdict on a robot, on standard parameters or on base parameters of the exact model.

    Parameters need `robot` for its lengths; standard parameters that are not given are the
    robot's. A mapping that names M_P holds base parameters.
    """
    if isinstance(given, Robot):
        return _standard(given, {}, hull)
    if not isinstance(given, Mapping):
        raise InputError("given", type(given).__name__, "a Robot, or a mapping of parameters")
    if robot is None:
        raise InputError("robot", None, "the robot whose parameters these are")
    for name, value in given.items():
        if not np.isfinite(value):
            raise InputError(name, value, "a finite number")
    if "M_P" in given:
        return Consistency((), base_findings(robot, given))
    return _standard(robot, given, hull)


def _standard(robot: Robot, values: Mapping[str, float], hull: Hull | bool) -> Consistency:
    tied = tied_names(robot, values) if values else robot.equal_limbs
    own = standard_parameters(robot, tied)
    known = dict(zip(own.names, own.parameters.tolist(), strict=True))
    strange = [name for name in values if name not in known]
    if strange:
        raise InputError("standard parameter", strange[0], "one of " + ", ".join(own.names))
    bodies = Bodies.of(robot, None, "rigid", tied=tied, hull=hull)
    v = bodies.vector(known | dict(values))
    verdicts, findings = [], []
    for body in bodies.bodies:
        if body.kind in ("rotor", "friction"):
            cone = body.cones[0]
            if cone.margin(v) < -ROUNDING:
                findings.append(
                    _sign_text(body, float(v[bodies.names.index(body.name)]), v, bodies)
                )
        elif body.kind != "offset":
            verdicts.append(_verdict(body, v, bodies))
    return Consistency(tuple(verdicts), tuple(findings))


def _verdict(body: Body, v: FloatArray, bodies: Bodies) -> BodyVerdict:
    full = bodies.complete(v) if body.kind in COMPLETED else v
    ten = np.array([full[bodies.names.index(f"{body.name}.{entry}")] for entry in TEN])
    P = pseudo_inertia(ten)
    eigenvalues = np.linalg.eigvalsh(P)
    m, h = float(ten[0]), ten[1:4]
    com = h / m if m > 0 else None
    principal = _principal(ten, com)
    triangle = bool(
        principal[0] + principal[1] >= principal[2] * (1 - ROUNDING) - ROUNDING * abs(P).max()
    )
    broken = [cone for cone in body.cones if cone.margin(v) < -ROUNDING]
    wrong = [cone.text for cone in broken if cone.kind == "inertia"]
    outside = [cone.text for cone in broken if cone.kind == "hull"]
    small = float(eigenvalues[0]) < -ROUNDING * max(float(np.abs(P).max()), 1e-12)
    consistent = not wrong and not small and m >= 0
    where = "" if com is None else f", COM ({com[0]:.4g}, {com[1]:.4g}, {com[2]:.4g}) m"
    sentence = f"{body.name}: {m:.4g} kg{where}: "
    if not consistent:
        sentence += "no body has these parameters"
        if m < 0:
            sentence += ", its mass is negative"
        if not triangle:
            sentence += ", its inertias violate the triangle inequality"
        sentence += f"; required: {'; '.join(wrong) or 'a positive semidefinite pseudo-inertia'}"
        sentence += f" (smallest eigenvalue {eigenvalues[0]:.3g})."
    elif outside:
        sentence += f"consistent, but not inside its hull; required: {'; '.join(outside)}."
    else:
        sentence += "consistent."
    return BodyVerdict(
        name=body.name,
        mass=m,
        com=None if com is None else (float(com[0]), float(com[1]), float(com[2])),
        principal=(float(principal[0]), float(principal[1]), float(principal[2])),
        eigenvalues=tuple(eigenvalues.tolist()),
        triangle=triangle,
        inside=None if bodies.hull is None else not outside,
        consistent=consistent,
        sentence=sentence,
    )


def pseudo_inertia(ten: FloatArray) -> FloatArray:
    """The 4x4 matrix of ten parameters (10,) [gnad2024] eq. 12, whether or not a body has them."""
    m, hx, hy, hz, xx, yy, zz, xy, yz, xz = ten
    half = (xx + yy + zz) / 2
    return np.array(
        [
            [half - xx, -xy, -xz, hx],
            [-xy, half - yy, -yz, hy],
            [-xz, -yz, half - zz, hz],
            [hx, hy, hz, m],
        ]
    )


def _principal(ten: FloatArray, com: FloatArray | None) -> FloatArray:
    """Principal inertias about the COM, smallest first; about the origin where there is no mass."""
    _, _, _, _, xx, yy, zz, xy, yz, xz = ten
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if com is not None:
        inertia = inertia - ten[0] * (com @ com * np.eye(3) - np.outer(com, com))
    return np.asarray(np.linalg.eigvalsh(inertia), dtype=np.float64)


def _sign_text(body: Body, value: float, v: FloatArray, bodies: Bodies) -> str:
    if body.kind == "rotor":
        return f"{body.name} is {value:.4g} kg m^2: no rotor has a negative inertia."
    return negative_friction(body.name, value, dict(zip(bodies.names, v.tolist(), strict=True)))
