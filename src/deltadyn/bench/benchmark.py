"""One run of the benchmark: our rows, the peers' rows, simulation and start-up."""

from __future__ import annotations

from dataclasses import dataclass

from deltadyn.bench.cases import Case, standard_case
from deltadyn.bench.compiler import RECIPES, PeerMissingError, Program, Tell, build
from deltadyn.bench.machine import machine
from deltadyn.bench.own import group_name, own_function, own_rows, start_rows
from deltadyn.bench.python_peers import python_peer
from deltadyn.bench.race import Race
from deltadyn.bench.rows import Benchmark, Row, Target, not_measured
from deltadyn.bench.simulation import simulation_rows
from deltadyn.bench.timing import best, threads

PYTHON_SAMPLES = 500  # for engines that are called from Python
LANGUAGES = {"MuJoCo": "C", "Pinocchio": "C++"}
TARGETS = {
    (3, "MuJoCo"): Target("at least", 15, "ratio"),
    (3, "Pinocchio"): Target("at least", 25, "ratio"),
    (4, "MuJoCo"): Target("at least", 10, "ratio"),
    (4, "Pinocchio"): Target("at least", 10, "ratio"),
}
# s per 3-DOF torque on one core of 2.8 GHz, where the peer cannot be compiled here.
REFERENCE = {"MuJoCo": 1.73e-6, "Pinocchio": 2.86e-6}


@dataclass(frozen=True)
class Effort:
    """How often everything is repeated; the best counts."""

    own: int
    rounds: int  # of ours and a compiled peer by turns
    python: int
    start: int


QUICK = Effort(own=15, rounds=15, python=3, start=3)
FULL = Effort(own=60, rounds=60, python=10, start=10)


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
    tell("simulation")
    rows += simulation_rows(full)
    tell("start of a process")
    rows += start_rows(effort.start)
    return Benchmark(tuple(rows), machine(programs.values()))


def compiled_peers(tell: Tell) -> tuple[dict[str, Program], dict[str, str]]:
    """The peers' programs, and for those that are missing the reason."""
    programs, missing = {}, {}
    for peer, recipe in RECIPES.items():
        try:
            programs[peer] = build(recipe(), tell=tell)
        except PeerMissingError as error:
            missing[peer] = error.reason
    return programs, missing


def compiled_rows(case: Case, program: Program, rounds: int) -> list[Row]:
    """A compiled peer beside ours on one core, by turns on the same states."""
    group, name = group_name(case), f"{program.peer} in {program.language}"
    target = TARGETS[case.robot.dof, program.peer]
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
