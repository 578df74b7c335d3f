"""Torques per second of the compiled kernels, beside NumPy, MuJoCo and Pinocchio from Python.

Run: python -m benchmarks.kernels [--samples N] [--json]

"whole" is from p, pd, pdd (or q, qd, qdd) to the torques in one call; "public" is State and
inverse_dynamics, which also keep all joint and platform coordinates. The peers are called from
Python and get all joint positions for free, see benchmarks.inverse_dynamics. All run in the same
process. Rows of one thread are processor time, which a machine that is busy elsewhere disturbs
less; those of two threads are time on the clock, and "cores" is the processor time over it: two
threads that get less than two cores say nothing about two. Torques are compared first. "direct" is
a call of deltadyn.backends, without a state; rows that name kernels and NumPy are public functions,
by both paths in turn.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import deltadyn as dd
from benchmarks.cases import drawn
from benchmarks.inverse_dynamics import own_time, peer_times
from benchmarks.machine import best, machine_name, processor_time, threads
from deltadyn import backends as kernels
from deltadyn.arrays import FloatArray
from deltadyn.dynamics import packed_parameters
from deltadyn.dynamics.columns import exact_columns
from deltadyn.robot.settings import Friction, PassiveFriction

ONE_BY_ONE = 500  # calls of one sample: short runs find a quiet moment on a busy machine
PEER_SAMPLES = 500
OTHER_SAMPLES = 20_000
TARGET_RATE = 20e6  # 3-DOF torques per second on two cores
TARGET_CALL = 5e-6  # s per call of one sample

REPEATS = 25


class Row(NamedTuple):
    """One line of the table; `cores` is None where it was not measured."""

    dof: int
    what: str
    seconds: float
    cores: float | None = None


def own_rows(dof: int, samples: int) -> list[Row]:
    """Seconds per torque of deltadyn, by every way that it offers."""
    found = drawn(dof, samples)
    robot, state = found.robot, found.state
    dry = robot.replace(friction=Friction(viscous=0.1, coulomb=0.2))
    smooth = robot.replace(friction=Friction(viscous=0.1, coulomb=0.2, smoothing=0.05))
    p, pd, pdd = state.p.copy(), state.pd.copy(), state.pdd.copy()
    par, with_dry, with_smooth = (packed_parameters(item) for item in (robot, dry, smooth))

    def platform() -> object:
        return kernels.inverse_dynamics_platform(par, p, pd, pdd, friction=False)

    def public() -> object:
        made = dd.State.from_platform(robot, p, pd, pdd)
        return dd.inverse_dynamics(robot, made, friction=False)

    ways: dict[str, Callable[[], object]] = {
        "whole from p, pd, pdd": platform,
        "the same with Coulomb friction": lambda: kernels.inverse_dynamics_platform(
            with_dry, p, pd, pdd
        ),
        "the same with tanh friction": lambda: kernels.inverse_dynamics_platform(
            with_smooth, p, pd, pdd
        ),
        "whole from q, qd, qdd": lambda: kernels.inverse_dynamics_joints(
            par, state.q, state.qd, state.qdd, friction=False
        ),
        "torque of a known state": lambda: dd.inverse_dynamics(robot, state, friction=False),
        "public, from p, pd, pdd": public,
    }
    with kernels.switched_off():
        expected = np.asarray(public())
    worst = np.abs(np.asarray(platform()) - expected).max() / np.abs(expected).max()
    if worst > 1e-12:
        raise SystemExit(f"kernels and NumPy differ by {worst:.1e}: no race")
    rows = []
    for cores in (1, 2):
        with threads(cores):
            word = "1 thread" if cores == 1 else f"{cores} threads"
            for what, work in ways.items():
                if cores == 1:
                    seconds, used = processor_time(work, REPEATS), None
                else:
                    seconds, used = best(work, REPEATS)
                rows.append(Row(dof, f"{what}, {word}", seconds / samples, used))
    floats = [array.astype(np.float32) for array in (p, pd, pdd)]
    with threads(1):
        seconds = processor_time(
            lambda: kernels.inverse_dynamics_platform(par, *floats, friction=False), REPEATS
        )
    rows.append(Row(dof, "whole from p, pd, pdd in float32, 1 thread", seconds / samples))
    return rows + one_sample_rows(dof, par, state)


def one_sample_rows(dof: int, par: FloatArray, state: dd.State) -> list[Row]:
    """Seconds per direct call with one sample."""
    p, pd, pdd = (array[0].copy() for array in (state.p, state.pd, state.pdd))
    q, qd, qdd = (array[0].copy() for array in (state.q, state.qd, state.qdd))
    calls: dict[str, Callable[[], object]] = {
        "one sample a call": lambda: kernels.inverse_dynamics_platform(par, p, pd, pdd),
        "one sample, forward dynamics": lambda: kernels.forward_dynamics(par, q, qd, qdd),
        "one sample, M, C, g": lambda: kernels.equations_of_motion(par, q, qd),
        "one sample, payload": lambda: kernels.payload_torque(par, q, qd, qdd),
    }
    rows = []
    for what, call in calls.items():

        def one_by_one(call: Callable[[], object] = call) -> None:
            for _ in range(ONE_BY_ONE):
                call()

        rows.append(Row(dof, what, processor_time(one_by_one, REPEATS) / ONE_BY_ONE))
    return rows


def other_rows(dof: int, samples: int) -> list[Row]:
    """What else is compiled, by kernels and by NumPy, on one thread."""
    found = drawn(dof, samples)
    state = found.state
    robot = found.robot.replace(friction=Friction(viscous=0.1, coulomb=0.2))
    joints = ("elbow_swing", "platform_sway")
    passive = tuple(PassiveFriction(name, 0.01, 0.02) for name in joints)
    rubbing = robot.replace(friction=Friction(viscous=0.1, coulomb=0.2, passive=passive))
    tau, par = dd.inverse_dynamics(robot, state), packed_parameters(robot)
    q, qd, qdd = state.q, state.qd, state.qdd
    ways: dict[str, Callable[[], object]] = {
        "inertial regressor, arms tied": lambda: exact_columns(robot, state, True, False),
        "inertial regressor, per arm": lambda: exact_columns(robot, state, False, True),
        "whole regressor with friction, per arm": lambda: dd.regressor(robot, state, tied=False),
        "forward dynamics": lambda: dd.forward_dynamics(robot, q, qd, tau),
        "equations of motion": lambda: dd.equations_of_motion(robot, state),
        "torque, friction in two passive joints": lambda: dd.inverse_dynamics(rubbing, state),
    }
    direct: dict[str, Callable[[], object]] = {
        "forward dynamics, direct": lambda: kernels.forward_dynamics(par, q, qd, tau),
        "M, C, g from q, qd, direct": lambda: kernels.equations_of_motion(par, q, qd),
        "torque and payload column, direct": lambda: kernels.payload_torque(par, q, qd, qdd),
    }
    rows = []
    for what, work in ways.items():
        rows.append(Row(dof, f"{what}, kernels", processor_time(work, REPEATS) / samples))
        with kernels.switched_off():
            rows.append(Row(dof, f"{what}, NumPy", processor_time(work, REPEATS) / samples))
    rows += [
        Row(dof, what, processor_time(work, REPEATS) / samples) for what, work in direct.items()
    ]
    return rows


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=400_000, help="states for deltadyn")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    if not kernels.available():
        raise SystemExit(f"nothing to measure, the kernels are {kernels.status()}")
    rows: list[Row] = []
    for dof in (3, 4):
        rows += own_rows(dof, arguments.samples)
        rows.append(Row(dof, "NumPy path, public, 1 thread", own_time(dof, arguments.samples)))
        with threads(1):
            rows += other_rows(dof, OTHER_SAMPLES)
        rows += [Row(dof, name, value) for name, value in peer_times(dof, PEER_SAMPLES).items()]
    unit = {dof: next(row.seconds for row in rows if row.dof == dof) for dof in (3, 4)}
    two = next(row for row in rows if row.what == "whole from p, pd, pdd, 2 threads")
    call = max(row.seconds for row in rows if row.what.startswith("one sample"))
    if arguments.json:
        keys = ("dof", "what", "seconds_per_torque", "cores", "times_whole_on_1_thread")
        ratios = [row.seconds / unit[row.dof] for row in rows]
        pairs = zip(rows, ratios, strict=True)
        records = [dict(zip(keys, (*row, ratio), strict=True)) for row, ratio in pairs]
        print(json.dumps({"machine": machine_name(), "rows": records}, indent=2))
        return
    print(f"machine: {machine_name()}")
    print(
        f"{'dof':>3}  {'what':<48}{'ns a torque':>12}{'torques/s':>14}{'x whole':>10}{'cores':>7}"
    )
    for dof, what, seconds, cores in rows:
        ratio, had = seconds / unit[dof], "" if cores is None else f"{cores:.2f}"
        line = f"{dof:>3}  {what:<48}{seconds * 1e9:>12.1f}{1 / seconds:>14,.0f}{ratio:>10.1f}"
        print(f"{line}{had:>7}")
    rate = 1 / two.seconds
    for what, met in (
        (
            f"{rate / 1e6:.1f} million 3-DOF torques/s on 2 threads that had {two.cores:.2f} cores",
            rate >= TARGET_RATE,
        ),
        (f"one sample in at most {call * 1e6:.2f} us", call < TARGET_CALL),
    ):
        print(f"{what}: target {'met' if met else 'NOT met'}")


if __name__ == "__main__":
    main()
