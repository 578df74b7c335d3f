"""The swarm of kim2022: deltadyn, pyswarms and plain NumPy, and the proven optimum.

Run: python -m benchmarks.swarm [--quick] [--json]

300 particles, 60 neighbours, 1000 iterations (--quick: 100) on the 11 columns of kim2022 for its
robot, 4,500 rows at random states, torques of the exact model with friction and noise. pyswarms
gets the objective as one matrix product, its fastest form: "global best" is its star, "local best"
its ring of 60 neighbours, whose neighbours are the nearest in space. Plain NumPy is our own swarm
with that objective. Beside them the optimum: `l1` with its proof, and HiGHS on all rows. "above"
is the objective over the proven bound, less 1. Seconds are of the processor, on one thread, the
best of two runs of every method.
"""

from __future__ import annotations

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # before NumPy is loaded

import argparse
import importlib
import importlib.util
import json
import logging
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import deltadyn as dd
from benchmarks.machine import machine_name, processor_time
from deltadyn.arrays import FloatArray
from deltadyn.identification import L1, AbsoluteErrorSum, Swarm, swarm
from deltadyn.reproduce import random_states

PARTICLES, NEIGHBOURS, SAMPLES = 300, 60, 1500
REPEATS = 2
LOW, HIGH = -20.0, 20.0
FRICTION = (2.0, 6.0)  # N m s/rad, N m


@dataclass(frozen=True)
class Line:
    """One method's outcome."""

    method: str
    seconds: float
    objective: float
    above: float


class PlainSum:
    """The objective as anybody would write it."""

    def __init__(self, Y: FloatArray, tau: FloatArray) -> None:
        self.Y, self.tau = Y, tau

    def __call__(self, x: FloatArray) -> FloatArray:
        """sum |tau - Y x| at points (P, k)."""
        total: FloatArray = np.abs(x @ self.Y.T - self.tau).sum(axis=1)
        return total


def data() -> tuple[FloatArray, FloatArray]:
    """4,500 rows of the 11 columns, and their torque."""
    robot = dd.load_robot("nt-robot")
    state = random_states(robot, SAMPLES, seed=3)
    torque = dd.inverse_dynamics(robot, state, friction=False)
    torque = torque + FRICTION[0] * state.qd + FRICTION[1] * np.sign(state.qd)
    torque += np.random.default_rng(0).normal(size=torque.shape)
    return dd.regressor(robot, state, "virtual-work").stacked(), torque.ravel()


def timed(work: Callable[[], float]) -> tuple[float, float]:
    """The least processor time of some runs (s), and the objective."""
    values: list[float] = []
    seconds = processor_time(lambda: values.append(work()), REPEATS)
    return seconds, values[-1]


def by_pyswarms(Y: FloatArray, tau: FloatArray, iterations: int, local: bool) -> float:
    """The objective that pyswarms reaches."""
    with TemporaryDirectory() as folder, chdir(folder):  # it writes report.log where it runs
        return _by_pyswarms(Y, tau, iterations, local)


def _by_pyswarms(Y: FloatArray, tau: FloatArray, iterations: int, local: bool) -> float:
    pyswarms: Any = importlib.import_module("pyswarms")
    logging.disable(logging.CRITICAL)
    np.random.seed(0)  # noqa: NPY002 - pyswarms draws from the global generator
    options: dict[str, Any] = {"c1": Swarm.c1, "c2": Swarm.c2, "w": Swarm.c0}
    kind: Any = pyswarms.single.GlobalBestPSO
    if local:
        kind, options = pyswarms.single.LocalBestPSO, options | {"k": NEIGHBOURS, "p": 2}
    k = Y.shape[1]
    begin = np.random.default_rng(0).uniform(LOW, HIGH, (PARTICLES, k))
    flock = kind(n_particles=PARTICLES, dimensions=k, options=options, init_pos=begin)
    cost, _ = flock.optimize(PlainSum(Y, tau), iters=iterations, verbose=False)
    return float(cost)


def by_highs(Y: FloatArray, tau: FloatArray) -> float:
    """The optimum as a linear program."""
    from scipy import sparse
    from scipy.optimize import linprog

    count, k = Y.shape
    solve: Any = linprog  # its stubs do not know sparse matrices
    result = solve(
        np.concatenate([np.zeros(k), np.ones(2 * count)]),
        A_eq=sparse.hstack([sparse.csr_matrix(Y), sparse.eye(count), -sparse.eye(count)]),
        b_eq=tau,
        bounds=[(None, None)] * k + [(0, None)] * (2 * count),
        method="highs",
    )
    return float(result.fun)


def ours(
    cost: Callable[[FloatArray], FloatArray], k: int, iterations: int, **changes: Any
) -> float:
    """The objective that our swarm reaches."""
    low, high = np.full(k, LOW), np.full(k, HIGH)
    sizes: dict[str, Any] = {"particles": PARTICLES, "neighbours": NEIGHBOURS} | changes
    result = swarm(cost, low, high, vectorized=True, bounds="start", iterations=iterations, **sizes)
    return result.cost


def run(iterations: int) -> tuple[list[Line], str | None]:
    """All methods on one set of data, and a sentence on what was left out."""
    Y, tau = data()
    k, bound = Y.shape[1], L1().minimise(Y, tau).bound
    works: list[tuple[str, Callable[[], float]]] = [
        ("deltadyn, cyclic", lambda: ours(AbsoluteErrorSum(Y, tau), k, iterations)),
        (
            "deltadyn, cyclic, current positions",
            lambda: ours(AbsoluteErrorSum(Y, tau), k, iterations, neighbours_best="current"),
        ),
        (
            "deltadyn, star",
            lambda: ours(AbsoluteErrorSum(Y, tau), k, iterations, topology="star"),
        ),
        ("deltadyn with the plain objective", lambda: ours(PlainSum(Y, tau), k, iterations)),
    ]
    missing = None
    if importlib.util.find_spec("pyswarms") is None:
        missing = "pyswarms is not installed: its lines are left out (pip install pyswarms)"
    else:
        works += [
            ("pyswarms, global best", lambda: by_pyswarms(Y, tau, iterations, False)),
            ("pyswarms, local best", lambda: by_pyswarms(Y, tau, iterations, True)),
        ]
    works += [
        ("least_absolute, with proof", lambda: L1().minimise(Y, tau).objective),
        ("linear program, HiGHS", lambda: by_highs(Y, tau)),
    ]
    lines = []
    for name, work in works:
        seconds, value = timed(work)
        lines.append(Line(name, seconds, value, value / bound - 1))
    return lines, missing


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="100 iterations")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    iterations = 100 if arguments.quick else 1000
    lines, missing = run(iterations)
    if arguments.json:
        rows = [vars(x) for x in lines]
        record = {"machine": machine_name(), "load": load, "rows": rows, "note": missing}
        print(json.dumps(record, indent=2))
        return
    print(f"machine: {machine_name()}; load before the run {load:.1f}")
    print(f"{PARTICLES} particles, {iterations} iterations, {3 * SAMPLES} rows, 11 parameters")
    print(f"{'method':<38}{'s':>9}{'objective':>14}{'above':>11}")
    for x in lines:
        print(f"{x.method:<38}{x.seconds:>9.3f}{x.objective:>14.4f}{x.above:>11.1e}")
    if missing:
        print(missing)
    else:
        first = lines[0].seconds
        others = [x for x in lines if x.method.startswith("pyswarms")]
        ratios = ", ".join(f"{x.seconds / first:.1f} ({x.method})" for x in others)
        print(f"times faster than pyswarms: {ratios}")


if __name__ == "__main__":
    main()
