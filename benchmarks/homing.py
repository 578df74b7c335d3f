"""Constant torques and homing errors: does `check` tell one from the other, or say that it cannot?

Run: OMP_NUM_THREADS=1 python -m benchmarks.homing [--cases N] [--first SEED] [--shape NAME]
    [--jobs N] [--out FILE]

N logs of the machines of tests/machines (a plant in C that shares no code with deltadyn) in the
convention of their robot files, and as many in which one arm is homed 5 to 30 degrees off. Six
robots, causes drawn from `CAUSES`, motions of production: a single pick, cycles without rests,
cycles with dwells, moves between points, and an excitation. On top, some axes report a torque that
is off by up to 30 % of the axis' RMS torque in that log: by a constant, or with `--shape` by a
spring, by one that stiffens towards one end, or by a sine of the angle (a cable chain).

- A right log is wrong where it is refused, or where a block to paste is given.
- A homing error is right where it alone is decided, within twice its stated deviation and half a
  degree; "cannot tell" where the result is not decided, gives no offset and names that axis among
  its doubts. Anything else is wrong: another axis, another convention, or an error not mentioned.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tests.machines import CAUSES, make_machine
from tests.machines.plant import Array

import deltadyn as dd
from benchmarks.machine import machine_name
from deltadyn.recording import Conventions, Recording, check_recording

ROBOTS = (
    "sipro-d3-1200",
    "example-delta",
    "nt-robot",
    "usach-delta",
    "autonox-rl5-1450",
    "telescopic-delta",
)
#: Name, length in s, and what of `tests.machines.machines.Conditions` makes it; dwells in s.
MOTIONS: tuple[tuple[str, tuple[float, float], dict[str, Any]], ...] = (
    ("single pick", (1.2, 2.0), {"kind": "picks", "start": "rest"}),
    ("cycles", (6.0, 16.0), {"kind": "picks", "start": "moving"}),
    ("cycles with dwells", (8.0, 16.0), {"kind": "picks", "start": "rest", "dwell": (0.3, 2.0)}),
    ("points", (6.0, 12.0), {"kind": "via", "start": "rest", "dwell": (0.05, 0.5)}),
    ("excitation", (4.0, 12.0), {"kind": "multisine", "start": "moving"}),
)
#: What is added over an axis' angle, -1 to 1 over its range.
SHAPES: dict[str, Callable[[Array], Array]] = {
    "constant": np.ones_like,
    "spring": lambda x: x,
    "stiffening": lambda x: ((1 + x) / 2) ** 3,
    "sine": lambda x: np.sin(np.pi * x + 0.5),
}
LARGEST_CONSTANT = 0.3  # of an axis' RMS torque
OFFSETS_DEG = (5.0, 30.0)


@dataclass(frozen=True)
class Case:
    """A log, what was done to it, and what the check made of it."""

    seed: int
    robot: str
    cause: str
    motion: str
    constant: tuple[float, ...]  # of each axis' RMS torque
    offset_deg: tuple[float, ...]  # true, of the arms
    answer: str  # "right", "cannot tell" or "wrong"
    decided: bool
    refused: bool
    changed: tuple[str, ...]
    found_deg: tuple[float, ...]  # offsets to set
    fitted_deg: tuple[float, ...]
    deviation_deg: tuple[float, ...]
    doubtful: tuple[int, ...]  # axes, from 1
    seconds: float  # of processor time


def run_case(seed: int, homed_off: bool, shape: str = "constant") -> Case:
    """Record a log by the seed, spoil it, and check it."""
    rng = np.random.default_rng([seed, 251, homed_off])
    name, cause = str(rng.choice(ROBOTS)), str(rng.choice(CAUSES))
    robot = dd.load_robot(name)
    motion, log = record_log(robot, cause, seed, rng)
    share = np.where(rng.random(robot.dof) < 0.6, rng.uniform(-1, 1, robot.dof), 0.0)
    share *= LARGEST_CONSTANT
    offset = np.zeros(robot.dof)
    if homed_off:
        offset[rng.integers(3)] = rng.choice([-1, 1]) * rng.uniform(*OFFSETS_DEG)
    rms = np.sqrt(np.mean(log.tau**2, axis=0))
    middle, half = (log.q.max(axis=0) + log.q.min(axis=0)) / 2, np.ptp(log.q, axis=0) / 2
    added = share * rms * SHAPES[shape]((log.q - middle) / np.maximum(half, 1e-9))
    log = log.replace(q=log.q + np.radians(offset), tau=log.tau + added)
    began = time.process_time()
    findings = check_recording(log, robot)
    seconds = time.process_time() - began
    found = findings.conventions
    if found is None:
        raise RuntimeError(f"seed {seed}: no convention was looked for: {findings}")
    answer = judge_offset(found, offset) if homed_off else judge_right_log(found, findings.ok)
    return Case(
        seed=seed,
        robot=name,
        cause=cause,
        motion=motion,
        constant=tuple(share.round(3).tolist()),
        offset_deg=tuple(offset[:3].round(2).tolist()),
        answer=answer,
        decided=found.decided,
        refused=not findings.ok,
        changed=found.changed,
        found_deg=tuple(offsets_to_set(found).round(2).tolist()),
        fitted_deg=tuple(np.round(found.offset_fit_deg, 2).tolist()),
        deviation_deg=tuple(np.round(found.offset_deviation_deg, 2).tolist()),
        doubtful=tuple(item["axis"] for item in found.uncertain_homing),
        seconds=seconds,
    )


def record_log(
    robot: dd.Robot, cause: str, seed: int, rng: np.random.Generator
) -> tuple[str, Recording]:
    """A motion's name and its log, in the convention of the robot file."""
    name, length, options = MOTIONS[int(rng.integers(len(MOTIONS)))]
    options = dict(options)
    if isinstance(options.get("dwell"), tuple):
        options["dwell"] = float(rng.uniform(*options["dwell"]))
    machine = make_machine(robot, cause=cause, strength=None, seed=seed)
    (log,) = machine.record(1, round(float(rng.uniform(*length)), 1), **options)
    return name, log


