"""The fastest pace along a path beside toppra's, on the same path, nodes and limits.

Run: OMP_NUM_THREADS=1 python -m benchmarks.time_optimal [--samples N] [--json]

Limits of torque, joint rate, joint acceleration and platform speed are the same rows for both, kept
at both ends of every interval (toppra's "interpolation"). toppra has no cone for the platform's
acceleration: it gets facets around it, FACETS of them, and the comparison runs with and without.
Friction is Coulomb's alone, because toppra takes no term in sd. RMS torque is left out for both.

"limits": coefficients along the path. "solve": both passes. toppra gets deltadyn's coefficients; in
the row "called per node" it asks the exact model itself, one node after the other, as its
`JointTorqueConstraint` does.

"check_motion" is the time for every limit of a gate move of 10 s at 2 kHz.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import toppra
from toppra.constraint.linear_constraint import LinearConstraint, canlinear_colloc_to_interpolate

import deltadyn as dd
from benchmarks.machine import best, machine_name, timed
from deltadyn.arrays import FloatArray
from deltadyn.sizing.pace import allowed_sets, fastest_pace, fastest_part
from deltadyn.sizing.path import Linear, PathLimits, Stretch, path_limits, way_of, with_friction

FACETS = 128  # of the circle: 1 / cos(pi / FACETS) - 1 = 3e-4 beyond it
REPEATS = 5
ROBOTS = ("sipro-d3-1200", "abb-irb360-6-1600", "example-delta-4")


class Rows(LinearConstraint):  # type: ignore[misc]  # toppra has no types
    """deltadyn's rows in toppra's form: F v <= g with v = a u + b x + c."""

    def __init__(self, limits: PathLimits, linear: tuple[FloatArray, ...]) -> None:
        super().__init__()
        self.identical = True
        a, b, c = linear
        F = np.concatenate([np.eye(a.shape[1]), -np.eye(a.shape[1])])
        g = np.ones(2 * a.shape[1])
        if limits.cone_u is not None and limits.cone_x is not None:
            along = np.linalg.norm(limits.cone_u, axis=1, keepdims=True)
            first = limits.cone_u / along
            part = np.sum(first * limits.cone_x, axis=1, keepdims=True)
            across = np.linalg.norm(limits.cone_x - part * first, axis=1, keepdims=True)
            angle = np.pi * (np.arange(FACETS // 2) + 0.5) / (FACETS // 2)
            cosine, sine = np.cos(angle), np.sin(angle)
            a = np.concatenate([a, along * cosine], axis=1)
            b = np.concatenate([b, part * cosine + across * sine], axis=1)
            c = np.concatenate([c, np.zeros((len(c), len(angle)))], axis=1)
            size = F.shape
            F = np.block(
                [
                    [F, np.zeros((size[0], len(angle)))],
                    [np.zeros((len(angle), size[1])), np.eye(len(angle))],
                ]
            )
            g = np.concatenate([g, np.ones(len(angle))])
        self.rows = (a, b, c, F, g)
        self.bound = np.stack([np.zeros_like(limits.cap), limits.cap], axis=1)

    def compute_constraint_params(
        self, path: Any, gridpoints: FloatArray, *_: Any, **__: Any
    ) -> Any:
        """Toppra's own step from nodes to both ends of the intervals."""
        rows = canlinear_colloc_to_interpolate(*self.rows, None, None, gridpoints, identical=True)
        return (*rows[:5], None, self.bound)


