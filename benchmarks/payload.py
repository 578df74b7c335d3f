"""Payload estimation: time of one update, and how well masses are known on the virtual bench.

Run: OMP_NUM_THREADS=1 python -m benchmarks.payload [--cycles N] [--empty N] [--preset P] [--json]
     OMP_NUM_THREADS=1 python -m benchmarks.payload --machines none,load,all --seeds 0-3
     OMP_NUM_THREADS=1 python -m benchmarks.payload --signal --machines none,load,all --seeds 0-3

The time is that of `PayloadEstimator.update` from Python for angles and torque alone, with rates,
in the momentum form and on the 4-DOF robot, beside the arrays of the package for one sample (torque
and payload column by NumPy). One update in eight evaluates the model: the mean, the median of those
and of all are given. There is no peer.

With `--cycles` the robot is identified on an excitation, its noise taken from an empty run, and N
picks at 60 to 120 a minute with 0.1 to 4 kg are judged against the Cramér-Rao bound of the bench's
residual. `--empty` counts the false events of so many empty cycles, simulated in full. With
`--machines` both estimators weigh on machines of an independent plant, see payload_machines.py.
`--signal` gives either of them a gripper's signal that is early, late, missing, stuck or noisy, see
payload_signal.py.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import deltadyn as dd
from benchmarks import payload_machines, payload_signal
from benchmarks.machine import best, machine_name
from benchmarks.machines.__main__ import seeds_of
from deltadyn.arrays import FloatArray
from deltadyn.identification.identify import identify
from deltadyn.payload import (
    ColouredNoise,
    NoiseModel,
    PayloadEstimator,
    payload_column,
    product_mass,
)
from deltadyn.payload.bench import PickPlan, pick_plan
from deltadyn.payload.bound import cramer_rao
from deltadyn.payload.offline import find_picks
from deltadyn.robot import Robot
from deltadyn.simulation import PDFeedforward, Run, simulate

SAMPLES = 8000  # per timing
REPEATS = 5
PIECE = 100  # empty cycles per simulated run
PRODUCT = 12  # picks of one product
FRICTION = {"viscous": 0.7, "coulomb": 2.0, "smoothing": 0.05}
AFTER = (0.1, 0.15, 0.2)  # s after the pick; the release comes last
SHARE, LEAST = 0.03, 0.05  # of the mass, kg: the error allowed on the bench `lab`
GUARD = 0.06  # s around a pick or release that the torque errors leave out: the filter mixes there


@dataclass(frozen=True, eq=False)
class PickTrial:
    """Errors of the mass (P, K) of P picks at K instants, with the bound beside them, in kg.

    The instants are `after` (s) the pick, and the release. `torque` holds the mean torque errors
    (dof,) in N m while loaded, without and with the estimate.
    """

    after: tuple[float, ...]
    masses: FloatArray
    per_minute: FloatArray
    errors: FloatArray
    std: FloatArray
    bound: FloatArray
    known: FloatArray  # (P,): s from pick to event; NaN where none came
    torque: tuple[FloatArray, FloatArray]

    @property
    def ratio(self) -> FloatArray:
        """RMS error over RMS bound (K,)."""
        ratio: FloatArray = _rms(self.errors) / _rms(self.bound)
        return ratio

    @property
    def within(self) -> FloatArray:
        """Share (K,) of picks whose error is below 3 % of the mass or 50 g, the larger."""
        allowed = np.maximum(SHARE * self.masses, LEAST)[:, None]
        share: FloatArray = (np.abs(self.errors) < allowed).mean(axis=0)
        return share

    @property
    def torque_ratio(self) -> float:
        """Mean torque error with the estimate over that without, absolute values of all axes."""
        without, with_estimate = (float(np.abs(x).sum()) for x in self.torque)
        return with_estimate / without

    def __str__(self) -> str:
        names = [f"{1e3 * t:.0f} ms" for t in self.after] + ["release"]
        head = "".join(f"{name:>10}" for name in names)
        rows = [
            ("RMS error, g", 1e3 * _rms(self.errors)),
            ("own std, g", 1e3 * _rms(np.where(np.isfinite(self.std), self.std, np.nan))),
            ("bound, g", 1e3 * _rms(self.bound)),
            ("error / bound", self.ratio),
            ("within 3 % or 50 g, %", 100 * self.within),
        ]
        lines = [f"{'after the pick':<24}{head}"]
        lines += [f"{name:<24}" + "".join(f"{x:>10.3g}" for x in row) for name, row in rows]
        seen = np.isfinite(self.known)
        late = f", after {1e3 * np.median(self.known[seen]):.0f} ms" if seen.any() else ""
        lines.append(f"{seen.sum()} of {len(seen)} picks were seen{late} in the middle")
        share = self.torque_ratio
        lines.append(f"mean torque error while loaded: with the estimate {share:.3f} of without")
        return "\n".join(lines)


def bench_run(robot: Robot, model: Any, plan: PickPlan, preset: str, seed: int) -> Run:
    """The plan on the bench, with the feedforward of the identified robot."""
    drive = PDFeedforward(getattr(model, "robot", model))
    return simulate(robot, plan.motion, drive, preset=preset, seed=seed, payload=plan.payload)


def judge_picks(
    model: Any,
    run: Run,
    plan: PickPlan,
    noise: NoiseModel,
    residual: ColouredNoise,
    *,
    signal: bool,
    after: Sequence[float] = AFTER,
    kind: str = "bank",
) -> PickTrial:
    """Let the estimator see a run, with the gripper's signal or without, and compare."""
    robot = getattr(model, "robot", model)
    estimator = PayloadEstimator(robot, noise=noise, rate=noise.grid.rate, estimator=kind)
    recording = run.recording
    payload = run.truth.payload[run.truth.written]
    trace, known = [], []
    rows = zip(recording.t.tolist(), recording.q.tolist(), recording.tau.tolist(), strict=True)
    for k, (t, q, tau) in enumerate(rows):
        estimator.update(q, None, None, tau, t=t, holding=bool(payload[k] > 0) if signal else None)
        trace.append((estimator.mass, estimator.std))
        if estimator.event == "pick":
            known.append(t)
    mass, std = np.array(trace).T
    column = payload_column(robot, run.reference)
    table = [
        _cycle(cycle, recording.t, mass, std, column, residual, tuple(after))
        for cycle in plan.cycles
    ]
    errors, deviations, bound = (np.array(x) for x in zip(*table, strict=True))
    seen = np.array(known)
    latency = [_first(seen, cycle.pick, cycle.end) for cycle in plan.cycles]
    return PickTrial(
        tuple(after),
        np.array([cycle.mass for cycle in plan.cycles]),
        np.array([cycle.per_minute for cycle in plan.cycles]),
        errors,
        deviations,
        bound,
        np.array(latency),
        _torque_errors(robot, run, plan, np.interp(run.reference.t, recording.t, mass)),
    )


