"""One, two, four and eight logs of a machine: python -m benchmarks.machines.logs --seeds 0-2.

More logs must not make a fit worse. Each machine of each cause is identified from its first logs,
and its torque compared on a pick-and-place log that was held out. Logs follow each other while oil
warms up ("go on"), or all begin with cold oil ("begin cold").
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tests.machines import CAUSES, Machine, make_machine

import deltadyn as dd
from benchmarks.machine import machine_name
from benchmarks.machines.__main__ import seeds_of, words_of
from benchmarks.machines.held_out import judge
from benchmarks.machines.table import markdown, plain, put
from benchmarks.machines.trial import truth_of

COUNTS = (1, 2, 4, 8)
SECONDS = 8.0  # of a log
HELD_OUT_SECONDS = 4.0
WARMING = ("go on", "begin cold")
WARMS = ("drift", "all")  # causes for which it matters how logs begin
NOT_WORSE = 1.1  # times the error with one log


@dataclass(frozen=True)
class Case:
    """A machine, and how its logs begin."""

    cause: str
    seed: int
    warming: str = "go on"
    robot: str = "sipro-d3-1200"


@dataclass
class Result:
    """What the first logs of a machine give, by their `count`.

    `error` and `half` are in percent of the RMS torque, `inside` in percent of the held-out rows;
    `off` is value over truth less 1, `share` the distance from the truth over the half width of the
    95 % interval on that side.
    """

    case: dict[str, Any]
    count: int
    true: list[str]
    found: list[str]
    missing: bool
    error: float
    inside: float
    half: float
    off: dict[str, float] = field(default_factory=dict)
    share: dict[str, float] = field(default_factory=dict)


def logs_of(machine: Machine, count: int, warming: str) -> list[dd.Recording]:
    """The logs of a machine."""
    if warming == "go on":
        return machine.record(count, SECONDS)
    return [
        machine.record(1, SECONDS, first=k, clock=0.0, span=SECONDS)[0].replace(name=f"log {k + 1}")
        for k in range(count)
    ]


def measure(case: Case, counts: Sequence[int] = COUNTS) -> list[Result]:
    """The fits to the first logs of a machine."""
    machine = make_machine(dd.load_robot(case.robot), case.cause, None, case.seed)
    logs = logs_of(machine, max(counts), case.warming)
    picks = machine.record_picks(HELD_OUT_SECONDS)
    return [_result(case, machine, logs[:count], picks) for count in counts]


def _result(
    case: Case, machine: Machine, logs: Sequence[dd.Recording], picks: dd.Recording
) -> Result:
    fit = dd.identify(machine.robot, list(logs))
    assert fit.terms is not None
    held_out, ends = judge(fit, picks), fit.interval()
    out = Result(
        asdict(case), len(logs), sorted(machine.causes), sorted(fit.terms.titles),
        fit.terms.missing, held_out.error, held_out.inside, held_out.half,
    )  # fmt: skip
    for name, true in truth_of(machine, fit).items():
        value, (low, high) = fit[name], ends[fit.names.index(name)]
        side = high - value if true > value else value - low
        out.off[name] = float(value / true - 1)
        out.share[name] = float(abs(value - true) / max(side, 1e-300))
    return out


def cases_of(causes: Sequence[str], seeds: Sequence[int], robot: str) -> list[Case]:
    """All machines, those that warm up with both kinds of logs."""
    return [
        Case(cause, seed, warming, robot)
        for seed in seeds
        for cause in causes
        for warming in (WARMING if cause in WARMS else WARMING[:1])
    ]


def run(cases: Sequence[Case], counts: Sequence[int], workers: int) -> Iterator[list[Result]]:
    """The results of all machines, as they are done."""
    if workers == 1:
        yield from (measure(case, counts) for case in cases)
        return
    from joblib import Parallel, delayed  # of use only here

    done = Parallel(n_jobs=workers, return_as="generator_unordered")
    yield from done(delayed(measure)(case, counts) for case in cases)


def table(results: Sequence[Result]) -> list[list[str]]:
    """A row for each cause: errors by count, how many got worse, intervals and bands."""
    counts = sorted({result.count for result in results})
    titles = ["cause", "machines", *(f"error % of {n}" for n in counts), "not worse %"]
    rows = [[*titles, "cover %", "band % (lowest)", "half %"]]
    names = list(dict.fromkeys((r.case["cause"], r.case["warming"]) for r in results))
    for cause, warming in names:
        some = [r for r in results if (r.case["cause"], r.case["warming"]) == (cause, warming)]
        label = cause if cause not in WARMS else f"{cause}, {warming}"
        rows.append([label, *_row(some, counts)])
    rows.append(["together", *_row(results, counts)])
    return rows


def _row(results: Sequence[Result], counts: Sequence[int]) -> list[str]:
    by_count = {n: [r for r in results if r.count == n] for n in counts}
    inside = [r.inside for r in results]
    errors = [f"{np.mean([r.error for r in by_count[n]]):.2f}" for n in counts]
    worse = ratios(results)
    covered = [share <= 1 for r in results for share in r.share.values()]
    return [
        str(len(by_count[counts[0]])),
        *errors,
        f"{100 * np.mean([ratio <= NOT_WORSE for ratio in worse]):.0f}" if worse else "-",
        f"{100 * np.mean(covered):.0f}",
        f"{np.mean(inside):.0f} ({np.min(inside):.0f})",
        f"{np.mean([r.half for r in results]):.1f}",
    ]


def ratios(results: Sequence[Result]) -> list[float]:
    """Errors with several logs over those with one, of the same machine."""
    one = {tuple(r.case.values()): r.error for r in results if r.count == 1}
    return [r.error / one[key] for r in results if r.count > 1 and (key := tuple(r.case.values()))]


def main() -> None:
    """Print the table, and write the results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.machines.logs", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("0-2"), help="as 0-5 or 1,4")
    parser.add_argument("--causes", type=words_of(CAUSES, "cause"), default=CAUSES)
    parser.add_argument("--counts", type=seeds_of, default=list(COUNTS), help="of logs, as 1,2,4,8")
    parser.add_argument("--robot", default="sipro-d3-1200", help="of the catalogue, or a file")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--json", default="build/machines/logs.jsonl", help="of the results")
    parser.add_argument("--read", action="store_true", help="only the table, of earlier results")
    parser.add_argument("--out", metavar="PAGE", help="put the table into a page")
    arguments = parser.parse_args()
    path = Path(arguments.json)
    if not arguments.read:
        path.parent.mkdir(parents=True, exist_ok=True)
        cases = cases_of(arguments.causes, arguments.seeds, arguments.robot)
        print(f"machine: {machine_name()}; {len(cases)} machines; {path}", flush=True)
        with path.open("w", encoding="utf-8") as file:
            for done in run(cases, arguments.counts, arguments.workers):
                file.writelines(json.dumps(asdict(result)) + "\n" for result in done)
                file.flush()
    results = [Result(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    rows = table(results)
    print(plain(rows))
    if arguments.out:
        put(Path(arguments.out), "logs", markdown(rows))


if __name__ == "__main__":
    main()
