"""The verdict against the truth: python -m benchmarks.verdict --seeds 0-2 --workers 2.

Machines of `tests.machines` with every cause that the library has a name for, and with causes that
no term names (`tests.machines.unknown`), of random strength, are identified with the defaults and
judged on a held-out log of picks. The plant knows what is true: the error while an axis moves is
measured by filters and derivatives of this benchmark's own (`benchmarks.machines.held_out`), the
parameters are the plant's.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from tests.machines import CAUSES, Machine, Touch, make_machine
from tests.machines.motions import Path as PlatformPath
from tests.machines.motions import multisine, picks, via_points
from tests.machines.unknown import UNKNOWN, Unknown

import deltadyn as dd
from benchmarks.machine import machine_name
from benchmarks.machines.held_out import judge
from benchmarks.machines.table import markdown, plain, put
from benchmarks.machines.trial import truth_of
from deltadyn.identification.verdict import BAD, CARE, GOOD
from deltadyn.report.study import judged_on

ROBOTS = ("sipro-d3-1200", "nt-robot", "example-delta-4", "usach-delta", "abb-irb360-6-1600")
FOLDER = Path("build/verdict")
ACCURATE_PERCENT = 1.0  # of the torque while moving, over all axes: a model that is not refused


@dataclass(frozen=True)
class Motions:
    """How a machine is recorded: its training logs and the held-out picks, with dwells in s."""

    kind: str
    count: int
    seconds: float
    dwell: float
    held_out_seconds: float
    held_out_dwell: float


#: By name: excitation and quick picks, excitation and picks with rests, production with rests.
MOTIONS = {
    "quick": Motions("multisine", 4, 4.0, 0.1, 4.0, 0.1),
    "dwells": Motions("multisine", 4, 4.0, 0.1, 10.0, 2.0),
    "production": Motions("via", 4, 6.0, 1.0, 8.0, 1.0),
}


@dataclass(frozen=True)
class Case:
    """A machine and how it is recorded; the robot goes with the seed."""

    cause: str
    motions: str
    seed: int

    @property
    def robot(self) -> str:
        """Name of the robot."""
        return ROBOTS[self.seed % len(ROBOTS)]

    @property
    def key(self) -> str:
        """What tells cases apart."""
        return f"{self.cause}/{self.motions}/{self.seed}"


@dataclass
class Judged:
    """A verdict beside the truth; errors in percent of the torque while axes move."""

    key: str
    cause: str
    motions: str
    robot: str
    strength: float
    broken: str = ""
    error: float = 0.0
    outside: list[str] = field(default_factory=list)  # of the intervals that hold together
    outside_alone: list[str] = field(default_factory=list)  # of the 95 % intervals of each
    parameters: int = 0
    grade: str = ""
    answers: dict[str, str] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    left: list[float] = field(default_factory=list)
    inside: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    rest_share: float = 0.0
    against_file: float | None = None
    alarm: str = ""
    suspicion: float = 0.0
    residual_alarm: str = ""
    causes: list[str] = field(default_factory=list)
    widths: dict[str, float] = field(default_factory=dict)

    @property
    def doubtful(self) -> bool:
        """Whether a plain "good" would be wrong."""
        return bool(self.outside or self.alarm or self.residual_alarm)


def measure(case: Case) -> Judged:
    """One machine, identified and judged."""
    rng = np.random.default_rng([case.seed, 7, *case.cause.encode()])
    strength = float(rng.uniform(0.5, 1.5))
    unknown, known = UNKNOWN.get(case.cause, Unknown()), case.cause not in UNKNOWN
    machine = make_machine(
        dd.load_robot(case.robot), case.cause if known else "none", strength, case.seed
    )
    how = MOTIONS[case.motions]
    state = rng.bit_generator.state
    out = Judged(case.key, case.cause, case.motions, case.robot, strength)

    def record(kind: str, seconds: float, dwell: float, clock: float, number: int) -> dd.Recording:
        path = _path(machine, kind, seconds, dwell, np.random.default_rng([case.seed, number]))
        same = np.random.default_rng(0)  # the machine's own numbers are the same in all logs
        same.bit_generator.state = state
        t = np.arange(round(seconds / 1e-3), dtype=np.float64) * 1e-3
        touch = unknown.touch(machine, path, t, strength, same) if not known else Touch()
        run = machine.run_touched(
            seconds, touch, path, kind=kind, first=number, clock=clock, span=how.count * how.seconds
        )
        return unknown.spoil(run.recording, strength)

    try:
        logs = [
            record(how.kind, how.seconds, how.dwell, k * how.seconds, k) for k in range(how.count)
        ]
        end = how.count * how.seconds
        held_out = record("picks", how.held_out_seconds, how.held_out_dwell, end, how.count)
        fit = dd.identify(machine.robot, logs, unidentifiable="hold")
        study = judged_on(fit, [held_out])
        verdict, evidence = study.verdict, study.evidence
    except Exception as error:  # whatever breaks is a result
        out.broken = f"{type(error).__name__}: {error}"
        return out
    out.error = judge(fit, held_out).error
    together = {item.name: (item.low, item.high) for item in evidence.widths or ()}
    alone = dict(zip(fit.names, fit.interval().tolist(), strict=True))
    for name, true in truth_of(machine, fit).items():
        if name not in together or name.rstrip("1234") in unknown.unclear:
            continue
        out.parameters += 1
        if not together[name][0] <= true <= together[name][1]:
            out.outside.append(name)
        if not alone[name][0] <= true <= alone[name][1]:
            out.outside_alone.append(name)
    out.grade, out.reasons = verdict.grade, list(verdict.reasons)
    out.answers = {item.about: item.grade for item in verdict.answers}
    out.found = [] if fit.terms is None else sorted(fit.terms.titles)
    out.left, out.inside = list(evidence.left or ()), list(evidence.inside or ())
    out.own, out.rest_share = list(evidence.own), evidence.rest_share
    out.against_file, out.alarm = evidence.against_file, evidence.alarm
    out.residual_alarm, out.suspicion = evidence.residual_alarm, evidence.suspicion
    out.causes = [sentence for _, sentence in evidence.causes]
    out.widths = {item.name: item.relative for item in evidence.widths or ()}
    return out


def _path(
    machine: Machine, kind: str, seconds: float, dwell: float, rng: np.random.Generator
) -> PlatformPath:
    """A path of the platform on the log's own time, in motion at its start."""
    if kind == "multisine":
        return multisine(machine.room, rng, seconds, 0.0)
    make = via_points if kind == "via" else picks
    path, early = make(machine.room, rng, seconds + 1.0, dwell), float(rng.uniform(0.4, 0.7))
    return lambda t: path(t + early)


