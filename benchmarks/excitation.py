"""Design of excitation: random motions, design_excitation, and differential evolution.

Run: python -m benchmarks.excitation [--quick] [--robot NAME] [--random N] [--json]

For each robot, 10 s and 5 harmonics: (a) random Fourier motions as wide as the limits allow, with
the period that the design chose; their median; (b) design_excitation with its default arguments;
(c) scipy's differential_evolution on the same objective and limits, with the period that the design
chose, in ten times its time (--quick: in the same time); limits are penalties, and the population
is small, which served it best in trials. Its best motion is widened or narrowed until it touches a
limit. All are judged on fine samples, with sharp friction, within all limits. "deviation" is the
geometric mean of the predicted standard deviations over the median of (a), "objective" what (b) and
(c) minimise: its differences are relative, 0.1 being 10 %.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import differential_evolution

import deltadyn as dd
from benchmarks.machine import machine_name
from deltadyn.arrays import FloatArray
from deltadyn.excitation import Excitation, Noise, Prediction, design_excitation
from deltadyn.excitation.criteria import predict
from deltadyn.excitation.design import within_limits
from deltadyn.excitation.problem import FAR, Problem
from deltadyn.excitation.request import Design, Prepared, Request, prepared
from deltadyn.excitation.search import random_motion, touching
from deltadyn.motion.fourier import FourierSeries

ROBOTS = ("sipro-d3-1200", "abb-irb360-6-1600")
TARGETS = {3: 2.0, 4: 5.0}  # times lower than the random median, by degrees of freedom
SAMPLES = 80  # of a period in random motions and evolution, as in the design's first round
PENALTY, LOST = 10.0, 50.0  # of an exceeded limit, and of a motion that is far beyond
WIDE = 0.6  # of the region: amplitudes that evolution may try, over the harmonic's number


@dataclass(frozen=True)
class Line:
    """One method's outcome."""

    robot: str
    method: str
    seconds: float
    periods: int
    condition: float
    deviation: float
    objective: float
    worst: str


def request_of(design: Excitation) -> Request:
    """The request of a default design with the period that it chose."""
    asked = Design(
        periods=design.periods,
        criterion=design.criterion,
        model=design.model,
        noise_correlation=design.noise.correlation,
        share=design.report.share,
        rate=design.noise.rate,
    )
    return Request(design.robot, design.duration, design.series.harmonics, asked)


def judge(request: Request, ready: Prepared, series: FourierSeries) -> Prediction:
    """Condition number and deviations as the design reports them."""
    noise: Noise = ready.noise
    return predict(
        request.robot,
        series,
        request.duration,
        ready.chosen,
        ready.weights,
        noise,
        request.design.model,
        request.equal,
    )


_problem: Problem | None = None


def _begin(problem: Problem) -> None:
    global _problem
    _problem = problem


def _cost(x: FloatArray) -> float:
    """The objective, and ten times the share by which a limit is exceeded."""
    assert _problem is not None
    use = min(_problem.use(x), 1e6)
    value = _problem.objective(x) if use < FAR else LOST
    return (value if np.isfinite(value) else LOST) + PENALTY * max(0.0, math.sqrt(use) - 1)


def evolve(problem: Problem, seconds: float, seed: int = 0) -> tuple[FloatArray, float, int]:
    """The best variables of differential evolution in so many seconds, the time, evaluations."""
    free = problem.free
    wide = np.full(free.shape, WIDE)
    wide[:, 0] = 0.9
    count = [0]
    # fresh processes with the settings of the design's own workers
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    os.environ |= {"MALLOC_TRIM_THRESHOLD_": str(1 << 28), "MALLOC_MMAP_THRESHOLD_": str(1 << 24)}
    with multiprocessing.get_context("spawn").Pool(None, _begin, (problem,)) as pool:
        began = time.time()

        def spread(function: Any, points: Any) -> Any:
            values = list(points)
            count[0] += len(values)
            return pool.map(_cost, values, chunksize=8)

        solve: Any = differential_evolution  # its stubs do not know these calls
        result = solve(
            _cost,
            np.stack([-wide[free], wide[free]], axis=1),
            maxiter=10**6,
            popsize=2,
            tol=0.0,
            polish=False,
            rng=seed,
            callback=lambda *_, **__: time.time() - began > seconds,
            updating="deferred",
            workers=spread,
        )
        took = time.time() - began
    return touching(problem, np.asarray(result.x)), took, count[0]


def run(name: str, random_count: int, factor: float) -> list[Line]:
    """The three methods on one robot."""
    robot = dd.load_robot(name)
    began = time.time()
    design = design_excitation(robot)
    seconds = time.time() - began
    request = request_of(design)
    ready = prepared(request)
    problem = Problem(ready.setting, design.periods, SAMPLES, 80.0)
    rng = np.random.default_rng(1)
    began = time.time()
    motions = [random_motion(problem, rng) for _ in range(random_count)]
    several = [judge(request, ready, problem.series(x)) for x in motions]
    random_seconds = time.time() - began
    mean = float(np.median([np.log(item.std).mean() for item in several]))

    def line(method: str, prediction: Prediction, took: float, objective: float) -> Line:
        share = prediction.std / np.maximum(np.abs(ready.chosen.values), ready.setting.scale)
        weakest = int(share.argmax())
        return Line(
            name,
            method,
            took,
            design.periods,
            prediction.condition_number,
            float(np.exp(np.log(prediction.std).mean() - mean)),
            objective,
            f"{ready.chosen.names[weakest]} {100 * share[weakest]:.2g} %",
        )

    def value(series: FourierSeries) -> float:
        return problem.objective(problem.variables(series))

    middle = sorted(several, key=lambda item: item.condition_number)[len(several) // 2]
    typical = float(np.median([problem.objective(x) for x in motions]))
    lines = [
        line(f"median of {random_count} random", middle, random_seconds, typical),
        line("design_excitation", design.prediction, seconds, value(design.series)),
    ]
    x, took, evaluations = evolve(problem, factor * seconds)
    series, _ = within_limits(request, problem.series(x))
    title = f"differential evolution, {evaluations} motions"
    return [*lines, line(title, judge(request, ready, series), took, value(series))]


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="evolution in the design's time")
    parser.add_argument("--robot", choices=ROBOTS, help="only this robot")
    parser.add_argument("--random", type=int, default=200, help="random motions")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    factor = 1.0 if arguments.quick else 10.0
    names = (arguments.robot,) if arguments.robot else ROBOTS
    lines = [line for name in names for line in run(name, arguments.random, factor)]
    if arguments.json:
        record = {"machine": machine_name(), "load": load, "rows": [vars(x) for x in lines]}
        print(json.dumps(record, indent=2))
        return
    print(f"machine: {machine_name()}; load before the run {load:.1f}")
    print(
        f"{'robot':<19}{'method':<38}{'s':>7}{'periods':>9}{'condition':>11}{'deviation':>11}"
        f"{'objective':>11}  weakest parameter"
    )
    for x in lines:
        print(
            f"{x.robot:<19}{x.method:<38}{x.seconds:>7.1f}{x.periods:>9}{x.condition:>11.2f}"
            f"{x.deviation:>11.3f}{x.objective:>11.3f}  {x.worst}"
        )
    for name in names:
        typical, ours, _ = (x.condition for x in lines if x.robot == name)
        target = TARGETS[dd.load_robot(name).dof]
        print(f"{name}: {typical / ours:.1f} times lower than the random median, target {target:g}")


if __name__ == "__main__":
    main()
