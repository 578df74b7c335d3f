"""The whole path of every kind of robot: excite, run on MuJoCo, identify, validate, export C.

Run: OMP_NUM_THREADS=1 python -m benchmarks.family [--kinds planar par4] [--seconds 20]

The machine's first limb is 4 % heavier than its file says, and its bodies are MuJoCo's. The table
has the condition number of the design, what the fit leaves on a motion that it has not seen (worst
axis, beside what the file leaves), and how far the compiled C is from the fitted robot.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.family.robots import KINDS, OTHER_PLATFORMS, make, waves

import deltadyn as dd
from deltadyn.arrays import FloatArray
from deltadyn.robot import Robot

SCALE = 1.04


def compiled_torque(robot: Robot, motion: dd.Motion) -> FloatArray:
    """Torque (N, dof) of the exported feedforward, compiled by gcc."""
    with tempfile.TemporaryDirectory() as folder:
        made = dd.export(robot, "c", folder)
        source = next(path for path in made.files if path.name.endswith("_delta.c"))
        library = Path(folder) / "delta.so"
        command = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-lm"]
        subprocess.run(command, check=True)
        loaded = ctypes.CDLL(str(library))
        call = loaded[f"{source.stem.removesuffix('_delta')}_feedforward"]
    numbers = ctypes.c_double * robot.dof
    out = np.empty((len(motion), robot.dof))
    for row, (p, pd, pdd) in enumerate(zip(motion.p, motion.pd, motion.pdd, strict=True)):
        tau = numbers()
        payload = ctypes.c_double(robot.payload.mass)
        if call(numbers(*p), numbers(*pd), numbers(*pdd), payload, tau):
            raise RuntimeError(f"row {row}: the exported code refuses the pose")
        out[row] = tau
    return out


def path_of(kind: str, seconds: float) -> str:
    """One row of the table."""
    start, robot = time.perf_counter(), make(kind)
    scale = (SCALE, *(1.0,) * (robot.legs - 1))
    design = dd.design_excitation(
        robot, 4.0, 3, periods=2, starts=1, jobs=1, seed=0, time_limit=seconds
    )
    run = dd.simulate(
        robot, design.motion, plant="mujoco", rate=1000.0, current_noise=0.003, arm_scale=scale
    )
    fit = dd.identify(robot, run.recording, terms="file", tied=False)
    other = dd.simulate(
        robot, waves(robot, 1.0, share=0.6), plant="mujoco", rate=1000.0, arm_scale=scale, seed=1
    )
    left = dd.validate(fit, other.recording).relative_rms
    file = dd.validate(robot, other.recording).relative_rms
    motion = waves(fit.robot, 0.2, 500.0, 0.5)
    wanted = dd.inverse_dynamics(fit.robot, motion)
    apart = np.abs(compiled_torque(fit.robot, motion) - wanted).max() / np.abs(wanted).max()
    took = time.perf_counter() - start
    return (
        f"| {kind} | {design.condition_number:.1f} | {100 * left:.2f} % | {100 * file:.2f} % | "
        f"{apart:.0e} | {took:.0f} s |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="*", default=[*KINDS, *OTHER_PLATFORMS])
    parser.add_argument("--seconds", type=float, default=20.0, help="of the search for a motion")
    given = parser.parse_args()
    print("| kind | condition | fit leaves | file leaves | C, of the torque | time |")
    print("|---|---|---|---|---|---|")
    for kind in given.kinds:
        print(path_of(kind, given.seconds), flush=True)


if __name__ == "__main__":
    main()