# The campaign and its table.


def table(judged: Sequence[Judged]) -> list[list[str]]:
    """Rows by group of causes and by motion: verdict against truth."""
    head = [
        *("machines", "fits", "error < 1 %", "of them not to be trusted", "parameter outside"),
        *("of them good", "alarm", "of them good", "good", "with care", "not to be trusted"),
        *("good and right", "outside a 95 % interval, good"),
    ]
    rows = [head]
    groups: list[tuple[str, Callable[[Judged], bool]]] = [
        ("nothing wrong", lambda item: item.cause == "none"),
        (
            "one named cause",
            lambda item: item.cause in CAUSES and item.cause not in ("none", "all"),
        ),
        ("ten named causes at once", lambda item: item.cause == "all"),
        ("a cause that no term names", lambda item: item.cause in UNKNOWN),
        *((f"logs: {name}", lambda item, name=name: item.motions == name) for name in MOTIONS),
        ("all", lambda item: True),
    ]
    for name, belongs in groups:
        own = [item for item in judged if not item.broken and belongs(item)]
        if own:
            rows.append([name, *_counts(own)])
    return rows


def _counts(own: Sequence[Judged]) -> list[str]:
    accurate = [item for item in own if item.error < ACCURATE_PERCENT]
    outside = [item for item in own if item.outside]
    alarmed = [item for item in own if item.alarm or item.residual_alarm]
    good = [item for item in own if item.grade == GOOD]

    def count(items: Iterable[Judged], grade: str) -> int:
        return sum(item.grade == grade for item in items)

    numbers = (
        *(len(own), len(accurate), count(accurate, BAD), len(outside), count(outside, GOOD)),
        *(len(alarmed), count(alarmed, GOOD), len(good), count(own, CARE), count(own, BAD)),
        sum(not item.doubtful and item.error < 5.0 for item in good),
        sum(bool(item.outside_alone) for item in good),
    )
    return [str(number) for number in numbers]


