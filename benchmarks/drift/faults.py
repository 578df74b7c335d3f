"""Faults of a machine: what happens to its bodies and drives, when, and how much.

Sizes are shares at full strength. A fault has a course: 0 before its day, 1 at full strength; a
repair takes it back to 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from tests.machines import Machine
from tests.machines.machines import true_parameters
from tests.machines.plant import Bodies, Drive, copied

KINDS = ("friction growth", "belt loosening", "heavier strut", "lost counterweight")
#: The cause that words should name.
CAUSES = dict(zip(KINDS, ("friction", "belt", "strut", "counterweight"), strict=True))
COUNTERWEIGHT_ARM = 0.08  # m behind the motor's axis
VISCOUS_SHARE = 0.5  # of Coulomb friction's growth, in viscous friction
SOFTER = 1.5  # compliance of a belt per share of its lost Coulomb friction
PER_KELVIN = {"viscous": -0.02, "coulomb": -0.006}


@dataclass(frozen=True)
class Fault:
    """A fault of one axis: its kind, size, first day, days of growth (0: a step), day of repair."""

    kind: str
    axis: int
    size: float
    day: float
    growth: float = 0.0
    repaired: float = np.inf

    def course(self, day: float) -> float:
        """How far it has come."""
        if day < self.day or day >= self.repaired:
            return 0.0
        return 1.0 if not self.growth else min((day - self.day) / self.growth, 1.0)


def drawn(kind: str, days: float, rng: np.random.Generator, repaired: float = 0.3) -> Fault:
    """A fault of random size and date, between 35 % and 75 % of the year.

    A share is `repaired` one to two months after full strength.
    """
    low, high, growth = {
        "friction growth": (0.2, 0.6, (60.0, 150.0)),
        "belt loosening": (0.15, 0.4, (10.0, 40.0)),
        "heavier strut": (0.1, 0.35, (0.0, 0.0)),
        "lost counterweight": (0.3, 0.6, (0.0, 0.0)),
    }[kind]
    day = float(rng.uniform(0.35, 0.75) * days)
    fault = Fault(kind, int(rng.integers(3)), float(rng.uniform(low, high)), day)
    fault = replace(fault, growth=float(rng.uniform(*growth)))
    if rng.random() < repaired:
        fault = replace(fault, repaired=day + fault.growth + float(rng.uniform(30, 60)))
    return fault


def damaged(machine: Machine, fault: Fault | None, share: float, warm: float) -> Machine:
    """A machine with a share of a fault at a temperature (K from the mean)."""
    bodies, drives = copied(machine.bodies), [copied(drive) for drive in machine.drives]
    if fault is not None and share > 0:
        PLANT[fault.kind](bodies, drives, fault.axis, share * fault.size)
    for drive in drives:
        drive.viscous *= np.exp(PER_KELVIN["viscous"] * warm)
        drive.coulomb *= np.exp(PER_KELVIN["coulomb"] * warm)
    return replace(machine, bodies=bodies, drives=tuple(drives))


def effects(machine: Machine, fault: Fault) -> dict[str, float]:
    """Logarithms of the factors on the true base parameters at full strength, by name."""
    after, before = damaged(machine, fault, 1.0, 0.0), machine
    found = {}
    for name, value in _each(before).items():
        change = float(np.log(_each(after)[name] / value))
        if abs(change) > 1e-9:
            found[name] = change
    return found


def _each(machine: Machine) -> dict[str, float]:
    """True base parameters with a name per arm and axis."""
    truth, limbs = true_parameters(machine.bodies, list(machine.drives))
    own = {name: value for name, value in truth.items() if name not in limbs}
    for name in ("m_x", "A", "G"):
        own |= {f"{name}{i + 1}": float(value) for i, value in enumerate(limbs[name])}
    return own


# What is done to the machine: a share of the size.


def _friction(bodies: Bodies, drives: list[Drive], axis: int, size: float) -> None:
    drives[axis].coulomb *= 1 + size
    drives[axis].viscous *= 1 + VISCOUS_SHARE * size


def _belt(bodies: Bodies, drives: list[Drive], axis: int, size: float) -> None:
    """Less tension: a softer belt, and less load on its bearings."""
    drive = drives[axis]
    drive.coulomb *= 1 - size
    softer = 1 + SOFTER * size
    drive.stiffness /= softer
    drive.creep_stiffness /= softer
    drive.hardening *= softer


def _strut(bodies: Bodies, drives: list[Drive], axis: int, size: float) -> None:
    bodies.rod_mass[axis] *= 1 + size
    bodies.rod_inertia[axis] *= 1 + size


def _counterweight(bodies: Bodies, drives: list[Drive], axis: int, size: float) -> None:
    """A mass of `size` kg behind the motor is gone."""
    mass, com = bodies.arm_mass[axis], bodies.arm_com[axis]
    about = bodies.arm_inertia[axis] + mass * com**2 - size * COUNTERWEIGHT_ARM**2
    left = mass - size
    moved = (mass * com + size * COUNTERWEIGHT_ARM) / left
    bodies.arm_mass[axis], bodies.arm_com[axis] = left, moved
    bodies.arm_inertia[axis] = about - left * moved**2


PLANT: Mapping[str, Callable[[Bodies, list[Drive], int, float], None]] = dict(
    zip(KINDS, (_friction, _belt, _strut, _counterweight), strict=True)
)
