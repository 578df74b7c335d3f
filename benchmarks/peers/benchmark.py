"""One run of the benchmark: our rows, the peers' rows, the simulators' rows and start-up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks import simulation, single_sample
from benchmarks.cases import ROBOTS, SAMPLES, Case, family, standard_case
from benchmarks.machine import Best, best, machine, threads
from benchmarks.peers.engines import python_peer
from benchmarks.peers.programs import RECIPES, PeerMissingError, Program, Race, Tell, build
from benchmarks.peers.rows import Benchmark, Row, Target, not_measured
from benchmarks.peers.tree import Tree
from deltadyn.arrays import FloatArray
from deltadyn.backends import (
    available,
    inverse_dynamics_joints,
    inverse_dynamics_platform,
    status,
    switched_off,
)
from deltadyn.backends import threads as usable_threads
from deltadyn.dynamics import forward_dynamics, inverse_dynamics, packed_parameters
from deltadyn.dynamics.columns import exact_columns
from deltadyn.errors import DeltadynError
from deltadyn.kinematics import State
from deltadyn.robot import Robot
from deltadyn.robot.file import load_robot
from deltadyn.robot.settings import Friction

PYTHON_SAMPLES = 500  # for engines that are called from Python
LANGUAGES = {"MuJoCo": "C", "Pinocchio": "C++"}
TARGETS = {
    (3, "MuJoCo"): Target("at least", 15, "ratio"),
    (3, "Pinocchio"): Target("at least", 25, "ratio"),
    (4, "MuJoCo"): Target("at least", 10, "ratio"),
    (4, "Pinocchio"): Target("at least", 10, "ratio"),
}
FAMILY_TARGET = Target("at least", 25, "ratio")
# s per 3-DOF torque on one core of 2.8 GHz, where the peer cannot be compiled here.
REFERENCE = {"MuJoCo": 1.73e-6, "Pinocchio": 2.86e-6}
TWO_CORES = Target("at least", 20e6, "rate")
ONE_CALL = Target("below", 5e-6, "seconds")
CALLS = 200  # of one sample, in one run: about as long as a run of the other rows
MANY = 400_000  # samples for two threads
BUSY = 0.9  # cores below which a row on one core says that the machine was busy
OTHER_SAMPLES = 10_000  # for regressor and forward dynamics
SAME = 1e-11  # kernels and NumPy, of the largest torque: roundings, amplified near a singularity
FRICTION = {"viscous": 0.1, "coulomb": 0.2, "coulomb_negative": None, "stribeck": None}
LOOP_TARGET = Target("at least", simulation.LOOP_TARGET, "ratio")
ERROR_TARGET = Target("below", simulation.ERROR_TARGET, "error")
BATCH_TARGET = Target("at least", simulation.BATCH_TARGET, "rate")
LOOP = "deltadyn, loop of plant, PD and feedforward"
BATCH = "deltadyn, batch, Runge-Kutta steps"
KERNEL_CALL = "deltadyn, one sample a call of the kernel"


class KernelsDifferError(DeltadynError):
    """Kernels and NumPy path that do not give the same torques."""


@dataclass(frozen=True)
class Effort:
    """How often everything is repeated; the best counts."""

    own: int
    rounds: int  # of ours and a compiled peer by turns
    python: int
    start: int
    simulation: int


QUICK = Effort(own=15, rounds=15, python=3, start=3, simulation=10)
FULL = Effort(own=60, rounds=60, python=10, start=10, simulation=40)


def run_benchmark(*, full: bool = False, tell: Tell = lambda text: None) -> Benchmark:
    """Measure everything; `tell` gets a line before each part that takes a while."""
    effort = FULL if full else QUICK
    programs, missing = compiled_peers(tell)
    rows: list[Row] = []
    for dof in (3, 4):
        case = standard_case(dof)
        tell(f"{dof}-DOF: deltadyn")
        own = own_rows(case, effort.own)
        rows += own
        for peer in LANGUAGES:
            tell(f"{dof}-DOF: {peer}")
            program = programs.get(peer)
            if program is None:
                rows += reference_rows(case, peer, missing[peer], own[0].seconds)
            else:
                rows += compiled_rows(case, program, effort.rounds)
            rows += python_rows(case, peer, effort.python)
    for name, robot in family().items():
        tell(name)
        rows += family_rows(robot, effort.rounds, tell)
    tell("simulation")
    rows += simulation_rows(effort.simulation)
    tell("start of a process")
    rows += start_rows(effort.start)
    facts = machine() | {"programs": [program.as_dict() for program in programs.values()]}
    return Benchmark(tuple(rows), facts)


def compiled_peers(tell: Tell, kind: str = "rotary") -> tuple[dict[str, Program], dict[str, str]]:
    """The peers' programs for limbs of a kind, and for those that are missing the reason."""
    programs, missing = {}, {}
    for peer, recipe in RECIPES.items():
        try:
            programs[peer] = build(recipe(kind), tell=tell)
        except PeerMissingError as error:
            missing[peer] = error.reason
    return programs, missing


def family_rows(robot: Robot, rounds: int, tell: Tell) -> list[Row]:
    """Inclined arms and rails beside the compiled peers, of which each has the same limbs."""
    case = Case.of(robot, SAMPLES)
    check_own(case)
    programs, missing = compiled_peers(tell, Tree.of(robot).kind)
    group, count = group_name(case), len(case.p)
    with threads(1):
        found = best(own_function(case), rounds)
    rows = [_row(group, "deltadyn, from p, pd, pdd", found, count, found.seconds / count)]
    for peer, language in LANGUAGES.items():
        if peer in programs:
            rows += compiled_rows(case, programs[peer], rounds, FAMILY_TARGET)
        else:
            name = f"{peer} in {language}, whole"
            rows += not_measured(group, [name], missing[peer], FAMILY_TARGET)
    return rows


