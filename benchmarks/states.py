"""Random states of many robots: the exported C and the compiled kernels against the NumPy path.

Run: OMP_NUM_THREADS=1 python -m benchmarks.states [--states 100000] [--seed 0] [--json FILE]

Robots with all friction, ripple and controllers of their own, random robots, and every kind of the
family. Platform points are uniform in the workspace, rates up to 3 m/s and 60 m/s^2 (joint rates of
5 rad/s and 200 rad/s^2 for standard robots). Errors are those of the largest number of their kind.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tests.dynamics.factory import full_friction, make_robot, make_states, rich_drives
from tests.exports.c_build import ROBOTS, Library, library_for
from tests.exports.test_c_model import loaded, outside
from tests.family.robots import KINDS, OTHER_PLATFORMS, make

import deltadyn as dd
from benchmarks.machine import machine_name
from deltadyn import backends as kernels
from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot

PAYLOAD = 1.7  # kg
CHUNK = 20_000  # states at a time
ALLOWED = 1e-12
NAMED = ("plain", "rich-3", "rich-4", "rubbing-3", "rubbing-4")
RANDOM = 3  # robots of each number of axes


@dataclass
class Row:
    """Largest errors over the states of a robot, and the states that C refused."""

    robot: str
    states: int = 0
    c: float = 0.0
    kernels: float = 0.0
    refused: int = 0


def robots(seed: int) -> Iterator[tuple[str, Robot]]:
    """Names and robots."""
    for name in NAMED:
        yield name, ROBOTS[name]
    for dof in (3, 4):
        for k in range(RANDOM):
            friction = full_friction(dof, passive=(), smoothing=0.05)
            robot = make_robot(dof, False, seed=1000 * seed + k, friction=friction)
            yield f"random {dof}.{k}", robot
    for kind in (*KINDS, *OTHER_PLATFORMS):
        yield kind, rich_drives(make(kind).with_payload(0.4))


def states(robot: Robot, count: int, seed: int) -> dd.State:
    """Random states within the workspace."""
    if not robot.linear and robot.legs == 3 and robot.limits.workspace is None:
        return make_states(robot, count, seed=seed)
    space, rng = robot.limits.workspace, np.random.default_rng([seed, robot.dof, 5])
    assert space is not None
    radius = 0.8 * space.radius * np.sqrt(rng.random(count))
    phase = rng.uniform(0, 2 * np.pi, count)
    parts = {
        "x": radius * np.cos(phase) if robot.dof > 2 else 0.8 * space.radius * np.cos(phase),
        "y": radius * np.sin(phase),
        "z": rng.uniform(space.z_min, space.z_max, count),
        "psi": rng.uniform(-0.8, 0.8, count),
    }
    p = np.stack([parts[name] for name in robot.coordinates], axis=-1)
    pd, pdd = (rng.uniform(-top, top, p.shape) for top in (3.0, 60.0))
    return dd.State.from_platform(robot, p, pd, pdd)


def apart(found: FloatArray, expected: FloatArray) -> float:
    """Largest difference, of the largest number; infinite where one of them is not finite."""
    worst = float(np.abs(found - expected).max()) / float(np.abs(expected).max())
    return worst if np.isfinite(worst) else float("inf")


def compare(row: Row, robot: Robot, code: Library, count: int, seed: int) -> None:
    """Add a chunk of states to a row."""
    sign = np.asarray(robot.controller.sign)
    with kernels.switched_off():
        state = states(robot, count, seed)
        tau = dd.inverse_dynamics(loaded(robot, PAYLOAD), state)
        own = dd.inverse_dynamics(robot, state)
    platform = (state.p, state.pd, state.pdd)
    joints = (outside(robot, state.q), sign * state.qd, sign * state.qdd)
    calls: list[tuple[str, Sequence[FloatArray], Sequence[FloatArray]]] = [
        ("joint_rates", platform, joints),
        ("feedforward", platform, (sign * tau,)),
    ]
    if robot.legs != 4:
        calls.append(("forward_kinematics", joints[:1], (state.p,)))
        calls.append(("feedforward_joints", joints, (sign * tau,)))
        calls.append(("forward_dynamics", (*joints[:2], sign * tau), joints[2:]))
    refused = np.zeros(count, bool)
    for name, given, expected in calls:
        status, *found = code.call(name, *given, payload=PAYLOAD)
        refused |= status != 0
        good = status == 0
        for ours, wanted in zip(found, expected, strict=False):
            row.c = max(row.c, apart(ours[good], wanted[good]))
    quick = dd.State.from_platform(robot, *platform)
    pairs = ((quick.q, state.q), (quick.qdd, state.qdd), (dd.inverse_dynamics(robot, quick), own))
    for ours, wanted in pairs:
        row.kernels = max(row.kernels, apart(ours, wanted))
    row.states += count
    row.refused += int(refused.sum())


def measure(count: int, seed: int) -> Iterator[Row]:
    """The rows of all robots, with about the same number of states each."""
    every = list(robots(seed))
    for k, (name, robot) in enumerate(every):
        wanted = count * (k + 1) // len(every) - count * k // len(every)
        row, code = Row(name), library_for(robot)
        while row.states < wanted:
            compare(row, robot, code, min(CHUNK, wanted - row.states), seed + row.states)
        yield row


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; exit status 1 where an error is larger than allowed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--states", type=int, default=100_000, help="of all robots together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the figures there")
    asked = parser.parse_args(arguments)
    print(f"{machine_name()}; kernels: {kernels.status()}", flush=True)
    print(f"{'robot':18}{'states':>10}{'C':>10}{'kernels':>10}{'refused':>9}")
    rows, start = [], time.perf_counter()
    for row in measure(asked.states, asked.seed):
        rows.append(row)
        numbers = f"{row.states:10}{row.c:10.1e}{row.kernels:10.1e}{row.refused:9}"
        print(f"{row.robot:18}{numbers}", flush=True)
    result = summary(rows)
    print(f"{result['figure']}; {time.perf_counter() - start:.0f} s")
    if asked.json:
        asked.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return 0 if result["reached"] else 1


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """The largest errors, and whether they are as promised."""
    count, refused = sum(row.states for row in rows), sum(row.refused for row in rows)
    c, own = max(row.c for row in rows), max(row.kernels for row in rows)
    text = f"{count:,} states: C {c:.1e}, kernels {own:.1e} of the largest value, {refused} refused"
    reached = max(c, own) <= ALLOWED and not refused and kernels.available()
    return {"figure": text, "reached": reached, "rows": [asdict(row) for row in rows]}


if __name__ == "__main__":
    sys.exit(main())