def wrong(judged: Sequence[Judged]) -> Iterator[str]:
    """The verdicts that are wrong by the rules of this benchmark, and what broke."""
    for item in judged:
        if item.broken:
            yield f"{item.key} broke: {item.broken}"
        elif item.grade == BAD and item.error < ACCURATE_PERCENT:
            yield f"{item.key}: {item.error:.2f} % and {BAD}: {' '.join(item.reasons)}"
        elif item.grade == GOOD and item.doubtful:
            yield f"{item.key}: good, with {', '.join(item.outside) or 'an alarm'}"


def figure(judged: Sequence[Judged]) -> dict[str, object]:
    """How many verdicts are wrong, and whether none is."""
    lines = list(wrong(judged))
    return {
        "figure": f"{len(lines)} of {len(judged)} verdicts wrong or broken",
        "reached": bool(judged) and not lines,
    }


def read(path: Path) -> list[Judged]:
    """What an earlier run measured."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [Judged(**json.loads(line)) for line in lines if line.strip()]


def main() -> None:
    """Measure what is asked for and not yet in the file, and print the table."""
    from benchmarks.machines.__main__ import seeds_of

    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdict", description=__doc__)
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("0-2"), help="as 0-5 or 1,4")
    parser.add_argument("--causes", help="with commas; all if left out")
    parser.add_argument("--motions", default=",".join(MOTIONS), help="with commas")
    parser.add_argument(
        "--in-turn", action="store_true", help="one kind of motions per machine, in turn"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--json", metavar="FILE", default=str(FOLDER / "verdict.jsonl"))
    parser.add_argument("--out", metavar="PAGE", help="put the table into a page")
    parser.add_argument("--figure", metavar="FILE", help="of the figure for make nightly")
    asked = parser.parse_args()
    causes = asked.causes.split(",") if asked.causes else [*CAUSES, *UNKNOWN]
    path = Path(asked.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {item.key: item for item in read(path)}
    names = asked.motions.split(",")
    cases = [
        Case(cause, name, seed)
        for seed in asked.seeds
        for k, name in enumerate(names)
        for number, cause in enumerate(causes)
        if not asked.in_turn or (number + seed) % len(names) == k
    ]
    todo = [case for case in cases if case.key not in known]
    print(f"machine: {machine_name()}; {len(todo)} of {len(cases)} to measure; {path}")
    for item in _run(todo, asked.workers):
        known[item.key] = item
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(item)) + "\n")
    judged = [known[case.key] for case in cases if case.key in known]
    rows = table(judged)
    print(plain(rows))
    print("\n".join(wrong(judged)))
    if asked.figure:
        Path(asked.figure).write_text(json.dumps(figure(judged)), "utf-8")
    if asked.out:
        put(Path(asked.out), "verdict", markdown(rows))


def _run(cases: Sequence[Case], workers: int) -> Iterator[Judged]:
    if workers == 1:
        yield from map(measure, cases)
        return
    from joblib import Parallel, delayed  # of use only here

    done = Parallel(n_jobs=workers, return_as="generator_unordered")
    yield from done(delayed(measure)(case) for case in cases)


if __name__ == "__main__":
    main()
