"""Ticks per second of the virtual test bench, beside MuJoCo's own stepping of the same robot.

Run: OMP_NUM_THREADS=1 python -m benchmarks.simulation [--seconds S] [--json]

A tick is a whole drive cycle at 2 kHz: sensors, controller, plant with its energy books, log. The
peer is `mj_step` of the same robot's MJCF from Python with its own constraint solver, which does
nothing but step; its acceleration errs as its loop constraints allow.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

import deltadyn as dd
from benchmarks.machine import machine_name
from deltadyn.robot import Robot
from deltadyn.simulation.machine import build_machine
from deltadyn.simulation.mujoco_plant import MujocoPlant
from deltadyn.simulation.presets import preset_by_name
from deltadyn.simulation.start import start_on

RATE = 2000.0  # Hz
STEPS = 400  # of MuJoCo alone: a robot that is only held drifts away from its pose
ROBOTS = ("sipro-d3-1200", "example-delta-4")


def bench_rate(robot: Robot, plant: str, preset: str, seconds: float) -> float:
    """Ticks per second of `simulate` with feedforward on an Adept cycle, repeated."""
    one = dd.motion.adept_cycle(robot, cycles_per_minute=100)
    count = max(1, round(seconds / one.duration))
    began = time.perf_counter()
    ticks = 0
    for seed in range(count):
        run = dd.simulate(robot, one, plant=plant, preset=preset, rate=RATE, seed=seed)
        ticks += len(run.reference)
    return ticks / (time.perf_counter() - began)


def mujoco_rate(robot: Robot) -> float:
    """Steps per second of MuJoCo alone, with the torque that holds the start of an Adept cycle."""
    import mujoco

    machine = build_machine(robot, preset_by_name("ideal"))
    rest = (0.0,) * robot.dof
    start = start_on(machine, dd.motion.adept_cycle(robot), rest)
    plant = MujocoPlant(machine, start, 1 / RATE)
    plant.sample(start.tau, rest)
    model, data = plant.model, plant.data
    began = time.perf_counter()
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    rate = STEPS / (time.perf_counter() - began)
    if not np.isfinite(data.qpos).all():
        raise ArithmeticError("MuJoCo's state is not finite")
    return rate


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=1.8, help="simulated time of a case")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(argv)
    engine = find_spec("mujoco") is not None
    rows: list[dict[str, Any]] = []
    for name in ROBOTS:
        robot = dd.load_robot(name)
        cases = [("ideal", "ideal"), ("ideal", "industrial")]
        cases += [("mujoco", "ideal")] if engine else []
        for plant, preset in cases:
            rate = bench_rate(robot, plant, preset, given.seconds)
            rows.append({"robot": name, "case": f"plant {plant}, {preset}", "per_second": rate})
        if engine:
            alone = {"robot": name, "case": "MuJoCo, mj_step alone"}
            rows.append({**alone, "per_second": mujoco_rate(robot)})
    if given.json:
        print(json.dumps({"machine": machine_name(), "rows": rows}, indent=2))
        return
    print(f"Ticks of the test bench at {RATE:g} Hz, on {machine_name()}")
    for row in rows:
        print(f"  {row['robot']:<18}{row['case']:<28}{row['per_second']:>10.0f} per second")
    if not engine:
        print("  mujoco is not installed: its lines are left out (pip install deltadyn[mujoco])")


if __name__ == "__main__":
    main()
