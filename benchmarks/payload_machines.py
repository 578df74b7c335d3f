"""Picks on machines of an independent plant, by both estimators.

Run: OMP_NUM_THREADS=1 python -m benchmarks.payload --machines none,load,all --seeds 0-3

Each machine of tests/machines is identified with the defaults on 12 s of motion; 24 empty cycles
are its tare. Then 30 picks of 0.1 to 4 kg (uniform in the logarithm) at random places, with 60 ms
of rest at each and without a gripper's signal; and fresh empty cycles. "warm" is the same machine
after its friction has dropped by 25 % (viscous) and 10 % (Coulomb) since the tare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from tests.machines import Machine, Touch, make_machine
from tests.machines.motions import Path
from tests.machines.plant import Array, copied

import deltadyn as dd
from deltadyn.payload import NoiseModel, PayloadEstimator, find_picks
from deltadyn.payload.bank_estimator import BankEstimator
from deltadyn.payload.events import LOST_GRIP, PICK, Pick
from deltadyn.robot.convention import Angles, from_controller

MOVES = (0.25, 0.35, 0.6)  # s
DWELL = 0.06  # s at each place; the gripper acts in the middle of it
TARE, PICKS = 24, 30  # cycles
SPAN, LIFT = 0.305, 0.025  # m
ALLOWED, SHARE = 0.06, 0.03  # kg, of the mass: error allowed
OVERLAP = 0.02  # s


class Load(NamedTuple):
    """A load of `mass` kg from `pick` to `end`, in s."""

    pick: float
    end: float
    mass: float


@dataclass(frozen=True, eq=False)
class Cycles:
    """A path of pick-and-place cycles, what is carried on it, and how long it takes (s)."""

    path: Path
    loads: tuple[Load, ...]
    seconds: float

    def carried(self, rate: float = 1000.0) -> Array:
        """The load in kg at each sample."""
        t = np.arange(round(self.seconds * rate)) / rate
        out = np.zeros(len(t))
        for load in self.loads:
            out[(t >= load.pick) & (t < load.end)] = load.mass
        return out


def cycles(
    machine: Machine,
    rng: np.random.Generator,
    count: int,
    move: float,
    masses: tuple[float, float] = (0.1, 4.0),
    lost: float = 0.0,
) -> Cycles:
    """Ways of `move` s to and fro between random places; the share `lost` falls on the way."""
    room, dof = machine.room, machine.dof
    span, lift = min(SPAN, 1.2 * room.radius), min(LIFT, 0.4 * (room.z_max - room.z_min))
    angle = rng.uniform(0, 2 * np.pi)
    along = span / 2 * np.array([np.cos(angle), np.sin(angle), 0.0])

    def place(side: int) -> Array:
        x = rng.uniform(-0.12, 0.12, 3) * room.radius
        x[2] = room.z_min + rng.uniform(0, 0.4) * (room.z_max - room.z_min)
        pose = np.zeros(dof)
        pose[:3] = x + side * along
        if dof == 4:
            pose[3] = rng.choice([-0.5, 0.0, 0.5]) * room.turn
        return pose

    at, t = place(-1), 0.2
    ways: list[tuple[Array, Array, float]] = []
    loads: list[Load] = []
    for _ in range(count):
        there, back = place(1), place(-1)
        mass = float(np.exp(rng.uniform(*np.log(masses))))
        pick, end = t + DWELL / 2, t + 1.5 * DWELL + move
        if rng.random() < lost:
            end = t + DWELL + rng.uniform(0.35, 0.75) * move
        loads.append(Load(pick, end, mass))
        ways.append((at, there, t + DWELL))
        ways.append((there, back, t + 2 * DWELL + move))
        at, t = back, t + 2 * (DWELL + move)
    return Cycles(_path(ways, move, lift), tuple(loads), t + 0.3)


def _path(ways: list[tuple[Array, Array, float]], move: float, lift: float) -> Path:
    begins = np.array([begin for *_, begin in ways])

    def rise(s: Array) -> Array:
        s = np.clip(s, 0.0, 1.0)
        return np.asarray(s**3 * (10 - 15 * s + 6 * s**2))

    def path(t: Array) -> Array:
        which = np.clip(np.searchsorted(begins, t, side="right") - 1, 0, len(ways) - 1)
        start = np.array([way[0] for way in ways])[which]
        end = np.array([way[1] for way in ways])[which]
        share = np.clip((t - begins[which]) / move, 0.0, 1.0)
        out: Array = start + (end - start) * rise((share - 0.12) / 0.76)[:, None]
        out[:, 2] += lift * rise(share / 0.45) * rise((1 - share) / 0.45)
        return out

    return path


def warmed(machine: Machine) -> Machine:
    """The same machine with less friction."""
    drives = [copied(drive) for drive in machine.drives]
    for drive in drives:
        drive.viscous, drive.coulomb = 0.75 * drive.viscous, 0.9 * drive.coulomb
    return replace(machine, drives=tuple(drives))


def recorded(machine: Machine, robot: dd.Robot, plan: Cycles, *, empty: bool) -> dd.Recording:
    """A log of the cycles from 0 s on, with the encoders put right as `read_recording` does."""
    touch = Touch() if empty else Touch(carried=plan.carried())
    log = machine.run_touched(plan.seconds, touch, path=plan.path).recording
    return log.replace(t=log.t - log.t[0], q=from_controller(robot, Angles(log.q)).q)


class Matched(NamedTuple):
    """A load and the pick that it was seen as, if it was."""

    load: Load
    pick: Pick | None


def matched(loads: Sequence[Load], picks: Sequence[Pick]) -> tuple[list[Matched], int]:
    """Each load with the pick that covers most of it, and the picks that belong to none."""
    left, out = list(picks), []
    for load in loads:
        near = [p for p in left if p.start < load.end - OVERLAP and p.end > load.pick + OVERLAP]
        best = max(near, key=lambda p: min(p.end, load.end) - max(p.start, load.pick), default=None)
        if best is not None:
            left.remove(best)
        out.append(Matched(load, best))
    return out, len(left)


def empty_events(fit: Any, log: dd.Recording, noise: NoiseModel, kind: str) -> tuple[int, float]:
    """False picks in an empty log, and the highest odds (decades) that the bank had."""
    estimator = PayloadEstimator(fit, noise=noise, rate=noise.grid.rate, estimator=kind)
    false, top = 0, -np.inf
    for t, q, tau in zip(log.t.tolist(), log.q.tolist(), log.tau.tolist(), strict=True):
        estimator.update(q, None, None, tau, t=t)
        false += estimator.event == PICK
        if isinstance(estimator, BankEstimator) and estimator.bank.odds > -1e20:
            top = max(top, estimator.odds)
    return false, float(top)


def figures(found: list[Matched], extra: int, false: int, top: float) -> dict[str, Any]:
    """The figures of a row of the table, g and ms."""
    seen = [(pair.load, pair.pick) for pair in found if pair.pick is not None]
    error = np.array([pick.mass - load.mass for load, pick in seen])
    std = np.array([pick.std for _, pick in seen])
    mass = np.array([load.mass for load, _ in seen])

    def above(limit: float) -> str:
        heavy = [pair for pair in found if pair.load.mass > limit]
        return f"{sum(pair.pick is not None for pair in heavy)}/{len(heavy)}"

    return {
        "seen": f"{len(seen)}/{len(found)}",
        "> 0.2 kg": above(0.2),
        "> 0.5 kg": above(0.5),
        "rms g": 1e3 * float(np.sqrt(np.mean(error**2))),
        "stated g": 1e3 * float(np.sqrt(np.mean(std**2))),
        "in 95 %": 100 * float(np.mean(np.abs(error) < 1.96 * std)),
        "rule %": 100 * float(np.mean(np.abs(error) < ALLOWED + SHARE * mass)),
        "ms": 1e3 * float(np.median([pick.detected - load.pick for load, pick in seen])),
        "extra": extra,
        "lost": sum(pick.ended == LOST_GRIP for _, pick in seen),
        "false": false,
        "top": top,
    }


def machine_rows(
    robot: dd.Robot,
    cause: str,
    seed: int,
    moves: Sequence[float],
    empty: int,
    kinds: Sequence[str],
) -> list[dict[str, Any]]:
    """All figures of a machine, as it was at the tare and warm."""
    machine = make_machine(robot, cause, None, seed)
    fit = dd.identify(robot, machine.record(3, 4.0))
    out = []
    for move in moves:
        rng = np.random.default_rng([seed, 15, round(1e3 * move)])
        tare, loaded, free = (cycles(machine, rng, n, move) for n in (TARE, PICKS, empty or 1))
        noise = NoiseModel.of(fit, recorded(machine, fit.robot, tare, empty=True))
        states = {cause: machine, f"{cause}+warm": warmed(machine)}
        for name, own in states.items():
            if name == "none+warm":
                continue
            log = recorded(own, fit.robot, loaded, empty=False)
            idle = recorded(own, fit.robot, free, empty=True)
            for kind in kinds:
                found, extra = matched(
                    loaded.loads, find_picks(fit, log, noise=noise, estimator=kind).picks
                )
                false, top = empty_events(fit, idle, noise, kind) if empty else (0, -np.inf)
                own_figures = figures(found, extra, false, top)
                out.append(
                    {"machine": name, "seed": seed, "move s": move, "by": kind} | own_figures
                )
                print(line(out[-1]), flush=True)
    return out


WIDTHS = {
    **{"machine": 10, "seed": 5, "move s": 7, "by": 14, "seen": 7, "> 0.2 kg": 9, "> 0.5 kg": 9},
    **{"rms g": 7, "stated g": 9, "in 95 %": 8, "rule %": 7, "ms": 5, "extra": 6, "lost": 5},
    **{"false": 6, "top": 6},
}


def head() -> str:
    """Names of the columns."""
    return "".join(f"{name:>{width}}" for name, width in WIDTHS.items())


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    cells = []
    for name, width in WIDTHS.items():
        value = row[name]
        digits = 1 if name == "top" else 2 if name == "move s" else 0
        text = f"{value:.{digits}f}" if isinstance(value, float) else str(value)
        cells.append(f"{text:>{width}}")
    return "".join(cells)


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of all seeds and moves together, per machine and estimator."""
    out = []
    for name, kind in dict.fromkeys((row["machine"], row["by"]) for row in rows):
        own = [row for row in rows if (row["machine"], row["by"]) == (name, kind)]
        count = {
            key: [sum(int(row[key].split("/")[k]) for row in own) for k in (0, 1)]
            for key in ("seen", "> 0.2 kg", "> 0.5 kg")
        }
        share = np.array([int(row["seen"].split("/")[0]) for row in own], float)
        share /= share.sum()
        total = {key: f"{a}/{b}" for key, (a, b) in count.items()}
        root = {
            key: float(np.sqrt(share @ np.square([row[key] for row in own])))
            for key in ("rms g", "stated g")
        }
        mean = {key: float(share @ [row[key] for row in own]) for key in ("in 95 %", "rule %")}
        sums = {key: sum(row[key] for row in own) for key in ("extra", "lost", "false")}
        rest = {
            "ms": float(np.median([row["ms"] for row in own])),
            "top": max(row["top"] for row in own),
        }
        label = {"machine": name, "seed": "all", "move s": "all", "by": kind}
        out.append(label | total | root | mean | sums | rest)
    return out


def main(
    causes: Sequence[str],
    seeds: Sequence[int],
    moves: Sequence[float],
    empty: int,
    kinds: Sequence[str],
    name: str = "sipro-d3-1200",
) -> list[dict[str, Any]]:
    """Print the table and give its rows."""
    robot = dd.load_robot(name)
    print(head(), flush=True)
    rows: list[dict[str, Any]] = []
    for cause in causes:
        for seed in seeds:
            rows += machine_rows(robot, cause, seed, moves, empty, kinds)
    together = summary(rows)
    print("\n".join(["", head(), *map(line, together)]))
    return rows + together
