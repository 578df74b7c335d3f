"""Time of the exported C: updates of the payload estimators and the force observer, one torque.

Run: OMP_NUM_THREADS=1 python -m benchmarks.export_c [--json]

The export is compiled with `-O2` by every compiler that is found, for a generic processor, and runs
over a stream of picks with loads. The mean of an update is the best of several passes over the
stream, or the mean of each sample's least time in all passes where that is less; "worst" is the
slowest sample after the least of all passes was taken for each, so that what other programs do to a
single sample is left out. The clock's own time is in "worst" and not in the mean. Python's estimator runs on the same samples in the same process, for the ratio.
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
from deltadyn.force import Tare
from deltadyn.payload import PayloadEstimator, payload_column
from deltadyn.payload.bench import pick_plan
from deltadyn.robot import Robot

TARGET = 500.0  # ns per update
RATE = 1000.0  # Hz
SEED = 1
PASSES = 40
EMPTY = 40  # cycles of the empty run
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
typedef union { F(payload) payload; F(force) force; } any_state;
static double update(int force, any_state *state, const real *row)
{
    F(payload_result) r;
    F(force_result) f;
    if (force) {
        F(force_update)(&state->force, row + 3 * DOF, row + 6 * DOF, 0, 0, &f);
        return (double)f.force[0];
    }
    F(payload_update)(&state->payload, row + 3 * DOF, NULL, NULL, row + 6 * DOF, -1, &r);
    return (double)r.mass;
}
static void begin(int force, any_state *state)
{
    if (force) F(force_init)(&state->force);
    else F(payload_init)(&state->payload);
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
    double *least = malloc(sizeof(double) * (size_t)n), best, worst, sink = 0;
    FILE *file = fopen(argv[1], "rb");
    static any_state state;
    if (argc < 4 || !rows || !least || !file) return 1;
    if (fread(rows, sizeof(real), (size_t)(n * width), file) != (size_t)(n * width)) return 1;
    for (int force = 0; force < 2; force++) {
        best = 1e300, worst = 0;
        for (long k = 0; k < n; k++) least[k] = 1e300;
        for (int pass = 0; pass < passes; pass++) {
            begin(force, &state);
            const double start = now();
            for (long k = 0; k < n; k++) sink += update(force, &state, rows + k * width);
            const double span = (now() - start) / (double)n;
            best = span < best ? span : best;
            begin(force, &state);
            for (long k = 0; k < n; k++) {
                const double from = now();
                sink += update(force, &state, rows + k * width);
                const double one = now() - from;
                least[k] = one < least[k] ? one : least[k];
            }
        }
        double clock = 1e300, mean = 0;
        for (int k = 0; k < 1000; k++) {
            const double from = now(), one = now() - from;
            clock = one < clock ? one : clock;
        }
        for (long k = 0; k < n; k++) {
            worst = least[k] > worst ? least[k] : worst;
            mean += (least[k] - clock) / (double)n;
        }
        printf("%g %g ", mean < best ? mean : best, worst);
    }
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
    plan = pick_plan(robot, 6, seed=SEED, masses=(0.5, 3.0), rate=RATE)
    motion, payload = plan.motion, np.zeros(len(plan.motion.t))
    for start, mass in plan.payload:
        payload[round(start * RATE) :] = mass
    tau = dd.inverse_dynamics(robot, motion) + payload[:, None] * payload_column(robot, motion)
    noise = np.random.default_rng(SEED).standard_normal(tau.shape)
    parts = (motion.p, motion.pd, motion.pdd, motion.q, motion.qd, motion.qdd, tau + 0.3 * noise)
    return np.concatenate(parts, axis=1)


def empty_run(robot: Robot) -> dd.Recording:
    """The model's torque of empty cycles, with noise."""
    motion = pick_plan(robot, EMPTY, seed=SEED + 1, rate=RATE).empty.motion
    noise = np.random.default_rng(SEED + 2).standard_normal(motion.q.shape)
    tau = dd.inverse_dynamics(robot, motion) + 0.3 * noise
    return dd.Recording(t=motion.t, q=motion.q, tau=tau, name="empty", payload=None)


def compiled_times(
    robot: Robot, rows: Any, compiler: str, precision: str, estimator: Any, tare: Tare
) -> dict[str, Any]:
    """ns per update and per call of the export, by one compiler."""
    real = np.float64 if precision == "double" else np.float32
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files(robot, Options(precision, estimator, tare=tare)).items():
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
    mean, worst, force, slowest, *calls, _ = (float(word) for word in done.stdout.split())
    found: dict[str, Any] = {
        "dof": robot.dof,
        "compiler": compiler,
        "precision": precision,
        "estimator": estimator.options.estimator,
        "update": mean,
        "worst": worst,
        "force": force,
        "force worst": slowest,
    }
    return {**found, **dict(zip(CALLS, calls, strict=True))}


def python_time(estimator: PayloadEstimator, rows: Any) -> float:
    """ns per update of Python's estimator on the same samples, the best of three passes."""
    dof = estimator.robot.dof
    q, tau = rows[:, 3 * dof : 4 * dof].tolist(), rows[:, 6 * dof :].tolist()

    def updates() -> None:
        estimator.reset()
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
        rows, empty = stream(robot), empty_run(robot)
        tare = Tare.of(robot, empty)
        for kind in ("bank", "least-squares"):
            estimator = PayloadEstimator.from_fit(robot, empty, estimator=kind)
            python = python_time(estimator, rows)
            for compiler in filter(shutil.which, ("gcc", "clang")):
                for precision in ("double", "float"):
                    row = compiled_times(robot, rows, compiler, precision, estimator, tare)
                    table.append({**row, "python": python})
    if as_json:
        print(json.dumps({"machine": machine_name(), "unit": "ns", "rows": table}, indent=2))
        return
    print(machine_name())
    print("ns per call, samples of 1 kHz; updates of payload and force: mean, worst sample")
    heads = ("payload", "worst", "Python x", "force", "worst")
    print(f"{'':38}", *(f"{head:>9}" for head in heads), *(f"{name:>19}" for name in CALLS))
    for row in table:
        label = f"{row['dof']}-DOF {row['compiler']} {row['precision']} {row['estimator']}"
        ratio = row["python"] / row["update"]
        own = (row["update"], row["worst"], ratio, row["force"], row["force worst"])
        print(f"{label:38}", *(f"{x:9.0f}" for x in own), *(f"{row[n]:19.0f}" for n in CALLS))
    slowest = max(row["update"] for row in table)
    print(f"slowest mean {slowest:.0f} ns, target below {TARGET:.0f} ns: ", end="")
    print("met" if slowest < TARGET else "missed")


if __name__ == "__main__":
    main()