def false_events(
    model: Any, run: Run, noise: NoiseModel, kind: str = "bank"
) -> list[tuple[float, str]]:
    """Events (s, what) that an empty run gave."""
    robot = getattr(model, "robot", model)
    estimator = PayloadEstimator(robot, noise=noise, rate=noise.grid.rate, estimator=kind)
    found, recording = [], run.recording
    rows = zip(recording.t.tolist(), recording.q.tolist(), recording.tau.tolist(), strict=True)
    for t, q, tau in rows:
        estimator.update(q, None, None, tau, t=t)
        if estimator.event:
            found.append((t, estimator.event))
    return found


def empty_plan(robot: Robot, cycles: int, seed: int) -> PickPlan:
    """Cycles without a load."""
    return pick_plan(robot, cycles, seed=seed).empty


def _cycle(
    cycle: Any,
    t: FloatArray,
    mass: FloatArray,
    std: FloatArray,
    column: FloatArray,
    residual: ColouredNoise,
    after: tuple[float, ...],
) -> tuple[list[float], list[float], list[float]]:
    begin = round(cycle.pick * residual.rate)
    errors, deviations, bounds = [], [], []
    for span in (*(min(x, cycle.end - cycle.pick) for x in after), cycle.end - cycle.pick):
        k = int(np.searchsorted(t, cycle.pick + span)) - 1
        errors.append(float(mass[k] - cycle.mass))
        deviations.append(float(std[k]))
        part = column[begin : begin + round(span * residual.rate)]
        bounds.append(cramer_rao(part, residual))
    return errors, deviations, bounds


def _first(times: FloatArray, low: float, high: float) -> float:
    inside = times[(times >= low) & (times < high)]
    return float(inside[0] - low) if len(inside) else float("nan")


