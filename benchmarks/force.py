"""Force and contact on machines of an independent plant.

Run: OMP_NUM_THREADS=1 python -m benchmarks.force [--causes none,load,all] [--seeds 0-1] [--hours H]

Each machine is identified with the defaults on 16 s of motion, its tare comes from 120 s of empty
picks. Then: alarms in hours of fresh empty motion, before and after the friction has dropped (25 %
viscous, 10 % Coulomb); pushes on the platform with a ramp of 20 ms at several alarm rates; walls of
10, 30 and 100 N/mm met at 0.5, 1 and 2 m/s; pushes on one arm; loads that are picked up. The plant
is tests/machines: it has set-valued friction and the imperfections that a cause names.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.machines import Machine, Touch, make_machine
from tests.machines.plant import Array, copied

import deltadyn as dd
from benchmarks.machine import machine_name
from benchmarks.machines.__main__ import seeds_of
from deltadyn.force import Contact, ForceLog, Tare, find_contacts

RATES = (60.0, 10.0, 1.0)  # false alarms per hour
PUSHES = (10.0, 20.0, 30.0, 50.0)  # N
PUSH = 250  # ms that a push lasts
APART = 1000  # ms from push to push
WALLS = ((10e3, 0.5), (30e3, 1.0), (100e3, 2.0))  # N/m, m/s
PIECE = 300.0  # s of a simulated run


@dataclass(frozen=True, eq=False)
class Bench:
    """A machine, its fit and its tare."""

    machine: Machine
    fit: Any
    tare: Tare
    rng: np.random.Generator

    @classmethod
    def of(cls, robot: dd.Robot, cause: str, seed: int) -> Bench:
        machine = make_machine(robot, cause, None, seed)
        fit = dd.identify(robot, machine.record(4, 4.0))
        empty = machine.run_touched(120.0, Touch(), first=1).recording
        return cls(machine, fit, Tare.of(fit, empty), np.random.default_rng([seed, 15]))

    def look(self, seconds: float, touch: Touch, first: int, **options: Any) -> ForceLog:
        """A log while something touches the machine."""
        run = self.machine.run_touched(seconds, touch, first=first, **options)
        return find_contacts(self.fit, run.recording, self.tare)

    def alarms(self, hours: float, first: int) -> dict[float, float]:
        """Alarms per hour of empty motion at each rate that the tail promises."""
        count, seconds = dict.fromkeys(RATES, 0), 0.0
        while seconds < hours * 3600:
            log = self.look(PIECE, Touch(), first)
            for rate in RATES:
                over = log.statistic > self.tare.limit(rate)
                rises = np.flatnonzero(np.diff(over.astype(int), prepend=0) > 0)
                apart = np.diff(log.t[rises], prepend=-np.inf) > 0.25
                count[rate] += int(apart.sum())
            first, seconds = first + 1, seconds + PIECE
        return {rate: number / seconds * 3600 for rate, number in count.items()}

    def pushes(self, size: float, first: int, *, arms: bool = False) -> dict[str, Any]:
        """Pushes of one size in random directions, on the platform or on an arm."""
        n = 60_000
        starts = np.arange(1000, n - APART, APART)
        ramp = size * np.clip(np.arange(PUSH) / 20, 0, 1)
        force, pull = np.zeros((n, 3)), np.zeros((n, self.machine.dof))
        for k, start in enumerate(starts):
            if not arms:
                way = self.rng.normal(size=3)
                force[start : start + PUSH] = ramp[:, None] * way / np.linalg.norm(way)
            else:
                pull[start : start + PUSH, k % 3] = ramp * self.rng.choice([-1, 1])
        touch = Touch(pull=pull) if arms else Touch(force=force)
        log = self.look(n / 1e3, touch, first)
        began = log.recording.t[0]
        found: dict[str, Any] = {"pushes": len(starts)}
        for rate in RATES:
            delays = [self._delay(log, began + start / 1e3, rate) for start in starts]
            seen = np.array([x for x in delays if x is not None])
            found[f"seen {rate:g}/h"] = len(seen) / len(starts)
            found[f"in 60 ms {rate:g}/h"] = float(np.sum(seen <= 0.06) / len(starts))
            found[f"median ms {rate:g}/h"] = 1e3 * float(np.median(seen)) if len(seen) else None
        hits = [c for c in log.contacts if any(0 <= c.time - began - s / 1e3 < 0.3 for s in starts)]
        found["kinds"] = _counted(
            f"{c.kind}, {'arm' if 'arm' in c.where else c.where}" for c in hits
        )
        if not arms:
            true = np.array([np.interp(log.t, log.recording.t, force[:, k]) for k in range(3)]).T
            held = np.array([_held(log.t - began - s / 1e3) for s in starts]).any(axis=0)
            error = log.force[held] - true[held]
            found["force error rms N"] = float(np.sqrt(np.mean(error**2)))
            found["force in 95 %"] = float(np.mean(np.abs(error) < 1.96 * log.std[held]))
        return found

    def _delay(self, log: ForceLog, start: float, rate: float) -> float | None:
        rows = (log.t >= start) & (log.t < start + PUSH / 1e3)
        over = log.t[rows][log.statistic[rows] > self.tare.limit(rate)]
        return float(over[0] - start) if len(over) else None

    def walls(self, stiffness: float, speed: float, count: int = 12) -> list[float | None]:
        """Times in s from the touch of a wall to the alarm, None where it is not found."""
        delays: list[float | None] = []
        room = self.machine.room
        for _ in range(count):
            way = self.rng.normal(size=3) * [1, 1, 0.3]
            way /= np.linalg.norm(way)
            touched_at = 0.5 * (0.7 * room.radius) / speed + 0.4
            start = room.middle - way * 0.35 * room.radius

            def path(t: Array, start: Array = start, way: Array = way) -> Array:
                gone = speed * np.clip(t - 0.4, 0, None)
                soft = np.clip((t - 0.2) / 0.2, 0, 1)  # rises to the speed within 0.2 s
                return start + (gone + speed * 0.1 * soft**2)[:, None] * way

            at = start + way * speed * (touched_at - 0.4 + 0.1)
            wall = Touch(
                wall_at=tuple(at.tolist()),
                wall_normal=tuple((-way).tolist()),
                wall_stiffness=stiffness,
            )
            run = self.machine.run_touched(touched_at + 0.08, wall, path=path)
            log = find_contacts(self.fit, run.recording, self.tare)
            inside = (run.truth.platform - at) @ way > 0
            if not inside.any():
                continue
            met = float(run.recording.t[np.argmax(inside)])
            later = [c.time - met for c in log.contacts if c.time >= met - 0.002]
            delays.append(later[0] if later else None)
        return delays

    def picks(self, first: int) -> dict[str, Any]:
        """Loads of 0.5 to 4 kg, taken while the platform rests and put down at the next rest."""
        seconds = 60.0
        empty = self.machine.run_touched(seconds, Touch(), first=first)
        speed = np.linalg.norm(np.gradient(empty.truth.platform, 1e-3, axis=0), axis=1)
        rests = np.flatnonzero(np.diff((speed < 0.01).astype(int)) == 1) + 30
        carried = np.zeros(len(speed))
        loads = list(zip(rests[2::3].tolist(), rests[3::3].tolist(), strict=False))
        for begin, end in loads:
            carried[begin:end] = self.rng.uniform(0.5, 4.0)
        log = self.look(seconds, Touch(carried=carried), first)
        began = log.recording.t[0]
        hits: list[Contact] = []
        for begin, end in loads:
            inside = [c for c in log.contacts if begin <= 1e3 * (c.time - began) < end]
            hits += inside[:1]
        return {"picks": len(loads), "kinds": _counted(c.kind for c in hits)}

    def warmed(self) -> Bench:
        """The same machine with less friction than when its tare was taken."""
        drives = [copied(drive) for drive in self.machine.drives]
        for drive in drives:
            drive.viscous, drive.coulomb = 0.75 * drive.viscous, 0.9 * drive.coulomb
        return replace(self, machine=replace(self.machine, drives=tuple(drives)))


def _held(since: Array) -> Any:
    """Where a push has lasted for 100 ms: the filter has followed."""
    return (since > 0.1) & (since < PUSH / 1e3 - 0.005)


def _counted(words: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return found


def measure(robot: dd.Robot, cause: str, seed: int, hours: float) -> dict[str, Any]:
    """All figures of a machine."""
    bench = Bench.of(robot, cause, seed)
    walls = {}
    for stiffness, speed in WALLS:
        delays = bench.walls(stiffness, speed)
        seen = [x for x in delays if x is not None]
        walls[f"{stiffness / 1e3:g} N/mm at {speed:g} m/s"] = {
            "found": f"{len(seen)} of {len(delays)}",
            "median ms": 1e3 * float(np.median(seen)) if seen else None,
            "worst ms": 1e3 * max(seen) if seen else None,
        }
    return {
        "cause": cause,
        "seed": seed,
        "limit": bench.tare.limit(),
        "shape": bench.tare.shape,
        "alarms per hour": bench.alarms(hours, first=20),
        "alarms per hour, warm": bench.warmed().alarms(hours, first=20),
        "pushes": {f"{size:g} N": bench.pushes(size, first=3) for size in PUSHES},
        "arms, 12 N m": bench.pushes(12.0, first=4, arms=True),
        "walls": walls,
        "picks": bench.picks(first=5),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures of each machine as JSON lines."""
    parser = argparse.ArgumentParser(description="Force and contact on an independent plant.")
    parser.add_argument("--causes", default="none,load,all", help="causes of tests/machines")
    parser.add_argument("--seeds", default="0", help="such as 0-5")
    parser.add_argument("--hours", type=float, default=0.25, help="of empty motion per machine")
    parser.add_argument("--robot", default="sipro-d3-1200")
    parser.add_argument("--json", type=Path, help="write all figures there")
    asked = parser.parse_args(arguments)
    robot = dd.load_robot(asked.robot)
    print(machine_name(), flush=True)
    found = []
    for cause in asked.causes.split(","):
        for seed in seeds_of(asked.seeds):
            found.append(measure(robot, cause, seed, asked.hours))
            print(json.dumps(found[-1], indent=1), flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
