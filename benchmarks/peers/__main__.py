"""MuJoCo in C and Pinocchio in C++ beside our kernels, on random robots of the reference engines.

Run: OMP_NUM_THREADS=1 python -m benchmarks.peers [--robots N] [--rounds N] [--json]

`deltadyn bench` measures the same on two robots of the catalogue; here the robots are drawn, so
that no figure hangs on one of them. Torques of every robot are compared first, by both ways of the
peer with ours, and with the reference engines' own closure, which uses no formula of ours. Ours and
the peer run by turns on one core; the best of the rounds counts. See docs/bench.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass

import numpy as np
from tests.reference.engines import inverse_dynamics as reference_torque
from tests.reference.engines import mujoco_engine

from benchmarks.cases import SAMPLES, Case, drawn
from benchmarks.machine import machine_name
from benchmarks.peers.benchmark import compiled_peers, own_function
from benchmarks.peers.programs import SAME, Race, Times

CHECKED = 20  # samples that the reference closes by Newton steps, from Python


@dataclass(frozen=True)
class Result:
    """One peer on one robot; times in ns per torque."""

    peer: str
    dof: int
    seed: int
    ours_ns: float
    whole_ns: float
    open_tree_ns: float
    ratio: float
    torque_difference: float


def checked_case(dof: int, seed: int) -> Case:
    """A random robot with thin struts and random states, checked against the reference."""
    found = drawn(dof, SAMPLES, seed)
    case, state = found.case, found.state
    few = (state.q[:CHECKED], state.qd[:CHECKED], state.qdd[:CHECKED])
    expected = reference_torque(mujoco_engine(found.spec), *few)
    worst = np.abs(case.torque()[:CHECKED] - expected).max() / np.abs(expected).max()
    if not worst <= SAME:
        raise SystemExit(f"robot {seed}: ours and the reference differ by {worst:.1e}: no race")
    return case


def result_of(peer: str, dof: int, seed: int, times: Times) -> Result:
    """The figures of one race in ns."""
    own, whole, open_tree = 1e9 * times.own, 1e9 * times.whole, 1e9 * times.open
    ratio = times.whole / times.own
    return Result(peer, dof, seed, own, whole, open_tree, ratio, times.difference)


def results(robots: int, rounds: int) -> list[Result]:
    """Every peer on every robot."""
    programs, missing = compiled_peers(lambda text: print(text, file=sys.stderr))
    for name, reason in missing.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    found = []
    for dof in (3, 4):
        for seed in range(robots):
            case = checked_case(dof, seed)
            for name, program in programs.items():
                with Race(program, case) as race:
                    times = race.run(own_function(case), rounds)
                found.append(result_of(name, dof, seed, times))
    return found


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--robots", type=int, default=3, help="random robots for each kind")
    parser.add_argument("--rounds", type=int, default=20, help="turns of ours and of the peer")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    found = results(arguments.robots, arguments.rounds)
    if arguments.json:
        rows = [asdict(result) for result in found]
        print(json.dumps({"machine": machine_name(), "rows": rows}, indent=2))
        return
    print(f"machine: {machine_name()}")
    print(
        f"{'dof':>3} {'robot':>5}  {'peer':<11}{'ours ns':>9}{'whole ns':>10}{'open ns':>9}"
        f"{'x ours':>8}{'torque error':>14}"
    )
    for r in found:
        print(
            f"{r.dof:>3} {r.seed:>5}  {r.peer:<11}{r.ours_ns:>9.1f}{r.whole_ns:>10.0f}"
            f"{r.open_tree_ns:>9.0f}{r.ratio:>8.1f}{r.torque_difference:>14.1e}"
        )


if __name__ == "__main__":
    main()