def _torque_errors(
    robot: Robot, run: Run, plan: PickPlan, mass: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean of true drive torque minus model (dof,), while loaded and known: without, with mass.

    The model sees the true motion at the motors, so that only friction, gears and the mass count.
    """
    truth = run.truth
    state = truth.motion()
    column = payload_column(robot, state)
    error = truth.tau - dd.inverse_dynamics(robot.with_payload(0.0, robot.payload.offset), state)
    loaded = np.zeros(len(truth.t), bool)
    for cycle in plan.cycles:
        loaded |= (truth.t > cycle.pick + GUARD) & (truth.t < cycle.end)
    left = error - mass[:, None] * column
    return error[loaded].mean(axis=0), left[loaded].mean(axis=0)


def _rms(x: FloatArray) -> FloatArray:
    value: FloatArray = np.sqrt(np.nanmean(x**2, axis=0))
    return value


def update_times(robot: Robot, form: str, rates: bool, kind: str) -> dict[str, float]:
    """Microseconds per update: mean, median of those with the model, median of all."""
    motion = pick_plan(robot, 5, seed=1).motion
    tau = dd.inverse_dynamics(robot, motion)
    rows = [x[:SAMPLES].tolist() for x in (motion.q, motion.qd, motion.qdd, tau)]
    count = len(rows[0])
    least: dict[str, float] = {}
    for _ in range(REPEATS):
        estimator = PayloadEstimator(robot, form=form, estimator=kind)
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
        if not least or found["mean"] < least["mean"]:
            least = found
    return least


def array_time(robot: Robot) -> float:
    """Microseconds of torque and column of one sample by arrays."""
    motion = pick_plan(robot, 1, seed=1).motion
    rows = [tuple(x[k] for x in (motion.q, motion.qd, motion.qdd)) for k in range(0, 1000, 10)]

    def arrays() -> None:
        for row in rows:
            state = dd.State.from_joints(robot, *row)
            dd.inverse_dynamics(robot, state)
            payload_column(robot, state)

    return 1e6 * best(arrays, REPEATS).seconds / len(rows)


def timing_rows() -> list[dict[str, Any]]:
    """All timings."""
    three = dd.load_robot("sipro-d3-1200").with_friction(**FRICTION)
    four = dd.load_robot("example-delta-4").with_friction(**FRICTION)
    out = []
    for name, robot, form, rates, kind in (
        ("3-DOF, bank", three, "acceleration", False, "bank"),
        ("4-DOF, bank", four, "acceleration", False, "bank"),
        ("3-DOF, least squares", three, "acceleration", False, "least-squares"),
        ("the same, with rates", three, "acceleration", True, "least-squares"),
        ("the same, momentum form", three, "momentum", False, "least-squares"),
        ("4-DOF, least squares", four, "acceleration", False, "least-squares"),
    ):
        arrays = array_time(robot)
        times = update_times(robot, form, rates, kind)
        out.append({"what": name, **times, "arrays": arrays, "ratio": arrays / times["mean"]})
    return out


def bench_rows(preset: str, cycles: int, empty: int, kind: str = "bank") -> dict[str, Any]:
    """Picks and empty cycles on the bench."""
    robot = dd.load_robot("sipro-d3-1200")
    excitation = dd.design_excitation(robot, duration=10.0, harmonics=5)
    log = simulate(robot, excitation.motion, preset=preset, seed=1).recording
    fit = identify(robot, log)
    quiet = bench_run(robot, fit, empty_plan(robot, 24, 12), preset, 12)
    noise = NoiseModel.of(fit, quiet.recording, rate=2000.0)
    residual = ColouredNoise.of(fit.robot, quiet.recording)
    print(f"{preset}, {kind}: {PayloadEstimator(fit, noise=noise, estimator=kind).summary}")
    plan = pick_plan(robot, cycles, seed=11)
    run = bench_run(robot, fit, plan, preset, 11)
    out: dict[str, Any] = {"preset": preset, "noise": noise.summary}
    for signal in (True, False):
        found = judge_picks(fit, run, plan, noise, residual, signal=signal, kind=kind)
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
    ratio = judge_picks(fit, loaded, heavy, noise, residual, signal=True, kind=kind).torque_ratio
    print(f"\nmean torque error with 3.8 kg: with the estimate {ratio:.3f} of without")
    out["torque_ratio_3.8_kg"] = ratio
    out["product"] = product_rows(robot, fit, noise, preset, kind)
    out["lost"] = lost_rows(robot, fit, noise, preset, kind)
    if empty:
        out["false_events"] = empty_rows(robot, fit, noise, preset, empty, kind)
    return out


def product_rows(
    robot: Robot, fit: Any, noise: NoiseModel, preset: str, kind: str
) -> list[tuple[int, float, float]]:
    """Repeated picks of 0.5 kg: count, error and standard deviation in kg."""
    plan = pick_plan(robot, PRODUCT, seed=13, masses=(0.5, 0.5))
    run = bench_run(robot, fit, plan, preset, 13)
    holding = (run.truth.payload[run.truth.written] > 0).tolist()
    log = find_picks(fit, run.recording, noise=noise, holding=holding, estimator=kind)
    rows = []
    print(f"\n{preset}: repeated picks of 0.5 kg\n{'picks':>5}{'error g':>10}{'std g':>10}")
    for count in (1, 2, 4, 8, PRODUCT):
        mass, std = product_mass(log.picks[:count], log.noise)
        rows.append((count, mass - 0.5, std))
        print(f"{count:>5}{1e3 * (mass - 0.5):>10.0f}{1e3 * std:>10.0f}")
    return rows


def lost_rows(robot: Robot, fit: Any, noise: NoiseModel, preset: str, kind: str) -> dict[str, int]:
    """24 picks, about half of them lost on the way: how many ends were named right."""
    plan = pick_plan(robot, 24, seed=15, lost=0.5)
    run = bench_run(robot, fit, plan, preset, 15)
    picks = find_picks(fit, run.recording, noise=noise, estimator=kind).picks
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


def empty_rows(
    robot: Robot, fit: Any, noise: NoiseModel, preset: str, empty: int, kind: str
) -> int:
    """False events of empty cycles, simulated in pieces."""
    count = 0
    for piece, first in enumerate(range(0, empty, PIECE)):
        plan = empty_plan(robot, min(PIECE, empty - first), 1000 + piece)
        run = bench_run(robot, fit, plan, preset, 1000 + piece)
        events = false_events(fit, run, noise, kind)
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
    parser.add_argument("--estimator", default="bank", help="bank or least-squares")
    parser.add_argument("--machines", metavar="CAUSES", help="such as none,load,all; no bench then")
    parser.add_argument("--seeds", default="0", help="of the machines, such as 0-3")
    parser.add_argument("--moves", default="0.25,0.35,0.6", help="s of a way on the machines")
    parser.add_argument("--robot", default="sipro-d3-1200", help="of the machines, or several")
    parser.add_argument("--signal", action="store_true", help="the gripper's signal, early to late")
    parser.add_argument("--masses", default="0.1-4", help="kg, of the loads with --signal")
    parser.add_argument("--jobs", type=int, default=1, help="processes, with --signal")
    arguments = parser.parse_args()
    print(f"machine: {machine_name()}")
    if arguments.signal:
        _write(arguments.json, {"machine": machine_name(), "rows": _signal_rows(arguments)})
        return
    if arguments.machines:
        found = payload_machines.main(
            arguments.machines.split(","),
            seeds_of(arguments.seeds),
            [float(x) for x in arguments.moves.split(",")],
            arguments.empty,
            arguments.estimator.split(","),
            arguments.robot,
        )
        _write(arguments.json, {"machine": machine_name(), "rows": found})
        return
    rows = timing_rows()
    print(f"{'one update, us':<28}{'mean':>8}{'model':>8}{'median':>8}{'NumPy':>9}{'x':>7}")
    for row in rows:
        print(
            f"{row['what']:<28}{row['mean']:>8.1f}{row['with model']:>8.1f}{row['median']:>8.1f}"
            f"{row['arrays']:>9.0f}{row['ratio']:>7.0f}"
        )
    result: dict[str, Any] = {"machine": machine_name(), "update_us": rows}
    if arguments.cycles:
        result["bench"] = bench_rows(
            arguments.preset, arguments.cycles, arguments.empty, arguments.estimator
        )
    _write(arguments.json, result)


def _signal_rows(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Machines of the plant where some are named, else the virtual bench."""
    seeds, robots = seeds_of(arguments.seeds), arguments.robot.split(",")
    low, high = (float(x) for x in arguments.masses.split("-"))
    picks = arguments.cycles or payload_machines.PICKS
    cases: list[Any] = [
        partial(payload_signal.plant_rows, robot, cause, seed, float(move), picks, (low, high))
        for robot in robots
        for cause in filter(None, (arguments.machines or "").split(","))
        for move in arguments.moves.split(",")
        for seed in seeds
    ]
    cases = cases or [
        partial(payload_signal.bench_rows, robot, arguments.preset, seed, picks)
        for robot in robots
        for seed in seeds
    ]
    return payload_signal.main(cases, arguments.jobs)


def _write(path: str | None, result: dict[str, Any]) -> None:
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2)


if __name__ == "__main__":
    main()