def compiled_rows(
    case: Case, program: Program, rounds: int, target: Target | None = None
) -> list[Row]:
    """A compiled peer beside ours on one core, by turns on the same states."""
    group, name = group_name(case), f"{program.peer} in {program.language}"
    target = target or TARGETS[case.robot.dof, program.peer]
    try:
        with threads(1), Race(program, case) as race:
            times = race.run(own_function(case), rounds)
    except PeerMissingError as error:
        return not_measured(group, [f"{name}, whole", f"{name}, open tree"], error.reason, target)
    return [
        Row(group, f"{name}, whole", times.whole, times.whole / times.own, target),
        Row(group, f"{name}, open tree", times.open, times.open / times.own),
    ]


def reference_rows(case: Case, peer: str, reason: str, own: float | None) -> list[Row]:
    """The figure of the design notes for a peer that cannot be measured here."""
    group, name = group_name(case), f"{peer} in {LANGUAGES[peer]}, whole"
    target, dof = TARGETS[case.robot.dof, peer], case.robot.dof
    if dof != 3 or own is None:
        return not_measured(group, [name], reason, target)
    note = (
        "not measured here but the reference figure of the project, from one core of 2.8 GHz, "
        f"beside ours of this run: {reason}"
    )
    seconds = REFERENCE[peer]
    return [Row(group, name, seconds, seconds / own, target, note=note, measured=False)]


def python_rows(case: Case, peer: str, repeats: int) -> list[Row]:
    """A peer that is called from Python, with the closure on arrays."""
    group, name = group_name(case), f"{peer} from Python, whole"
    few = Case(
        case.robot, case.p[:PYTHON_SAMPLES], case.pd[:PYTHON_SAMPLES], case.pdd[:PYTHON_SAMPLES]
    )
    try:
        torque = python_peer(peer, few)
    except PeerMissingError as error:
        return not_measured(group, [name], error.reason)
    with threads(1):
        seconds = best(torque, repeats).seconds / len(few.p)
        ours = best(own_function(case), repeats).seconds / len(case.p)
    return [Row(group, name, seconds, seconds / ours)]


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
        rows += [two, *not_measured(group, [KERNEL_CALL], reason, ONE_CALL)]
        return rows
    with threads(1):
        for what, work in _ways(case).items():
            rows.append(_row(group, f"deltadyn, {what}", best(work, repeats), count, ours))
    rows.append(two if two.seconds is None else replace(two, ratio=two.seconds / ours))
    rows.append(_one_by_one(case, group, ours, repeats))
    rows += _public_names(case, group, ours, repeats)
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
    return _row(group, KERNEL_CALL, found, CALLS, ours, ONE_CALL)


def _public_names(case: Case, group: str, ours: float, repeats: int) -> list[Row]:
    """The public functions on one sample, as a controller calls them."""
    rows = []
    for name, call in single_sample.calls(case.robot).items():
        limit = single_sample.TARGETS.get(name) if case.robot.dof == 3 else None
        target = None if limit is None else Target("below", limit * 1e-6, "seconds")

        def calls(call: Callable[[], object] = call) -> None:
            for _ in range(CALLS):
                call()

        what = f"deltadyn, one sample, {name}"
        rows.append(_row(group, what, best(calls, repeats), CALLS, ours, target))
    return rows


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


def simulation_rows(repeats: int) -> list[Row]:
    """The loop of one robot beside MuJoCo's stepping, and a batch, both on one core."""
    rows: list[Row] = []
    for name in ROBOTS.values():
        robot = load_robot(name)
        rows += robot_rows(robot, repeats)
    return rows


def robot_rows(robot: Robot, repeats: int) -> list[Row]:
    """The rows of one robot."""
    group = f"simulation of {robot.name}, steps"
    if not available():
        reason = f"the kernels are {status()}"
        loop = not_measured(group, [LOOP], reason, ERROR_TARGET)
        return [*loop, *not_measured(group, [BATCH], reason, BATCH_TARGET)]
    batch = simulation.batch_speed(robot, repeats=max(3, repeats // 2))
    rows = [Row(group, BATCH, 1 / batch.per_second, target=BATCH_TARGET)]
    try:
        found, peers = simulation.compare(robot, repeats)
    except PeerMissingError as error:
        return [*without_peer(group, robot, error.reason, repeats), *rows]
    return [*loop_rows(group, found, peers), *rows]


def loop_rows(group: str, found: simulation.Comparison, peers: list[simulation.Speed]) -> list[Row]:
    """Ours with the target of its error, and MuJoCo's settings: the target is on the quickest."""
    ours = Row(
        group,
        LOOP,
        1 / found.ours.per_second,
        1.0,
        ERROR_TARGET,
        error=found.ours.error,
        error_ratio=found.error_ratio,
    )
    rows = [ours]
    for peer in peers:
        target = LOOP_TARGET if peer == found.mujoco else None
        ratio = found.ours.per_second / peer.per_second
        rows.append(Row(group, peer.what, 1 / peer.per_second, ratio, target, error=peer.error))
    return rows


def without_peer(group: str, robot: Robot, reason: str, repeats: int) -> list[Row]:
    """Ours alone, where MuJoCo's program cannot be had; without friction, as beside it."""
    bare = robot.replace(friction=Friction().checked(robot.dof))
    ours = simulation.loop_speed(bare, repeats=repeats)
    missing = not_measured(group, ["MuJoCo in C, its own stepping"], reason, LOOP_TARGET)
    return [Row(group, LOOP, 1 / ours.per_second, 1.0, error=ours.error), *missing]


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
