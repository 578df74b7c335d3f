"""Time of the exported C: one update of the payload estimator, one torque, one pose.

Run: OMP_NUM_THREADS=1 python -m benchmarks.export_c [--json]

The export is compiled with `-O2` by every compiler that is found, for a generic processor, and runs
over a stream of picks with loads. "mean" is the best of several passes over the stream; "worst" is
the slowest sample of the stream after the least of all passes was taken for each, so that what
other programs do to a single sample is left out. The clock's own time is in "worst" and not in
"mean". Python's estimator runs on the same samples in the same process, for the ratio.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import deltadyn as dd
from benchmarks.machine import best, machine_name
from deltadyn.exports.c import Options, files
from deltadyn.payload import PayloadEstimator, payload_column
from deltadyn.payload.bench import pick_plan
from deltadyn.robot import Robot

TARGET = 1000.0  # ns per update
SEED = 1
PASSES = 40
FRICTION = {"viscous": 0.7, "coulomb": 2.0, "smoothing": 0.05}
CALLS = ("feedforward", "feedforward joints", "inverse kinematics", "forward dynamics")

TIMER = r"""
#define _POSIX_C_SOURCE 199309L
#include HEADER
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define JOIN(a, b) a##_##b
#define PASTE(a, b) JOIN(a, b)
#define F(name) PASTE(ID, name)
typedef F(real) real;
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
static double update(F(payload) *state, const real *row, F(payload_result) *r)
{
    F(payload_update)(state, row + 3 * DOF, NULL, NULL, row + 6 * DOF, -1, r);
    return (double)r->mass;
}
static double call(int kind, const real *x)
{
    real out[DOF] = { 0 };
    const real *q = x + 3 * DOF;
    if (kind == 0) F(feedforward)(x, x + DOF, x + 2 * DOF, 1, out);
    if (kind == 1) F(feedforward_joints)(q, q + DOF, q + 2 * DOF, 1, out);
    if (kind == 2) F(inverse_kinematics)(x, out);
    if (kind == 3) F(forward_dynamics)(q, q + DOF, q + 3 * DOF, 1, out);
    return (double)out[0];
}
int main(int argc, char **argv)
{
    const int passes = atoi(argv[2]);
    const long n = atol(argv[3]), width = 7 * DOF;
    real *rows = malloc(sizeof(real) * (size_t)(n * width));
    double *least = malloc(sizeof(double) * (size_t)n), best = 1e300, worst = 0, sink = 0;
    FILE *file = fopen(argv[1], "rb");
    static F(payload) state;
    F(payload_result) r;
    if (argc < 4 || !rows || !least || !file) return 1;
    if (fread(rows, sizeof(real), (size_t)(n * width), file) != (size_t)(n * width)) return 1;
    for (long k = 0; k < n; k++) least[k] = 1e300;
    for (int pass = 0; pass < passes; pass++) {
        F(payload_init)(&state);
        const double start = now();
        for (long k = 0; k < n; k++) sink += update(&state, rows + k * width, &r);
        const double span = (now() - start) / (double)n;
        best = span < best ? span : best;
        F(payload_init)(&state);
        for (long k = 0; k < n; k++) {
            const double from = now();
            sink += update(&state, rows + k * width, &r);
            const double one = now() - from;
            least[k] = one < least[k] ? one : least[k];
        }
    }
    for (long k = 0; k < n; k++) worst = least[k] > worst ? least[k] : worst;
    printf("%g %g", best, worst);
    for (int kind = 0; kind < 4; kind++) {
        best = 1e300;
        for (int pass = 0; pass < passes; pass++) {
            const double start = now();
            for (long k = 0; k < n; k++) sink += call(kind, rows + k * width);
            const double span = (now() - start) / (double)n;
            best = span < best ? span : best;
        }
        printf(" %g", best);
    }
    printf(" %d\n", sink == 0.5);
    return 0;
}
"""


def stream(robot: Robot) -> np.ndarray[Any, Any]:
    """p, pd, pdd, q, qd, qdd, tau of picks with loads, (N, 7 dof), as the controller has them."""
    plan = pick_plan(robot, 6, seed=SEED, masses=(0.5, 3.0))
    motion, payload = plan.motion, np.zeros(len(plan.motion.t))
    for start, mass in plan.payload:
        payload[round(start * 2000.0) :] = mass
    tau = dd.inverse_dynamics(robot, motion) + payload[:, None] * payload_column(robot, motion)
    noise = np.random.default_rng(SEED).standard_normal(tau.shape)
    parts = (motion.p, motion.pd, motion.pdd, motion.q, motion.qd, motion.qdd, tau + 0.3 * noise)
    return np.concatenate(parts, axis=1)


def compiled_times(robot: Robot, rows: Any, compiler: str, precision: str) -> dict[str, Any]:
    """ns per update and per call of the export, by one compiler."""
    real = np.float64 if precision == "double" else np.float32
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files(robot, Options(precision=precision)).items():
            (folder / file).write_text(text, "utf-8")
        (folder / "timer.c").write_text(TIMER, "utf-8")
        rows.astype(real).tofile(folder / "rows.bin")
        source = next(folder.glob("*_delta.c"))
        own = source.stem.removesuffix("_delta")
        defines = [f'-DHEADER="{source.stem}.h"', f"-DID={own}", f"-DDOF={robot.dof}"]
        # DOF is an enumeration inside the library, so that is compiled on its own
        steps = (
            [compiler, "-std=c99", "-O2", "-c", source.name, "-o", "own.o"],
            [compiler, "-std=c99", "-O2", *defines, "timer.c", "own.o", "-lm", "-o", "timer"],
        )
        for step in steps:
            subprocess.run(step, cwd=folder, check=True)
        command = ["./timer", "rows.bin", str(PASSES), str(len(rows))]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    mean, worst, *calls, _ = (float(word) for word in done.stdout.split())
    found: dict[str, Any] = {
        "dof": robot.dof,
        "compiler": compiler,
        "precision": precision,
        "update": mean,
        "worst": worst,
    }
    return {**found, **dict(zip(CALLS, calls, strict=True))}


def python_time(robot: Robot, rows: Any) -> float:
    """ns per update of Python's estimator on the same samples, the best of three passes."""
    dof = robot.dof
    q, tau = rows[:, 3 * dof : 4 * dof].tolist(), rows[:, 6 * dof :].tolist()

    def updates() -> None:
        estimator = PayloadEstimator(robot, estimator="least-squares")
        for angles, torque in zip(q, tau, strict=True):
            estimator.update(angles, None, None, torque)

    return 1e9 * best(updates, 3).seconds / len(q)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    as_json = parser.parse_args().json
    table: list[dict[str, Any]] = []
    for name in ("sipro-d3-1200", "example-delta-4"):
        robot = dd.load_robot(name).with_friction(**FRICTION)
        rows = stream(robot)
        python = python_time(robot, rows)
        for compiler in filter(shutil.which, ("gcc", "clang")):
            for precision in ("double", "float"):
                row = compiled_times(robot, rows, compiler, precision)
                table.append({**row, "python": python})
    if as_json:
        print(json.dumps({"machine": machine_name(), "unit": "ns", "rows": table}, indent=2))
        return
    print(machine_name())
    print("ns per call; update of the payload estimator: mean, worst sample, Python over it")
    print(f"{'':24}{'update':>8}{'worst':>8}{'ratio':>8}", *(f"{name:>19}" for name in CALLS))
    for row in table:
        label = f"{row['dof']}-DOF {row['compiler']} {row['precision']}"
        head = f"{label:24}{row['update']:8.0f}{row['worst']:8.0f}"
        ratio = f"{row['python'] / row['update']:8.0f}"
        print(head + ratio, *(f"{row[name]:19.0f}" for name in CALLS))
    slowest = max(row["update"] for row in table)
    print(f"slowest mean {slowest:.0f} ns, target below {TARGET:.0f} ns: ", end="")
    print("met" if slowest < TARGET else "missed")


if __name__ == "__main__":
    main()
