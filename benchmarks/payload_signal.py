"""Picks with a gripper's signal that is early, late, missing, stuck or noisy, beside those without.

Run: OMP_NUM_THREADS=1 python -m benchmarks.payload --signal --machines none,all --seeds 60-61
     OMP_NUM_THREADS=1 python -m benchmarks.payload --signal --cycles 20 --preset lab --seeds 1-4

One log per machine and seed, on an independent plant (as in payload_machines.py) or on the virtual
bench; only the signal differs. In every fifth cycle the gripper closes on nothing. Errors are those
of the settled picks; "false lost" are loads that were put down and are called lost, "extra" picks
where there was no load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tests.machines import make_machine

import deltadyn as dd
from benchmarks.payload_machines import TARE, Cycles, Load, cycles, matched, recorded
from deltadyn.payload import NoiseModel, PickLog, find_picks
from deltadyn.payload.bench import pick_plan
from deltadyn.payload.events import LOST_GRIP
from deltadyn.simulation import PDFeedforward

Signal = npt.NDArray[np.bool_]
OFFSETS_MS = (-50, -20, 0, 20, 40, 80, 150)
STRAY_PER_S = 2.0  # edges of a noisy signal that mean nothing
MISSED_SHARE = 0.2  # of its pulses that are missing
JITTER_S = 0.015
PULSE_S = (0.002, 0.06)
EMPTY_GRIP = 5  # the gripper closes on nothing in one cycle of so many


class PickCase(NamedTuple):
    """A fit, the noise of its empty run, a log with loads, and when the gripper was closed (N,)."""

    label: str
    fit: Any
    noise: NoiseModel
    log: dd.Recording
    loads: tuple[Load, ...]
    closed: Signal


def without_some(plan: Cycles, every: int) -> Cycles:
    """The same cycles; of so many the last one closes its gripper on nothing."""
    loads = tuple(load for k, load in enumerate(plan.loads) if k % every != every - 1)
    return replace(plan, loads=loads)


def machine_case(
    name: str,
    cause: str,
    seed: int,
    move: float,
    picks: int,
    masses: tuple[float, float] = (0.1, 4.0),
) -> PickCase:
    """A machine of the independent plant, identified and tared."""
    machine = make_machine(dd.load_robot(name), cause, None, seed)
    fit = dd.identify(machine.robot, machine.record(3, 4.0))
    rng = np.random.default_rng([seed, 25, round(1e3 * move)])
    tare, full = (cycles(machine, rng, count, move, masses) for count in (TARE, picks))
    loaded = without_some(full, EMPTY_GRIP)
    noise = NoiseModel.of(fit, recorded(machine, fit.robot, tare, empty=True))
    log = recorded(machine, fit.robot, loaded, empty=False)
    closed = full.carried(1.0 / float(np.median(np.diff(log.t))))[: len(log)] > 0
    label = f"{name} {cause} {move:g} s {masses[0]:g}-{masses[1]:g}"
    return PickCase(label, fit, noise, log, loaded.loads, closed)


def bench_case(
    name: str, preset: str, seed: int, picks: int, masses: tuple[float, float] = (0.1, 4.0)
) -> PickCase:
    """The virtual bench, identified on the motion y2."""
    robot = dd.load_robot(name)
    drive = PDFeedforward(robot)

    def record(motion: dd.Motion, at: int, payload: Any = ()) -> Any:
        return dd.simulate(robot, motion, drive, preset=preset, seed=at, payload=payload)

    fit = dd.identify(robot, record(dd.motion.y2(robot), seed).recording, "base")
    quiet = record(pick_plan(robot, TARE, seed=100 + seed).empty.motion, 100 + seed)
    plan = pick_plan(robot, picks, seed=200 + seed, masses=masses)
    full = tuple(Load(cycle.pick, cycle.end, cycle.mass) for cycle in plan.cycles)
    loads = tuple(load for k, load in enumerate(full) if k % EMPTY_GRIP != EMPTY_GRIP - 1)
    events = tuple(pair for load in loads for pair in ((load.pick, load.mass), (load.end, 0.0)))
    log = record(plan.motion, 200 + seed, events).recording
    closed = np.zeros(len(log), bool)
    for load in full:
        closed |= (log.t >= load.pick) & (log.t < load.end)
    noise = NoiseModel.of(fit, quiet.recording)
    return PickCase(
        f"{name} bench {preset} {masses[0]:g}-{masses[1]:g}", fit, noise, log, loads, closed
    )


def shifted_signal(closed: Signal, rate: float, offset: float) -> Signal:
    """The signal `offset` s behind the gripper."""
    step = round(offset * rate)
    out = np.zeros_like(closed)
    if step >= 0:
        out[step:] = closed[: len(closed) - step]
    else:
        out[:step] = closed[-step:]
    return out


def noisy_signal(closed: Signal, rate: float, rng: np.random.Generator) -> Signal:
    """20 ms late with jitter, some pulses missing, and stray edges that mean nothing."""
    edges = np.flatnonzero(np.diff(closed.astype(int)))
    out = np.zeros_like(closed)
    for begin, end in zip(edges[::2], edges[1::2], strict=False):
        if rng.random() >= MISSED_SHARE:
            late = np.maximum(0, np.round(rng.normal(0.02, JITTER_S, 2) * rate)).astype(int)
            out[begin + late[0] : end + late[1]] = True
    for at in rng.integers(0, len(out), round(STRAY_PER_S / 2 * len(out) / rate)):
        width = round(rng.uniform(*PULSE_S) * rate)
        out[at : at + width] = ~out[at : at + width]
    return out


def signals(case: PickCase, seed: int) -> dict[str, Signal | None]:
    """Every signal of the table by name; None is without one."""
    closed, rate = case.closed, 1.0 / float(np.median(np.diff(case.log.t)))
    rng = np.random.default_rng([seed, 26])
    edges = np.flatnonzero(np.diff(closed.astype(int)))
    random = np.zeros_like(closed)
    for begin, end in zip(edges[::2], edges[1::2], strict=False):
        late = round(rng.uniform(-0.05, 0.15) * rate)
        random[max(begin + late, 0) : end + late] = True
    return {
        "none": None,
        **{f"{ms:+d} ms": shifted_signal(closed, rate, 1e-3 * ms) for ms in OFFSETS_MS},
        "random -50..150": random,
        "stuck at 0": np.zeros_like(closed),
        "stuck at 1": np.ones_like(closed),
        "noisy": noisy_signal(closed, rate, rng),
        "inverted": ~closed,
    }


def signal_row(case: PickCase, picks: PickLog) -> dict[str, Any]:
    """Figures of a log's picks against what was carried; g, %, ms."""
    pairs, extra = matched(case.loads, picks.picks)
    seen = [(pair.load, pair.pick) for pair in pairs if pair.pick is not None]
    error, std, late = np.full((3, max(len(seen), 1)), np.nan)  # nan where none was seen
    for k, (load, pick) in enumerate(seen):
        error[k], std[k], late[k] = pick.mass - load.mass, pick.std, pick.detected - load.pick
    return {
        "picks": len(pairs),
        "seen": len(seen),
        "rms g": 1e3 * float(np.sqrt(np.mean(error**2))),
        "stated g": 1e3 * float(np.sqrt(np.mean(std**2))),
        "in 95 %": 100 * float(np.mean(np.abs(error) < 1.96 * std)),
        "ms": 1e3 * float(np.median(late)),
        "ms 90 %": 1e3 * float(np.quantile(late, 0.9)),
        "false lost": sum(pick.ended == LOST_GRIP for _, pick in seen),
        "extra": extra,
    }


