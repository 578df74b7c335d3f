"""How well the payload is known on the virtual bench: errors beside the Cramér-Rao bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.dynamics.inverse import inverse_dynamics
from deltadyn.payload.bench import PickPlan, pick_plan
from deltadyn.payload.bound import ColouredNoise, cramer_rao, payload_column
from deltadyn.payload.estimator import PayloadEstimator
from deltadyn.payload.noise import NoiseModel
from deltadyn.robot import Robot
from deltadyn.simulation import PDFeedforward, Run, simulate

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
) -> PickTrial:
    """Let the estimator see a run, with the gripper's signal or without, and compare."""
    robot = getattr(model, "robot", model)
    estimator = PayloadEstimator(robot, noise=noise, form=noise.grid.form, rate=noise.grid.rate)
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


def false_events(model: Any, run: Run, noise: NoiseModel) -> list[tuple[float, str]]:
    """Events (s, what) that an empty run gave."""
    robot = getattr(model, "robot", model)
    estimator = PayloadEstimator(robot, noise=noise, form=noise.grid.form, rate=noise.grid.rate)
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
    error = truth.tau - inverse_dynamics(robot.with_payload(0.0, robot.payload.offset), state)
    loaded = np.zeros(len(truth.t), bool)
    for cycle in plan.cycles:
        loaded |= (truth.t > cycle.pick + GUARD) & (truth.t < cycle.end)
    left = error - mass[:, None] * column
    return error[loaded].mean(axis=0), left[loaded].mean(axis=0)


def _rms(x: FloatArray) -> FloatArray:
    value: FloatArray = np.sqrt(np.nanmean(x**2, axis=0))
    return value
