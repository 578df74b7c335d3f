"""Which cause `validate` names for machines whose cause is known: a table of confusions.

    python -m benchmarks.causes --seeds 3

Each machine is one of the independent plant of `tests.machines` with one thing wrong. The robot
that is validated has the machine's true base parameters, so that nothing but the cause is left; of
"payload" the robot lacks the payload, of "inertia" and "friction" it has wrong parameters.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.machines import Machine, make_machine

import deltadyn as dd
from deltadyn.identification.bodies.realise import nearest_consistent, robot_from_standard

NOTHING, MISSING = "nothing", "a term is missing"
#: What should be named, by the machine's cause.
EXPECTED: dict[str, frozenset[str]] = {
    "none": frozenset(),
    "payload": frozenset({"payload"}),
    "inertia": frozenset({"inertia"}),
    "rubbing": frozenset({"friction"}),
    "offset": frozenset({"offset"}),
    "friction": frozenset({"offset", "stribeck"}),
    "thinning": frozenset({"thinning"}),
    "load": frozenset({"load"}),
    "motor-load": frozenset({"motor_load"}),
    "arms": frozenset({"limbs"}),
    "kt": frozenset({"torque_ratio"}),
    "delay": frozenset({"delay"}),
    "drift": frozenset({"drift"}),
    "ripple": frozenset({"ripple"}),
    "ecc": frozenset({"eccentricity"}),
    "geom": frozenset({"geometry"}),
    "elastic": frozenset({"elastic"}),
    "hysteresis": frozenset(),
}
UNKNOWN = ("hysteresis",)  # not among the terms: one is missing
#: Beside thinning grease, what is viscous and what Coulomb friction is not defined.
ALLOWED = {"thinning": frozenset({"friction"})}
WRONG = {"inertia": {"A": 0.9, "G": 0.95}, "rubbing": {"Fv": 1.3, "Fc": 0.8}}


@dataclass(frozen=True)
class Named:
    """What was named for one machine."""

    cause: str
    seed: int
    names: tuple[str, ...]
    missing: bool
    seconds: float

    @property
    def first(self) -> str:
        """The strongest cause, or that none was found."""
        return self.names[0] if self.names else MISSING if self.missing else NOTHING

    @property
    def exact(self) -> bool:
        """Whether all that is wrong was named, and nothing else; else that a term is missing."""
        if self.cause in UNKNOWN:
            return self.missing
        return frozenset(self.names) - ALLOWED.get(self.cause, frozenset()) == EXPECTED[self.cause]


def known_robot(machine: Machine, wrong: dict[str, float] | None = None) -> dd.Robot:
    """The robot with a machine's true base parameters, some of them times a factor."""
    robot = machine.robot
    names = tuple(name for name in ("M_P", "m_x", "A", "G") if name in machine.truth)
    factor = wrong or {}
    x = np.array([machine.truth[name] * factor.get(name, 1.0) for name in names])
    x[0] -= machine.numbers.get("payload", 0.0)
    found = nearest_consistent(robot, names, x, True)
    built = robot_from_standard(robot, found.standard)
    viscous = [drive.viscous * factor.get("Fv", 1.0) for drive in machine.drives]
    coulomb = [
        (drive.coulomb + sum(drive.slip_torque)) * factor.get("Fc", 1.0) for drive in machine.drives
    ]
    return built.with_friction(viscous=tuple(viscous), coulomb=tuple(coulomb))


def named(
    robot: Any, cause: str, seed: int, *, strength: float | None = None, motions: int = 4
) -> Named:
    """What `validate` names for one machine."""
    wrong = WRONG.get(cause)
    machine = make_machine(robot, "none" if wrong else cause, strength, seed)
    logs = machine.record(motions=motions, seconds=4.0)
    start = time.process_time()
    found = dd.validate(known_robot(machine, wrong), logs).diagnosis
    seconds = time.process_time() - start
    names = tuple(dict.fromkeys(item.name for item in found.causes))
    return Named(cause, seed, names, found.missing, seconds)


def confusion(
    robot: Any, causes: Sequence[str], seeds: Sequence[int], **options: Any
) -> dict[str, list[Named]]:
    """What was named for the machines of every cause and seed."""
    return {cause: [named(robot, cause, seed, **options) for seed in seeds] for cause in causes}


def table(found: dict[str, list[Named]]) -> str:
    """Rows by cause: how often the set was exact, and what was named how often."""
    lines = ["| machine | exact | named |", "|---|---|---|"]
    for cause, runs in found.items():
        count = Counter(name for run in runs for name in (run.names or (run.first,)))
        count.update("+ " + MISSING for run in runs if run.names and run.missing)
        told = ", ".join(f"{name} {n}" for name, n in count.most_common())
        lines.append(f"| {cause} | {sum(run.exact for run in runs)} of {len(runs)} | {told} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robot", default="sipro-d3-1200")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--motions", type=int, default=4, help="logs of 4 s each")
    parser.add_argument("--causes", nargs="*", default=list(EXPECTED), choices=list(EXPECTED))
    asked = parser.parse_args()
    robot = dd.load_robot(asked.robot)
    seeds = range(asked.first, asked.first + asked.seeds)
    print(table(confusion(robot, asked.causes, seeds, motions=asked.motions)))


if __name__ == "__main__":
    main()