def case_rows(case: PickCase, seed: int) -> list[dict[str, Any]]:
    """One row per signal."""
    out = []
    for name, holding in signals(case, seed).items():
        told = None if holding is None else holding.tolist()
        picks = find_picks(case.fit, case.log, noise=case.noise, holding=told)
        out.append({"case": case.label, "seed": seed, "signal": name, **signal_row(case, picks)})
    return out


COLUMNS = {
    **{"case": 40, "seed": 5, "signal": 17, "picks": 6, "seen": 6, "rms g": 8, "stated g": 9},
    **{"in 95 %": 8, "ms": 6, "ms 90 %": 8, "false lost": 11, "extra": 6},
}


def head() -> str:
    """Names of the columns."""
    return "".join(f"{name:>{width}}" for name, width in COLUMNS.items())


def line(row: dict[str, Any]) -> str:
    """One row of the table."""

    def text(value: Any) -> str:
        return f"{value:.1f}" if isinstance(value, float) else str(value)

    return "".join(f"{text(row[name]):>{width}}" for name, width in COLUMNS.items())


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """All cases of each signal together; latencies are the median over the cases."""
    out = []
    for name in dict.fromkeys(row["signal"] for row in rows):
        group = [row for row in rows if row["signal"] == name]
        group = [row for row in group if row["seen"]] or group[:1]
        weight = np.array([row["seen"] for row in group], float)
        weight /= max(weight.sum(), 1.0)
        out.append(
            {
                "case": f"all of {len(group)}",
                "seed": "",
                "signal": name,
                **{key: sum(row[key] for row in group) for key in ("picks", "seen")},
                **{
                    key: float(np.sqrt(weight @ np.square([row[key] for row in group])))
                    for key in ("rms g", "stated g")
                },
                "in 95 %": float(weight @ [row["in 95 %"] for row in group]),
                **{key: float(np.median([row[key] for row in group])) for key in ("ms", "ms 90 %")},
                **{key: sum(row[key] for row in group) for key in ("false lost", "extra")},
            }
        )
    return out


def plant_rows(
    robot: str, cause: str, seed: int, move: float, picks: int, masses: tuple[float, float]
) -> list[dict[str, Any]]:
    """Rows of a machine of the independent plant."""
    return case_rows(machine_case(robot, cause, seed, move, picks, masses), seed)


def bench_rows(robot: str, preset: str, seed: int, picks: int) -> list[dict[str, Any]]:
    """Rows of the virtual bench."""
    return case_rows(bench_case(robot, preset, seed, picks), seed)


def main(
    cases: Sequence[Callable[[], list[dict[str, Any]]]], jobs: int = 1
) -> list[dict[str, Any]]:
    """Print the table of cases, which are calls that give their rows, and give all rows."""
    from joblib import Parallel, delayed

    print(head(), flush=True)
    rows: list[dict[str, Any]] = []
    parts = Parallel(n_jobs=jobs, return_as="generator")(delayed(case)() for case in cases)
    for part in parts:
        rows += part
        print("\n".join(line(row) for row in part), flush=True)
    together = summary(rows)
    print("\n".join(["", head(), *map(line, together)]))
    return rows + together
