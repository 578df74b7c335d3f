"""Feedforward that learns its payload: tracking error of the way out, loaded, and of the way back.

    python -m benchmarks.adaptive                        # lab and industrial, a minute
    python -m benchmarks.adaptive --cycles 24 --seed 7

The D3-1200, identified on 8 s; cycles at random places and paces with loads of 0.3 to 4 kg.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

import deltadyn as dd
from deltadyn.payload import NoiseModel, PayloadEstimator
from deltadyn.payload.bench import PickPlan, pick_plan
from deltadyn.simulation import PD, AdaptiveFeedforward, Controller, PDFeedforward, Run, simulate

ROBOT = dd.load_robot("sipro-d3-1200")
PRESETS = ("lab", "industrial")
EMPTY = 24  # cycles of the empty run


class Known:
    """An estimator that knows the loads: what is left when nothing has to be estimated."""

    def __init__(self, plan: PickPlan, rate: float) -> None:
        self.plan, self.rate, self.ticks = plan, rate, 0

    def reset(self) -> None:
        """Begin anew."""
        self.ticks = 0

    def update(self, q: object, qd: object, qdd: object, tau: object) -> None:
        """Another tick."""
        self.ticks += 1

    @property
    def mass(self) -> float:
        """The load of now, in kg."""
        t = self.ticks / self.rate
        return sum(cycle.mass for cycle in self.plan.cycles if cycle.pick <= t < cycle.end)


def ways(run: Run, plan: PickPlan) -> tuple[float, float]:
    """RMS tracking error of the ways out and back, in mrad."""
    ends = [(cycle.pick, cycle.end) for cycle in plan.cycles]
    out, back = np.zeros(len(run.truth.t), dtype=bool), np.zeros(len(run.truth.t), dtype=bool)
    for pick, end in ends:
        out |= (run.truth.t >= pick) & (run.truth.t < end)
    for (_, end), (pick, _) in pairwise(ends):
        back |= (run.truth.t >= end) & (run.truth.t < pick)
    squares = np.mean(run.tracking_error[:, :3] ** 2, axis=1)
    first, second = (1e3 * float(np.sqrt(squares[part].mean())) for part in (out, back))
    return first, second


def compare(preset: str, cycles: int, seed: int, kind: str) -> None:
    """The rows of a preset."""
    motions = (dd.motion.y2(ROBOT), dd.motion.y1(ROBOT))
    logs = [simulate(ROBOT, m, preset=preset, seed=k).recording for k, m in enumerate(motions)]
    fit = dd.identify(ROBOT, logs, "base")
    pd = PD(ROBOT)
    same = {"stiffness": pd.stiffness, "damping": pd.damping}
    plain = PDFeedforward(fit.robot, **same)
    other = pick_plan(ROBOT, EMPTY, seed=seed + 1).motion
    empty = simulate(ROBOT, other, plain, preset=preset, seed=9).recording
    plan = pick_plan(ROBOT, cycles, seed=seed, masses=(0.3, 4.0))
    estimator = PayloadEstimator(fit, noise=NoiseModel.of(fit, empty), estimator=kind)
    grips = [(cycle.pick, cycle.end) for cycle in plan.cycles]
    laws: dict[str, Controller] = {
        "feedforward, no payload known": plain,
        "adaptive, no signal": AdaptiveFeedforward(fit.robot, estimator, window=None, **same),
        "the same, old loads not doubted": AdaptiveFeedforward(
            fit.robot, estimator, window=None, doubt=0.0, **same
        ),
        "with a rise of 10 ms": AdaptiveFeedforward(
            fit.robot, estimator, window=None, rise=0.01, **same
        ),
        "adaptive, gripper's signal": AdaptiveFeedforward(
            fit.robot, estimator, window=None, grips=grips, **same
        ),
        "load known": AdaptiveFeedforward(
            fit.robot, Known(plan, 2000.0), window=None, grips=grips, **same
        ),
    }
    for name, law in laws.items():
        run = simulate(ROBOT, plan.motion, law, preset=preset, payload=plan.payload, seed=seed)
        out, back = ways(run, plan)
        print(f"{preset:12}{name:34}{out:8.2f}{back:8.2f}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=12)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--presets", nargs="+", default=PRESETS)
    parser.add_argument("--estimator", default="bank", choices=("bank", "least-squares"))
    chosen = parser.parse_args(arguments)
    print(f"{'tracking error, mrad RMS':46}{'out':>8}{'back':>8}")
    for preset in chosen.presets:
        compare(preset, chosen.cycles, chosen.seed, chosen.estimator)


if __name__ == "__main__":
    main()
