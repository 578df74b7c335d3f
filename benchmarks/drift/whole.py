"""Robots with whole logs: a plant written apart from the library, logged and identified again and
again over a year, each log with the same motion and other noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from tests.machines import Machine, Touch, make_machine
from tests.machines.machines import Conditions

import deltadyn as dd
from benchmarks.drift.faults import Fault, damaged
from deltadyn.history.entry import Entry
from deltadyn.history.results import entry_of
from deltadyn.identification import Fit
from deltadyn.robot import Robot

START = datetime(2026, 1, 1, 2, tzinfo=UTC)
ROBOT, CAUSE = "sipro-d3-1200", "belt"
SECONDS = 4.0
TERMS = ("offset",)
SEASON, DAILY, ERROR = 8.0, 1.5, 0.5  # K: of a year, from night to night, of the thermometer
SCATTER, MEMORY = 0.004, 0.3  # of friction from night to night beyond temperature


@dataclass(frozen=True, eq=False)
class Year:
    """A robot's nights with what was planted."""

    serial: str
    entries: list[Entry]
    fault: Fault | None
    recorded: bool
    effects: dict[str, float]  # logarithms at full strength, of what the fault moves


def temperature(days: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Kelvin from the mean on the days: a season of a phase of its own, and the weather."""
    phase = rng.uniform(0, 365)
    return SEASON * np.sin(2 * np.pi * (days + phase) / 365) + DAILY * rng.normal(size=len(days))


def friction_noise(count: int, axes: int, rng: np.random.Generator) -> np.ndarray:
    """Logarithms (count, axes) of what friction does from night to night."""
    out = rng.standard_normal((count, axes))
    for i in range(1, count):
        out[i] = MEMORY * out[i - 1] + np.sqrt(1 - MEMORY**2) * out[i]
    return SCATTER * out


def machine_of(seed: int) -> Machine:
    """The machine of a seed."""
    return make_machine(dd.load_robot(ROBOT), CAUSE, 1.0, seed)


def watched_year(
    serial: str, fault: Fault | None, days: np.ndarray, seed: int, effects: dict[str, float]
) -> Year:
    """Logs on these days, each identified with fixed terms."""
    machine, rng = machine_of(seed), np.random.default_rng([seed, 77])
    warm = temperature(days, rng)
    noise = friction_noise(len(days), machine.dof, rng)
    entries = []
    for number, (day, k) in enumerate(zip(days, warm, strict=True)):
        now = damaged(machine, fault, fault.course(day) if fault else 0.0, float(k))
        for drive, factor in zip(now.drives, np.exp(noise[number]), strict=True):
            drive.coulomb *= factor
            drive.viscous *= factor
        fit = identified(now, number)
        shown = 25.0 + float(k) + ERROR * rng.normal()
        entries.append(entry_of(fit, serial, START + timedelta(days=float(day)), "UTC", shown))
    return Year(serial, entries, fault, True, effects)


def identified(machine: Machine, number: int) -> Fit:
    """The fit of one night's log: always the same motion, each time other noise."""
    conditions = Conditions(kind="multisine", clock=16.0, span=16.0)
    path = machine._path(conditions, SECONDS, np.random.default_rng(machine.seed))
    run = machine.run_touched(SECONDS, Touch(), path, kind="multisine", first=number)
    robot: Robot = machine.robot
    return dd.identify(robot, run.recording, terms=TERMS, tied=False, check=False)


def all_years(faults: list[Fault | None], days: np.ndarray, seed: int) -> Iterator[Year]:
    """One robot with whole logs per fault."""
    from benchmarks.drift.faults import effects

    for number, fault in enumerate(faults):
        own = seed * 100 + number
        moved = effects(machine_of(own), fault) if fault else {}
        yield watched_year(f"whole-{number + 1}", fault, days, own, moved)