def best_time(work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of several runs in s, and the result."""
    results: list[Any] = []
    seconds = best(lambda: results.append(work()), REPEATS).seconds
    return seconds, results[-1]


def duration(s: FloatArray, sd: FloatArray) -> float:
    """Seconds from the first node to the last."""
    return float(np.sum(2 * np.diff(s) / (sd[:-1] + sd[1:])))


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A stretch of a robot's path with rows that both solvers take."""

    robot: dd.Robot
    stretch: Stretch
    limits: PathLimits
    ends: Linear  # with Coulomb's friction

    def ours(self) -> FloatArray:
        """deltadyn's sd (n,) in m/s."""
        limits = self.limits
        spacing = np.diff(self.stretch.s)
        sets = allowed_sets(spacing, self.ends, limits.cone_u, limits.cone_x, limits.cap)
        return np.sqrt(fastest_pace(sets))

    def toppra(self) -> Any:
        """toppra's solver on the same rows and nodes."""
        nodes = tuple(np.concatenate([value[:, 0], value[-1:, 1]]) for value in self.ends)
        path = toppra.SplineInterpolator(self.stretch.s, self.stretch.p)
        return toppra.algorithm.TOPPRA(
            [Rows(self.limits, nodes)],
            path,
            gridpoints=self.stretch.s,
            solver_wrapper="seidel",
        )


def prepared(name: str, samples: int, cone: bool) -> Case:
    """The first half of the robot's Adept cycle with 1 kg."""
    robot = dd.load_robot(name)
    robot = robot.with_friction(viscous=0.0, passive=()).with_payload(1.0)
    changes: dict[str, Any] = {"torque_rms": None, "strut_force": None}
    if not cone:
        changes["platform_acceleration"] = None
    robot = robot.replace(limits=dataclasses.replace(robot.limits, **changes))
    stretch = way_of(robot, dd.motion.adept_cycle(robot), samples).stretches[0]
    limits = path_limits(robot, stretch, 1.0)
    ends, _ = with_friction(robot, stretch, limits, np.zeros(len(stretch.s)), None)
    return Case(robot, stretch, limits, ends)


def compared(name: str, samples: int, cone: bool) -> dict[str, Any]:
    """Times of motion and of computation of both."""
    case = prepared(name, samples, cone)
    robot, s = case.robot, case.stretch.s
    rows_time, _ = best_time(lambda: path_limits(robot, case.stretch, 1.0))
    ours_time, sd = best_time(case.ours)
    whole_time, _ = best_time(lambda: fastest_part(robot, case.stretch, 1.0))
    solver = case.toppra()
    theirs_time, answer = best_time(lambda: solver.compute_parameterization(0, 0))
    ours, theirs = duration(s, sd), duration(s, answer[1])
    return {
        "robot": name,
        "platform_acceleration": cone,
        "nodes": len(s),
        "deltadyn_s": ours,
        "toppra_s": theirs,
        "difference": theirs / ours - 1,
        "deltadyn_limits_ms": 1e3 * rows_time,
        "deltadyn_solve_ms": 1e3 * ours_time,
        "deltadyn_whole_ms": 1e3 * whole_time,
        "toppra_solve_ms": 1e3 * theirs_time,
        "toppra_called_per_node_ms": 1e3 * per_node(robot, case.stretch),
    }


def per_node(robot: dd.Robot, stretch: Stretch) -> float:
    """Seconds in which toppra collects torque coefficients by calls of the exact model."""
    q = dd.inverse_kinematics(robot, stretch.p)
    path = toppra.SplineInterpolator(stretch.s, q)

    def torque(q: FloatArray, qd: FloatArray, qdd: FloatArray) -> FloatArray:
        return dd.inverse_dynamics(robot, dd.State.from_joints(robot, q, qd, qdd), friction=False)

    peak = np.asarray(robot.limits.torque_peak)
    both = np.stack([-peak, peak], axis=1)
    friction = np.asarray(robot.friction.coulomb)
    rows = toppra.constraint.JointTorqueConstraint(torque, both, friction)
    return timed(lambda: rows.compute_constraint_params(path, stretch.s))


def checked(name: str) -> dict[str, Any]:
    """Milliseconds of `check_motion` for a slow gate move of 20,001 samples."""
    robot = dd.load_robot(name)
    cycle = dd.motion.adept_cycle(robot)
    farthest = np.argmax(np.linalg.norm(cycle.p - cycle.p[0], axis=1))
    ends = cycle.p[0], cycle.p[farthest]
    move = dd.motion.gate_move(robot, *ends, duration=10.0, rate=2000.0)
    seconds, _ = best_time(lambda: dd.motion.check_motion(robot, move))
    return {"robot": name, "samples": len(move), "check_motion_ms": 1e3 * seconds}


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=800, help="intervals of the path")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    logging.getLogger("toppra").setLevel(logging.ERROR)
    rows = [compared(name, arguments.samples, cone) for cone in (False, True) for name in ROBOTS]
    checks = [checked(name) for name in ROBOTS]
    if arguments.json:
        print(json.dumps({"machine": machine_name(), "rows": rows, "checks": checks}, indent=2))
        return
    print(f"machine: {machine_name()}")
    print("half an Adept cycle with 1 kg; times of motion in s, of computation in ms")
    print(
        f"{'robot':<20}{'cone':>5}{'nodes':>6}{'deltadyn':>10}{'toppra':>10}{'differ':>9}"
        f"{'limits':>8}{'solve':>8}{'toppra':>8}{'ratio':>7}{'per node':>10}"
    )
    for row in rows:
        ratio = row["deltadyn_solve_ms"] / row["toppra_solve_ms"]
        print(
            f"{row['robot']:<20}{'yes' if row['platform_acceleration'] else 'no':>5}"
            f"{row['nodes']:>6}{row['deltadyn_s']:>10.6f}{row['toppra_s']:>10.6f}"
            f"{row['difference']:>9.1e}{row['deltadyn_limits_ms']:>8.1f}"
            f"{row['deltadyn_solve_ms']:>8.1f}{row['toppra_solve_ms']:>8.1f}{ratio:>7.2f}"
            f"{row['toppra_called_per_node_ms']:>10.0f}"
        )
    print("ratio: deltadyn's solve over toppra's, which is compiled; per node: toppra's own rows")
    for row in checks:
        told = f"{row['samples']} samples in {row['check_motion_ms']:.0f} ms"
        print(f"check_motion {row['robot']:<20}{told}")


if __name__ == "__main__":
    main()