def judge_right_log(found: Conventions, accepted: bool) -> str:
    """A right log stands; axes of which nothing can be said are named in doubts."""
    if found.changed or not accepted:
        return "wrong"
    return "right" if found.decided else "cannot tell"


def judge_offset(found: Conventions, offset: Array) -> str:
    """What was found of an offset (dof,) in degrees of one arm."""
    axis = int(np.abs(offset).argmax())
    error = offsets_to_set(found) - offset[:3]
    if found.decided:
        allowed = 2 * np.asarray(found.offset_deviation_deg) + 0.5
        others = np.delete(offsets_to_set(found), axis)
        good = found.changed == ("homing",) and abs(error[axis]) < allowed[axis]
        return "right" if good and not others.any() else "wrong"
    named = axis + 1 in [item["axis"] for item in found.uncertain_homing]
    return "cannot tell" if named and not found.changed else "wrong"


def offsets_to_set(found: Conventions) -> Array:
    """What the log's angles are off by the result (3,), in degrees beyond the robot's own block."""
    assert found.axes is not None
    return np.asarray(-np.degrees(found.axes.offset[:3])) + 0.0


def summarise(cases: Sequence[Case]) -> dict[str, Any]:
    """Counts of the answers, by size of the offset and by motion, errors and times."""

    def count(chosen: Sequence[Case]) -> dict[str, int]:
        return dict(Counter(case.answer for case in chosen))

    right, off = ([c for c in cases if any(c.offset_deg) is kind] for kind in (False, True))
    bands = [(5, 10), (10, 15), (15, 20), (20, 30)]
    errors = [
        max(abs(a - b) for a, b in zip(c.found_deg, c.offset_deg, strict=True))
        for c in off
        if c.decided
    ]
    return {
        "right logs": len(right),
        "refused": sum(c.refused for c in right),
        "with a block to paste": sum(bool(c.changed) for c in right),
        "of right logs": count(right),
        "logs with a homing error": len(off),
        "of homing errors": count(off),
        "by degrees": {
            f"{low} to {high}": count(
                [c for c in off if low <= max(map(abs, c.offset_deg)) < high]
            )
            for low, high in bands
        },
        "by motion": {
            name: {"right": count([c for c in right if c.motion == name]),
                   "homing": count([c for c in off if c.motion == name])}
            for name, *_ in MOTIONS
        },
        "largest error of a decided offset (deg)": round(max(errors, default=0.0), 2),
        "seconds, median and largest": [
            round(float(np.median([c.seconds for c in cases])), 2),
            round(max(c.seconds for c in cases), 2),
        ],
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the cases that are wrong, then the summary."""
    parser = argparse.ArgumentParser(description="Constant torques and homing errors.")
    parser.add_argument("--cases", type=int, default=20, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--shape", choices=list(SHAPES), default="constant")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, help="write all cases there as JSON")
    options = parser.parse_args(arguments)
    print(machine_name(), flush=True)
    seeds = range(options.first, options.first + options.cases)
    cases = Parallel(n_jobs=options.jobs)(
        delayed(run_case)(seed, homed_off, options.shape)
        for seed in seeds
        for homed_off in (False, True)
    )
    for case in cases:
        if case.answer == "wrong":
            print(case, flush=True)
    print(json.dumps(summarise(cases), indent=1))
    if options.out:
        options.out.write_text(json.dumps([asdict(case) for case in cases], indent=1))


if __name__ == "__main__":
    main()
