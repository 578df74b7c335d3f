"""Speed of the virtual test bench and of rollouts, beside MuJoCo's own stepping of the same robot.

Run: OMP_NUM_THREADS=1 python -m benchmarks.simulation [--repeats N] [--json]

What is measured, and how, stands in deltadyn.bench.simulation_speed. All rows are of one run on one
core; on a machine that is busy elsewhere the ratios hold better than the rates. MuJoCo runs in C
where gcc and its wheel's headers are there, else from Python.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import deltadyn as dd
from benchmarks.machine import machine_name
from deltadyn import backends as kernels
from deltadyn.bench.compiler import PeerMissingError
from deltadyn.bench.simulation_speed import (
    BATCH_TARGET,
    ERROR_TARGET,
    LOOP_TARGET,
    Comparison,
    Speed,
    batch_speed,
    compare,
    loop_speed,
    mujoco_python_speed,
    simulate_speed,
)
from deltadyn.robot import Robot

ROBOTS = ("sipro-d3-1200", "example-delta-4")
PRESETS = ("ideal", "lab", "industrial")


def own_speeds(robot: Robot, repeats: int) -> list[Speed]:
    """Loops of all presets, the whole of `simulate`, and batches."""
    rows = [loop_speed(robot, preset, repeats) for preset in PRESETS]
    rows += [simulate_speed(robot, preset) for preset in PRESETS[::2]]
    rows += [batch_speed(robot, own=own) for own in (False, True)]
    with kernels.switched_off():
        slow = loop_speed(robot, "ideal", 1)
    return [*rows, Speed(slow.robot, f"{slow.what}, without the extension", slow.per_second)]


def peer_speeds(robot: Robot, repeats: int) -> tuple[Comparison | None, list[Speed], str]:
    """The comparison, all of MuJoCo's rows, and why one of them is missing."""
    try:
        comparison, rows = compare(robot, repeats)
        return comparison, [comparison.ours, *rows], ""
    except PeerMissingError as error:
        reason = str(error)
    try:
        return None, [mujoco_python_speed(robot)], reason
    except ImportError:
        return None, [], reason


def verdicts(robot: Robot, comparison: Comparison | None, rows: list[Speed]) -> list[str]:
    """The targets, and whether they are met."""
    lines = []
    if comparison is not None:
        lines.append(
            f"{robot.name}: loop {comparison.ratio:.1f} times {comparison.mujoco.what}, the "
            f"quickest, at {comparison.error_ratio:.0e} of its acceleration error; target "
            f"{LOOP_TARGET:g} times at {ERROR_TARGET:g}: {_word(comparison.met)}"
        )
    batches = [row for row in rows if robot.dof == 3 and row.what.startswith("batch")]
    return lines + [
        f"{robot.name}: {row.what}, {row.per_second / 1e6:.2f} million Runge-Kutta steps/s on one "
        f"core; target {BATCH_TARGET / 1e6:g}: {_word(row.per_second >= BATCH_TARGET)}"
        for row in batches
    ]


def _word(met: bool) -> str:
    return "met" if met else "NOT met"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=20, help="the best of so many runs counts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(argv)
    if not kernels.available():
        raise SystemExit(f"nothing to measure, the kernels are {kernels.status()}")
    rows: list[Speed] = []
    targets: list[str] = []
    missing = ""
    for name in ROBOTS:
        robot = dd.load_robot(name)
        own = own_speeds(robot, given.repeats)
        comparison, peers, missing = peer_speeds(robot, given.repeats)
        rows += [*own, *(Speed(row.robot, f"race: {row.what}", *_rest(row)) for row in peers)]
        targets += verdicts(robot, comparison, own)
    if given.json:
        record: dict[str, Any] = {"machine": machine_name(), "rows": [asdict(row) for row in rows]}
        print(json.dumps({**record, "targets": targets, "missing": missing}, indent=2))
        return
    print(f"Steps of simulators on one core, drives at 2 kHz, on {machine_name()}")
    for row in rows:
        error = "" if row.error is None else f"   acceleration error {row.error:.1e}"
        print(f"  {row.robot:<18}{row.what:<44}{row.per_second:>12,.0f} per second{error}")
    print("\n".join([*targets, *([missing] if missing else [])]))


def _rest(row: Speed) -> tuple[float, float | None]:
    return row.per_second, row.error


if __name__ == "__main__":
    main()
