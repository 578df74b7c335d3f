"""Inverse dynamics per second from p, pd, pdd, beside MuJoCo and Pinocchio called from Python.

Run: OMP_NUM_THREADS=1 python -m benchmarks.inverse_dynamics [--samples N] [--json]

deltadyn starts from p, pd, pdd. The peers get all joint positions for free. "Whole": closure
Jacobian, rates, accelerations, open-tree inverse dynamics and projection on the drives are timed;
"open tree": rates, accelerations and projection are free too, and only the engine's inverse
dynamics and one product are timed. deltadyn runs on NumPy here; benchmarks.kernels measures its
compiled kernels, benchmarks.peers the peers compiled, and `deltadyn bench` all of it beside the
targets. All run on one core, in the same process, on the same states; the torques are compared
first.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from tests.reference.engines import Engine, close, mujoco_engine, pinocchio_engine, starting_points
from tests.reference.engines import inverse_dynamics as reference_torque

import deltadyn as dd
from benchmarks.cases import drawn
from benchmarks.machine import best, machine_name
from benchmarks.peers.benchmark import public_torque
from deltadyn import backends as kernels

REPEATS = 5


def peer_times(dof: int, samples: int) -> dict[str, float]:
    """Seconds per torque of the engines, and their agreement with deltadyn checked before."""
    found = drawn(dof, samples)
    spec, state = found.spec, found.state
    ours = dd.inverse_dynamics(found.robot, state)
    result: dict[str, float] = {}
    for name, make in (("MuJoCo", mujoco_engine), ("Pinocchio", pinocchio_engine)):
        engine = make(spec)
        theirs = reference_torque(engine, state.q, state.qd, state.qdd)
        worst = np.abs(theirs - ours).max() / np.abs(ours).max()
        if worst > 1e-9:
            raise SystemExit(f"{name} and deltadyn differ by {worst:.1e}: no race")
        closed = [
            close(engine, start, qd)
            for start, qd in zip(starting_points(spec, state.q), state.qd, strict=True)
        ]
        inputs = [
            (c.x, c.xd, c.gamma @ qdd + c.drift, np.ascontiguousarray(c.gamma.T))
            for c, qdd in zip(closed, state.qdd, strict=True)
        ]

        motions = list(zip(closed, state.qd, state.qdd, strict=True))

        def whole(engine: Engine = engine, motions: list[Any] = motions) -> None:
            for known, qd, qdd in motions:
                c = close(engine, known.x, qd)
                c.gamma.T @ engine.inverse_dynamics(c.x, c.xd, c.gamma @ qdd + c.drift)

        def open_tree(engine: Engine = engine, inputs: list[Any] = inputs) -> None:
            for x, xd, xdd, projection in inputs:
                projection @ engine.inverse_dynamics(x, xd, xdd)

        result[f"{name} from Python, whole"] = best(whole, REPEATS).seconds / samples
        result[f"{name} from Python, open tree"] = best(open_tree, REPEATS).seconds / samples
    return result


def own_time(dof: int, samples: int) -> float:
    """Seconds per torque of deltadyn's NumPy path, from p, pd, pdd to the torques."""
    case = drawn(dof, samples).case
    with kernels.switched_off():
        return best(lambda: public_torque(case), REPEATS).seconds / samples


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=200_000, help="states for deltadyn")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    rows = []
    for dof in (3, 4):
        own = own_time(dof, arguments.samples)
        rows.append((dof, "deltadyn, NumPy in chunks", own, 1.0))
        for name, seconds in peer_times(dof, 1000).items():
            rows.append((dof, name, seconds, seconds / own))
    if arguments.json:
        keys = ("dof", "what", "seconds_per_torque", "times_deltadyn")
        records = [dict(zip(keys, row, strict=True)) for row in rows]
        print(json.dumps({"machine": machine_name(), "rows": records}, indent=2))
        return
    print(f"machine: {machine_name()}")
    print(f"{'dof':>3}  {'what':<34}{'ns a torque':>12}{'torques/s':>14}{'x deltadyn':>12}")
    for dof, name, seconds, ratio in rows:
        print(f"{dof:>3}  {name:<34}{seconds * 1e9:>12.0f}{1 / seconds:>14,.0f}{ratio:>12.1f}")


if __name__ == "__main__":
    main()
