"""Our own rows: kernels, NumPy path, one sample a call, two threads, regressor, start-up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from deltadyn.arrays import FloatArray
from deltadyn.backends import (
    available,
    inverse_dynamics_joints,
    inverse_dynamics_platform,
    status,
    switched_off,
)
from deltadyn.backends import threads as usable_threads
from deltadyn.bench.cases import Case
from deltadyn.bench.rows import Row, Target, not_measured
from deltadyn.bench.timing import Best, best, threads
from deltadyn.dynamics import forward_dynamics, inverse_dynamics, packed_parameters
from deltadyn.dynamics.columns import exact_columns
from deltadyn.errors import DeltadynError
from deltadyn.kinematics import State
from deltadyn.robot import Robot

TWO_CORES = Target("at least", 20e6, "rate")
ONE_CALL = Target("below", 5e-6, "seconds")
CALLS = 200  # of one sample, in one run: about as long as a run of the other rows
MANY = 400_000  # samples for two threads
BUSY = 0.9  # cores below which a row on one core says that the machine was busy
OTHER_SAMPLES = 10_000  # for regressor and forward dynamics
SAME = 1e-11  # kernels and NumPy, of the largest torque: roundings, amplified near a singularity
FRICTION = {"viscous": 0.1, "coulomb": 0.2, "coulomb_negative": None, "stribeck": None}


class KernelsDifferError(DeltadynError):
    """Kernels and NumPy path that do not give the same torques."""


def group_name(case: Case) -> str:
    """The heading of a robot's rows."""
    return f"{case.robot.dof}-DOF inverse dynamics, {case.robot.name}"


def public_torque(case: Case, *, friction: bool = False) -> FloatArray:
    """The public way: a State from p, pd, pdd and its torques (N, dof)."""
    state = State.from_platform(case.robot, case.p, case.pd, case.pdd)
    return np.asarray(inverse_dynamics(case.robot, state, friction=friction))


def own_function(case: Case) -> Callable[[], FloatArray]:
    """What the peers race against: whole from p, pd, pdd, by the kernels where they are there."""
    if not available():
        return lambda: public_torque(case)
    par = packed_parameters(case.robot)
    return lambda: inverse_dynamics_platform(par, case.p, case.pd, case.pdd, friction=False)


def check_own(case: Case) -> None:
    """Compare the kernels with the NumPy path before anything is timed."""
    with switched_off():
        expected = public_torque(case)
    worst = float(np.abs(own_function(case)() - expected).max() / np.abs(expected).max())
    if not worst <= SAME:
        raise KernelsDifferError(f"kernels and NumPy differ by {worst:.1e} of the largest torque")


def own_rows(case: Case, repeats: int) -> list[Row]:
    """All ways of ours to the torques of one robot."""
    check_own(case)
    group, count = group_name(case), len(case.p)
    # the large arrays go first: after them the allocator keeps memory, as in a process that lives
    two = _two_threads(case, group, repeats)
    with threads(1):
        first = best(own_function(case), repeats)
    ours = first.seconds / count
    rows = [_row(group, "deltadyn, from p, pd, pdd", first, count, ours)]
    if not available():
        rows[0] = Row(group, "deltadyn, NumPy path", ours, 1.0, note=f"the kernels are {status()}")
        reason = f"the kernels are {status()}"
        rows += [two, *not_measured(group, ["deltadyn, one sample a call"], reason, ONE_CALL)]
        return rows
    with threads(1):
        for what, work in _ways(case).items():
            rows.append(_row(group, f"deltadyn, {what}", best(work, repeats), count, ours))
    rows.append(two if two.seconds is None else replace(two, ratio=two.seconds / ours))
    rows.append(_one_by_one(case, group, ours, repeats))
    with threads(1), switched_off():
        found = best(lambda: public_torque(case), repeats)
    rows.append(_row(group, "deltadyn, NumPy path", found, count, ours))
    with threads(1):
        rows += _other_rows(Case.of(case.robot, OTHER_SAMPLES), group, ours, repeats)
    return rows


def _ways(case: Case) -> dict[str, Callable[[], object]]:
    motion, state = (case.p, case.pd, case.pdd), case.state
    q = state.q
    par = packed_parameters(case.robot)
    dry = packed_parameters(_with_friction(case.robot, None))
    smooth = packed_parameters(_with_friction(case.robot, 0.05))
    return {
        "from q, qd, qdd": lambda: inverse_dynamics_joints(
            par, q, state.qd, state.qdd, friction=False
        ),
        "with Coulomb friction": lambda: inverse_dynamics_platform(dry, *motion),
        "with smooth friction": lambda: inverse_dynamics_platform(smooth, *motion),
        "public functions": lambda: public_torque(case),
    }


def _with_friction(robot: Robot, smoothing: float | None) -> Robot:
    return robot.with_friction(**FRICTION, smoothing=smoothing)


def _two_threads(case: Case, group: str, repeats: int) -> Row:
    what = "deltadyn, from p, pd, pdd, 2 threads"
    target = TWO_CORES if case.robot.dof == 3 else None
    with threads(2):
        if not available():
            return not_measured(group, [what], f"the kernels are {status()}", target)[0]
        if usable_threads() < 2:
            return not_measured(group, [what], "this process may use one core", target)[0]
        many = Case.of(case.robot, MANY)
        found = best(own_function(many), repeats)
    seconds = found.seconds / MANY
    return Row(group, what, seconds, target=target, cores=found.cores)


def _one_by_one(case: Case, group: str, ours: float, repeats: int) -> Row:
    par = packed_parameters(case.robot)
    p, pd, pdd = case.p[0].copy(), case.pd[0].copy(), case.pdd[0].copy()

    def calls() -> None:
        for _ in range(CALLS):
            inverse_dynamics_platform(par, p, pd, pdd, friction=False)

    found = best(calls, repeats)
    return _row(group, "deltadyn, one sample a call", found, CALLS, ours, ONE_CALL)


def _other_rows(case: Case, group: str, ours: float, repeats: int) -> list[Row]:
    """Regressor and forward dynamics of a known state."""
    robot, state = case.robot, case.state
    q, tau = state.q, case.torque()
    ways: dict[str, Callable[[], object]] = {
        "deltadyn, inertial regressor": lambda: exact_columns(robot, state, True, False),
        "deltadyn, forward dynamics": lambda: forward_dynamics(
            robot, q, state.qd, tau, friction=False
        ),
    }
    rows = []
    for what, work in ways.items():
        rows.append(_row(group, what, best(work, repeats), OTHER_SAMPLES, ours))
    return rows


def _row(
    group: str, what: str, found: Best, count: int, ours: float, target: Target | None = None
) -> Row:
    """A row on one core, with a note where even the best run had less than that."""
    note = f"had {found.cores:.2f} of a core: the machine is busy" if found.cores < BUSY else ""
    seconds = found.seconds / count
    return Row(group, what, seconds, seconds / ours, target, found.cores, note)


def start_rows(repeats: int) -> list[Row]:
    """Whole processes: the interpreter alone, with our import, and with `deltadyn --help`."""
    group = "start of a process"
    ways = {
        "Python alone": ("-c", "pass"),
        "import deltadyn": ("-c", "import deltadyn"),
        "deltadyn --help": ("-m", "deltadyn", "--help"),
    }
    rows = []
    for what, words in ways.items():
        command = [sys.executable, *words]

        def start(command: list[str] = command) -> None:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

        rows.append(Row(group, what, best(start, repeats).seconds))
    return rows
