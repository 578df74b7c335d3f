"""Payload estimation: time of one update, and how well masses are known on the virtual bench.

Run: OMP_NUM_THREADS=1 python -m benchmarks.payload [--cycles N] [--empty N] [--preset P] [--json]

The time is that of `PayloadEstimator.update` from Python for angles and torque alone, with rates,
in the momentum form and on the 4-DOF robot, beside the arrays of the package for one sample (torque
and payload column by NumPy). One update in eight evaluates the model: the mean, the median of those
and of all are given. There is no peer.

With `--cycles` the robot is identified on an excitation, its noise taken from an empty run, and N
picks at 60 to 120 a minute with 0.1 to 4 kg are judged against the Cramér-Rao bound of the bench's
residual. `--empty` counts the false events of so many empty cycles, simulated in full.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

import deltadyn as dd
from benchmarks.machine import machine_name
from deltadyn.identification.identify import identify
from deltadyn.payload import ColouredNoise, NoiseModel, PayloadEstimator, payload_column
from deltadyn.payload.bench import pick_plan
from deltadyn.payload.offline import find_picks
from deltadyn.payload.trial import bench_run, empty_plan, false_events, judge_picks
from deltadyn.robot import Robot
from deltadyn.simulation import simulate

SAMPLES = 8000  # per timing
REPEATS = 5
PIECE = 100  # empty cycles per simulated run
PRODUCT = 12  # picks of one product
FRICTION = {"viscous": 0.7, "coulomb": 2.0, "smoothing": 0.05}


def update_times(robot: Robot, form: str, rates: bool) -> dict[str, float]:
    """Microseconds per update: mean, median of those with the model, median of all."""
    motion = pick_plan(robot, 5, seed=1).motion
    tau = dd.inverse_dynamics(robot, motion)
    rows = [x[:SAMPLES].tolist() for x in (motion.q, motion.qd, motion.qdd, tau)]
    count = len(rows[0])
    best: dict[str, float] = {}
    for _ in range(REPEATS):
        estimator = PayloadEstimator(robot, form=form)
        spans = np.empty(count)
        for k, (q, qd, qdd, torque) in enumerate(zip(*rows, strict=True)):
            start = time.perf_counter()
            estimator.update(q, qd if rates else None, qdd if rates else None, torque)
            spans[k] = time.perf_counter() - start
        own = spans * 1e6
        model = own[estimator.grid.step - 1 :: estimator.grid.step]
        found = {
            "mean": float(own.mean()),
            "with model": float(np.median(model)),
            "median": float(np.median(own)),
        }
        if not best or found["mean"] < best["mean"]:
            best = found
    return best


def array_time(robot: Robot) -> float:
    """Microseconds of torque and column of one sample by arrays."""
    motion = pick_plan(robot, 1, seed=1).motion
    rows = [tuple(x[k] for x in (motion.q, motion.qd, motion.qdd)) for k in range(0, 1000, 10)]
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for row in rows:
            state = dd.State.from_joints(robot, *row)
            dd.inverse_dynamics(robot, state)
            payload_column(robot, state)
        times.append((time.perf_counter() - start) / len(rows) * 1e6)
    return min(times)


def timing_rows() -> list[dict[str, Any]]:
    """All timings."""
    three = dd.load_robot("sipro-d3-1200").with_friction(**FRICTION)
    four = dd.load_robot("example-delta-4").with_friction(**FRICTION)
    out = []
    for name, robot, form, rates in (
        ("3-DOF, angles and torque", three, "acceleration", False),
        ("3-DOF, with rates", three, "acceleration", True),
        ("3-DOF, momentum form", three, "momentum", False),
        ("4-DOF, angles and torque", four, "acceleration", False),
    ):
        arrays = array_time(robot)
        times = update_times(robot, form, rates)
        out.append({"what": name, **times, "arrays": arrays, "ratio": arrays / times["mean"]})
    return out


def bench_rows(preset: str, cycles: int, empty: int) -> dict[str, Any]:
    """Picks and empty cycles on the bench."""
    robot = dd.load_robot("sipro-d3-1200")
    excitation = dd.design_excitation(robot, duration=10.0, harmonics=5)
    log = simulate(robot, excitation.motion, preset=preset, seed=1).recording
    fit = identify(robot, log)
    quiet = bench_run(robot, fit, empty_plan(robot, 24, 12), preset, 12)
    noise = NoiseModel.of(fit, quiet.recording, rate=2000.0)
    residual = ColouredNoise.of(fit.robot, quiet.recording)
    print(f"{preset}: {noise.summary}", flush=True)
    plan = pick_plan(robot, cycles, seed=11)
    run = bench_run(robot, fit, plan, preset, 11)
    out: dict[str, Any] = {"preset": preset, "noise": noise.summary}
    for signal in (True, False):
        found = judge_picks(fit, run, plan, noise, residual, signal=signal)
        label = "with the gripper's signal" if signal else "without it"
        print(f"\n{preset}, {cycles} picks {label}\n{found}", flush=True)
        out[label] = {
            "rms_error_kg": np.sqrt(np.mean(found.errors**2, axis=0)).tolist(),
            "bound_kg": np.sqrt(np.mean(found.bound**2, axis=0)).tolist(),
            "ratio": found.ratio.tolist(),
            "within": found.within.tolist(),
            "seen": int(np.isfinite(found.known).sum()),
            "torque_ratio": found.torque_ratio,
        }
    heavy = pick_plan(robot, 10, seed=14, masses=(3.8, 3.8))
    loaded = bench_run(robot, fit, heavy, preset, 14)
    ratio = judge_picks(fit, loaded, heavy, noise, residual, signal=True).torque_ratio
    print(f"\nmean torque error with 3.8 kg: with the estimate {ratio:.3f} of without")
    out["torque_ratio_3.8_kg"] = ratio
    out["product"] = product_rows(robot, fit, noise, preset)
    out["lost"] = lost_rows(robot, fit, noise, preset)
    if empty:
        out["false_events"] = empty_rows(robot, fit, noise, preset, empty)
    return out


def product_rows(
    robot: Robot, fit: Any, noise: NoiseModel, preset: str
) -> list[tuple[int, float, float]]:
    """Repeated picks of 0.5 kg: count, error and standard deviation in kg."""
    plan = pick_plan(robot, PRODUCT, seed=13, masses=(0.5, 0.5))
    run = bench_run(robot, fit, plan, preset, 13)
    holding = (run.truth.payload[run.truth.written] > 0).tolist()
    picks = find_picks(fit, run.recording, noise=noise, holding=holding).picks
    from deltadyn.payload import product_mass

    rows = []
    print(f"\n{preset}: repeated picks of 0.5 kg\n{'picks':>5}{'error g':>10}{'std g':>10}")
    for count in (1, 2, 4, 8, PRODUCT):
        mass, std = product_mass(picks[:count], noise)
        rows.append((count, mass - 0.5, std))
        print(f"{count:>5}{1e3 * (mass - 0.5):>10.0f}{1e3 * std:>10.0f}")
    return rows


def lost_rows(robot: Robot, fit: Any, noise: NoiseModel, preset: str) -> dict[str, int]:
    """24 picks, about half of them lost on the way: how many ends were named right."""
    plan = pick_plan(robot, 24, seed=15, lost=0.5)
    run = bench_run(robot, fit, plan, preset, 15)
    picks = find_picks(fit, run.recording, noise=noise).picks
    right = wrong = missed = 0
    for cycle in plan.cycles:
        ended = [p.ended for p in picks if abs(p.end - cycle.end) < 0.15 and p.start < cycle.end]
        expected = "lost grip" if cycle.lost else "release"
        if not ended:
            missed += 1
        elif expected in ended:
            right += 1
        else:
            wrong += 1
    lost = sum(cycle.lost for cycle in plan.cycles)
    print(f"\n{preset}: 24 loads, {lost} lost: {right} ends right, {wrong} wrong, {missed} unseen")
    return {"lost": lost, "right": right, "wrong": wrong, "missed": missed, "picks": len(picks)}


def empty_rows(robot: Robot, fit: Any, noise: NoiseModel, preset: str, empty: int) -> int:
    """False events of empty cycles, simulated in pieces."""
    count = 0
    for piece, first in enumerate(range(0, empty, PIECE)):
        plan = empty_plan(robot, min(PIECE, empty - first), 1000 + piece)
        events = false_events(fit, bench_run(robot, fit, plan, preset, 1000 + piece), noise)
        count += len(events)
        print(f"{preset}: {first + len(plan.cycles)} empty cycles, {count} events", flush=True)
    return count


def main() -> None:
    """Print the tables, or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cycles", type=int, default=0, help="picks on the bench, 0: none")
    parser.add_argument("--empty", type=int, default=0, help="empty cycles on the bench")
    parser.add_argument("--preset", default="industrial", help="industrial or lab")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file too")
    arguments = parser.parse_args()
    print(f"machine: {machine_name()}")
    rows = timing_rows()
    print(f"{'one update, us':<28}{'mean':>8}{'model':>8}{'median':>8}{'NumPy':>9}{'x':>7}")
    for row in rows:
        print(
            f"{row['what']:<28}{row['mean']:>8.1f}{row['with model']:>8.1f}{row['median']:>8.1f}"
            f"{row['arrays']:>9.0f}{row['ratio']:>7.0f}"
        )
    result: dict[str, Any] = {"machine": machine_name(), "update_us": rows}
    if arguments.cycles:
        result["bench"] = bench_rows(arguments.preset, arguments.cycles, arguments.empty)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2)


if __name__ == "__main__":
    main()
